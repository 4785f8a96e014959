"""WARC 1.1, read back with another program's reader, byte by byte."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import freki
from tests.sinks.crawled import PICTURE, SCRIPT, crawled, filled
from warcio.archiveiterator import ArchiveIterator

Record = dict[str, object]


def records(*paths: Path) -> list[Record]:
    found: list[Record] = []
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                head = record.http_headers
                body = record.content_stream().read()
                found.append({**dict(record.rec_headers.headers), "http": head, "body": body})
    return found


def checked(path: Path) -> str:
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.fixture
def archive(tmp_path: Path) -> tuple[str, Path]:
    with crawled(tmp_path / "freki.db") as site:
        file = tmp_path / "site.warc.gz"
        assert freki("export", file, "--store", tmp_path / "freki.db", "--quiet").code == 0
        return site, file


def of_type(found: list[Record], kind: str) -> dict[object, Record]:
    return {one["WARC-Target-URI"]: one for one in found if one["WARC-Type"] == kind}


def test_another_program_finds_nothing_wrong(archive: tuple[str, Path]) -> None:
    _, file = archive
    said = checked(file)
    assert "digest pass" in said
    assert "no digest to check" not in said


def test_every_body_is_read_back_as_it_was_served(archive: tuple[str, Path]) -> None:
    site, file = archive
    answers = of_type(records(file), "response")
    assert answers[f"{site}/picture.png"]["body"] == PICTURE
    assert answers[f"{site}/packed"]["body"] == b"<h1>packed</h1>" * 50
    home = SCRIPT["/"].partition(b"\r\n\r\n")[2]
    assert answers[f"{site}/"]["body"] == home
    served = {*SCRIPT, "/gone", "/sitemap.xml", "/sitemap_index.xml"} - {"/twin2"}
    assert set(answers) == {f"{site}{path}" for path in served}


def test_headers_fit_the_body_and_tell_how_it_came(archive: tuple[str, Path]) -> None:
    site, file = archive
    answers = of_type(records(file), "response")
    home, packed = (answers[f"{site}{path}"]["http"] for path in ("/", "/packed"))
    assert home.get_header("x-note") == "café"  # type: ignore[attr-defined]
    assert packed.get_header("content-length") == "750"  # type: ignore[attr-defined]
    assert packed.get_header("x-orig-content-encoding") == "gzip"  # type: ignore[attr-defined]
    assert packed.get_header("content-encoding") is None  # type: ignore[attr-defined]
    moved = answers[f"{site}/moved-gone"]
    assert moved["WARC-Truncated"] == "unspecified"
    assert moved["http"].get_header("location") == "/gone"  # type: ignore[attr-defined]


def test_a_body_that_came_before_is_a_reference(archive: tuple[str, Path]) -> None:
    site, file = archive
    found = records(file)
    (again,) = of_type(found, "revisit").values()
    first = of_type(found, "response")[f"{site}/twin"]
    assert again["WARC-Target-URI"] == f"{site}/twin2"
    assert again["WARC-Refers-To"] == first["WARC-Record-ID"]
    assert again["WARC-Refers-To-Target-URI"] == f"{site}/twin"
    assert again["WARC-Refers-To-Date"] == first["WARC-Date"]
    assert again["WARC-Payload-Digest"] == first["WARC-Payload-Digest"]
    assert str(again["WARC-Profile"]).endswith("/warc/1.1/revisit/identical-payload-digest")


def test_each_answer_has_its_request(archive: tuple[str, Path]) -> None:
    site, file = archive
    found = records(file)
    answers = [one for one in found if one["WARC-Type"] in ("response", "revisit")]
    asked = {one["WARC-Concurrent-To"]: one for one in found if one["WARC-Type"] == "request"}
    assert asked.keys() == {one["WARC-Record-ID"] for one in answers}
    home = next(one for one in asked.values() if one["WARC-Target-URI"] == f"{site}/")
    head = home["http"]
    assert head.statusline == "/ HTTP/1.1"  # type: ignore[attr-defined]
    assert head.get_header("host") == site.partition("://")[2]  # type: ignore[attr-defined]
    assert head.get_header("user-agent").startswith("Freki")  # type: ignore[attr-defined]


def test_each_record_is_a_gzip_member_of_its_own(archive: tuple[str, Path]) -> None:
    _, file = archive
    data, offsets = file.read_bytes(), []
    with file.open("rb") as stream:
        iterator = ArchiveIterator(stream)
        for _ in iterator:
            offsets.append(iterator.get_record_offset())  # noqa: PERF401
    assert all(data[offset : offset + 2] == b"\x1f\x8b" for offset in offsets)
    (last,) = list(ArchiveIterator(io.BytesIO(data[offsets[-1] :])))
    assert last.rec_type == "request"


def test_a_large_archive_goes_on_in_the_next_file(tmp_path: Path) -> None:
    filled(tmp_path / "freki.db", 900)
    whole, parts = tmp_path / "whole.warc", tmp_path / "parts.warc"
    words = ("--store", tmp_path / "freki.db", "--quiet")
    assert freki("export", whole, *words).code == 0
    assert freki("export", parts, *words, "--max-size", "1").code == 0
    names = sorted(tmp_path.glob("parts*.warc"))
    assert len(names) > 1
    assert all(record["WARC-Type"] == "warcinfo" for record in (records(n)[0] for n in names))
    every = records(names[-1], *names[:-1])
    assert every[0]["WARC-Filename"] == "parts.warc"
    payload = {"WARC-Warcinfo-ID", "http"}
    told = [{key: one[key] for key in one if key not in payload} for one in every]
    straight = [{key: one[key] for key in one if key not in payload} for one in records(whole)]
    assert [one for one in told if one["WARC-Type"] != "warcinfo"] == straight[1:]
