"""Who may call, and what they may: closed by default."""

from contextlib import closing
from pathlib import Path

import httpx
import pytest
from tests.command import freki
from tests.serve.conftest import Api, new_key

from freki.errors import BadConfig
from freki.ledger.jobs import keys
from freki.serve.terms import Terms, refuse_open_door

CRAWL = {"urls": ["https://example.com/"]}


def test_without_a_key_it_listens_on_loopback_and_nowhere_else() -> None:
    assert Terms().host == "127.0.0.1"
    refuse_open_door(Terms(), has_key=False)
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.com"):
        with pytest.raises(BadConfig, match="freki keys add"):
            refuse_open_door(Terms(host=host), has_key=False)
        refuse_open_door(Terms(host=host), has_key=True)


def test_the_command_refuses_an_open_door(data: Path) -> None:
    run = freki("serve", "--data", data, "--host", "0.0.0.0", "--port", "0")
    assert run.code == 2
    assert "freki keys add" in run.err


def test_a_port_that_is_taken_is_told(data: Path, client: httpx.Client) -> None:
    port = str(client.base_url.port)
    run = freki("serve", "--data", data, "--port", port)
    assert run.code == 2
    assert "Address already in use; take another --port" in run.err


def test_without_keys_whoever_is_on_this_machine_may(client: httpx.Client) -> None:
    assert client.post("/crawls", json=CRAWL).status_code == 202


def test_once_there_is_a_key_everybody_needs_one(data: Path, api: Api) -> None:
    holder = new_key(data)
    client = api()
    for path in ("/crawls", "/metrics", "/crawls/crl_x", "/crawls/crl_x/pages"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["reason"]) == (401, "no_key"), path
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert client.get("/crawls", headers=holder).status_code == 200
    assert client.get("/isalive").status_code == 200


@pytest.mark.parametrize(
    "token",
    ["freki_", "freki_x_y", "x", "freki_000000000000_secret", "é", "freki_%s_" % ("a" * 500)],
)
def test_a_wrong_key_lets_nobody_in(data: Path, api: Api, token: str) -> None:
    new_key(data)
    answer = api().get("/crawls", headers={b"Authorization": f"Bearer {token}".encode()})
    assert (answer.status_code, answer.json()["reason"]) == (401, "bad_key")


def test_a_key_in_a_url_is_none(data: Path, api: Api) -> None:
    token = new_key(data)["Authorization"].split()[1]
    assert api().get(f"/crawls?token={token}").status_code == 401


def test_a_revoked_key_lets_nobody_in(data: Path, api: Api) -> None:
    holder, client = new_key(data), api()
    new_key(data)
    assert client.get("/crawls", headers=holder).status_code == 200
    id_ = holder["Authorization"].split("_")[1]
    assert freki("keys", "revoke", id_, "--data", data).code == 0
    assert client.get("/crawls", headers=holder).json()["reason"] == "bad_key"
    assert freki("keys", "revoke", id_, "--data", data).code == 2


def test_what_is_kept_of_a_key_does_not_let_anybody_in(data: Path) -> None:
    token = new_key(data)["Authorization"].split()[1]
    secret = token.split("_", 2)[2]
    assert len(secret) >= 43
    kept = b"".join(file.read_bytes() for file in data.rglob("*") if file.is_file())
    assert secret.encode() not in kept
    assert token.split("_")[1].encode() in kept


def test_the_folder_and_its_database_are_for_their_owner_alone(data: Path) -> None:
    new_key(data)
    assert data.stat().st_mode & 0o077 == 0
    assert (data / "service.db").stat().st_mode & 0o077 == 0


def test_keys_are_listed_without_their_secret(data: Path) -> None:
    token = freki("keys", "add", "laptop", "--data", data, "--scope", "read").out.strip()
    listed = freki("keys", "list", "--data", data).out
    assert "laptop" in listed
    assert "live" in listed
    assert token.split("_", 2)[2] not in listed


def test_a_scope_allows_what_it_says(data: Path, api: Api) -> None:
    reader, submitter = new_key(data, "read"), new_key(data, "submit")
    scraper, admin = new_key(data, "metrics"), new_key(data, "admin")
    client = api()

    def tried(header: dict[str, str]) -> tuple[int, int, int]:
        return (
            client.get("/crawls", headers=header).status_code,
            client.post("/crawls", json=CRAWL, headers=header).status_code,
            client.get("/metrics", headers=header).status_code,
        )

    assert tried(reader) == (200, 403, 403)
    assert tried(submitter) == (403, 202, 403)
    assert tried(scraper) == (403, 403, 200)
    assert tried(admin) == (200, 202, 200)


def test_what_is_somebody_elses_is_not_there(data: Path, api: Api) -> None:
    one, other, admin = new_key(data), new_key(data), new_key(data, "admin")
    client = api()
    id_ = client.post("/crawls", json=CRAWL, headers=one).json()["id"]
    routes = [
        ("GET", ""), ("DELETE", ""), ("PATCH", ""), ("GET", "/urls"), ("GET", "/pages"),
        ("GET", "/errors"), ("GET", "/items"), ("GET", "/captures"), ("GET", "/pages/1"),
        ("GET", "/pages/1/body"), ("GET", "/images/" + "0" * 64 + ".webp"), ("GET", "/events"),
        ("GET", "/deliveries"), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/cancel"),
    ]  # fmt: skip
    for method, path in routes:
        body = {"max_pages": 1} if method == "PATCH" else None
        answer = client.request(method, f"/crawls/{id_}{path}", json=body, headers=other)
        assert (answer.status_code, answer.json()["reason"]) == (404, "not_found"), path
    assert client.get("/crawls", headers=other).json()["items"] == []
    assert client.get(f"/crawls/{id_}", headers=admin).status_code == 200
    assert client.get(f"/crawls/{id_}", headers=one).json()["status"] == "queued"


def test_ids_cannot_be_guessed(client: httpx.Client) -> None:
    ids = [client.post("/crawls", json=CRAWL).json()["id"] for _ in range(3)]
    assert all(len(id_.partition("_")[2]) == 32 for id_ in ids)
    assert len(set(ids)) == 3


def test_what_asks_more_of_others_needs_an_administrator(data: Path, api: Api) -> None:
    holder, admin = new_key(data), new_key(data, "admin")
    client = api()
    for option in ({"ignore_robots": True}, {"concurrency": 9}, {"user_agent": "x"},
                   {"insecure": True}, {"delay": 0}, {"min_delay": 0.1}):  # fmt: skip
        asked = {**CRAWL, **option}
        assert client.post("/crawls", json=asked, headers=holder).json()["reason"] == "scope"
        assert client.post("/crawls", json=asked, headers=admin).status_code == 202


def test_a_page_of_another_site_cannot_use_the_browser_of_this_machine(
    client: httpx.Client,
) -> None:
    def refused(**headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = client.post("/crawls", json=CRAWL, headers=named)
        return str(answer.json()["reason"]) if answer.status_code == 403 else "no"

    assert refused(Host="evil.example") == "foreign_host"
    assert refused(Host="127.0.0.1.evil.example") == "foreign_host"
    assert refused(Origin="http://evil.example") == "cross_site"
    assert refused(Origin="null") == "cross_site"
    assert refused(Sec_Fetch_Site="cross-site") == "cross_site"
    assert refused(Host="localhost:8300", Origin="http://localhost:8300") == "no"
    form = {"Content-Type": "text/plain"}
    assert client.post("/crawls", content=b"{}", headers=form).json()["reason"] == "not_json"


def test_no_other_site_may_read_an_answer(client: httpx.Client) -> None:
    answer = client.get("/crawls", headers={"Origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


def test_the_number_of_jobs_that_wait_is_bounded_for_each_and_for_all(data: Path, api: Api) -> None:
    one, other = new_key(data, queued=2), new_key(data)
    client = api(max_queued=3)

    def asked(header: dict[str, str]) -> httpx.Response:
        return client.post("/crawls", json=CRAWL, headers=header)

    assert [asked(one).status_code for _ in range(3)] == [202, 202, 429]
    assert asked(one).json()["reason"] == "quota_queued"
    assert int(asked(one).headers["retry-after"]) > 0
    assert asked(other).status_code == 202
    full = asked(other)
    assert (full.status_code, full.json()["reason"]) == (503, "queue_full")
    assert int(full.headers["retry-after"]) > 0


def test_a_job_may_not_be_larger_than_its_callers_quota(data: Path, api: Api) -> None:
    holder = new_key(data, pages_per_job=10)
    client = api()
    asked = {**CRAWL, "max_pages": 11}
    assert client.post("/crawls", json=asked, headers=holder).json()["reason"] == "quota_pages"
    assert client.post("/crawls", json=CRAWL, headers=holder).status_code == 202
    with closing(Terms(data=data).place.desk()) as desk, desk.reading() as db:
        (settings,) = db.execute("SELECT settings FROM job").fetchone()
    assert '"max_pages":10' in settings


def test_an_administrator_is_no_holder_of_a_scope_by_chance() -> None:
    assert set(keys.SCOPES) == {"submit", "read", "admin", "metrics"}
