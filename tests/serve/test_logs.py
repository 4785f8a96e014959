"""What is logged: a line of JSON for everything that happened, and nothing secret."""

from pathlib import Path

import httpx
import msgspec
from tests.command import ended, start
from tests.serve.conftest import new_key

SECRET = "a-very-secret-cookie"


def test_logs_are_lines_of_json_with_numbers_and_without_secrets(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = new_key(data, "admin")
    process = start("serve", "--data", data, "--port", "0", "--workers", "1")
    assert process.stdout is not None
    url = process.stdout.readline().split()[2].rstrip(";")
    with httpx.Client(base_url=url, headers=key, timeout=30) as client:
        wish = {
            "start_url": "https://example.com/\u2028x",
            "number_of_links": 0,
            "cookies": [{"name": "session", "value": SECRET}],
            "webhook": {"url": "https://example.com/", "secret": SECRET},
        }
        answer = client.post("/screenshots", json=wish)
        assert answer.status_code == 202
        client.delete(answer.json()["status_url"])
        client.get("/crawls?token=" + SECRET)
        client.get("/crawls", headers={"Authorization": f"Bearer {SECRET}"})
    process.terminate()
    run = ended(process)
    lines = [msgspec.json.decode(line) for line in run.err.splitlines()]
    assert {"at", "level", "event"} <= set.intersection(*(set(line) for line in lines))
    requests = [line for line in lines if line["event"] == "request"]
    assert {"route", "status", "ms", "request"} <= set(requests[0])
    assert answer.headers["x-request-id"] in {line["request"] for line in requests}
    assert SECRET not in run.err
    assert key["Authorization"].rpartition("_")[2] not in run.err
