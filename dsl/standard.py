"""The library that comes with the language: one file a thing, read when it is first named."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from . import syntax
from .parser import parse
from .source import Source

if TYPE_CHECKING:
    from .source import Span

_FOLDERS = {
    "topology": "library/machines",
    "operator": "library",
    "collective": "library",
    "element": "library/elements",
    "schedule": "library/schedules",
}


@cache
def standard(kind: str, name: str) -> syntax.Named | None:
    """The library's declaration of a kind and name; None if there is none."""
    if not (name.isascii() and name.isidentifier()):
        return None
    path = f"{_FOLDERS[kind]}/{name}.rly"
    file = files("roundelay.dsl").joinpath(path)
    if not file.is_file():
        return None
    for declaration in parse(Source(path, file.read_text("utf-8"))).declarations:
        if syntax.KINDS.get(type(declaration)) == kind:
            assert not isinstance(declaration, syntax.Plan | syntax.Use)
            return declaration
    return None


def belongs(span: Span | None) -> bool:
    """Whether a place lies in the library."""
    return span is not None and span.source.path is None and span.source.name.startswith("library/")


@cache
def names(kind: str) -> tuple[str, ...]:
    """All names of a kind in the library, sorted."""
    folder = files("roundelay.dsl").joinpath(_FOLDERS[kind])
    if not folder.is_dir():
        return ()
    stems = (file.name.removesuffix(".rly") for file in folder.iterdir() if ".rly" in file.name)
    return tuple(sorted(stem for stem in stems if standard(kind, stem) is not None))
