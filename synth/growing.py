"""Trees of shortest ways between ranks, over the least loaded links, in the least busy steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .fabric import Loads, UnreachedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .fabric import Fabric
    from .routes import Route

_PARENTS = 12  # Ranks looked at as the next on the way to one.
_PASSES = 3  # Times that all trees together are looked over for better ways.


@dataclass(slots=True)
class Tree:
    """The ``number``-th tree: shortest ways from a root to ranks, or ``backwards`` to the root, in
    the ``steps`` steps from ``begin``.

    ``layers``: its ranks at each distance from the root. ``ways``: the route between each rank and
    the next one towards the root, which ``parent`` names; ``choices``: what other ranks that could
    be. ``needed``: those that the tree is for, and the inner ones with as many ranks beyond them.
    """

    number: int
    root: int
    begin: int
    steps: int
    backwards: bool
    layers: list[list[int]]
    parent: dict[int, int] = field(default_factory=dict)
    ways: dict[int, Route] = field(default_factory=dict)
    choices: dict[int, list[int]] = field(default_factory=dict)
    needed: dict[int, int] = field(default_factory=dict)

    def asap(self, depth: int) -> int:
        """The step of a message at some distance from the root, if none waits."""
        return self.begin + (self.steps - depth if self.backwards else depth - 1)


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of a tree: ``child`` is the end that lies farther from the root."""

    child: int
    parent: int
    step: int
    route: Route


class Grove:
    """Trees on one fabric, each planned where the others leave most room.

    ``plan`` holds what the trees would load if no message waited; by that the ways are chosen.
    ``loads`` holds what they load where a message with time to spare goes in a step in which it
    costs least.
    """

    def __init__(self, fabric: Fabric, steps: int) -> None:
        self.fabric = fabric
        self.plan = Loads(fabric.ways.weights, steps)
        self.loads = Loads(fabric.ways.weights, steps)
        self.trees: list[Tree] = []

    def grow(
        self, root: int, targets: Iterable[int], begin: int, steps: int, *, backwards: bool = False
    ) -> Tree:
        """A tree between a root and some ranks, each as near to the root as can be.

        Raises ``UnreachedError`` and ``LateError``.
        """
        self.fabric.watch()
        distance, layers = self.fabric.reach(root, backwards)
        tree = Tree(len(self.trees), root, begin, steps, backwards, [[] for _ in layers])
        wanted: list[set[int]] = [set() for _ in layers]
        for rank in targets:
            if distance[rank] < 0:
                raise UnreachedError
            wanted[distance[rank]].add(rank)
            tree.needed[rank] = 1
        beside = self.fabric.beside[not backwards]
        for depth in range(len(layers) - 1, 0, -1):
            step, inner = tree.asap(depth), wanted[depth - 1]
            tree.layers[depth] = sorted(wanted[depth])
            for rank in tree.layers[depth]:
                if depth == 1:
                    some = [root]
                else:
                    some = [each for each in beside[rank] if distance[each] == depth - 1]
                    if len(some) > 1:
                        some = [each for each in some if each in inner] or some
                        at = (rank + root) % len(some)
                        some = (some[at:] + some[:at])[:_PARENTS]
                        if len(some) > 1:
                            tree.choices[rank] = some
                above, route = self._choose(tree, rank, some, step)
                tree.parent[rank], tree.ways[rank] = above, route
                tree.needed[above] = tree.needed.get(above, 0) + 1
                inner.add(above)
                self.plan.put(route, step)
        self.trees.append(tree)
        return tree

    def _choose(self, tree: Tree, rank: int, some: list[int], step: int) -> tuple[int, Route]:
        """The least busy way to one of some ranks a step nearer to the root."""
        best: tuple[int, int, Route] | None = None
        for above in some:
            ends = (rank, above) if tree.backwards else (above, rank)
            for route in self.fabric.routes(*ends):
                busiest = self.plan.look(route, step)
                if best is None or busiest < best[0]:
                    best = busiest, above, route
        assert best is not None
        return best[1], best[2]

    def refine(self) -> None:
        """Look over all the trees: a rank that has a less busy way within its tree takes that.

        Every other time it takes one that is as busy, too: that makes room elsewhere.
        """
        for turn in range(_PASSES):
            moved = False
            for tree in self.trees:
                self.fabric.watch()
                distance = self.fabric.reach(tree.root, tree.backwards)[0]
                for rank, some in tree.choices.items():
                    step = tree.asap(distance[rank])
                    moved = self._move(tree, rank, some, step, turn % 2 == 1) or moved
            if not moved:
                return

    def _move(self, tree: Tree, rank: int, some: list[int], step: int, sideways: bool) -> bool:
        old = tree.ways[rank]
        if tree.needed[tree.parent[rank]] == 1:  # It would be there for nothing.
            return False
        was = self.plan.look(old, step)
        self.plan.put(old, step, -1)
        inside = [each for each in some if each in tree.needed]
        above, route = self._choose(tree, rank, inside, step)
        weight = self.plan.weights[old.links[0]]
        better = self.plan.look(route, step) < was - (0 if sideways else weight)
        if better:
            tree.needed[tree.parent[rank]] -= 1
            tree.needed[above] += 1
            tree.parent[rank], tree.ways[rank] = above, route
        self.plan.put(route if better else old, step)
        return better

    def settle(self) -> dict[int, list[Hop]]:
        """Give every message of all trees its step; by the trees' numbers, nearest to a root first.

        Messages wait or they do not, whichever costs less.
        """
        hurried = sum(max(step.values(), default=0) for step in self.plan.steps)
        waiting = {number: self._wait(tree) for number, tree in enumerate(self.trees)}
        if sum(self.loads.peaks) <= hurried:
            return waiting
        self.loads.peaks = [max(step.values(), default=0) for step in self.plan.steps]
        return {
            number: [
                Hop(rank, tree.parent[rank], tree.asap(depth), tree.ways[rank])
                for depth, ranks in enumerate(tree.layers)
                for rank in ranks
            ]
            for number, tree in enumerate(self.trees)
        }

    def _wait(self, tree: Tree) -> list[Hop]:
        """The messages of a tree, each in the step in which it costs least."""
        self.fabric.watch()
        hops: list[Hop] = []
        end = tree.begin + tree.steps
        height: dict[int, int] = {}
        for ranks in reversed(tree.layers):
            for rank in ranks:
                above = tree.parent[rank]
                height[above] = max(height.get(above, 0), height.get(rank, 0) + 1)
        times = {tree.root: end if tree.backwards else tree.begin - 1}
        place, routes = self.loads.place, self.fabric.routes
        for ranks in tree.layers:
            for rank in ranks:
                above, spare = tree.parent[rank], height.get(rank, 0)
                if tree.backwards:
                    window = range(times[above] - 1, tree.begin + spare - 1, -1)
                    step, route = place(routes(rank, above), window)
                else:
                    window = range(times[above] + 1, end - spare)
                    step, route = place(routes(above, rank), window)
                times[rank] = step
                hops.append(Hop(rank, above, step, route))
        return hops
