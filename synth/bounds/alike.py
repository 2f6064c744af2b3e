"""Nodes that links do not tell apart: colors refined until they are even."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .network import Network


def color_nodes(network: Network, wanted: Mapping[int, Mapping[int, int]]) -> list[int]:
    """A color for each node: those of a color have the same links to nodes of each color.

    They also want, and are wanted, as much by nodes of each color.
    """
    ranks = range(network.ranks)
    ends: list[list[tuple[int, int, int]]] = [[] for _ in range(network.nodes)]
    for tail, head, capacity in network.arcs:
        ends[tail].append((0, head, capacity))
        ends[head].append((1, tail, capacity))
    given = [sum(wanted.get(rank, {}).values()) for rank in ranks]
    if not _all_want_all(network.ranks, wanted):
        for source, targets in wanted.items():
            for target, count in targets.items():
                ends[source].append((2, target, count))
                ends[target].append((3, source, count))
    colors = [1 + given[node] if node < network.ranks else 0 for node in range(network.nodes)]
    kinds = 0
    while True:
        seen: dict[tuple[int, tuple[tuple[int, int, int], ...]], int] = {}
        fresh = []
        for node in range(network.nodes):
            around = sorted((way, colors[other], weight) for way, other, weight in ends[node])
            fresh.append(seen.setdefault((colors[node], tuple(around)), len(seen)))
        colors = fresh
        if len(seen) == kinds:
            return colors
        kinds = len(seen)


def _all_want_all(ranks: int, wanted: Mapping[int, Mapping[int, int]]) -> bool:
    """Whether every rank wants as much of every other."""
    if len(wanted) < ranks or any(len(targets) < ranks - 1 for targets in wanted.values()):
        return False
    return len({count for targets in wanted.values() for count in targets.values()}) == 1
