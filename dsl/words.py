"""A text taken apart into words, each with its place, numbers joined to their units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .builder import Word
from .source import Fault, Source, Span
from .tables import tables
from .units import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUES = frozenset({"NUMBER", "NAME", "LBRACKET"})


@dataclass(slots=True)
class Words:
    """The words of a text for the grammar.

    ``behind`` has the offsets of words that stand behind something unreadable.
    """

    source: Source
    faults: list[Fault]
    words: list[Word] = field(default_factory=list)
    behind: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        read, words = list(scan(self.source)), self.words
        i = 0
        while i < len(read):
            word = read[i]
            i += 1
            if word.type == "BAD":
                while i < len(read) and read[i].type == "BAD" and read[i].start == word.end:
                    word.end += 1
                    i += 1
                self._unreadable(word.span)
                self.behind.update(each.start for each in read[i : i + 1])
                continue
            if word.type == "NAME" and words and words[-1].type == "NUMBER":
                unit, i = self._unit(words[-1], word, read, i)
                if unit:
                    text = self.source.text[word.start : unit]
                    word = Word("UNIT", text, self.source, word.start, unit)
            words.append(word)

    def _unit(self, number: Word, word: Word, read: list[Word], i: int) -> tuple[int, int]:
        """Where the unit that starts with a word ends (0: it is none), and what follows it."""
        text, end = self.source.text, word.end
        rate = read[i : i + 2]
        if len(rate) == 2 and text[end : end + 2] == "/s" and rate[1].text == "s":
            return end + 2, i + 2
        if word.text in UNITS:
            return end, i
        # An unknown word is a misspelt unit, unless it looks like an option behind a number.
        gap = text[number.end : word.start]
        following = read[i].type if i < len(read) else ""
        if "\n" in gap or following in _VALUES or following == "EQUAL":
            return 0, i
        return end, i

    def _unreadable(self, span: Span) -> None:
        text = self.source.text[span.start : min(span.end, span.start + 20)]
        if text.isascii() and text.isprintable():
            self.faults.append(Fault(f"unexpected {text!r}", span, "a word, a number or a sign"))
            return
        remedy = "write plain ASCII; anything may stand in a comment behind '#'"
        self.faults.append(Fault(f"unreadable {text!r}", span, remedy=remedy))


def scan(source: Source) -> Iterator[Word]:
    """Every word of a text as it stands; BAD ones are single characters that begin no word."""
    made = tables()
    keywords = made.keywords
    for match in made.pattern.finditer(source.text):
        kind = match.lastgroup
        if kind is None:
            continue
        text = match[0]
        if kind == "NAME":
            kind = keywords.get(text, kind)
        yield Word(kind, text, source, match.start(), match.end())
