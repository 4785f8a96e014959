"""The web app, without a browser: what it says, to whom, and what it never lets through."""

import re
from contextlib import closing
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.pictured import store_change, store_many
from tests.serve.conftest import Api, new_key
from zstandard import ZstdCompressor

from freki import config
from freki.ledger import crawls
from freki.ledger.jobs import orders
from freki.ledger.opened import ledger_of
from freki.ledger.place import Place
from freki.ledger.store import open_store
from freki.ledger.terms import Terms as LedgerTerms
from freki.messages import (
    Batch,
    Discovery,
    Link,
    Outcome,
    Page,
    Reason,
    Response,
    State,
    Timings,
    Via,
    Visit,
)  # fmt: skip
from freki.serve.terms import Terms
from freki.serve.views import words
from freki.serve.views.lately import Lately
from freki.steps import Ledger, Session

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
VIEWS = ("", "/pages", "/urls", "/wrong", "/gallery", "/structure", "/pages/1")


def begin(client: httpx.Client, **fields: str) -> str:
    """Begin a crawl by the form; answers with where its page is."""
    answer = client.post("/app/crawls", data={"urls": "https://a.example/", **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_the_address_alone_leads_to_the_web_app(client: httpx.Client) -> None:
    assert client.get("/").headers["location"] == "/app/"


def test_a_form_begins_a_crawl_with_what_was_typed(client: httpx.Client) -> None:
    where = begin(client, depth="3", max_pages="", include="*/docs/* *.html", delay="1.5")
    request = client.get(where.removeprefix("/app")).json()["request"]
    assert request["depth"] == 3
    assert request["include"] == ["*/docs/*", "*.html"]
    assert request["delay"] == 1.5
    assert "max_pages" not in request


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"urls": "ftp://a.example/"}, "ftp"),
        ({"urls": "https://a.example/", "depth": "many"}, "no number"),
        ({"urls": "https://a.example/", "max_pages": "0"}, "max_pages"),
        ({"urls": "https://a.example/", "scope": "universe"}, "scope"),
        ({"urls": "http://127.0.0.1/"}, "only public addresses"),
        ({}, "urls"),
    ],
)
def test_a_mistake_is_told_and_what_was_typed_is_kept(
    fields: dict[str, str], told: str, client: httpx.Client
) -> None:
    answer = client.post("/app/crawls", data=fields)
    assert answer.status_code == 422
    assert told in re.search(r'role="alert">(.*?)</p>', answer.text, re.DOTALL)[1]  # type: ignore[index]
    assert fields.get("urls", "") in answer.text


def test_what_is_chosen_as_it_is_anyway_is_not_asked_for(client: httpx.Client) -> None:
    where = begin(
        client, scope="host", sitemap="also", order="depth", render="auto", screenshot="yes"
    )
    request = client.get(where.removeprefix("/app")).json()["request"]
    asked = {name: request[name] for name in request.keys() - {"urls"}}
    assert asked == {"scope": "host", "order": "depth", "render": "auto", "screenshot": True}


def test_the_first_page_tells_how_the_service_is(client: httpx.Client) -> None:
    text = client.get("/app/").text
    told = re.findall(r'<dt>([^<]+)</dt><dd class="value">[^<]+</dd>', text)
    assert told == [
        "crawls running", "in the queue", "pages/s", "errors", "workers", "browsers", "memory",
        "room on disk",
    ]  # fmt: skip


def test_every_view_of_a_crawl_that_has_nothing_yet_is_there(client: httpx.Client) -> None:
    where = begin(client)
    for view in VIEWS[:-1]:
        assert client.get(where + view).status_code == 200, view
    assert client.get(f"{where}/pages/1").status_code == 404
    assert client.get(f"{where}/explain", params={"url": "https://a.example/x"}).status_code == 404
    assert client.get(f"{where}/explain", params={"url": "no url"}).status_code == 422


def test_no_page_lets_a_script_of_others_run(client: httpx.Client) -> None:
    for path in ("/app/", "/app/settings", begin(client)):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=", client.get(path).text)


@pytest.mark.parametrize("name", ["../shell.py", "%2e%2e%2fshell.py", "none.css", ".", "app.css/x"])
def test_no_file_is_there_but_those_of_the_app(name: str, client: httpx.Client) -> None:
    assert client.get(f"/app/static/{name}").status_code == 404
    assert client.get("/app/static/app.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_a_form_on_a_page_of_others_begins_nothing(
    headers: dict[str, str], client: httpx.Client
) -> None:
    answer = client.post("/app/crawls", data={"urls": "https://a.example/"}, headers=headers)
    assert answer.status_code == 403


def test_where_a_key_is_needed_it_is_asked_for_and_kept_in_a_cookie(api: Api, data: Path) -> None:
    token = new_key(data)["Authorization"].removeprefix("Bearer ")
    client = api()
    assert client.get("/app/").status_code == 401
    assert "A key, please" in client.get("/app/").text
    assert client.post("/app/login", data={"key": "freki_wrong"}).status_code == 401
    answer = client.post("/app/login", data={"key": token})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/app/").status_code == 200
    assert client.get("/crawls").status_code == 200  # pictures and events are read with it
    assert client.post("/crawls", json={"urls": ["https://a.example/"]}).status_code == 401
    assert client.get("/app/crawls/crl_of_another").status_code == 404
    client.post("/app/logout")
    assert client.get("/app/").status_code == 401


def test_who_may_only_read_begins_nothing(api: Api, data: Path) -> None:
    token = new_key(data, "read")["Authorization"].removeprefix("Bearer ")
    client = api()
    client.post("/app/login", data={"key": token})
    assert "Start the crawl" not in client.get("/app/").text
    assert client.post("/app/crawls", data={"urls": "https://a.example/"}).status_code == 403
    assert (
        client.post("/app/settings/keys", data={"name": "mine", "admin": "yes"}).status_code == 403
    )


def test_a_key_is_shown_once_and_revoked(api: Api) -> None:
    client = api()
    made = client.post("/app/settings/keys", data={"name": "reports", "admin": "yes"})
    token = re.search(r"freki_[\w-]+", made.text)[0]  # type: ignore[index]
    client.post("/app/login", data={"key": token})
    page = client.get("/app/settings").text
    assert token not in page
    id_ = re.search(r'name="revoke" value="(\w+)"', page)[1]  # type: ignore[index]
    client.post("/app/settings/keys", data={"revoke": id_})
    assert client.get("/crawls", headers={"Authorization": f"Bearer {token}"}).status_code == 401


# What a hostile page left in the store.


@pytest.fixture
def hostile(api: Api, data: Path) -> tuple[httpx.Client, str]:
    """A service with one crawl, all texts of which came from an attacker."""
    client = api()
    where = begin(client, name=HOSTILE)
    store, name = _store(data, where)
    with closing(open_store(store)) as db:
        crawl = crawls.begin(db, name, ["https://a.example/"], config.settings(), 0.0)
        ledger = ledger_of(db, str(store), crawl.id, LedgerTerms())
        session = ledger.join(0.0)
        title = f"<title>{HOSTILE}</title>{HOSTILE}"
        _store_page(ledger, session, "https://a.example/", title, 2.0)
        _store_page(ledger, session, "https://b.example/Long_100%", title * 2, 4.0)
        ledger.leave(session, 5.0)
    return client, where


def _store(data: Path, where: str) -> tuple[Place, str]:
    """Where the crawl with this page is stored, and its name."""
    place = Terms(data=data).place
    with closing(place.desk()) as desk:
        job = orders.find(desk, where.rpartition("/")[2])
    assert job is not None
    return place.store_of(job.crawl), job.crawl


def _store_page(ledger: Ledger, session: Session, url: str, body: str, at: float) -> None:
    """What an attacker answers with, in every place there is."""
    ledger.commit(session, Batch(at - 1, discoveries=[Discovery(url, 0, 0, Via.seed)]))
    (work,) = ledger.claim(session, at - 1, 1, []).hosts
    (claim,) = work.claims
    headers = (("x-evil", HOSTILE), ("content-type", "text/html"))
    response = Response(url, 200, headers, body.encode(), "text/html", Timings(total=at))
    links = [Link("https://a.example/x", HOSTILE), Link("javascript:alert(3)", HOSTILE)]
    page = Page(links=links, title=HOSTILE, description=HOSTILE, canonical="javascript:alert(4)")
    visit = Visit(at, response, page)
    outcome = Outcome(claim, State.done, Reason.ok, HOSTILE, visit=visit, at=at)
    ledger.commit(session, Batch(at, [outcome]))


@pytest.mark.parametrize("view", VIEWS)
def test_what_an_attacker_wrote_is_only_text(view: str, hostile: tuple[httpx.Client, str]) -> None:
    client, where = hostile
    answer = client.get(where + view)
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "<img src=x" not in answer.text
    assert 'href="javascript:' not in answer.text
    assert "&lt;script&gt;" in answer.text  # it was there to be escaped


def test_a_story_is_only_text_as_well(hostile: tuple[httpx.Client, str]) -> None:
    client, where = hostile
    answer = client.get(f"{where}/explain", params={"url": "https://a.example/"})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize("typed", ["https://a.example/", "a.example", "/"])
def test_a_story_is_told_of_what_people_type(typed: str, hostile: tuple[httpx.Client, str]) -> None:
    client, where = hostile
    answer = client.get(f"{where}/explain", params={"url": typed})
    assert answer.status_code == 200
    assert f'<a href="{where}/pages/1">See what came</a>' in answer.text


def test_a_page_names_its_visits_by_other_crawls(
    hostile: tuple[httpx.Client, str], data: Path
) -> None:
    client, where = hostile
    assert "Other visits" not in client.get(f"{where}/pages/1").text
    again = begin(client, name="once more")
    path, name = _store(data, again)
    with closing(open_store(path)) as db:
        crawl = crawls.begin(db, name, ["https://a.example/"], config.settings(), 0.0)
        ledger = ledger_of(db, str(path), crawl.id, LedgerTerms())
        session = ledger.join(0.0)
        _store_page(ledger, session, "https://b.example/", "first", 2.0)
        _store_page(ledger, session, "https://a.example/", "changed", 4.0)
        ledger.leave(session, 5.0)
    text = client.get(f"{where}/pages/1").text
    assert f'<a href="{again}/pages/2">' in text
    assert "<td>another</td>" in text


@pytest.mark.parametrize("view", ["/pages/2", "/explain?url=https://b.example/Long_100%25"])
def test_a_page_is_shown_before_it_is_known_who_links_to_it(
    view: str, hostile: tuple[httpx.Client, str], data: Path
) -> None:
    client, where = hostile
    store, _ = _store(data, where)
    with closing(open_store(store)) as db:
        link = Link("https://b.example/Long_100%", "The long one")
        packed = ZstdCompressor().compress(msgspec.json.encode([link]))
        db.execute("UPDATE page SET links = ? WHERE url = 1", (packed,))
    with client.stream("GET", where + view) as answer:
        first, *others = answer.iter_raw()
    assert b"what became of it" in first
    assert b"The long one" not in first
    assert b"The long one" in b"".join(others)
    assert b"".join(others).rstrip().endswith(b"</html>")


def test_what_no_event_tells_is_asked_for(hostile: tuple[httpx.Client, str]) -> None:
    client, where = hostile
    told = client.get(f"{where}/now").json()
    assert told["classes"] == {"2xx": 2}
    assert told["hosts"][0] == {
        "name": "https://a.example", "waiting": 0, "pause": "\u2013", "state": "all asked",
    }  # fmt: skip


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_what_is_filtered_is_what_is_downloaded(
    format_: str, hostile: tuple[httpx.Client, str]
) -> None:
    client, where = hostile
    assert "https://a.example/" in client.get(f"{where}/urls.{format_}?state=done").text
    assert "https://a.example/" not in client.get(f"{where}/urls.{format_}?state=failed").text
    kept = client.get(f"{where}/pages.{format_}").headers["content-disposition"]
    assert kept == f'attachment; filename="pages.{format_}"'
    assert client.get(f"{where}/secrets.{format_}").status_code == 404


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ALERT(1)", ["https://a.example/", "https://b.example/Long_100%"]),
        ("long", ["https://b.example/Long_100%"]),
        ("0%", ["https://b.example/Long_100%"]),
        ("L%g", []),
        ("a_example", []),
        ("' OR 1 --", []),
    ],
)
@pytest.mark.parametrize("what", ["pages", "urls"])
def test_a_list_is_searched_in_titles_and_addresses(
    what: str, text: str, found: list[str], hostile: tuple[httpx.Client, str]
) -> None:
    client, where = hostile
    asked = {"text": text}
    assert client.get(f"{where}/{what}", params=asked).text.count('class="url"') == len(found)
    lines = client.get(f"{where}/{what}.csv", params=asked).text.splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == found


@pytest.fixture
def pictured(hostile: tuple[httpx.Client, str], data: Path) -> tuple[httpx.Client, str, list[str]]:
    """The same with two pictures of its page."""
    client, where = hostile
    store, name = _store(data, where)
    with closing(open_store(store)) as db:
        crawl = crawls.find(db, name)
        assert crawl is not None
        return client, where, store_change(db, crawl.id, HOSTILE)


def test_two_pictures_are_compared_as_the_command_does(
    pictured: tuple[httpx.Client, str, list[str]],
) -> None:
    client, where, digests = pictured
    gallery = client.get(f"{where}/gallery").text
    assert re.findall(r'name="capture" value="(\w+)"', gallery) == digests
    answer = client.get(f"{where}/compare", params={"capture": digests})
    assert answer.status_code == 200
    assert 'class="frame-new" x="64" y="160" width="64" height="32"' in answer.text
    assert "<script>alert" not in answer.text + gallery
    assert "<img src=x" not in answer.text + gallery
    assert " style=" not in answer.text + gallery
    same = client.get(f"{where}/compare", params={"capture": digests[:1] * 2})
    assert "the same, byte for byte" in same.text


@pytest.fixture
def many(hostile: tuple[httpx.Client, str], data: Path) -> tuple[httpx.Client, str]:
    """The same with 300 pictures that look the same, every third of them blank."""
    client, where = hostile
    store, name = _store(data, where)
    with closing(open_store(store)) as db:
        crawl = crawls.find(db, name)
        assert crawl is not None
        store_many(db, crawl.id, 300)
    return client, where


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ({}, 101),  # one of those that look alike, and what is blank
        ({"only": "all"}, 300),
        ({"only": "blank"}, 100),
        ({"only": "failed"}, 0),
        ({"like": "1"}, 200),
        ({"only": "all", "text": "page 29"}, 11),
        ({"only": "all", "status": "404"}, 0),
        ({"only": "__class__", "like": "x", "status": "x"}, 300),
    ],
)
def test_the_gallery_shows_what_is_asked_for(
    query: dict[str, str], total: int, many: tuple[httpx.Client, str]
) -> None:
    client, where = many
    text = client.get(f"{where}/gallery", params=query).text
    told = re.search(r'data-total="(\d+)"', text)
    assert int(told[1] if told else 0) == total
    assert text.count("<li>") == min(total, 120)
    assert ("of 300, where what looks alike is stacked" in text) == (not query)


def test_the_gallery_is_leafed_through_without_a_script(many: tuple[httpx.Client, str]) -> None:
    client, where = many
    names, path = [], f"{where}/gallery?only=all"
    while path:
        text = client.get(path).text
        names += re.findall(r'class="title">(Page \d+)<', text)
        further = re.search(r'rel="next" href="([^"]+)"', text)
        path = further[1].replace("&amp;", "&") if further else ""
    assert names == [f"Page {number}" for number in range(300)]


def test_parts_of_the_gallery_are_those_of_its_list(many: tuple[httpx.Client, str]) -> None:
    client, where = many
    text = client.get(f"{where}/gallery?only=all").text
    starts = re.search(r'data-starts="([^"]+)"', text)[1].split()  # type: ignore[index]
    asked = {"only": "all", "start": starts[2]}
    tiles = client.get(f"{where}/gallery/part", params=asked).json()
    assert [tile["name"] for tile in tiles] == [f"Page {number}" for number in range(240, 300)]
    assert tiles[0]["alike"] == 200
    assert tiles[2]["is_blank"]
    assert client.get(tiles[0]["small"]).headers["content-type"] == "image/webp"
    assert client.get(f"{where}/gallery/part", params={"start": "x"}).json() == []


@pytest.mark.parametrize(
    ("picked", "code"),
    [
        ([], 422),
        (["0" * 64], 422),
        (["0" * 64] * 2, 404),
        (["../../etc/passwd"] * 2, 404),
        (["0" * 64] * 3, 422),
    ],
)
def test_what_is_no_pair_of_pictures_is_not_compared(
    picked: list[str], code: int, pictured: tuple[httpx.Client, str, list[str]]
) -> None:
    client, where, _ = pictured
    assert client.get(f"{where}/compare", params={"capture": picked}).status_code == code


def test_pictures_too_large_to_be_looked_at_are_still_shown(
    pictured: tuple[httpx.Client, str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, where, digests = pictured
    monkeypatch.setattr("freki.serve.views.compare.MOST_PIXELS", 1)
    answer = client.get(f"{where}/compare", params={"capture": digests})
    assert "too large" in answer.text
    assert digests[1] in answer.text


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason >= Reason.out_of_scope])
def test_whoever_misses_what_was_refused_is_told_what_helps(reason: Reason) -> None:
    assert words.advice(reason.name)


def test_what_was_dear_to_find_is_not_looked_for_at_once() -> None:
    lately: Lately[int] = Lately()
    numbers = iter(range(200))
    assert [lately.get("a", lambda: next(numbers)) for _ in range(3)] == [0, 0, 0]
    for other in range(100):
        lately.get(str(other), lambda: next(numbers))
    assert repr(lately) == "<Lately 64 answers>"
    assert lately.get("a", lambda: next(numbers)) == 101  # it was forgotten for others
