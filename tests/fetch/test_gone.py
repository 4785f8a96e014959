"""What becomes of those who ask a browser that is no more, or that does not answer."""

import asyncio
import os
from contextlib import suppress
from io import FileIO

import pytest

from freki.fetch.browser.cdp import Cdp, Gone
from freki.fetch.browser.tab import Tab
from freki.fetch.browser.visit import settle


def test_nobody_waits_for_a_page_to_settle_whose_browser_is_gone() -> None:
    unused = FileIO(os.devnull, "w")

    async def wait() -> bool:
        cdp = Cdp(unused)
        tab = Tab(cdp, "context")
        tab.loaded.set()
        cdp.close()
        return await settle(tab, 3.0)

    with unused, pytest.raises(Gone):
        asyncio.run(wait())


def test_a_question_that_nobody_waits_for_any_more_is_forgotten() -> None:
    async def ask() -> str:
        read_commands, write_commands = os.pipe()
        read_answers, write_answers = os.pipe()
        cdp = Cdp(FileIO(write_commands, "w"))
        await cdp.open(FileIO(read_answers, "r"))
        with suppress(TimeoutError):
            await cdp.tell("Page.enable", within=0.01)
        await asyncio.sleep(0)
        seen = repr(cdp)
        cdp.close()
        for end in (read_commands, write_answers):
            os.close(end)
        return seen

    assert asyncio.run(ask()) == "<Cdp 0 waiting, 0 sessions>"


def test_a_browser_that_takes_no_commands_any_more_is_gone() -> None:
    async def ask() -> bool:
        read_commands, write_commands = os.pipe()
        read_answers, write_answers = os.pipe()
        cdp = Cdp(FileIO(write_commands, "w"))
        await cdp.open(FileIO(read_answers, "r"))
        os.close(read_commands)
        for _ in range(100):
            cdp.send("Page.enable")
            await asyncio.sleep(0)
        seen = cdp.gone.is_set()
        cdp.close()
        os.close(write_answers)
        return seen

    assert asyncio.run(ask())
