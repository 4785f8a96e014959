"""What is an empty shell, and what is a page."""

import pytest

from freki.extract.shell import is_shell
from freki.messages import Response

TEXT = "A raven may cross the whole world in the time of a day. " * 20
SCRIPT = "<script src=app.js></script>"


def answer(body: str) -> Response:
    page = f"<!doctype html><title>x</title><body>{body}"
    return Response("http://a/", 200, (), page.encode(), "text/html")


@pytest.mark.parametrize(
    ("body", "shell"),
    [
        (f"<div id=root></div>{SCRIPT}", True),
        (f"<div id='app'>Loading…</div>{SCRIPT}", True),
        (f"<noscript>You need JavaScript.</noscript>{SCRIPT}", True),
        (f"<a href=/>Home</a><div id=root></div>{SCRIPT}", True),
        ("<p>Short, but whole.", False),
        (f"<p>{TEXT}</p>{SCRIPT}", False),
        (f"{'<a href=/x>x</a>' * 10}{SCRIPT}", False),
        ("", False),
    ],
)
def test_a_shell_has_scripts_and_little_else(body: str, shell: bool) -> None:
    assert is_shell(answer(body)) is shell
