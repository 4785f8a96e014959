"""What shall be exported, as a user spells it."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from freki.config import nearest
from freki.errors import BadInput
from freki.sinks.rows import EXTRAS

# By suffix: what the format can hold, the usual first.
FORMATS: Final[dict[str, tuple[str, ...]]] = {
    ".jsonl": ("items", "pages", "urls", "links", "broken"),
    ".csv": ("items", "pages", "urls", "links", "broken"),
    ".parquet": ("items", "pages", "urls", "links", "broken"),
    ".warc.gz": ("pages",),
    ".warc": ("pages",),
    ".graphml": ("links",),
    ".html": ("broken",),
    "/": ("pages",),
}
KINDS: Final = ("pages", "items", "urls", "links", "broken")

# Formats in which a page has columns, so that it can have more of them.
_ROWS: Final = (".jsonl", ".csv", ".parquet")

GIB: Final = 2**30


class Wanted(Struct, frozen=True):
    """One export."""

    where: str
    format: str  # one of `FORMATS`
    what: str = ""  # one of `KINDS`; empty: items where there are some, else pages
    extras: tuple[str, ...] = ()
    max_bytes: int = GIB  # of a WARC file, after which the next one begins
    overwrite: bool = False


def wanted(
    text: str, extras: Iterable[str] = (), *, max_bytes: int = GIB, overwrite: bool = False
) -> Wanted:
    """`pages.jsonl`, `broken=report.csv`, `s3://bucket/site.warc.gz`, `folder/`."""
    what, found, where = text.partition("=")
    if not found or what not in KINDS:
        what, where = "", text
    format_ = _format(where)
    what = what or _named(where) or _only(format_)
    if what and what not in FORMATS[format_]:
        held = ", ".join(FORMATS[format_])
        raise BadInput(f"{text}: {format_} holds no {what}; it holds: {held}")
    chosen = tuple(dict.fromkeys(extras))
    for extra in chosen:
        if extra not in EXTRAS:
            near = nearest(extra, list(EXTRAS)) or f"; there are: {', '.join(EXTRAS)}"
            raise BadInput(f"a page has no {extra!r} to be exported with{near}")
    if what not in ("", "pages") or format_ not in (*_ROWS, "/"):
        chosen = ()
    if format_ == "/":
        chosen = ("markdown",) if not {"main", "main_markdown"} & {*chosen} else ("main_markdown",)
    return Wanted(where, format_, what, chosen, max_bytes, overwrite)


def _format(where: str) -> str:
    for suffix in FORMATS:
        if where.lower().endswith(suffix):
            return suffix
    suffix = PurePosixPath(where).suffix
    raise BadInput(
        f"{where}: which format is {suffix or 'a name without a suffix'}?"
        f"{nearest(suffix, list(FORMATS))} There are: {', '.join(FORMATS)} (a folder of Markdown)"
    )


def _named(where: str) -> str:
    """`links.csv` has the links."""
    stem = where.rstrip("/").rpartition("/")[2].partition(".")[0]
    return stem if stem in KINDS else ""


def _only(format_: str) -> str:
    return FORMATS[format_][0] if len(FORMATS[format_]) == 1 else ""
