"""`freki crawl`: from words to a crawl, and what a person sees of it."""

import argparse
import asyncio
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from freki import config
from freki.admit.scope import Scope
from freki.cli.choose import readable
from freki.cli.exits import Exit
from freki.cli.export import add_export_options, wanted_by
from freki.cli.following import Following
from freki.cli.options import Parser, add_settings, add_store, settings_of
from freki.cli.output import counted
from freki.cli.program import add_program, flags_of, refuse_other, spider_of, words_of
from freki.cli.progress import Progress, progress
from freki.cli.summary import over, summary, summary_json
from freki.engine.build import crew_size, worker
from freki.engine.crawl import Ending
from freki.engine.crew import Crew
from freki.errors import BadInput, BadUrl, StoreError
from freki.ledger import crawls, read
from freki.ledger.blobs import settle
from freki.ledger.crawls import Crawl
from freki.ledger.database import Database
from freki.ledger.place import Address, Place
from freki.ledger.store import open_store, translated
from freki.sinks.part import is_there
from freki.sinks.wanted import Wanted
from freki.spider.program import beginning, name_of, options_of
from freki.spider.spider import Spider, check
from freki.url import parse

EXAMPLES = """\
  freki crawl https://example.com
  freki crawl https://example.com --depth 2 --max-pages 500
  freki crawl --seeds urls.txt --name many --scope page
  freki crawl http://localhost:8000 --delay 0      your own site, as fast as it goes
  freki crawl https://example.com --export pages.jsonl

The same command continues a crawl that was interrupted. Options can also stand in a TOML file
(--config) and in variables (FREKI_MAX_PAGES=10).
"""

STOPPING = (signal.SIGINT, signal.SIGTERM)

Arguments = argparse.Namespace

# Seconds that a second Ctrl-C gives to what must be put away.
FORCED_SECONDS = 2.0

# Lone surrogates are how Python spells the bytes of a command line that are no text.
CRAWL_NAME = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,100}")


class Plan(NamedTuple):
    """What to do: which crawl, from where, with which settings."""

    crawl: Crawl
    seeds: list[str]
    resumed: bool
    spider: Spider | None = None
    flags: Sequence[str] = ()  # that name the spider to a further worker
    fresh: int = 0  # start URLs that it did not have before
    wants: Sequence[Wanted] = ()  # exports that grow beside it


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_intermixed_args(words)
    spider = spider_of(arguments)
    layers = [
        config.from_flags(options_of(spider)),
        config.from_file(arguments.config) if arguments.config is not None else {},
        config.from_environment(os.environ),
        config.from_flags(settings_of(arguments)),
    ]
    settings = config.settings(*layers)  # wrong options are told before a store is made
    wants = wanted_by(arguments, arguments.export)
    Scope(settings.scope, ())
    seeds, bad = _seeds(arguments)
    name: str | None = arguments.name
    if spider is not None and arguments.spider is not None:
        check(spider, starts_elsewhere=bool(seeds))
        name = name or name_of(spider)
    if name is None and seeds:
        name = crawls.default_name(seeds[0])
    if name is None and bad:
        raise BadInput("none of the start URLs can be crawled")
    if name is None:
        raise BadInput("which site? give a URL, as in: freki crawl https://example.com")
    if not CRAWL_NAME.fullmatch(name):
        raise BadInput("a name has 1 to 100 characters, without slashes and control characters")
    durability, store = settings.keeping.durability, str(arguments.store)
    with translated(store), closing(open_store(arguments.store, durability=durability)) as db:
        if arguments.blobs is not None:
            settle(db, arguments.blobs)
        plan = _plan(db, arguments, name, seeds, layers)
        if plan is None:
            return _say_it_is_over(db, name, arguments, wants, items=spider is not None)
        plan = plan._replace(spider=spider, flags=flags_of(arguments), wants=wants)
        return run_loop(carry_out(db, arguments, plan))


def parser(command: str) -> Parser:
    """The options of `freki crawl`."""
    made = Parser(command, "Crawls from the start URLs and keeps every page in a store.", EXAMPLES)
    made.add_argument("url", nargs="*", metavar="URL", help="where to start")
    add_store(made)
    made.add_argument(
        "--blobs", metavar="PLACE", help="keep bodies and pictures in a folder or at a URL"
    )
    made.add_argument(
        "--seeds", type=Path, metavar="FILE", help="more start URLs, one a line; - is stdin"
    )
    made.add_argument("--name", metavar="NAME", help="the crawl's name (default: the first host)")
    made.add_argument(
        "--again", action="store_true", help="crawl a finished crawl anew, as a new run"
    )
    add_program(made)
    made.add_argument(
        "--export", action="append", default=[], type=readable, metavar="FILE",
        help="[WHAT=]FILE or URL, as of freki export, growing with the crawl; may be repeated",
    )  # fmt: skip
    add_export_options(made)
    made.add_argument("--config", type=Path, metavar="FILE", help="options in a TOML file")
    made.add_argument("--quiet", action="store_true", help="no progress, no summary; errors only")
    made.add_argument("--json", action="store_true", help="the summary as one JSON object")
    add_settings(made)
    return made


def _seeds(arguments: argparse.Namespace) -> tuple[list[str], int]:
    """The start URLs that can be crawled, and how many lines could not."""
    seeds = [parse(text) for text in arguments.url]
    bad = 0
    if arguments.seeds is not None:
        for number, line in enumerate(_lines(arguments.seeds), 1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            try:
                seeds.append(parse(text))
            except BadUrl as error:
                bad += 1
                print(f"{arguments.seeds}, line {number}: {error}", file=sys.stderr)
    return list(dict.fromkeys(seeds)), bad


def _lines(path: Path) -> list[str]:
    try:
        if str(path) == "-":
            return sys.stdin.read().splitlines()
        return path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def _plan(
    db: Database,
    arguments: argparse.Namespace,
    name: str,
    seeds: list[str],
    layers: Sequence[config.Layer],
) -> Plan | None:
    """Begin or continue a crawl, or None where there is nothing to do."""
    known = crawls.find(db, name)
    program = words_of(arguments)
    fresh = [seed for seed in seeds if known is None or seed not in known.seeds]
    if known is None or arguments.again:
        if known is not None:
            crawls.refuse_if_running(db, known)
        if not (seeds := seeds or (known.seeds if known else [])) and not arguments.spider:
            raise BadInput(f"there is no crawl {name!r} to continue; give a URL to begin one")
        begun = crawls.begin(db, name, seeds, config.settings(*layers), time.time(), program)
        return Plan(begun, seeds, resumed=False)
    refuse_other(known, program)
    settings = config.settings(msgspec.to_builtins(known.settings), *layers)
    limit = settings.scope.max_pages
    full = limit is not None and read.status(db, known.id).pages >= limit
    if not fresh and (known.is_over or (full and known.status == "limited")):
        return None
    resumed = crawls.resume(db, known, seeds, settings)
    return Plan(resumed, [*known.seeds, *fresh], resumed=True, fresh=len(fresh))


def _say_it_is_over(
    db: Database, name: str, arguments: Arguments, wants: Sequence[Wanted], *, items: bool
) -> Exit:
    """The code is that of the command that did the work."""
    crawl = crawls.find(db, name)
    assert crawl is not None
    # Who killed that command may have done so before its files had their names.
    missing = [want for want in wants if not is_there(want.where)]
    with Following(arguments.store, crawl, missing, items=items) as exports:
        exports.finish(quiet=arguments.quiet)
    if arguments.json:
        print(summary_json(db, crawl, arguments.store))
    elif not arguments.quiet:
        print(over(db, crawl))
    return exports.code(_code(db, crawl))


async def carry_out(db: Database, arguments: Arguments, plan: Plan) -> int:
    """Work on a crawl, show it, and sum up."""
    started = time.monotonic()
    if plan.resumed and not arguments.quiet:
        sums = read.status(db, plan.crawl.id)
        to_do = counted(sums.open + plan.fresh, "URL")
        new = f", {plan.fresh:,} of them new from you" if plan.fresh else ""
        text = f"Continuing crawl {plan.crawl.name!r}: {sums.done:,} done, {to_do} to do{new}."
        print(text, file=sys.stderr)
    view = progress(plan.crawl, arguments.quiet)
    items = plan.spider is not None
    with Following(arguments.store, plan.crawl, plan.wants, items=items) as exports:
        try:
            ending = await _work(plan, arguments.store, view)
        except BaseException:
            with suppress(StoreError):  # which is probably what ended the work
                crawls.end(db, plan.crawl, "interrupted", time.time(), time.monotonic() - started)
            raise
        status = "interrupted" if ending is None else ending.value
        crawls.end(db, plan.crawl, status, time.time(), time.monotonic() - started)
        if status != "interrupted":
            exports.finish(quiet=arguments.quiet)
    crawl = crawls.find(db, plan.crawl.name) or plan.crawl
    if arguments.json:
        print(summary_json(db, crawl, arguments.store))
    elif not arguments.quiet:
        print(summary(db, crawl, arguments, time.monotonic() - started, view))
    return exports.code(Exit.interrupted_at_once if ending is None else _code(db, crawl))


def run_loop(work: Coroutine[object, object, int]) -> int:
    """Run on the fastest event loop there is."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)


async def _work(plan: Plan, store: Place, view: Progress) -> Ending | None:
    """Crawl until the end, or until the second Ctrl-C; None means that it was cut short."""
    crawl = plan.crawl
    program = await beginning(plan.spider)
    async with worker(crawl, store, plan.seeds, crawl.settings, program) as (first, pulse):
        member = [*_member_command(crawl, store), *plan.flags]
        crew = Crew(first, pulse, member, crew_size(crawl.settings))
        task = asyncio.ensure_future(crew.run())
        _stop_on_signals(crew, task, view)
        watcher = asyncio.ensure_future(view.watch(crew))
        try:
            return await task
        except asyncio.CancelledError:
            return None
        finally:
            for number in STOPPING:
                asyncio.get_running_loop().remove_signal_handler(number)
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


def _member_command(crawl: Crawl, store: Place) -> list[str]:
    if isinstance(store, Address) and store.password is not None:
        os.environ["PGPASSWORD"] = store.password  # what a command is called with, all can see
    return ["-m", "freki", "worker", crawl.name, "--store", str(store), "--report"]


def _stop_on_signals(working: Crew, task: "asyncio.Future[Ending]", view: Progress) -> None:
    """The first one drains, the second one ends at once."""
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            view.say("Stopping: requests in flight may end. Ctrl-C again stops at once.")
            working.stop()
        else:
            task.cancel()
            # What hangs is left behind, as a store that another process holds: to start again is
            # to recover, so nothing is lost by it.
            last = threading.Timer(FORCED_SECONDS, os._exit, [Exit.interrupted_at_once])
            last.daemon = True
            last.start()

    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, stop)


def _code(db: Database, crawl: Crawl) -> Exit:
    if crawl.status == Ending.interrupted:
        return Exit.interrupted
    if not read.status(db, crawl.id).reasons.get("done", {}).get("ok"):
        return Exit.nothing_fetched
    return Exit.limit_reached if crawl.status == Ending.limited else Exit.finished
