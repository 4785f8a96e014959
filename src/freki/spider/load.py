"""From words to a spider: `module:Class`, `file.py` or `file.py:Class`, and its arguments."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_type_hints

import msgspec

from freki import config
from freki.errors import BadSpider
from freki.spider.spider import Spider, made

_NAMED: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def load(words: str, given: Mapping[str, str] | None = None) -> Spider:
    """The spider that these words name, made with the arguments that are given."""
    place, _, name = words.rpartition(":")
    if not place or "/" in name or name.endswith(".py"):
        place, name = words, ""
    module = _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    found = _class(module, name, words)
    return found(**_arguments(found, given)) if given else made(found)


def _arguments(spider: type[Spider], given: Mapping[str, str]) -> dict[str, Any]:
    """Texts of a command line as what the parameters of a spider are."""
    parameters = signature(spider).parameters
    takes = [name for name, parameter in parameters.items() if parameter.kind in _NAMED]
    for name in given:
        if name not in takes:
            near = config.nearest(name, takes)
            has = f"it takes {', '.join(takes)}" if takes else "its __init__ takes none"
            raise BadSpider(f"--set {name}: {spider.__name__} has no such argument{near}; {has}")
    for name in takes:
        if name not in given and parameters[name].default is Parameter.empty:
            raise BadSpider(f"{spider.__name__} needs its argument {name}; add --set {name}=VALUE")
    hints = get_type_hints(spider.__init__)
    return {name: _converted(name, text, hints.get(name, str)) for name, text in given.items()}


def _converted(name: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadSpider(f"--set {name}={text}: {error}") from None


def _class(module: ModuleType, name: str, words: str) -> type[Spider]:
    spiders = {
        own: value
        for own, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Spider) and value is not Spider
    }
    if name:
        if name not in spiders:
            there = ", ".join(spiders) or "none"
            raise BadSpider(
                f"--spider {words}: there is no spider {name}; in {module.__name__}: {there}"
            )
        return spiders[name]
    own = [spider for spider in spiders.values() if spider.__module__ == module.__name__]
    if len(own) != 1:
        names = ", ".join(spider.__name__ for spider in own)
        hint = (
            f"say which one, as {words}:{own[0].__name__} ({names})"
            if own
            else ("a spider is a class that inherits freki.Spider")
        )
        raise BadSpider(f"--spider {words}: it has {len(own)} spiders; {hint}")
    return own[0]


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadSpider(f"--spider: there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadSpider(f"--spider: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.absolute()))  # what lies beside it can be imported
    sys.modules[path.stem] = module  # dataclasses and type hints look for their module there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadSpider(f"--spider {path} cannot be loaded:\n{_trace()}") from error
    return module


def _from_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise BadSpider(f"--spider {name!r}: write module:Class or file.py")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise BadSpider(f"--spider {name} cannot be loaded:\n{_trace()}") from None
        raise BadSpider(
            f"--spider: there is no module {name}; a file is written {name}.py"
        ) from None
    except Exception as error:
        raise BadSpider(f"--spider {name} cannot be loaded:\n{_trace()}") from error


def _trace() -> str:
    """The traceback without the frames of the import machinery and of this file."""
    kind, error, frames = sys.exc_info()
    shown = [
        frame
        for frame in traceback.extract_tb(frames)
        if "importlib" not in frame.filename and frame.filename != __file__
    ]
    lines = traceback.format_list(shown) + traceback.format_exception_only(kind, error)
    return "".join(lines).rstrip()
