"""A spider that is a TOML file: which fields an item has, and where they stand.

    each = "article.book"        # an item for every match; without it, one a page
    pages = "*/catalogue/*"      # only on pages whose address matches

    [fields]
    title = "h3"                                     # CSS: the text of the first match
    price = { css = ".price", re = '[\\d.]+', type = "number", required = true }
    cover = { css = "img", type = "url" }

Several kinds of items are several `[[item]]` tables with a `kind` each.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import re2
from msgspec import Meta, Struct

from freki import config
from freki.errors import BadConfig, BadSelector
from freki.extract.selection import Selection, check_css, check_xpath
from freki.spider.page import Page
from freki.spider.pipeline import Drop, Pipeline
from freki.spider.spider import Spider

Kind = Literal["text", "number", "url", "html"]

# What stands around a number: "£1,234.50" and "1.234,50 €" are both 1234.5.
_NUMBER = re.compile(r"-?\d[\d.,\u00a0\u202f' ]*")


class Field(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a field stands, and what is taken of it."""

    css: str = ""
    xpath: str = ""
    attr: str = ""  # this attribute in place of the text
    re: str = ""  # of the text, what this finds, or its first group
    type: Kind = "text"
    all: bool = False  # a list of every match
    required: bool = False  # an item without it is dropped


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of item."""

    fields: Annotated[dict[str, str | Field], Meta(min_length=1)]
    kind: str = ""
    each: str = ""  # a CSS selector: one item for every match
    pages: str = "*"  # addresses of the pages that have such items; * is anything


class RuleBook(Struct, frozen=True, forbid_unknown_fields=True):
    """Several kinds of items."""

    item: Annotated[list[Rule], Meta(min_length=1)]


class Rules(Spider):
    """Reads what rules say from every page of a crawl."""

    follow_links = True

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = [_Reader(rule) for rule in rules]
        self.pipelines = [_complete(rules)]

    def parse(self, page: Page) -> object:
        return [item for reader in self._rules for item in reader.items(page)]


def rules_from(path: Path) -> Rules:
    """The rules of a file; raises `BadConfig` with what is wrong in it."""
    try:
        with path.open("rb") as file:
            told = tomllib.load(file)
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is not valid TOML: {error}") from None
    try:
        if "item" in told:
            rules = msgspec.convert(told, RuleBook).item
        else:
            rules = [msgspec.convert(told, Rule)]
        return Rules(rules)
    except (msgspec.ValidationError, BadSelector, BadConfig) as error:
        raise BadConfig(f"{path}: {error}{_near(str(error))}") from None


class _Reader:
    """A rule, looked at once."""

    def __init__(self, rule: Rule) -> None:
        self._kind = rule.kind
        self._each = rule.each
        self._pages = re.compile(".*".join(re.escape(part) for part in rule.pages.split("*")))
        if rule.each:
            check_css(rule.each)
        self._fields = {
            name: Field(css=field) if isinstance(field, str) else field
            for name, field in rule.fields.items()
        }
        self._patterns = {name: _check(name, field) for name, field in self._fields.items()}

    def items(self, page: Page) -> list[dict[str, object]]:
        if not self._pages.fullmatch(page.url):
            return []
        places = page.css(self._each) if self._each else [page.css("html")]
        return [self._item(place) for place in places]

    def _item(self, place: Selection) -> dict[str, object]:
        item: dict[str, object] = {"kind": self._kind} if self._kind else {}
        for name, field in self._fields.items():
            item[name] = _value(place, field, self._patterns[name])
        return item


def _check(name: str, field: Field) -> "re2._Regexp[str] | None":
    if bool(field.css) == bool(field.xpath):
        raise BadConfig(f"the field {name!r} needs css or xpath, and not both")
    try:
        check_css(field.css) if field.css else check_xpath(field.xpath)
        return re2.compile(field.re) if field.re else None
    except BadSelector as error:
        raise BadConfig(f"the field {name!r}: {error}") from None
    except re2.error as error:
        raise BadConfig(f"the field {name!r}: re = {field.re!r} cannot be used: {error}") from None


def _value(place: Selection, field: Field, pattern: "re2._Regexp[str] | None") -> object:
    found = place.css(field.css) if field.css else place.xpath(field.xpath)
    values = [value for one in found if (value := _one(one, field, pattern)) is not None]
    if field.all:
        return values
    return values[0] if values else None


def _one(match: Selection, field: Field, pattern: "re2._Regexp[str] | None") -> object:
    if field.type == "url" and not field.attr:
        return match.url
    text = (
        match.attr(field.attr) if field.attr else match.html if field.type == "html" else match.text
    )
    if text is None:
        return None
    if pattern is not None:
        found = pattern.search(text)
        if found is None:
            return None
        text = found[1] if pattern.groups else found[0]
    return number(text) if field.type == "number" else text


def number(text: str) -> float | None:
    """The first number of a text, by how people write it: 1,234.50 and 1.234,50 are the same."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = re.sub(r"[\s']", "", found[0]).strip(".,")
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma > point:
        thousands = (point < 0 and len(digits) - comma == 4) or digits.count(",") > 1
        digits = digits.replace(",", "") if thousands else digits.replace(".", "").replace(",", ".")
    else:
        digits = digits.replace(",", "")
        if digits.count(".") > 1:
            digits = digits.replace(".", "")
    return float(digits)


def _complete(rules: list[Rule]) -> Pipeline:
    """A pipeline that drops what lacks a required field."""
    required = {
        rule.kind: [
            name
            for name, field in rule.fields.items()
            if isinstance(field, Field) and field.required
        ]
        for rule in rules
    }

    def complete(item: dict[str, object]) -> dict[str, object]:
        for name in required.get(str(item.get("kind", "")), ()):
            if item[name] in (None, "", []):
                raise Drop(f"no {name}")
        return item

    return complete


def _near(error: str) -> str:
    known = [*Field.__struct_fields__, *Rule.__struct_fields__, "item"]
    word = re.search(r"unknown field `(\w+)`", error)
    return config.nearest(word[1], known) if word else ""
