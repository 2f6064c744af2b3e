"""What a frontier is made of: queries with their verdicts, points, and the chart of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.model import Problem
    from roundelay.dsl.source import Fault
    from roundelay.synth.schedule import Bound, Certificate, Cost, Found, Query, Schedule

Verdict = Literal["found", "impossible", "open"]
Proof = Literal["bound", "counts", "count", "open"]
"""Why no schedule within a point's steps moves a byte quicker: it meets the bound; every chunk
count looked at was refuted; its own chunk count was; or that is open."""

Sizes = tuple[int, int | None]
"""Bytes from and to, inclusive; None: however many."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query and what is known of it.

    ``seconds`` were spent on it, all tries together. ``engine`` is who answered (empty: nobody).
    ``reason`` and ``complete`` are those of the certificate of an impossibility; else why it is
    open. ``limit`` is the longest time that all encodings had, ``glance`` that of the smaller one
    alone.
    """

    query: Query
    verdict: Verdict
    seconds: float
    engine: str = ""
    reason: str = ""
    complete: bool = True
    limit: float = 0.0
    glance: float = 0.0

    @property
    def starved(self) -> bool:
        """Whether more memory, and not more time alone, could answer it."""
        return self.verdict == "open" and "out of memory" in self.reason


@dataclass(frozen=True, slots=True)
class Kept:
    """A schedule that the checker has accepted, and the seconds of the query that found it."""

    found: Found
    seconds: float

    @property
    def schedule(self) -> Schedule:
        """The schedule itself."""
        return self.found.schedule

    @property
    def cost(self) -> Cost:
        """Its price on its machine."""
        return self.found.cost


@dataclass(frozen=True, slots=True)
class Row:
    """One number of steps: the cheapest schedule known with so many at most (None: none is).

    ``proof`` says why none is cheaper, or, without a schedule, that there is none ("counts") or
    that this is open; ``complete`` whether it holds for all schedules.
    """

    steps: int
    best: Kept | None
    proof: Proof
    complete: bool


@dataclass(frozen=True, slots=True)
class Point:
    """A schedule that moves a byte quicker than all that are known of fewer steps.

    ``wins``: the sizes at which no other point is quicker, nor as quick in fewer steps.
    """

    kept: Kept
    proof: Proof
    complete: bool
    wins: Sizes | None


@dataclass(frozen=True, slots=True)
class Chart:
    """The frontier as far as it is known.

    ``rows``: one for every number of steps looked at; ``points`` by their steps; ``counts``: the
    chunk counts looked at. ``asked``: every query, ``resumed`` of them answered by an earlier
    run; ``queries`` is the number of those put in this one. ``settled``: nothing is left to ask.
    ``refused``: why no schedule exists at all (None: one may); ``faults``: the limits for which
    the bounds alone say so, with what to do. ``seconds``: of this run.
    """

    problem: Problem
    bound: Bound
    rows: tuple[Row, ...]
    points: tuple[Point, ...]
    counts: tuple[int, ...]
    asked: tuple[Asked, ...]
    resumed: int
    queries: int
    settled: bool
    refused: Certificate | None
    interrupted: bool
    seconds: float
    faults: tuple[Fault, ...] = ()

    @property
    def starved(self) -> int:
        """How many queries are open for want of memory."""
        return sum(entry.starved for entry in self.asked)

    def below(self, point: Point) -> Fraction:
        """The share of the bandwidth bound that a point reaches, from 0 to 1."""
        per_byte = point.kept.cost.per_byte
        return self.bound.per_byte / per_byte if per_byte else per_byte + 1
