"""The canonical text of a file, with the comments that stand in it.

Comments on lines of their own stay before what they stood before, those at the end of a line stay
at the end of their statement. A comment inside a statement goes to the line before it. At most one
empty line stays between two statements.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from .comments import Comment, Comments
from .files import read_source
from .parser import parse
from .printer import Row, indented, lay_out, together
from .source import Fault, InputError, Source

if TYPE_CHECKING:
    from . import syntax


def format_text(source: Source) -> str:
    """The canonical text; raises ``InputError`` with the syntax faults of a text that has some."""
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    document = parse(Source(source.name, text))
    comments = Comments(text)
    result = _Page(document, comments).write()
    # Nothing that a person wrote may get lost: whatever goes wrong, it goes wrong here.
    if parse(Source(source.name, result)) != document or _texts(Comments(result)) != _texts(
        comments
    ):
        raise RuntimeError(f"formatting {source.name} would have changed what it says")
    return result


def _texts(comments: Comments) -> Counter[str]:
    return Counter(comment.text for comment in comments.all)


# -------------------------------------------------------------------------------- the page


@dataclass(slots=True)
class _Entry:
    """A row and its comments; ``gaps`` tell which of those above, and the row, follow a gap."""

    row: Row
    above: list[str] = field(default_factory=list)
    gaps: list[bool] = field(default_factory=list)
    beside: str = ""
    inside: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Page:
    """A document's rows on their way to a text."""

    document: syntax.Document
    comments: Comments
    entries: list[list[_Entry]] = field(default_factory=list)  # One list a declaration.
    last: list[Comment] = field(default_factory=list)  # Behind everything else.

    def write(self) -> str:
        """The text."""
        self.entries = [
            [_Entry(row) for row in lay_out(each, self.comments)]
            for each in self.document.declarations
        ]
        self._attach()
        lines: list[str] = []
        for i, entries in enumerate(self.entries):
            if i and not together(*self.document.declarations[i - 1 : i + 1]):
                entries[0].gaps[0] = True
            lines += _lines_of(entries, bool(lines))
        for comment in self.last:
            lines += [""] * (comment.after_gap and bool(lines)) + [comment.text]
        return "\n".join(lines) + "\n" if lines else ""

    def _attach(self) -> None:
        """Give every comment to the row it belongs to."""
        entries = sorted(
            (entry for entries in self.entries for entry in entries),
            key=lambda entry: entry.row.start,
        )
        starts = [entry.row.start for entry in entries]
        own: list[list[tuple[str, bool]]] = [[] for _ in entries]
        for comment in self.comments.all:
            at = bisect_right(starts, comment.start) - 1
            before = entries[at] if at >= 0 else None
            if before is not None and comment.start < before.row.end:
                before.inside.append(comment.text)
            elif before is not None and not comment.own_line and not before.beside:
                before.beside = comment.text
            elif at + 1 < len(entries):
                own[at + 1].append((comment.text, comment.after_gap))
            else:
                self.last.append(comment)
        for entry, above in zip(entries, own, strict=True):
            gap = self.comments.after_gap(entry.row.start)
            entry.above = [text for text, _ in above] + entry.inside
            entry.gaps = [gap for _, gap in above]
            entry.gaps += [gap, *(False for _ in entry.inside)]


def _lines_of(entries: list[_Entry], follows: bool) -> list[str]:
    """The lines of a declaration; ``follows``: others stand before it."""
    columns = _columns(entries)
    lines: list[str] = []
    for i, (entry, column) in enumerate(zip(entries, columns, strict=True)):
        row = entry.row
        opened = entries[i - 1].row.opens if i else not follows
        gaps = list(entry.gaps)
        gaps[0] = gaps[0] and not opened
        if row.closes:
            gaps[-1] = False
        margin = "  " * (row.depth + row.closes)
        for text, gap in zip(entry.above, gaps, strict=False):
            lines += [""] * gap + [margin + text]
        lines += [""] * gaps[-1] + indented(row)
        if entry.beside:
            lines[-1] = f"{lines[-1].ljust(column)}  {entry.beside}"
    return lines


def _columns(entries: list[_Entry]) -> list[int]:
    """Behind which column each row's comment stands: that of its neighbours in a paragraph."""
    widths = [len(indented(entry.row)[-1]) for entry in entries]
    ends = [0, *(i for i, (one, two) in enumerate(pairwise(entries), 1) if _parted(one, two))]
    columns: list[int] = []
    for start, end in pairwise([*ends, len(entries)]):
        beside = [widths[i] for i in range(start, end) if entries[i].beside]
        columns += [max(beside, default=0)] * (end - start)
    return columns


def _parted(first: _Entry, second: _Entry) -> bool:
    """Whether rows are of different paragraphs: a gap, comments or a brace between them."""
    if first.row.opens or second.row.closes or first.row.depth != second.row.depth:
        return True
    return bool(second.above) or second.gaps[-1]


# ----------------------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file and what it should hold: ``before`` with its line ends and byte order mark."""

    path: Path
    before: str = field(repr=False)
    after: str = field(repr=False)

    @property
    def changed(self) -> bool:
        """Whether the file is not canonical."""
        return self.before != self.after

    def difference(self) -> list[str]:
        """A unified diff in lines without line ends; nothing where the file is canonical."""
        name = str(self.path)
        old, new = self.before.split("\n"), self.after.split("\n")
        # The last piece stands behind the last line end: nothing, unless that is missing.
        missing = old[-1] != ""
        old, new = old if missing else old[:-1], new[:-1]
        lines = list(unified_diff(old, new, name, name, lineterm=""))
        if missing:
            lines.append("\\ No newline at end of file")
        return lines


def format_file(path: Path) -> Formatted:
    """What a file should hold; raises ``InputError`` where it is no text, or has syntax faults."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(Fault(f"{path} is not a plain file", None, "a .rly file"))
    after = format_text(read_source(path))
    try:
        # Byte for byte: what ``read_source`` forgives (line ends, a mark) is not canonical.
        before = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Fault(f"{path} changed while it was read", None)) from error
    return Formatted(path, before, after)


def rewrite(path: Path) -> bool:
    """Make a file canonical, wholly or not at all; whether it had to change.

    A symbolic link stays one, the file it leads to is replaced and keeps its mode. Raises
    ``InputError`` as ``format_file``, and for a file or folder that cannot be written.
    """
    formatted = format_file(path)
    if not formatted.changed:
        return False
    target = path.resolve()
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError(0, "it is write-protected")
        _replace(target, formatted.after)
    except OSError as error:
        remedy = "make the file and its folder writable"
        raise InputError(
            Fault(f"cannot write {path}: {error.strerror}", None, "", remedy)
        ) from error
    return True


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(target.stat().st_mode & 0o7777)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
