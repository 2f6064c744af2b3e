"""Newton's method on max-flows: from one cut to a steeper one, until there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .flow_door import Flows

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from .clock import Clock
    from .network import Network

Targets = list[tuple[list[int], dict[int, int]]]
"""Ranks that want the same, and how many values of each root they do."""


class Newton:
    """Raises the ratio of messages to capacity until no rank is cut off more steeply.

    With the ratio p/q a source sends q for each value to its root, and links carry p times their
    capacity. Where less than all of it reaches a rank that wants it, the nodes that stay on the
    source's side are a steeper cut. ``reverse``: values with one wanting rank each, seen with all
    links the other way round. ``offer`` takes a cut and returns the new ratio.
    """

    def __init__(
        self,
        network: Network,
        clock: Clock,
        ratio: Fraction,
        offer: Callable[[list[int]], Fraction],
        *,
        reverse: bool,
    ) -> None:
        self.network, self.clock, self.offer, self.reverse = network, clock, offer, reverse
        self.source = network.nodes
        self.arcs = network.directed(reverse=reverse)
        self.room = [0] * network.nodes
        for tail, _, capacity in self.arcs:
            self.room[tail] += capacity
        self._set_ratio(ratio)

    def _set_ratio(self, ratio: Fraction) -> None:
        self.ratio = ratio
        p = ratio.numerator
        self.given = [0] * self.network.ranks
        sources = [(self.source, rank, 0) for rank in range(self.network.ranks)]
        self.flows = Flows(self.source + 1, [*sources, *((u, v, p * c) for u, v, c in self.arcs)])

    def _give(self, given: dict[int, int]) -> None:
        """What the source sends to each rank."""
        changed = [rank for rank, old in enumerate(self.given) if old != given.get(rank, 0)]
        self.flows.put(changed, [given.get(rank, 0) for rank in changed])
        for rank in changed:
            self.given[rank] = given.get(rank, 0)

    def run(self, classes: Targets) -> bool:
        """Whether there was time to look at all targets."""
        return all(self._serve(targets, weights) for targets, weights in classes)

    def _serve(self, targets: list[int], weights: dict[int, int]) -> bool:
        """Look at all ranks that want the same.

        A target that gets all it wants can be one with the source: what remains to be looked at
        are cuts with it on the source's side.
        """
        total = sum(weights.values())
        done: list[int] = []
        fresh = True
        for target in targets:
            own = weights.get(target, 0)  # What a target holds, it need not get.
            while True:
                if self.clock.out():
                    return False
                if fresh:
                    self._give(self._first(weights, done))
                    fresh = False
                self._put(target, 0)
                value, side = self.flows.cut(self.source, target, far=True)
                if value >= self.ratio.denominator * (total - own):
                    break
                kept = [node for node in side if node != self.source]
                if self.reverse:
                    kept = sorted(set(range(self.network.nodes)).difference(kept))
                ratio = self.offer(kept)
                if ratio <= self.ratio:
                    raise AssertionError("a cut that is no steeper")
                self._set_ratio(ratio)
                fresh = True
            done.append(target)
            self._put(target, self._all(target, weights))
        return True

    def _put(self, rank: int, amount: int) -> None:
        if self.given[rank] != amount:
            self.flows.put([rank], [amount])
            self.given[rank] = amount

    def _all(self, rank: int, weights: dict[int, int]) -> int:
        """More than any cut has to spare for a rank on the sink's side."""
        p, q = self.ratio.numerator, self.ratio.denominator
        return 1 + p * self.room[rank] + q * weights.get(rank, 0)

    def _first(self, weights: dict[int, int], done: list[int]) -> dict[int, int]:
        given = {rank: self.ratio.denominator * count for rank, count in weights.items()}
        return given | {rank: self._all(rank, weights) for rank in done}
