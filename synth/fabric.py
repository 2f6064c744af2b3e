"""The ranks of a machine as one step joins them, and what steps put on the links between them."""

from __future__ import annotations

import time
from operator import add
from typing import TYPE_CHECKING

from .bounds.steps import list_near
from .routes import Route
from .subsets import list_bits
from .ways import Ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundelay.dsl.model import Topology

_FAR = 1 << 40  # Steps where no way leads.
_ROUTES = 12  # Routes through switches looked at for one pair of ranks.


class LateError(Exception):
    """The time is over."""


class UnreachedError(Exception):
    """No way leads to a rank."""


class Loads:
    """What each step has put on the links, times a whole-number weight for each link's slowness.

    ``peaks`` are those of the busiest link of each step; their sum is what a schedule costs.
    """

    def __init__(self, weights: Sequence[int], steps: int) -> None:
        self.weights = weights
        self.steps: list[dict[int, int]] = [{} for _ in range(steps)]
        self.peaks = [0] * steps

    def copy(self) -> Loads:
        """Another one to try things on."""
        other = Loads(self.weights, 0)
        other.steps = [dict(step) for step in self.steps]
        other.peaks = list(self.peaks)
        return other

    def look(self, route: Route, step: int) -> int:
        """The load of a route's busiest link, if one message more took it."""
        load, weights, busiest = self.steps[step], self.weights, 0
        for link in route.links:
            busy = load.get(link, 0) + weights[link]
            if busy > busiest:
                busiest = busy
        return busiest

    def put(self, route: Route, step: int, times: int = 1) -> None:
        """Count messages on every link of a route, whatever that does to the peaks."""
        load, weights = self.steps[step], self.weights
        for link in route.links:
            load[link] = load.get(link, 0) + times * weights[link]

    def place(self, routes: Sequence[Route], steps: Iterable[int]) -> tuple[int, Route]:
        """Put a message where it costs least: in the first of equal steps, over the first route."""
        best: tuple[int, int, Route, int] | None = None
        for step in steps:
            peak = self.peaks[step]
            for route in routes:
                busiest = self.look(route, step)
                more = busiest - peak
                if best is None or more < best[0]:
                    best = more, step, route, busiest
                    if more <= 0:
                        break
            if best is not None and best[0] <= 0:
                break
        assert best is not None
        _, step, route, busiest = best
        self.peaks[step] = max(self.peaks[step], busiest)
        self.put(route, step)
        return step, route


class Fabric:
    """The ranks of a machine as one step joins them, and how far they are apart.

    ``deadline`` is a time of ``time.monotonic``; whatever is asked for after it raises
    ``LateError``.
    """

    def __init__(self, topology: Topology, deadline: float | None = None) -> None:
        self.deadline = deadline
        self.ranks = len(topology.ranks)
        self.ways = Ways(topology)
        self.near = (self._list(topology, False), self._list(topology, True))
        self.beside = tuple([list_bits(bits) for bits in near] for near in self.near)
        self._reached: dict[tuple[int, bool], tuple[list[int], list[list[int]]]] = {}
        self._routes: dict[tuple[int, int], tuple[Route, ...]] = {}

    @staticmethod
    def _list(topology: Topology, backwards: bool) -> list[int]:
        near = list_near(topology, backwards=backwards)
        return [bits & ~(1 << rank) for rank, bits in enumerate(near)]

    def watch(self) -> None:
        """Raise ``LateError`` where the time is over."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LateError

    def reach(self, root: int, backwards: bool) -> tuple[list[int], list[list[int]]]:
        """Steps from a root to every rank (backwards: to the root; -1: no way), and the ranks at
        each distance in order.
        """
        key = root, backwards
        if key not in self._reached:
            self.watch()
            near = self.near[backwards]
            distance = [-1] * self.ranks
            distance[root] = 0
            layers = [[root]]
            seen = 1 << root
            while layers[-1]:
                found = 0
                for rank in layers[-1]:
                    found |= near[rank]
                found &= ~seen
                seen |= found
                layer = list_bits(found)
                for rank in layer:
                    distance[rank] = len(layers)
                layers.append(layer)
            layers.pop()
            self._reached[key] = distance, layers
        return self._reached[key]

    def measure(self, root: int, ranks: Iterable[int], backwards: bool) -> int:
        """Steps to the farthest of some ranks; raises ``UnreachedError``."""
        distance = self.reach(root, backwards)[0]
        steps = 0
        for rank in ranks:
            if distance[rank] < 0:
                raise UnreachedError
            steps = max(steps, distance[rank])
        return steps

    def find_centre(self, givers: list[int], takers: list[int]) -> list[tuple[int, int, int]]:
        """The ranks by which the way from all givers to all takers is shortest, with the steps to
        them and from them; raises ``UnreachedError`` where there is none.
        """
        into, out = [0] * self.ranks, [0] * self.ranks
        for ends, backwards, farthest in ((givers, False, into), (takers, True, out)):
            for end in ends:
                for rank, steps in enumerate(self.reach(end, backwards)[0]):
                    farthest[rank] = max(farthest[rank], steps if steps >= 0 else _FAR)
        least = min(map(add, into, out))
        if least >= _FAR:
            raise UnreachedError
        return [way for way in zip(range(self.ranks), into, out, strict=True)
                if way[1] + way[2] == least]  # fmt: skip

    def routes(self, src: int, dst: int) -> tuple[Route, ...]:
        """The shortest routes from a rank to one that is a step away; different pairs begin with
        different ones.
        """
        key = src, dst
        if key not in self._routes:
            self.watch()
            ways = self.ways.list_shortest(src, dst)
            at = (src + dst) % len(ways)
            kept = (ways[at:] + ways[:at])[:_ROUTES]
            self._routes[key] = tuple(Route(src, dst, links) for links in kept)
        return self._routes[key]
