"""From a solver's values to a schedule: what is refused, and that nothing wrong gets through."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Operator, Variable, scalar_body
from roundelay.synth.checker import ScheduleError, check
from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.plan import encode
from roundelay.synth.schedule import Query, Schedule

from .mutants import mutants
from .problems import (
    MAX,
    SUB,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    line,
    machine,
    pcie_box,
    reduce,
    reduce_scatter,
    ring,
    scan,
    scatter,
    switched,
    to_and_fro,
    within,
)
from .replay import WrongError, replay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Problem
    from roundelay.synth.exact.classes import Variant
    from roundelay.synth.exact.model import Model
    from roundelay.synth.exact.plan import Plan

FIRST = Operator("first", scalar_body(Variable(0)), idempotent=True)
UNEQUAL = machine(
    "unequal",
    4,
    [(0, 1, 1, 3), (1, 2, 2, 2), (2, 3, 1, 2), (3, 0, 1, Fraction(5, 2)), (2, 0, 1, 5),
     (1, 0, 1, 2), (3, 2, 3, 2)],
    two_way=False,
)  # fmt: skip
"""Four ranks whose links all have speeds of their own, most of them one way alone."""
TWO_BOXES = machine(
    "two boxes", 4, [(0, 4, 1, 3), (1, 4, 1, 2), (2, 5, 1, 3), (3, 5, 1, 3), (4, 5, 1, 2)], 2
)
"""Two pairs around a switch each; one link of the switches is shared by all that cross."""


@dataclass(frozen=True)
class Case:
    problem: Problem
    query: Query
    variant: Variant = "full"
    ordered: bool = False


def query(chunks: int, steps: int, rounds: int | Fraction) -> Query:
    return Query(chunks, steps, Fraction(rounds))


CASES: dict[str, Case] = {
    "copies": Case(ask(ring(4), all_gather(4)), query(1, 3, 4)),
    "copies, unequal": Case(ask(UNEQUAL, all_gather(4)), query(1, 3, 5)),
    "copies, boxes": Case(ask(TWO_BOXES, all_gather(4)), query(1, 2, 6)),
    "copies, ordered chunks": Case(ask(line(3), broadcast(3)), query(3, 4, 5), ordered=True),
    "pairs, boxes": Case(ask(TWO_BOXES, all_to_all(4)), query(1, 2, 8)),
    "to all, unequal": Case(ask(UNEQUAL, scatter(4, 2)), query(2, 3, 6)),
    "reduction, unequal": Case(ask(UNEQUAL, reduce(4, 1)), query(2, 3, 5)),
    "reductions, boxes": Case(ask(TWO_BOXES, reduce_scatter(4)), query(1, 2, 6)),
    "trees": Case(ask(ring(4), all_reduce(4)), query(2, 4, 5), "trees"),
    "trees, unequal": Case(ask(UNEQUAL, all_reduce(4)), query(1, 5, 8), "trees"),
    "trees, boxes": Case(ask(TWO_BOXES, all_reduce(4)), query(2, 4, 8), "trees"),
    "trees in order": Case(ask(ring(4), all_reduce(4), SUB), query(1, 4, 6), "trees"),
    "merges": Case(ask(ring(4), all_reduce(4)), query(1, 2, 3)),
    "merges, unequal": Case(ask(UNEQUAL, all_reduce(4)), query(1, 3, 6)),
    "merges, boxes": Case(ask(pcie_box(), all_reduce(4)), query(1, 2, 6)),
    "merges of prefixes": Case(ask(ring(4), scan(4), MAX), query(1, 2, 3)),
    "gossip": Case(ask(ring(4), all_reduce(4), MAX), query(1, 2, 3)),
    "gossip, unequal": Case(ask(UNEQUAL, all_reduce(4), MAX), query(1, 3, 6)),
    "gossip, boxes": Case(ask(TWO_BOXES, all_reduce(4), MAX), query(1, 2, 6)),
    "order": Case(ask(ring(3), all_reduce(3), SUB), query(1, 2, 3)),
    "order, unequal": Case(ask(UNEQUAL, scan(4), FIRST), query(1, 3, 8)),
    "both orders": Case(ask(ring(4), to_and_fro(4), FIRST), query(1, 2, 6)),
    "groups": Case(ask(ring(5), within(all_reduce, ((0, 3), (1, 4)), 5)), query(1, 3, 5)),
    "slots, unequal": Case(ask(UNEQUAL, all_reduce(4)), query(1, 3, 6), "slots"),
    "alike copies": Case(ask(ring(5), all_gather(5)), query(2, 3, 6), "symmetric"),
    "alike copies, hub": Case(ask(switched(4), all_gather(4)), query(1, 3, 5), "symmetric"),
    "alike pairs": Case(ask(ring(4), all_to_all(4)), query(1, 2, 5), "symmetric"),
    "alike trees": Case(ask(ring(4), all_reduce(4)), query(4, 6, 9), "symmetric-trees"),
    "alike merges": Case(ask(complete(3), all_reduce(3)), query(3, 2, 4), "symmetric"),
    "alike gossip": Case(ask(ring(4), all_reduce(4), MAX), query(4, 2, 8), "symmetric"),
}


@cache
def plan_of(name: str) -> Plan:
    case = CASES[name]
    return encode(case.problem, case.query, case.variant, ordered=case.ordered)


def satisfies(model: Model, values: list[bool]) -> bool:
    """The meaning of a model, once more: nothing of it is asked for what its rows mean."""
    true = {i if value else -i for i, value in enumerate(values, 1)}
    for clause in model.clauses:
        if not true & {*clause}:
            return False
    for group in model.groups:
        if sum(literal in true for literal in group) > 1:
            return False
    return all(sum(w for w, lit in terms if lit in true) <= most for terms, most in model.rows)


def solutions(plan: Plan, count: int, chance: random.Random) -> Iterator[list[bool]]:
    """Solutions far apart: each with some variables held at values drawn at random."""
    model = plan.model
    clauses = list(model.clauses)
    for number in range(4 * count):
        held = chance.sample(range(1, model.variables + 1), min(model.variables, number % 12))
        model.clauses[:] = clauses + [(name * chance.choice((1, -1)),) for name in held]
        try:
            values = cpsat_door.decide(model, 10, number, lambda _: None)
        finally:
            model.clauses[:] = clauses
        if isinstance(values, list):
            yield values
            count -= 1
            if not count:
                return


def decoded(name: str, values: list[bool]) -> Schedule:
    case = CASES[name]
    plain = plan_of(name).read(values)
    return Schedule(case.problem, case.query.chunks, plain.steps, plain.sends, plain.results)


def accept(name: str, values: list[bool]) -> Schedule:
    """Decode values that satisfy the model; the schedule is right and within the query."""
    schedule, asked = decoded(name, values), CASES[name].query
    verdict = check(schedule)
    assert verdict.rounds == replay(schedule) <= asked.rounds
    assert schedule.steps <= asked.steps
    assert not verdict.unused
    return schedule


@pytest.mark.parametrize("name", CASES)
def test_every_flipped_value_is_refused_or_right(name: str) -> None:
    """One value after the other is turned over, then pairs: either it still is a solution, and a
    right schedule, or it is refused.
    """
    chance = random.Random(name)
    model = plan_of(name).model
    refused = 0
    for values in solutions(plan_of(name), 3, chance):
        assert satisfies(model, values)
        accept(name, values)
        singles = [(i,) for i in range(model.variables)]
        pairs = [tuple(chance.sample(range(model.variables), 2)) for _ in range(30)]
        for places in [*chance.sample(singles, min(len(singles), 80)), *pairs]:
            changed = values[:]
            for place in places:
                changed[place] = not changed[place]
            if satisfies(model, changed):
                accept(name, changed)
                continue
            refused += 1
            with pytest.raises(RuntimeError, match="does not satisfy"):
                decoded(name, changed)
    assert refused


@pytest.mark.parametrize("name", CASES)
def test_random_values_are_refused(name: str) -> None:
    chance = random.Random(name)
    model = plan_of(name).model
    for bias in (0.0, 0.02, 0.1, 0.5, 1.0):
        values = [chance.random() < bias for _ in range(model.variables)]
        if satisfies(model, values):
            accept(name, values)
            continue
        with pytest.raises(RuntimeError, match="does not satisfy"):
            decoded(name, values)


@pytest.mark.parametrize("name", CASES)
def test_every_solution_is_a_right_schedule(name: str) -> None:
    """Solvers give tidy solutions; walking on from one reaches those with idle values set."""
    chance = random.Random(name + "!")
    model = plan_of(name).model
    seen = set()
    for values in solutions(plan_of(name), 6, chance):
        seen.add(str(accept(name, values)))
        for _ in range(40):
            place = chance.randrange(model.variables)
            values[place] = not values[place]
            if not satisfies(model, values):
                values[place] = not values[place]
        seen.add(str(accept(name, values)))
    assert len(seen) > 1


# ------------------------------------------------------------------ mutated schedules


@pytest.mark.parametrize("name", CASES)
def test_the_checker_says_what_the_simulator_says(name: str) -> None:
    """Of every mutated schedule: that it is right and takes so many rounds, or that it is wrong."""
    chance = random.Random(name)
    right = wrong = 0
    for values in solutions(plan_of(name), 2, chance):
        several = list(mutants(accept(name, values), chance))
        for kind, mutant in chance.sample(several, min(len(several), 400)):
            expected = _replayed(mutant)
            assert _checked(mutant) == expected, f"{kind}\n{mutant}"
            right, wrong = right + (expected is not None), wrong + (expected is None)
    assert right
    assert wrong > 20


def _replayed(schedule: Schedule) -> Fraction | None:
    try:
        return replay(schedule)
    except WrongError:
        return None


def _checked(schedule: Schedule) -> Fraction | None:
    try:
        return check(schedule).rounds
    except ScheduleError:
        return None


def test_the_simulator_knows_right_from_wrong() -> None:
    """Two ranks that exchange, over links of which one is three times the other's speed."""
    pair = machine("pair", 2, [(0, 1, 1, 1), (1, 0, 3, 1)], two_way=False)
    schedule = accept_alone(ask(pair, all_reduce(2)), query(3, 1, 3))
    assert replay(schedule) == 3
    longer = replace(schedule, sends=schedule.sends[:-1])
    with pytest.raises(WrongError):
        replay(longer)
    assert replay(replace(schedule, steps=2)) == 3


def accept_alone(problem: Problem, asked: Query) -> Schedule:
    plan = encode(problem, asked, "full")
    values = cpsat_door.decide(plan.model, 10, 0, lambda _: None)
    assert isinstance(values, list)
    plain = plan.read(values)
    return Schedule(problem, asked.chunks, plain.steps, plain.sends, plain.results)
