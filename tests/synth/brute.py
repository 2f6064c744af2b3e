"""An exhaustive search over tiny schedules: what the exact engine's answers are compared with.

One or two steps, direct links only. It knows nothing of encodings: it enumerates every set of
first messages, and for every rank every set of last messages, up to two of one chunk a link.
Without commutativity it merges sequences, one of a chunk a link, as the engine does.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundelay.dsl.model import Block, Problem

Bag = tuple[int, ...]
"""What was merged: sorted, or in the order of merging where that counts."""


def fewest_rounds(problem: Problem, chunks: int, steps: int) -> Fraction | None:
    """The least rounds of any schedule of one or two steps; None where there is none."""
    links = problem.topology.links
    speed = [link.capacity / problem.topology.slowest for link in links]
    blocks = [block for block in problem.collective.blocks for _ in range(chunks)]
    ranks = range(len(problem.topology.ranks))
    own: list[list[set[Bag]]] = [
        [{(s,) for s, symbol in enumerate(b.symbols) if symbol.rank == r} for r in ranks]
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
        rest = _last_step(problem, blocks, held, speed)
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
) -> Fraction | None:
    """The least time of a last step; links are direct, so the ranks decide independently."""
    worst = Fraction(0)
    for rank in range(len(problem.topology.ranks)):
        into = [at for at, link in enumerate(problem.topology.links) if link.dst == rank]
        ways: list[set[tuple[int, ...]]] = []
        for item, block in enumerate(blocks):
            goals = [want.symbols for want in block.wants if want.rank == rank]
            if not _in_order(problem):
                goals = [tuple(sorted(goal)) for goal in goals]
            ways.append(_loads(problem, into, held[item], rank, goals))
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
) -> set[tuple[int, ...]]:
    """The loads of the links into a rank with which it can make all its goals of one chunk."""
    options: list[list[tuple[Bag, ...]]] = []
    for at in into:
        bags = sorted(_merges(problem, held[problem.topology.links[at].src]))
        pairs = [] if _in_order(problem) else combinations(bags, 2)
        options.append([(), *((b,) for b in bags), *pairs])
    good: set[tuple[int, ...]] = set()
    for chosen in product(*options):
        loads = tuple(len(bags) for bags in chosen)
        if loads not in good:
            made = _merges(problem, held[rank].union(*chosen))
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


def _in_order(problem: Problem) -> bool:
    return problem.operator is not None and not problem.operator.commutative


def _merges(problem: Problem, bags: Iterable[Bag]) -> set[Bag]:
    """Everything that a rank can make of what it holds."""
    idempotent = problem.operator is not None and problem.operator.idempotent
    given = set(bags)
    made: set[Bag] = set()
    if _in_order(problem):
        longer = given
        while longer:
            made |= longer
            longer = {a + b for a in longer for b in given if not {*a} & {*b}}
        return made
    for bag in given:
        made |= {bag} | {
            tuple(sorted({*bag, *other})) for other in made if idempotent or not {*bag} & {*other}
        }
    return made
