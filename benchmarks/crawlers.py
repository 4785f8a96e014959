"""Who is compared, how each is started, and how those that are not Freki are installed.

Peers live in .bench in the checkout. One that cannot be installed is said and left out.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

CHECKOUT = Path(__file__).parent.parent
HOME = CHECKOUT / ".bench"
PEERS = Path(__file__).parent / "peers"

PYTHON = HOME / "venv" / "bin" / "python"
PYTHON_PEERS = ("scrapy", "crawlee[parsel]")
SHOT_SCRAPER = HOME / "shot-scraper"  # its Playwright is not that of Crawlee
SPIDER_RS = "0.0.157"  # the newest of which there is a build for Linux on the registry


class Crawler(Struct, frozen=True):
    """One program with its arguments: `{url}`, and files in the folder of the run."""

    name: str
    stores: str
    command: Sequence[str]
    is_ours: bool = False
    is_slow: bool = False  # left out of large sites


def freki(name: str, stores: str, *arguments: str) -> Crawler:
    crawl = [sys.executable, "-m", "freki", "crawl", "{url}", "--delay", "0", "--quiet"]
    return Crawler(name, stores, [*crawl, "--store", "freki.db", *arguments], is_ours=True)


OURS = (
    freki("**Freki**, 2 workers", "all, SQLite", "--workers", "2"),
    freki("**Freki**, 1 worker", "all, SQLite", "--workers", "1"),
    freki("**Freki**, synced to disk", "all, SQLite", "--workers", "2", "--durability", "power"),
)

# It ends with 8 where a server answered with an error, as servers do.
WGET2 = (
    "wget2 --quiet --recursive --level=0 --no-host-directories --max-threads=32 "
    "--reject-regex='[.](css|js|svg|woff2?|png|ico|txt|json|xml|gif|jpg)$' {url} || [ $? = 8 ]"
)

THEIRS = (
    Crawler("wget2 (C), 32 threads", "files", ["sh", "-c", WGET2]),
    Crawler("spider-rs (Rust)", "nothing", ["node", str(HOME / "spider_site.cjs"), "{url}"]),
    Crawler(
        "Scrapy", "JSON rows", [str(PYTHON), str(PEERS / "scrapy_site.py"), "{url}", "rows.jsonl"],
        is_slow=True,
    ),
    Crawler(
        "Crawlee", "rows in memory", [str(PYTHON), str(PEERS / "crawlee_site.py"), "{url}"],
        is_slow=True,
    ),
)  # fmt: skip


def installed() -> list[Crawler]:
    """Everybody who can be had here, ourselves first."""
    there = {
        "wget2": shutil.which("wget2") is not None or _try(_apt("wget2")),
        "spider-rs": _has_node() and ((HOME / "node_modules").is_dir() or _install_spider_rs()),
        "Scrapy": PYTHON.exists() or _install_python_peers(),
    }
    there["Crawlee"] = there["Scrapy"]
    missing = {name for name, is_there in there.items() if not is_there}
    for name in sorted(missing):
        print(f"{name} cannot be installed here: left out", file=sys.stderr)
    return [*OURS, *(peer for peer in THEIRS if peer.name.split()[0] not in missing)]


def shot_scraper() -> list[str] | None:
    """The command of shot-scraper, a path of Chromium to follow; None if it is not to be had."""
    python = SHOT_SCRAPER / "bin" / "python"
    venv = [sys.executable, "-m", "venv", str(SHOT_SCRAPER)]
    pip = [str(python), "-m", "pip", "install", "--quiet", "shot-scraper"]
    if not python.exists() and not (_try(venv) and _try(pip)):
        print("shot-scraper cannot be installed here: left out", file=sys.stderr)
        return None
    return [str(python), str(PEERS / "shot_scraper_site.py")]


def _apt(package: str) -> list[str]:
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    return [*as_root, "apt-get", "install", "--yes", "--quiet", package]


def _has_node() -> bool:
    return shutil.which("node") is not None or _try(_apt("nodejs"))


def _install_spider_rs() -> bool:
    HOME.mkdir(exist_ok=True)
    shutil.copy(PEERS / "spider_site.cjs", HOME)  # node looks for modules beside the script
    names = ("@spider-rs/spider-rs", "@spider-rs/spider-rs-linux-x64-gnu")
    return _try(
        ["npm", "install", "--prefix", str(HOME), *(f"{name}@{SPIDER_RS}" for name in names)]
    )


def _install_python_peers() -> bool:
    venv = [sys.executable, "-m", "venv", str(HOME / "venv")]
    return _try(venv) and _try([str(PYTHON), "-m", "pip", "install", "--quiet", *PYTHON_PEERS])


def _try(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, check=False, stdout=sys.stderr).returncode == 0
    except OSError:
        return False
