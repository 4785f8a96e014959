"""Hostile pages and dying browsers, in short; benchmarks/browser_soak.py does it for long."""

import asyncio

from freki.testing.soak import soak


def test_hostile_pages_and_kills_harm_no_other_job_and_leave_nothing() -> None:
    report = asyncio.run(soak(30, 2, ["alerts", "popups", "hog", "download"]))
    assert report.ended == 30, report
    assert report.suffered == []
    assert report.was_in_time, report.longest
    assert report.left == (0, 0, 0)
    assert report.kills == 2
    assert report.outcomes["bad dialogs"] == 2
    assert report.outcomes["bad download"] == 1
    assert report.outcomes["good ok"] == 26
    before, after = report.open_files
    assert after <= before + 4
