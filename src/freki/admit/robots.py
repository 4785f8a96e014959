"""What a host asks of robots: RFC 9309, read and obeyed. Clauses are those of the RFC.

    parse(body).for_agent("freki").decide("/a?b")

Pure and total: no content of a file makes it raise, and time grows linearly with its size. Files
are read as people write them: misspelt fields and forgotten colons count, for they are meant.

Google's parser and the RFC part ways in few places. There the reading that fetches less is ours:
letters that are escaped without need match only as written in an Allow line, and in any spelling
in a Disallow line (2.2.2); `Allow: /x/index.html` says nothing about `/x/`.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum

from msgspec import Struct

# 2.5 asks for at least 500 KiB. What comes later is ignored, as if it were not there.
MAX_BODY = 512 * 1024

# Bytes of a line; the rest is ignored. The longest path Freki fetches has half of that.
MAX_LINE = 16_663

# Seconds; a longer one counts as this. It is kept up to the longest pause all the same.
MAX_CRAWL_DELAY = 86_400.0

# Wildcard rules times characters of a path; about 25 ms. Only a hostile host exceeds it, with
# thousands of rules and paths of kilobytes, and it gets what costs nothing: a no.
MAX_COMPARISONS = 16_000_000


class Access(Enum):
    """What the answer to a request for /robots.txt means for its host."""

    use_body = "use_body"
    allow_all = "allow_all"
    disallow_for_now = "disallow_for_now"  # until robots.txt can be read


def access(status: int) -> Access:
    """The meaning of a status after all redirects; 0 where there was no whole answer."""
    if status == 429:
        # 429 is in the range of 2.3.1.3, but it says "come later", not "come in".
        return Access.disallow_for_now
    if 200 <= status < 300:
        return Access.use_body
    if 300 <= status < 500:
        # 2.3.1.2 for redirects that lead nowhere, 2.3.1.3 for the rest.
        return Access.allow_all
    return Access.disallow_for_now  # 2.3.1.4: a server error, or nothing


def parse(body: bytes) -> "Rules":
    """The rules in a file, whatever it contains."""
    reader = _Reader()
    text = body[:MAX_BODY].lstrip(_BYTE_ORDER_MARKS).translate(None, _DROPPED)
    for number, line in enumerate(text.splitlines(), 1):
        if line:
            reader.read(line, number)
    return Rules(
        sitemaps=tuple(reader.sitemaps),
        blocks=tuple(_Block(tuple(lines), tuple(delays)) for lines, delays in reader.blocks),
        members={name: tuple(members) for name, members in reader.members.items()},
    )


class Rules(Struct, frozen=True):
    """A whole robots.txt."""

    sitemaps: tuple[str, ...] = ()  # as written, each once
    blocks: tuple["_Block", ...] = ()
    members: dict[str, tuple["_Member", ...]] = {}  # by product token, lower-case

    def for_agent(self, product: str) -> "Group":
        """The rules for a product token: "freki", not the whole User-Agent."""
        # 2.2.1: all groups of that name together; those of "*" only where there is none.
        members = self.members.get(product.lower()) or self.members.get("*", ())
        lines = [line for member in members for line in self.blocks[member.block].lines]
        delays = [
            delay.seconds
            for member in members
            for delay in self.blocks[member.block].delays
            if delay.agents > member.position
        ]
        return Group(_tables(lines), max(delays, default=None))


class Group(Struct, frozen=True):
    """The rules for one agent."""

    tables: tuple["_Table", ...] = ()
    crawl_delay: float | None = None  # seconds

    def decide(self, path: str) -> "Decision":
        """The verdict on a path with its query, as `url.split` gives it.

        Costs about 2 microseconds, and 40 nanoseconds more per rule with a wildcard.
        """
        if path == "/robots.txt":  # 2.2.2: implicitly allowed
            return _NO_RULE
        winner: _Rule | None = None
        for table in self.tables:
            if len(table.patterns) * len(path) > MAX_COMPARISONS:
                return _TOO_COSTLY
            winner = _longest(table, table.spell(path) + _END, winner)
        return _decision(winner.line) if winner else _NO_RULE


class Decision(Struct, frozen=True, gc=False):
    """May the path be fetched, and which line of the file says so?"""

    allowed: bool
    rule: str | None = None  # as the host wrote it, but printable
    line: int = 0  # counted from one


_NO_RULE = Decision(allowed=True)
_TOO_COSTLY = Decision(allowed=False, rule="too many wildcard rules for so long a path")


def _decision(line: "_Line") -> Decision:
    text = line.value.decode("utf-8", "replace")
    if not text.isprintable():
        text = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return Decision(line.allows, f"{'Allow' if line.allows else 'Disallow'}: {text}", line.number)


# --- reading (2.1, 2.2) ---


class _Line(Struct, frozen=True, gc=False):
    allows: bool
    value: bytes
    number: int


class _Delay(Struct, frozen=True, gc=False):
    """A Crawl-delay line. It counts for the agents named before it, `agents` in number.

    The RFC does not know the field, so it must not end a list of agents (2.2.4). Many files take
    it for the end, and would slow down every robot if it counted for the whole block.
    """

    agents: int
    seconds: float


class _Block(Struct, frozen=True):
    """What follows a list of User-agent lines, up to the next list."""

    lines: tuple[_Line, ...]
    delays: tuple[_Delay, ...]


class _Member(Struct, frozen=True, gc=False):
    """An agent is named by a block, after `position` others."""

    block: int
    position: int


class _Field(Enum):
    agent = 0
    allow = 1
    disallow = 2
    crawl_delay = 3
    sitemap = 4


# 2.3.1.5: use what can be parsed. The misspellings are common, and what they mean is clear.
_FIELDS = {
    b"user-agent": _Field.agent,
    b"useragent": _Field.agent,
    b"user agent": _Field.agent,
    b"allow": _Field.allow,
    b"disallow": _Field.disallow,
    b"dissallow": _Field.disallow,
    b"dissalow": _Field.disallow,
    b"disalow": _Field.disallow,
    b"diasllow": _Field.disallow,
    b"disallaw": _Field.disallow,
    b"crawl-delay": _Field.crawl_delay,
    b"crawldelay": _Field.crawl_delay,
    b"sitemap": _Field.sitemap,
    b"site-map": _Field.sitemap,
}

_PRODUCT = re.compile(rb"[\w-]+")  # digits too: the RFC has none, names of robots do
_SECONDS = re.compile(rb"\d+(?:\.\d+)?|\.\d+")

_BYTE_ORDER_MARKS = b"\xef\xbb\xbf\xfe\xff"  # UTF-8's is also found in parts
_DROPPED = b"\x00\x01"  # without NUL, UTF-16 is readable; both get a meaning in `_pattern`


class _Reader:
    """Collects lines into blocks. A line is stored once, however many agents its block names:
    otherwise a file could demand the product of both numbers."""

    def __init__(self) -> None:
        self.blocks: list[tuple[list[_Line], list[_Delay]]] = []
        self.members: dict[str, list[_Member]] = {}
        self.sitemaps: dict[str, None] = {}
        self._agents = 0  # named by the last block
        self._lines: list[_Line] = []  # of the last block; no block owns what comes before one

    def read(self, line: bytes, number: int) -> None:
        field, value = _split(line)
        if field is _Field.allow or field is _Field.disallow:
            self._lines.append(_Line(field is _Field.allow, value, number))
        elif field is _Field.agent:
            self._name(value)
        elif field is _Field.crawl_delay and self.blocks and _SECONDS.fullmatch(value):
            seconds = min(float(value), MAX_CRAWL_DELAY)
            self.blocks[-1][1].append(_Delay(self._agents, seconds))
        elif field is _Field.sitemap and value:
            self.sitemaps[value.decode("utf-8", "replace")] = None

    def _name(self, agent: bytes) -> None:
        if self._lines or not self.blocks:
            self._lines = []
            self._agents = 0
            self.blocks.append((self._lines, []))
        block = len(self.blocks) - 1
        product = _product(agent)
        members = self.members.setdefault(product, []) if product else []
        if not members or members[-1].block != block:
            members.append(_Member(block, self._agents))
        self._agents += 1


def _split(line: bytes) -> tuple[_Field | None, bytes]:
    name, _, value = line[:MAX_LINE].partition(b":")
    field = _FIELDS.get(name.strip().lower())
    if field is not None:
        return field, value.partition(b"#")[0].strip()
    # A forgotten colon is forgiven where a line is a field and one word.
    words = line[:MAX_LINE].partition(b"#")[0].split(None, 2)
    if len(words) == 2:
        return _FIELDS.get(words[0].lower()), words[1]
    return None, b""


def _product(agent: bytes) -> str:
    if agent[:2].rstrip() == b"*":
        return "*"
    product = _PRODUCT.match(agent)
    return product[0].decode("ascii").lower() if product else ""


# --- matching (2.2.2) ---


class _Rule(Struct, frozen=True, gc=False):
    rank: int  # the longer one wins, and Allow wins a tie: one number says both
    parts: tuple[str, ...]  # to be found one after the other, the first at the start
    longest: str  # of the parts: the likeliest not to be there
    line: _Line


class _Table(Struct, frozen=True):
    """Rules that are compared in the same spelling."""

    spell: Callable[[str], str]
    prefixes: dict[str, _Rule]  # rules without a wildcard, by their text
    lengths: list[int]  # of those texts, ascending
    patterns: list[_Rule]  # the others, the highest rank first


# The end of a path is a character of its own, so that `$` is found like any other. Neither of
# them occurs in a path, nor in a file after `parse` dropped them.
_END = "\x00"
_ANY = "\x01"


def _tables(lines: Sequence[_Line]) -> tuple[_Table, ...]:
    spellings: dict[Callable[[str], str], dict[str, _Rule]] = {}
    for line in lines:
        pattern = _pattern(line.value)
        if not pattern.startswith(("/", _ANY)):
            continue  # begins like no path; an empty value is no rule (2.2)
        spell = _spelling(pattern, line.allows)
        plain = _plain(pattern)
        text = plain if spell is _plain else spell(pattern)
        rank = 2 * len(plain) + line.allows
        rules = spellings.setdefault(spell, {})
        known = rules.get(text)
        if known is None or known.rank < rank:
            parts = tuple(text.split(_ANY))
            rules[text] = _Rule(rank, parts, max(parts, key=len), line)
    return tuple(_table(spell, rules) for spell, rules in spellings.items())


def _pattern(value: bytes) -> str:
    # Latin-1 makes one character of each byte, as escapes are of bytes.
    text = value.decode("latin-1").replace("*", _ANY)
    return text[:-1] + _END if text.endswith("$") else text


def _table(spell: Callable[[str], str], rules: dict[str, _Rule]) -> _Table:
    # The longest prefix must be the one of the highest rank. In the other spellings, which are
    # rare, it need not be: those rules are tried one by one.
    ordered = spell is _plain
    prefixes = {text: rule for text, rule in rules.items() if ordered and _ANY not in text}
    patterns = [rule for text, rule in rules.items() if text not in prefixes]
    patterns.sort(key=lambda rule: -rule.rank)
    return _Table(spell, prefixes, sorted({len(text) for text in prefixes}), patterns)


def _longest(table: _Table, text: str, winner: _Rule | None) -> _Rule | None:
    lengths = table.lengths
    for length in reversed(lengths[: bisect_right(lengths, len(text))]):
        rule = table.prefixes.get(text[:length])
        if rule is not None:
            if winner is None or winner.rank < rule.rank:
                winner = rule
            break
    for rule in table.patterns:
        if winner is not None and rule.rank <= winner.rank:
            break
        if rule.longest in text and _matches(rule.parts, text):
            return rule
    return winner


def _matches(parts: tuple[str, ...], text: str) -> bool:
    # If a rule matches at all, it does with every part as far left as possible: no backtracking.
    if not text.startswith(parts[0]):
        return False
    at = len(parts[0])
    for part in parts[1:]:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


# --- spelling (2.2.2, 2.2.3) ---


def _spelling(pattern: str, allows: bool) -> Callable[[str], str]:
    if allows and _NEEDLESS_ESCAPE.search(pattern):
        return _as_written
    if not allows and _DELIMITER.search(pattern.partition("?")[2]):
        return _query_escaped
    return _plain


def _plain(text: str) -> str:
    """Escapes where they are needed only, and in capitals. `%2A` and `%24` are how a rule says
    `*` and `$` itself (2.2.3)."""
    return _ESCAPE_OR_ESCAPABLE.sub(lambda found: _PLAIN[found[0]], text)


def _as_written(text: str) -> str:
    return _ESCAPE_OR_ESCAPABLE.sub(
        lambda found: found[0].upper() if len(found[0]) == 3 else _PLAIN[found[0]], text
    )


def _query_escaped(text: str) -> str:
    """As the table in 2.2.2, where the delimiters of a URL that stands in a query are escaped."""
    path, mark, query = _plain(text).partition("?")
    return path + mark + query.translate(_DELIMITERS)


_NEEDLESS_ESCAPE = re.compile(r"%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])", re.IGNORECASE)
_DELIMITER = re.compile(r"[/:@\[\]]|%(?:2F|3A|40|5B|5D)", re.IGNORECASE)
_DELIMITERS = str.maketrans({char: f"%{ord(char):02X}" for char in "/:@[]"})

# The second part is what no URL contains unescaped; bytes of UTF-8 are in it.
_ESCAPE_OR_ESCAPABLE = re.compile(r'%[\dA-Fa-f]{2}|[\x02-\x20"<>\\^`{|}\x7f-\xff]')


def _plain_spellings() -> dict[str, str]:
    bare = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~*$")
    spellings = {}
    for code in range(256):
        escape = f"%{code:02X}"
        spellings[chr(code)] = escape
        plain = chr(code) if chr(code) in bare else escape
        for high in escape[1] + escape[1].lower():
            for low in escape[2] + escape[2].lower():
                spellings[f"%{high}{low}"] = plain
    return spellings


_PLAIN = _plain_spellings()
