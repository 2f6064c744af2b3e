"""Cuts: sets of ranks whose leaving data takes its links longest.

The steepest cut of a collective whose values have one holder each, or are wanted by one rank
each, is found by Newton's method on max-flows; other collectives get the best of many cuts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.synth.subsets import list_bits

from .network import Cutter
from .newton import Newton
from .sides import likely_sides

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .clock import Clock
    from .demands import Demands
    from .network import Network
    from .newton import Targets

_ALL_SUBSETS = 12  # Ranks up to which every set of ranks is tried as a side.
_PAIRS = 4096  # Pairs of ranks looked at where no rank both holds and wants.


Needs = dict[tuple[int, int], int]
"""How many values by their holding and their wanting ranks, as bits."""


@dataclass(frozen=True, slots=True)
class Cut:
    """So many messages of a chunk must leave ``side``, nodes of the network, over ``capacity``.

    ``ratio`` is their quotient.
    """

    messages: int
    capacity: int
    side: tuple[int, ...]

    @property
    def ratio(self) -> Fraction:
        """Messages for each unit of capacity."""
        return Fraction(self.messages, self.capacity)


class CutSearch:
    """The steepest cut seen so far; ``exact`` says whether no cut is steeper."""

    def __init__(self, network: Network, demands: Demands, clock: Clock) -> None:
        self.network = network
        self.demands = demands
        self.clock = clock
        self.best: Cut | None = None
        self.exact = False
        self.whole = (1 << network.ranks) - 1
        leaving: list[list[tuple[int, int]]] = [[] for _ in range(network.nodes)]
        for tail, head, capacity in network.arcs:
            leaving[tail].append((head, capacity))
        self._leaving = leaving

    def take(self, sides: Iterable[Iterable[int]]) -> None:
        """Offer sides among which the steepest cut is, or that prove as much as it does."""
        for side in sides:
            self.offer(side)
        self.exact = True

    def run(self) -> Cut:
        """Try what fits the demands; the best cut found within the time."""
        demands = self.demands
        self._try_ports()
        assert self.best is not None  # Some data moves, so the set of its holder alone is crossed.
        if self.exact:
            return self.best
        spread, collected, joined = _sort(demands)
        finished = True
        alone = not demands.simple and not demands.mixed
        one_source = alone and len({source for source, _ in demands.pairs}) == 1
        one_target = alone and len({target for _, target in demands.pairs}) == 1
        if spread or (demands.pairs and (one_target or not one_source)):
            finished = self._newton(_targets(spread, demands.pairs), reverse=False)
        if collected or (demands.pairs and not one_target):
            turned = {(w, h): n for (h, w), n in collected.items()}
            swapped = {(t, h): n for (h, t), n in demands.pairs.items()}
            finished = self._newton(_targets(turned, swapped), reverse=True) and finished
        if joined or demands.mixed:
            finished = self._join([*joined, *demands.mixed_ends()]) and finished
        self.exact = finished and _is_complete(demands, spread, collected, joined)
        if not self.exact:
            self._try_many()
        return self.best

    def offer(self, side: Iterable[int]) -> bool:
        """Count what must leave some nodes of the network; whether it is the steepest cut yet."""
        nodes = sorted(side)
        ranks = sum(1 << node for node in nodes if node < self.network.ranks)
        messages = self.demands.messages(ranks)
        if not messages:
            return False
        inside = bytearray(self.network.nodes)
        for node in nodes:
            inside[node] = 1
        capacity = sum(c for u in nodes for v, c in self._leaving[u] if not inside[v])
        cut = Cut(messages, capacity, tuple(nodes))
        if self.best is None or cut.ratio > self.best.ratio:
            self.best = cut
            return True
        return False

    def _try_ports(self) -> None:
        """What leaves one rank, and what reaches one: of the thinnest ports that matter."""
        nodes = range(self.network.nodes)
        for inward in (False, True):
            room = [0] * self.network.nodes
            for tail, head, capacity in self.network.arcs:
                room[head if inward else tail] += capacity
            for rank in sorted(range(self.network.ranks), key=lambda rank: (room[rank], rank)):
                if self.demands.messages(self.whole ^ 1 << rank if inward else 1 << rank):
                    self.offer(node for node in nodes if (node == rank) != inward)
                    break

    def _newton(self, classes: Targets, *, reverse: bool) -> bool:
        """Raise the ratio by all that targets want; False where time was short."""
        assert self.best is not None
        ratio = self.best.ratio
        return Newton(self.network, self.clock, ratio, self._steeper, reverse=reverse).run(classes)

    def _steeper(self, side: list[int]) -> Fraction:
        self.offer(side)
        assert self.best is not None
        return self.best.ratio

    # -------------------------------------------------------------------------- other cuts

    def _join(self, ends: list[tuple[int, int]]) -> bool:
        """Min cuts between those who hold a value and those who want it.

        All cuts that matter where there is one value: the steepest is the least cut between a
        holder and a wanting rank, and a rank that does both is on one of its sides.
        """
        cutter = Cutter(self.network)
        tasks: dict[tuple[int, int], None] = {}
        for holding, wanting in dict.fromkeys(ends):
            both = holding & wanting
            if both:
                pivot = both & -both
                tasks |= dict.fromkeys((pivot, 1 << w) for w in list_bits(wanting & ~pivot))
                if not self.network.symmetric or holding != wanting:
                    tasks |= dict.fromkeys((1 << h, pivot) for h in list_bits(holding & ~pivot))
            else:
                hs, ws = list_bits(holding), list_bits(wanting)
                tasks |= dict.fromkeys((1 << h, 1 << w) for h in hs for w in ws)
            if len(tasks) > _PAIRS:
                break
        for source, sink in list(tasks)[:_PAIRS]:
            if self.clock.out():
                return False
            self.offer(cutter.between(source, sink))
        return len(tasks) <= _PAIRS

    def _try_many(self) -> None:
        """Sides of all kinds: all there are of a few ranks, else those that look likely."""
        cutter = Cutter(self.network)
        for side in self._sides():
            if self.clock.out():
                return
            if self.demands.messages(side):
                self.offer(cutter.around(side))

    def _sides(self) -> Iterator[int]:
        if self.network.ranks <= _ALL_SUBSETS:
            yield from range(1, self.whole)
            return
        for side in likely_sides(self.network.topology):
            yield side
            yield self.whole ^ side


def _sort(demands: Demands) -> tuple[Needs, Needs, Needs]:
    """Values that one rank holds, values that one rank wants, and others."""
    spread: Needs = {}
    collected: Needs = {}
    joined: Needs = {}
    for (holding, wanting), count in demands.simple.items():
        if not holding & (holding - 1):
            spread[holding, wanting] = count
        elif not wanting & (wanting - 1):
            collected[holding, wanting] = count
        else:
            joined[holding, wanting] = count
    return spread, collected, joined


def _is_complete(demands: Demands, spread: Needs, collected: Needs, joined: Needs) -> bool:
    """Whether the search has seen to all cuts: every cut parts a target of all that crosses."""
    kinds = sum(map(bool, (demands.pairs, spread, collected, joined, demands.mixed)))
    if kinds != 1 or demands.mixed:
        return False
    if demands.pairs:
        return any(len({pair[end] for pair in demands.pairs}) == 1 for end in (0, 1))
    if joined:
        return len(joined) == 1
    return len({w for _, w in spread} | {h for h, _ in collected}) == 1


def _targets(needs: Needs, pairs: Mapping[tuple[int, int], int]) -> Targets:
    """Targets that want the same of the same roots, and how much of each root.

    ``needs`` are (root, targets) as bits, ``pairs`` (root, target) as numbers.
    """
    classes: dict[int, dict[int, int]] = {}
    for (root, many), count in needs.items():
        of_root = classes.setdefault(many, {})
        number = root.bit_length() - 1
        of_root[number] = of_root.get(number, 0) + count
    alone: dict[int, dict[int, int]] = {}
    for (number, target), count in pairs.items():
        alone.setdefault(target, {})[number] = count
    wanted: dict[int, list[int]] = {rank: [] for rank in alone}
    for many in classes:
        for rank in list_bits(many):
            wanted.setdefault(rank, []).append(many)
    together: dict[tuple[int, ...], list[int]] = {}
    for rank in sorted(wanted):
        key = (*wanted[rank], -1 - rank) if rank in alone else tuple(wanted[rank])
        together.setdefault(key, []).append(rank)
    result: Targets = []
    for masks, targets in together.items():
        weights = dict(alone.get(targets[0], {}))
        for many in masks:
            for root, count in classes.get(many, {}).items():
                weights[root] = weights.get(root, 0) + count
        result.append((targets, weights))
    return result
