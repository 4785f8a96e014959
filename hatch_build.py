"""Puts what is written in C into a package, where there is a compiler."""

import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface):
    """Compiles `src/freki/native` for the machine it runs on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        native = _script(Path(self.root) / "scripts" / "native.py")
        try:
            native.compile_library()
        except native.NotCompiledError as error:
            print(f"Without what is in C, reading takes longer: {error}", file=sys.stderr)
            return
        library = native.LIBRARY.relative_to(self.root).as_posix()
        build_data["force_include"][library] = library.removeprefix("src/")
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def _script(path: Path) -> Any:
    spec = spec_from_file_location("native", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
