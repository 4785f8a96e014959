"""Who may call. A key is shown once, when it is made; what is kept does not let anybody in."""

import hmac
import secrets
from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from freki.errors import BadInput
from freki.ledger.jobs.place import SQL, Desk, again

Scope = Literal["submit", "read", "admin", "metrics"]
SCOPES: tuple[Scope, ...] = ("submit", "read", "admin", "metrics")

PREFIX = "freki"

Limit = Annotated[int, Meta(ge=0, le=2**53)]


class Quotas(Struct, frozen=True, forbid_unknown_fields=True):
    """How much a caller may have."""

    running: Limit = 8  # jobs in work at once
    queued: Limit = 2_000  # jobs that wait
    pages_per_job: Limit = 1_000_000
    pages_per_day: Limit = 10_000_000


class Key(Struct, frozen=True):
    """A key, without its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    quotas: Quotas
    created_at: float
    revoked_at: float | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes


# Who calls a service on loopback that has no keys: whoever is on this machine.
ANYBODY = Key(
    "local", "whoever is on this machine", SCOPES, Quotas(running=64, queued=10_000), created_at=0.0
)


@again
def add(
    desk: Desk, name: str, scopes: tuple[Scope, ...], quotas: Quotas, now: float
) -> tuple[str, Key]:
    """A new key: what its holder sends, and what is known of it."""
    id_, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = Key(id_, name, scopes, quotas, now)
    with desk.writing() as db:
        row = (id_, _digest(secret), name, _json(scopes), _json(quotas), now)
        db.execute(SQL["key_add"], row)
    return f"{PREFIX}_{id_}_{secret}", key


def known(desk: Desk) -> list[Key]:
    """Every key, revoked ones too."""
    with desk.reading() as db:
        return [_key(row) for row in db.execute(SQL["keys"])]


def any_live(desk: Desk) -> bool:
    """Is there a key that lets anybody in?"""
    with desk.reading() as db:
        return bool(db.execute(SQL["keys_live"]).fetchone()[0])


@again
def revoke(desk: Desk, id_: str, now: float) -> None:
    """From now on the key lets nobody in."""
    with desk.writing() as db:
        if db.execute(SQL["key_revoke"], (now, id_)).rowcount == 0:
            raise BadInput(f"there is no live key {id_!r}; freki keys list shows them")


def holder(desk: Desk, token: str) -> Key | None:
    """Whose key this is; None for one that is wrong, or revoked."""
    prefix, _, rest = token.partition("_")
    id_, _, secret = rest.partition("_")
    if prefix != PREFIX or not secret:
        return None
    with desk.reading() as db:
        row = db.execute(SQL["key_find"], (id_,)).fetchone()
    # Compared also where there is none, so that the time tells nothing.
    digest = row["digest"] if row else b"\0" * 32
    right = hmac.compare_digest(digest, _digest(secret))
    return _key(row) if right and row and row["revoked_at"] is None else None


def _digest(secret: str) -> bytes:
    # A secret of 256 random bits needs no slow hash: there is nothing to guess.
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _key(row: Any) -> Key:
    return Key(
        row["id"],
        row["name"],
        msgspec.json.decode(row["scopes"], type=tuple[Scope, ...]),
        msgspec.json.decode(row["quotas"], type=Quotas),
        row["created_at"],
        row["revoked_at"],
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
