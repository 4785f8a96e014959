"""Writes docs/api.md from the OpenAPI document of the service.

python scripts/api_docs.py           writes it
python scripts/api_docs.py --print   prints it
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from freki.serve.app import api
from freki.serve.terms import Terms

PAGE = Path(__file__).parents[1] / "docs" / "api.md"

HEAD = """\
# The API of the service

Made by `scripts/api_docs.py` from the OpenAPI document, which a service shows at `/openapi.json`.
What [the service](service.md) is, who may call it and how errors look is on its own page.
Everything is JSON; a key goes into `Authorization: Bearer …`.

"""

TITLES = {
    "health": "Health",
    "crawls": "Crawls",
    "results": "What a crawl has found",
    "screenshots": "Screenshots",
    "fetch": "One page now",
}

Schema = dict[str, Any]


class Paper:
    """The document, and what its references lead to."""

    def __init__(self, document: Schema) -> None:
        self._document = document

    def text(self) -> str:
        return HEAD + "\n".join(self._lines()).rstrip() + "\n"

    def _lines(self) -> Iterator[str]:
        for tag, title in TITLES.items():
            yield f"## {title}\n"
            for path, operations in self._document["paths"].items():
                for method, operation in operations.items():
                    if tag in operation["tags"]:
                        yield from self._operation(method.upper(), path, operation)

    def _operation(self, method: str, path: str, operation: Schema) -> Iterator[str]:
        yield f"### {method} {path}\n"
        yield f"{operation['description']}\n"
        rows = [
            (f"`{each['name']}`", f"in the {each['in']}", self._told(each["schema"], each))
            for each in operation.get("parameters", [])
            if each["in"] != "path"
        ]
        body = operation.get("requestBody")
        if body is not None:
            schema = self._resolved(body["content"]["application/json"]["schema"])
            rows += self._fields(schema, "")
        if rows:
            yield "| field | type | meaning |\n|---|---|---|"
            yield "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
        if body is not None:
            example = json.dumps(self._example(schema))
            yield f"```json\n{example}\n```\n"
        yield from self._answers(operation["responses"])

    def _fields(self, schema: Schema, before: str) -> list[tuple[str, str, str]]:
        rows = []
        required = schema.get("required", [])
        for name, field in schema.get("properties", {}).items():
            inner = self._resolved(_without_null(field))
            must = ", needed" if name in required else ""
            rows.append((f"`{before}{name}`", self._type(field) + must, self._told(inner, field)))
            item = self._resolved(inner.get("items", {}))
            for part, mark in ((inner, "."), (item, "[].")):
                if part.get("properties"):
                    rows += self._fields(part, f"{before}{name}{mark}")
        return rows

    def _answers(self, responses: Schema) -> Iterator[str]:
        well = {code: answer for code, answer in responses.items() if int(code) < 400}
        bad = [code for code in responses if int(code) >= 400]
        for code, answer in well.items():
            content = answer.get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            name = schema.get("$ref", "").rpartition("/")[2]
            kinds = ", ".join(f"`{kind}`" for kind in content)
            told = f"`{name}`" if name else kinds or "nothing"
            yield f"Answers {code} with {told}; problems: {', '.join(sorted(set(bad)))}.\n"

    def _type(self, schema: Schema) -> str:
        plain = self._resolved(_without_null(schema))
        if "enum" in plain:
            words = [f"`{word}`" for word in plain["enum"]]
            return "one of " + ", ".join(words) if len(words) < 8 else "a word"
        if plain.get("type") == "array":
            return f"list of {self._type(plain['items'])}"
        return {"integer": "whole number", "string": "text", "boolean": "true or false"}.get(
            plain.get("type", ""), plain.get("type", "object")
        )

    def _told(self, inner: Schema, outer: Schema) -> str:
        text = outer.get("description") or inner.get("description") or ""
        default = outer.get("default", outer.get("schema", {}).get("default"))
        shown = f"by default `{json.dumps(default)}`" if default is not None else ""
        least = inner.get("minimum", inner.get("exclusiveMinimum"))
        most = inner.get("maximum")
        limits = ""
        if least is not None and most is not None:
            limits = f"{least:g} to {most:g}" if most < 2**53 else f"{least:g} and more"
        told = "; ".join(part for part in (" ".join(text.split()), limits, shown) if part)
        return told.replace("|", "\\|")

    def _example(self, schema: Schema) -> Schema:
        """What must be given, and nothing else."""
        given = {}
        for name in schema.get("required", []):
            field = self._resolved(schema["properties"][name])
            items = self._resolved(field.get("items", {}))
            if "examples" in items:
                given[name] = items["examples"][:1]
            else:
                given[name] = field.get("examples", [None])[0]
        fields = schema["properties"].items()
        shown = {name: field["examples"][0] for name, field in fields if "examples" in field}
        return given or shown or {"max_pages": 500}

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" not in schema:
            return schema
        name = schema["$ref"].rpartition("/")[2]
        found: Schema = self._document["components"]["schemas"][name]
        return found


def _without_null(schema: Schema) -> Schema:
    """The one type of several that is not null."""
    while "anyOf" in schema:
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    return schema


def page() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder:
        terms = Terms(data=Path(folder))
        terms.place.prepare()
        app = api(terms)
        document = app.openapi()
        app.state.office.close()
    return Paper(document).text()


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), "utf-8")
