"""Operators that are not commutative: what is merged stays in the order of the wanted symbols."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Limits, Objective, Operator, Symbol, Want
from roundelay.synth.checker import check
from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.classes import list_variants, name_class
from roundelay.synth.exact.encodings.ordered import is_run, list_orders
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.plan import encode
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import Found, Got, Impossible, Own, Query, Schedule
from roundelay.synth.search import search

from .brute import fewest_rounds
from .problems import (
    SUB,
    all_gather,
    all_reduce,
    ask,
    complete,
    line,
    machine,
    reduce,
    reduce_scatter,
    ring,
    scan,
    stencil,
    switched,
    to_and_fro,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.schedule import Part

ANY = Fraction(10**6)
LAST = Operator("last", SUB.body, idempotent=True)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def carried(schedule: Schedule) -> list[tuple[int, ...]]:
    """What every message is made of, and every result behind them, from their parts alone."""
    contents: list[tuple[int, ...]] = []

    def merge(parts: tuple[Part, ...]) -> tuple[int, ...]:
        return tuple(
            s for p in parts for s in ((p.symbol,) if isinstance(p, Own) else contents[p.send])
        )

    for send in schedule.sends:
        contents.append(merge(send.parts))
    return contents + [merge(result.parts) for result in schedule.results]


MACHINES = [ring(3), ring(4), ring(5), line(4), complete(4), switched(4)]


@pytest.mark.parametrize("variant", ["trees", "full"])
@pytest.mark.parametrize("make", [all_reduce, reduce, reduce_scatter, scan])
@pytest.mark.parametrize("topology", MACHINES, ids=lambda t: t.name)
def test_found_in_order(
    topology: Topology, make: Callable[[int], Collective], variant: str
) -> None:
    """Both encodings, decoded: every message is a run of 0, 1, 2, …, every result as wanted."""
    n = len(topology.ranks)
    problem = ask(topology, make(n), SUB)
    chosen = [each for each in list_variants(problem, Query(1, 3, ANY)) if each == variant]
    assert bool(chosen) == (variant == "full" or make is not scan)
    for each in chosen:
        query = Query(2, n, ANY)
        plan = encode(problem, query, each)
        values = cpsat_door.decide(plan.model, 30, 0, lambda _: None)
        assert isinstance(values, list)
        plain = plan.read(values)
        schedule = Schedule(problem, 2, plain.steps, plain.sends, plain.results)
        check(schedule)
        everything = tuple(range(n))
        assert all(is_run(content, everything) for content in carried(schedule))


@pytest.mark.parametrize("kind", ["latency", "bandwidth", "time"])
def test_searches_find_schedules_in_order(kind: str) -> None:
    objective = Objective(kind, 1 << 20 if kind == "time" else 0)  # type: ignore[arg-type]
    problem = ask(ring(4), all_reduce(4), SUB, Limits(chunks=(1, 8), objective=objective))
    said = search(problem, budget=6)
    assert isinstance(said.outcome, Found)
    check(said.outcome.schedule)
    assert said.outcome.cost.per_byte >= said.bound.per_byte


def test_order_costs_rounds(pool: Pool) -> None:
    """Around a one-way ring of three: no partial result can pass from rank 2 by 0 to 1.

    So no chunk starts at rank 2, and three chunks load the two other links 9 times.
    """
    circle = machine("one way", 3, [(0, 1, 1), (1, 2, 1), (2, 0, 1)], two_way=False)
    query = Query(3, 4, Fraction(4))
    summed = solve(ask(circle, all_reduce(3)), query, budget=30, pool=pool)
    assert isinstance(summed, Found)
    ordered = ask(circle, all_reduce(3), SUB)
    refuted = solve(ordered, query, budget=30, pool=pool)
    assert isinstance(refuted, Impossible)
    assert not refuted.certificate.complete
    more = solve(ordered, Query(3, 5, Fraction(5)), budget=30, pool=pool)
    assert isinstance(more, Found)


def test_what_is_held_between_can_be_sent_back(pool: Pool) -> None:
    """Rank 1 holds the middle of what rank 0 holds the ends of, and wants all of it."""
    block = Block(
        (Symbol((0, 0), 0), Symbol((1, 0), 1), Symbol((0, 1), 0)), (Want(1, (1,), (0, 1, 2)),)
    )
    problem = ask(complete(2), Collective("ends", (), 2, (block,)), SUB)
    outcome = solve(problem, Query(1, 2, ANY), budget=30, pool=pool)
    assert isinstance(outcome, Found)
    apart = solve(problem, Query(1, 1, ANY), budget=30, pool=pool)
    assert isinstance(apart, Found)  # Two messages at once do, by the shortest ways.
    once = solve(problem, Query(1, 1, ANY), budget=30, pool=pool, solver="cpsat")
    assert isinstance(once, Impossible)
    assert not once.certificate.complete
    assert "at most one message" in once.certificate.reason


def test_what_comes_back_may_be_longer(pool: Pool) -> None:
    """Of 0 to 4, rank 1 holds 1 and 3 and wants all: it gets 0, and its own 3 back within 2 3 4."""
    symbols = tuple(Symbol((s % 2, s // 2), s % 2) for s in range(5))
    block = Block(symbols, (Want(1, (1,), (0, 1, 2, 3, 4)),))
    problem = ask(complete(2), Collective("comb", (), 2, (block,)), SUB)
    outcome = solve(problem, Query(1, 2, ANY), budget=30, pool=pool)
    assert isinstance(outcome, Found)


# ------------------------------------------------------------------ several orders


def test_prefixes_and_parts_of_an_order_are_no_orders_of_their_own() -> None:
    assert list_orders(scan(5).blocks[0]) == ((0, 1, 2, 3, 4),)
    assert list_orders(to_and_fro(3).blocks[0]) == ((0, 1, 2), (2, 1, 0))
    assert len(list_orders(stencil(4).blocks[0])) == 4


@pytest.mark.parametrize("make", [to_and_fro, stencil])
@pytest.mark.parametrize("topology", [ring(4), complete(4), line(4)], ids=lambda t: t.name)
def test_wants_in_several_orders(
    topology: Topology, make: Callable[[int], Collective], pool: Pool
) -> None:
    problem = ask(topology, make(4), SUB)
    assert list_variants(problem, Query(1, 3, ANY)) == ("full",)
    outcome = solve(problem, Query(1, 4, ANY), budget=30, pool=pool)
    assert isinstance(outcome, Found)
    check(outcome.schedule)


def _random_machine(chance: random.Random) -> Topology:
    pairs = [pair for pair in permutations(range(3), 2) if chance.random() < 0.75]
    return machine("random", 3, [(i, j, chance.randint(1, 2)) for i, j in pairs], two_way=False)


def test_random_orders_agree_with_brute_force(pool: Pool) -> None:
    """Every rank wants some of the symbols in an order of its own."""
    chance = random.Random(17)
    answers = []
    for _ in range(25):
        wants = []
        for rank in range(3):
            order = list(range(3))
            chance.shuffle(order)
            wants.append(Want(rank, (rank,), tuple(order[: chance.randint(1, 3)])))
        block = Block(tuple(Symbol((s,), s) for s in range(3)), tuple(wants))
        problem = ask(_random_machine(chance), Collective("random", (), 3, (block,)), SUB)
        if problem.operator is None:
            continue
        for steps in (1, 2):
            fewest = fewest_rounds(problem, 1, steps)
            answers.append(fewest)
            if fewest is None:
                continue
            found = solve(problem, Query(1, steps, fewest), budget=30, pool=pool, solver="cpsat")
            assert isinstance(found, Found)
            assert found.cost.rounds == fewest or fewest == 0
            if fewest > 0:
                fewer = Query(1, steps, fewest - Fraction(1, 1000))
                less = solve(problem, fewer, budget=30, pool=pool, solver="cpsat")
                assert isinstance(less, Impossible)
    assert len([each for each in answers if each]) > 10


# ------------------------------------------------------------------ what is proved


def test_classes_are_named_for_what_they_are() -> None:
    def named(make: Callable[[int], Collective], operator: Operator, steps: int) -> str:
        text, whole = name_class(ask(ring(4), make(4), operator), Query(1, steps, ANY), "full")
        assert whole == (text == "all schedules of messages from rank to rank")
        return text.removeprefix("all schedules of messages from rank to rank")

    assert named(all_gather, SUB, 9) == ""
    one = " with at most one message a chunk, pair of ranks and step"
    for make in (all_reduce, reduce, reduce_scatter, scan):
        assert named(make, SUB, 1) == ""
        assert named(make, SUB, 2) == one
        assert named(make, LAST, 2) == one + ", that merge no value twice"
    assert not name_class(_two_of_one(), Query(1, 1, ANY), "full")[1]


def _two_of_one() -> Problem:
    block = Block((Symbol((0, 0), 0), Symbol((0, 1), 0)), (Want(1, (1,), (0, 1)),))
    return ask(complete(2), Collective("ends", (), 2, (block,)), SUB)


def test_the_operator_of_copies_does_not_matter() -> None:
    problem = ask(ring(3), all_gather(3), SUB)
    assert list_variants(problem, Query(1, 3, ANY)) == ("symmetric", "full")


def test_runs_at_every_rank_of_one_step_are_all_schedules(pool: Pool) -> None:
    outcome = solve(ask(complete(4), all_reduce(4), SUB), Query(2, 1, Fraction(1)), budget=30,
                    pool=pool)  # fmt: skip
    assert isinstance(outcome, Impossible)
    assert outcome.certificate.complete


def test_a_result_is_in_order_even_without_a_message(pool: Pool) -> None:
    """One block needs messages, the other none: its rank holds all, in another order."""
    held = tuple(Symbol((0, i), 0) for i in range(3))  # The last is not wanted: trees do not fit.
    there = Block(held, (Want(0, (0,), (1, 0)),))
    away = Block((Symbol((1, 0), 1), Symbol((0, 3), 0)), (Want(0, (1,), (0, 1)),))
    problem = ask(complete(2), Collective("two", (), 2, (there, away)), SUB)
    outcome = solve(problem, Query(1, 1, ANY), budget=30, pool=pool)
    assert isinstance(outcome, Found)
    assert outcome.schedule.results[0].parts == (Own(1), Own(0))
    assert outcome.schedule.results[1].parts == (Got(0), Own(1))


def test_model_sizes_do_not_explode() -> None:
    """The models of a ring of eight stay small enough for any solver."""
    model = encode(ask(ring(8), all_reduce(8), SUB), Query(2, 8, Fraction(8)), "full").model
    assert model.size < 400_000
