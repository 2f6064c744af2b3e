"""An exhaustive search for schedules of a few steps, which shares nothing with the engine.

Every chunk of a block is followed for itself: all sets of messages of all steps but the last are
tried, and in the last, which the ranks take independently, all sets of messages that make what is
wanted. The loads of the chunks are then combined in every way. Routes are all simple paths through
switches, so what several links share is counted on each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundelay.dsl.model import Block, Problem, Topology

Bag = tuple[int, ...]
"""What was merged: sorted, or in the order of merging where that counts."""
State = tuple[frozenset[Bag], ...]
"""What every rank holds of one chunk."""
Path = tuple[int, int, tuple[int, ...]]
"""From a rank to a rank over these links."""
Message = tuple[Path, Bag]
Loads = tuple[int, ...]
"""Chunks on each link, step after step."""

MOST = 60_000
"""Ways that may be looked at side by side."""
EFFORT = 300_000
"""Ways that may be looked at for one chunk in all."""


class TooManyError(Exception):
    """There are more ways than an exhaustive search can look at."""


def fewest_rounds(problem: Problem, chunks: int, steps: int, each: int = 2) -> Fraction | None:
    """The least rounds of any schedule of so many steps; None where there is none.

    ``each``: messages of one chunk from one rank to another in one step, at most.
    Raises ``TooManyError``.
    """
    topology = problem.topology
    paths = _paths(topology)
    ways: list[list[Loads]] = []
    for block in problem.collective.blocks:
        found = _Chunk(problem, block, paths, each).ways(steps)
        if not found:
            return None
        ways += [found] * chunks
    speeds = [link.capacity / topology.slowest for link in topology.links]
    scale = lcm(*(speed.numerator for speed in speeds))
    weights = [int(scale / speed) for speed in speeds]
    return Fraction(_combine(ways, weights, steps), scale)


def _paths(topology: Topology) -> list[Path]:
    ranks = len(topology.ranks)
    found: list[Path] = []

    def walk(start: int, at: int, seen: tuple[int, ...], links: tuple[int, ...]) -> None:
        for number, link in enumerate(topology.links):
            if link.src != at or link.dst in seen:
                continue
            if link.dst < ranks:
                found.append((start, link.dst, (*links, number)))
            else:
                walk(start, link.dst, (*seen, link.dst), (*links, number))

    for rank in range(ranks):
        walk(rank, rank, (rank,), ())
    return found


@dataclass
class _Chunk:
    """One chunk of a block, on its way from its symbols to its wants."""

    problem: Problem
    block: Block
    paths: list[Path]
    each: int
    made: dict[frozenset[Bag], list[Bag]] = field(default_factory=dict)
    known: dict[tuple[State, int], list[Loads]] = field(default_factory=dict)
    kept: dict[tuple[int, State], list[Loads]] = field(default_factory=dict)
    effort: int = 0

    @property
    def ordered(self) -> bool:
        operator = self.problem.operator
        return operator is not None and not operator.commutative

    @property
    def overlaps(self) -> bool:
        operator = self.problem.operator
        return operator is not None and operator.commutative and operator.idempotent

    def ways(self, steps: int) -> list[Loads]:
        """The loads, none of them more than another's everywhere, with which it can be made."""
        ranks = range(len(self.problem.topology.ranks))
        start = tuple(
            frozenset((i,) for i, symbol in enumerate(self.block.symbols) if symbol.rank == rank)
            for rank in ranks
        )
        return self._from(start, steps)

    def _from(self, state: State, left: int) -> list[Loads]:
        if (state, left) not in self.known:
            ways = set(self._last(state) if left == 1 else self._first(state, left))
            self._spend(len(ways) ** 2 // 100)  # What it takes at most to compare them.
            self.known[state, left] = least(ways)
        return self.known[state, left]

    def _first(self, state: State, left: int) -> Iterator[Loads]:
        for messages in product(*self._choices(state)):
            sent = [message for several in messages for message in several]
            held = list(state)
            for (_, dst, _), bag in sent:
                held[dst] |= {bag}
            load = self._load(sent)
            self._spend(1)
            for rest in self._from(tuple(held), left - 1):
                yield (*load, *rest)

    def _choices(self, state: State) -> list[list[tuple[Message, ...]]]:
        """For every pair of ranks, what may go from one to the other in one step."""
        pairs: dict[tuple[int, int], list[Message]] = {}
        for path in self.paths:
            for bag in self.merges(state[path[0]]):
                if bag not in state[path[1]]:
                    pairs.setdefault(path[:2], []).append((path, bag))
        choices: list[list[tuple[Message, ...]]] = []
        count = 1
        for several in pairs.values():
            options: list[tuple[Message, ...]] = [()]
            for number in range(1, self.each + 1):
                options += [
                    chosen
                    for chosen in combinations(several, number)
                    if len({bag for _, bag in chosen}) == number
                ]
            count *= len(options)
            choices.append(options)
        if count > MOST:
            raise TooManyError
        return choices

    def _last(self, state: State) -> Iterator[Loads]:
        """The last step: no rank hinders another but by the loads of the links."""
        options = [self._ending(rank, state) for rank in range(len(state))]
        count = 1
        for several in options:
            count *= len(several)
        if count > MOST:
            raise TooManyError
        self._spend(count)
        for loads in product(*options):
            yield tuple(map(sum, zip(*loads, strict=True)))

    def _ending(self, rank: int, state: State) -> list[Loads]:
        key = rank, state
        if key not in self.kept:
            goals = [want.symbols for want in self.block.wants if want.rank == rank]
            if not self.ordered:
                goals = [tuple(sorted(goal)) for goal in goals]
            found: set[tuple[Message, ...]] = {()}
            for goal in goals:
                found = {
                    tuple(sorted(more))
                    for sent in found
                    for more in self._cover(rank, state, sent, goal, goal)
                }
            self.kept[key] = least(self._load(sent) for sent in found)
        return self.kept[key]

    def _cover(
        self, rank: int, state: State, sent: tuple[Message, ...], goal: Bag, rest: Bag
    ) -> Iterator[tuple[Message, ...]]:
        """The messages with which a rank can merge ``rest``, those ``sent`` among them."""
        self._spend(1)
        if not rest:
            yield sent
            return
        for bag in {*state[rank], *(bag for _, bag in sent)}:
            if self._fits(bag, goal, rest):
                yield from self._cover(rank, state, sent, goal, self._less(rest, bag))
        for path in self.paths:
            if path[1] != rank or sum(p[0] == path[0] for p, _ in sent) >= self.each:
                continue
            for bag in self.merges(state[path[0]]):
                if self._fits(bag, goal, rest):
                    more = (*sent, (path, bag))
                    yield from self._cover(rank, state, more, goal, self._less(rest, bag))

    def _fits(self, bag: Bag, goal: Bag, rest: Bag) -> bool:
        if self.problem.operator is None:
            return bag == goal
        if self.ordered:
            return bag == rest[: len(bag)]
        return rest[0] in bag and {*bag} <= {*(goal if self.overlaps else rest)}

    def _less(self, rest: Bag, bag: Bag) -> Bag:
        return tuple(symbol for symbol in rest if symbol not in bag)

    def _spend(self, ways: int) -> None:
        self.effort += ways
        if self.effort > EFFORT:
            raise TooManyError

    def merges(self, held: frozenset[Bag]) -> list[Bag]:
        """Everything that a rank can make of what it holds."""
        if held not in self.made:
            made = set(held)
            fresh = set(held) if self.problem.operator is not None else set()
            while fresh:
                fresh = {self._join(a, b) for a in fresh for b in held if self._joins(a, b)} - made
                made |= fresh
            self.made[held] = sorted(made)
        return self.made[held]

    def _joins(self, a: Bag, b: Bag) -> bool:
        return self.overlaps or not {*a} & {*b}

    def _join(self, a: Bag, b: Bag) -> Bag:
        return a + b if self.ordered else tuple(sorted({*a, *b}))

    def _load(self, sent: Iterable[Message]) -> Loads:
        load = [0] * len(self.problem.topology.links)
        for (_, _, links), _ in sent:
            for link in links:
                load[link] += 1
        return tuple(load)


def least(ways: Iterable[Loads]) -> list[Loads]:
    """Those that are not at least another one everywhere."""
    kept: list[Loads] = []
    for way in sorted(set(ways), key=lambda way: (sum(way), way)):
        if not any(all(a <= b for a, b in zip(other, way, strict=True)) for other in kept):
            kept.append(way)
    return kept


def _combine(ways: list[list[Loads]], weights: list[int], steps: int) -> int:
    """The least time of all chunks together, one way each."""
    links = len(weights)

    def cost(load: Loads) -> int:
        return sum(
            max((w * x for w, x in zip(weights, load[t * links : (t + 1) * links], strict=True)),
                default=0)
            for t in range(steps)
        )  # fmt: skip

    def add(one: Loads, other: Loads) -> Loads:
        return tuple(a + b for a, b in zip(one, other, strict=True))

    ways = sorted(ways, key=len)
    greedy: Loads = (0,) * (links * steps)
    for several in ways:
        greedy = min((add(greedy, way) for way in several), key=cost)
    most = cost(greedy)
    partial: set[Loads] = {(0,) * (links * steps)}
    for several in ways:
        if len(partial) * len(several) > EFFORT:
            raise TooManyError
        partial = {both for a in partial for b in several if cost(both := add(a, b)) <= most}
    return min(map(cost, partial))
