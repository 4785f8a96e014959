"""The shape of a site: its folders with how many pages they hold, and which lead to which."""

from collections import Counter

from fastapi import APIRouter, Request
from msgspec import Struct, field
from starlette.responses import Response

from freki.ledger import read
from freki.messages import PAGES, State
from freki.serve.callers import Books
from freki.serve.office import Results
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor
from freki.url import split

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Rows that are read for a page, and folders that are shown of one.
LOOKED_AT = 40_000
SHOWN = 40
_PAGES = {reason.name for reason in PAGES}
DEEPEST = 6


class Folder(Struct):
    """A part of a path, what is directly in it, and its parts."""

    name: str
    pages: int = 0
    all: int = 0
    inside: dict[str, "Folder"] = field(default_factory=dict)

    @property
    def largest(self) -> list["Folder"]:
        return sorted(self.inside.values(), key=lambda each: each.all, reverse=True)[:SHOWN]


@routes.get("/structure")
def structure(request: Request, id: str, office: Books, visitor: Visitor) -> Response:  # noqa: A002
    """A tree by path, and how folders are reached from one another."""
    job = office.job(visitor, id)
    with office.results(job) as found:
        hosts, ways = _read(found) if found else ([], [])
    is_cut = sum(host.all for host in hosts) >= LOOKED_AT
    return page(
        request, "structure.html",
        job=job, here="structure", hosts=hosts, ways=ways, is_cut=is_cut,
    )  # fmt: skip


def _read(found: Results) -> tuple[list[Folder], list[tuple[str, str, int, float]]]:
    hosts: dict[str, Folder] = {}
    ways: Counter[tuple[str, str]] = Counter()
    wanted = read.Filter(state=State.done, limit=LOOKED_AT)
    for _, row in read.numbered_urls(found.db, found.crawl.id, wanted):
        if row.reason not in _PAGES:
            continue
        origin, path = split(row.url)
        host = hosts.setdefault(origin, Folder(origin))
        _place(host, path)
        if row.parent:
            ways[first_folder(row.parent), first_folder(row.url)] += 1
    between = [(pair, count) for pair, count in ways.most_common() if pair[0] != pair[1]][:SHOWN]
    most = max((count for _, count in between), default=1)
    return (
        sorted(hosts.values(), key=lambda each: each.all, reverse=True)[:SHOWN],
        [(begin, end, count, 100 * count / most) for (begin, end), count in between],
    )


def _place(host: Folder, path: str) -> None:
    folders = path.partition("?")[0].split("/")[1:-1][:DEEPEST]
    host.all += 1
    here = host
    for name in folders:
        here = here.inside.setdefault(name, Folder(name))
        here.all += 1
    here.pages += 1


def first_folder(url: str) -> str:
    """`/docs/` of any page below it, with its host where it has one of its own."""
    origin, path = split(url)
    names = path.partition("?")[0].split("/")
    return f"{origin.partition('://')[2]}/{names[1]}/" if len(names) > 2 else f"{origin}/"
