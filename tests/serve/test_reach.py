"""What the service reaches: public addresses, and nothing else, whoever asks in whatever field."""

import socket
from collections.abc import Iterator
from typing import Any

import httpx
from tests.background import background
from tests.command import ended, start
from tests.serve.conftest import Api
from tests.serve.test_crawls import state, until

from freki.testing.server import serve
from freki.testing.synthetic import Web

PRIVATE = (
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:10.0.0.1]/",
    "http://localhost:1/",
)
PUBLIC = "https://example.com/"


def fields(
    schema: dict[str, Any], parts: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[Any]:
    """Where a URL may stand in a request: the paths of all fields that the document calls so."""
    if "$ref" in schema:
        yield from fields(parts[schema["$ref"].rpartition("/")[2]], parts, path)
    if schema.get("format") == "uri":
        yield path
    for name, field in schema.get("properties", {}).items():
        yield from fields(field, parts, (*path, name))
    if "items" in schema:
        yield from fields(schema["items"], parts, (*path, "[]"))
    for each in schema.get("anyOf", []):
        yield from fields(each, parts, path)


def filled(path: tuple[str, ...], value: str) -> Any:
    """A value with this URL at that place, and what must stand beside it."""
    if not path:
        return value
    first, *rest = path
    inner = filled(tuple(rest), value)
    if first == "[]":
        return [inner]
    beside = {"secret": "x" * 16} if first == "url" and not rest else {}
    return {**beside, first: inner}


NEEDED: dict[str, dict[str, Any]] = {
    "/crawls": {"urls": [PUBLIC]},
    "/screenshots": {"start_url": PUBLIC, "number_of_links": 0},
    "/fetch": {},
    "/crawls/{id}/retry": {"reason": "dns"},
    "/screenshots/{task_id}/retry": {},
}


def test_no_field_that_carries_a_url_leads_inside(api: Api) -> None:
    client = api()
    document = client.get("/openapi.json").json()
    parts = document["components"]["schemas"]
    id_ = client.post("/crawls", json={"urls": [PUBLIC]}).json()["id"]
    tried = 0
    for path, operations in document["paths"].items():
        body = operations.get("post", {}).get("requestBody")
        if body is None:
            continue
        schema = body["content"]["application/json"]["schema"]
        for place in fields(schema, parts):
            for url in PRIVATE:
                asked = {**NEEDED[path], **filled(place, url)}
                if path == "/fetch":
                    asked.pop("secret", None)
                answer = client.post(path.format(id=id_, task_id=id_), json=asked)
                assert (answer.status_code, answer.json()["reason"]) == (403, "blocked_address"), (
                    path, place, answer.text,
                )  # fmt: skip
                tried += 1
    assert tried == len(PRIVATE) * 7  # urls, start_url, url, and four webhooks


def test_a_name_that_leads_inside_is_refused_when_it_is_connected_to(tmp_path: Any) -> None:
    """The name of this machine is no address, and leads to one that is not public."""
    process = start(
        "serve", "--data", tmp_path / "data", "--port", "0", "--workers", "1", "--quiet"
    )
    assert process.stdout is not None
    url = process.stdout.readline().split()[2].rstrip(";")
    name = socket.gethostname()
    with background(serve(Web(pages=2))) as site, httpx.Client(base_url=url, timeout=30) as client:
        inside = site.url.replace("127.0.0.1", name)
        wish = {"urls": [inside], "attempts": 1, "ignore_robots": True}
        id_ = client.post("/crawls", json=wish).json()["id"]
        until(lambda: state(client, id_) == "failed")
        assert client.get(f"/crawls/{id_}").json()["reason"] in ("blocked_address", "dns")
        fetched = client.post("/fetch", json={"url": inside})
        assert (fetched.status_code, fetched.json()["reason"]) == (502, "not_fetched")
        assert len(site.log) == 0
    process.terminate()
    assert ended(process).code == 0
