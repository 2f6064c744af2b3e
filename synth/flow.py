"""Max-flows between sets of nodes, in exact integers: Dinic's algorithm."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from roundelay.dsl.model import Topology


class Network:
    """A topology's links as arcs with integer capacities: bytes a second times ``scale``.

    Arcs ``2k`` and ``2k + 1`` are a link and the way back for what flows over it. Two nodes
    beyond the topology's stand for the sources and the sinks of a flow.
    """

    def __init__(self, topology: Topology) -> None:
        nodes = len(topology.ranks) + len(topology.switches)
        self.source, self.sink = nodes, nodes + 1
        self.scale = lcm(*(link.capacity.denominator for link in topology.links))
        self.heads: list[int] = []
        self.rooms: list[int] = []
        self.arcs: list[list[int]] = [[] for _ in range(nodes + 2)]
        for link in topology.links:
            self._join(link.src, link.dst, self.scaled(link.capacity))
        self.plenty = 1 + sum(self.rooms)
        for node in range(nodes):
            self._join(self.source, node, 0)
            self._join(node, self.sink, 0)

    def scaled(self, capacity: Fraction) -> int:
        """A capacity as the network counts it."""
        return int(capacity * self.scale)

    def _join(self, tail: int, head: int, room: int) -> None:
        self.arcs[tail].append(len(self.heads))
        self.arcs[head].append(len(self.heads) + 1)
        self.heads += [head, tail]
        self.rooms += [room, 0]

    def cut(self, sources: Iterable[int], sinks: Iterable[int]) -> tuple[int, set[int]]:
        """The least capacity that parts two sets of nodes, and the nodes on the sources' side."""
        left = list(self.rooms)
        first = len(left) - 4 * self.source
        for node in sources:
            left[first + 4 * node] = self.plenty
        for node in sinks:
            left[first + 4 * node + 2] = self.plenty
        total = 0
        while True:
            levels = self._levels(left)
            if levels[self.sink] < 0:
                nodes = range(self.source)
                return total, {node for node in nodes if levels[node] >= 0}
            total += self._block(left, levels)

    def _levels(self, left: list[int]) -> list[int]:
        """Arcs from the sources to each node; -1 where no way has room."""
        levels = [-1] * len(self.arcs)
        levels[self.source] = 0
        queue = [self.source]
        for node in queue:
            for arc in self.arcs[node]:
                head = self.heads[arc]
                if left[arc] and levels[head] < 0:
                    levels[head] = levels[node] + 1
                    if head == self.sink:
                        return levels
                    queue.append(head)
        return levels

    def _block(self, left: list[int], levels: list[int]) -> int:
        """Push what shortest ways have room for; how much that was."""
        tried = [0] * len(self.arcs)
        total, path, node = 0, list[int](), self.source
        while True:
            if node == self.sink:
                push = min(left[arc] for arc in path)
                for arc in path:
                    left[arc] -= push
                    left[arc ^ 1] += push
                total += push
                full = next(i for i, arc in enumerate(path) if not left[arc])
                node = self.heads[path[full] ^ 1]
                del path[full:]
                continue
            arcs = self.arcs[node]
            while tried[node] < len(arcs):
                arc = arcs[tried[node]]
                if left[arc] and levels[self.heads[arc]] == levels[node] + 1:
                    path.append(arc)
                    node = self.heads[arc]
                    break
                tried[node] += 1
            else:
                if not path:
                    return total
                levels[node] = -1
                node = self.heads[path.pop() ^ 1]
