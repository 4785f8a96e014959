"""One line of JSON for each thing that happened, on standard error. Nothing secret is in it."""

import logging
import sys
from typing import Final

import msgspec

from freki.ledger.read import iso

LOG: Final = logging.getLogger("freki.serve")


class Lines(logging.Formatter):
    """A record as one line: whatever is in a text, it cannot begin another one."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": iso(record.created),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=repr).decode("utf-8", "replace")


def begin(part: str, *, quiet: bool = False) -> None:
    """Log from now on, as this part of the service."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    # It warns of each request that it does not take: whoever sends many would fill the disk.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    LOG.setLevel(logging.WARNING if quiet else logging.INFO)
    _PART["part"] = part


_PART: dict[str, str] = {}


def event(name: str, **fields: object) -> None:
    """Something happened."""
    told = {key: value for key, value in fields.items() if value is not None}
    LOG.info(name, extra={"fields": {**_PART, **told}})


def failure(name: str, **fields: object) -> None:
    """Something went wrong on our side; called where it was caught."""
    LOG.error(name, exc_info=sys.exc_info(), extra={"fields": {**_PART, **fields}})
