"""The files that texts come from, and where a text may look for others."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from .source import Fault, InputError, Source

if TYPE_CHECKING:
    from . import syntax
    from .faults import Report

BYTES = 4 * 1024 * 1024
"""Largest text."""

LETTERS = 1000
"""Most characters of a file's name in a text."""

SEARCH_PATH = "ROUNDELAY_PATH"
"""The environment variable that lists further folders for files named by ``use`` and ``from``."""


def read_source(path: Path, root: Path | None = None) -> Source:
    """The text of a file; raises ``InputError`` for what is not a text of bounded size.

    ``root`` is the folder that the text may name files of; its own folder where none is given.
    """
    name = str(path)
    try:
        if path.is_dir():
            raise InputError(Fault(f"{name} is a folder", None, "a .rly file"))
        with path.open("rb") as file:
            data = file.read(BYTES + 1)
    except FileNotFoundError:
        raise InputError(Fault(f"{name} does not exist", None, remedy=_similar(path))) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Fault(f"{name} cannot be read: {reason}", None)) from None
    if len(data) > BYTES:
        raise InputError(Fault(f"{name} is too large", None, f"at most {BYTES >> 20} MiB"))
    text_file = "a text file in UTF-8"
    if b"\0" in data:
        raise InputError(Fault(f"{name} is not a text file: it has zero bytes", None, text_file))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        raise InputError(Fault(f"{name} is not a text file: {place}", None, text_file)) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Source(name, text, path, (root or path.parent).resolve())


def read_named(path: Path, named: syntax.Text, report: Report) -> Source | None:
    """The file that a text names, found at ``path``; None, and faults at the name."""
    try:
        return read_source(path, named.span.source.root)
    except InputError as error:
        for fault in error.faults:
            report.blame(fault.message, named.span, fault.expected, fault.remedy)
        return None


def _similar(path: Path, but: str = "") -> str:
    """The file beside a missing one whose name is nearest, endings aside; never that called so."""
    try:
        beside = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    except OSError:
        return ""
    known = {
        Path(name).stem: name
        for name in beside
        if name != but and Path(name).suffix in (path.suffix, ".rly")
    }
    near = [known[stem] for stem in get_close_matches(path.stem, known, 1)]
    # An ending may be what is misspelt: then the rest must be nearly right.
    near += get_close_matches(path.name, [name for name in beside if name != but], 1, 0.8)
    return f"did you mean {path.with_name(near[0])}" if near else ""


def resolve_path(named: syntax.Text, report: Report) -> Path | None:
    """The file that a text names, or None and a fault.

    It is looked for in the folder of the naming file, then in those of the search path. Whatever
    links and dots lead to, it lies below the folder of the first file read or of the search path.
    """
    source, text = named.span.source, named.text
    if source.path is None or source.root is None:
        report.blame(
            "a file is named where no file is read", named.span, "declarations in the same text"
        )
        return None
    if not text.strip() or not text.isprintable():
        report.blame("the name of a file is empty or unreadable", named.span, "a file's name")
        return None
    if len(text) > LETTERS:
        message = f"the name of a file has {len(text)} characters"
        report.blame(message, named.span, f"at most {LETTERS}")
        return None
    if Path(text).is_absolute():
        report.blame(
            "an absolute path",
            named.span,
            "a path from the folder of this file",
            f"put the file there, or its folder into {SEARCH_PATH}",
        )
        return None
    further = [Path(each) for each in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if each]
    roots = [source.root, *(each.resolve() for each in further)]
    outside, other = False, ""
    for folder in (source.path.parent, *further):
        path = folder / text
        try:
            if not path.is_file():
                if path.exists():
                    other = "a folder" if path.is_dir() else "not a plain file"
                continue
            real = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            continue
        if any(real.is_relative_to(root) for root in roots):
            return path
        outside = True
    if outside:
        report.blame(
            f"{text!r} lies outside the project",
            named.span,
            "a file below the folder of the first file read",
            f"copy it there, or put its folder into {SEARCH_PATH}",
        )
        return None
    near = "" if other else _similar(source.path.parent / text, source.path.name)
    report.blame(
        f"{text!r} is {other}" if other else f"{text!r} does not exist",
        named.span,
        "a file beside this one" + (f", or in {SEARCH_PATH}" if further else ""),
        near,
    )
    return None
