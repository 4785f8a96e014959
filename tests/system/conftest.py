"""Real programs for the system tests: nginx, serving real pages."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

DOCUMENTATION = Path("/usr/share/doc/postgresql-doc-15/html")

STOP_SECONDS = 10  # nginx needs a few milliseconds; beyond this it hangs and is killed
BACKLOG = 511  # of nginx itself

# Debian puts nginx where only root looks for programs.
PROGRAM_FOLDERS = "/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin"

# Asked for by us and never by a test; see `Site.requests`.
MARK = "/-/all-earlier-requests-are-logged"

CONFIGURATION = """
daemon off;
worker_processes 1;
user root;  # counts only where root runs the tests, and then their folders are closed to others
pid nginx.pid;
error_log error.log;
events {{ worker_connections 4096; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    charset utf-8;
    keepalive_requests 1000000;
    log_format lines escape=json '{{"finished":$msec,"seconds":$request_time,"status":$status,'
        '"method":"$request_method","path":"$request_uri","connection":$connection,'
        '"host":"$http_host","user_agent":"$http_user_agent"}}';
    access_log access.log lines;
    client_body_temp_path temporary; proxy_temp_path temporary; fastcgi_temp_path temporary;
    uwsgi_temp_path temporary; scgi_temp_path temporary;
    server {{
        listen 127.0.0.1:{port};
        root "{root}";
        {directives}
    }}
}}
"""


class Request(msgspec.Struct, frozen=True):
    """A request as the server saw it. Times are seconds since the epoch, to the millisecond."""

    finished: float
    seconds: float
    method: str
    path: str  # with the query, byte for byte
    status: int
    connection: int
    host: str
    user_agent: str

    @property
    def started(self) -> float:
        return self.finished - self.seconds


class Site(msgspec.Struct, frozen=True):
    """A folder of files on a port, and so a host, of its own."""

    base_url: str  # without a slash at the end
    log: Path

    def requests(self) -> list[Request]:
        """Every request that was answered so far, in the order of the answers."""
        # The one worker answers and logs, in this order, before it turns to the next request. So
        # with the answer to one more request, all lines before it are written.
        with closing(HTTPConnection(self.base_url.removeprefix("http://"))) as connection:
            connection.request("GET", MARK)
            connection.getresponse().read()
        lines = self.log.read_bytes().splitlines()
        seen = (msgspec.json.decode(line, type=Request) for line in lines)
        return [request for request in seen if request.path != MARK]


class Nginx:
    """Serves folders on free ports of 127.0.0.1, until the end of the tests."""

    def __init__(self, program: str, folder: Path, ends: ExitStack) -> None:
        self._program = program
        self._folder = folder
        self._ends = ends
        self._sites = 0

    def serve(self, root: Path, directives: str = "") -> Site:
        """A new site with the files of `root`; `directives` go into its server block."""
        self._sites += 1
        prefix = self._folder / str(self._sites)
        prefix.mkdir()
        with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
            port: int = listening.getsockname()[1]
            (prefix / "nginx.conf").write_text(
                CONFIGURATION.format(port=port, root=root, directives=directives)
            )
            self._start(prefix, listening)
        return Site(f"http://127.0.0.1:{port}", prefix / "access.log")

    def _start(self, prefix: Path, listening: socket.socket) -> None:
        # nginx takes over a listening socket as it does from its former self in an upgrade. So
        # nobody can take the port from us, and a client need not wait for nginx to be up.
        process = subprocess.Popen(
            [self._program, "-p", prefix, "-c", "nginx.conf", "-e", "error.log"],
            env={"NGINX": f"{listening.fileno()};"},
            pass_fds=[listening.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._ends.callback(_stop, process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    program = shutil.which("nginx", path=PROGRAM_FOLDERS)
    if program is None:
        pytest.fail("nginx is missing: sudo apt-get install --yes nginx-light", pytrace=False)
    with ExitStack() as ends:
        yield Nginx(program, tmp_path_factory.mktemp("nginx"), ends)


@pytest.fixture
def documentation_site(nginx: Nginx) -> Site:
    """The manual of PostgreSQL: about 1,170 pages that people wrote; its log is this test's own."""
    if not (DOCUMENTATION / "index.html").exists():
        pytest.fail(
            "The manual of PostgreSQL is missing: "
            "sudo apt-get install --yes --reinstall postgresql-doc-15",
            pytrace=False,
        )
    return nginx.serve(DOCUMENTATION)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody trusts, and its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    both = folder / "both.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    both.write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return both
