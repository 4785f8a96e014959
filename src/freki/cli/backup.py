"""`freki backup`: a copy of a service, while it runs."""

from pathlib import Path

from freki.cli.options import Parser
from freki.cli.output import counted
from freki.cli.serve import add_place
from freki.errors import BadInput
from freki.ledger.jobs.folder import Folder, copy_database

EXAMPLES = """\
  freki backup backups/monday
  freki serve --data backups/monday        to restore is to use the copy
"""


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    place, copy = Folder(arguments.data), Folder(arguments.to)
    if not place.jobs.exists():
        raise BadInput(f"{place.folder} is no folder of a service; name it with --data")
    if copy.folder.exists() and any(copy.folder.iterdir()):
        raise BadInput(f"{copy.folder} is not empty; a copy gets a folder of its own")
    crawls = _copied(place, copy)
    print(f"{copy.folder}: {counted(crawls, 'crawl')}, jobs and keys")
    return 0


def parser(command: str) -> Parser:
    """The options of `freki backup`."""
    made = Parser(command, "Copies the folder of a service, also while it runs.", EXAMPLES)
    made.add_argument("to", type=Path, metavar="FOLDER", help="where the copy goes")
    add_place(made, "data")
    return made


def _copied(place: Folder, copy: Folder) -> int:
    """The books first: a crawl that is further than they say is simply gone on with."""
    copy.crawls.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy.folder.chmod(0o700)
    copy_database(place.jobs, copy.jobs)
    stores = sorted(place.crawls.glob("*.db"))
    for store in stores:
        copy_database(store, copy.crawls / store.name)
    return len(stores)
