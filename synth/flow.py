"""Min cuts between sets of a machine's nodes, in exact integers."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

from .bounds.flow_door import Flows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from roundelay.dsl.model import Topology


class Network:
    """A topology's links as arcs with integer capacities: bytes a second times ``scale``.

    Two nodes beyond the topology's stand for the sources and the sinks of a flow; their arcs have
    room for the nodes of a set alone. ``capacities`` are those of the links, in their order.
    """

    def __init__(self, topology: Topology) -> None:
        nodes = len(topology.ranks) + len(topology.switches)
        self.source, self.sink = nodes, nodes + 1
        self.scale = lcm(*(link.capacity.denominator for link in topology.links))
        self.capacities = [self.scaled(link.capacity) for link in topology.links]
        pairs = zip(topology.links, self.capacities, strict=True)
        links = [(link.src, link.dst, capacity) for link, capacity in pairs]
        self._plenty = 1 + sum(self.capacities)
        self._first = len(links)
        starts = [(self.source, node, 0) for node in range(nodes)]
        ends = [(node, self.sink, 0) for node in range(nodes)]
        self._flows = Flows(nodes + 2, [*links, *starts, *ends])

    def scaled(self, capacity: Fraction) -> int:
        """A capacity as the network counts it."""
        return int(capacity * self.scale)

    def cut(self, sources: Iterable[int], sinks: Iterable[int]) -> tuple[int, set[int]]:
        """The least capacity that parts two sets of nodes, and the nodes on the sources' side."""
        arcs = [self._first + node for node in sources]
        arcs += [self._first + self.source + node for node in sinks]
        self._flows.put(arcs, [self._plenty] * len(arcs))
        total, side = self._flows.cut(self.source, self.sink)
        self._flows.put(arcs, [0] * len(arcs))
        return total, {node for node in side if node < self.source}
