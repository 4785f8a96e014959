"""A service to call: its web process in a thread, and the whole of it where workers are needed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.background import background
from tests.command import ended, start
from tests.postgres import PASSWORD

from freki.ledger.jobs import keys
from freki.ledger.jobs.keys import Quotas, Scope
from freki.ledger.place import Place
from freki.serve.supervisor import address, listen
from freki.serve.terms import Terms
from freki.serve.web import HEAD_SECONDS, server

Api = Callable[..., httpx.Client]


@asynccontextmanager
async def web(terms: Terms, head_seconds: float = HEAD_SECONDS) -> AsyncIterator[str]:
    """The web process, as far as a thread can be it."""
    terms.place.prepare()
    with listen("127.0.0.1", 0) as listener:
        made = server(terms, head_seconds)
        async with asyncio.TaskGroup() as group:
            group.create_task(made.serve([listener]))
            yield address(listener)
            made.should_exit = True


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def api(data: Path) -> Iterator[Api]:
    """Starts a service without workers on terms of its own; answers with a client for it."""
    with ExitStack() as stack:

        def begin(**terms: Any) -> httpx.Client:
            url = stack.enter_context(background(web(Terms(data=data, quiet=True, **terms))))
            return stack.enter_context(httpx.Client(base_url=url, timeout=30))

        yield begin


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service as it is by default, for all tests of a module."""
    data = tmp_path_factory.mktemp("service") / "data"
    with (
        background(web(Terms(data=data, quiet=True))) as url,
        httpx.Client(base_url=url, timeout=30) as made,
    ):
        yield made


def new_key(data: Path, *scopes: Scope, **quotas: int) -> dict[str, str]:
    """The header of somebody with a new key."""
    Terms(data=data).place.prepare()
    with closing(Terms(data=data).place.desk()) as desk:
        token, _ = keys.add(desk, "test", scopes or ("submit", "read"), Quotas(**quotas), 0.0)
    return {"Authorization": f"Bearer {token}"}


@contextmanager
def whole(place: Place, *words: str) -> Iterator[httpx.Client]:
    """A service with all its processes, started as people do."""
    where = ("--data", place) if isinstance(place, Path) else ("--store", str(place))
    process = start(
        "serve", *where, "--port", "0", "--allow-private", "--quiet", *words,
        variables={"PGPASSWORD": PASSWORD},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "Freki serves" in line, line
        with httpx.Client(base_url=line.split()[2].rstrip(";"), timeout=30) as client:
            yield client
    finally:
        process.terminate()
        run = ended(process)
    assert run.code == 0, run.err
