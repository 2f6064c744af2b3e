"""Lengths for links: all that must travel, over what the links carry for their lengths.

Whatever lengths links have, a value that travels from one rank to another loads links that are
together no shorter than the shortest way. The best lengths are those of a linear program, the
dual of sending all values along as many ways as one likes. What it says is rounded, and counts
for what the rounded lengths prove.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import gcd, lcm
from typing import TYPE_CHECKING

from roundelay.synth.subsets import list_bits

from .alike import color_nodes
from .lp_door import LARGEST, Program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .clock import Clock
    from .demands import Demands
    from .lp_door import Optimum
    from .network import Network

_FULL = 60_000  # Rows of a linear program with all sources apart,
_REDUCED = 60_000  # and of one with a source of each kind.
_WORK = 4_000_000  # Sources times arcs that shortest ways are looked for in.
_GRAINS = (1, 12, 64, 1000)  # Largest denominators of lengths beside the shortest,
_FLOW_GRAIN = 100_000  # and of flows.


@dataclass(frozen=True, slots=True)
class Lengths:
    """What must travel is ``travel`` together, where each arc of the network has a length.

    ``carried`` is the sum of all arcs' capacities times lengths.
    """

    travel: int
    carried: int
    lengths: tuple[int, ...]

    @property
    def ratio(self) -> Fraction:
        """Messages for each unit of capacity."""
        return Fraction(self.travel, self.carried)


class LengthSearch:
    """The best lengths seen so far.

    ``reached``: messages for each unit of capacity, on the arc that has most, where all values
    travel along several ways each (None: no such ways known, or values are not for one rank each).
    """

    def __init__(self, network: Network, demands: Demands, clock: Clock) -> None:
        self.network = network
        self.demands = demands
        self.clock = clock
        self.best: Lengths | None = None
        self.reached: Fraction | None = None
        self.arcs = network.arcs
        self.leaving: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
        for number, (tail, head, _) in enumerate(self.arcs):
            self.leaving[tail].append((head, number))
        self.near: dict[int, list[int]] = {}
        self.wanted: dict[int, dict[int, int]] = {}
        for (source, target), count in demands.pairs.items():
            self.wanted.setdefault(source, {})[target] = count

    def run(self, least: Fraction) -> Lengths | None:
        """The best lengths found within the time; None where they would be no better than a bound
        known before.
        """
        work = self.network.ranks * len(self.arcs)
        pairs = not self.demands.simple and not self.demands.mixed
        if pairs and 8 * work <= _WORK:
            even = [1] * len(self.arcs)
            for lengths, alone in ((even, False), (self._inverse(), False), (even, True)):
                if self.reached != least and not self.clock.out():
                    self._load(self._spread(lengths, alone=alone))
        large = max(c for _, _, c in self.arcs) * len(self.arcs) > LARGEST
        if work > _WORK or large or self.reached == least or self.clock.out():
            return None
        self._stand_in()
        apart = list(range(len(self.arcs)))
        if len(self.wanted) * len(self.arcs) <= _FULL:
            found = self._solve(dict.fromkeys(self.wanted, 1), apart)
            if found is not None and pairs:
                self._load(self._flows(found))
            return self.best
        sources, classes = self._alike()
        if len(sources) * len(self.arcs) <= _REDUCED:
            self._solve(sources, classes)
        return self.best

    def _stand_in(self) -> None:
        """A value with several holders or wanting ranks travels from one of them to another.

        Of needs that share symbols only some that share none count.
        """
        for (holding, wanting), count in self.demands.simple.items():
            self._add(self._far_pair(holding, wanting), count)
        for needs, count in self.demands.mixed.items():
            pairs = [(self._far_pair(need.holding, need.wanting), need) for need in needs]
            taken = 0
            for pair, need in sorted(pairs, key=lambda each: (-each[0][0], each[1].symbols)):
                if not need.symbols & taken:
                    taken |= need.symbols
                    self._add(pair, count)

    def _add(self, pair: tuple[int, int, int], count: int) -> None:
        hops, source, target = pair
        if hops:
            of_source = self.wanted.setdefault(source, {})
            of_source[target] = of_source.get(target, 0) + count

    def _far_pair(self, holding: int, wanting: int) -> tuple[int, int, int]:
        """Hops, a rank that holds and one that wants: the farthest apart from one of either."""
        if wanting & (wanting - 1):
            source = (holding & -holding).bit_length() - 1
            away = self._hops(source)
            hops, target = max((away[rank], -rank) for rank in list_bits(wanting))
            return hops, source, -target
        target = wanting.bit_length() - 1
        hops, source = max((self._hops(rank)[target], -rank) for rank in list_bits(holding))
        return hops, -source, target

    def _hops(self, source: int) -> list[int]:
        if source not in self.near:
            self.near[source] = self._ways([1] * len(self.arcs), source)
        return self.near[source]

    def _alike(self) -> tuple[dict[int, int], list[int]]:
        """A rank of each kind with their number, and each arc's kind.

        Nodes are of a kind where links and demands do not tell them apart. If they are in truth
        of different kinds, the lengths are worse than they might be, but prove what they prove.
        """
        colors = color_nodes(self.network, self.wanted)
        sources: dict[int, int] = {}
        first: dict[int, int] = {}
        for rank in self.wanted:
            leader = first.setdefault(colors[rank], rank)
            sources[leader] = sources.get(leader, 0) + 1
        kinds: dict[tuple[int, int, int], int] = {}
        classes = [kinds.setdefault((colors[u], colors[v], c), len(kinds)) for u, v, c in self.arcs]
        return sources, classes

    def _solve(self, sources: dict[int, int], classes: list[int]) -> Optimum | None:
        """Offer the lengths of the linear program in which arcs of a class are equally long.

        Its columns are the lengths of the classes, then how far each node is from each source.
        """
        kinds = max(classes) + 1
        nodes = self.network.nodes
        sums = [0] * kinds
        for (_, _, capacity), kind in zip(self.arcs, classes, strict=True):
            sums[kind] += capacity
        column: dict[tuple[int, int], int] = {}
        gains = [0] * kinds
        for source, count in sources.items():
            for node in range(nodes):
                if node != source:
                    column[source, node] = len(gains)
                    gains.append(count * self.wanted[source].get(node, 0))
        program = Program(gains)
        unit = gcd(*sums)
        program.add([(kind, total // unit) for kind, total in enumerate(sums)], 1)
        for source in sources:
            for (tail, head, _), kind in zip(self.arcs, classes, strict=True):
                row = [(kind, -1)]
                if head != source:
                    row.append((column[source, head], 1))
                if tail != source:
                    row.append((column[source, tail], -1))
                program.add(row, 0)
        found = program.solve(self.clock.left())
        if found is not None:
            for lengths in _rounded(found.point[:kinds]):
                self.offer([lengths[kind] for kind in classes])
        return found

    def offer(self, lengths: list[int]) -> None:
        """Count what some lengths prove."""
        carried = sum(c * length for (_, _, c), length in zip(self.arcs, lengths, strict=True))
        if not carried:
            return
        travel = 0
        for source, targets in self.wanted.items():
            away = self._ways(lengths, source)
            travel += sum(count * away[target] for target, count in targets.items())
        if self.best is None or Fraction(travel, carried) > self.best.ratio:
            self.best = Lengths(travel, carried, tuple(lengths))

    def _ways(self, lengths: list[int], source: int) -> list[int]:
        """The length of the shortest way from a rank to each node: Dijkstra's algorithm."""
        far = sum(lengths) + 1
        away = [far] * self.network.nodes
        away[source] = 0
        heap = [(0, source)]
        while heap:
            length, node = heappop(heap)
            if length > away[node]:
                continue
            for head, number in self.leaving[node]:
                longer = length + lengths[number]
                if longer < away[head]:
                    away[head] = longer
                    heappush(heap, (longer, head))
        return away

    # -------------------------------------------------------------------------- what is reached

    def _load(self, loads: list[Fraction] | None) -> None:
        """Take note of what some loads of the arcs reach."""
        if loads is not None:
            worst = max(load / c for load, (_, _, c) in zip(loads, self.arcs, strict=True))
            self.reached = worst if self.reached is None else min(self.reached, worst)

    def _inverse(self) -> list[int]:
        """Lengths that are inverse to capacities."""
        common = lcm(*(c for _, _, c in self.arcs))
        return [common // c for _, _, c in self.arcs]

    def _spread(self, lengths: list[int], *, alone: bool) -> list[Fraction]:
        """Loads where each node gets as much from each neighbour on a shortest way to it.

        ``alone``: all from that whose number differs most; on a grid, whose nodes are numbered
        row by row, values then go one dimension after the other.
        """
        loads = [Fraction(0)] * len(self.arcs)
        into: list[list[tuple[int, int]]] = [[] for _ in range(self.network.nodes)]
        for number, (tail, head, _) in enumerate(self.arcs):
            into[head].append((tail, number))
        for source, targets in self.wanted.items():
            away = self._ways(lengths, source)
            units = [Fraction(targets.get(node, 0)) for node in range(self.network.nodes)]
            for node in sorted(range(self.network.nodes), key=lambda node: -away[node]):
                if units[node] and node != source:
                    near = [(u, k) for u, k in into[node] if away[u] + lengths[k] == away[node]]
                    if alone:
                        near = [max(near, key=lambda each: abs(each[0] - node))]
                    part = units[node] / len(near)
                    for tail, number in near:
                        loads[number] += part
                        units[tail] += part
        return loads

    def _flows(self, found: Optimum) -> list[Fraction] | None:
        """The loads of the linear program's flows, rounded; None where values then get lost."""
        loads = [Fraction(0)] * len(self.arcs)
        prices = iter(found.prices[1:])
        for source, targets in self.wanted.items():
            surplus = [Fraction(0)] * self.network.nodes
            for number, (tail, head, _) in enumerate(self.arcs):
                flow = max(Fraction(0), Fraction(next(prices)).limit_denominator(_FLOW_GRAIN))
                if flow:
                    loads[number] += flow
                    surplus[tail] -= flow
                    surplus[head] += flow
            for node in range(self.network.nodes):
                if node != source and surplus[node] < targets.get(node, 0):
                    return None  # What is left over somewhere need not be sent at all.
        return loads


def _rounded(lengths: Iterable[float]) -> list[list[int]]:
    """Whole numbers in about the same proportions, in several ways."""
    values = list(lengths)
    most = max(values, default=0.0)
    if most <= 0:
        return []
    kept = [value if value > 1e-7 * most else 0.0 for value in values]
    results: list[list[int]] = []
    for base in (min(value for value in kept if value), most):
        for grain in _GRAINS:
            parts = [Fraction(value / base).limit_denominator(grain) for value in kept]
            scale = lcm(*(part.denominator for part in parts))
            whole = [int(part * scale) for part in parts]
            common = gcd(*whole)
            if common and scale < 10**12:
                result = [each // common for each in whole]
                if result not in results:
                    results.append(result)
    return results
