"""A PostgreSQL server of the tests' own: fresh, on a free port, and as nobody when we are root."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg

from freki.ledger.place import Address

# Debian keeps the server's own programs to itself.
PROGRAM_FOLDERS = [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]

USER, PASSWORD = "crawler", "p@ss/word"
PATIENCE = 30.0

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
max_connections = 60
autovacuum_naptime = 5s
log_line_prefix = '%m %p '
"""


class PostgresServer:
    """A cluster of databases that can be stopped, restarted and looked into."""

    def __init__(
        self, folder: Path, port: int, host: str = "127.0.0.1", through: Sequence[str] = ()
    ) -> None:
        self.host, self.port = host, port
        self._through = through
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._names = count()

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*self._through, *_as_nobody(), program("postgres"), "-D", self._folder / "data"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.ask("SELECT 1")
            except psycopg.OperationalError:
                said = (self._folder / "log").read_text("utf-8", "replace")
                assert self._process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.05)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends connections, SIGQUIT ends as a crash does."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE)

    def ask(self, statement: str, *parameters: object, database: str = "postgres") -> list[object]:
        """The first column of what an administrator is told."""
        address = f"postgresql://{USER}@{self.host}:{self.port}/{database}"
        with closing(psycopg.connect(address, password=PASSWORD, autocommit=True)) as line:
            rows = line.execute(statement.encode(), parameters)
            return [row[0] for row in rows] if rows.description else []

    def store(self, *, password: str | None = PASSWORD) -> Address:
        """The address of a database that nothing is in."""
        name = f"crawl{next(self._names)}"
        self.ask(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self.address(name, password=password)

    def schema(self) -> Address:
        """A store of its own in a database with others, which costs less to make."""
        address = self.address("postgres")
        address.schema = f"store{next(self._names)}"
        return address

    def address(self, database: str, *, password: str | None = PASSWORD) -> Address:
        secret = "" if password is None else ":" + password.replace("@", "%40").replace("/", "%2F")
        return Address(f"postgresql://{USER}{secret}@{self.host}:{self.port}/{database}")


def written(address: Address) -> str:
    """An address as people write it, password and all."""
    return str(address).replace(f"{USER}@", f"{USER}:{quote(PASSWORD, safe='')}@", 1)


@contextmanager
def running_server(
    settings: str = "", host: str = "127.0.0.1", through: Sequence[str] = ()
) -> Iterator[PostgresServer]:
    """A fresh server, started by what comes before its command; all of it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="freki-postgres-") as name:
        folder = Path(name)
        if (user := _user()) is not None:
            os.chown(folder, user, user)
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        subprocess.run(
            [program("initdb"), "--no-sync", "--auth=scram-sha-256", f"--username={USER}",
             "--encoding=UTF8", "--locale=C", f"--pwfile={password}", folder / "data"],
            check=True, capture_output=True, user=user, group=user,
        )  # fmt: skip
        port = free_port()
        with (folder / "data" / "postgresql.conf").open("a") as configuration:
            configuration.write(f"{SETTINGS}port = {port}\n{settings}\n")
        with (folder / "data" / "pg_hba.conf").open("a") as access:
            access.write("host all all 10.0.0.0/8 scram-sha-256\n")
        server = PostgresServer(folder, port, host, through)
        server.start()
        try:
            yield server
        finally:
            with suppress(ProcessLookupError):
                server.stop(signal.SIGQUIT)


def program(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join(PROGRAM_FOLDERS))
    assert found is not None, f"{name} is missing: sudo apt-get install --yes postgresql"
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _as_nobody() -> list[str]:
    if (user := _user()) is None:
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def _user() -> int | None:
    """PostgreSQL does not run as root."""
    return None if os.geteuid() != 0 else pwd.getpwnam("nobody").pw_uid
