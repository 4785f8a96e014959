"""A small bookshop to try spiders on: lists with pages, books, authors, a door with a password.

    python -m freki.testing.shop            at http://127.0.0.1:8000/

    async with serve() as shop:
        await crawl(shop.url)

Who logs in at `/login` (name "reader", password "pages") may see `/members`.
"""

import argparse
import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

PER_PAGE = 5
OFFERS = 6

BOOKS = (
    ("Emma", "Jane Austen", "12.50"), ("Persuasion", "Jane Austen", "9.90"),
    ("Kidnapped", "Robert Louis Stevenson", "8.00"),
    ("Treasure Island", "Robert Louis Stevenson", "11.20"),
    ("Middlemarch", "George Eliot", "17.00"), ("Silas Marner", "George Eliot", "7.40"),
    ("Bleak House", "Charles Dickens", "16.30"), ("Hard Times", "Charles Dickens", "9.10"),
    ("Villette", "Charlotte Brontë", "13.60"), ("Shirley", "Charlotte Brontë", "12.10"),
    ("Cranford", "Elizabeth Gaskell", "6.80"), ("Ruth", "Elizabeth Gaskell", "8.30"),
    ("Erewhon", "Samuel Butler", "10.00"), ("Kim", "Rudyard Kipling", "9.50"),
    ("Lord Jim", "Joseph Conrad", "11.90"), ("Nostromo", "Joseph Conrad", "14.20"),
    ("Dracula", "Bram Stoker", "10.70"), ("Carmilla", "Sheridan Le Fanu", "5.90"),
)  # fmt: skip

NAME, PASSWORD, TOKEN, SESSION = "reader", "pages", "b7f3", "session=open"

FORM = f"""<h1>Members</h1><form id="login" action="/login" method="post">
<input type="hidden" name="token" value="{TOKEN}">
<label>Name <input name="user"></label>
<label>Password <input type="password" name="password"></label>
<button>Log in</button></form>"""

PORT = 8000


class Asked(NamedTuple):
    """A request, as far as the shop cares."""

    method: str
    path: str
    cookie: str
    body: str


class Shop:
    """Where it is, and what it was asked."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency  # seconds before each answer
        self.url = ""
        self.asked: Counter[str] = Counter()
        self.turned_away = 0  # visits to what is for members, by who is not logged in

    def __repr__(self) -> str:
        return f"<Shop {self.url} asked={self.asked.total()}>"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked[f"{asked.method} {asked.path}"] += 1
                await asyncio.sleep(self.latency)
                writer.write(self._answer(asked))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, UnicodeDecodeError):
            pass
        finally:
            writer.close()

    def _answer(self, asked: Asked) -> bytes:
        path, _, query = asked.path.partition("?")
        if path == "/members" or path.startswith("/offer/"):
            if SESSION not in asked.cookie:
                self.turned_away += 1
                return answer(403, _page("Members only", "<h1>Members only</h1>"))
            return answer(200, _members(path))
        if path == "/login":
            return _login(asked)
        for pattern, show in _ROUTES.items():
            if found := re.fullmatch(pattern, path):
                body = show(found[1] if found.groups() else query)
                return (
                    answer(404, _page("Not here", "<h1>Not here</h1>"))
                    if body is None
                    else answer(200, body)
                )
        return answer(404, _page("Not here", "<h1>Not here</h1>"))


@asynccontextmanager
async def serve(port: int = 0, latency: float = 0.0) -> AsyncIterator[Shop]:
    """The shop on a loopback address, until the block ends."""
    shop = Shop(latency)
    server = await asyncio.start_server(shop.converse, "127.0.0.1", port)
    shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield shop
    finally:
        server.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = head.split("\r\n")[0].split(" ", 2)
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    return Asked(method, path, fields.get("cookie", ""), body.decode())


def answer(status: int, body: str, *headers: str) -> bytes:
    """An HTTP answer."""
    raw = body.encode()
    lines = [f"HTTP/1.1 {status} X", "content-type: text/html; charset=utf-8", *headers]
    return "\r\n".join([*lines, f"content-length: {len(raw)}", "", ""]).encode() + raw


def _login(asked: Asked) -> bytes:
    if asked.method != "POST":
        return answer(200, _page("Log in", FORM))
    fields = dict(pair.split("=", 1) for pair in asked.body.split("&") if "=" in pair)
    if fields == {"token": TOKEN, "user": NAME, "password": PASSWORD}:
        return answer(303, "", "location: /members", f"set-cookie: {SESSION}; path=/; httponly")
    return answer(200, _page("Log in", f'<p class="error">Wrong.</p>{FORM}'))


def _members(path: str) -> str:
    if path == "/members":
        offers = "".join(
            f'<li><a href="/offer/{n}">Offer {n}</a></li>' for n in range(1, OFFERS + 1)
        )
        return _page("Members", f'<h1>Welcome</h1><ul class="offers">{offers}</ul>')
    number = path.rpartition("/")[2]
    return _page(f"Offer {number}", f'<h1>Offer {number}</h1><p class="price">€ {number}.00</p>')


def _list(query: str) -> str | None:
    page = int(query.removeprefix("page=")) if query.startswith("page=") else 1
    numbers = range((page - 1) * PER_PAGE, min(page * PER_PAGE, len(BOOKS)))
    if not numbers:
        return None
    books = "".join(
        f'<article class="book"><h3><a href="/book/{number + 1}">{BOOKS[number][0]}</a></h3>'
        f'<p class="price">€ {BOOKS[number][2]}</p></article>\n'
        for number in numbers
    )
    more = (
        f'<a class="next" href="/?page={page + 1}">More</a>' if numbers[-1] + 1 < len(BOOKS) else ""
    )
    return _page("A small bookshop", f"<h1>Books</h1>\n{books}{more}")


def _book(number: str) -> str | None:
    if not 1 <= int(number) <= len(BOOKS):
        return None
    title, author, price = BOOKS[int(number) - 1]
    told = json.dumps({"@context": "https://schema.org", "@type": "Book", "name": title,
                       "author": author, "offers": {"@type": "Offer", "price": price}})  # fmt: skip
    return _page(
        title,
        f'<h1>{title}</h1><p>by <a class="author" href="/author/{_slug(author)}">{author}</a></p>'
        f'<p class="price">€ {price}</p><p class="stock">{int(number) % 4} in stock</p>'
        f'<script type="application/ld+json">{told}</script>',
    )


def _author(slug: str) -> str | None:
    written = [title for title, author, _ in BOOKS if _slug(author) == slug]
    names = [author for _, author, _ in BOOKS if _slug(author) == slug]
    if not names:
        return None
    books = "".join(f"<li>{title}</li>" for title in written)
    return _page(names[0], f'<h1>{names[0]}</h1><ul class="works">{books}</ul>')


def _slug(name: str) -> str:
    return re.sub("[^a-z]+", "-", name.lower())


def _page(title: str, body: str) -> str:
    nav = '<nav><a href="/">Books</a> <a href="/login">Members</a></nav>'
    return f'<!doctype html><html lang="en"><title>{title}</title>{nav}<main>{body}</main></html>'


_ROUTES: dict[str, Callable[[str], str | None]] = {
    "/": _list,
    r"/book/(\d{1,4})": _book,
    "/author/([a-z-]+)": _author,
}


async def _stay(port: int) -> None:
    async with serve(port) as shop:
        print(f"The shop is at {shop.url} until Ctrl-C.", flush=True)  # noqa: T201 - a program
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A small bookshop to try spiders on.")
    parser.add_argument("--port", type=int, default=PORT)
    with suppress(KeyboardInterrupt):
        asyncio.run(_stay(parser.parse_args().port))
