"""A machine's links as arcs with whole capacities, switches that stand alike taken as one."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING

from roundelay.synth.subsets import list_bits

from .flow_door import Flows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Topology

Arc = tuple[int, int, int]
"""Tail, head and capacity in the network's unit."""


class Network:
    """Nodes are the ranks, by their numbers, then groups of switches.

    Switches with the same links to the same nodes are one node here: a least cut may put all of
    them on the same side. ``unit`` is the capacity 1 in bytes a second.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.ranks = len(topology.ranks)
        self.members = _group_switches(topology)
        self.nodes = self.ranks + len(self.members)
        place = list(range(self.ranks)) + [0] * len(topology.switches)
        for number, switches in enumerate(self.members):
            for switch in switches:
                place[switch] = self.ranks + number
        scale = lcm(*(link.bandwidth.denominator for link in topology.links))
        sums: dict[tuple[int, int], int] = {}
        for link in topology.links:
            pair = place[link.src], place[link.dst]
            bandwidth = link.bandwidth
            whole = link.count * bandwidth.numerator * (scale // bandwidth.denominator)
            sums[pair] = sums.get(pair, 0) + whole
        divisor = gcd(*sums.values())
        self.unit = Fraction(divisor, scale)
        self.arcs: list[Arc] = [(u, v, c // divisor) for (u, v), c in sorted(sums.items())]
        self.symmetric = all(sums.get((v, u)) == c for (u, v), c in sums.items())
        self.balanced = self._is_balanced()
        self.per_round = topology.slowest / self.unit
        """Capacity that carries one message in a round."""

    def _is_balanced(self) -> bool:
        """Whether as much can leave each switch as can reach it."""
        surplus = [0] * self.nodes
        for tail, head, capacity in self.arcs:
            surplus[tail] += capacity
            surplus[head] -= capacity
        return not any(surplus[self.ranks :])

    def rounds(self, messages: int, capacity: int) -> Fraction:
        """Rounds that so many messages of one chunk take over links of a capacity."""
        return messages * self.per_round / capacity

    def expand(self, side: Iterable[int]) -> tuple[int, ...]:
        """Nodes of the topology that nodes of the network stand for, in order."""
        nodes: list[int] = []
        for node in side:
            if node < self.ranks:
                nodes.append(node)
            elif node < self.nodes:
                nodes += self.members[node - self.ranks]
        return tuple(sorted(nodes))

    def directed(self, *, reverse: bool) -> list[Arc]:
        """The arcs, or (``reverse``) each the other way round."""
        return [(v, u, c) for u, v, c in self.arcs] if reverse else self.arcs


class Cutter:
    """Min cuts between sets of ranks, switches on whichever side is better."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._held: dict[int, int] = {}
        self._leaving: dict[bool, list[list[tuple[int, int]]]] = {}
        nodes = network.nodes
        room = [0] * nodes
        for tail, head, capacity in network.arcs:
            room[tail] += capacity
            room[head] += capacity
        self.plenty = [1 + each for each in room]
        self.source, self.sink = nodes, nodes + 1
        ranks = range(network.ranks)
        arcs = [(self.source, rank, 0) for rank in ranks] + [(rank, self.sink, 0) for rank in ranks]
        self.flows = Flows(nodes + 2, [*arcs, *network.arcs])

    def between(self, inside: int, outside: int) -> list[int]:
        """The nodes on the first side of a least cut between two sets of ranks (bits)."""
        for offset, now in ((0, inside), (self.network.ranks, outside)):
            old = self._held.get(offset, 0)
            self._held[offset] = now
            changed = list_bits(old ^ now)
            arcs = [offset + rank for rank in changed]
            self.flows.put(arcs, [self.plenty[rank] * (now >> rank & 1) for rank in changed])
        _, nodes = self.flows.cut(self.source, self.sink)
        return [node for node in nodes if node < self.network.nodes]

    def value(self, inside: int, outside: int) -> int:
        """The capacity of a least cut between two sets of ranks (bits)."""
        nodes = self.between(inside, outside)
        kept = bytearray(self.network.nodes)
        for node in nodes:
            kept[node] = 1
        arcs = self.leaving()
        return sum(c for u in nodes for v, c in arcs[u] if not kept[v])

    def around(self, side: int) -> list[int]:
        """A set of ranks (bits), and the switches that are best on its side."""
        return self.between(side, (1 << self.network.ranks) - 1 ^ side)

    def leaving(self, *, reverse: bool = False) -> list[list[tuple[int, int]]]:
        """For each node the heads and capacities of the arcs out of it (``reverse``: into it)."""
        if reverse not in self._leaving:
            ends: list[list[tuple[int, int]]] = [[] for _ in range(self.network.nodes)]
            for tail, head, capacity in self.network.directed(reverse=reverse):
                ends[tail].append((head, capacity))
            self._leaving[reverse] = ends
        return self._leaving[reverse]


def _group_switches(topology: Topology) -> list[list[int]]:
    ranks = len(topology.ranks)
    ends: list[list[tuple[int, Fraction]]] = [[] for _ in range(2 * len(topology.switches))]
    for link in topology.links:
        if link.src >= ranks:
            ends[2 * (link.src - ranks)].append((link.dst, link.capacity))
        if link.dst >= ranks:
            ends[2 * (link.dst - ranks) + 1].append((link.src, link.capacity))
    groups: dict[tuple[tuple[tuple[int, Fraction], ...], ...], list[int]] = {}
    for switch in range(len(topology.switches)):
        key = tuple(sorted(ends[2 * switch])), tuple(sorted(ends[2 * switch + 1]))
        groups.setdefault(key, []).append(ranks + switch)
    return list(groups.values())
