"""Lark's tokens made ready for the grammar: each with its place, numbers joined to their units."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lark import Token

from .source import Fault, Source, Span
from .units import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

_VALUES = frozenset({"NUMBER", "NAME", "LSQB"})


@dataclass(slots=True)
class Words:
    """The tokens of a text, their ``value`` replaced by their ``Span``.

    ``behind`` has the offsets of tokens that stand behind something unreadable.
    """

    source: Source
    tokens: Sequence[Token]
    faults: list[Fault]
    words: list[Token] = field(default_factory=list)
    behind: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        tokens, words = self.tokens, self.words
        i = 0
        while i < len(tokens):
            token = tokens[i]
            i += 1
            start, end = token.start_pos or 0, token.end_pos or 0
            if token.type == "BAD":
                while i < len(tokens) and tokens[i].type == "BAD" and tokens[i].start_pos == end:
                    end += 1
                    i += 1
                self._unreadable(Span(self.source, start, end))
                self.behind.update(each.start_pos or 0 for each in tokens[i : i + 1])
                continue
            if token.type == "NAME" and words and words[-1].type == "NUMBER":
                unit, i = self._unit(words[-1], token, i)
                if unit:
                    end = unit
                    token = Token("UNIT", self.source.text[start:end])
            token.value = Span(self.source, start, end)
            words.append(token)

    def _unit(self, number: Token, token: Token, i: int) -> tuple[int, int]:
        """Where the unit that starts with a token ends (0: it is none), and what follows it."""
        text, end = self.source.text, token.end_pos or 0
        rate = self.tokens[i : i + 2]
        if len(rate) == 2 and text[end : end + 2] == "/s" and rate[1] == "s":
            return end + 2, i + 2
        if str(token) in UNITS:
            return end, i
        # An unknown word is a misspelt unit, unless it looks like an option behind a number.
        gap = text[number.value.end : token.start_pos]
        value_follows = i < len(self.tokens) and self.tokens[i].type in _VALUES
        if "\n" in gap or value_follows or str(token) == "symmetric":
            return 0, i
        return end, i

    def _unreadable(self, span: Span) -> None:
        text = self.source.text[span.start : min(span.end, span.start + 20)]
        if text.isascii() and text.isprintable():
            self.faults.append(Fault(f"unexpected {text!r}", span, "a word, a number or a sign"))
            return
        remedy = "write plain ASCII; anything may stand in a comment behind '#'"
        self.faults.append(Fault(f"unreadable {text!r}", span, remedy=remedy))
