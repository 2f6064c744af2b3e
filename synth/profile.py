"""What a machine can do, whatever runs on it: degrees, distances, and the cuts that limit it.

All figures are exact. What would take too long for a big machine is left out, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .bisection import Bisection, bisect
from .distances import measure_latency, measure_steps
from .flow import Network
from .twins import find_twins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Topology

_LINKS = 150_000  # Beyond that a machine's links are counted, and nothing else.
_WORK = 1_500_000  # Steps of a second or so: nodes times links, or flows times links.


@dataclass(frozen=True, slots=True)
class Ends:
    """Ranks that are joined to the rest alike.

    ``links_out`` and ``links_in`` count parallel links, ``out`` and ``into`` are bytes a second.
    """

    ranks: tuple[int, ...]
    links_out: int
    links_in: int
    out: Fraction
    into: Fraction


@dataclass(frozen=True, slots=True)
class Distance:
    """The longest of all shortest ways: its length, and the ranks it leads from and to."""

    length: Fraction
    src: int
    dst: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The nodes ``side`` send the others no more than ``capacity`` bytes a second."""

    capacity: Fraction
    side: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """The figures of a machine; None for what it has not, or what ``skipped`` gives a reason for.

    ``links`` counts directed links, parallel ones too. ``steps`` is the diameter in steps (a
    passage through switches is part of one), ``latency`` in seconds, over any links. ``isolating``
    is the least cut between one rank and all others, ``weakest`` that between any two ranks,
    both in the worse direction; ``bisection`` that between two halves of the ranks.
    """

    ranks: int
    switches: int
    links: int
    symmetric: bool
    ends: tuple[Ends, ...]
    steps: Distance | None
    latency: Distance | None
    isolating: Cut | None
    weakest: Cut | None
    bisection: Bisection | None
    skipped: tuple[str, ...]


def profile(topology: Topology) -> Profile:
    """The figures of a machine; seconds of work at most."""
    ranks, links = len(topology.ranks), len(topology.links)
    counted = sum(link.count for link in topology.links)
    symmetric, ends = _is_symmetric(topology), _ends(topology)
    skipped: list[str] = []
    steps = latency = isolating = weakest = halves = None
    if links > _LINKS:
        skipped.append(f"distances and cuts: {links:,} joined pairs of nodes are too many")
    else:
        farthest = measure_steps(topology)
        if farthest is None:
            skipped.append("distances and cuts: some rank cannot be reached from another")
        else:
            steps = Distance(Fraction(farthest[0]), *farthest[1:])
            slowest = measure_latency(topology, _WORK)
            latency = None if slowest is None else Distance(*slowest)
            if latency is None:
                skipped.append(_too_long("the latency diameter", ranks, "shortest ways", links))
    if steps is not None and ranks > 1:
        classes = find_twins(topology)
        isolating = _isolating(topology, classes, symmetric, skipped)
        weakest = _weakest(topology, classes, symmetric, skipped)
        halves = bisect(topology, classes, _WORK)
        if not halves.low:
            what = "a limit of the bisection from below"
            skipped.append(_too_long(what, ranks, "trees of shortest ways", links))
    return Profile(
        ranks, len(topology.switches), counted, symmetric, ends, steps, latency, isolating,
        weakest, halves, tuple(skipped),
    )  # fmt: skip


def _too_long(what: str, number: int, of: str, links: int) -> str:
    return f"{what}: {number:,} {of} over {links:,} joined pairs of nodes would take too long"


def _is_symmetric(topology: Topology) -> bool:
    """Whether every two nodes are joined by the same capacity in both directions."""
    joined = {(link.src, link.dst): link.capacity for link in topology.links}
    return all(joined.get((dst, src)) == capacity for (src, dst), capacity in joined.items())


def _ends(topology: Topology) -> tuple[Ends, ...]:
    """The ranks in groups of equal ends, the largest group first."""
    ranks = range(len(topology.ranks))
    links_out, links_in = [0] * len(ranks), [0] * len(ranks)
    out, into = [Fraction(0)] * len(ranks), [Fraction(0)] * len(ranks)
    for link in topology.links:
        if link.src < len(ranks):
            links_out[link.src] += link.count
            out[link.src] += link.capacity
        if link.dst < len(ranks):
            links_in[link.dst] += link.count
            into[link.dst] += link.capacity
    groups: dict[tuple[int, int, Fraction, Fraction], list[int]] = {}
    for rank, key in enumerate(zip(links_out, links_in, out, into, strict=True)):
        groups.setdefault(key, []).append(rank)
    ends = [Ends(tuple(members), *key) for key, members in groups.items()]
    return tuple(sorted(ends, key=lambda each: (-len(each.ranks), each.ranks)))


# -------------------------------------------------------------------------------------- cuts


Pair = tuple[list[int], list[int]]
"""The ranks that send, and those that get."""


def _isolating(
    topology: Topology, classes: list[list[int]], symmetric: bool, skipped: list[str]
) -> Cut | None:
    """The least cut between one rank and all others; twins need one look."""
    every = range(len(topology.ranks))
    pairs: list[Pair] = []
    for first, *_ in classes:
        rest = [rank for rank in every if rank != first]
        pairs += _both(([first], rest), symmetric)
    if not topology.switches:
        return _least_sum(topology, pairs)
    return _least_flow(topology, pairs, "the cut around one rank", skipped)


def _weakest(
    topology: Topology, classes: list[list[int]], symmetric: bool, skipped: list[str]
) -> Cut | None:
    """The least cut between any two ranks.

    It parts rank 0 from some other, in one direction or the other. Twins of one another are
    parted from rank 0 by the same capacity.
    """
    pairs: list[Pair] = []
    for members in classes:
        other = next((rank for rank in members if rank), None)
        if other is not None:
            pairs += _both(([0], [other]), symmetric)
    return _least_flow(topology, pairs, "the least cut between two ranks", skipped)


def _both(pair: Pair, symmetric: bool) -> list[Pair]:
    """Both directions, where they may differ."""
    return [pair] if symmetric else [pair, (pair[1], pair[0])]


def _least_sum(topology: Topology, pairs: Iterable[Pair]) -> Cut:
    """The least of cuts between one rank and all others, where no switches stand between."""
    out = [Fraction(0)] * len(topology.ranks)
    into = list(out)
    for link in topology.links:
        out[link.src] += link.capacity
        into[link.dst] += link.capacity
    cuts = [
        Cut(out[senders[0]] if len(senders) == 1 else into[getters[0]], tuple(senders))
        for senders, getters in pairs
    ]
    return min(cuts, key=lambda cut: cut.capacity)


def _least_flow(topology: Topology, pairs: list[Pair], what: str, skipped: list[str]) -> Cut | None:
    links = len(topology.links)
    if len(pairs) * links > _WORK:
        skipped.append(_too_long(what, len(pairs), "flows", links))
        return None
    network = Network(topology)
    best: Cut | None = None
    for senders, getters in pairs:
        capacity, side = network.cut(senders, getters)
        cut = Cut(Fraction(capacity, network.scale), tuple(sorted(side)))
        if best is None or cut.capacity < best.capacity:
            best = cut
    return best
