"""Lark's LALR tables of ``grammar.lark``, and the automaton that runs on them.

Lark makes the tables and the callbacks; text goes through them here, word by word, because its
own driver costs several times as much and cannot be set back to an earlier state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Lark
from lark.parsers.lalr_analysis import Shift

from .builder import Builder

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    from .builder import Word

END = "$END"


class UnexpectedError(Exception):
    """A word does not fit."""


class _Reduction(NamedTuple):
    """What a rule takes from the stacks, where it goes on, and what it makes.

    ``make`` is None where a rule passes its only part on.
    """

    size: int
    origin: str
    make: Callable[[list[Any]], Any] | None


State = dict[str, Any]
"""By terminal or rule: the state to go to (a dictionary too), or what to reduce first."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The automaton of the grammar and the pattern of its words.

    ``pattern`` has one named group a kind of word; ``keywords`` are names with a kind of their
    own.
    """

    starts: dict[str, State]
    ends: dict[str, State]
    pattern: re.Pattern[str]
    keywords: dict[str, str]


@cache
def tables() -> Tables:
    """The tables; made at the first text, not at import: the command line's help cannot wait."""
    lark = Lark(
        files("roundelay.dsl").joinpath("grammar.lark").read_text("utf-8"),
        start=["document", "request", "call"],
        parser="lalr",
        lexer="basic",
        transformer=Builder(),
    )
    parser: Any = lark.parser.parser
    table, callbacks = parser.parser.parse_table, parser.parser.callbacks
    states: dict[int, State] = {number: {} for number in table.states}
    for number, entries in table.states.items():
        for kind, (action, arg) in entries.items():
            is_shift = action is Shift
            states[number][kind] = states[arg] if is_shift else _reduction(arg, callbacks)
    keywords = {
        terminal.pattern.value: terminal.name
        for terminal in lark.terminals
        if terminal.pattern.value.isidentifier()
    }
    return Tables(
        {rule: states[number] for rule, number in table.start_states.items()},
        {rule: states[number] for rule, number in table.end_states.items()},
        _pattern(lark.terminals),
        keywords,
    )


def _reduction(rule: Rule, callbacks: dict[Rule, Callable[[list[Any]], Any]]) -> _Reduction:
    size = len(rule.expansion)
    passes = size == 1 and rule.options.expand1 and not rule.alias
    return _Reduction(size, rule.origin.name, None if passes else callbacks[rule])


def _pattern(terminals: Iterable[TerminalDef]) -> re.Pattern[str]:
    """All words in one pattern, longer ones first; BAD is what nothing else fits."""
    kinds = [each for each in terminals if not each.pattern.value.isidentifier()]
    kinds.sort(key=lambda each: (-each.priority, -each.pattern.max_width, each.name))
    texts = [
        each.pattern.to_regexp()
        if each.name.startswith("__IGNORE")
        else f"(?P<{each.name}>{each.pattern.to_regexp()})"
        for each in kinds
    ]
    return re.compile("|".join((*texts, r"(?P<BAD>\S)")))


@dataclass(slots=True)
class Automaton:
    """Where a text has come to. Values stand one place lower than their states."""

    start: str
    states: list[State] = field(init=False)
    values: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = [tables().starts[self.start]]

    def feed(self, word: Word) -> None:
        """Take a word in; raises ``UnexpectedError`` if it does not fit."""
        states, kind = self.states, word.type
        while True:
            action = states[-1].get(kind)
            if type(action) is dict:
                states.append(action)
                self.values.append(word)
                return
            if action is None:
                raise UnexpectedError
            self._reduce(action)

    def finish(self, end: Word) -> Any:
        """What the whole text means; raises ``UnexpectedError`` if it is not whole."""
        goal = tables().ends[self.start]
        while self.states[-1] is not goal:
            action = self.states[-1].get(end.type)
            if not isinstance(action, _Reduction):
                raise UnexpectedError
            self._reduce(action)
        return self.values[-1]

    def _reduce(self, action: _Reduction) -> None:
        size, origin, make = action
        states, values = self.states, self.values
        if make is None:
            states[-1] = states[-2][origin]
            return
        children = []
        if size:
            children = values[-size:]
            del states[-size:]
            del values[-size:]
        values.append(make(children))
        states.append(states[-1][origin])

    def choices(self) -> Container[str]:
        """What the tables have an entry for: may still turn out not to fit after reductions."""
        return self.states[-1]

    def accepted(self) -> set[str]:
        """The terminals that fit next."""
        return {kind for kind in self.states[-1] if kind.isupper() and self._fits(kind)}

    def _fits(self, kind: str) -> bool:
        states = list(self.states)
        goal = tables().ends[self.start]
        while not (kind == END and states[-1] is goal):
            action = states[-1].get(kind)
            if not isinstance(action, _Reduction):
                return action is not None
            if action.size:
                del states[-action.size :]
            states.append(states[-1][action.origin])
        return True

    def cut(self, depth: int) -> None:
        """Forget all but the lowest states."""
        del self.states[depth:]
        del self.values[depth - 1 :]

    def settle(self, word: Word) -> int:
        """Reduce what a following word would reduce; the height of the stack then."""
        self.feed(word)
        height = len(self.states) - 1
        self.cut(height)
        return height
