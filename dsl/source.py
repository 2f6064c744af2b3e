"""A text, a place in it, and what is wrong there: every message that blames the user's input."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which messages speak of it (a path, or ``command line``).

    ``path`` is the file it was read from, ``root`` the folder that it may name files of.
    """

    name: str
    text: str = field(repr=False)
    path: Path | None = field(default=None, repr=False, compare=False)
    root: Path | None = field(default=None, repr=False, compare=False)
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0, *(i + 1 for i, letter in enumerate(self.text) if letter == "\n")]
        object.__setattr__(self, "starts", tuple(starts))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (counted from 1) without its line end."""
        start = self.starts[number - 1]
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range of characters ``[start, end)`` of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def place(self) -> str:
        """``line:column`` of its start."""
        line, column = self.source.place(self.start)
        return f"{line}:{column}"

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of another of the same source."""
        return Span(self.source, self.start, other.end)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a text.

    ``message`` names the thing, ``expected`` says what would have been right, ``remedy`` what to
    do about it; each is a phrase without a full stop. ``span`` is None only where no text exists
    to point at (a file that cannot be read).
    """

    message: str
    span: Span | None
    expected: str = ""
    remedy: str = ""

    def render(self, severity: str = "error") -> str:
        """``file:line:column: error: message``, the line, a caret under the place, the advice."""
        lines: list[str] = []
        if self.span is None:
            lines.append(f"{severity}: {self.message}")
        else:
            source = self.span.source
            line, column = source.place(self.span.start)
            text = source.line(line)
            lines.append(f"{source.name}:{line}:{column}: {severity}: {self.message}")
            shown, caret = _window(text, column - 1, self.span.end - self.span.start)
            lines += [f"  {shown}", f"  {caret}"]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


_SHOWN = 100  # More than anybody reads at once; all of them stay in ``InputError.faults``.


class InputError(Exception):
    """What a user gave is wrong: one or more faults, in the order of their places."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(*faults)
        self.faults = tuple(sorted(faults, key=_order))

    def __str__(self) -> str:
        shown = [fault.render() for fault in self.faults[:_SHOWN]]
        if len(self.faults) > _SHOWN:
            shown.append(f"error: and {len(self.faults) - _SHOWN} faults more")
        return "\n".join(shown)


class UnsupportedError(InputError):
    """What was asked is understood, but cannot be done: by this version, or on this machine."""

    def __init__(self, message: str, expected: str = "", remedy: str = "") -> None:
        super().__init__(Fault(message, None, expected, remedy))


_WIDTH = 160  # A line of a generated file can be megabytes long; show what lies around the place.


def _window(text: str, column: int, length: int) -> tuple[str, str]:
    """The part of a line to show, tabs and control characters made visible, and its carets."""
    first = 0 if len(text) <= _WIDTH else max(0, min(column - _WIDTH // 2, len(text) - _WIDTH))
    shown = text[first : first + _WIDTH]
    printable = "".join(letter if letter.isprintable() else " " for letter in shown)
    at = column - first
    carets = max(1, min(length, len(shown) - at))
    return printable, " " * at + "^" * carets


def _order(fault: Fault) -> tuple[str, int]:
    return ("", -1) if fault.span is None else (fault.span.source.name, fault.span.start)
