"""What stands in `deploy/` for stores on a server works: with the server, with our commands."""

import re
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, running_server

from freki.cli.main import COMMANDS
from freki.ledger.postgres.store import open_server

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = [
    DEPLOY / "compose.yaml",
    DEPLOY / "kubernetes" / "workers.yaml",
    DEPLOY / "service" / "many.yaml",
]


def test_the_metric_of_the_autoscaler_is_one_that_the_store_gives(
    postgres: PostgresServer,
) -> None:
    text = (DEPLOY / "kubernetes" / "metrics.yaml").read_text("utf-8")
    found = re.search(r"query: >\n(.*?)\n +master:", text, re.DOTALL)
    assert found is not None
    address = postgres.store()
    open_server(address, "process").close()
    with closing(open_server(address, "process")) as server:
        rows = server.run(found[1])
        names = [column[0] for column in rows.description]
        assert rows.fetchall() == [(0, 0, None)]
    named = re.findall(r"- (\w+): \{usage", text)
    assert names == named
    scaler = (DEPLOY / "kubernetes" / "autoscale.yaml").read_text("utf-8")
    assert "freki_hosts_due" in scaler


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_commands_are_spelt_as_they_are_understood(file: Path) -> None:
    lists = re.findall(r"(?:args|command|entrypoint): \[(.*)\]", file.read_text("utf-8"))
    calls = [re.findall(r'"([^"]*)"', words) for words in lists if "--store" in words]
    assert calls
    for words in calls:
        command, *rest = words[1:] if words[0] == "freki" else words
        parsed = import_module(COMMANDS[command][0]).parser(command).parse_args(rest)
        assert str(parsed.store).startswith("postgresql://")


def test_the_settings_of_the_server_are_ones_that_it_knows() -> None:
    settings = (DEPLOY / "postgresql.conf").read_text("utf-8").replace("= 4GB", "= 64MB")
    with running_server(settings) as server:
        assert server.ask("SHOW max_connections") == ["200"]
