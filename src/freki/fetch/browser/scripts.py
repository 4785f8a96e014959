"""The scripts that run beside a page's, in a world of their own: it cannot change them."""

from importlib.resources import files
from typing import Final


def _script(name: str) -> str:
    text = (files("freki.fetch.browser") / "js" / f"{name}.js").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("//"))
    return "\n".join(lines).strip()


QUIET: Final = _script("quiet")
SWEEP: Final = _script("sweep")
MEASURE: Final = _script("measure")
SELECTS: Final = _script("selects")
APPEARS: Final = _script("appears")
TREE: Final = _script("tree")
BANNERS: Final = _script("banners")
START: Final = _script("start")
