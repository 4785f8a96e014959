"""The settings of a crawl: typed, read once, and handed out by part.

Defaults < configuration file < environment < command line. All four spell an
option the same way: `max_pages` here, `max_pages = 10` under `[scope]` in the
file, `FREKI_MAX_PAGES`, `--max-pages`. A word that is none of ours is an error
that names the nearest one that is.
"""

import difflib
import re
import tomllib
import typing
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from freki.errors import BadConfig
from freki.version import __version__

DEFAULT_AGENT = f"Freki/{__version__}"

# Numbers have an upper bound because libraries in C take them: without one, 10^30 is a crash
# there. Times are bounded by a day, and a timeout of less than a millisecond would mean none.
Natural = Annotated[int, Meta(ge=0, le=2**53)]
Count = Annotated[int, Meta(ge=1, le=2**53)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Positive = Annotated[float, Meta(ge=0.001, le=86_400)]
Printable = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[\x20-\x7e]+\Z")]

# The types in msgspec's messages, as people call them.
_TYPE = re.compile(r"`(\w+)(?: \| null)?`")
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "array": "a list",
}


class Scope(Struct, frozen=True, forbid_unknown_fields=True):
    """Which URLs belong to the crawl."""

    depth: Annotated[
        Natural | None, Meta(description="follow links this many steps from the start URLs")
    ] = None
    max_pages: Annotated[
        Count | None, Meta(description="store exactly this many pages, then stop")
    ] = None
    scope: Annotated[
        Literal["page", "folder", "host", "site", "any"],
        Meta(description="how far from the start URL: page, folder, host, site or any"),
    ] = "host"
    include: Annotated[
        tuple[str, ...],
        Meta(description="only URLs that match; * is anything, re:… a regular expression"),
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Meta(description="no URLs that match; as --include, and stronger")
    ] = ()
    max_pages_per_host: Annotated[
        Count | None, Meta(description="store at most this many pages of each host")
    ] = None
    types: Annotated[
        tuple[str, ...],
        Meta(description="keep only answers whose content type begins so, as text/html"),
    ] = ()
    sitemap: Annotated[
        Literal["also", "only", "no"],
        Meta(description="read sitemaps: also, only (links are not followed) or no"),
    ] = "also"
    order: Annotated[
        Literal["breadth", "depth", "best"],
        Meta(description="which URL next: near the start, far from it, or most promising"),
    ] = "breadth"
    obey_nofollow: Annotated[bool, Meta(description="do not follow links marked nofollow")] = False
    check_external: Annotated[
        bool, Meta(description="try links that lead outside, one request each, to find broken ones")
    ] = False
    trap_budgets: Annotated[
        bool, Meta(description="stop following patterns that bring nothing new")
    ] = True


class Politeness(Struct, frozen=True, forbid_unknown_fields=True):
    """How hosts are treated."""

    delay: Annotated[
        Seconds | None,
        Meta(description="seconds between two requests to a host; by default as it can take"),
    ] = None
    min_delay: Annotated[
        Seconds, Meta(description="the shortest pause that is learnt by itself")
    ] = 0.25
    max_delay: Annotated[
        Seconds, Meta(description="the longest pause that is learnt by itself")
    ] = 30.0
    concurrency: Annotated[
        Count | None,
        Meta(description="requests at once per host; by default 1, or 16 with --delay 0"),
    ] = None
    ignore_robots: Annotated[
        bool, Meta(description="do not ask for robots.txt; only for sites that are yours")
    ] = False
    per_address: Annotated[bool, Meta(description="treat hosts that share an address as one")] = (
        False
    )
    contact: Annotated[
        Printable | None,
        Meta(description="a page or address for the owners of hosts; goes into the user agent"),
    ] = None
    user_agent: Annotated[Printable, Meta(description="who we say we are")] = DEFAULT_AGENT

    @property
    def full_agent(self) -> str:
        """The user agent as it is sent."""
        return f"{self.user_agent} (+{self.contact})" if self.contact else self.user_agent

    @property
    def shared(self) -> bool:
        """A host without delay may be worked on by several workers at once."""
        return self.delay == 0

    @property
    def requests_per_host(self) -> int:
        if self.concurrency is not None:
            return self.concurrency
        return 16 if self.shared else 1


class Fetching(Struct, frozen=True, forbid_unknown_fields=True):
    """How bytes are got."""

    connections: Annotated[Count, Meta(description="connections at once, to all hosts")] = 512
    timeout: Annotated[Positive, Meta(description="seconds for a whole answer")] = 60.0
    workers: Annotated[
        Count | Literal["auto"],
        Meta(description="processes on this machine; auto takes all cores where that is quicker"),
    ] = "auto"
    connect_timeout: Annotated[Positive, Meta(description="seconds to connect, TLS included")] = (
        10.0
    )
    min_speed: Annotated[
        Natural, Meta(description="give up below this many bytes a second for 20 seconds")
    ] = 100
    max_body: Annotated[Count, Meta(description="bytes of a body after decoding")] = 10 * 2**20
    max_redirects: Annotated[
        Natural, Meta(description="redirects in a row; each is a URL of its own")
    ] = 10
    attempts: Annotated[Count, Meta(description="tries before a URL counts as failed")] = 3
    http: Annotated[Literal["1.1", "2", "3"], Meta(description="highest HTTP version to use")] = "2"
    drain: Annotated[
        Seconds, Meta(description="seconds that requests in flight have to end after Ctrl-C")
    ] = 30.0
    insecure: Annotated[bool, Meta(description="accept TLS certificates that do not verify")] = (
        False
    )
    cache: Annotated[
        str | None,
        Meta(description="a folder: answers are kept there, and used again by the rules of HTTP"),
    ] = None
    cache_for: Annotated[
        Seconds,
        Meta(description="seconds for which the cache answers whatever the server said of it"),
    ] = 0.0
    render: Annotated[
        Literal["auto", "always", "never"],
        Meta(description="see pages through a browser: where HTTP brings an empty shell, or all"),
    ] = "never"
    browser: Annotated[
        str | None, Meta(description="the browser's program; default: the best there is")
    ] = None
    allow_private: Annotated[
        bool, Meta(description="reach private addresses too, as this machine and its network")
    ] = True
    allow_address: Annotated[
        tuple[str, ...],
        Meta(description="reach this address or network, as 10.1.0.0/16, whatever it is"),
    ] = ()


class Keeping(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a page."""

    keep: Annotated[
        Literal["all", "html", "none"],
        Meta(description="which bodies are stored: all, html or none"),
    ] = "all"
    screenshot: Annotated[bool, Meta(description="keep a picture of every page")] = False
    screenshot_of: Annotated[
        tuple[str, ...],
        Meta(description="keep pictures only of URLs that match; as --include"),
    ] = ()
    durability: Annotated[
        Literal["process", "power"],
        Meta(description="what a commit survives: the death of the process, or a power cut"),
    ] = "process"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a crawl, by part."""

    scope: Scope = Scope()
    politeness: Politeness = Politeness()
    fetching: Fetching = Fetching()
    keeping: Keeping = Keeping()


class Option(NamedTuple):
    """One option as every surface shows it."""

    part: str
    name: str
    help: str
    default: Any  # of whatever type the field has
    type: Any

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        return "FREKI_" + self.name.upper()


def options() -> Iterator[Option]:
    """Every option of a crawl, in the order of the parts."""
    for part in msgspec.structs.fields(Settings):
        for field in msgspec.structs.fields(part.type):
            kind, note = _annotation(field.type)
            yield Option(part.name, field.name, note, field.default, kind)


def _annotation(kind: Any) -> tuple[Any, str]:
    """The plain type and the description inside nested `Annotated`s."""
    note = ""
    while hasattr(kind, "__metadata__"):
        for meta in kind.__metadata__:
            note = note or getattr(meta, "description", None) or ""
        kind = kind.__origin__
    return kind, note


Layer = Mapping[str, Mapping[str, object]]
"""Settings of one source, by part: what the TOML file holds."""


def settings(*layers: Layer) -> Settings:
    """Later layers win, field by field."""
    merged: dict[str, dict[str, object]] = {}
    for layer in layers:
        for part, fields in layer.items():
            merged.setdefault(part, {}).update(fields)
    made = _typed(merged, "{0.flag}")
    if made.scope.sitemap == "only" and made.politeness.ignore_robots:
        raise BadConfig(
            "--sitemap only finds sitemaps by robots.txt, which --ignore-robots leaves out"
        )
    if made.scope.sitemap == "only" and made.scope.scope == "page":
        raise BadConfig("--sitemap only reads what --scope page leaves out")
    for text in made.fetching.allow_address:
        network(text)
    return made


def _typed(layer: Layer, spelling: str) -> Settings:
    """`spelling` is how the source of the layer writes an option."""
    try:
        return msgspec.convert(layer, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadConfig(_explained(str(error), spelling)) from None


def network(text: str) -> IPv4Network | IPv6Network:
    """What `--allow-address` names; raises `BadConfig`."""
    try:
        return ip_network(text)
    except ValueError as error:
        raise BadConfig(f"--allow-address: {error}") from None


def from_file(path: Path) -> Layer:
    """The settings of a TOML file; every table and key must be one of ours."""
    try:
        with path.open("rb") as file:
            layer = tomllib.load(file)
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is not valid TOML: {error}") from None
    _expect_words(layer, path)
    # In the format of `_typed`, braces of a path would be something else.
    name = str(path).replace("{", "{{").replace("}", "}}")
    _typed(layer, f"{name}: {{0.name}} in [{{0.part}}]")
    return layer


def _expect_words(layer: Mapping[str, Any], path: Path) -> None:
    known = {option.name: option.part for option in options()}
    parts = set(known.values())
    for part, fields in layer.items():
        if part not in parts:
            near = _belongs(part, known) or nearest(part, parts) or _belongs_near(part, known)
            raise BadConfig(f"{path}: unknown table or key {part!r}{near}")
        if not isinstance(fields, dict):
            raise BadConfig(f"{path}: [{part}] must be a table")
        for name in fields:
            if known.get(name) != part:
                inside = [option for option, owner in known.items() if owner == part]
                near = _belongs(name, known) or nearest(name, inside) or _belongs_near(name, known)
                raise BadConfig(f"{path}: unknown key {name!r} in [{part}]{near}")


def _belongs(name: str, known: Mapping[str, str]) -> str:
    return f" (it belongs under [{known[name]}])" if name in known else ""


def _belongs_near(name: str, known: Mapping[str, str]) -> str:
    """For a word that is nearly one of another table."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {match[0]} under [{known[match[0]]}]?)" if match else ""


def from_environment(environment: Mapping[str, str]) -> Layer:
    """The settings in variables that start with FREKI_."""
    known = {option.variable: option for option in options()}
    layer: dict[str, dict[str, object]] = {}
    for variable, text in environment.items():
        if not variable.startswith("FREKI_"):
            continue
        option = known.get(variable)
        if option is None:
            # Without the prefix: all our variables share it, so it would make any two alike.
            words = {name.removeprefix("FREKI_"): name for name in known}
            near = nearest(variable.removeprefix("FREKI_"), words)
            raise BadConfig(f"unknown variable {variable}{near.replace('mean ', 'mean FREKI_')}")
        several = typing.get_origin(option.type) is tuple
        layer.setdefault(option.part, {})[option.name] = text.split() if several else text
    _typed(layer, "{0.variable}")
    return layer


def from_flags(flags: Mapping[str, object]) -> Layer:
    """The settings given on the command line: option name to value, None where not given."""
    layer: dict[str, dict[str, object]] = {}
    for option in options():
        if (value := flags.get(option.name)) not in (None, []):
            layer.setdefault(option.part, {})[option.name] = value
    return layer


def nearest(word: str, known: Mapping[str, object] | Iterator[str] | set[str] | list[str]) -> str:
    """` (did you mean …?)`, or nothing where nothing is near."""
    match = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean {match[0]}?)" if match else ""


def _explained(error: str, spelling: str) -> str:
    """msgspec's message in words, with the option as the user spells it in place of a path."""
    message, _, path = error.partition(" - at `$.")
    if not path:
        return error
    name = path.rstrip("`").split(".")[-1].partition("[")[0]
    expected, _, _ = message.partition(", got ")
    message = _TYPE.sub(lambda type_: _WORDS.get(type_[1], type_[0]), expected)
    option = next(option for option in options() if option.name == name)
    return f"{spelling.format(option)}: {message[0].lower()}{message[1:]}"
