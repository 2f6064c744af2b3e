"""What one link statement says of its links: how many lie side by side, and how fast each is."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from .faults import BlamedError
from .names import names_in
from .units import BANDWIDTH, TIME, Quantity, show
from .values import quantity, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import syntax
    from .source import Fault
    from .values import Scope

T = TypeVar("T")

COUNT = 1_000_000
"""Most parallel links in one place."""
SLOWEST, FASTEST = Fraction(1, 10**12), Fraction(10**24)
"""Bytes per second of a link: far beyond use, and within what later stages can compute with."""
LATEST = Fraction(10**12)
"""Most seconds of latency."""


def read_count(expression: syntax.Expression, scope: Scope) -> int:
    """How many links lie side by side, at least 1; raises ``BlamedError``."""
    count = whole(expression, scope, "the number of parallel links")
    if not 1 <= count <= COUNT:
        raise BlamedError(f"{count} parallel links", expression.span, f"1 to {COUNT}")
    return count


def read_bandwidth(expression: syntax.Expression, scope: Scope) -> Fraction:
    """Bytes per second of each link, more than 0; raises ``BlamedError``."""
    bandwidth = quantity(expression, scope, BANDWIDTH, "the bandwidth")
    if bandwidth <= 0:
        raise BlamedError(
            f"a bandwidth of {show(Quantity(bandwidth, BANDWIDTH))}",
            expression.span,
            "more than 0 B/s",
            "leave a link that carries nothing out",
        )
    if not SLOWEST <= bandwidth <= FASTEST:
        raise BlamedError(
            f"a bandwidth too {'large' if bandwidth > FASTEST else 'small'}",
            expression.span,
            "10 ** -12 to 10 ** 24 B/s",
        )
    return bandwidth


def read_latency(expression: syntax.Expression, scope: Scope) -> Fraction:
    """Seconds, 0 or more; raises ``BlamedError``."""
    latency = quantity(expression, scope, TIME, "the latency")
    if latency < 0:
        raise BlamedError(
            f"a latency of {show(Quantity(latency, TIME))}", expression.span, "0 s or more"
        )
    if latency > LATEST:
        raise BlamedError("a latency too large", expression.span, "at most 10 ** 12 s")
    return latency


@dataclass(slots=True)
class Reading(Generic[T]):
    """A number that a statement may say of its links, turn by turn of its loops.

    What no loop changes is read once: a machine has many links of one kind.
    """

    read: Callable[[syntax.Expression, Scope], T]
    expression: syntax.Expression | None
    loops: tuple[syntax.Loop, ...]
    _steady: bool = field(init=False)
    _known: T | None = None

    def __post_init__(self) -> None:
        targets = {target.text for loop in self.loops for target in loop.targets}
        self._steady = targets.isdisjoint(names_in(self.expression))

    def at(self, scope: Scope) -> T | None:
        """What it is worth in this turn, None where nothing is said; raises ``BlamedError``."""
        if self._known is not None or self.expression is None:
            return self._known
        value = self.read(self.expression, scope)
        if self._steady:
            self._known = value
        return value


@dataclass(slots=True)
class Speeds:
    """All that one statement says of its links."""

    statement: syntax.Link
    _count: Reading[int] = field(init=False)
    _bandwidth: Reading[Fraction] = field(init=False)
    _latency: Reading[Fraction] = field(init=False)

    def __post_init__(self) -> None:
        statement, loops = self.statement, self.statement.loops
        self._count = Reading(read_count, statement.count, loops)
        self._bandwidth = Reading(read_bandwidth, statement.bandwidth, loops)
        self._latency = Reading(read_latency, statement.latency, loops)

    def at(self, scope: Scope) -> tuple[int | None, Fraction, Fraction | None]:
        """Parallel links, bytes per second of each, and seconds; raises ``BlamedError``."""
        bandwidth = self._bandwidth.at(scope)
        assert bandwidth is not None
        return self._count.at(scope), bandwidth, self._latency.at(scope)

    def faults(self, scope: Scope) -> list[Fault]:
        """What is wrong with each of them."""
        faults: list[Fault] = []
        for reading in (self._count, self._bandwidth, self._latency):
            try:
                reading.at(scope)
            except BlamedError as error:
                faults.append(error.fault)
        return faults
