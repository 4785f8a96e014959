"""Exports of a crawl as downloads: what `freki export` writes, under the same names."""

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from threading import BoundedSemaphore
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from freki.errors import BadInput
from freki.serve.callers import Books, Reader
from freki.serve.office import Results
from freki.serve.problems import Problem, documented
from freki.serve.results import SANDBOX
from freki.serve.shapes import Query as Parameters
from freki.sinks.export import export
from freki.sinks.rows import EXTRAS
from freki.sinks.wanted import FORMATS, Wanted, wanted

routes = APIRouter(prefix="/crawls/{id}", tags=["results"])

# At once; each reads a whole crawl.
MOST_AT_ONCE = 4

# An archive is one file here, however large.
WHOLE = 2**60

# Names of files that can be asked for: what is in it, and the format.
NAMES: Final = {
    f"{what}{suffix}": what
    for suffix, kinds in FORMATS.items()
    for what in kinds
    if suffix not in ("/", ".warc")
}

_room = BoundedSemaphore(MOST_AT_ONCE)


class ExportListing(Parameters):
    """What an export of pages has beside their fields."""

    extras: Annotated[
        list[str], Field(alias="with", max_length=len(EXTRAS), description="pages with this too")
    ] = Field(default=[])


@routes.get(
    "/exports/{name}",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        **documented("not_found", "invalid", "not_ready", "too_many_exports"),
    },
)
def download_an_export(
    id: str,
    name: str,
    wanted_: Annotated[ExportListing, Query()],
    office: Books,
    caller: Reader,
) -> FileResponse:
    """A crawl as a file: `pages.jsonl`, `urls.csv`, `links.graphml`, `pages.warc.gz` and so on."""
    job = office.job(caller, id)
    if name not in NAMES:
        raise Problem("not_found", f"there are: {', '.join(sorted(NAMES))}")
    if not _room.acquire(blocking=False):
        raise Problem("too_many_exports", "others are being written", retry_after=10)
    folder = Path(tempfile.mkdtemp(prefix="freki-export-"))
    try:
        with office.results(job) as found:
            file = _written(found, folder, name, wanted_.extras)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        _room.release()
    return FileResponse(
        file,
        headers={**SANDBOX, "Cache-Control": "no-store"},
        media_type="application/octet-stream",
        filename=name,
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


def _written(found: Results | None, folder: Path, name: str, extras: list[str]) -> Path:
    if found is None:
        raise Problem("not_ready", "the crawl has not begun")
    file = folder / name
    want = _wanted(f"{NAMES[name]}={file}", extras)
    with closing(export(want, found.db, found.crawl, found.crawl.name)) as made:
        made.finish(found.db)
    return file


def _wanted(text: str, extras: list[str]) -> Wanted:
    try:
        return wanted(text, extras, max_bytes=WHOLE)
    except BadInput as error:
        raise Problem("invalid", str(error)) from None
