"""What the links out of a set of ranks can carry, in exact integers."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology


class Machine:
    """Capacities as integers (bytes a second times ``scale``), and min cuts between ranks."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.ranks = len(topology.ranks)
        self.scale = lcm(*(link.capacity.denominator for link in topology.links))
        self.links = [
            (link.src, link.dst, int(link.capacity * self.scale)) for link in topology.links
        ]
        self.slowest = topology.slowest
        self.out: list[list[tuple[int, int]]] = [[] for _ in range(self.ranks)]
        self.into: list[list[tuple[int, int]]] = [[] for _ in range(self.ranks)]
        if not topology.switches:
            for src, dst, capacity in self.links:
                self.out[src].append((dst, capacity))
                self.into[dst].append((src, capacity))
        self.known: dict[int, tuple[int, int]] = {}

    def rounds(self, crossings: int, capacity: int) -> Fraction:
        """Rounds that so many messages of one chunk take over links of a (scaled) capacity."""
        return Fraction(crossings * self.scale, capacity) * self.slowest

    def cut(self, side: int) -> tuple[int, int]:
        """The least capacity out of a set of ranks, and the nodes on its side of that cut.

        Switches may stand on either side, so this is a max-flow in the graph in which the set
        and the other ranks are one node each.
        """
        if side not in self.known:
            self.known[side] = self._flow(side) if self.topology.switches else self._sum(side)
        return self.known[side]

    def _sum(self, side: int) -> tuple[int, int]:
        """The cut without switches: the links that leave the side, seen from its smaller end."""
        rest = (1 << self.ranks) - 1 ^ side
        near, ends, far = (side, self.out, rest)
        if rest.bit_count() < side.bit_count():
            near, ends, far = (rest, self.into, side)
        total = 0
        while near:
            rank = (near & -near).bit_length() - 1
            near &= near - 1
            total += sum(capacity for other, capacity in ends[rank] if far >> other & 1)
        return total, side

    def _flow(self, side: int) -> tuple[int, int]:
        ranks, source, sink = self.ranks, -1, -2
        left: dict[int, dict[int, int]] = {source: {}, sink: {}}
        total = 0
        for src, dst, capacity in self.links:
            u = src if src >= ranks else source if side >> src & 1 else sink
            v = dst if dst >= ranks else source if side >> dst & 1 else sink
            if u == source and v == sink:
                total += capacity
            elif u != v and v != source and u != sink:
                left.setdefault(u, {})[v] = left.setdefault(u, {}).get(v, 0) + capacity
                left.setdefault(v, {}).setdefault(u, 0)
        while True:
            before: dict[int, int] = {source: source}
            queue = [source]
            for node in queue:
                for target, room in left[node].items():
                    if room and target not in before:
                        before[target] = node
                        queue.append(target)
            if sink not in before:
                reached = sum(1 << node for node in before if node >= 0)
                return total, side | reached
            path = [sink]
            while path[-1] != source:
                path.append(before[path[-1]])
            arcs = list(zip(path[1:], path, strict=False))
            push = min(left[u][v] for u, v in arcs)
            for u, v in arcs:
                left[u][v] -= push
                left[v][u] += push
            total += push
