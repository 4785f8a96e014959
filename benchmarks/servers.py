"""What is crawled: documentation of Debian behind nginx, whose log tells who fetched what."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

NGINX = """
daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
events {{ worker_connections 4096; }}
http {{ include /etc/nginx/mime.types; keepalive_requests 1000000;
  log_format asked '$status $request_method $uri';
  access_log asked.log asked buffer=64k flush=1s;
  server {{ listen 127.0.0.1:{port}; root "{root}"; }} }}
"""


class Site(Struct, frozen=True):
    """A folder of HTML that a Debian package brings."""

    package: str
    root: Path
    start: str


class Served(Struct):
    """A site on a port of this machine."""

    url: str
    log: Path
    server: "subprocess.Popen[bytes]"
    _read: int = 0

    def fetched(self) -> set[str]:
        """The pages that were fetched since this was asked last."""
        time.sleep(1.2)  # as long as nginx may keep lines to itself
        lines = self.log.read_text("utf-8", "replace").split("\n")[:-1]
        new, self._read = lines[self._read :], len(lines)
        asked = (line.split(" ", 2) for line in new)
        return {
            path.removesuffix("index.html")
            for status, method, path in asked
            if status == "200" and method == "GET" and path.endswith((".html", ".htm", "/"))
        }


@contextmanager
def served(site: Site) -> Iterator[Served]:
    """nginx on a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert nginx, "nginx is not installed"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nginx.conf").write_text(NGINX.format(port=port, root=site.root), "utf-8")
        command = [nginx, "-p", folder, "-c", "nginx.conf", "-e", "error.log"]
        with subprocess.Popen(command) as server:
            wait_for(port)
            try:
                url = f"http://127.0.0.1:{port}/{site.start}"
                yield Served(url, Path(folder) / "asked.log", server)
            finally:
                server.terminate()


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")
