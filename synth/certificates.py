"""Checks certificates by topology and collective alone: no solver, no code of the bounds."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundelay.dsl.model import Block, Problem, Topology

    from .schedule import Certificate


class CertificateError(Exception):
    """A certificate does not prove what it says, and why."""


def verify(problem: Problem, certificate: Certificate) -> None:
    """Accept a certificate or raise ``CertificateError``.

    ``distance``: data held at the first node is wanted at the second, and no way between them
    has fewer steps than ``value``. ``cut``: ``nodes`` (ranks and switches) are one side; the
    messages of a chunk that must leave it, over the capacity of the links that do, take
    ``value`` rounds at least. ``partition``: ``nodes`` gives the part of every rank (none: every
    rank is a part of its own); the messages that must pass between parts, over the sum of what
    can leave each part together with the switches of ``sides`` (``inward``: of what can reach it).
    ``lengths``: what must travel along shortest ways, where each link has its length, over the
    sum of the links' capacities times lengths. A ``search`` certificate is re-checked by asking
    the query again.
    """
    if certificate.kind == "distance":
        _verify_distance(problem, certificate)
        return
    messages, carried = weigh(problem, certificate)
    if not messages:
        raise CertificateError("nothing has to cross")
    slowest = problem.topology.slowest
    if certificate.value <= 0:
        raise CertificateError("a bound of no rounds says nothing")
    if certificate.value * carried > messages * slowest:
        allowed = messages * slowest / carried
        raise CertificateError(f"proves {allowed} rounds only, not {certificate.value}")


def weigh(problem: Problem, certificate: Certificate) -> tuple[int, Fraction]:
    """The messages of a chunk that a certificate counts, and the bytes a second for them.

    For ``lengths`` each message and each link counts as often as its length says. Raises
    ``CertificateError`` where the certificate does not fit the problem.
    """
    if certificate.kind == "cut":
        return _weigh_cut(problem, certificate)
    if certificate.kind == "partition":
        return _weigh_partition(problem, certificate)
    if certificate.kind == "lengths":
        return _weigh_lengths(problem, certificate)
    if certificate.kind == "distance":
        raise CertificateError("a distance counts no messages")
    raise CertificateError("a search is re-checked by another search, not without a solver")


# --------------------------------------------------------------------------------- distance


def _verify_distance(problem: Problem, certificate: Certificate) -> None:
    if len(certificate.nodes) != 2:
        raise CertificateError("a distance is between two ranks")
    source, target = certificate.nodes
    needed = any(
        target in ranks and any(block.symbols[s].rank == source for s in symbols)
        for block in problem.collective.blocks
        for symbols, ranks in block.families()
    )
    if not needed:
        raise CertificateError(f"rank {target} wants nothing that rank {source} holds")
    steps = _count_steps(problem.topology, source, target)
    if steps is not None and steps < certificate.value:
        raise CertificateError(f"data gets from {source} to {target} in {steps} steps")


def _count_steps(topology: Topology, source: int, target: int) -> int | None:
    """Steps from rank to rank, a passage through switches being part of one; None: no way."""
    ranks = len(topology.ranks)
    leaving = _leaving(topology)
    reached = {source}
    layer, steps = [source], 0
    while layer:
        if target in reached:
            return steps
        steps += 1
        following: list[int] = []
        open_nodes = layer
        while open_nodes:
            switches: list[int] = []
            for node in open_nodes:
                for number in leaving[node]:
                    head = topology.links[number].dst
                    if head not in reached:
                        reached.add(head)
                        (following if head < ranks else switches).append(head)
            open_nodes = switches
        layer = following
    return None  # No way at all is longer than any number of steps.


def _leaving(topology: Topology) -> list[list[int]]:
    """The numbers of the links out of each node."""
    leaving: list[list[int]] = [[] for _ in range(len(topology.ranks) + len(topology.switches))]
    for number, link in enumerate(topology.links):
        leaving[link.src].append(number)
    return leaving


# ------------------------------------------------------------------------ cuts and partitions


def _weigh_cut(problem: Problem, certificate: Certificate) -> tuple[int, Fraction]:
    side = _node_set(problem.topology, certificate.nodes)
    carried = _out_of(problem.topology, [side], inward=False)
    return sum(_must_leave(block, side) for block in problem.collective.blocks), carried


def _weigh_partition(problem: Problem, certificate: Certificate) -> tuple[int, Fraction]:
    topology = problem.topology
    if any(switch.multicast or switch.reduce for switch in topology.switches):
        raise CertificateError("a switch that copies or combines breaks the count of messages")
    ranks = len(topology.ranks)
    part_of = certificate.nodes or tuple(range(ranks))
    if len(part_of) != ranks:
        raise CertificateError("a partition gives the part of every rank")
    parts = sorted(set(part_of))
    if certificate.sides and len(certificate.sides) != len(parts):
        raise CertificateError("a partition gives the switches of every part, or of none")
    sides: dict[int, set[int]] = {part: set() for part in parts}
    for rank, part in enumerate(part_of):
        sides[part].add(rank)
    for part, switches in zip(parts, certificate.sides, strict=False):
        if any(node < ranks for node in switches):
            raise CertificateError("only switches may stand on the sides of several parts")
        sides[part] |= _node_set(topology, switches)
    carried = _out_of(topology, list(sides.values()), inward=certificate.inward)
    return sum(_must_pass(block, part_of) for block in problem.collective.blocks), carried


def _node_set(topology: Topology, nodes: tuple[int, ...]) -> set[int]:
    count = len(topology.ranks) + len(topology.switches)
    for node in nodes:
        if not 0 <= node < count:
            raise CertificateError(f"there is no node {node}")
    return set(nodes)


def _out_of(topology: Topology, sides: list[set[int]], *, inward: bool) -> Fraction:
    """What the links out of each of some sets of nodes (or into it) carry, summed up."""
    standing: list[list[int]] = [[] for _ in range(len(topology.ranks) + len(topology.switches))]
    for number, side in enumerate(sides):
        for node in side:
            standing[node].append(number)
    scale = lcm(*(link.bandwidth.denominator for link in topology.links))
    total = 0
    for link in topology.links:
        tail, head = (link.dst, link.src) if inward else (link.src, link.dst)
        left = sum(1 for number in standing[tail] if head not in sides[number])
        if left:
            bandwidth = link.bandwidth
            total += left * link.count * bandwidth.numerator * (scale // bandwidth.denominator)
    return Fraction(total, scale)


def _by_symbols(block: Block) -> dict[tuple[int, ...], Sequence[int]]:
    """The ranks that want each combination of a block's symbols, by the symbols in order."""
    families: dict[tuple[int, ...], Sequence[int]] = {}
    for symbols, ranks in block.families():
        key = tuple(sorted(symbols))
        families[key] = (*families[key], *ranks) if key in families else ranks
    return families


def _must_leave(block: Block, side: set[int]) -> int:
    """Messages of one chunk from the side to the rest: one for each of a family of wants there
    whose symbols held here are disjoint.
    """
    needs: list[set[int]] = []
    for symbols, ranks in _by_symbols(block).items():
        if not side.issuperset(ranks):
            need = {s for s in symbols if block.symbols[s].rank in side}
            if need:
                needs.append(need)
    return len(needs) if len(needs) < 2 else _pack([(need, 1) for need in needs])


def _must_pass(block: Block, part_of: tuple[int, ...]) -> int:
    """Messages of one chunk between parts, for values that share no symbol.

    The first part that has a whole value needs one from every other part that holds some of it;
    every other part that wants it needs a later one.
    """
    weighed = []
    for symbols, ranks in _by_symbols(block).items():
        holding = {part_of[block.symbols[s].rank] for s in symbols}
        wanting = {part_of[rank] for rank in ranks}
        first = 2 if holding & wanting else 1
        weighed.append((set(symbols), len(holding) + len(wanting) - first))
    return _pack(weighed)


def _pack(weighed: Iterable[tuple[set[int], int]]) -> int:
    """The weight of a family of disjoint sets, the better of two greedy choices."""
    items = list(weighed)
    if len(items) < 2:
        return sum(weight for _, weight in items)
    best = 0
    for order in (
        sorted(items, key=lambda item: (len(item[0]), sorted(item[0]))),
        sorted(items, key=lambda item: (-item[1], len(item[0]), sorted(item[0]))),
    ):
        used: set[int] = set()
        weight = 0
        for symbols, value in order:
            if used.isdisjoint(symbols):
                used |= symbols
                weight += value
        best = max(best, weight)
    return best


# ---------------------------------------------------------------------------------- lengths


def _weigh_lengths(problem: Problem, certificate: Certificate) -> tuple[int, Fraction]:
    topology = problem.topology
    lengths = certificate.lengths
    if len(lengths) != len(topology.links):
        raise CertificateError("there is one length for each link")
    if any(length < 0 for length in lengths):
        raise CertificateError("no length is below 0")
    carried = sum(
        (length * link.capacity for length, link in zip(lengths, topology.links, strict=True)),
        Fraction(0),
    )
    if not carried:
        raise CertificateError("some link must have a length")
    ways = _Ways(topology, lengths)
    return sum(_must_travel(block, ways) for block in problem.collective.blocks), carried


class _Ways:
    """Shortest ways from ranks to all nodes, each rank looked from once: Dijkstra's algorithm."""

    def __init__(self, topology: Topology, lengths: tuple[int, ...]) -> None:
        self.leaving = [
            [(topology.links[number].dst, lengths[number]) for number in numbers]
            for numbers in _leaving(topology)
        ]
        self.far = sum(lengths) + 1
        self.known: dict[int, list[int]] = {}

    def away(self, source: int, target: int) -> int:
        """The length of the shortest way; more than all lengths together where there is none."""
        if source not in self.known:
            self.known[source] = self._from(source)
        return self.known[source][target]

    def _from(self, source: int) -> list[int]:
        away = [self.far] * len(self.leaving)
        away[source] = 0
        waiting = [(0, source)]
        while waiting:
            length, node = heappop(waiting)
            if length > away[node]:
                continue
            for head, more in self.leaving[node]:
                if length + more < away[head]:
                    away[head] = length + more
                    heappush(waiting, (length + more, head))
        return away


def _must_travel(block: Block, ways: _Ways) -> int:
    """How far the messages of one chunk travel together, for values that share no symbol: each
    symbol of a value gets to every rank that wants it.
    """
    weighed = []
    for symbols, ranks in _by_symbols(block).items():
        longest = max(ways.away(block.symbols[s].rank, rank) for s in symbols for rank in ranks)
        weighed.append((set(symbols), longest))
    return _pack(weighed)
