"""Checks certificates by topology and collective alone: no solver, no code of the bounds."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    rank is a part of its own); the messages that must pass between parts, over the sum of the
    parts' min cuts. A ``search`` certificate is re-checked by asking the query again.
    """
    if certificate.kind == "distance":
        _verify_distance(problem, certificate)
    elif certificate.kind == "cut":
        _verify_cut(problem, certificate)
    elif certificate.kind == "partition":
        _verify_partition(problem, certificate)
    else:
        raise CertificateError("a search is re-checked by another search, not without a solver")


def _verify_distance(problem: Problem, certificate: Certificate) -> None:
    if len(certificate.nodes) != 2:
        raise CertificateError("a distance is between two ranks")
    source, target = certificate.nodes
    needed = any(
        want.rank == target and any(block.symbols[s].rank == source for s in want.symbols)
        for block in problem.collective.blocks
        for want in block.wants
    )
    if not needed:
        raise CertificateError(f"rank {target} wants nothing that rank {source} holds")
    ranks = len(problem.topology.ranks)
    reached, steps = {source}, 0
    while target not in reached:
        wider = set(reached)
        frontier = list(reached)
        while frontier:
            node = frontier.pop()
            for link in problem.topology.links:
                if link.src == node and link.dst not in wider:
                    wider.add(link.dst)
                    if link.dst >= ranks:
                        frontier.append(link.dst)
        following = {node for node in wider if node < ranks}
        if following == reached:
            return  # No way at all is longer than any number of steps.
        reached, steps = following, steps + 1
    if steps < certificate.value:
        raise CertificateError(f"data gets from {source} to {target} in {steps} steps")


def _verify_cut(problem: Problem, certificate: Certificate) -> None:
    topology = problem.topology
    side = set(certificate.nodes)
    carried = sum(
        (link.capacity for link in topology.links if link.src in side and link.dst not in side),
        Fraction(0),
    )
    messages = sum(_must_leave(block, side) for block in problem.collective.blocks)
    _compare(certificate, messages, carried, topology)


def _verify_partition(problem: Problem, certificate: Certificate) -> None:
    topology = problem.topology
    if any(switch.multicast or switch.reduce for switch in topology.switches):
        raise CertificateError("a switch that copies or combines breaks the count of messages")
    ranks = range(len(topology.ranks))
    part_of = certificate.nodes or tuple(ranks)
    if len(part_of) != len(ranks):
        raise CertificateError("a partition gives the part of every rank")
    parts = [{r for r in ranks if part_of[r] == part} for part in sorted(set(part_of))]
    everyone = set(ranks)
    out = sum((_min_cut(topology, part, everyone - part) for part in parts), Fraction(0))
    into = sum((_min_cut(topology, everyone - part, part) for part in parts), Fraction(0))
    messages = sum(_must_pass(block, part_of) for block in problem.collective.blocks)
    _compare(certificate, messages, min(out, into), topology)


def _compare(
    certificate: Certificate, messages: int, carried: Fraction, topology: Topology
) -> None:
    if not messages:
        raise CertificateError("nothing has to cross")
    if certificate.value * carried > messages * topology.slowest:
        allowed = messages * topology.slowest / carried
        raise CertificateError(f"proves {allowed} rounds only, not {certificate.value}")


def _must_leave(block: Block, side: set[int]) -> int:
    """Messages of one chunk from the side to the rest: one for each of a family of wants there
    whose symbols held here are disjoint.
    """
    needs = [
        {s for s in want.symbols if block.symbols[s].rank in side}
        for want in block.wants
        if want.rank not in side
    ]
    return _pack([(need, 1) for need in needs if need])


def _must_pass(block: Block, part_of: tuple[int, ...]) -> int:
    """Messages of one chunk between parts, for values that share no symbol.

    The first part that has a whole value needs one from every other part that holds some of it;
    every other part that wants it needs a later one.
    """
    families: dict[frozenset[int], set[int]] = {}
    for want in block.wants:
        families.setdefault(frozenset(want.symbols), set()).add(part_of[want.rank])
    weighed = []
    for symbols, wanting in families.items():
        holding = {part_of[block.symbols[s].rank] for s in symbols}
        first = min(len(holding - {part}) + len(wanting - {part}) for part in holding | wanting)
        weighed.append((set(symbols), first))
    return _pack(weighed)


def _pack(weighed: Iterable[tuple[set[int], int]]) -> int:
    """The weight of a family of disjoint sets, the better of two greedy choices."""
    items = list(weighed)
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


def _min_cut(topology: Topology, side: set[int], others: set[int]) -> Fraction:
    """The least capacity of links that part all ranks into two, switches on whichever side.

    Widest augmenting paths from any rank of the side to any of the others, through switches.
    """
    if not topology.switches:  # Every way from rank to rank is one link.
        crossing = (k.capacity for k in topology.links if k.src in side and k.dst in others)
        return sum(crossing, Fraction(0))
    room: dict[int, dict[int, Fraction]] = {}
    for link in topology.links:
        out = room.setdefault(link.src, {})
        out[link.dst] = out.get(link.dst, Fraction(0)) + link.capacity
        room.setdefault(link.dst, {}).setdefault(link.src, Fraction(0))
    endless = sum((link.capacity for link in topology.links), Fraction(0))
    flow = Fraction(0)
    while True:
        before: dict[int, int] = {}
        width = {node: endless for node in side if node in room}
        waiting = [(-endless, node) for node in sorted(width)]
        settled: set[int] = set()
        end = None
        while waiting and end is None:
            _, node = heappop(waiting)
            if node in settled:
                continue
            settled.add(node)
            if node in others:
                end = node
                continue
            for target, free in room[node].items():
                push = min(width[node], free)
                if target not in side and push > width.get(target, 0):
                    width[target] = push
                    before[target] = node
                    heappush(waiting, (-push, target))
        if end is None:
            return flow
        push, node = width[end], end
        while node in before:
            room[before[node]][node] -= push
            room[node][before[node]] += push
            node = before[node]
        flow += push
