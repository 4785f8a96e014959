"""What is written about the service is what it does."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.conftest import Api

from freki.serve import metrics
from freki.serve.problems import REASONS

CHECKOUT = Path(__file__).parents[2]
MONITORING = CHECKOUT / "deploy" / "service" / "monitoring"


def test_the_page_of_the_api_is_what_the_document_says() -> None:
    command = [sys.executable, str(CHECKOUT / "scripts" / "api_docs.py"), "--print"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    page = (CHECKOUT / "docs" / "api.md").read_text("utf-8")
    assert page == made, "python scripts/api_docs.py writes it"


def test_every_reason_is_on_the_page_with_its_status() -> None:
    page = (CHECKOUT / "docs" / "service.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE))
    assert {reason: str(status) for reason, (status, _) in REASONS.items()} == listed


def test_every_reason_that_is_given_is_one_of_them() -> None:
    source = "".join(
        path.read_text("utf-8")
        for folder in ("serve", "ledger/jobs")
        for path in (CHECKOUT / "src" / "freki" / folder).rglob("*.py")
    )
    given = set(re.findall(r'(?:Problem|Refusal)\(\s*"(\w+)"', source))
    assert given <= REASONS.keys()


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json"])
def test_every_number_that_is_watched_exists(name: str, api: Api) -> None:
    told = api().get("/metrics").text
    there = set(re.findall(r"^# TYPE (\w+) ", told, re.MULTILINE))
    there |= {f"{metric}_total" for metric in there} | {f"{metric}_bucket" for metric in there}
    watched = set(re.findall(r"freki_\w+", (MONITORING / name).read_text("utf-8")))
    assert watched
    assert watched - there == set()


def test_the_dashboard_shows_every_number() -> None:
    board = (MONITORING / "dashboard.json").read_text("utf-8")
    assert len(json.loads(board)["panels"]) > 10
    names = [name for name, *_ in (*metrics.COUNTED.values(), *metrics.OF_WORKERS.values())]
    unseen = {"freki_job_wait_seconds", "freki_jobs_begun", "freki_worker_jobs"}
    assert [name for name in names if name not in board] == [
        name for name in names if name in unseen
    ]


def test_no_label_is_of_many_values() -> None:
    labels = {label for _, label, _ in metrics.COUNTED.values()}
    assert labels <= {"state", "kind", "reason", "result", "outcome", "why", "part"}
