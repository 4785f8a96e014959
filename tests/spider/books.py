"""A small shop of books, for spiders: lists with pages, books, a form to log in."""

from collections import Counter

from freki.messages import Claim, Failure, Response

SHOP = "http://books/"
PER_PAGE = 3
BOOKS = 8

FORM = """<form id="login" action="/login" method="post">
<input type="hidden" name="token" value="t1"><input name="user"><input type="password" name="word">
</form>"""


class Shop:
    """A `steps.Fetch`."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.claims: list[Claim] = []

    async def __call__(self, claim: Claim) -> Response | Failure:
        path = claim.url.removeprefix(SHOP)
        request = claim.request
        method = request.method if request else "GET"
        self.asked[f"{method} /{path}"] += 1
        self.claims.append(claim)
        if method == "POST" and request is not None:
            right = request.body == b"token=t1&user=me&word=secret"
            return moved(claim, "/shelf" if right else "/login")
        return answer(claim, path)


def answer(claim: Claim, path: str) -> Response:
    if path == "" or path.startswith("?page="):
        return html(claim, listing(int(path.removeprefix("?page=") or 1)))
    if path.startswith("book/"):
        number = int(path.removeprefix("book/"))
        return html(claim, f"<h1>Book {number}</h1><p class=price>€ {number},50</p>")
    pages = {"login": FORM, "shelf": "<h1>Yours</h1>", "broken": "<h1></h1>"}
    if path in pages:
        return html(claim, pages[path])
    if path == "old":
        return moved(claim, "/book/1")
    return html(claim, "<h1>Not here</h1>", 404)


def listing(page: int) -> str:
    first = (page - 1) * PER_PAGE + 1
    numbers = range(first, min(first + PER_PAGE, BOOKS + 1))
    books = "".join(
        f'<article class="book"><h3><a href="/book/{number}">Book {number}</a></h3></article>'
        for number in numbers
    )
    more = f'<a class="next" href="?page={page + 1}">more</a>' if numbers[-1] < BOOKS else ""
    return books + more


def html(claim: Claim, body: str, status: int = 200) -> Response:
    kind = "text/html; charset=utf-8"
    return Response(claim.url, status, (("content-type", kind),), body.encode(), kind)


def moved(claim: Claim, to: str) -> Response:
    return Response(claim.url, 303, (("location", to),), b"")
