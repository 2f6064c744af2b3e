"""An exhaustive search over tiny schedules: what the exact engine's answers are compared with.

One or two steps, direct links only. It knows nothing of encodings: it enumerates every set of
first messages, and for every rank every set of last messages, up to two of one chunk a link.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundelay.dsl.model import Block, Problem

Bag = frozenset[int]


def fewest_rounds(problem: Problem, chunks: int, steps: int) -> Fraction | None:
    """The least rounds of any schedule of one or two steps; None where there is none."""
    links = problem.topology.links
    speed = [link.capacity / problem.topology.slowest for link in links]
    blocks = [block for block in problem.collective.blocks for _ in range(chunks)]
    idempotent = problem.operator is not None and problem.operator.idempotent
    ranks = range(len(problem.topology.ranks))
    own = [
        [{frozenset({s}) for s, symbol in enumerate(b.symbols) if symbol.rank == r} for r in ranks]
        for b in blocks
    ]
    best: Fraction | None = None
    for first in _first_steps(problem, blocks, own) if steps == 2 else [()]:
        took = max(
            (Fraction(sum(1 for link, _, _ in first if link == at)) / speed[at]
             for at, _, _ in first),
            default=Fraction(0),
        )  # fmt: skip
        if best is not None and took >= best:
            continue
        held = [[set(bags) for bags in item] for item in own]
        for link, item, bag in first:
            held[item][links[link].dst].add(bag)
        rest = _last_step(problem, blocks, held, speed, idempotent)
        if rest is not None and (best is None or took + rest < best):
            best = took + rest
    return best


def _first_steps(
    problem: Problem, blocks: list[Block], own: list[list[set[Bag]]]
) -> Iterator[tuple[tuple[int, int, Bag], ...]]:
    choices = [
        [(), ((link, item, bag),)]
        for item in range(len(blocks))
        for link, ends in enumerate(problem.topology.links)
        for bag in own[item][ends.src]
    ]
    for chosen in product(*choices):
        yield tuple(message for some in chosen for message in some)


def _last_step(
    problem: Problem,
    blocks: list[Block],
    held: list[list[set[Bag]]],
    speed: list[Fraction],
    idempotent: bool,
) -> Fraction | None:
    """The least time of a last step; links are direct, so the ranks decide independently."""
    worst = Fraction(0)
    for rank in range(len(problem.topology.ranks)):
        into = [at for at, link in enumerate(problem.topology.links) if link.dst == rank]
        ways: list[set[tuple[int, ...]]] = []
        for item, block in enumerate(blocks):
            goals = [frozenset(want.symbols) for want in block.wants if want.rank == rank]
            ways.append(_loads(problem, into, held[item], rank, goals, idempotent))
        times = [
            max(
                (Fraction(sum(loads[i] for loads in way)) / speed[at] for i, at in enumerate(into)),
                default=Fraction(0),
            )
            for way in product(*ways)
        ]
        if not times:
            return None
        worst = max(worst, min(times))
    return worst


def _loads(
    problem: Problem,
    into: list[int],
    held: list[set[Bag]],
    rank: int,
    goals: list[Bag],
    idempotent: bool,
) -> set[tuple[int, ...]]:
    """The loads of the links into a rank with which it can make all its goals of one chunk."""
    options: list[list[tuple[Bag, ...]]] = []
    for at in into:
        bags = sorted(_merges(held[problem.topology.links[at].src], idempotent), key=sorted)
        options.append([(), *((b,) for b in bags), *combinations(bags, 2)])
    good: set[tuple[int, ...]] = set()
    for chosen in product(*options):
        loads = tuple(len(bags) for bags in chosen)
        if loads not in good:
            made = _merges(held[rank].union(*chosen), idempotent)
            if all(goal in made for goal in goals):
                good.add(loads)
    return {
        loads
        for loads in good
        if not any(
            other != loads and all(a <= b for a, b in zip(other, loads, strict=True))
            for other in good
        )
    }


def _merges(bags: Iterable[Bag], idempotent: bool) -> set[Bag]:
    """Everything that a rank can make of what it holds."""
    made: set[Bag] = set()
    for bag in bags:
        made |= {bag} | {bag | other for other in made if idempotent or not bag & other}
    return made
