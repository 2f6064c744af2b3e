"""Text to syntax: Lark's LALR tables, driven token by token so that parsing goes on after a fault.

A fault costs the statement it stands in: the parser goes back to where the statement began and on
to the next word that can begin one, or to the next declaration.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lark import Token, UnexpectedToken

from . import syntax, tables
from .builder import HEIGHT, TooDeepError
from .source import Fault, InputError, Source, Span
from .wording import later_option, unexpected
from .words import Words

if TYPE_CHECKING:
    from lark.parsers.lalr_interactive_parser import InteractiveParser

DIGITS = 30
"""Most characters of a number."""
LETTERS = 100
"""Most characters of a name: files are called after some."""
_FAULTS = 50  # More would help nobody, and a binary file has one a character.

_DECLARATIONS = frozenset({"TOPOLOGY", "OPERATOR", "COLLECTIVE", "PLAN", "USE"})
_STATEMENTS = frozenset(
    {
        "RANKS", "SWITCH", "LINK", "GIVEN", "WANT", "BUSBW", "SYNTHESIZE", "CHUNKS", "STEPS",
        "ROUNDS", "SIZES", "ELEMENT", "BUDGET", "MINIMIZE", "IDENTITY", "COMMUTATIVE",
        "IDEMPOTENT",
    }
)  # fmt: skip
_SOFT = frozenset(
    {
        "SWITCH", "MULTICAST", "REDUCE", "IDENTITY", "COMMUTATIVE", "IDEMPOTENT", "BUSBW",
        "SYNTHESIZE", "ON", "CHUNKS", "STEPS", "ROUNDS", "SIZES", "ELEMENT", "BUDGET",
        "MINIMIZE", "LATENCY", "BANDWIDTH", "TIME",
    }
)  # fmt: skip
_DISPENSABLE = frozenset({"LINK"})
_OPENING = frozenset({"LPAR", "LSQB", "LBRACKET"})
_CLOSING = frozenset({"RPAR", "RPAREN", "RSQB", "RBRACKET"})
_PARALLEL = re.compile(r"x[0-9]*")


@dataclass(frozen=True, slots=True)
class Recovered:
    """What could be read of a text, and what could not.

    ``broken`` names the declarations with a fault in them, as (keyword, name); a plan has the name
    ``""``. Those that lack no more than a link or an option are in the document all the same, so
    that the rest of them can be checked; ``partial`` has the offsets where they start.
    """

    document: syntax.Document
    faults: tuple[Fault, ...] = ()
    broken: frozenset[tuple[str, str]] = frozenset()
    partial: frozenset[int] = frozenset()


def parse(source: Source) -> syntax.Document:
    """The syntax tree of a text; raises ``InputError`` with every syntax fault of it."""
    recovered = recover(source)
    if recovered.faults:
        raise InputError(*recovered.faults)
    return recovered.document


def parse_call(source: Source) -> syntax.Call:
    """The syntax tree of ``name(arguments)`` alone, as a command line has it."""
    run = _Run(source, "call")
    call = run.finish()
    if run.faults or not isinstance(call, syntax.Call):
        raise InputError(*run.faults)
    return call


def recover(source: Source) -> Recovered:
    """As ``parse``, but gives back what is whole beside the faults."""
    run = _Run(source, "document")
    document = run.finish()
    whole = document.declarations if isinstance(document, syntax.Document) else ()
    return Recovered(
        syntax.Document(tuple(each for each in whole if each.span.start not in run.spoilt)),
        tuple(run.faults),
        frozenset(run.broken),
        frozenset(run.partial),
    )


@dataclass(slots=True)
class _Run:
    """One text on its way through the tables."""

    source: Source
    start: str
    faults: list[Fault] = field(default_factory=list)
    broken: set[tuple[str, str]] = field(default_factory=set)
    spoilt: set[int] = field(default_factory=set)
    partial: set[int] = field(default_factory=set)
    # The declaration being read; heights of the stack at its start and at its current statement.
    _declaration: tuple[str, str, int] | None = None
    _boundary: int = 1
    _statement: int = 0
    _nested: int = 0

    def finish(self) -> object:
        """Parse the text; what the start rule gives, or None if nothing whole remains."""
        parser = tables.start(self.source.text, self.start)
        read = Words(self.source, tables.tokens(parser), self.faults)
        words = read.words
        if len(self.faults) >= _FAULTS:
            self._too_many()
            return None
        i = 0
        while i < len(words):
            fault = self._feed(parser, words, i)
            i += 1
            if fault is None:
                continue
            # What stands behind something unreadable does not fit, but not by its own fault.
            if words[i - 1].value.start not in read.behind:
                self.faults.append(fault)
            if len(self.faults) >= _FAULTS:
                self._too_many()
                return None
            if self.start == "call":
                return None
            i = self._resume(parser, words, i - 1)
        return self._close(parser, words)

    def _too_many(self) -> None:
        # Everything is suspect then; a report on what the text means would be noise.
        del self.faults[_FAULTS:]
        span = self.faults[-1].span
        self.faults.append(Fault("too many faults; the rest is not read", span))

    def _close(self, parser: InteractiveParser, words: list[Token]) -> object:
        at = words[-1].value.end if words else 0
        end = Token("$END", "")
        end.value = Span(self.source, at, at)
        fault, result = self._push(parser, end, "", end.value)
        if fault is None:
            return result
        self.faults.append(fault)
        self._spoil()
        if self.start == "call":
            return None
        tables.cut(parser, self._boundary)
        return parser.feed_token(end)

    # -------------------------------------------------------------------------- one token

    def _feed(self, parser: InteractiveParser, words: list[Token], i: int) -> Fault | None:
        token = words[i]
        kind, span = token.type, token.value
        choices = tables.choices(parser)
        if kind not in choices:
            if kind in _SOFT and "NAME" in choices:
                kind = token.type = "NAME"
            elif kind == "NAME" and "TIMES" in choices and _PARALLEL.fullmatch(token):
                return self._parallel(parser, token)
        if kind == "NUMBER" and len(token) > DIGITS:
            return Fault(f"a number of {len(token)} digits", span, f"at most {DIGITS}")
        if kind == "NAME" and len(token) > LETTERS:
            return Fault(f"a name of {len(token)} characters", span, f"at most {LETTERS}")
        if kind in _OPENING:
            self._nested += 1
            if self._nested > HEIGHT:
                return Fault("brackets nested too deep", span, f"at most {HEIGHT} levels")
        elif kind in _CLOSING:
            self._nested -= 1
        starts = kind in _STATEMENTS and self._nested == 0
        fault, _ = self._push(parser, token, str(token), span)
        if fault is not None:
            return fault
        if kind in _DECLARATIONS:
            name = words[i + 1] if i + 1 < len(words) else ""
            self._declaration = (kind.lower(), "" if kind == "PLAN" else str(name), span.start)
            self._boundary = len(parser.parser_state.state_stack) - 1
            self._statement = 0
        elif kind == "LBRACE":
            self._statement = len(parser.parser_state.state_stack)
        elif kind == "RBRACE":
            self._statement = 0
        elif starts and self._statement:
            self._statement = len(parser.parser_state.state_stack) - 1
        return None

    def _push(
        self, parser: InteractiveParser, token: Token, text: str, span: Span
    ) -> tuple[Fault | None, object]:
        """Feed a token; what is wrong with it, and what the text means if it was the last."""
        try:
            return None, parser.feed_token(token)
        except UnexpectedToken:
            return unexpected(text, token.type, tables.accepted(parser), span), None
        except TooDeepError as error:
            fault = Fault(
                "an expression nested too deep",
                error.span,
                f"at most {HEIGHT} operators inside one another",
                "write it shorter, or take it apart",
            )
            return fault, None

    def _parallel(self, parser: InteractiveParser, token: Token) -> Fault | None:
        """Feed ``x2`` as the word ``x`` and the number behind it."""
        span = token.value
        times, number = Token("TIMES", "x"), Token("NUMBER", token[1:])
        times.value = Span(self.source, span.start, span.start + 1)
        number.value = Span(self.source, span.start + 1, span.end)
        if len(number) > DIGITS:
            return Fault(f"a number of {len(number)} digits", number.value, f"at most {DIGITS}")
        fault, _ = self._push(parser, times, str(token), span)
        if fault is None and number:
            fault, _ = self._push(parser, number, str(number), number.value)
        return fault

    # --------------------------------------------------------------------------- recovery

    def _spoil(self, lost: str = "") -> None:
        """Mark the current declaration; ``lost`` is the first word of the statement it loses."""
        if self._declaration is not None:
            keyword, name, start = self._declaration
            self.broken.add((keyword, name))
            if lost in _DISPENSABLE or (self._statement and keyword == "plan"):
                self.partial.add(start)
            else:
                self.spoilt.add(start)

    def _resume(self, parser: InteractiveParser, words: list[Token], i: int) -> int:
        """Bring the parser back to a boundary; the position of the word to go on with."""
        # What is whole before the fault stays: let the tables take it in.
        accepted = tables.accepted(parser)
        with suppress(TooDeepError):  # Then it is not whole.
            if self._statement and "RBRACE" in accepted:
                self._statement = tables.settle(parser, "RBRACE")
            elif "USE" in accepted:
                self._boundary = tables.settle(parser, "USE")
                self._statement, self._declaration = 0, None
        stack = parser.parser_state.value_stack
        first = stack[self._statement - 1 : self._statement] if self._statement else ()
        self._spoil(next((each.type for each in first if isinstance(each, Token)), ""))
        self._nested = 0
        start = i
        tables.cut(parser, self._statement or self._boundary)
        while i < len(words):
            kind = words[i].type
            if kind in _DECLARATIONS:
                tables.cut(parser, self._boundary)
                self._statement = 0
                return i
            boundary = kind in _STATEMENTS or kind == "RBRACE"
            if self._statement:
                choices = tables.choices(parser)
                if boundary and kind in choices:
                    return i
                later = later_option(*map(str, words[i : i + 2])) and "SYNTHESIZE" in choices
                if later and i > start:
                    return i
            i += 1
        return i
