"""Every function of an operator on every element: the interpreter, the kernels, and the reference
against NumPy's own functions and Python's own integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import ml_dtypes
import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS, struct_element
from roundelay.codegen.lowering import lower
from roundelay.codegen.operators import UnsupportedOperatorError, require_supported
from roundelay.dsl.model import (
    Apply,
    Assignment,
    Expression,
    Field,
    Function,
    Operator,
    Struct,
    scalar_body,
)
from roundelay.runtime import interpreter
from roundelay.runtime.checker import judge
from tests.algebra import X, Y, both, call, number, same
from tests.arrays import compute, draw, run
from tests.schedules import two_shot_all_reduce

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.runtime.executor import Array

FUNCTIONS: tuple[Function, ...] = get_args(Function)
UNARY = ("neg", "abs", "exp", "log", "sqrt", "not", "inv")
INEXACT = ("exp", "log", "logaddexp")
ON_FLOATS = ("div", "exp", "log", "logaddexp", "sqrt")
ON_INTEGERS = ("band", "bor", "bxor", "inv", "shl", "shr")


def expression(function: Function) -> Apply:
    if function == "where":
        return call("where", call("lt", X, Y), call("sub", X, Y), X)
    return call(function, X) if function in UNARY else call(function, X, Y)


def means_something(function: Function, element: Element) -> bool:
    return function not in (ON_FLOATS if element.exact else ON_INTEGERS)


def special(element: Element, count: int, seed: int) -> Array:
    """Random values with the odd ones mixed in: infinities, NaN, zeros, small and large."""
    values = draw(element, count, seed)
    if element.exact:
        limits = np.iinfo(element.dtype.name)
        odd = [limits.min, limits.max, 0, 1, 2, 3, 7, limits.max - 1]
        odd += [8 * element.bytes, 8 * element.bytes - 1, 8 * element.bytes + 1]
        odd += [] if limits.min == 0 else [-1, -2, -3]
        few = np.array(odd, element.dtype)
    else:
        few = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 89.0, -104.0, 1e-30]).astype(
            element.dtype
        )
    random = np.random.default_rng(seed)
    where = random.random(count) < 0.5
    values[where] = few[random.integers(0, len(few), where.sum())]
    return values


def close(one: Array, other: Array) -> bool:
    if one.dtype.kind in "iu":
        return same(one, other)
    a, b = one.astype(np.float64), other.astype(np.float64)
    step = float(ml_dtypes.finfo(one.dtype).eps)
    tiny = float(ml_dtypes.finfo(one.dtype).smallest_subnormal)
    with np.errstate(invalid="ignore"):
        near = (a == b) | (np.abs(a - b) <= 6 * step * np.maximum(np.abs(b), 1e-300) + 4 * tiny)
    return bool((near | (np.isnan(a) & np.isnan(b))).all())


def narrowed(value: Array, element: Element) -> Array:
    with np.errstate(all="ignore"):
        result: Array = value.astype(element.dtype)
    return result


@pytest.mark.parametrize("name", sorted(ELEMENTS))
def test_every_function_is_right_on_every_element(name: str) -> None:
    """All at once, as fields of a record: there is one module to compile."""
    own = ELEMENTS[name]
    functions = [function for function in FUNCTIONS if means_something(function, own)]
    struct = Struct("tried", (Field("x", name), *(Field(f, name) for f in functions)))
    body = tuple(Assignment(n + 1, expression(f)) for n, f in enumerate(functions))
    operator = Operator("tried", (*body, Assignment(0, X)), commutative=True, struct=struct)
    element = struct_element(struct)
    x, y = np.zeros(3000, element.dtype), np.zeros(3000, element.dtype)
    x["x"], y["x"] = special(own, 3000, 1), special(own, 3000, 2)
    made, stepped = both(operator, element, x, y)
    for function in functions:
        one = compute(scalar_body(expression(function)), own, [x["x"], y["x"]])
        right = narrowed(one, own)
        # NumPy's minimum of zeros of different sign is either.
        agree = close if function in (*INEXACT, "min", "max") else same
        assert agree(made[function], right), function
        assert agree(stepped[function], right), function
        assert function in INEXACT or same(made[function], stepped[function]), function
    problem = two_shot_all_reduce(2, 1, operator).problem
    for result in (made, stepped):
        judgement = judge(problem, element, [x, y], [result, result])
        assert judgement.wrong == 0, str(judgement.first)
        for function in functions:
            spoilt = result.copy()
            spoilt[function][17:] = result[function][:-17]
            got, want = spoilt[function], result[function]
            differ = (got != want) & ~((got != got) & (want != want))
            wrong = judge(problem, element, [x, y], [spoilt, spoilt]).wrong
            assert wrong >= 0.98 * differ.sum() > 0, function


@pytest.mark.parametrize("name", sorted(ELEMENTS))
def test_every_function_is_right_on_plain_numbers(name: str) -> None:
    element = ELEMENTS[name]
    x, y = special(element, 3000, 1), special(element, 3000, 2)
    for function in FUNCTIONS:
        body = scalar_body(expression(function))
        operator = Operator("tried", body, commutative=True)
        if not means_something(function, element):
            what = "divides" if function == "div" else function
            with pytest.raises(UnsupportedOperatorError, match=f"{what}.* not defined on"):
                require_supported(operator, element)
            continue
        right = narrowed(compute(body, element, [x, y]), element)
        schedule = two_shot_all_reduce(2, 1, operator)
        oracle = interpreter.load(None, lower(schedule), element)
        made = run(oracle, schedule.problem, element, 3000, [x, y])
        assert (close if function in ("min", "max") else same)(made[0], right), function
        judgement = judge(schedule.problem, element, [x, y], made)
        assert judgement.wrong == 0, (function, judgement.first)


@pytest.mark.parametrize("name", ["f64", "bf16"])
def test_logaddexp_is_stable_and_right_at_infinity(name: str) -> None:
    element = ELEMENTS[name]
    inf = np.inf
    pairs = [
        (-inf, -inf, -inf), (inf, inf, inf), (-inf, inf, inf), (-inf, 3.0, 3.0), (3.0, -inf, 3.0),
        (1000.0, 1000.0, 1000.0 + np.log(2)), (-1000.0, 0.0, 0.0), (np.nan, -inf, np.nan),
    ]  # fmt: skip
    x, y, right = (np.array(column).astype(element.dtype) for column in zip(*pairs, strict=True))
    operator = Operator("logsum", scalar_body(call("logaddexp", X, Y)), commutative=True)
    for made in both(operator, element, x, y):
        assert close(made, right)


@pytest.mark.parametrize("name", ["i8", "u64"])
def test_shifts_beyond_the_type_are_defined(name: str) -> None:
    element = ELEMENTS[name]
    signed = element.dtype.kind == "i"
    limits = np.iinfo(element.dtype.name)
    bits = element.bytes * 8
    x = np.array([limits.max, limits.min, 5, 5], element.dtype)
    y = np.array([bits, bits, bits - 1, limits.min if signed else limits.max], element.dtype)
    left = Operator("left", scalar_body(call("shl", X, Y)))
    right = Operator("right", scalar_body(call("shr", X, Y)))
    top = (limits.min if signed else 1 << (bits - 1)) if bits else 0
    for made in both(left, element, x, y):
        assert list(made) == [0, 0, top, 0]
    for made in both(right, element, x, y):
        assert list(made) == [0, -1 if signed else 0, 0, 0]


@pytest.mark.parametrize("name", ["i32", "i64", "u64"])
def test_what_wraps_around_is_compared_and_shifted_as_it_is(name: str) -> None:
    """No compiler may conclude from a signed overflow that there was none."""
    element = ELEMENTS[name]
    x, y = special(element, 300, 3), special(element, 300, 4)
    for function in ("add", "sub", "mul", "neg"):
        doubled = call(function, X) if function == "neg" else call(function, X, X)
        for seen in (call("shr", doubled, number(100)), call("lt", doubled, number(0))):
            body = scalar_body(call("add", seen, call("mul", Y, number(0))))
            right = compute(body, element, [x, y])
            for made in both(Operator("seen", body), element, x, y):
                assert same(made, right), (function, seen)


def test_truth_values_take_the_kind_of_their_surroundings() -> None:
    """(x < y) + (x > 0) · 2, and a comparison that is assigned as it is."""
    counted = call("add", call("lt", X, Y), call("mul", call("gt", X, number(0)), number(2)))
    for name in ("bf16", "i8"):
        element = ELEMENTS[name]
        x = np.array([0, 1, 2, 3]).astype(element.dtype)
        y = np.array([1, 1, 1, 4]).astype(element.dtype)
        for made in both(Operator("counted", scalar_body(counted)), element, x, y):
            assert [float(value) for value in made] == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("function", "values", "right"),
    [
        ("and", ([0, 0, 2, np.nan], [0, 1, 3, 1]), [0, 0, 1, 1]),
        ("or", ([0, 0, 2, np.nan], [0, 1, 3, 0]), [0, 1, 1, 1]),
        ("ne", ([0, np.nan, 2, 1], [0, np.nan, 3, 1]), [0, 1, 1, 0]),
        ("eq", ([0, np.nan, 2, -0.0], [0, np.nan, 3, 0]), [1, 0, 0, 1]),
    ],
)
def test_what_counts_as_true(
    function: Function, values: tuple[list[float], list[float]], right: list[float]
) -> None:
    x, y = (np.array(part, np.float32) for part in values)
    operator = Operator("truth", scalar_body(call(function, X, Y)))
    for made in both(operator, ELEMENTS["f32"], x, y):
        assert list(made) == right


def test_deep_and_wide_expressions_compile() -> None:
    """A hundred operations, one in another: deeper than Python's parser allows brackets."""
    body: Expression = X
    for k in range(49):
        body = call("add", call("bxor", body, number(k)), Y)
    element = ELEMENTS["i8"]
    x, y = draw(element, 100, 1), draw(element, 100, 2)
    right = compute(scalar_body(body), element, [x, y])
    for made in both(Operator("deep", scalar_body(body)), element, x, y):
        assert same(made, right)
