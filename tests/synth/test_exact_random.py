"""The exact engine against an exhaustive search, on random small machines and collectives."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Operator, Symbol, Variable, Want
from roundelay.dsl.model import scalar_body as body
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.pool import Pool
from roundelay.synth.routes import measure_hops
from roundelay.synth.schedule import ANY_ROUNDS, Found, Impossible, Query

from .brute import fewest_rounds as fewest_rounds_direct
from .exhaustive import TooManyError, fewest_rounds
from .problems import (
    MAX,
    SUB,
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    gather,
    machine,
    reduce,
    reduce_scatter,
    ring,
    scan,
    scatter,
    stencil,
    to_and_fro,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.schedule import Outcome

FIRST = Operator("first", body(Variable(0)), idempotent=True)
OPERATORS = {"sum": SUM, "max": MAX, "sub": SUB, "first": FIRST}
SPEEDS = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2))
TINY = Fraction(1, 1000)  # Less than any two sums of loads over these speeds differ by.


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


# ------------------------------------------------------------------ what is drawn


def draw_machine(chance: random.Random, ranks: int) -> Topology:
    """Directed links of unequal speeds; every other machine has switches and shares an uplink."""
    if chance.random() < 0.5:
        return _direct(chance, ranks)
    return _switched(chance, ranks) if chance.random() < 0.5 else _two_boxes(chance, ranks)


def _speed(chance: random.Random) -> tuple[int, Fraction]:
    return chance.randint(1, 2), chance.choice(SPEEDS)


def _direct(chance: random.Random, ranks: int) -> Topology:
    pairs = [(i, j) for i in range(ranks) for j in range(ranks) if i != j]
    kept = [(i, (i + 1) % ranks) for i in range(ranks)]
    others = [pair for pair in pairs if pair not in kept]
    kept += chance.sample(others, min(len(others), chance.randint(1, 3)))
    return machine("random", ranks, [(i, j, *_speed(chance)) for i, j in kept], two_way=False)


def _switched(chance: random.Random, ranks: int) -> Topology:
    """Every rank at one switch, up and down at different speeds, and one direct link more."""
    links = [(r, ranks, *_speed(chance)) for r in range(ranks)]
    links += [(ranks, r, *_speed(chance)) for r in range(ranks)]
    a, b = chance.sample(range(ranks), 2)
    links.append((a, b, *_speed(chance)))
    return machine("random", ranks, links, 1, two_way=False)


def _two_boxes(chance: random.Random, ranks: int) -> Topology:
    """Two switches joined by one link each way, which all that cross have to share."""
    at = [ranks + (r * 2 >= ranks) for r in range(ranks)]
    links = [(r, at[r], *_speed(chance)) for r in range(ranks)]
    links += [(at[r], r, *_speed(chance)) for r in range(ranks)]
    links += [(ranks, ranks + 1, *_speed(chance)), (ranks + 1, ranks, *_speed(chance))]
    return machine("random", ranks, links, 2, two_way=False)


def draw_collective(chance: random.Random, ranks: int, *, combining: bool) -> Collective:
    """Blocks that nothing of the library is like: symbols, wants and subsets anywhere."""
    blocks = []
    for number in range(chance.randint(1, 2)):
        givers = [chance.randrange(ranks) for _ in range(chance.randint(2, 3))]
        symbols = tuple(Symbol((number, i), rank) for i, rank in enumerate(givers))
        wants = []
        for position in range(chance.randint(1, 3)):
            most = len(symbols) if combining else 1
            wanted = chance.sample(range(len(symbols)), chance.randint(1, most))
            wants.append(Want(chance.randrange(ranks), (number, position), tuple(wanted)))
        blocks.append(Block(symbols, tuple(wants)))
    return Collective("drawn", ("sum",) if combining else (), ranks, tuple(blocks))


# ------------------------------------------------------------------ how it is compared


def answer(problem: Problem, chunks: int, steps: int, rounds: Fraction, pool: Pool) -> Outcome:
    query = Query(chunks, steps, rounds)
    return solve(problem, query, budget=60, solver="cpsat", pool=pool)


def agrees(problem: Problem, chunks: int, steps: int, pool: Pool) -> bool | None:
    """Whether there is a schedule, which both must say; None where the search has too many.

    The engine finds the least rounds that the exhaustive search found, and nothing below. Where
    it says of an impossibility that it holds for one message at a time alone, that search is
    narrowed to the same class.
    """
    try:
        fewest = fewest_rounds(problem, chunks, steps)
        narrow = fewest_rounds(problem, chunks, steps, each=1)
    except TooManyError:
        return None
    if fewest is None:
        outcome = answer(problem, chunks, steps, Fraction(ANY_ROUNDS), pool)
        assert isinstance(outcome, Impossible), (problem, chunks, steps)
        return False
    at_least = answer(problem, chunks, steps, fewest, pool)
    if isinstance(at_least, Found):
        assert at_least.cost.rounds == fewest
    else:
        assert isinstance(at_least, Impossible)
        assert not at_least.certificate.complete, (problem, chunks, steps, fewest)
        assert narrow != fewest, (problem, chunks, steps, fewest)
        assert narrow is None or isinstance(answer(problem, chunks, steps, narrow, pool), Found)
    if fewest:
        below = answer(problem, chunks, steps, fewest - TINY, pool)
        assert isinstance(below, Impossible), (problem, chunks, steps, fewest)
    return True


def compare(
    seed: str,
    make: Callable[[random.Random, int], Collective],
    operator: Operator,
    pool: Pool,
    *,
    trials: int,
    most: int,
    steps: int,
) -> int:
    """How many machines and step counts had a schedule, of those that could be decided."""
    chance = random.Random(seed)
    found = 0
    for _ in range(trials):
        ranks = chance.randint(2, most)
        topology, collective = draw_machine(chance, ranks), make(chance, ranks)
        chunks = chance.randint(1, 2) if len(collective.blocks) < 3 else 1
        problem = ask(topology, collective, operator)
        for number in range(1, steps + 1):
            found += agrees(problem, chunks, number, pool) is True
    return found


def rooted(
    make: Callable[[int, int], Collective],
) -> Callable[[random.Random, int], Collective]:
    return lambda chance, ranks: make(ranks, chance.randrange(ranks))


def everywhere(make: Callable[[int], Collective]) -> Callable[[random.Random, int], Collective]:
    return lambda _, ranks: make(ranks)


def grouped(make: Callable[[int], Collective]) -> Callable[[random.Random, int], Collective]:
    """Within two groups of ranks, drawn out of their order."""

    def drawn(chance: random.Random, ranks: int) -> Collective:
        order = chance.sample(range(ranks), ranks)
        cut = chance.randint(1, ranks - 1)
        return within(make, (tuple(order[:cut]), tuple(order[cut:])), ranks)

    return drawn


COPYING: dict[str, Callable[[random.Random, int], Collective]] = {
    "broadcast": rooted(broadcast),
    "gather": rooted(gather),
    "scatter": rooted(scatter),
    "all_gather": everywhere(all_gather),
    "all_to_all": everywhere(all_to_all),
    "all_gather within": grouped(all_gather),
    "all_to_all within": grouped(all_to_all),
    "drawn": lambda chance, ranks: draw_collective(chance, ranks, combining=False),
}
COMBINING: dict[str, Callable[[random.Random, int], Collective]] = {
    "reduce": rooted(reduce),
    "reduce_scatter": everywhere(reduce_scatter),
    "all_reduce": everywhere(all_reduce),
    "scan": everywhere(scan),
    "stencil": everywhere(lambda n: stencil(max(n, 3)) if n > 2 else all_reduce(n)),
    "to_and_fro": everywhere(to_and_fro),
    "all_reduce within": grouped(all_reduce),
    "reduce_scatter within": grouped(reduce_scatter),
    "drawn": lambda chance, ranks: draw_collective(chance, ranks, combining=True),
}


@pytest.mark.parametrize("name", COPYING)
def test_copies_agree(name: str, pool: Pool) -> None:
    assert compare(name, COPYING[name], SUM, pool, trials=5, most=4, steps=3) >= 4


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", COMBINING)
def test_combinations_agree(name: str, operator: str, pool: Pool) -> None:
    seed = name + operator
    assert compare(seed, COMBINING[name], OPERATORS[operator], pool, trials=4, most=3, steps=2) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*COPYING, *COMBINING}))
def test_five_ranks_or_three_steps_agree(name: str, pool: Pool) -> None:
    """One machine of each, where the exhaustive search can say at all."""
    make = ({**COPYING, **COMBINING})[name]
    for operator in (SUM, MAX):
        compare(f"{name} 5", make, operator, pool, trials=1, most=5, steps=2)
        compare(f"{name} 3", make, operator, pool, trials=1, most=3, steps=3)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("name", COPYING)
def test_many_copies_agree(name: str, seed: int, pool: Pool) -> None:
    compare(f"{name} {seed}", COPYING[name], SUM, pool, trials=6, most=5, steps=3)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", COMBINING)
def test_many_combinations_agree(name: str, operator: str, seed: int, pool: Pool) -> None:
    make = COMBINING[name]
    compare(f"{name}{operator}{seed}", make, OPERATORS[operator], pool, trials=4, most=5, steps=2)
    compare(f"{seed}{name}{operator}", make, OPERATORS[operator], pool, trials=2, most=3, steps=3)


# ------------------------------------------------------------------ the search itself


@pytest.mark.parametrize(
    ("topology", "collective", "operator", "chunks", "steps", "rounds"),
    [
        # Every rank sends to each other one at once.
        (complete(4), all_reduce(4), SUM, 1, 1, 1),
        (complete(4), all_gather(4), SUM, 2, 1, 2),
        # Two values reach every rank of a circle over both sides; four of five take two steps.
        (ring(5), all_gather(5), SUM, 1, 1, None),
        (ring(5), all_gather(5), SUM, 1, 2, 2),
        (ring(3), all_reduce(3), MAX, 2, 1, 2),
        # The slow link takes twice the time of the fast one.
        (machine("pair", 2, [(0, 1, 1, 2), (1, 0, 1, 1)], two_way=False), all_reduce(2), SUM, 3, 1,
         3),
        # Through a switch each rank takes in one value at a time.
        (machine("hub", 3, [(r, 3, 1) for r in range(3)], 1), all_gather(3), SUM, 1, 1, 2),
    ],
)  # fmt: skip
def test_the_exhaustive_search_knows_these(
    topology: Topology,
    collective: Collective,
    operator: Operator,
    chunks: int,
    steps: int,
    rounds: int | None,
) -> None:
    problem = ask(topology, collective, operator)
    assert fewest_rounds(problem, chunks, steps) == rounds


@pytest.mark.parametrize("operator", ["sum", "max"])
def test_both_exhaustive_searches_agree(operator: str) -> None:
    chance = random.Random(operator)
    for make in (all_reduce, scan, reduce):
        for steps in (1, 2):
            problem = ask(_direct(chance, 3), make(3), OPERATORS[operator])
            expected = fewest_rounds_direct(problem, 1, steps)
            assert fewest_rounds(problem, 1, steps) == expected


def test_fewer_steps_than_the_distance_have_no_schedule() -> None:
    chance = random.Random("distance")
    for _ in range(20):
        topology = draw_machine(chance, 4)
        far = max(h for row in measure_hops(topology) for h in row if h is not None)
        if far > 1:
            assert fewest_rounds(ask(topology, all_gather(4)), 1, far - 1) is None
