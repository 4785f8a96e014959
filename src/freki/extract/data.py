"""What a page says of itself for machines: JSON-LD, microdata, OpenGraph."""

from msgspec import Struct
from turbohtml import Document, MicrodataItem


class Data(Struct, frozen=True):
    """The structured data of a page. Nothing in it is checked: a page may claim anything."""

    json_ld: list[object] = []
    microdata: list[dict[str, object]] = []  # each with "type", "id" and its properties
    opengraph: dict[str, str] = {}

    def of_type(self, name: str) -> list[dict[str, object]]:
        """JSON-LD and microdata of a type of schema.org, as `Product`, wherever they stand."""
        return [
            thing
            for thing in _things([*self.json_ld, *self.microdata], 0)
            if name in {kind.rpartition("/")[2] for kind in _kinds(thing)}
        ]


# As deep as pages nest things that mean something.
_DEEPEST = 20


def data_of(document: Document, url: str) -> Data:
    """Read it from a parsed page."""
    found = document.structured_data(url)
    return Data(
        list(found.json_ld),
        [_microdata(item, 0) for item in found.microdata],
        dict(found.opengraph),
    )


def _microdata(item: MicrodataItem, depth: int) -> dict[str, object]:
    made: dict[str, object] = {"type": item.type, "id": item.id}
    if depth > _DEEPEST:
        return made
    for name, values in item.properties.items():
        told = [
            _microdata(value, depth + 1) if isinstance(value, MicrodataItem) else value
            for value in values
        ]
        made[name] = told[0] if len(told) == 1 else told
    return {name: value for name, value in made.items() if value is not None}


def _things(values: object, depth: int) -> list[dict[str, object]]:
    """Every object in what a page says, the outer ones first."""
    if depth > _DEEPEST:
        return []
    if isinstance(values, dict):
        return [values, *_things(list(values.values()), depth + 1)]
    if isinstance(values, list):
        return [thing for value in values for thing in _things(value, depth + 1)]
    return []


def _kinds(thing: dict[str, object]) -> list[str]:
    kinds = thing.get("@type", thing.get("type"))
    several = kinds if isinstance(kinds, list) else [kinds]
    return [kind for kind in several if isinstance(kind, str)]
