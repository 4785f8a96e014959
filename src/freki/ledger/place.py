"""Where a crawl is kept: a file, or a schema on a PostgreSQL server."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from freki.errors import BadInput

SCHEMES = ("postgresql", "postgres")

_HOST = re.compile(r"(\[[^]]*\]|[^][:,@]*)(:[0-9]*)?")

# Where the tables are. Another one, by `?schema=NAME`, is another store in the same database.
DEFAULT_SCHEMA = "freki"
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")

ADVICE = (
    "an address of PostgreSQL is written postgresql://USER@HOST:PORT/DATABASE; a password is best "
    "kept in ~/.pgpass or PGPASSWORD, and in an address / @ : % # ? of it are percent-encoded"
)


class Address:
    """The address of a store on a server. Whoever prints it does not print the password."""

    __slots__ = ("_parts", "password", "schema")

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text)
            words = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError:
            raise BadInput(ADVICE) from None  # what is wrong may be a part of the password
        user, at, place = parts.netloc.rpartition("@")
        hosts_are_hosts = all(map(_HOST.fullmatch, place.split(",")))
        if not hosts_are_hosts or "@" in user or parts.fragment or "/" in parts.path[1:]:
            raise BadInput(ADVICE)
        name, _, password = user.partition(":")
        given = [value for key, value in words if key == "password"]
        self.password: str | None = unquote(password) or (given[-1] if given else None)
        schemas = [value for key, value in words if key == "schema"]
        self.schema = schemas[-1] if schemas else DEFAULT_SCHEMA
        if not _SCHEMA.fullmatch(self.schema):
            raise BadInput(f"a schema is named by small letters, digits and _: not {self.schema!r}")
        words = [word for word in words if word[0] not in ("password", "schema")]
        query = urlencode(words, quote_via=quote)
        self._parts = (f"{name}{at}{place}", parts.path, query)

    def __str__(self) -> str:
        if self.schema == DEFAULT_SCHEMA:
            return self.conninfo
        return f"{self.conninfo}{'&' if '?' in self.conninfo else '?'}schema={self.schema}"

    @property
    def conninfo(self) -> str:
        """The address as PostgreSQL's own programs understand it."""
        place, path, query = self._parts
        return f"postgresql://{place}{path}{'?' if query else ''}{query}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


Place = Path | Address


def place(text: str) -> Place:
    """What the user names: an address if it begins like one, else a file."""
    scheme, is_address, _ = text.partition("://")
    return Address(text) if is_address and scheme.lower() in SCHEMES else Path(text)
