"""`freki shot`: pictures of pages."""

import argparse
import asyncio
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from freki.cli.browser import add_browser, browsers, whole
from freki.cli.crawl import run_loop
from freki.cli.exits import Exit
from freki.cli.files import make_folder, write_file
from freki.cli.options import Parser
from freki.cli.output import harmless
from freki.errors import BadConfig, BadInput
from freki.fetch.browser.devices import DEVICES
from freki.ledger import captures
from freki.ledger.store import open_store, translated
from freki.messages import MEANINGS
from freki.pictures import (
    OF_THE_CONNECTION,
    THUMBNAILS,
    Capture,
    Cookie,
    Format,
    Rendering,
    Shot,
    Unrendered,
    Viewport,
)
from freki.steps import Render
from freki.url import hostname, parse

EXAMPLES = """\
  freki shot https://example.com -o example.webp
  freki shot https://example.com https://example.org -o pictures --full-page
  freki shot https://example.com -o shots --device desktop --device iphone --thumbnails
  freki shot http://localhost:8000 -o card.png --selector '#card' --dark
"""

SUFFIXES: dict[str, Format] = {
    ".webp": "webp",
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".pdf": "pdf",
}
_SUFFIX = {"webp": ".webp", "png": ".png", "jpeg": ".jpg", "pdf": ".pdf"}

# Visits begun at once: enough for all browsers of a large machine.
AT_ONCE = 48

# Less is no deadline but a failure.
LEAST_SECONDS = 0.1

_SIZE = re.compile(r"(\d{2,5})x(\d{2,5})(?:@(\d(?:\.\d+)?))?")
_NAME_LENGTH = 80


class Line(Struct, frozen=True):
    """What `--json` prints of a visit."""

    url: str
    final_url: str | None
    status: int | None
    reason: str
    detail: str
    title: str
    settled: bool
    files: list[str]
    thumbnails: list[str]
    sha256: list[str]
    phash: list[str | None]
    blank: bool
    truncated: bool
    phases: dict[str, float]
    console: list[str]
    failed_requests: list[list[str]]
    requests: int
    blocked: int


class Target(NamedTuple):
    """Where pictures go."""

    path: Path
    is_file: bool


def run(command: str, words: list[str]) -> int:
    """Exits with 0 if every URL was seen, and with 7 if one was not."""
    arguments = parser(command).parse_args(words)
    target = _target(arguments)
    wish = _wish(arguments, target)
    urls = [parse(url) for url in arguments.url]
    if not target.is_file:
        make_folder(target.path)
    try:
        seen = run_loop(_visit_all(arguments, urls, wish, target))
    except asyncio.CancelledError:
        return Exit.interrupted
    return Exit.finished if seen == len(urls) else Exit.nothing_fetched


def parser(command: str) -> Parser:
    """The options of `freki shot`."""
    made = Parser(command, "Takes pictures of pages, with a browser of this machine.", EXAMPLES)
    made.add_argument("url", nargs="+", metavar="URL")
    add = made.add_argument
    add("-o", "--output", type=Path, required=True, metavar="PATH", help="a file, or a folder")
    add(
        "--viewport", action="append", type=_viewport, metavar="WxH",
        help="the window, as 1280x800 or 390x844@2; may be repeated",
    )  # fmt: skip
    add(
        "--device", action="append", choices=list(DEVICES), help="a window by name; may be repeated"
    )
    add("--full-page", action="store_true", help="down to the end of the page")
    add(
        "--max-height",
        type=whole,
        default=40_000,
        metavar="N",
        help="of a full page, in CSS pixels",
    )
    add("--selector", default="", metavar="CSS", help="only this element")
    add("--format", choices=list(_SUFFIX), help="default: by the name of the file, or webp")
    add("--quality", type=_quality, default=78, metavar="N", help="of WebP and JPEG (default: 78)")
    add("--thumbnails", action="store_true", help="two small pictures beside each")
    add("--wait", choices=["settled", "load", "domcontentloaded"], default="settled",
        help="until when (default: settled)")  # fmt: skip
    add("--wait-for", default="", metavar="CSS", help="until this element is there")
    add("--delay", type=_seconds, default=0.0, metavar="SECONDS", help="on top of that")
    add("--timeout", type=_time, default=40.0, metavar="SECONDS", help="for each URL")
    add("--dark", action="store_true", help="prefer dark colours")
    add("--header", action="append", type=_header, metavar="'NAME: VALUE'",
        help="sent to the site itself only; may be repeated")  # fmt: skip
    add("--cookie", action="append", type=_cookie, metavar="NAME=VALUE", help="may be repeated")
    add("--hide-banners", action="store_true", help="hide what asks for consent to cookies")
    add("--block-ads", action="store_true", help="leave out advertisements and trackers")
    add("--block-host", action="append", metavar="HOST", help="and these; may be repeated")
    add("--keep", type=Path, metavar="FILE", help="keep captures in this store as well")
    add("--json", action="store_true", help="a line of JSON for each URL")
    add_browser(made)
    return made


async def _visit(render: Render, shot: Shot) -> tuple[Rendering | Unrendered, float]:
    seen = await render(shot)
    return seen, time.time()


async def _visit_all(
    arguments: argparse.Namespace, urls: list[str], wish: Shot, target: Target
) -> int:
    names = Names(target, wish)
    store = str(arguments.keep)
    count = 0

    def take(seen: Rendering | Unrendered, at: float) -> None:
        nonlocal count
        if arguments.keep is not None:
            with translated(store), closing(open_store(arguments.keep)) as db:
                captures.store(db, at, seen)
        count += isinstance(seen, Rendering)
        _tell(seen, names, as_json=arguments.json)

    async with browsers(arguments, len(urls)) as render:
        wishes = (msgspec.structs.replace(wish, url=url) for url in urls)
        await visit_in_order(render, wishes, take)
    return count


async def visit_in_order(
    render: Render, wishes: Iterable[Shot], take: Callable[[Rendering | Unrendered, float], None]
) -> None:
    """Hand over visits and when they ended, in the order of the wishes.

    However many there are, only a few wait for a browser or have pictures in memory.
    """
    begun: deque[asyncio.Task[tuple[Rendering | Unrendered, float]]] = deque()
    async with asyncio.TaskGroup() as tasks:
        for wish in wishes:
            begun.append(tasks.create_task(_visit(render, wish)))
            if len(begun) >= AT_ONCE:
                take(*await begun.popleft())
        while begun:
            take(*await begun.popleft())


class Names:
    """Names of files: of one that was given, or by URL; never one twice."""

    def __init__(self, target: Target, wish: Shot) -> None:
        self._target = target
        self._wish = wish
        self._taken: set[str] = set()

    def of(self, url: str, capture: Capture) -> Path:
        """Where a capture goes."""
        marks = []
        if len(self._wish.viewports) > 1:
            viewport = capture.viewport
            marks.append(viewport.name or f"{viewport.width}x{viewport.height}")
        if capture.tiles > 1:
            marks.append(str(capture.tile + 1))
        if self._target.is_file:
            path = self._target.path
            return path.with_name("-".join([path.stem, *marks]) + path.suffix)
        stem = "-".join([_stem(url), *marks])
        if stem in self._taken:
            stem = f"{stem}-{sha256(url.encode()).hexdigest()[:8]}"
        self._taken.add(stem)
        return self._target.path / (stem + _SUFFIX[capture.picture.format])


def _stem(url: str) -> str:
    """A name for a file, without anything that a file system or a shell takes for its own."""
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", url.partition("://")[2]).strip("-.")
    if len(plain) > _NAME_LENGTH:
        plain = f"{plain[:_NAME_LENGTH]}-{sha256(url.encode()).hexdigest()[:8]}"
    return plain or hostname(url)


def _tell(seen: Rendering | Unrendered, names: Names, *, as_json: bool) -> None:
    files, small = [], []
    for capture in seen.captures if isinstance(seen, Rendering) else ():
        path = names.of(seen.url, capture)
        write_file(path, capture.picture.data)
        files.append(str(path))
        for thumbnail in capture.thumbnails:
            beside = path.with_name(f"{path.stem}.{thumbnail.width}.webp")
            write_file(beside, thumbnail.data)
            small.append(str(beside))
    if as_json:
        print(msgspec.json.encode(_line(seen, files, small)).decode())
    elif isinstance(seen, Unrendered):
        remedy = MEANINGS[seen.reason.name].remedy
        told = f"{seen.url}: {seen.reason.name}: {seen.detail}"
        print(harmless(f"{told}; {remedy}" if remedy else told), file=sys.stderr)
    else:
        print("\n".join(files))
        _remark(seen)


def _remark(seen: Rendering) -> None:
    if seen.status >= 400:
        print(f"{seen.url} answered {seen.status}", file=sys.stderr)
    if any(capture.truncated for capture in seen.captures):
        print(f"{seen.url} goes on below; --max-height shows more", file=sys.stderr)
    if any(capture.blank for capture in seen.captures):
        print(f"{seen.url} is blank", file=sys.stderr)


def _line(seen: Rendering | Unrendered, files: list[str], small: list[str]) -> Line:
    failed = isinstance(seen, Unrendered)
    told = Rendering(url=seen.url, final_url="", phases=seen.phases) if failed else seen
    assert isinstance(told, Rendering)
    return Line(
        url=seen.url,
        final_url=told.final_url or None,
        status=None if failed else told.status,
        reason=seen.reason.name if isinstance(seen, Unrendered) else "ok",
        detail=seen.detail if isinstance(seen, Unrendered) else "",
        title=told.title,
        settled=told.settled and not failed,
        files=files,
        thumbnails=small,
        sha256=[capture.picture.digest.hex() for capture in told.captures],
        phash=[
            None if capture.phash is None else f"{capture.phash:016x}" for capture in told.captures
        ],
        blank=any(capture.blank for capture in told.captures),
        truncated=any(capture.truncated for capture in told.captures),
        phases=msgspec.structs.asdict(told.phases),
        console=list(told.console),
        failed_requests=[[request.url, request.why] for request in told.failed_requests],
        requests=told.requests,
        blocked=told.blocked,
    )


def _target(arguments: argparse.Namespace) -> Target:
    path: Path = arguments.output
    is_file = path.suffix.lower() in SUFFIXES and not path.is_dir()
    if is_file and len(arguments.url) > 1:
        raise BadInput(f"{path} is one file and there are several URLs; name a folder with -o")
    if is_file and not path.parent.is_dir():
        raise BadInput(f"there is no folder {path.parent}; create it first")
    return Target(path, is_file)


def _wish(arguments: argparse.Namespace, target: Target) -> Shot:
    by_name = SUFFIXES.get(target.path.suffix.lower()) if target.is_file else None
    if arguments.format and by_name and arguments.format != by_name:
        raise BadConfig(f"--format {arguments.format} does not fit the name {target.path.name}")
    viewports = [*(arguments.viewport or ()), *(DEVICES[name] for name in arguments.device or ())]
    return Shot(
        url="",
        viewports=tuple(viewports) or (Viewport(),),
        format=arguments.format or by_name or "webp",
        quality=arguments.quality,
        full_page=arguments.full_page,
        max_height=arguments.max_height,
        selector=arguments.selector,
        thumbnails=THUMBNAILS if arguments.thumbnails or arguments.keep else (),
        wait=arguments.wait,
        wait_selector=arguments.wait_for,
        delay=arguments.delay,
        dark=arguments.dark,
        headers=tuple(arguments.header or ()),
        cookies=tuple(arguments.cookie or ()),
        hide_banners=arguments.hide_banners,
        block_ads=arguments.block_ads,
        block_hosts=tuple(arguments.block_host or ()),
        navigate_seconds=min(20.0, arguments.timeout),
        seconds=arguments.timeout,
    )


def _viewport(text: str) -> Viewport:
    found = _SIZE.fullmatch(text)
    if not found or not (0 < int(found[1]) <= 7_680 and 0 < int(found[2]) <= 4_320):
        raise argparse.ArgumentTypeError("a window is as 1280x800, up to 7680x4320")
    return Viewport(width=int(found[1]), height=int(found[2]), scale=float(found[3] or 1))


def _quality(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError("quality is from 1 to 100")
    return int(text)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) < inf:
            return seconds
    raise argparse.ArgumentTypeError("seconds are a number from 0 on")


def _time(text: str) -> float:
    if _seconds(text) < LEAST_SECONDS:
        raise argparse.ArgumentTypeError(f"a page needs {LEAST_SECONDS:g} seconds at least")
    return float(text)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if name.lower() in OF_THE_CONNECTION:
        raise argparse.ArgumentTypeError(
            f"{name} is not yours to set; for cookies there is --cookie"
        )
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or "\n" in value:
        raise argparse.ArgumentTypeError("a header is as 'Name: value'")
    return name, value.strip()


def _cookie(text: str) -> Cookie:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("a cookie is as name=value")
    return Cookie(name=name, value=value)
