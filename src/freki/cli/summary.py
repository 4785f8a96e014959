"""What `freki crawl` says at the end: to people, and to programs."""

import argparse
from collections.abc import Sequence
from shlex import quote

import msgspec

from freki.cli.look import sums_table
from freki.cli.options import DEFAULT_STORE
from freki.cli.output import counted, harmless
from freki.cli.progress import Progress, size, span
from freki.ledger import read
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.place import Place
from freki.messages import BACK, MEANINGS, Via
from freki.url import join, split

# Start URLs that the summary looks at: a file of seeds may hold a million.
MAX_STARTS = 20


def summary(
    db: Database,
    crawl: Crawl,
    arguments: argparse.Namespace,
    seconds: float,
    view: Progress,
) -> str:
    sums, starts = read.status(db, crawl.id), _starts(db, crawl)
    rate = view.pages / seconds if seconds > 0 else 0.0
    pages = f"{counted(sums.pages, 'page')} ({size(crawl.wire_bytes)} on the wire)"
    head = f"{harmless(crawl.name)}: {crawl.status} after {span(seconds)}"
    lines = [f"{head}, {pages}, {rate:,.1f} pages/s", sums_table(sums)]
    if (items := _items(db, crawl)) is not None:
        lines.append(items)
    lines += [note for line in starts[:MAX_STARTS] if (note := _note(line, starts))]
    store = "" if arguments.store == DEFAULT_STORE else f" --store {quote(str(arguments.store))}"
    name, what = quote(crawl.name), "items" if crawl.program else "pages"
    if sums.reasons.get("refused", {}).get("trap"):
        named = ", ".join(f"{trap} {count:,}" for trap, count in read.traps(db, crawl.id).items())
        lines.append(f"Traps that were not followed further: {named}.")
    if crawl.status == "interrupted":
        lines.append("The same command continues the crawl.")
    elif crawl.status == "limited":
        lines.append("A limit was reached; the same command with a higher one continues.")
    lines.append(
        f"Kept in {arguments.store}. More: freki {what} {name}{store}, freki urls {name}{store}"
    )
    return "\n".join(lines)


def _starts(db: Database, crawl: Crawl) -> list[read.UrlLine]:
    """The start URLs and what they redirected to."""
    lines = read.urls(db, crawl.id, read.Filter(depth=0))
    return [line for line in lines if line.via in (Via.seed.name, Via.redirect.name)]


def _items(db: Database, crawl: Crawl) -> str | None:
    """What a program made of the pages, and where it failed."""
    if not crawl.program:
        return None
    counts = read.item_counts(db, crawl.id)
    name = quote(crawl.name)
    told = f"  items      {counts['kept']:>12,}   dropped {counts['dropped']:,}"
    if counts["failed"]:
        told += f", failed {counts['failed']:,}: freki items {name} --fate failed"
    if crashed := read.status(db, crawl.id).reasons.get("failed", {}).get("crash"):
        told += f"\n{counted(crashed, 'page')} broke the program: freki urls {name} --reason crash"
    return told


def _note(line: read.UrlLine, starts: Sequence[read.UrlLine]) -> str | None:
    """What a person should know of a start URL, or of what it redirected to."""
    if line.outcome in ("failed", "refused") or line.reason == "http_error":
        detail = f": {harmless(line.detail)}" if line.detail else ""
        remedy = MEANINGS[line.reason or ""].remedy
        told = f"The start URL {line.url} gave no page ({line.reason}{detail})"
        return f"{told}: {remedy}." if remedy else f"{told}."
    if line.via == Via.seed.name and _is_circle(line, starts):
        return f"The start URL {line.url} redirects in a circle."
    if (
        line.via == Via.redirect.name
        and split(line.parent or line.url).origin != split(line.url).origin
    ):
        return f"The start URL {line.parent} redirects to {line.url}; the crawl followed it there."
    return None


def _is_circle(line: read.UrlLine | None, starts: Sequence[read.UrlLine]) -> bool:
    known = {start.url: start for start in starts}
    seen: set[str] = set()
    while line is not None and line.reason == "redirect" and line.url not in seen:
        seen.add(line.url)
        target = join(line.url, line.detail or "") or ""
        line = known.get(f"{target}#{BACK}") or known.get(target)
    return line is not None and line.url in seen


def over(db: Database, crawl: Crawl) -> str:
    pages = counted(read.status(db, crawl.id).pages, "page")
    how = "finished" if crawl.is_over else "reached its limit"
    when = read.iso(crawl.ended_at or crawl.started_at)
    more = "" if crawl.is_over else "  --max-pages N   continue with a higher limit\n"
    return (
        f"Crawl {crawl.name!r} {how} at {when} with {pages}; nothing was fetched now.\n"
        f"{more}{_failed_hint(db, crawl)}"
        "  --again         crawl it anew, as a new run\n"
        "  --name NAME     start another crawl beside it"
    )


def _failed_hint(db: Database, crawl: Crawl) -> str:
    failed = read.status(db, crawl.id).failed
    if not failed:
        return ""
    return (
        f"  freki retry {quote(crawl.name)} --outcome failed   try again what failed ({failed:,})\n"
    )


def summary_json(db: Database, crawl: Crawl, store: Place) -> str:
    sums = read.status(db, crawl.id)
    traps = read.traps(db, crawl.id) if sums.reasons.get("refused", {}).get("trap") else {}
    summary = {
        "crawl": crawl.name,
        "run": crawl.run,
        "status": crawl.status,
        "store": str(store),
        "seconds": round(crawl.seconds, 3),
        "wire_bytes": crawl.wire_bytes,
        **msgspec.to_builtins(sums),
        "items": read.item_counts(db, crawl.id),
        "traps": traps,
    }
    return msgspec.json.encode(summary).decode()
