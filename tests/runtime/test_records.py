"""Operators on structs: kernels and interpreter against NumPy, and what the judge sees in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS, find_element
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.codegen.operators import UnsupportedOperatorError
from roundelay.dsl.model import Apply, Assignment, Field, Operator, Struct, Variable
from roundelay.runtime import interpreter, numba_cpu
from roundelay.runtime.bench import Plan, measure
from roundelay.runtime.checker import judge
from tests.algebra import RECORDS, argmax, attention, best, element_of, matrix, partial, product
from tests.arrays import compute, evaluate, inputs_of, run, run_in_place
from tests.schedules import COLLECTIVES, random_schedule, ring_all_reduce, two_shot_all_reduce

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.runtime.executor import Array


def agree(element: Element, one: Array, other: Array, *, rounding: float = 0.0) -> bool:
    for field in element.fields:
        a, b = one[field.name].astype(np.float64), other[field.name].astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = (a == b) | (np.abs(a - b) <= rounding * (1 + np.abs(b)))
        if not (near | (np.isnan(a) & np.isnan(b))).all():
            return False
    return True


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_records_are_combined_right(name: str) -> None:
    operator = RECORDS[name]
    element = element_of(operator)
    # Libraries differ in exp and log; a bfloat16 may then be rounded to its neighbour.
    rounding = 0.0 if "attention" not in name else 2.0**-6 if "bf16" in name else 2.0**-18
    for seed, collective in enumerate(("all_reduce", "reduce_scatter", "scan")):
        if seed and name not in ("matrix", "odd"):
            continue
        schedule = random_schedule(COLLECTIVES[collective](3), operator, 2, seed)
        assert find_element(schedule.problem) == element
        program = lower(schedule)
        fused = fuse(program)
        kernels = numba_cpu.load(emit(fused, element), program, element)
        oracle = interpreter.load(None, program, element, seed)
        for count in (0, 1, 2, 333):
            given = inputs_of(schedule.problem, element, count, seed)
            right = evaluate(fused, element, given, count)
            made = run(kernels, schedule.problem, element, count, given)
            for one, other in zip(made, right, strict=True):
                assert agree(element, one, other, rounding=rounding)
            placed = run_in_place(kernels, schedule.problem, element, count, given)
            assert placed is None or [a.tobytes() for a in placed] == [a.tobytes() for a in made]
            judgement = judge(schedule.problem, element, given, made)
            assert judgement.wrong == 0, str(judgement.first)
            stepped = run(oracle, schedule.problem, element, count, given)
            judgement = judge(schedule.problem, element, given, stepped, alike=False)
            assert judgement.wrong == 0, str(judgement.first)


@pytest.mark.parametrize("name", ["attention", "matrix", "argmax", "odd"])
def test_copies_of_records_keep_every_bit(name: str) -> None:
    operator = replace(RECORDS[name], prepare=None, finish=None)
    element = element_of(operator)
    schedule = random_schedule(COLLECTIVES["all_gather"](3), operator, 2, 1)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    random = np.random.default_rng(1)
    given = [
        random.integers(0, 256, 50 * element.bytes, np.uint8).view(element.dtype) for _ in range(3)
    ]
    right = b"".join(array.tobytes() for array in given)
    for executor in (kernels, interpreter.load(None, program, element)):
        for make in (run, run_in_place):
            made = make(executor, schedule.problem, element, 50, given)
            assert made is not None
            assert all(array.tobytes() == right for array in made)


def test_an_attention_over_parts_is_that_over_the_whole() -> None:
    """Straight from softmax, without any merging."""
    operator = attention(partial())
    element = element_of(operator)
    schedule = ring_all_reduce(4, 3, operator)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    random = np.random.default_rng(3)
    scores = random.normal(0, 3, (4, 100, 8))
    values = random.normal(0, 1, (4, 100, 8, 64))
    given: list[Array] = []
    for rank in range(4):
        weights = np.exp(scores[rank])
        part = np.zeros(100, element.dtype)
        part["out"] = (weights[..., None] * values[rank]).sum(1) / weights.sum(1)[:, None]
        part["lse"] = np.log(weights.sum(1))
        given.append(part)
    everything = np.exp(scores).sum((0, 2))
    right = (np.exp(scores)[..., None] * values).sum((0, 2)) / everything[:, None]
    for made in run(kernels, schedule.problem, element, 100, given):
        np.testing.assert_allclose(made["out"], right, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made["lse"], np.log(everything), rtol=1e-5)


def test_matrices_are_multiplied_in_the_order_of_ranks() -> None:
    operator = product(matrix("i8"))
    element = element_of(operator)
    schedule = random_schedule(COLLECTIVES["all_reduce"](4), operator, 2, 5)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    given = inputs_of(schedule.problem, element, 30)
    whole = np.eye(2, dtype=np.int8)
    for array in given:
        parts = np.stack([array[name] for name in "abcd"], 1).reshape(30, 2, 2)
        whole = (whole @ parts).astype(np.int8)
    for made in run(kernels, schedule.problem, element, 30, given):
        assert (np.stack([made[name] for name in "abcd"], 1).reshape(30, 2, 2) == whole).all()


def test_of_equal_values_the_first_rank_wins() -> None:
    operator = argmax(best())
    element = element_of(operator)
    schedule = random_schedule(COLLECTIVES["all_reduce"](3), operator, 1, 2)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    given = []
    for rank, values in enumerate(([1.0, 5.0, 2.0], [1.0, 7.0, 2.5], [0.0, 7.0, 9.0])):
        part = np.zeros(3, element.dtype)
        part["value"], part["index"] = values, rank
        given.append(part)
    for executor in (kernels, interpreter.load(None, program, element)):
        for made in run(executor, schedule.problem, element, 3, list(given)):
            assert list(made["index"]) == [0, 1, 2]


def test_a_record_that_swaps_its_fields_is_made_whole_before_it_is_stored() -> None:
    """In place the target is a source: a field stored too early would be read again."""
    struct = Struct("pair", (Field("a", "i32"), Field("b", "i32")))
    body = (
        Assignment(0, Apply("add", (Variable(0, 1), Variable(1, 1)))),
        Assignment(1, Apply("add", (Variable(0, 0), Variable(1, 0)))),
    )
    operator = Operator("swap", body, commutative=True, struct=struct)
    element = element_of(operator)
    schedule = two_shot_all_reduce(2, 1, operator)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    given = inputs_of(schedule.problem, element, 9)
    placed = run_in_place(kernels, schedule.problem, element, 9, given)
    assert placed is not None
    for made in placed:
        assert (made["a"] == given[0]["b"] + given[1]["b"]).all()
        assert (made["b"] == given[0]["a"] + given[1]["a"]).all()


# --------------------------------------------------------------------------------- the judge


@pytest.mark.parametrize("name", ["attention", "attention-bf16", "matrix", "argmax", "odd"])
def test_a_missing_or_doubled_term_is_wrong_and_named_by_its_field(name: str) -> None:
    operator = RECORDS[name]
    element = element_of(operator)
    problem = two_shot_all_reduce(4, 1, operator).problem
    given = inputs_of(problem, element, 60)
    terms = given
    if operator.prepare:
        terms = [compute(operator.prepare, element, [term]) for term in given]

    def folded(parts: list[Array]) -> list[Array]:
        total = parts[0]
        for part in parts[1:]:
            total = compute(operator.body, element, [total, part])
        if operator.finish:
            total = compute(operator.finish, element, [total], 4)
        return [total] * 4

    assert judge(problem, element, given, folded(terms)).wrong == 0
    missing = judge(problem, element, given, folded(terms[:3]))
    assert missing.wrong > (30 if name != "argmax" else 20)
    assert missing.first is not None
    assert missing.first.field.split("[")[0] in {field.name for field in element.fields}
    if name not in ("argmax", "argmax-wide"):  # Which takes no notice of a repeat.
        assert judge(problem, element, given, folded([*terms, terms[1]])).wrong > 100


def test_the_wrong_value_of_a_vector_is_named() -> None:
    operator = attention(partial())
    element = element_of(operator)
    problem = two_shot_all_reduce(3, 1, operator).problem
    given = inputs_of(problem, element, 20)
    total = compute(operator.body, element, [given[0], given[1]])
    total = compute(operator.body, element, [total, given[2]])
    outputs = [total.copy() for _ in range(3)]
    outputs[2]["out"][7, 3] *= 1.001
    judgement = judge(problem, element, given, outputs)
    assert judgement.wrong == 1
    assert str(judgement.first).startswith("rank 2, index 7, field out[3]: got ")
    outputs[0]["lse"][5] = np.nan
    assert str(judge(problem, element, given, outputs).first).startswith(
        "rank 0, index 5, field lse: got nan"
    )


def test_an_unwritten_record_is_wrong() -> None:
    operator = argmax(best())
    element = element_of(operator)
    problem = two_shot_all_reduce(2, 1, operator).problem
    given = inputs_of(problem, element, 5)
    outputs = [compute(operator.body, element, given).copy() for _ in range(2)]
    outputs[1].view(np.uint8)[-element.bytes :] = 0xA5
    judgement = judge(problem, element, given, outputs)
    assert (judgement.wrong, judgement.first and judgement.first.index) == (1, 4)


# --------------------------------------------------------------------------------- around it


@pytest.mark.parametrize("fill", ["random", "rank"])
def test_records_are_measured_and_verified(fill: str) -> None:
    operator = RECORDS["odd"]
    element = element_of(operator)
    schedule = ring_all_reduce(3, 2, operator)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    plan = Plan((0, element.bytes, 40 * element.bytes + 3), 1, fill=fill)  # type: ignore[arg-type]
    rows = list(measure(schedule.problem, element, kernels, plan))
    assert [(row.count, row.size) for row in rows] == [(n, n * element.bytes) for n in (0, 1, 40)]
    assert all(row.wrong == 0 and row.in_place for row in rows)
    assert (rows[2].value is not None) == (fill == "rank")


def test_operators_and_elements_must_belong_together() -> None:
    scalar = two_shot_all_reduce(2).problem
    program = lower(two_shot_all_reduce(2, 1, argmax(best())))
    for element in (ELEMENTS["f32"], element_of(argmax(best("f64")))):
        with pytest.raises(UnsupportedOperatorError, match="argmax combines best, not"):
            interpreter.load(None, program, element)
        with pytest.raises(UnsupportedOperatorError, match="argmax combines best, not"):
            emit(fuse(program), element)
    with pytest.raises(UnsupportedOperatorError, match="sum combines plain numbers, not best"):
        interpreter.load(None, replace(program, problem=scalar), element_of(argmax(best())))
    artifact = emit(fuse(program), element_of(argmax(best())))
    with pytest.raises(ValueError, match="is for best"):
        numba_cpu.load(artifact, program, element_of(argmax(best("f64"))))


def test_names_of_fields_cannot_become_code() -> None:
    evil = '"""\nimport os\n#\u2028'
    struct = Struct(evil, (Field(evil, "f32"), Field("'", "i32")))
    operator = argmax(struct)
    program = lower(two_shot_all_reduce(2, 1, operator))
    text = emit(fuse(program), element_of(operator)).files[0][1]
    assert "\nimport os" not in text
    compile(text, "kernels", "exec")
