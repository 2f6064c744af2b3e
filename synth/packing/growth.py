"""Trees in time: cheap ones grown step by step, and the cheapest times of a tree's messages.

A tree goes down from its root. One that goes up is the same with time and links reversed: its
rows of prices are read backwards, and its routes are those that lead to a rank. Messages of one
tree are priced apart, even where they would share a link in one step: where every way leads
through one switch, few good trees are found.
"""

from __future__ import annotations

from itertools import accumulate
from operator import add

Rows = list[list[int]]
"""For each route its price in every step."""

Arcs = list[list[tuple[int, int]]]
"""For each rank the routes that leave it and where they lead."""

Order = tuple[tuple[int, int, int], ...]
"""A tree: for each rank but the root itself, its route and its parent; parents come first."""

Dated = list[tuple[int, int]]
"""Messages: route and step."""

NEVER = 1 << 50


def grow(
    root: int, start: int, rows: Rows, arcs: Arcs, targets: frozenset[int], *, timed: bool
) -> Order | None:
    """A tree from a root that may send from step ``start`` on; None where it misses a target.

    The cheapest message that reaches something new comes next, among those the earliest.
    Without ``timed`` a rank may send at any time, so that the tree has to be given its times
    (``date``), which may turn out impossible.
    """
    steps = len(rows[0])
    done = {root: start}
    nearest: dict[int, tuple[int, int, int, int]] = {}
    order: list[tuple[int, int, int]] = []
    missing = len(targets - {root})
    new = root
    while missing:
        begin = done[new] if timed else 0
        if begin < steps:
            for route, other in arcs[new]:
                if other in done:
                    continue
                row = rows[route]
                price = min(row[begin:])
                known = nearest.get(other)
                if known is None or price < known[0]:
                    nearest[other] = (price, row.index(price, begin), route, new)
        if not nearest:
            return None
        new = min(nearest, key=nearest.__getitem__)
        _, step, route, parent = nearest.pop(new)
        done[new] = step + 1
        order.append((new, route, parent))
        missing -= new in targets
    return _prune(order, targets)


def _prune(order: list[tuple[int, int, int]], targets: frozenset[int]) -> Order:
    """Without the branches that lead to no target."""
    needed = set(targets)
    kept = []
    for rank, route, parent in reversed(order):
        if rank in needed:
            needed.add(parent)
            kept.append((rank, route, parent))
    return tuple(reversed(kept))


class Dates:
    """The cheapest times of a tree's messages, for every step its root may begin with.

    ``from_step[t]``: what the tree costs if the root sends from step t on; ``order``: the tree.
    """

    def __init__(self, root: int, order: Order, rows: Rows, steps: int) -> None:
        below: dict[int, list[int]] = {}
        self.order, self._root = order, root
        self._ways: dict[int, tuple[list[int], list[int]]] = {}
        for rank, route, parent in reversed(order):
            under = below.get(rank)
            prices = list(map(add, rows[route], under[1:])) if under else rows[route]
            cheapest = list(accumulate(reversed(prices), min))
            cheapest.reverse()
            cheapest.append(NEVER)
            self._ways[rank] = prices, cheapest
            others = below.get(parent)
            below[parent] = list(map(add, others, cheapest)) if others else cheapest
        self.from_step = below.get(root, [0] * (steps + 1))

    def choose(self, start: int) -> Dated:
        """The messages in the tree's order, the earliest of the cheapest."""
        done = {self._root: start}
        dated: Dated = []
        for rank, route, parent in self.order:
            prices, cheapest = self._ways[rank]
            begin = done[parent]
            step = prices.index(cheapest[begin], begin)
            done[rank] = step + 1
            dated.append((route, step))
        return dated
