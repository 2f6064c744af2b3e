"""Routes: the ways from rank to rank whose inner nodes are switches, and distances in steps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology


MOST = 16
"""Routes kept for one ordered pair of ranks."""

_VISITS = 20_000  # Partial paths looked at for one pair before the rest is given up.


@dataclass(frozen=True, slots=True)
class Route:
    """A path from rank ``src`` to rank ``dst``; ``links`` are positions in ``topology.links``."""

    src: int
    dst: int
    links: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """Every route worth taking, by source, destination, length and link numbers.

    ``complete`` is False where a pair of ranks has more than ``MOST`` of them and the rest was
    left out.
    """

    routes: tuple[Route, ...]
    complete: bool


def enumerate_routes(topology: Topology) -> Routes:
    """All simple paths through switches, without those whose links include another's.

    A route over a superset of another's links loads all that the other loads and more, so a
    schedule that takes it can take the other. Shortest first: where a pair has too many, the
    ones with the most links are left out.
    """
    leaving = _leaving(topology)
    ranks = len(topology.ranks)
    kept: list[Route] = []
    complete = True
    for src in range(ranks):
        minimal: dict[int, list[frozenset[int]]] = {}
        visits = 0
        queue: deque[tuple[int, tuple[int, ...], frozenset[int]]] = deque([(src, (), frozenset())])
        while queue:
            node, path, seen = queue.popleft()
            visits += 1
            if visits > _VISITS:
                complete = False
                break
            for number, target in leaving[node]:
                if target in seen or target == src:
                    continue
                longer = (*path, number)
                if target >= ranks:
                    queue.append((target, longer, seen | {target}))
                    continue
                others = minimal.setdefault(target, [])
                links = frozenset(longer)
                if any(other <= links for other in others):
                    continue
                if len(others) == MOST:
                    complete = False
                    continue
                others.append(links)
                kept.append(Route(src, target, longer))
    kept.sort(key=lambda route: (route.src, route.dst, len(route.links), route.links))
    return Routes(tuple(kept), complete)


def measure_hops(topology: Topology) -> tuple[tuple[int | None, ...], ...]:
    """Steps that data needs from rank to rank (``hops[src][dst]``); None where no way leads.

    A passage through switches is part of one step.
    """
    ranks = len(topology.ranks)
    leaving = _leaving(topology)
    near = [_ranks_after(leaving, rank, ranks) for rank in range(ranks)]
    rows: list[tuple[int | None, ...]] = []
    for src in range(ranks):
        steps: list[int | None] = [None] * ranks
        steps[src] = 0
        layer, depth = [src], 0
        while layer:
            depth += 1
            following: list[int] = []
            for node in layer:
                for target in near[node]:
                    if steps[target] is None:
                        steps[target] = depth
                        following.append(target)
            layer = following
        rows.append(tuple(steps))
    return tuple(rows)


def _leaving(topology: Topology) -> list[list[tuple[int, int]]]:
    nodes = len(topology.ranks) + len(topology.switches)
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for number, link in enumerate(topology.links):
        leaving[link.src].append((number, link.dst))
    return leaving


def _ranks_after(leaving: list[list[tuple[int, int]]], rank: int, ranks: int) -> list[int]:
    """Ranks that one step reaches, by number."""
    seen = {rank}
    stack = [rank]
    while stack:
        node = stack.pop()
        for _, target in leaving[node]:
            if target not in seen:
                seen.add(target)
                if target >= ranks:
                    stack.append(target)
    return sorted(node for node in seen if node < ranks and node != rank)
