from __future__ import annotations

import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.operators import UnsupportedOperatorError
from roundelay.codegen.program import Program, RankProgram, Receive, Slot, Transmit
from roundelay.dsl.model import Apply, Operator, Variable, scalar_body
from roundelay.runtime.interpreter import DeadlockError, load
from tests.arrays import expected, inputs_of, run, run_in_place
from tests.schedules import (
    COLLECTIVES,
    MAX,
    SCALED,
    SUM,
    all_reduce,
    problem,
    random_schedule,
    ring_all_reduce,
)


@pytest.mark.parametrize("name", sorted(COLLECTIVES))
@pytest.mark.parametrize("operator", [SUM, MAX, SCALED])
def test_every_interleaving_gives_the_wanted_values(name: str, operator: Operator) -> None:
    element = ELEMENTS["i32"]
    for seed in range(6):
        schedule = random_schedule(COLLECTIVES[name](2 + seed % 4), operator, 1 + seed % 3, seed)
        program = lower(schedule)
        for count in (0, 1, 13):
            given = inputs_of(schedule.problem, element, count, seed)
            right = expected(schedule.problem, element, given, count)
            for chance in (None, 1, 2):
                executor = load(None, program, element, chance)
                made = run(executor, schedule.problem, element, count, given)
                assert [a.tobytes() for a in made] == [b.tobytes() for b in right]


def test_in_place_and_out_of_place_give_the_same() -> None:
    for name, make in COLLECTIVES.items():
        schedule = random_schedule(make(4), SUM, 3, 1)
        element = ELEMENTS["bf16"]
        executor = load(None, lower(schedule), element)
        given = inputs_of(schedule.problem, element, 50)
        placed = run_in_place(executor, schedule.problem, element, 50, given)
        if placed is None:
            assert name in ("all_to_all", "scan", "shift")
            continue
        apart = run(executor, schedule.problem, element, 50, given)
        assert [a.tobytes() for a in placed] == [b.tobytes() for b in apart]


def test_sixteen_bits_are_rounded_once() -> None:
    """256 and seven ones: rounding at every hop of a ring would stay at 256."""
    element = ELEMENTS["bf16"]
    program = lower(ring_all_reduce(8, 1))
    given = inputs_of(program.problem, element, 4)
    for rank, array in enumerate(given):
        array[:] = 256 if rank == 0 else 1
    for made in run(load(None, program, element), program.problem, element, 4, given):
        assert [float(value) for value in made] == [264.0] * 4


@pytest.mark.parametrize("seed", [None, 3])
def test_a_standstill_is_reported_with_what_everyone_waits_for(seed: int | None) -> None:
    a, out = Slot("input", 0), Slot("output", 0)
    lanes = [
        (Receive(1 - r, 0, before=(a,), stores=(out,)), Transmit(1 - r, 0, (a,))) for r in (0, 1)
    ]
    program = Program(problem(all_reduce(2)), 1, tuple(RankProgram((lane,)) for lane in lanes), 1)
    element = ELEMENTS["f32"]
    given = inputs_of(program.problem, element, 3)
    with pytest.raises(DeadlockError, match="rank 1 lane 0 stands at instruction 0: Receive"):
        run(load(None, program, element, seed), program.problem, element, 3, given)


def test_operators_without_meaning_are_refused() -> None:
    operator = Operator(
        "ratio", scalar_body(Apply("div", (Variable(0), Variable(1)))), commutative=True
    )
    program = lower(ring_all_reduce(2, operator=operator))
    with pytest.raises(UnsupportedOperatorError):
        load(None, program, ELEMENTS["u8"])
    load(None, program, ELEMENTS["f64"])
