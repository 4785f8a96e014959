"""The real steps on a fake web, in virtual time."""

import asyncio
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any

from freki import config
from freki.admit.gate import Gate
from freki.admit.scope import Scope
from freki.engine import verdict
from freki.engine.build import manners, terms
from freki.engine.crawl import Ending, Worker
from freki.engine.journey import Steps
from freki.engine.pulse import Pulse
from freki.engine.rulebook import NoRulebook, Rulebook
from freki.engine.sitemap import read_sitemap
from freki.extract.page import extract
from freki.ledger.buffered import Buffered
from freki.ledger.policy import Agenda
from freki.messages import Batch, Claim, Failure, HostRest, Page, Response
from freki.steps import Ledger, Session, Verdict, Work
from freki.testing import virtual
from freki.testing.bench import StoreBench
from freki.testing.web import FakeWeb

LEASE = 30.0
QUICK: dict[str, Any] = {"delay": 0.0, "ignore_robots": True}


class Watched:
    """A ledger that counts, and raises on demand."""

    def __init__(self, inner: Ledger, broken: dict[str, Exception]) -> None:
        self._inner = inner
        self._broken = broken
        self.claims = 0

    def join(self, now: float) -> Session:
        return self._inner.join(now)

    def renew(self, session: Session, now: float) -> None:
        self._inner.renew(session, now)

    def leave(self, session: Session, now: float) -> None:
        self._inner.leave(session, now)

    def claim(
        self,
        session: Session,
        now: float,
        hosts: int,
        refill: Sequence[HostRest],
        full: Sequence[int] = (),
    ) -> Work:
        self.claims += 1
        return self._inner.claim(session, now, hosts, refill, full)

    def commit(self, session: Session, batch: Batch) -> None:
        if batch.outcomes:
            _break(self._broken, "commit")
        self._inner.commit(session, batch)


def _break(broken: dict[str, Exception], step: str) -> None:
    if step in broken:
        raise broken[step]


class Crawling:
    """The real steps on a fake web, in virtual time."""

    def __init__(self, path: Path) -> None:
        self.bench = StoreBench(path)
        self.web = FakeWeb()
        self.workers: list[Worker] = []
        self.pulse = Pulse()
        self.connections = 256
        self.ledgers: list[Watched] = []
        self.broken: dict[str, Exception] = {}  # steps that raise, by name

    def __call__(self, *seeds: str, workers: int = 1, **options: object) -> Ending:
        """Crawl until the end, as the command line does with such options."""
        return self.run(self.crawl(*seeds, workers=workers, **options))

    def run(self, crawl: Awaitable[Ending], limit: float = 3600.0) -> Ending:
        async def whole() -> Ending:
            try:
                return await crawl
            finally:
                left = asyncio.all_tasks() - {asyncio.current_task()}
                assert not left, left

        try:
            return virtual.run(whole(), limit=limit)
        finally:
            self.bench.check()

    async def crawl(self, *seeds: str, workers: int = 1, **options: object) -> Ending:
        chosen = config.settings(_layer({"sitemap": "no", **options}))
        self.workers = [self.worker(seeds, chosen) for _ in range(workers)]
        self.sow(seeds, chosen)
        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(worker.run()) for worker in self.workers]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        (ending,) = {task.result() for task in running}
        return ending

    def worker(self, seeds: tuple[str, ...], chosen: config.Settings) -> Worker:
        clock = asyncio.get_running_loop().time
        polite = chosen.politeness
        ledger = Watched(self.bench.ledger(terms(chosen, LEASE)), self.broken)
        self.ledgers.append(ledger)
        steps = Steps(
            rulebook=NoRulebook()
            if polite.ignore_robots
            else Rulebook(self.web, polite.user_agent, clock),
            fetch=self.web,
            extract=self.extract,
            read_sitemap=read_sitemap,
            gate=Gate(Scope(chosen.scope, seeds), None, str, chosen.fetching.max_redirects),
            judge=lambda claim, answer, now: self.judge(claim, answer, now, chosen),
            agenda=Agenda(manners(chosen)),
            ledger=Buffered(ledger, clock, None),
            pulse=self.pulse,
            clock=clock,
        )
        return Worker(
            steps,
            connections=self.connections,
            exclusive=not polite.shared,
            lease=LEASE,
            drain=chosen.fetching.drain,
        )

    def extract(self, response: Response) -> Page:
        _break(self.broken, "extract")
        return extract(response)

    def judge(
        self, claim: Claim, answer: Response | Failure, now: float, chosen: config.Settings
    ) -> Verdict:
        _break(self.broken, "judge")
        return verdict.judge(claim, answer, now, chosen.fetching.attempts, 0.5)

    def sow(self, seeds: tuple[str, ...], chosen: config.Settings) -> None:
        hand = self.bench.worker(terms(chosen, LEASE), asyncio.get_running_loop().time())
        hand.seed(*seeds)
        hand.leave()

    def starts(self, host: str) -> list[float]:
        """When requests to a host began."""
        return sorted(asked.at for asked in self.web.asked if f"//{host}/" in asked.url)


def _layer(options: dict[str, object]) -> dict[str, dict[str, object]]:
    layer: dict[str, dict[str, object]] = {}
    for option in config.options():
        if option.name in options:
            layer.setdefault(option.part, {})[option.name] = options.pop(option.name)
    assert not options, options
    return layer
