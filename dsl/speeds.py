"""What one link statement says of its links: how many lie side by side, and how fast each is."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from .faults import BlamedError
from .units import BANDWIDTH, TIME, Quantity, show
from .values import quantity, whole

if TYPE_CHECKING:
    from . import syntax
    from .values import Scope

COUNT = 1_000_000
"""Most parallel links in one place."""
SLOWEST, FASTEST = Fraction(1, 10**12), Fraction(10**24)
"""Bytes per second of a link: far beyond use, and within what later stages can compute with."""
LATEST = Fraction(10**12)
"""Most seconds of latency."""


def read_count(statement: syntax.Link, scope: Scope) -> int:
    """How many links lie side by side, 1 where nothing is said; raises ``BlamedError``."""
    if statement.count is None:
        return 1
    count = whole(statement.count, scope, "the number of parallel links")
    if not 1 <= count <= COUNT:
        raise BlamedError(f"{count} parallel links", statement.count.span, f"1 to {COUNT}")
    return count


def read_bandwidth(statement: syntax.Link, scope: Scope) -> Fraction:
    """Bytes per second of each link, more than 0; raises ``BlamedError``."""
    bandwidth = quantity(statement.bandwidth, scope, BANDWIDTH, "the bandwidth")
    if bandwidth <= 0:
        raise BlamedError(
            f"a bandwidth of {show(Quantity(bandwidth, BANDWIDTH))}",
            statement.bandwidth.span,
            "more than 0 B/s",
            "leave a link that carries nothing out",
        )
    if not SLOWEST <= bandwidth <= FASTEST:
        raise BlamedError(
            f"a bandwidth too {'large' if bandwidth > FASTEST else 'small'}",
            statement.bandwidth.span,
            "10 ** -12 to 10 ** 24 B/s",
        )
    return bandwidth


def read_latency(statement: syntax.Link, scope: Scope) -> Fraction:
    """Seconds, 0 where nothing is said; raises ``BlamedError``."""
    if statement.latency is None:
        return Fraction(0)
    latency = quantity(statement.latency, scope, TIME, "the latency")
    if latency < 0:
        raise BlamedError(
            f"a latency of {show(Quantity(latency, TIME))}",
            statement.latency.span,
            "0 s or more",
        )
    if latency > LATEST:
        raise BlamedError("a latency too large", statement.latency.span, "at most 10 ** 12 s")
    return latency
