"""The turns of a statement's loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, LimitError, unknown_error
from .values import condition, evaluate, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .faults import Report
    from .source import Fault, Span
    from .units import Value
    from .values import Scope

TURNS = 2_000_000
"""Most turns of all loops of a topology or a collective, those that a guard stops among them."""


@dataclass(slots=True)
class Allowance:
    """The turns that are left; shared by all loops of one declaration."""

    left: int = field(default_factory=lambda: TURNS)

    def take(self, turns: int, span: Span) -> None:
        """Use up so many turns; raises ``LimitError`` where fewer are left."""
        self.require(turns, span)
        self.left -= turns

    def require(self, turns: int, span: Span) -> None:
        """Raise ``LimitError`` where fewer are left."""
        if turns > self.left:
            raise LimitError("too many turns of loops", span, f"at most {TURNS} in all")


@dataclass(slots=True)
class Loops:
    """Loops, the outermost first, and the guard of their body.

    ``ranks`` is what ``in ranks`` runs up to, ``parts`` what ``in ranks of box`` does, by part.
    """

    loops: tuple[syntax.Loop, ...]
    guard: syntax.Expression | None
    allowance: Allowance
    ranks: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    _entered: list[bool] = field(default_factory=list)

    def run(self, scope: Scope) -> Iterator[Scope]:
        """The scope of every turn; one dictionary, changed in place. Raises ``BlamedError``."""
        self._entered = self._entered or [False] * len(self.loops)
        inner = dict(scope)
        for turn in self._nest(0, inner):
            if self.guard is None or condition(self.guard, turn):
                yield turn

    def _nest(self, depth: int, scope: Scope) -> Iterator[Scope]:
        if depth == len(self.loops):
            yield scope
            return
        loop = self.loops[depth]
        last = depth + 1 == len(self.loops)
        for row in self._rows(loop, scope):
            self.allowance.take(1, loop.span)
            self._entered[depth] = True
            for target, value in zip(loop.targets, row, strict=True):
                scope[target.text] = value
            if last:
                yield scope
            else:
                yield from self._nest(depth + 1, scope)

    def _rows(self, loop: syntax.Loop, scope: Scope) -> Iterator[tuple[Value, ...]]:
        domain = loop.domain
        if isinstance(domain, syntax.Range):
            low = whole(domain.low, scope, "the lower end")
            high = whole(domain.high, scope, "the upper end")
            self.allowance.require(high - low, loop.span)
            for value in range(low, high):
                yield (value,)
        elif isinstance(domain, syntax.Everyone):
            for value in range(self._everyone(domain)):
                yield (value,)
        else:
            for row in domain.rows:
                yield tuple(evaluate(value, scope) for value in row)

    def _everyone(self, domain: syntax.Everyone) -> int:
        if domain.part is None:
            return self.ranks
        count = self.parts.get(domain.part.text)
        if count is None:
            raise unknown_error("part", domain.part.text, domain.part.span, self.parts)
        return count

    def each(self, scope: Scope, act: Callable[[Scope], Iterable[Fault]], report: Report) -> None:
        """Act on every turn, and blame what it finds wrong: once a place, as the loop would say
        the same of every turn.
        """
        blamed: set[Span] = set()
        try:
            for turn in self.run(scope):
                for fault in act(turn):
                    span = fault.span
                    if span is not None and span not in blamed:
                        blamed.add(span)
                        message = fault.message + self.where(turn)
                        report.blame(message, span, fault.expected, fault.remedy)
            self.blame_empty(report)
        except BlamedError as error:
            report.add(error.fault)

    def where(self, scope: Scope) -> str:
        """The current turn in words: `` for x = 0, y = 3``."""
        names = [target.text for loop in self.loops for target in loop.targets]
        known = [f"{name} = {scope[name]}" for name in names if name in scope]
        return f" for {', '.join(known)}" if known else ""

    def blame_empty(self, report: Report) -> None:
        """After all turns: blame the outermost loop that never had one."""
        for loop, entered in zip(self.loops, self._entered, strict=True):
            if not entered:
                names = ", ".join(target.text for target in loop.targets)
                report.blame(
                    f"a loop over nothing: {names} takes no value",
                    loop.span,
                    "one value at least; the upper end of '..' does not belong to the range",
                )
                return
