"""Which place a service was told to keep everything in."""

from pathlib import Path

from freki.errors import BadConfig
from freki.ledger.jobs.folder import Folder
from freki.ledger.jobs.place import Place
from freki.ledger.place import Address, place
from freki.ledger.store import on_server


def place_of(store: str, data: Path) -> Place:
    """The server, if one was named, else the folder."""
    if not store:
        return Folder(data)
    address = place(store)
    if not isinstance(address, Address):
        raise BadConfig(
            f"--store {store}: a service is kept on a server, as postgresql://USER@HOST/DATABASE, "
            "or in a folder: name that with --data"
        )
    served: Place = on_server("jobs.served").Served(address)
    return served
