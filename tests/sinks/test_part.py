"""A file has its name when it is whole; who was killed goes on, and doubles nothing."""

import resource
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import fsspec
import pytest
from tests.command import freki
from tests.sinks.crawled import exporting, filled

from freki.errors import BadInput, ExportFull, ExportUnwritable
from freki.sinks import export as exports
from freki.sinks.part import part
from freki.sinks.wanted import wanted

PAGES = 1300


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("many") / "freki.db"
    filled(store, PAGES)
    return store


class Killed(BaseException):
    """Nothing runs after it, as after `kill -9`."""


def after(count: int) -> Callable[[], bool]:
    """True once, at that call."""
    left = iter(range(count))
    return lambda: next(left, None) is None


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.csv", "links.csv", "pages.warc.gz"])
def test_what_was_interrupted_anywhere_ends_as_if_it_had_not(
    store: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "KEEP_ROWS", 300)
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    straight.mkdir()
    broken.mkdir()
    with exporting(store, straight / name) as made:
        made.whole()
    for kill_at in (0, 1, 700, 600, 100):  # pages of each run
        with exporting(store, broken / name) as made, suppress(Killed):
            under_way = made.begin()
            _die_at(under_way, kill_at)
            with closing(under_way):  # the system closes what a killed process had open
                under_way.finish(made.db)
        assert not (broken / name).exists()
        with (broken / f"{name}.part").open("ab") as torn:
            torn.write(b"half a li")  # that was written, and not kept
    with exporting(store, broken / name) as made, closing(made.begin()) as last:
        begun_at = last.count
        last.finish(made.db)
    assert begun_at > 0
    assert (broken / name).read_bytes() == (straight / name).read_bytes()
    assert [path.name for path in broken.iterdir()] == [name]


def _die_at(under_way: exports.Export, count: int) -> None:
    assert isinstance(under_way, exports.Growing)
    target, dies = under_way._target, after(count)
    add = target.add

    def dying(*arguments: object) -> int:
        if dies():
            raise Killed
        return add(*arguments)  # type: ignore[arg-type]

    target.add = dying  # type: ignore[method-assign]


def test_another_job_begins_anew(store: Path, tmp_path: Path) -> None:
    with exporting(store, tmp_path / "out.jsonl", extras=["links"]) as made:
        under_way = made.begin()
        under_way.advance(made.db)
        under_way.close()
    with exporting(store, tmp_path / "out.jsonl") as made:
        assert made.whole() == PAGES
    assert b'"links"' not in (tmp_path / "out.jsonl").read_bytes()


def test_an_existing_file_is_replaced_only_if_that_was_said(store: Path, tmp_path: Path) -> None:
    place = tmp_path / "pages.jsonl"
    place.write_text("mine")
    run = freki("export", place, "--store", store)
    assert (run.code, place.read_text()) == (2, "mine")
    assert "--overwrite replaces it" in run.err
    assert freki("export", place, "--store", store, "--overwrite").code == 0
    assert len(place.read_bytes().splitlines()) == PAGES


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    with closing(part(str(tmp_path / "a.jsonl"), "one", overwrite=False)) as first:
        first.write(b"x")
        with pytest.raises(ExportUnwritable, match="another process is writing it"):
            part(str(tmp_path / "a.jsonl"), "two", overwrite=False)
        first.keep(1, 1)
    assert (tmp_path / "a.jsonl.part").read_bytes() == b"x"


def test_a_full_disk_is_told_and_what_is_kept_goes_on_later(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "KEEP_ROWS", 300)
    with exporting(store, tmp_path / "pages.jsonl") as made:
        under_way = made.begin()
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, limit[1]))
        try:
            with pytest.raises((ExportFull, ExportUnwritable)):
                under_way.finish(made.db)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        under_way.close()
    assert not (tmp_path / "pages.jsonl").exists()
    with exporting(store, tmp_path / "pages.jsonl") as made, closing(made.begin()) as again:
        assert again.count > 0
        again.finish(made.db)
    assert len((tmp_path / "pages.jsonl").read_bytes().splitlines()) == PAGES


def test_a_full_device_has_its_exit_code(store: Path, tmp_path: Path) -> None:
    (tmp_path / "pages.parquet.part").symlink_to("/dev/full")
    run = freki("export", tmp_path / "pages.parquet", "--store", store)
    assert (run.code, run.out) == (4, "")
    assert "there is no room left; free some, then run the same command again" in run.err


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("pages.xls", "which format is .xls? "),
        ("pages.jsonll", "did you mean .jsonl?"),
        ("pages", "a name without a suffix"),
        ("broken=site.warc.gz", ".warc.gz holds no broken; it holds: pages"),
        ("nowhere/pages.csv", "there is no folder"),
        ("nosuch://host/pages.csv", "Protocol not known: nosuch"),
        ("memory://folder/", "is written to this machine only"),
        ("http://127.0.0.1:9/pages.csv", "http"),
    ],
)
def test_a_place_that_cannot_be_is_told(store: Path, where: str, says: str) -> None:
    run = freki("export", where, "--store", store)
    assert run.code == 2
    assert says in run.err


def test_what_is_wrong_with_one_file_is_told_before_any_is_written(
    store: Path, tmp_path: Path
) -> None:
    assert freki("export", tmp_path / "pages.jsonl", "b.xyz", "--store", store).code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_storage_gets_a_whole_file(store: Path, tmp_path: Path) -> None:
    run = freki("export", "memory://bucket/pages.jsonl", tmp_path / "pages.jsonl", "--store", store)
    assert run.code == 0
    storage = fsspec.filesystem("memory")
    assert storage.cat("/bucket/pages.jsonl") == (tmp_path / "pages.jsonl").read_bytes()
    assert list(storage.find("/bucket")) == ["/bucket/pages.jsonl"]
    assert freki("export", "memory://bucket/pages.jsonl", "--store", store).code == 2
    storage.rm("/bucket", recursive=True)


def test_a_storage_that_fails_gets_nothing(store: Path) -> None:
    with exporting(store, "memory://other/pages.jsonl") as made:
        under_way = made.begin()
        under_way.advance(made.db)
        under_way.close()
    assert fsspec.filesystem("memory").find("/other") == []


def test_extras_are_known(store: Path) -> None:
    with pytest.raises(BadInput, match="did you mean markdown"):
        wanted("pages.jsonl", ["markdwn"])
