"""What a crawl meets when the machine, the store or the other side is not as it should be."""

import os
import shutil
import sqlite3
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import msgspec
import pytest
from tests.background import background
from tests.command import PATIENCE, Run, call, ended, freki, start
from tests.system.scripted import page, scripted

from freki.testing.server import Site, serve
from freki.testing.synthetic import Web

QUICK = ("--delay", "0", "--attempts", "1")

# For a certificate that nobody signed.
REQUEST = (
    *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
    *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with background(serve(Web(seed=4, pages=150, redirects=0.1, missing=0.05))) as served:
        yield served


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "freki.db"


def crawl(store: Path, url: str, *words: str) -> Run:
    run = freki("crawl", "--store", store, *QUICK, *words, url)
    assert "Traceback" not in run.err
    return run


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.fail(f"{program} is missing: sudo apt-get install --yes {program}", pytrace=False)
    return found


# The other side


def test_a_host_that_does_not_resolve_is_told(store: Path) -> None:
    run = crawl(store, "http://no-such-host.invalid/")
    assert run.code == 7
    assert "The start URL http://no-such-host.invalid/ gave no page (dns: " in run.out


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that nobody vouches for, with its key in the same file."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        [needs("openssl"), *REQUEST, "-keyout", file, "-out", f"{file}.cert"],
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + Path(f"{file}.cert").read_text())
    return file


def test_a_certificate_that_does_not_verify_is_told_and_can_be_accepted(
    certificate: Path, store: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with background(scripted({"/": page()}, tls=context)) as secret:
        run = crawl(store, f"{secret.url}/")
        assert run.code == 7
        assert f"The start URL {secret.url}/ gave no page (tls: " in run.out
        assert "self-signed certificate" in run.out
        accepted = crawl(store, f"{secret.url}/", "--insecure", "--again", "--json")
        assert (accepted.code, accepted.json["pages"]) == (0, 1)


# The store


def test_a_store_that_is_a_folder_or_nowhere_is_told(site: Site, tmp_path: Path) -> None:
    folder = crawl(tmp_path, site.url)
    assert (folder.code, folder.out) == (3, "")
    nowhere = crawl(tmp_path / "nowhere" / "freki.db", site.url)
    assert (nowhere.code, nowhere.out) == (3, "")
    assert f"there is no folder {tmp_path / 'nowhere'}; create it first" in nowhere.err
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("content", [b"hello\n", b"SQLite format 3\0 but not really" * 40])
def test_a_file_that_is_no_store_is_told_and_left_as_it_is(
    content: bytes, site: Site, store: Path
) -> None:
    store.write_bytes(content)
    for run in (crawl(store, site.url), freki("status", "--store", store)):
        assert (run.code, run.out) == (3, "")
        assert "not a store of Freki; name another with --store" in run.err
    assert store.read_bytes() == content
    assert [file.name for file in store.parent.iterdir()] == [store.name]


def test_a_database_of_somebody_else_is_told_and_left_as_it_is(site: Site, store: Path) -> None:
    with closing(sqlite3.connect(store)) as db:
        db.execute("CREATE TABLE theirs (it)")
    content = store.read_bytes()
    for run in (crawl(store, site.url), freki("status", "--store", store)):
        assert run.code == 3
        assert "not a store of Freki" in run.err
    assert store.read_bytes() == content


def test_a_store_of_a_later_version_is_told_and_left_as_it_is(site: Site, store: Path) -> None:
    crawl(store, site.url, "--max-pages", "1")
    with closing(sqlite3.connect(store)) as db:
        db.execute("PRAGMA user_version = 1000")
    content = store.read_bytes()
    for run in (crawl(store, site.url), freki("status", "--store", store)):
        assert run.code == 3
        assert "later version of Freki" in run.err
        assert "upgrade Freki" in run.err
    assert store.read_bytes() == content


def test_a_store_that_may_not_be_written_is_told(site: Site, store: Path) -> None:
    crawl(store, site.url, "--max-pages", "1", "--quiet")
    for file in store.parent.iterdir():
        file.chmod(0o444)
    store.parent.chmod(0o555)
    words = ("crawl", "--store", store, *QUICK, "--max-pages", "2", site.url)
    # Root may write everywhere, unless it gives that up.
    bound = (needs("setpriv"), "--bounding-set=-dac_override") if os.geteuid() == 0 else ()
    run = call(*words, before=bound)
    look = call("pages", "--store", store, "--format", "jsonl", before=bound)
    store.parent.chmod(0o755)
    assert (look.code, len(look.out.splitlines())) == (0, 1)  # what is finished can be read
    assert (run.code, run.out) == (3, "")
    assert "check the path and its permissions" in run.err
    assert "Traceback" not in run.err


def test_a_store_that_somebody_else_holds_for_long_is_told(site: Site, store: Path) -> None:
    crawl(store, site.url, "--max-pages", "1", "--quiet")
    with closing(sqlite3.connect(store)) as db:
        db.execute("BEGIN IMMEDIATE")
        # The minute of patience passes a hundred times as fast.
        faster = (needs("faketime"), "-f", "+0 x100")
        words = ("crawl", "--store", store, *QUICK, "--max-pages", "2", site.url)
        run = call(*words, before=faster)
        assert (run.code, run.out) == (3, "")
        assert "another process holds the store" in run.err
        assert "Traceback" not in run.err
        # Who only reads need not wait.
        assert freki("status", "--store", store, "--json").json["pages"] == 1


def test_a_crawl_that_another_process_works_on_is_left_to_it(store: Path) -> None:
    asked = Event()
    with background(scripted({"/": None})) as site:
        site.note = lambda path: asked.set() if path == "/" else None
        process = start("crawl", "--store", store, *QUICK, f"{site.url}/", "--name", "mine")
        assert asked.wait(PATIENCE)
        for words in ((), ("--again",)):
            run = crawl(store, f"{site.url}/", "--name", "mine", *words)
            assert (run.code, run.out) == (6, "")
            assert f"is being worked on by process {process.pid}; wait for it" in run.err
        assert freki("status", "--store", store).out.startswith("mine, run 1: running\n")
        process.kill()
        ended(process)
    assert freki("status", "--store", store).out.startswith("mine, run 1: interrupted\n")


def test_a_crawl_that_runs_out_of_room_says_so_and_is_complete_when_there_is_some(
    site: Site, tmp_path: Path
) -> None:
    full, store = tmp_path / "full.db", tmp_path / "freki.db"
    words = ("crawl", *QUICK, "--quiet", site.url, "--store")
    for writes in (30, 150):
        no_room = f"pwrite64:error=ENOSPC:when={writes}+"
        traced = (needs("strace"), "-f", "-qq", "-o", os.devnull, "-e", f"inject={no_room}")
        run = call(*words, full, before=traced)
        assert (run.code, run.out) == (4, "")
        assert "there is no room left on the device; free some, then run the same" in run.err
        assert len(run.err.splitlines()) == 1
    assert freki(*words, full) == (0, "", "")
    assert freki(*words, store) == (0, "", "")
    assert stored(full) == stored(store)


def stored(store: Path) -> dict[str, str]:
    """The digest of every page, by its URL."""
    lines = freki("pages", "--store", store, "--format", "jsonl").out.splitlines()
    rows = [msgspec.json.decode(line) for line in lines]
    return {row["url"]: row["sha256"] for row in rows}
