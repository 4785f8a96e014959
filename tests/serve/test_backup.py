"""A copy of a service is a service."""

from pathlib import Path

from tests.background import background
from tests.command import freki
from tests.serve.conftest import Api, new_key, whole
from tests.serve.test_crawls import begun, state, until

from freki.testing.server import serve
from freki.testing.synthetic import Web


def test_a_copy_made_while_it_runs_is_served_and_goes_on(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    with background(serve(Web(pages=12))) as site:
        with whole(data, "--workers", "1") as client:
            done = begun(client, site, max_pages=3)
            until(lambda: state(client, done) == "done")
            going = begun(client, site, delay=0.1)
            until(lambda: client.get(f"/crawls/{going}").json()["progress"]["pages"] > 0)
            run = freki("backup", copy, "--data", data)
            assert run.code == 0
            assert "2 crawls" in run.out
        with whole(copy, "--workers", "1") as client:
            assert len(client.get(f"/crawls/{done}/pages").json()["items"]) == 3
            client.patch(f"/crawls/{going}", json={"delay": 0})
            until(lambda: state(client, going) == "done")
            assert client.get(f"/crawls/{going}").json()["progress"]["pages"] == 12


def test_keys_are_in_the_copy(data: Path, tmp_path: Path, api: Api) -> None:
    new_key(data)
    freki("backup", tmp_path / "copy", "--data", data)
    assert "live" in freki("keys", "list", "--data", tmp_path / "copy").out


def test_a_copy_overwrites_nothing(data: Path, tmp_path: Path) -> None:
    new_key(data)
    assert freki("backup", data, "--data", data).code == 2
    assert freki("backup", tmp_path / "copy", "--data", tmp_path / "nothing").code == 2
