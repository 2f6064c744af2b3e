"""Min cuts in whole numbers of any size: Dinic's algorithm, for what 64 bits cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Arcs = list[tuple[int, int]]


def least_cut(
    nodes: int, arcs: Arcs, capacities: Sequence[int], source: int, sink: int, *, far: bool
) -> tuple[int, list[int]]:
    """The least capacity that parts two nodes, and the nodes on the source's side.

    Of several least cuts the one nearest the source, or (``far``) nearest the sink.
    """
    heads: list[int] = []
    rooms: list[int] = []
    leaving: list[list[int]] = [[] for _ in range(nodes)]
    for (tail, head), capacity in zip(arcs, capacities, strict=True):
        leaving[tail].append(len(heads))
        leaving[head].append(len(heads) + 1)
        heads += [head, tail]
        rooms += [capacity, 0]
    total = 0
    while True:
        levels = _levels(leaving, heads, rooms, source)
        if levels[sink] < 0:
            break
        total += _block(leaving, heads, rooms, levels, source, sink)
    if not far:
        return total, [node for node in range(nodes) if levels[node] >= 0]
    # Backwards from the sink: arcs are looked at from their heads.
    reverse = [0] * len(rooms)
    for arc, room in enumerate(rooms):
        reverse[arc ^ 1] = room
    beyond = _levels(leaving, heads, reverse, sink)
    return total, [node for node in range(nodes) if beyond[node] < 0]


def _levels(leaving: list[list[int]], heads: list[int], rooms: list[int], start: int) -> list[int]:
    """Arcs with room from one node to each; -1 where no way has room."""
    levels = [-1] * len(leaving)
    levels[start] = 0
    queue = [start]
    for node in queue:
        for arc in leaving[node]:
            if rooms[arc] and levels[heads[arc]] < 0:
                levels[heads[arc]] = levels[node] + 1
                queue.append(heads[arc])
    return levels


def _block(
    leaving: list[list[int]], heads: list[int], rooms: list[int],
    levels: list[int], source: int, sink: int,
) -> int:  # fmt: skip
    """Push what shortest ways have room for; how much that was."""
    tried = [0] * len(leaving)
    total, path, node = 0, list[int](), source
    while True:
        if node == sink:
            push = min(rooms[arc] for arc in path)
            for arc in path:
                rooms[arc] -= push
                rooms[arc ^ 1] += push
            total += push
            full = next(i for i, arc in enumerate(path) if not rooms[arc])
            node = heads[path[full] ^ 1]
            del path[full:]
            continue
        while tried[node] < len(leaving[node]):
            arc = leaving[node][tried[node]]
            if rooms[arc] and levels[heads[arc]] == levels[node] + 1:
                path.append(arc)
                node = heads[arc]
                break
            tried[node] += 1
        else:
            if not path:
                return total
            levels[node] = -1
            node = heads[path.pop() ^ 1]
