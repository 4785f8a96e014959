import re
from importlib.resources import files

import pytest
from tests.postgres import PostgresServer

from freki.errors import StoreError
from freki.ledger.jobs.served import Served
from freki.ledger.place import Address
from freki.ledger.postgres.dialect import translated
from freki.ledger.postgres.link import Server
from freki.ledger.postgres.store import open_server
from freki.ledger.statements import statements

MARK = re.compile(r"%\((\w+)\)s")
SQL = files("freki.ledger") / "sql"
FILES = sorted(
    str(file).removeprefix(f"{SQL}/")
    for folder in (SQL, SQL / "postgres")
    for file in folder.iterdir()
    if file.name.endswith(".sql")
    and "schema" not in file.name
    and file.name != "index.sql"  # a file everywhere
)


@pytest.fixture(scope="module")
def store(postgres: PostgresServer) -> Address:
    address = postgres.store()
    Served(address).prepare()
    return address


@pytest.mark.system
@pytest.mark.parametrize("file", FILES)
def test_every_statement_is_one_that_the_server_understands(file: str, store: Address) -> None:
    server = open_server(store, "process")
    wrong = {}
    for name, statement in statements(file).items():
        try:
            _prepare(server, statement)
        except StoreError as error:
            wrong[name] = str(error)
    server.close()
    assert wrong == {}


def _prepare(server: Server, statement: str) -> None:
    """Its parameters are left for the server to find types for."""
    translation = translated(statement)
    text, names = translation.text, list[str]()
    if translation.is_filter:
        given = dict.fromkeys(MARK.findall(text))
        is_numbered = all(name[1:].isdigit() for name in given)
        text, _ = server.spelt_out(statement, [*given.values()] if is_numbered else given)
    for number, mark in enumerate(re.findall(r"%s", text), 1):
        text = text.replace(mark, f"${number}", 1)
    for name in MARK.findall(text):
        names += [] if name in names else [name]
        text = text.replace(f"%({name})s", f"${names.index(name) + 1}")
    text = text.replace("%%", "%")
    server.run(f"PREPARE it AS {text}")
    server.run("DEALLOCATE it")
