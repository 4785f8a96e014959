"""The shape of a site: its folders with how many pages they hold, and which lead to which."""

from collections.abc import Iterable

from fastapi import APIRouter, Request
from msgspec import Struct, field
from starlette.responses import Response

from freki.ledger import site
from freki.serve.callers import Books
from freki.serve.views.shell import page
from freki.serve.views.visitors import Visitor

routes = APIRouter(prefix="/app/crawls/{id}", include_in_schema=False)

# Folders that are shown of one, ways that are shown in all, and how deep the tree goes.
SHOWN = 40
DEEPEST = 6


class Folder(Struct):
    """A part of a path, the pages in it and below it, and its parts."""

    name: str
    pages: int = 0
    inside: dict[str, "Folder"] = field(default_factory=dict)

    @property
    def largest(self) -> list["Folder"]:
        return sorted(self.inside.values(), key=lambda each: each.pages, reverse=True)[:SHOWN]

    @property
    def left_out(self) -> int:
        return max(0, len(self.inside) - SHOWN)


@routes.get("/structure")
def structure(request: Request, id: str, office: Books, visitor: Visitor) -> Response:
    """A tree by path, and how folders are reached from one another."""
    job = office.job(visitor, id)
    with office.results(job) as found:
        folders = site.folders(found.db, found.crawl.id) if found else []
        ways = site.ways(found.db, found.crawl.id, SHOWN) if found else []
    return page(
        request, "structure.html",
        job=job, here="structure", tree=tree(folders), ways=ways,
        most=max((way.count for way in ways), default=1),
    )  # fmt: skip


def tree(folders: Iterable[site.Folder]) -> Folder:
    """Hosts, with their folders inside."""
    root = Folder("")
    for folder in folders:
        here = root
        for name in (folder.origin, *folder.path.split("/")[1:-1][:DEEPEST]):
            here = here.inside.setdefault(name, Folder(name))
            here.pages += folder.pages
    return root
