"""The shortest ways through switches from rank to rank, and the least loaded of them."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology

_MOST = 256  # Shortest ways kept for one pair of ranks, by the numbers of their links.


class Ways:
    """Ways of one topology, found as they are asked for, and what each step has put on its links.

    Loads are compared as whole numbers: messages times a multiple of all capacities' numerators,
    over the link's own capacity.
    """

    def __init__(self, topology: Topology) -> None:
        self.ranks = len(topology.ranks)
        self.nodes = self.ranks + len(topology.switches)
        self.name = topology.node_name
        self.links = topology.links
        self.between = {(link.src, link.dst): i for i, link in enumerate(topology.links)}
        self.into: dict[int, list[int]] = {}
        self.out: dict[int, list[int]] = {}
        for i, link in enumerate(topology.links):
            self.into.setdefault(link.dst, []).append(i)
            self.out.setdefault(link.src, []).append(i)
        scale = lcm(*(link.capacity.numerator for link in topology.links))
        self.weights = [int(scale / link.capacity) for link in topology.links]
        self.loads: dict[int, int] = {}
        self._known: dict[tuple[int, int], tuple[tuple[int, ...], ...]] = {}
        self._far: dict[int, dict[int, int]] = {}

    def begin_step(self) -> None:
        """Nothing has been sent in this step yet."""
        self.loads = {}

    def load(self, route: tuple[int, ...]) -> None:
        """Count a message on every link of its route."""
        for link in route:
            self.loads[link] = self.loads.get(link, 0) + 1

    def choose(self, src: int, dst: int) -> tuple[int, ...]:
        """The shortest way whose busiest link would be least busy, then whose links together;
        of equals the one with the lowest numbers. Empty where there is no way.
        """
        ways = self.list_shortest(src, dst)
        if len(ways) < 2:
            return ways[0] if ways else ()
        return min(ways, key=self._busy)

    def _busy(self, way: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        busy = [(self.loads.get(link, 0) + 1) * self.weights[link] for link in way]
        return max(busy), sum(busy), way

    def follow(self, nodes: tuple[int, ...]) -> tuple[int, ...] | str:
        """The links along these nodes, of which the inner ones are switches; else what is wrong."""
        route: list[int] = []
        inner = nodes[1:-1]
        for at, (node, target) in enumerate(pairwise(nodes)):
            last = at == len(inner)
            if not last and not self.ranks <= target < self.nodes:
                return f"node {target} is no switch to pass"
            if not last and target in inner[:at]:
                return f"the way passes {self.name(target)} twice"
            if (node, target) not in self.between:
                return f"{self.name(node)} has no link to {self.name(target)}"
            route.append(self.between[node, target])
        return tuple(route)

    def list_shortest(self, src: int, dst: int) -> tuple[tuple[int, ...], ...]:
        """The ways of fewest links whose inner nodes are switches, as numbers of links."""
        if (src, dst) not in self._known:
            self._known[src, dst] = self._search(src, dst)
        return self._known[src, dst]

    def _search(self, src: int, dst: int) -> tuple[tuple[int, ...], ...]:
        if (src, dst) in self.between:
            return ((self.between[src, dst],),)
        far = self._measure(dst)
        if src not in far:
            return ()
        found: list[tuple[int, ...]] = []
        stack: list[tuple[int, tuple[int, ...]]] = [(src, ())]
        while stack and len(found) < _MOST:
            node, way = stack.pop()
            if node == dst:
                found.append(way)
                continue
            for link in reversed(self.out.get(node, ())):
                target = self.links[link].dst
                inside = target == dst or target >= self.ranks
                if inside and far.get(target) == far[node] - 1:
                    stack.append((target, (*way, link)))
        return tuple(found)

    def _measure(self, dst: int) -> dict[int, int]:
        """Links from every node to a rank, through switches alone."""
        if dst in self._far:
            return self._far[dst]
        far = self._far[dst] = {dst: 0}
        queue = deque([dst])
        while queue:
            node = queue.popleft()
            for link in self.into.get(node, ()):
                source = self.links[link].src
                if source not in far:
                    far[source] = far[node] + 1
                    if source >= self.ranks:
                        queue.append(source)
        return far
