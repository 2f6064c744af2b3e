"""The reference's tolerance: no order of merging is called wrong, and what is wrong is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.model import Assignment, Operator, Variable, scalar_body
from roundelay.runtime.checker import judge
from roundelay.runtime.reference import fold
from tests.algebra import (
    RECORDS,
    SUM,
    X,
    Y,
    average,
    call,
    element_of,
    log_sum,
    norm,
    number,
    scaled,
)
from tests.arrays import compute, draw
from tests.schedules import two_shot_all_reduce

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.runtime.executor import Array

JOINED = Operator(  # a + b + a b, associative and commutative
    "joined", scalar_body(call("add", call("add", X, Y), call("mul", X, Y))), commutative=True
)


def merged(operator: Operator, element: Element, terms: list[Array], seed: int) -> Array:
    """Prepared, merged in a random tree that the operator's laws allow, finished, rounded."""
    random = np.random.default_rng(seed)
    count = len(terms)
    parts = list(terms)
    if operator.prepare:
        parts = [compute(operator.prepare, element, [part]) for part in parts]
    while len(parts) > 1:
        if operator.commutative:
            random.shuffle(parts)
        at = int(random.integers(len(parts) - 1))
        parts[at : at + 2] = [compute(operator.body, element, parts[at : at + 2])]
    total = parts[0]
    if operator.finish:
        total = compute(operator.finish, element, [total], count)
    with np.errstate(all="ignore"):
        rounded: Array = total.astype(element.dtype)
    return rounded


CASES = [
    (average(), "f32"), (average(), "bf16"), (scaled("1/3"), "f32"), (scaled("1/10"), "f16"),
    (norm(), "f32"), (norm(), "f64"), (log_sum(), "f32"), (log_sum(), "f64"), (log_sum(), "f16"),
    (JOINED, "f32"), (JOINED, "bf16"),
    *((RECORDS[name], name) for name in ("attention", "attention-bf16", "matrix", "matrix-f16",
                                         "argmax", "odd")),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "name"), CASES, ids=str)
def test_no_order_of_merging_is_called_wrong(operator: Operator, name: str) -> None:
    """Rare elements come close to the largest error possible, so many are tried, in many trees."""
    element = element_of(operator, name)
    ranks, count = 6, 2000 if element.fields else 20_000
    terms = [draw(element, count, seed) for seed in range(ranks)]
    problem = two_shot_all_reduce(ranks, 1, operator).problem
    for seed in range(6):
        outputs = [merged(operator, element, terms, seed)] * ranks
        judgement = judge(problem, element, terms, outputs)
        assert judgement.wrong == 0, str(judgement.first)


@pytest.mark.parametrize(("operator", "name"), CASES, ids=str)
def test_a_term_that_is_missing_is_wrong(operator: Operator, name: str) -> None:
    element = element_of(operator, name)
    terms = [draw(element, 500, seed) for seed in range(4)]
    problem = two_shot_all_reduce(4, 1, operator).problem
    for left_out in range(4):
        rest = [term for rank, term in enumerate(terms) if rank != left_out]
        outputs = [merged(operator, element, rest, 1)] * 4
        # A maximum is often none of the one left out.
        least = 300 if name in ("argmax", "odd") else 1500
        assert judge(problem, element, terms, outputs).wrong > least


@pytest.mark.parametrize(("operator", "name"), CASES, ids=str)
def test_the_tolerance_is_a_few_roundings_wide(operator: Operator, name: str) -> None:
    """In units of the largest value around: loose bounds would hide wrong results."""
    element = element_of(operator, name)
    terms = [draw(element, 500, seed) for seed in range(4)]
    for number_, part in enumerate(fold(operator, element, terms)):
        own = ELEMENTS[element.fields[number_].element] if element.fields else element
        if own.exact or not part.tolerance.any():
            continue
        size = np.maximum(np.abs(part.values.astype(np.float64)), 1)
        units = part.tolerance / size / float(ml_dtypes.finfo(own.dtype).eps)
        assert np.median(units) < 120


def test_a_comparison_that_rounding_may_turn_allows_both_outcomes() -> None:
    """(x + y > 1) of values whose sum is 1 in float32 only after rounding."""
    element = ELEMENTS["f32"]
    body = scalar_body(call("where", call("gt", call("add", X, Y), number(1)), X, Y))
    operator = Operator("turned", body)
    tiny = np.float32(2.0**-30)
    x = np.array([1.0, 1.0, 2.0, 5.0], np.float32)
    y = np.array([tiny, -tiny, 7.0, -7.0], np.float32)
    (part,) = fold(operator, element, [x, y])
    assert (part.tolerance[:2, 0] >= 0.999).all()
    assert (part.tolerance[2:, 0] == 0).all()
    exact = Operator("exact", scalar_body(call("where", call("gt", X, Y), X, Y)))
    (part,) = fold(exact, element, [x, y])
    assert not part.tolerance.any()


def test_an_index_chosen_by_rounding_may_be_either() -> None:
    """Indices of values that differ by less than their rounding, and of others that do not."""
    operator = RECORDS["argmax"]
    element = element_of(operator)
    third = number("1/3")
    prepare = (Assignment(0, call("mul", X, third)), Assignment(1, Variable(0, 1)))
    prepared = Operator("argmax", operator.body, struct=operator.struct, prepare=prepare)
    one, other = np.zeros(2, element.dtype), np.zeros(2, element.dtype)
    one["value"], one["index"] = [3, 3], 1
    other["value"], other["index"] = [np.nextafter(np.float32(3), np.float32(4)), 4], 2
    problem = two_shot_all_reduce(2, 1, prepared).problem
    right = compute(prepared.body, element, [
        compute(prepare, element, [one]), compute(prepare, element, [other])
    ])  # fmt: skip
    swapped = right.copy()
    swapped["index"] = 1
    assert judge(problem, element, [one, other], [right, right]).wrong == 0
    judgement = judge(problem, element, [one, other], [swapped, swapped])
    assert (judgement.wrong, judgement.first and judgement.first.index) == (2, 1)


def test_infinite_and_missing_values_are_not_forgiven() -> None:
    element = ELEMENTS["f32"]
    problem = two_shot_all_reduce(2, 1, Operator("sum", SUM, commutative=True)).problem
    inputs: list[Array] = [np.array(v, np.float32) for v in ([np.inf, 3e38, np.nan], [1, 3e38, 1])]
    right = np.array([np.inf, np.inf, np.nan], np.float32)
    assert judge(problem, element, inputs, [right, right]).wrong == 0
    for wrong in (5.0, -np.inf, 3e38):
        outputs = [np.full(3, wrong, np.float32)] * 2
        assert judge(problem, element, inputs, outputs).wrong == 6
    for body, values in (
        (call("logaddexp", X, Y), [np.inf, -np.inf, np.nan]),
        (call("add", X, call("exp", Y)), [np.inf, -np.inf, np.nan]),
    ):
        operator = Operator("special", scalar_body(body))
        x = np.array(values, np.float32)
        (part,) = fold(operator, element, [x, np.array([-np.inf] * 3, np.float32)])
        assert not part.tolerance.any()
        assert np.array_equal(part.values[:, 0], x.astype(float), equal_nan=True)


def test_a_root_of_what_may_be_negative_may_be_nan() -> None:
    """sqrt(x - y) of numbers that are equal but for the rounding of a third."""
    element = ELEMENTS["f32"]
    finish = scalar_body(call("sqrt", X))
    operator = Operator("root", SUM, prepare=scalar_body(call("mul", X, number("1/3"))),
                        finish=finish)  # fmt: skip
    terms = [np.array(v, np.float32) for v in ([1.0, 3.0], [-1.0, 0.0])]
    (part,) = fold(operator, element, terms)
    assert np.isinf(part.tolerance[0, 0])
    assert part.tolerance[1, 0] < 1e-6


def test_the_condition_of_a_function_widens_its_tolerance() -> None:
    """exp loses relative digits with the size of what it is applied to, log near 1 all of them."""
    element = ELEMENTS["f32"]
    prepare = scalar_body(call("mul", X, number("1/3")))
    terms = [np.array([3.0, 120.0, 240.0], np.float32)]
    (grown,) = fold(
        Operator("e", SUM, prepare=prepare, finish=scalar_body(call("exp", X))), element, terms
    )
    relative = grown.tolerance[:, 0] / grown.values[:, 0]
    assert relative[1] > 2 * relative[0]
    assert relative[2] > 1.5 * relative[1]
    (near,) = fold(
        Operator("l", SUM, prepare=prepare, finish=scalar_body(call("log", X))), element, terms[:1]
    )
    assert abs(near.values[0, 0]) < 1e-12
    assert 2.0**-25 < near.tolerance[0, 0] < 2.0**-20
