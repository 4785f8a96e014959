"""How long until something happens: `freki --help`, and the first request of a crawl.

./bench start [--write]
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.report import machine, publish, table

ROUNDS = 15


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into the documentation")
    wanted = parser.parse_args(arguments)
    rows = [
        ["`freki --help`", f"{median(until_help() for _ in range(ROUNDS)):.2f} s"],
        ["first request of a crawl", f"{median(until_request() for _ in range(ROUNDS)):.2f} s"],
    ]
    text = table(("from the call to", "median"), rows)
    publish("start", f"{text}\n\n{ROUNDS} calls; {machine()}.", write=wanted.write)


def until_help() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "freki", "--help"], check=True, capture_output=True)
    return time.perf_counter() - started


def until_request() -> float:
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        command = [sys.executable, "-m", "freki", "crawl", url, "--quiet", "--store"]
        started = time.perf_counter()
        with subprocess.Popen([*command, f"{folder}/freki.db"]) as crawl:
            connection, _ = server.accept()
            seconds = time.perf_counter() - started
            connection.close()
            crawl.kill()
    return seconds


if __name__ == "__main__":
    main()
