"""Sets of ranks that are likely to be cut off by thin links."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .steps import list_near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Topology

_MANY = 64  # Ranks beyond which fewer sides are looked at.
_WIDTHS = 16  # Different capacities by which ranks are grouped.
_FEW = 16  # Ranks around which balls are laid in large machines.


def likely_partitions(topology: Topology) -> list[list[int]]:
    """Partitions of all ranks into sets (bits), two or more: by name, and by wide links."""
    return [*_group_by_name(topology), *_group_by_width(topology)]


def _group_by_width(topology: Topology) -> list[list[int]]:
    """Ranks that links of some capacity or a larger one join, directly or not; wide ones first."""
    ranks = len(topology.ranks)
    leader = list(range(ranks + len(topology.switches)))

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    partitions: list[list[int]] = []
    links = sorted(topology.links, key=lambda link: -link.capacity)
    for place, link in enumerate(links):
        leader[find(link.src)] = find(link.dst)
        last = place + 1 == len(links) or links[place + 1].capacity < link.capacity
        if last and len(partitions) < _WIDTHS:
            groups: dict[int, int] = {}
            for rank in range(ranks):
                groups[find(rank)] = groups.get(find(rank), 0) | 1 << rank
            if 1 < len(groups) < ranks:
                partitions.append(list(groups.values()))
    return partitions


def _group_by_name(topology: Topology) -> list[list[int]]:
    """Groups of ranks whose names start alike: ``box[0].gpu[3]`` with ``box[0]``, coarse first."""
    words = [re.findall(r"[^.\[\],\s]+", rank.name) for rank in topology.ranks]
    partitions: list[list[int]] = []
    for length in range(1, max(map(len, words), default=0)):
        groups: dict[tuple[str, ...], int] = {}
        for rank, word in enumerate(words):
            key = tuple(word[:length])
            groups[key] = groups.get(key, 0) | 1 << rank
        if 1 < len(groups) < len(words):
            partitions.append(list(groups.values()))
    return partitions


def likely_sides(topology: Topology) -> Iterator[int]:
    """Sets of ranks (bits): by name, single ones, the first so many, all within some distance."""
    ranks = len(topology.ranks)
    whole = (1 << ranks) - 1
    seen: set[int] = {0, whole}
    for side in _candidates(topology):
        if side not in seen:
            seen.add(side)
            yield side


def _candidates(topology: Topology) -> Iterator[int]:
    ranks = len(topology.ranks)
    whole = (1 << ranks) - 1
    few = ranks <= _MANY
    for groups in likely_partitions(topology):
        union = 0
        for group in groups if few else groups[:_FEW]:
            union |= group
            yield group
            yield union
    yield (1 << ranks // 2) - 1
    for rank in range(ranks if few else _FEW):
        yield 1 << rank
    for rank in range(1, ranks, 1 if few else -(-ranks // _MANY)):
        yield (1 << rank) - 1
    near = list_near(topology)
    for rank in range(0, ranks, 1 if few else -(-ranks // _FEW)):
        ball = 1 << rank
        while ball != whole:
            wider = ball
            for other in range(ranks):
                if ball >> other & 1:
                    wider |= near[other]
            if wider == ball:
                break
            ball = wider
            yield ball
