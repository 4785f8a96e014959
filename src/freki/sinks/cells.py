"""Values as cells of CSV."""

import msgspec

# Cells that a spreadsheet would take for a formula get a quote in front.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def cell(value: object) -> str:
    """A value as a cell that no spreadsheet takes for a formula."""
    match value:
        case None:
            return ""
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
        case _:
            return msgspec.json.encode(value).decode()
