"""Collectives within groups of ranks, and such as people write themselves."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Limits, Objective, Symbol, Want
from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.certificates import verify
from roundelay.synth.checker import check
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import Found, Query
from roundelay.synth.search import search

from .brute import fewest_rounds
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
    copies,
    line,
    machine,
    reduce_scatter,
    ring,
    scan,
    stencil,
    switched,
    torus,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundelay.dsl.model import Operator, Problem, Topology
    from roundelay.synth.schedule import Answer

HALVES = ((0, 1, 2, 3), (4, 5, 6, 7))
STRIDES = ((0, 2, 4, 6), (7, 5, 3, 1))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def answer(problem: Problem, budget: float = 4) -> Answer:
    said = search(problem, budget=budget)
    assert isinstance(said.outcome, Found), said.outcome
    check(said.outcome.schedule)
    assert said.outcome.cost.per_byte >= said.bound.per_byte
    assert said.outcome.schedule.steps >= said.bound.steps
    for certificate in said.bound.certificates:
        verify(problem, certificate)
    return said


@pytest.mark.parametrize(
    ("make", "operator"),
    [
        *((make, op) for make in (all_reduce, reduce_scatter, scan) for op in (SUM, MAX, SUB)),
        (all_gather, None),
        (all_to_all, None),
    ],
)
@pytest.mark.parametrize("groups", [HALVES, STRIDES, ((6, 1), (2, 5, 3))], ids=str)
def test_groups(
    groups: tuple[tuple[int, ...], ...],
    make: Callable[[int], Collective],
    operator: Operator | None,
    pool: Pool,
) -> None:
    problem = ask(torus(4, 2), within(make, groups, 8), operator)
    limit = bound(problem)
    for certificate in limit.certificates:
        verify(problem, certificate)
    query = Query(1, limit.steps + 2, Fraction(10**6))
    outcome = solve(problem, query, budget=30, pool=pool)
    assert isinstance(outcome, Found)
    assert outcome.cost.rounds >= limit.rounds
    assert outcome.schedule.steps >= limit.steps
    members = [rank for group in groups for rank in group]
    assert {want.rank for block in problem.collective.blocks for want in block.wants} == {*members}


def test_groups_keep_to_their_own_parts_of_a_machine() -> None:
    """Two rings without a link between them: whoever is in a group takes part, no one else."""
    rings = [(0, 1, 1), (1, 2, 1), (0, 2, 1), (3, 4, 1), (4, 5, 1), (3, 5, 1)]
    topology = machine("two rings", 6, rings)
    said = answer(ask(topology, within(all_reduce, ((0, 1, 2), (5, 4, 3)), 6)))
    assert said.bound.rounds == Fraction(2, 3)
    with pytest.raises(UnsupportedError, match=r"gpu\[0\] to gpu\[3\]|gpu\[3\] to gpu\[0\]"):
        bound(ask(topology, within(all_reduce, ((0, 1, 3),), 6)))


def test_groups_at_once_meet_the_bound_of_one() -> None:
    """Each half of a switch's ranks has its links to itself."""
    limits = Limits(chunks=(4, 4), objective=Objective("bandwidth"))
    said = answer(ask(switched(8), within(all_reduce, HALVES, 8), limits=limits), 20)
    assert said.bound.rounds == bound(ask(switched(4), all_reduce(4))).rounds
    assert said.proved


def transpose(width: int, height: int) -> Collective:
    """Rank (i, j) of a grid wants what rank (j, i) of the turned grid gave."""
    wanted: dict[int, tuple[int, ...]] = {
        i * height + j: (j * width + i,) for i in range(width) for j in range(height)
    }
    return copies("transpose", width * height, wanted)


def halo(ranks: int) -> Collective:
    """Every rank of a line wants what its one or two neighbours gave, side by side."""
    near = {s: tuple(r for r in (s - 1, s + 1) if 0 <= r < ranks) for s in range(ranks)}
    return copies("halo", ranks, near)


CUSTOM: list[tuple[str, Topology, Collective, int]] = [
    ("transpose", torus(3, 3), transpose(3, 3), 2),
    ("oblong", torus(3, 2), transpose(3, 2), 2),
    ("halo", line(5), halo(5), 1),
    ("subset", ring(5), copies("subset", 5, dict.fromkeys(range(5), (1, 3))), 2),
    ("few give", switched(5), copies("few", 5, {0: (2, 3), 4: (3,)}), 1),
    ("stay", ring(3), copies("stay", 3, {s: (s,) for s in range(3)}), 0),
    ("nothing", ring(3), copies("nothing", 3, {}), 0),
    ("stencil", ring(5), stencil(5), 1),
    ("twice", ring(3), Collective("twice", (), 3, (
        Block((Symbol((0,), 0),), (Want(1, (1, 0), (0,)), Want(1, (1, 1), (0,)))),)), 1),
    ("two sums", complete(3), Collective("two", (), 3, (
        Block(tuple(Symbol((s,), s) for s in range(3)), (
            Want(0, (0, 0), (0, 1)), Want(0, (0, 1), (1, 2)), Want(2, (2, 0), (1,)))),)), 1),
    ("many of one", ring(3), Collective("many", (), 3, (
        Block(tuple(Symbol((0, k), 0) for k in range(3)), (Want(2, (2,), (2, 0, 1)),)),)), 1),
]  # fmt: skip


ASKED = [
    pytest.param(topology, collective, steps, operator, id=f"{name}-{operator.name}")
    for name, topology, collective, steps in CUSTOM
    for operator in ((SUM, MAX, SUB) if collective.combines else (SUM,))
]


@pytest.mark.parametrize(("topology", "collective", "steps", "operator"), ASKED)
def test_custom(topology: Topology, collective: Collective, steps: int, operator: Operator) -> None:
    said = answer(ask(topology, collective, operator, Limits(chunks=(1, 2))), 2)
    assert said.bound.steps == steps


def _random_collective(chance: random.Random) -> Collective:
    """Two ranks or three, a symbol or two at most at each, and whatever is wanted of them."""
    blocks: list[Block] = []
    for b in range(chance.randint(1, 2)):
        holders = [rank for rank in range(3) for _ in range(chance.choice((0, 1, 1, 1)))]
        if not holders:
            continue
        symbols = tuple(Symbol((rank, b, i), rank) for i, rank in enumerate(holders))
        wants = []
        for w in range(chance.randint(0, 3)):
            picked = chance.sample(range(len(symbols)), chance.randint(1, len(symbols)))
            wants.append(Want(chance.randrange(3), (b, w), tuple(picked)))
        blocks.append(Block(symbols, tuple(wants)))
    return Collective("random", (), 3, tuple(blocks))


@pytest.mark.parametrize("operator", [SUM, MAX, SUB], ids=["sum", "max", "sub"])
def test_bounds_are_never_above_what_a_schedule_takes(operator: Operator) -> None:
    """Against the best schedules there are of one or two steps, of anything one could want."""
    chance = random.Random(operator.name)
    tight = several = 0
    for _ in range(120):
        pairs = [pair for pair in permutations(range(3), 2) if chance.random() < 0.6]
        links = [(i, j, chance.randint(1, 2)) for i, j in pairs]
        if not links:
            continue
        topology = machine("random", 3, links, two_way=False)
        problem = ask(topology, _random_collective(chance), operator)
        try:
            limit = bound(problem)
        except UnsupportedError:
            assert fewest_rounds(problem, 1, 2) is None
            continue
        for certificate in limit.certificates:
            verify(problem, certificate)
        for steps in (1, 2):
            fewest = fewest_rounds(problem, 1, steps)
            if fewest is not None:
                assert limit.steps <= steps
                assert limit.rounds <= fewest
                tight += limit.rounds == fewest > 0
                several += 1
    assert several > 50
    assert tight > 20


@pytest.mark.parametrize("operator", [SUM, MAX, SUB], ids=["sum", "max", "sub"])
def test_whatever_is_found_of_random_wants_is_right(operator: Operator, pool: Pool) -> None:
    """More steps than brute force can look at, and a limit on rounds that has to be kept."""
    chance = random.Random(operator.name)
    found = 0
    for _ in range(12):
        problem = ask(chance.choice((ring(3), line(3), switched(3))), _random_collective(chance),
                      operator)  # fmt: skip
        limit = bound(problem)
        for rounds in (limit.rounds, 2 * limit.rounds, limit.rounds + 4):
            query = Query(2, limit.steps + 2, 2 * rounds)
            outcome = solve(problem, query, budget=20, pool=pool, solver="cpsat")
            if isinstance(outcome, Found):
                check(outcome.schedule)
                assert 2 * limit.rounds <= outcome.cost.rounds <= 2 * rounds
                found += 1
    assert found > 12


def test_a_group_of_one_needs_nothing() -> None:
    said = answer(ask(ring(3), within(all_reduce, ((1,), (2, 0)), 3)))
    assert said.bound.steps == 1
    assert all({send.src, send.dst} == {0, 2} for send in _found(said).schedule.sends)


def _found(said: Answer) -> Found:
    assert isinstance(said.outcome, Found)
    return said.outcome


def test_ranks_outside_a_group_may_pass_on() -> None:
    """Ranks 0 and 2 of a line talk by way of rank 1, which wants nothing itself."""
    said = answer(ask(line(3), within(broadcast, ((2, 0),), 3)))
    assert [(send.src, send.dst) for send in _found(said).schedule.sends] == [(2, 1), (1, 0)]
