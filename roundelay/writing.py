"""Files as they are written: whole or not at all, and only in the place of a file."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Written:
    """The paths of files that were written, up to the first that could not be, and why not.

    So what was found can be told before anybody hears of the fault.
    """

    paths: tuple[Path, ...] = ()
    fault: InputError | None = None

    def require(self) -> None:
        """Raise the ``InputError`` of the file that could not be written, if there is one."""
        if self.fault is not None:
            raise self.fault


def write_files(files: Iterable[tuple[Path, str]]) -> Written:
    """Write files one after another, each whole or not at all."""
    paths: list[Path] = []
    for path, text in files:
        try:
            paths.append(write_text(path, text))
        except InputError as error:
            return Written(tuple(paths), error)
    return Written(tuple(paths))


def write_text(path: Path, text: str) -> Path:
    """Write a file, whole or not at all, and the folders above it; raises ``InputError``.

    A link is followed. What exists and is no file of bytes, as a pipe, is written to, and stays.
    """
    try:
        mode = _find_mode(path)
        if stat.S_ISDIR(mode):
            raise InputError(_refuse(path, "it is a folder"))
        if mode and not stat.S_ISREG(mode):
            path.write_text(text, encoding="utf-8", newline="\n")
        else:
            _replace(Path(os.path.realpath(path)), text, stat.S_IMODE(mode) or _allow())
    except OSError as error:
        raise InputError(_refuse(path, error.strerror or "the system takes no file")) from error
    return path


def require_file(path: Path, option: str, ending: str) -> None:
    """Refuse before the search a file that could not be written after it.

    Its name must have the ending, unless it is there and is no file of bytes. Raises
    ``InputError``.
    """
    from .options import require_folder

    try:
        mode = _find_mode(path)
    except OSError as error:
        raise InputError(_refuse(path, error.strerror or "", f" with {option}")) from error
    if stat.S_ISDIR(mode):
        raise InputError(_refuse(path, "it is a folder", f" with {option}"))
    if mode and not stat.S_ISREG(mode):
        return
    if not path.name.lower().endswith(ending):
        raise InputError(
            Fault(
                f"{option} {path} does not end in {ending}",
                None,
                "the only form that is written",
                f"call it {path.stem}{ending}, and turn that into another form afterwards",
            )
        )
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    require_folder(real.parent, option)


def _find_mode(path: Path) -> int:
    """What the file system says of a path, whatever links lead to it; 0 where nothing is."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _allow() -> int:
    """The rights of a new file. The system tells its mask only to those who change it."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _replace(path: Path, text: str, mode: int) -> None:
    """Write beside a file, under a name that nobody else has, and rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(".partial", ".", path.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.chmod(name, mode)  # noqa: PTH101 - the name is at hand.
        os.replace(name, path)  # noqa: PTH105 - as above.
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108 - as above.
        raise


def _refuse(path: Path, why: str, option: str = "") -> Fault:
    return Fault(
        f"cannot write {path}: {why}", None, "a place to write to", f"choose another{option}"
    )
