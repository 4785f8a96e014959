"""`freki worker`: works on a crawl of a store until there is nothing left."""

import asyncio
import sys
from contextlib import closing

import msgspec

from freki.cli.choose import add_crawl, crawl_of
from freki.cli.crawl import STOPPING, run_loop
from freki.cli.exits import Exit
from freki.cli.options import Parser, add_store
from freki.cli.program import add_program, refuse_other, spider_of, words_of
from freki.engine.build import Program, worker
from freki.engine.crawl import Ending, Worker, first_error
from freki.engine.pulse import Pulse
from freki.ledger.crawls import Crawl
from freki.ledger.place import Place
from freki.ledger.store import open_existing
from freki.spider.program import helping

REPORT_EVERY = 0.5


def run(command: str, words: list[str]) -> int:
    arguments = parser(command).parse_args(words)
    with closing(open_existing(arguments.store)) as db:
        crawl = crawl_of(db, arguments.name)
        refuse_other(crawl, words_of(arguments))
    program = helping(spider_of(arguments))
    return run_loop(_work(crawl, arguments.store, program, reports=arguments.report))


def parser(command: str) -> Parser:
    """The options of `freki worker`."""
    made = Parser(
        command,
        "Works on a crawl that `freki crawl` began, beside the workers it has.",
        "  freki worker                     help with the crawl begun last\n"
        "  freki worker docs --store s.db",
    )
    add_crawl(made)
    add_store(made)
    add_program(made)
    made.add_argument(
        "--report", action="store_true", help="print what was done as JSON lines; end with stdin"
    )
    return made


async def _work(crawl: Crawl, store: Place, program: Program, *, reports: bool) -> int:
    async with worker(crawl, store, crawl.seeds, crawl.settings, program) as (working, pulse):
        loop = asyncio.get_running_loop()
        for number in STOPPING:
            loop.add_signal_handler(number, working.stop)
        ending = await (_reporting(working, pulse) if reports else working.run())
    done = pulse.statistics()
    if not reports:
        print(f"{crawl.name}: {ending.value}; {done.pages:,} pages by this worker")
    return Exit.interrupted if ending is Ending.interrupted else Exit.finished


async def _reporting(working: Worker, pulse: Pulse) -> Ending:
    """Work, and say how it goes to whoever started us."""
    try:
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(_report(pulse)),
                group.create_task(_end_with_stdin(working)),
            ]
            ending = await working.run()
            for task in beside:
                task.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    _tell(pulse)
    return ending


async def _report(pulse: Pulse) -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY)
        _tell(pulse)


def _tell(pulse: Pulse) -> None:
    sys.stdout.write(msgspec.json.encode(pulse.statistics()).decode() + "\n")
    sys.stdout.flush()


async def _end_with_stdin(working: Worker) -> None:
    """Who started us holds the other end: when it is gone, however it went, so are we."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    await reader.read()
    working.stop()
