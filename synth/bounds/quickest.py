"""The quickest step: what a message takes at least, however little it carries."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology


def measure_quickest(topology: Topology) -> Fraction:
    """Seconds of latency of the quickest way from a rank to a rank; 0 without any.

    Ways end at the first rank they meet. One that comes back to where it began counts too, which
    can only make the figure smaller.
    """
    ranks = len(topology.ranks)
    ahead: list[list[tuple[int, Fraction]]] = [[] for _ in range(ranks + len(topology.switches))]
    for link in topology.links:
        ahead[link.src].append((link.dst, link.latency))
    waiting: list[tuple[Fraction, int, bool]] = [(Fraction(0), rank, True) for rank in range(ranks)]
    settled: set[int] = set()
    while waiting:
        seconds, node, starts = heappop(waiting)
        if node < ranks and not starts:
            return seconds
        if node in settled:
            continue
        settled.add(node)
        for target, latency in ahead[node]:
            heappush(waiting, (seconds + latency, target, False))
    return Fraction(0)
