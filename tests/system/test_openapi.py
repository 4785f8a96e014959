"""The OpenAPI document, held against the service by a program that tries to break it."""

import subprocess
import sys
from pathlib import Path

from tests.serve.conftest import new_key, whole

PROGRAM = Path(sys.executable).with_name("schemathesis")

# What valid data is cannot all be said in a schema: a URL without a host, a wrong pattern.
LEFT_OUT = "positive_data_acceptance"


def test_no_request_makes_it_fail_or_answer_what_it_does_not_promise(tmp_path: Path) -> None:
    data = tmp_path / "data"
    key = new_key(data, "admin", queued=10_000)["Authorization"]
    with whole(data, "--workers", "1") as client:
        command = [
            str(PROGRAM), "run", f"{client.base_url}/openapi.json",
            "--header", f"Authorization: {key}", "--exclude-path", "/crawls/{id}/events",
            "--exclude-path", "/fetch", "--exclude-checks", LEFT_OUT, "--max-examples", "5",
            "--phases", "examples,fuzzing", "--request-timeout", "20", "--no-color",
            "--seed", "1",
        ]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert run.returncode == 0, run.stdout[-6000:]
