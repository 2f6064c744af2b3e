"""Generated Python modules on disk, where Numba can cache what it compiles of them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def import_generated(text: str, digest: str) -> ModuleType:
    """Import a module's text from a file that its digest names, written if it is not there.

    Compiled code is cached beside the file, so that the next process need not compile.
    """
    name = f"roundelay_generated_{digest[:32]}"
    if name in sys.modules:
        return sys.modules[name]
    path = _written(text, f"{name}.py")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Numba looks modules up by name when it loads compiled code.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _written(text: str, name: str) -> Path:
    data = text.encode()
    try:
        return _write(data, cache_folder(), name)
    except OSError:
        return _write(data, _private_folder(), name)


def _write(data: bytes, folder: Path, name: str) -> Path:
    """Write a file so that no other process ever sees a part of it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    if path.is_file() and path.read_bytes() == data:
        return path
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def cache_folder() -> Path:
    """``ROUNDELAY_CACHE_DIR``, or the folder ``roundelay`` among the user's caches."""
    chosen = os.environ.get("ROUNDELAY_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "roundelay"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "roundelay"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "roundelay"


@cache
def _private_folder() -> Path:
    """A folder that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="roundelay-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
