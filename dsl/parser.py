"""Text to syntax: Lark's LALR tables, driven token by token so that parsing goes on after a fault.

A fault costs the statement it stands in: the parser goes back to where the statement began and on
to the next word that can begin one, or to the next declaration.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field

from . import syntax
from .builder import HEIGHT, TooDeepError, Word
from .collector import at_rest
from .source import Fault, InputError, Source, Span
from .tables import END, Automaton, UnexpectedError
from .vocabulary import (
    CLOSING,
    DECLARATIONS,
    DISPENSABLE,
    INNER,
    OPENING,
    SOFT,
    STATEMENTS,
)
from .wording import unexpected
from .words import Words

DIGITS = 30
"""Most characters of a number."""
LETTERS = 100
"""Most characters of a name: files are called after some."""
_FAULTS = 50  # More would help nobody, and a binary file has one a character.

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
    call = _alone(source, "call")
    assert isinstance(call, syntax.Call)
    return call


def parse_request(source: Source) -> syntax.Request:
    """The syntax tree of ``name(arguments) within groups`` alone, as a command line has it."""
    request = _alone(source, "request")
    assert isinstance(request, syntax.Request)
    return request


def _alone(source: Source, rule: str) -> object:
    run = _Run(source, rule)
    result = run.finish()
    if run.faults:
        raise InputError(*run.faults)
    return result


@at_rest()
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
    _braces: int = 0
    _joining: bool = False  # Between the ends of a link and its speed, where x2 is a number.

    def finish(self) -> object:
        """Parse the text; what the start rule gives, or None if nothing whole remains."""
        parser = Automaton(self.start)
        read = Words(self.source, self.faults)
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
            if words[i - 1].start not in read.behind:
                self.faults.append(fault)
            if len(self.faults) >= _FAULTS:
                self._too_many()
                return None
            if self.start != "document":
                return None
            i = self._resume(parser, words, i - 1)
        return self._close(parser, words)

    def _too_many(self) -> None:
        # Everything is suspect then; a report on what the text means would be noise.
        del self.faults[_FAULTS:]
        span = self.faults[-1].span
        self.faults.append(Fault("too many faults; the rest is not read", span))

    def _close(self, parser: Automaton, words: list[Word]) -> object:
        at = words[-1].end if words else 0
        end = Word(END, "", self.source, at, at)
        try:
            return parser.finish(end)
        except UnexpectedError:
            self.faults.append(unexpected("", END, parser.accepted(), end.span))
        except TooDeepError as error:
            self.faults.append(_too_deep(error))
        self._spoil()
        if self.start != "document":
            return None
        parser.cut(self._boundary)
        return parser.finish(end)

    # -------------------------------------------------------------------------- one token

    def _feed(self, parser: Automaton, words: list[Word], i: int) -> Fault | None:
        token = words[i]
        kind = token.type
        choices = parser.choices()
        if kind not in choices and kind in SOFT and "NAME" in choices:
            kind = token.type = "NAME"
        joining = self._joining and not self._nested and "TIMES" in choices
        if joining and kind == "NAME" and _PARALLEL.fullmatch(token.text):
            return self._parallel(parser, token)
        size = len(token.text)
        if kind == "NUMBER" and size > DIGITS:
            return Fault(f"a number of {size} digits", token.span, f"at most {DIGITS}")
        if kind in ("NAME", "UNIT") and size > LETTERS:
            what = "name" if kind == "NAME" else "unit"
            return Fault(f"a {what} of {size} characters", token.span, f"at most {LETTERS}")
        if kind in OPENING:
            self._nested += 1
            if self._nested > HEIGHT:
                return Fault("brackets nested too deep", token.span, f"at most {HEIGHT} levels")
        elif kind in CLOSING:
            self._nested -= 1
        starts = kind in STATEMENTS and self._nested == 0
        planning = self._declaration is not None and self._declaration[0] == "plan"
        if kind in INNER and not (planning and "SYNTHESIZE" in choices):
            starts = False
        if kind == "RANKS" and words[i - 1].type in ("DOT", "IN"):
            starts = False  # All ranks, or those of a part.
        declares = kind in DECLARATIONS and self._begins(kind)
        fault = self._push(parser, token, token.text)
        if fault is not None:
            return fault
        if starts or kind == "AT":
            self._joining = kind in ("LINK", "WITH")
        if declares:
            name = words[i + 1].text if i + 1 < len(words) else ""
            self._declaration = (kind.lower(), "" if kind == "PLAN" else name, token.start)
            self._boundary = len(parser.states) - 1
            self._statement = self._braces = 0
        elif kind == "LBRACE":
            self._braces += 1
            if self._braces == 1:
                self._statement = len(parser.states)
        elif kind == "RBRACE":
            self._braces -= 1
            if not self._braces:
                self._statement = 0
        elif starts and self._statement:
            self._statement = len(parser.states) - 1
        return None

    def _begins(self, kind: str) -> bool:
        """Whether a word that can begin a declaration does: ``element`` is also an option."""
        return kind != "ELEMENT" or not self._statement

    def _push(self, parser: Automaton, token: Word, text: str) -> Fault | None:
        """Feed a word; what is wrong with it."""
        try:
            parser.feed(token)
        except UnexpectedError:
            return unexpected(text, token.type, parser.accepted(), token.span)
        except TooDeepError as error:
            return _too_deep(error)
        return None

    def _parallel(self, parser: Automaton, token: Word) -> Fault | None:
        """Feed ``x2`` as the word ``x`` and the number behind it."""
        middle, digits = token.start + 1, token.text[1:]
        if len(digits) > DIGITS:
            span = Span(self.source, middle, token.end)
            return Fault(f"a number of {len(digits)} digits", span, f"at most {DIGITS}")
        times = Word("TIMES", "x", self.source, token.start, middle)
        fault = self._push(parser, times, token.text)
        if fault is None and digits:
            number = Word("NUMBER", digits, self.source, middle, token.end)
            fault = self._push(parser, number, digits)
        return fault

    # --------------------------------------------------------------------------- recovery

    def _spoil(self, lost: str = "") -> None:
        """Mark the current declaration; ``lost`` is the first word of the statement it loses."""
        if self._declaration is not None:
            keyword, name, start = self._declaration
            self.broken.add((keyword, name))
            if lost in DISPENSABLE or (self._statement and keyword == "plan"):
                self.partial.add(start)
            else:
                self.spoilt.add(start)

    def _resume(self, parser: Automaton, words: list[Word], i: int) -> int:
        """Bring the parser back to a boundary; the position of the word to go on with."""
        # What is whole before the fault stays: let the tables take it in.
        accepted = parser.accepted()
        with suppress(TooDeepError):  # Then it is not whole.
            if self._statement and "RBRACE" in accepted:
                self._statement = parser.settle(_mark("RBRACE", self.source))
            elif "USE" in accepted:
                self._boundary = parser.settle(_mark("USE", self.source))
                self._statement, self._declaration = 0, None
        first = parser.values[self._statement - 1 : self._statement] if self._statement else ()
        self._spoil(next((each.type for each in first if isinstance(each, Word)), ""))
        self._nested = 0
        self._braces = min(self._braces, 1)
        parser.cut(self._statement or self._boundary)
        while i < len(words):
            kind = words[i].type
            choices = parser.choices() if self._statement else ()
            if kind in DECLARATIONS and (kind != "ELEMENT" or kind not in choices):
                parser.cut(self._boundary)
                self._statement = self._braces = 0
                return i
            if kind in choices and (kind == "RBRACE" or self._resumes(words, i)):
                return i
            i += 1
        return i

    def _resumes(self, words: list[Word], i: int) -> bool:
        """Whether a statement begins at a word; ``in`` and ``at`` need the word behind them."""
        kind = words[i].type
        if kind in INNER:
            following = words[i + 1].type if i + 1 < len(words) else ""
            return following in ("PLACE", "MOST")
        return kind in STATEMENTS


def _mark(kind: str, source: Source) -> Word:
    """A word that stands nowhere, to see what would follow."""
    return Word(kind, "", source, 0, 0)


def _too_deep(error: TooDeepError) -> Fault:
    return Fault(
        "an expression nested too deep",
        error.span,
        f"at most {HEIGHT} operators inside one another",
        "write it shorter, or take it apart",
    )
