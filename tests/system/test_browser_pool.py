"""The pool of browsers, when one dies, all is cancelled, or none can be started."""

import asyncio
import fcntl
import os
import signal
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from freki.errors import BrowserMissing
from freki.fetch.browser import process
from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Pool, Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.messages import Reason
from freki.pictures import Rendering, Shot, Unrendered
from freki.testing.scenes import Stage, stage
from freki.testing.soak import chromiums, profiles

ANYWHERE = Egress(allow_private=True)


@asynccontextmanager
async def one_browser() -> AsyncIterator[tuple[Pool, Stage]]:
    terms = Terms(found=find(), agent="Freki")
    async with stage() as site, pool(terms, Size(browsers=1), ANYWHERE) as render:
        yield render, site


@pytest.fixture
def own_profiles(tmp_path: Path) -> Path:
    """A folder for the profiles of this test, which whoever browsers run as can get to."""
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(0o711)
    return tmp_path


async def asked_for(site: Stage, path: str, times: int = 1) -> None:
    while [asked for asked, _ in site.asked].count(path) < times:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_a_page_whose_browser_dies_has_what_is_left_of_its_time() -> None:
    async def visit() -> tuple[Unrendered | Rendering, float, int]:
        async with one_browser() as (render, site):
            now = asyncio.get_running_loop().time
            begun = now()
            wish = Shot(url=site.url("slow"), navigate_seconds=60, seconds=5.0)
            async with asyncio.TaskGroup() as group:
                job = group.create_task(render(wish))
                await asked_for(site, "/slow")
                await asyncio.sleep(1.0)
                os.kill(render.pids()[0], signal.SIGKILL)
            spent = now() - begun - job.result().phases.queue
            return job.result(), spent, [path for path, _ in site.asked].count("/slow")

    seen, spent, visits = asyncio.run(visit())
    assert isinstance(seen, Unrendered)
    assert seen.reason is Reason.timeout, seen
    assert visits == 2
    assert 4.5 < spent <= 5.0


def test_a_page_whose_browser_dies_at_the_end_of_its_time_is_not_visited_again() -> None:
    async def visit() -> Unrendered | Rendering:
        async with one_browser() as (render, site):
            wish = Shot(url=site.url("slow"), navigate_seconds=60, seconds=1.0)
            async with asyncio.TaskGroup() as group:
                job = group.create_task(render(wish))
                await asked_for(site, "/slow")
                os.kill(render.pids()[0], signal.SIGKILL)
            return job.result()

    seen = asyncio.run(visit())
    assert isinstance(seen, Unrendered)
    assert seen.reason is Reason.crash
    assert "no time left" in seen.detail


def test_a_pool_that_is_cancelled_leaves_nothing(
    own_profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(own_profiles))

    async def visit() -> None:
        async with one_browser() as (render, site), asyncio.TaskGroup() as group:
            for name in ("slow", "heavy", "loop", "plain"):
                group.create_task(_awaited(render, Shot(url=site.url(name))))
            await asked_for(site, "/slow")
            os.kill(render.pids()[0], signal.SIGKILL)  # so that one starts, and one is alone
            await asked_for(site, "/slow", 2)
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(60)

    with suppress(asyncio.CancelledError):
        asyncio.run(visit())
    assert (chromiums(), profiles()) == (0, 0)


async def _awaited(render: Pool, shot: Shot) -> None:
    await render(shot)


def test_without_a_place_for_its_profile_no_browser_starts_and_the_error_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))

    async def start() -> None:
        async with one_browser():
            pass

    with pytest.raises(BrowserMissing, match="TMPDIR"):
        asyncio.run(start())


def test_what_a_killed_process_left_is_removed_and_what_another_has_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owners = {}
    for name in ("dead", "alive"):
        (tmp_path / f"freki-browser-{name}" / "profile").mkdir(parents=True)
        owners[name] = (tmp_path / f"freki-browser-{name}" / "owner").open("w")
        fcntl.flock(owners[name], fcntl.LOCK_EX)
    owners["dead"].close()
    assert process.reap() == 1
    owners["alive"].close()
    assert [folder.name for folder in tmp_path.iterdir()] == ["freki-browser-alive"]
