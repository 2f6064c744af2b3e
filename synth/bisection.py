"""The least capacity between two halves of the ranks: exact where that is easy, else two limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .flow import Network

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.dsl.model import Topology

_SUMS = 4_000_000  # Most halves times links for which all halves are tried, without switches,
_FLOWS = 100_000  # and with them.
_SWAPS = 64  # Ranks up to which halves are bettered by exchanging two.
_UNITS = 840**16  # Can be halved, and cut into up to 8 parts, many times over.

_ALL = "all halves were tried, ranks that may change places as one"
_ABOVE = "likely halves were tried"
_BELOW = ", and an all-to-all on shortest ways gave the limit from below"


@dataclass(frozen=True, slots=True)
class Bisection:
    """No two halves of the ranks are joined by less than ``low`` bytes a second in a direction.

    Halves are ``n // 2`` ranks and the rest. The ranks ``side`` send to the rest, or get from it
    (``inward``), no more than ``high``. ``method`` says how the two limits were found.
    """

    low: Fraction
    high: Fraction
    side: tuple[int, ...]
    inward: bool
    method: str

    @property
    def exact(self) -> bool:
        """Whether the two limits meet."""
        return self.low == self.high


def bisect(topology: Topology, classes: Sequence[Sequence[int]], most: int) -> Bisection:
    """The bisection of a connected machine of two ranks or more.

    ``classes`` are ranks that may change places, as ``find_twins`` gives them. A machine with
    more than ``most`` ranks times links has no limit from below (0).
    """
    ranks, links = len(topology.ranks), len(topology.links)
    halves = _count_halves([len(each) for each in classes], ranks // 2)
    network = Network(topology)
    if halves * links <= (_FLOWS if topology.switches else _SUMS):
        value, side, inward = _least(network, topology, _all_halves(classes, ranks // 2))
        exact = Fraction(value, network.scale)
        return Bisection(exact, exact, tuple(sorted(side)), inward, _ALL)
    found = _least(network, topology, _likely_halves(topology))
    if not topology.switches and ranks <= _SWAPS:
        found = _bettered(network, topology, found)
    value, side, inward = found
    high = Fraction(value, network.scale)
    low, below = Fraction(0), ""
    if ranks * links <= most:
        low, below = _spread(topology, _along_trees), _BELOW
        if low < high:
            low = max(low, _spread(topology, _in_equal_parts))
    return Bisection(min(low, high), high, tuple(sorted(side)), inward, _ABOVE + below)


Half = tuple[int, frozenset[int], bool]
"""A scaled capacity, the half that it leaves, or (True) enters."""


def _least(network: Network, topology: Topology, halves: Iterator[list[int]]) -> Half:
    """The first of the halves with the least capacity out of or into them."""
    every = frozenset(range(len(topology.ranks)))
    best: Half | None = None
    for half in halves:
        side = frozenset(half)
        for inward in (False, True):
            value = _between(network, topology, every - side if inward else side, every)
            if best is None or value < best[0]:
                best = (value, side, inward)
    assert best is not None  # There is always a half.
    return best


def _between(
    network: Network, topology: Topology, side: frozenset[int], every: frozenset[int]
) -> int:
    """The scaled capacity from a set of ranks to the others, switches on the better side."""
    if topology.switches:
        return network.cut(side, every - side)[0]
    return sum(
        capacity
        for link, capacity in zip(topology.links, network.capacities, strict=True)
        if link.src in side and link.dst not in side
    )


# ------------------------------------------------------------------------------- all halves


def _count_halves(sizes: Sequence[int], half: int) -> int:
    """How many ways there are to take so many ranks, those of a class being alike."""
    ways = [1] + [0] * half
    for size in sizes:
        ways = [sum(ways[max(0, total - size) : total + 1]) for total in range(half + 1)]
    return ways[half]


def _all_halves(classes: Sequence[Sequence[int]], half: int) -> Iterator[list[int]]:
    """So many ranks in every way, of a class always the first ones."""
    if not classes:
        yield []
        return
    first, rest = classes[0], classes[1:]
    others = sum(map(len, rest))
    for taken in range(max(0, half - others), min(half, len(first)) + 1):
        for more in _all_halves(rest, half - taken):
            yield [*first[:taken], *more]


# ---------------------------------------------------------------------------- likely halves


def _likely_halves(topology: Topology) -> Iterator[list[int]]:
    """The first half of the ranks in their order, by each index of their names, and by distance."""
    ranks = range(len(topology.ranks))
    half = len(ranks) // 2
    yield list(ranks[:half])
    places = [[int(i) for i in re.findall(r"\d+(?=[,\]])", each.name)] for each in topology.ranks]
    for i in range(1, min(map(len, places))):
        yield sorted(ranks, key=lambda rank: (places[rank][i], rank))[:half]
    last = _by_distance(topology, 0)
    yield last[:half]
    yield _by_distance(topology, last[-1])[:half]


def _by_distance(topology: Topology, start: int) -> list[int]:
    ranks = len(topology.ranks)
    leaving = _leaving(topology)
    order, seen = [start], {start}
    for node in order:
        for target, _ in leaving[node]:
            if target not in seen:
                seen.add(target)
                order.append(target)
    return [node for node in order if node < ranks]


def _bettered(network: Network, topology: Topology, half: Half) -> Half:
    """Exchange the best two ranks as long as that makes the capacity less; without switches."""
    value, side, inward = half
    every = frozenset(range(len(topology.ranks)))
    room = {(k.src, k.dst): c for k, c in zip(topology.links, network.capacities, strict=True)}
    sender = set(every - side if inward else side)
    while True:
        gain = _gains(room, sender, every)
        # Each gain counts the links between the two as if the other stayed.
        best = min(
            (gain[a] + gain[b] + room.get((a, b), 0) + room.get((b, a), 0), a, b)
            for a in sorted(sender)
            for b in sorted(every - sender)
        )
        if best[0] >= 0:
            return value, frozenset(every - sender if inward else sender), inward
        value += best[0]
        sender ^= {best[1], best[2]}


def _gains(
    room: dict[tuple[int, int], int], sender: set[int], every: frozenset[int]
) -> dict[int, int]:
    """What the capacity out of ``sender`` gains where one rank changes sides."""
    gain = dict.fromkeys(every, 0)
    for (src, dst), capacity in room.items():
        if src in sender:
            # Out of the set it is counted: each end takes it back; inside, the head adds it.
            if dst in sender:
                gain[dst] += capacity
            else:
                gain[src] -= capacity
                gain[dst] -= capacity
        elif dst not in sender:
            gain[src] += capacity
    return gain


# ------------------------------------------------------------------------ a limit from below


def _spread(topology: Topology, load: Load) -> Fraction:
    """What every half must carry, from the loads of an all-to-all.

    Every rank sends ``UNITS`` to each other along shortest ways. All that passes between two
    halves loads the links between them, none of which is loaded more for its capacity than the
    worst of all links is. Bytes a second.
    """
    ranks = len(topology.ranks)
    loads = [0] * len(topology.links)
    leaving = _leaving(topology)
    for rank in range(ranks):
        load(leaving, rank, ranks, loads)
    worst = max(load / link.capacity for load, link in zip(loads, topology.links, strict=True))
    half = ranks // 2
    return _UNITS * half * (ranks - half) / worst


Leaving = list[list[tuple[int, int]]]
"""For each node where its links lead, in order, and their numbers."""

Load = Callable[[Leaving, int, int, list[int]], None]
"""Adds what a rank sends to the loads of links."""


def _along_trees(leaving: Leaving, source: int, ranks: int, loads: list[int]) -> None:
    """Half along one tree of shortest ways, half along another.

    On a grid both go one dimension after the other, which loads its middle evenly.
    """
    for backwards in (False, True):
        before: dict[int, tuple[int, int]] = {source: (source, -1)}
        order = [source]
        for node in order:
            for target, number in reversed(leaving[node]) if backwards else leaving[node]:
                if target not in before:
                    before[target] = (node, number)
                    order.append(target)
        units = [0] * len(leaving)
        for node in reversed(order[1:]):
            parent, number = before[node]
            units[node] += _UNITS // 2 * (node < ranks)
            units[parent] += units[node]
            loads[number] += units[node]


def _in_equal_parts(leaving: Leaving, source: int, ranks: int, loads: list[int]) -> None:
    """Along all shortest ways: each node gets as much from each neighbour that is nearer.

    Whatever maps the machine to itself maps these loads to themselves, so that they are even
    where all links are alike.
    """
    levels = [-1] * len(leaving)
    levels[source] = 0
    order = [source]
    before: list[list[tuple[int, int]]] = [[] for _ in leaving]
    for node in order:
        for target, number in leaving[node]:
            if levels[target] < 0:
                levels[target] = levels[node] + 1
                order.append(target)
            if levels[target] == levels[node] + 1:
                before[target].append((node, number))
    units = [0] * len(leaving)
    for node in reversed(order[1:]):
        units[node] += _UNITS * (node < ranks)
        part, rest = divmod(units[node], len(before[node]))
        for i, (parent, number) in enumerate(before[node]):
            share = part + (i < rest)
            units[parent] += share
            loads[number] += share


def _leaving(topology: Topology) -> Leaving:
    leaving: Leaving = [[] for _ in range(len(topology.ranks) + len(topology.switches))]
    for number, link in enumerate(topology.links):
        leaving[link.src].append((link.dst, number))
    return [sorted(each) for each in leaving]
