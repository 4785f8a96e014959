"""Broken links as a page for people: each, the pages that have it, and the words of the link."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from freki.sinks.graph import escaped
from freki.sinks.rows import Row

# Pages that are named for one broken link; one in a footer is on every page.
MAX_PAGES = 100

STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark }
h2 { font-size: 1rem; margin: 2rem 0 .25rem; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .15rem .5rem .15rem 0; overflow-wrap: anywhere;
  vertical-align: top; border-bottom: 1px solid #8884 }
.why { color: #c33 }"""


class Broken(Struct):
    """A URL that leads to nothing."""

    url: str
    why: str
    count: int = 0
    pages: list[tuple[str, str]] = field(default_factory=list)


def report(crawl: str, rows: Iterable[Row]) -> Iterator[bytes]:
    """The pieces of the page: no script, nothing from elsewhere, and all text escaped."""
    found = sorted(gathered(rows).values(), key=lambda broken: -broken.count)
    links = sum(broken.count for broken in found)
    title = f"Broken links of {escaped(crawl)}"
    yield (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{STYLE}</style>\n<h1>{title}</h1>\n"
        f"<p>{len(found):,} addresses lead to nothing; {links:,} links go there.</p>\n"
    ).encode()
    for broken in found:
        yield _section(broken).encode()
    yield b"</html>\n"


def gathered(rows: Iterable[Row]) -> dict[str, Broken]:
    """What leads to each broken URL; of very many pages the first ones."""
    found: dict[str, Broken] = {}
    for row in rows:
        url = str(row["url"])
        broken = found.get(url)
        if broken is None:
            broken = found[url] = Broken(url, _why(row))
        broken.count += 1
        if len(broken.pages) < MAX_PAGES:
            broken.pages.append((str(row["page"]), str(row["text"])))
    return found


def _why(row: Row) -> str:
    if row["status"] is not None:
        return str(row["status"])
    detail = f": {row['detail']}" if row["detail"] else ""
    return f"{row['reason']}{detail}"


def _section(broken: Broken) -> str:
    lines = "".join(
        f"<tr><td>{_link(page)}</td><td>{escaped(text)}</td></tr>\n" for page, text in broken.pages
    )
    more = broken.count - len(broken.pages)
    rest = f"<p>and {more:,} more</p>\n" if more else ""
    return (
        f'<h2>{_link(broken.url)} <span class="why">{escaped(broken.why)}</span></h2>\n'
        f"<table>\n<tr><th>on page</th><th>as</th></tr>\n{lines}</table>\n{rest}"
    )


def _link(url: str) -> str:
    """Every URL of a crawl is http or https."""
    return f'<a href="{escaped(url)}" rel="noreferrer">{escaped(url)}</a>'
