"""A Python to type into: IPython where it is installed, else the one that comes with Python."""

import code
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def interact(names: dict[str, Any], welcome: str) -> None:
    """Until the person ends it."""
    if find_spec("IPython") is not None:
        print(welcome)
        import_module("IPython").start_ipython(argv=["--no-banner"], user_ns=names)
        return
    code.interact(banner=welcome, local=names, exitmsg="")
