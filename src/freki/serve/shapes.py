"""Our frozen values as pydantic models: what FastAPI checks requests with and documents by.

Each thing stays written down once: options in `config.py`, answers as structs.
"""

import types
import typing
from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from msgspec import Struct
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model


class Strict(BaseModel):
    """A request: nothing is guessed, and no field is accepted that nobody reads."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Query(BaseModel):
    """The parameters of a URL, which are all texts."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


_LIMITS = ("ge", "gt", "le", "lt", "min_length", "max_length", "description")

# Items of a list that nothing else bounds.
MAX_ITEMS = 1_000
MAX_TEXT = 2_000


def _whole(value: object) -> object:
    """JSON has one kind of number: 5.0 is 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


AS_WHOLE = BeforeValidator(_whole)


def translated(kind: Any) -> Any:
    """A type with msgspec's constraints as one with pydantic's."""
    if kind is int:
        return Annotated[int, AS_WHOLE]
    if hasattr(kind, "__metadata__"):
        inner = kind.__origin__ if kind.__origin__ is int else translated(kind.__origin__)
        for meta in kind.__metadata__:
            if isinstance(meta, msgspec.Meta):
                limits = {
                    name: value
                    for name in _LIMITS
                    if (value := getattr(meta, name, None)) is not None
                }
                pattern = meta.pattern.replace(r"\Z", "$") if meta.pattern else None
                inner = Annotated[inner, Field(pattern=pattern, **limits)]
        # Outermost, or the limits would be checked of what it makes, and not be in the document.
        return Annotated[inner, AS_WHOLE] if kind.__origin__ is int else inner
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return reduce(or_, (translated(part) for part in parts))
    if origin is tuple and parts[-1] is Ellipsis:
        text = Annotated[str, Field(max_length=MAX_TEXT)]
        inner = text if parts[0] is str else translated(parts[0])
        return Annotated[list[inner], Field(max_length=MAX_ITEMS)]  # type: ignore[valid-type]
    return kind


_MODELS: dict[type[Struct], type[BaseModel]] = {}


def model_of(kind: type[Struct]) -> type[BaseModel]:
    """A model that documents a struct of ours as an answer."""
    if kind not in _MODELS:
        fields: dict[str, Any] = {}
        for field in msgspec.structs.fields(kind):
            type_ = _answered(field.type)
            required = field.required or not kind.__struct_config__.omit_defaults
            fields[field.name] = (type_, ... if required else _default(field))
        name = kind.__name__.removesuffix("Answer")
        _MODELS[kind] = create_model(name, __doc__=(kind.__doc__ or "").strip(), **fields)
    return _MODELS[kind]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return Field(default_factory=field.default_factory)


def _answered(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, Struct):
        return model_of(kind)
    if kind is msgspec.Raw:
        return dict[str, Any]
    if hasattr(kind, "__metadata__"):
        note = next((meta.description for meta in kind.__metadata__ if meta.description), None)
        return Annotated[_answered(kind.__origin__), Field(description=note)]
    return _answered_generic(kind)


def _answered_generic(kind: Any) -> Any:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return reduce(or_, (_answered(part) for part in parts))
    if origin in (list, tuple) and parts:
        return list[_answered(parts[0])]  # type: ignore[misc]  # computed
    if origin is dict:
        return dict[parts[0], _answered(parts[1])]  # type: ignore[valid-type, misc]  # computed
    return kind
