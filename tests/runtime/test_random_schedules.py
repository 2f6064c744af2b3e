from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given as with_random
from hypothesis import settings
from hypothesis import strategies as st

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Operand
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.runtime import interpreter, numba_cpu
from tests.arrays import evaluate, expected, inputs_of, run, run_in_place
from tests.schedules import (
    COLLECTIVES,
    LEFT,
    MAX,
    PROD,
    SCALED,
    SUM,
    random_schedule,
)

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program
    from roundelay.runtime.executor import Array


def loaded(program: Program, element: Element) -> numba_cpu.NumbaCpu:
    return numba_cpu.load(emit(fuse(program), element), program, element)


def as_bytes(arrays: list[Array]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


OPERATORS = {"sum": SUM, "max": MAX, "left": LEFT, "scaled": SCALED, "prod": PROD}


def check_random(name: str, n: int, chunks: int, operator: str, element: str, seed: int) -> None:
    schedule = random_schedule(COLLECTIVES[name](n), OPERATORS[operator], chunks, seed)
    kind = ELEMENTS[element]
    program, fused = lower(schedule), fuse(lower(schedule))
    executor = loaded(program, kind)
    oracle = interpreter.load(None, program, kind, seed)
    for count in {0, 1, chunks - 1, chunks + 1, 13, 61, 16 * chunks + 5}:
        given = inputs_of(schedule.problem, kind, count, seed)
        made = run(executor, schedule.problem, kind, count, given)
        assert as_bytes(made) == as_bytes(evaluate(fused, kind, given, count))
        placed = run_in_place(executor, schedule.problem, kind, count, given)
        assert placed is None or as_bytes(placed) == as_bytes(made)
        stepped = run(oracle, schedule.problem, kind, count, given)
        if kind.exact or all(isinstance(shape.tree, Operand) for shape in fused.shapes):
            assert as_bytes(stepped) == as_bytes(made)
            assert as_bytes(made) == as_bytes(expected(schedule.problem, kind, given, count))
        elif len(fused.problem.collective.blocks[0].wants) == 1:
            # One rank wants it, so that the tree is its own.
            assert as_bytes(stepped) == as_bytes(made) or operator in ("sum", "prod")


RANDOM = (
    st.sampled_from(sorted(COLLECTIVES)),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(sorted(OPERATORS)),
    st.sampled_from(sorted(ELEMENTS)),
    st.integers(0, 10**6),
)


@settings(deadline=None, max_examples=4, derandomize=True)
@with_random(*RANDOM)
def test_random_schedules_run_right(
    name: str, n: int, chunks: int, operator: str, element: str, seed: int
) -> None:
    check_random(name, n, chunks, operator, element, seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@with_random(*RANDOM)
def test_many_random_schedules_run_right(
    name: str, n: int, chunks: int, operator: str, element: str, seed: int
) -> None:
    check_random(name, n, chunks, operator, element, seed)
