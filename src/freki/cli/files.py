"""Files that a command writes: whole under their own names, or not at all."""

from contextlib import suppress
from pathlib import Path

from freki.errors import NO_ROOM, BadInput


def write_file(path: Path, data: bytes) -> None:
    """Write a file in place of what was there; a full disk is an `OSError`."""
    is_device = path.exists() and not path.is_file()
    part = path if is_device else path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        if not is_device:
            part.replace(path)
    except OSError as error:
        if not is_device:
            with suppress(OSError):
                part.unlink()
        raise _told(path, error) from None


def make_folder(path: Path) -> None:
    """Have a folder."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _told(path, error) from None


def _told(path: Path, error: OSError) -> Exception:
    if error.errno in NO_ROOM:
        return error
    return BadInput(f"{path} cannot be written: {error.strerror}; name another place with -o")
