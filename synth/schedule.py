"""The schedule: who sends which chunk to whom, when, over which links, and what it is made of.

A rank may hold several partial results of one chunk apart, so a message says what it was merged
from (``parts``) instead of naming an accumulator. Steps are counted from 0. Everything a rank
uses in step ``t`` it held before ``t``: its own input, or what arrived in an earlier step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem


@dataclass(frozen=True, slots=True)
class Own:
    """An input of the rank itself: position ``symbol`` in the symbols of the chunk's block."""

    symbol: int


@dataclass(frozen=True, slots=True)
class Got:
    """What message number ``send`` brought to the rank."""

    send: int


Part = Own | Got


@dataclass(frozen=True, slots=True)
class Send:
    """One message: the merge of ``parts``, left to right, of one chunk.

    ``chunk`` is ``block * chunks + c``. ``route`` lists positions in ``topology.links``: a path
    from ``src`` to ``dst`` whose inner nodes are switches.
    """

    step: int
    chunk: int
    src: int
    dst: int
    route: tuple[int, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """How one wanted value of one chunk is made at its rank, after the last step.

    ``want`` is a position in the wants of the chunk's block.
    """

    chunk: int
    want: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """Sends in the order of their steps, and how every wanted value is made of what arrived."""

    problem: Problem
    chunks: int
    steps: int
    sends: tuple[Send, ...]
    results: tuple[Result, ...]

    def __str__(self) -> str:
        """One line a send, then one a result; stable, so that two schedules can be compared."""
        name = self.problem.topology.node_name
        lines = [f"schedule {self.chunks} chunks {self.steps} steps {len(self.sends)} sends"]
        for i, send in enumerate(self.sends):
            action = "reduce" if i in self.merged else "copy"
            what = " + ".join(map(_part, send.parts))
            lines.append(
                f"m{i}: step {send.step} chunk {send.chunk} "
                f"{name(send.src)} -> {name(send.dst)} {action} = {what}"
            )
        for result in self.results:
            block = self.problem.collective.blocks[result.chunk // self.chunks]
            want = block.wants[result.want]
            what = " + ".join(map(_part, result.parts))
            lines.append(f"{want} chunk {result.chunk} at {name(want.rank)} = {what}")
        return "\n".join(lines)

    @property
    def merged(self) -> frozenset[int]:
        """Numbers of the messages that their receiver merges with something else."""
        uses = [send.parts for send in self.sends] + [made.parts for made in self.results]
        return frozenset(
            part.send for parts in uses if len(parts) > 1 for part in parts if isinstance(part, Got)
        )


def _part(part: Part) -> str:
    return f"own{part.symbol}" if isinstance(part, Own) else f"m{part.send}"


# --------------------------------------------------------------------------------- outcomes


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of a synchronous schedule on its machine: ``latency + size * per_byte``.

    ``latency`` in seconds; ``per_byte`` in seconds for a byte of the collective's size;
    ``rounds`` the sum over the steps of the busiest link's load, in rounds.
    """

    latency: Fraction
    per_byte: Fraction
    rounds: Fraction

    def at(self, size: int) -> Fraction:
        """Seconds for a message of ``size`` bytes."""
        return self.latency + size * self.per_byte


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why no schedule can do better; ``kind`` says how to check it, ``reason`` in words.

    ``distance``: ``nodes`` = (from rank, to rank), ``value`` = steps that data needs.
    ``cut``: ``nodes`` = the side S that the data must leave, ranks and switches; ``value`` =
    rounds for one chunk. ``partition``: ``nodes`` = the part of every rank, by number (empty: each
    rank is a part of its own), ``sides`` = the switches that stand on each part's side, in the
    order of the parts (empty: none), ``inward`` = whether what reaches the sides counts in place
    of what leaves them; ``value`` = rounds for one chunk. ``lengths``: ``lengths`` = one for each
    link of the topology, in its order; ``value`` = rounds for one chunk.
    ``search``: the exact encoding has no solution; ``reason`` names its class and the solvers, and
    ``complete`` says whether that class is all schedules.
    """

    kind: Literal["distance", "cut", "partition", "lengths", "search"]
    value: Fraction
    nodes: tuple[int, ...] = ()
    reason: str = ""
    complete: bool = True
    sides: tuple[tuple[int, ...], ...] = ()
    inward: bool = False
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """Lower limits that hold for every schedule of a problem, with what proves each.

    ``steps`` of any schedule; ``rounds`` for **one** chunk of every block (a schedule of C chunks
    needs C times as many); ``per_byte`` the same limit in seconds a byte of the collective's
    size. ``bottleneck`` says in words what limits the rounds. ``reachable``: seconds a byte that
    schedules of enough chunks are known to come as near to as one likes (None: not known).
    ``rs_ag``: what an optimal reduce-scatter with an optimal all-gather takes, in seconds a byte
    (all-reduce alone). ``latency``: seconds that so many steps take, however little they carry.
    ``hurried``: the budget ended before all was tried that may better the bound.
    ``forwarding``: the bound where switches only forward (None where that changes nothing).
    """

    steps: int
    rounds: Fraction
    per_byte: Fraction
    certificates: tuple[Certificate, ...]
    bottleneck: str = ""
    reachable: Fraction | None = None
    rs_ag: Fraction | None = None
    forwarding: Bound | None = None
    latency: Fraction = Fraction(0)
    hurried: bool = False

    def at(self, size: int) -> Fraction:
        """Seconds that a synchronous schedule takes at least for ``size`` bytes."""
        return self.latency + size * self.per_byte

    @property
    def tight(self) -> bool:
        """Whether no better limit on the rounds can exist."""
        return not self.rounds or self.reachable == self.per_byte


@dataclass(frozen=True, slots=True)
class Found:
    """A schedule that the checker has accepted."""

    schedule: Schedule
    cost: Cost
    engine: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """No schedule exists within the limits asked for; the certificate says why and in which
    class of schedules that was proved (by a search: that of the ``encoding``).
    """

    certificate: Certificate
    engine: str
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """Neither found nor refuted, and why (a budget, a memory limit)."""

    reason: str
    engine: str


Outcome = Found | Impossible | GaveUp


ANY_ROUNDS = 10**12
"""Rounds that no schedule of one chunk takes: no limit at all."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question to the exact engine: may so many chunks take so many steps and rounds?"""

    chunks: int
    steps: int
    rounds: Fraction


@dataclass(frozen=True, slots=True)
class Answer:
    """What the synthesiser says of a problem.

    ``outcome`` answers the request; ``log`` holds every query asked with its outcome's name and
    seconds; ``proved`` says whether the found schedule meets the bound in bandwidth, or, where
    the request is impossible, whether that holds for all schedules. ``interrupted``: the search
    was stopped by hand, and the outcome is what it had until then. ``decisive``: the query that
    this outcome answers (None: nothing was asked).
    """

    problem: Problem
    outcome: Outcome
    bound: Bound
    proved: bool
    seconds: float
    log: tuple[tuple[Query, str, float], ...] = ()
    interrupted: bool = False
    decisive: Query | None = None
