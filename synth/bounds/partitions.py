"""Partitions of the ranks whose parts must exchange most for what joins them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.synth.subsets import partition_all

from .flow_door import Flows
from .network import Cutter
from .sides import likely_partitions

if TYPE_CHECKING:
    from .clock import Clock
    from .demands import Demands
    from .network import Network


_ALL_PARTITIONS = 8  # Ranks up to which every partition is tried, where no method is exact.


@dataclass(frozen=True, slots=True)
class Partition:
    """So many messages of a chunk must pass between parts, over ``capacity`` together.

    ``sides`` are nodes of the network, one set a part, each with exactly the part's ranks;
    ``capacity`` is what can leave them (``inward``: reach them), summed up.
    """

    messages: int
    capacity: int
    sides: tuple[tuple[int, ...], ...]
    inward: bool

    @property
    def ratio(self) -> Fraction:
        """Messages for each unit of capacity."""
        return Fraction(self.messages, self.capacity)


class PartitionSearch:
    """The best partition seen so far.

    ``exact``: no other is better for an all-reduce of all ranks.
    """

    def __init__(self, network: Network, demands: Demands, clock: Clock) -> None:
        self.network = network
        self.demands = demands
        self.clock = clock
        self.best: Partition | None = None
        self.exact = False
        self.cutter = Cutter(network)
        self._known: dict[int, list[int]] = {}

    def run(self) -> Partition | None:
        """The best partition found within the time; None where none makes parts exchange."""
        ranks = self.network.ranks
        self.offer([1 << rank for rank in range(ranks)])
        for groups in likely_partitions(self.network.topology):
            self.offer(groups)
        joined = [
            (h, w) for h, w in dict.fromkeys(self.demands.ends()) if h & (h - 1) and w & (w - 1)
        ]
        finished = True
        for holding, wanting in joined:
            for inward in (False,) if self.network.symmetric else (False, True):
                finished = self._refine(holding | wanting, inward=inward) and finished
        whole = (1 << ranks) - 1
        if len(joined) > 1 or self.demands.mixed:
            self._try_many()
        self.exact = finished and [*self.demands.ends()] == [(whole, whole)]
        return self.best

    def _try_many(self) -> None:
        """All partitions of a few ranks."""
        ranks = self.network.ranks
        if ranks <= _ALL_PARTITIONS:
            for parts in partition_all([1 << rank for rank in range(ranks)]):
                if len(parts) > 1:
                    self.offer(parts)

    def offer(self, parts: list[int]) -> None:
        """Count what parts (bits of ranks) must exchange, and keep them if they are the best."""
        messages = self.demands.exchanges(parts)
        if not messages:
            return
        around = self._around_all(parts)
        into = around
        if around is not None and not self.network.symmetric:
            whole = (1 << self.network.ranks) - 1
            nodes = set(range(self.network.nodes))
            others = self._around_all([whole ^ part for part in parts])
            into = others and [sorted(nodes.difference(other)) for other in others]
        for sides, inward in ((around, False), (into, True)):
            if sides is not None:
                capacity = self._capacity(sides, inward=inward)
                found = Partition(messages, capacity, tuple(map(tuple, sides)), inward)
                if self.best is None or found.ratio > self.best.ratio:
                    self.best = found

    def _around_all(self, parts: list[int]) -> list[list[int]] | None:
        """Each part with the switches that are best on its side; None where time was short."""
        sides = []
        for part in parts:
            if self.clock.out():
                return None
            if part not in self._known:
                self._known[part] = self.cutter.around(part)
            sides.append(self._known[part])
        return sides

    def _capacity(self, sides: list[list[int]], *, inward: bool) -> int:
        total = 0
        arcs = self.cutter.leaving(reverse=inward)
        for side in sides:
            inside = bytearray(self.network.nodes)
            for node in side:
                inside[node] = 1
            total += sum(c for u in side for v, c in arcs[u] if not inside[v])
        return total

    # -------------------------------------------------------------- all that exchange all

    def _refine(self, among: int, *, inward: bool) -> bool:
        """Newton's method on partitions of some ranks; False where time was short.

        Of k parts whose cuts carry c together c / (k - 1) is to be as little as possible. With
        the least such quotient m so far a partition is better where the sum of cut less m over
        its parts is below -m; the partition with the least such sum is found part by part.
        """
        ranks = [rank for rank in range(self.network.ranks) if among >> rank & 1]
        arcs = self.network.directed(reverse=inward)
        best = Fraction(sum(c for _, _, c in arcs) + 1)
        parts: list[set[int]] = [{rank} for rank in ranks]
        if self.best is not None and self.best.inward == inward and len(self.best.sides) > 1:
            parts = [{n for n in side if among >> n & 1} for side in self.best.sides]
            parts = [part for part in parts if part]
        while True:
            if len(parts) > 1:
                masks = [sum(1 << rank for rank in part) for part in parts]
                quotient = self._quotient(masks, among, arcs)
                if quotient is None:
                    return False
                if quotient >= best:
                    return True
                best = quotient
                self.offer(self._fill(masks, among))
            found = self._merge(ranks, arcs, best)
            if found is None:
                return False
            parts = found
            if len(parts) == 1:
                return True

    def _quotient(
        self, masks: list[int], among: int, arcs: list[tuple[int, int, int]]
    ) -> Fraction | None:
        """The sum of the parts' cuts over their number less one; None where time was short."""
        turned = arcs is not self.network.arcs
        total = 0
        for mask in masks:
            if self.clock.out():
                return None
            inside, outside = (among ^ mask, mask) if turned else (mask, among ^ mask)
            total += self.cutter.value(inside, outside)
        return Fraction(total, len(masks) - 1)

    def _fill(self, masks: list[int], among: int) -> list[int]:
        """The parts, and with the first of them all ranks that take no part themselves."""
        rest = (1 << self.network.ranks) - 1 ^ among
        return [masks[0] | rest, *masks[1:]]

    def _merge(
        self, ranks: list[int], arcs: list[tuple[int, int, int]], price: Fraction
    ) -> list[set[int]] | None:
        """The partition with the least sum of cut less price; None where time was short.

        Cunningham's greedy: each rank in turn gets the largest weight with which no set of ranks
        up to it weighs more than its cut less the price. The set that allows no more is one part,
        together with all parts so far that it meets.
        """
        network = self.network
        p, q = price.numerator, price.denominator
        nodes, count = network.nodes, network.ranks
        source, sink = nodes, nodes + 1
        room = [1] * nodes
        for tail, head, capacity in arcs:
            room[tail] += q * capacity
            room[head] += q * capacity
        plenty = [r + q for r in room]
        later = set(ranks)
        flows = Flows(
            nodes + 2,
            [
                *((source, rank, 0) for rank in range(count)),
                *((rank, sink, plenty[rank] if rank in later else 0) for rank in range(count)),
                *((u, v, q * c) for u, v, c in arcs),
            ],
        )
        parts: list[set[int]] = []
        positive = 0
        for rank in ranks:
            if self.clock.out():
                return None
            flows.put([rank, count + rank], [plenty[rank], 0])
            value, side = flows.cut(source, sink)
            weight = value - positive - p
            flows.put([rank], [max(weight, 0)])
            flows.put([count + rank], [max(-weight, 0)])
            positive += max(weight, 0)
            union = {node for node in side if node in later}
            met = [part for part in parts if part & union]
            parts = [part for part in parts if not part & union]
            parts.append(union.union(*met))
        return parts
