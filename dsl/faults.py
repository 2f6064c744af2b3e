"""Faults on their way to the user: gathered, each said once, with the nearest known word."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import TYPE_CHECKING

from .source import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .source import Span


class BlamedError(Exception):
    """Stops the evaluation of one expression; carries the fault to report."""

    def __init__(self, message: str, span: Span, expected: str = "", remedy: str = "") -> None:
        super().__init__(message)
        self.fault = Fault(message, span, expected, remedy)


class LimitError(BlamedError):
    """Stops a whole declaration: it grows beyond what this tool takes."""


@dataclass(slots=True)
class Report:
    """Faults in the order they were found, each once."""

    faults: list[Fault] = field(default_factory=list)
    _seen: set[Fault] = field(default_factory=set)

    def blame(self, message: str, span: Span, expected: str = "", remedy: str = "") -> None:
        """Add a fault unless the same was said of the same place."""
        self.add(Fault(message, span, expected, remedy))

    def add(self, fault: Fault) -> None:
        """Add a fault unless it is known."""
        if fault not in self._seen:
            self._seen.add(fault)
            self.faults.append(fault)

    def __bool__(self) -> bool:
        return bool(self.faults)


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean 'ring'``, or nothing if no known word is near."""
    words: dict[str, list[str]] = {}
    for each in sorted(set(known)):
        words.setdefault(each.lower(), []).append(each)
    near = get_close_matches(word.lower(), words, 3)
    best = [_likeness(word, each) for each in near]
    ties = [each for each, likeness in zip(near, best, strict=True) if likeness == best[0]]
    originals = sorted(original for each in ties for original in words[each])
    return f"did you mean {' or '.join(map(repr, originals))}" if originals else ""


def _likeness(word: str, other: str) -> float:
    # The order of the two as get_close_matches has it: the measure is not symmetric.
    return SequenceMatcher(None, other, word.lower()).ratio()


def unknown(kind: str, word: str, span: Span, known: Iterable[str]) -> Fault:
    """The fault for a name that nothing bears, with what there is."""
    names = sorted(set(known))
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return Fault(
        f"unknown {kind} {word!r}",
        span,
        f"one of {shown}" if names else f"a {kind} that is declared; there is none",
        nearest(word, names),
    )


def unknown_error(kind: str, word: str, span: Span, known: Iterable[str]) -> BlamedError:
    """What to raise for such a name."""
    fault = unknown(kind, word, span, known)
    return BlamedError(fault.message, span, fault.expected, fault.remedy)
