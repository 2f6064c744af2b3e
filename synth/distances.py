"""How far the ranks of a machine are apart, in steps and in seconds."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import TYPE_CHECKING

from .bounds.steps import list_near
from .subsets import list_bits

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology

Farthest = tuple[int, int, int]
"""The longest of all shortest ways, and the first pair of ranks, source first, that needs it."""


def measure_steps(topology: Topology) -> Farthest | None:
    """The most steps from rank to rank, a passage through switches being part of one step.

    None where a rank cannot be reached. A machine of one rank has 0 steps, from it to itself.
    """
    return _farthest(list_near(topology), len(topology.ranks))


def measure_latency(topology: Topology, most: int) -> tuple[Fraction, int, int] | None:
    """The longest of the least latencies from rank to rank in seconds, and a pair with it.

    None where a rank cannot be reached, or where that takes more than some ``most`` of work.
    """
    ranks = len(topology.ranks)
    latencies = {link.latency for link in topology.links}
    if len(latencies) <= 1:  # As many links as must be.
        nodes = ranks + len(topology.switches)
        near = [0] * nodes
        for link in topology.links:
            near[link.src] |= 1 << link.dst
        farthest = _farthest(near, ranks)
        each = latencies.pop() if latencies else Fraction(0)
        return None if farthest is None else (farthest[0] * each, *farthest[1:])
    if ranks * len(topology.links) > most:
        return None
    scale = lcm(*(latency.denominator for latency in latencies))
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(ranks + len(topology.switches))]
    for link in topology.links:
        leaving[link.src].append((int(link.latency * scale), link.dst))
    worst = (-1, 0, 0)
    for rank in range(ranks):
        times = _times(leaving, rank)
        for other in range(ranks):
            if other not in times:
                return None
            if times[other] > worst[0]:
                worst = (times[other], rank, other)
    return Fraction(worst[0], scale), worst[1], worst[2]


def _times(leaving: list[list[tuple[int, int]]], source: int) -> dict[int, int]:
    """The least time to each node that can be reached: Dijkstra's algorithm."""
    done: dict[int, int] = {}
    heap = [(0, source)]
    while heap:
        time, node = heappop(heap)
        if node in done:
            continue
        done[node] = time
        for more, target in leaving[node]:
            if target not in done:
                heappush(heap, (time + more, target))
    return done


def _farthest(near: list[int], ranks: int) -> Farthest | None:
    """The farthest pair of ranks, if a step leads from each node to those in its bits."""
    whole = (1 << ranks) - 1
    worst = (0, 0, 0)
    for rank in range(ranks):
        seen = new = 1 << rank
        depth = 0
        while seen & whole != whole:
            found = 0
            for node in list_bits(new):
                found |= near[node]
            new = found & ~seen
            if not new:
                return None
            seen |= new
            depth += 1
            if depth > worst[0] and new & whole:
                last = new & whole
                worst = (depth, rank, (last & -last).bit_length() - 1)
    return worst
