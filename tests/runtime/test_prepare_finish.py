"""What an operator does to every input before, and to every result after it is combined."""

from __future__ import annotations

import numpy as np
import pytest

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS, struct_element
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.dsl.model import Assignment, Field, Operator, Struct, Variable, scalar_body
from roundelay.runtime import interpreter, numba_cpu
from roundelay.runtime.checker import judge
from tests.algebra import SUM, X, average, both, call, norm, number, same, scaled
from tests.arrays import evaluate, inputs_of, run, run_in_place
from tests.schedules import COLLECTIVES, all_gather, random_schedule, two_shot_all_reduce


@pytest.mark.parametrize(
    ("collective", "operator", "name"),
    [
        ("scan", average(), "f32"), ("all_reduce", average(), "bf16"),
        ("reduce_scatter", average(), "i32"), ("scan", average(), "u8"),
        ("broadcast", scaled("1/3"), "f64"), ("all_reduce", scaled(3), "i8"),
        ("broadcast", scaled("1/10"), "f16"), ("scan", norm(), "f32"),
    ],
    ids=str,
)  # fmt: skip
def test_values_are_prepared_and_finished_once(
    collective: str, operator: Operator, name: str
) -> None:
    element = ELEMENTS[name]
    schedule = random_schedule(COLLECTIVES[collective](4), operator, 3, 7)
    program = lower(schedule)
    fused = fuse(program)
    kernels = numba_cpu.load(emit(fused, element), program, element)
    oracle = interpreter.load(None, program, element, 3)
    for count in (0, 1, 50):
        given = inputs_of(schedule.problem, element, count)
        made = run(kernels, schedule.problem, element, count, given)
        right = evaluate(fused, element, given, count)
        assert all(map(same, made, right))
        placed = run_in_place(kernels, schedule.problem, element, count, given)
        assert placed is None or all(map(same, placed, right))
        assert judge(schedule.problem, element, given, made).wrong == 0
        stepped = run(oracle, schedule.problem, element, count, given)
        assert judge(schedule.problem, element, given, stepped, alike=False).wrong == 0
        beside = run_in_place(oracle, schedule.problem, element, count, given)
        assert beside is None or all(map(same, beside, stepped))


def test_a_scan_divides_by_as_many_values_as_it_added() -> None:
    element = ELEMENTS["f32"]
    schedule = random_schedule(COLLECTIVES["scan"](4), average(), 1, 2)
    program = lower(schedule)
    fused = fuse(program)
    assert sorted(shape.count for shape in fused.shapes) == [1, 2, 3, 4]
    given = [np.full(5, value, np.float32) for value in (1, 3, 8, 0)]
    kernels = numba_cpu.load(emit(fused, element), program, element)
    for executor in (kernels, interpreter.load(None, program, element)):
        made = run(executor, schedule.problem, element, 5, list(given))
        assert [float(array[0]) for array in made] == [1, 2, 4, 3]


def test_integers_are_averaged_toward_zero_and_wrap() -> None:
    for name, values, right in (
        ("i8", [(-7, 0), (7, 0), (-1, 0), (100, 60)], [-3, 3, 0, -48]),
        ("u8", [(200, 57), (3, 4)], [0, 3]),
    ):  # fmt: skip
        element = ELEMENTS[name]
        x, y = (np.array(column, element.dtype) for column in zip(*values, strict=True))
        for made in both(average(), element, x, y):
            assert list(made) == right


def test_division_in_finish_is_that_of_c() -> None:
    """By a negative number, by -1 of the smallest, by 0."""
    for name in ("i8", "i64"):
        low = int(np.iinfo(ELEMENTS[name].dtype.name).min)
        rights = {-2: [-3, 3, -(low // 2)], -1: [-7, 7, low], 0: [0, 0, 0]}
        struct = Struct("three", tuple(Field(f"f{n}", name) for n in range(3)))
        element = struct_element(struct)
        body = tuple(Assignment(n, call("add", Variable(0, n), Variable(1, n))) for n in range(3))
        finish = tuple(
            Assignment(n, call("div", Variable(0, n), number(divisor)))
            for n, divisor in enumerate(rights)
        )
        operator = Operator("quotient", body, commutative=True, struct=struct, finish=finish)
        x = np.zeros(3, element.dtype)
        for n in range(3):
            x[f"f{n}"] = [7, -7, low]
        for made in both(operator, element, x, np.zeros_like(x)):
            for n, right in enumerate(rights.values()):
                assert list(made[f"f{n}"]) == right


def test_one_value_alone_is_prepared_and_finished_too() -> None:
    element = ELEMENTS["f32"]
    operator = Operator("once", SUM, prepare=scalar_body(call("mul", X, number(3))),
                        finish=scalar_body(call("sub", X, number(1))))  # fmt: skip
    schedule = random_schedule(all_gather(3), operator, 2, 1)
    program = lower(schedule)
    fused = fuse(program)
    assert not any(fused.moves_bits(shape) for shape in fused.shapes)
    given = [np.full(7, value, np.float32) for value in (1, 2, 3)]
    kernels = numba_cpu.load(emit(fused, element), program, element)
    for executor in (kernels, interpreter.load(None, program, element)):
        for make in (run, run_in_place):
            made = make(executor, schedule.problem, element, 7, list(given))
            assert made is not None
            for array in made:
                assert list(array) == [2.0] * 7 + [5.0] * 7 + [8.0] * 7


def test_what_is_not_prepared_or_not_finished_is_caught() -> None:
    element = ELEMENTS["bf16"]
    for operator in (average(), scaled(3)):
        schedule = two_shot_all_reduce(3, 1, operator)
        program = lower(schedule)
        given = inputs_of(schedule.problem, element, 40)
        plain = two_shot_all_reduce(3, 1, Operator("sum", SUM, commutative=True))
        oracle = interpreter.load(None, lower(plain), element)
        wrong = run(oracle, plain.problem, element, 40, given)
        assert judge(schedule.problem, element, given, wrong).wrong > 100
        right = run(interpreter.load(None, program, element), schedule.problem, element, 40, given)
        assert judge(schedule.problem, element, given, right, alike=False).wrong == 0
