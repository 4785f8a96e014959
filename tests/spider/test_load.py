from pathlib import Path

import pytest

from freki.errors import BadSpider
from freki.spider.load import load

SHOP = """
import freki

class Shop(freki.Spider):
    def __init__(self, language: str, pages: int = 10, *, sale: bool = False):
        self.start = ["https://shop.example/"]
        self.given = (language, pages, sale)

    def parse(self, page):
        pass
"""

PLAIN = """
import freki

class Plain(freki.Spider):
    start = ["https://shop.example/"]

    def parse(self, page):
        pass
"""


@pytest.fixture
def shop(tmp_path: Path) -> str:
    file = tmp_path / "shop_with_arguments.py"
    file.write_text(SHOP)
    return str(file)


def test_arguments_become_what_the_parameters_are(shop: str) -> None:
    given = {"language": "de", "pages": "3", "sale": "true"}
    assert vars(load(shop, given))["given"] == ("de", 3, True)


def test_arguments_that_are_not_given_have_their_defaults(shop: str) -> None:
    assert vars(load(shop, {"language": "de"}))["given"] == ("de", 10, False)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pages": "3"}, "add --set language=VALUE"),
        ({"langauge": "de"}, "did you mean language"),
        ({"language": "de", "pages": "three"}, "--set pages=three: Expected `int`"),
        ({}, "give them with --set"),
    ],
)
def test_wrong_arguments_are_told_with_what_to_do(
    shop: str, given: dict[str, str], told: str
) -> None:
    with pytest.raises(BadSpider, match=told):
        load(shop, given)


def test_a_spider_without_parameters_takes_no_arguments(tmp_path: Path) -> None:
    file = tmp_path / "plain_without_arguments.py"
    file.write_text(PLAIN)
    with pytest.raises(BadSpider, match="its __init__ takes none"):
        load(str(file), {"pages": "3"})
