"""The reference and the judge: right values pass, and each kind of wrong one is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Function,
    Operator,
    Problem,
    Rank,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from roundelay.runtime.checker import judge
from roundelay.runtime.reference import fold

if TYPE_CHECKING:
    from roundelay.runtime.executor import Array


def f32(values: list[float]) -> Array:
    return np.array(values, np.float32)


def f16(values: list[float]) -> Array:
    return np.array(values, np.float16)


def operator(function: Function) -> Operator:
    return Operator(function, scalar_body(Apply(function, (Variable(0), Variable(1)))), None, True)


def all_reduce(n: int, function: Function) -> Problem:
    ranks = tuple(range(n))
    topology = Topology("bare", tuple(Rank(f"r[{r}]") for r in ranks), (), ())
    block = Block(tuple(Symbol((r,), r) for r in ranks), tuple(Want(r, (r,), ranks) for r in ranks))
    return Problem(topology, Collective("all_reduce", (), n, (block,)), operator(function))


def test_any_order_of_a_sum_passes_and_a_wrong_value_does_not() -> None:
    problem = all_reduce(8, "add")
    random = np.random.default_rng(1)
    inputs: list[Array] = [(random.random(1000) - 0.5).astype(np.float32) for _ in range(8)]
    for order in ([0, 1, 2, 3, 4, 5, 6, 7], [7, 2, 5, 0, 1, 6, 3, 4]):
        total: Array = inputs[order[0]].copy()
        for r in order[1:]:
            total = total + inputs[r]
        outputs = [total.copy() for _ in range(8)]
        assert judge(problem, ELEMENTS["f32"], inputs, outputs).wrong == 0
        outputs[3][17] *= np.float32(1.00001)
        judgement = judge(problem, ELEMENTS["f32"], inputs, outputs)
        assert judgement.wrong >= 1
        assert judgement.first is not None
        assert (judgement.first.rank, judgement.first.index) == (3, 17)


@pytest.mark.parametrize("function", ["add", "mul"])
@pytest.mark.parametrize("name", ["f32", "f64", "bf16"])
def test_no_order_of_merging_is_called_wrong(function: Function, name: str) -> None:
    """Rare elements come close to the largest error possible, so many are tried, in many trees."""
    element = ELEMENTS[name]
    random = np.random.default_rng(5)
    count, ranks = 200_000, 6
    wide = element.dtype if name != "bf16" else np.dtype(np.float32)
    inputs: list[Array] = []
    for _ in range(ranks):
        scale = 2.0 ** random.integers(-2, 3, count)
        sign = random.choice([1.0, -1.0], count) if function == "mul" else 1.0
        inputs.append(((random.random(count) + 0.5) * scale * sign).astype(element.dtype))
    problem = all_reduce(ranks, function)
    for _ in range(6):
        parts = [values.astype(wide) for values in inputs]
        while len(parts) > 1:
            one = parts.pop(int(random.integers(len(parts))))
            other = parts.pop(int(random.integers(len(parts))))
            parts.append(one + other if function == "add" else one * other)
        outputs = [parts[0].astype(element.dtype)] * ranks
        assert judge(problem, element, inputs, outputs).wrong == 0


def test_an_error_just_beyond_rounding_is_wrong() -> None:
    values: list[Array] = [f32([1.0]), f32([1.0]), f32([1.0])]
    step = np.float32(2.0**-22)  # The distance from 3 to the next value.
    problem = all_reduce(3, "add")
    close: list[Array] = [f32([3.0]) + step for _ in range(3)]
    assert judge(problem, ELEMENTS["f32"], values, close).wrong == 0
    far: list[Array] = [f32([3.0]) + 2 * step for _ in range(3)]
    assert judge(problem, ELEMENTS["f32"], values, far).wrong == 3


def test_ranks_must_agree_in_every_bit() -> None:
    problem = all_reduce(3, "add")
    values = [f32([1e8, 0]), f32([1, 0]), f32([-1e8, 0])]
    inputs: list[Array] = list(values)
    left = (values[0] + values[1]) + values[2]
    right = values[0] + (values[1] + values[2])
    assert judge(problem, ELEMENTS["f32"], inputs, [left, left, left]).wrong == 0
    judgement = judge(problem, ELEMENTS["f32"], inputs, [right, right + 1, right])
    assert judgement.first is not None
    assert "bytes" in judgement.first.why
    zero = judge(problem, ELEMENTS["f32"], inputs, [left, left, left * f32([1, -1])])
    assert zero.wrong == 1


def test_where_ranks_keep_their_own_trees_rounding_alone_counts() -> None:
    problem = all_reduce(3, "add")
    values = [f32([1e8, 0]), f32([1, 0]), f32([-1e8, 0])]
    inputs: list[Array] = list(values)
    left = (values[0] + values[1]) + values[2]
    right = (values[0] + values[2]) + values[1]
    assert left[0] != right[0]
    assert judge(problem, ELEMENTS["f32"], inputs, [left, right, left]).wrong == 1
    assert judge(problem, ELEMENTS["f32"], inputs, [left, right, left], alike=False).wrong == 0
    far = judge(problem, ELEMENTS["f32"], inputs, [left, right + 100, left], alike=False)
    assert far.wrong == 2
    model = judge(problem, ELEMENTS["f32"], inputs, [left + 100, right, left], alike=False)
    assert (model.wrong, model.first and model.first.rank) == (2, 0)


@pytest.mark.parametrize(
    ("name", "values", "function", "want"),
    [
        ("i8", [120, 100], "add", -36),
        ("u8", [250, 10], "add", 4),
        ("i32", [65536, 65536], "mul", 0),
        ("i64", [-3, 5], "min", -3),
        ("u64", [2**64 - 1, 2], "add", 1),
    ],
)
def test_integers_wrap(name: str, values: list[int], function: Function, want: int) -> None:
    element = ELEMENTS[name]
    terms = [np.array([value], dtype=element.dtype) for value in values]
    (reference,) = fold(operator(function), element, terms)
    assert reference.values[0, 0] == want
    assert reference.tolerance[0, 0] == 0
    assert reference.values.dtype == element.dtype


def test_a_selection_must_be_exact_and_keeps_nan() -> None:
    problem = all_reduce(4, "min")
    inputs: list[Array] = [f32([v, v]) for v in (1, np.nan, 3, 4)]
    nan = [f32([np.nan, np.nan]) for _ in range(4)]
    assert judge(problem, ELEMENTS["f32"], inputs, nan).wrong == 0
    three = [f32([3, 3]) for _ in range(4)]
    assert judge(problem, ELEMENTS["f32"], inputs, three).wrong == 8
    close: list[Array] = [np.nextafter(f32([1, 1]), np.float32(2)) for _ in range(4)]
    plain: list[Array] = [f32([v, v]) for v in (1, 2, 3, 4)]
    assert judge(problem, ELEMENTS["f32"], plain, close).wrong == 8


def test_sixteen_bits_are_rounded_once() -> None:
    element = ELEMENTS["bf16"]
    problem = all_reduce(8, "add")
    inputs: list[Array] = [np.array([v], element.dtype) for v in (256, 1, 1, 1, 1, 1, 1, 1)]
    once = [np.array([264], element.dtype) for _ in range(8)]
    assert judge(problem, element, inputs, once).wrong == 0
    hops: list[Array] = [np.array([256], ml_dtypes.bfloat16) for _ in range(8)]
    assert judge(problem, element, inputs, hops).wrong == 8


def test_beyond_the_range_is_infinite() -> None:
    element = ELEMENTS["f16"]
    problem = all_reduce(2, "add")
    inputs: list[Array] = [f16([40000]), f16([40000])]
    assert judge(problem, element, inputs, [f16([np.inf])] * 2).wrong == 0
    assert judge(problem, element, inputs, [f16([65504])] * 2).wrong == 2


def test_a_cancelling_sum_is_judged_by_its_terms_not_by_its_result() -> None:
    problem = all_reduce(4, "add")
    inputs: list[Array] = [f32([v]) for v in (1e8, 1, -1e8, 1)]
    for possible in (0, 1, 2):
        outputs: list[Array] = [f32([possible])] * 4
        assert judge(problem, ELEMENTS["f32"], inputs, outputs).wrong == 0
    assert judge(problem, ELEMENTS["f32"], inputs, [f32([100])] * 4).wrong == 4
