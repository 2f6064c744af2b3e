"""Bodies at a point: bounds that hold whatever is computed, and integers as machines have them."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.evaluation import compile_body
from roundelay.dsl.intervals import Interval, UndefinedError, compare, compute, differ, known
from roundelay.dsl.kinds import INTEGERS, limits
from roundelay.dsl.model import Apply, Operator, Variable, scalar_body
from roundelay.runtime.arithmetic import merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.intervals import Real
    from roundelay.dsl.model import Function

WIDE = Context(prec=80)
THIRD = Interval(
    Decimal("0.333333333333333333333333333333"), Decimal("0.333333333333333333333333333334")
)


def logaddexp(x: Decimal, y: Decimal) -> Decimal:
    return WIDE.ln(WIDE.add(WIDE.exp(x), WIDE.exp(y)))


FUNCTIONS: dict[str, Callable[..., Decimal]] = {
    "exp": WIDE.exp, "log": WIDE.ln, "sqrt": WIDE.sqrt, "logaddexp": logaddexp, "add": WIDE.add,
    "sub": WIDE.subtract, "mul": WIDE.multiply, "div": WIDE.divide, "min": min, "max": max,
    "neg": WIDE.minus, "abs": WIDE.abs,
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bounds_hold_what_is_computed(function: str) -> None:
    random = Random(5)
    two = function in ("add", "sub", "mul", "div", "min", "max", "logaddexp")
    for _ in range(300):
        size = 10 ** random.choice((0, 1, 2))
        low = 1 if function in ("log", "sqrt") else -100 * size
        # Numbers that 30 digits cannot hold, as they are and as bounds that are a digit apart.
        exact = [Fraction(random.randint(low, 100 * size), 97) for _ in range(1 + two)]
        if function == "div" and not exact[1]:
            continue
        wide = [WIDE.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in exact]
        wanted = FUNCTIONS[function](*wide)
        given: list[Real] = [compute("add", [THIRD, x - Fraction(1, 3)]) for x in exact]
        for parts in (list(exact), given, [given[0], *exact[1:]]):
            found = compute(function, list(parts))
            if isinstance(found, Fraction):
                assert abs(found - Fraction(wanted)) < Fraction(1, 10**60)
            else:
                assert found.low <= wanted <= found.high
                assert known(found)


def test_only_what_is_apart_for_certain_differs() -> None:
    assert differ(THIRD, Fraction(1, 2))
    assert not differ(THIRD, Fraction(1, 3))
    assert differ(Fraction(1, 3), Fraction(333, 1000))
    assert compare(THIRD, Fraction(1, 2)) == -1
    assert compare(Fraction(1), THIRD) == 1
    with pytest.raises(UndefinedError, match="rounding decides"):
        compare(THIRD, Fraction(1, 3))
    # Cancelled digits are lost: what is left is not known to be anything.
    nothing = compute("sub", [THIRD, THIRD])
    assert isinstance(nothing, Interval)
    assert nothing.low < 0 < nothing.high
    assert not known(Interval(Decimal(1), Decimal(2)))


@pytest.mark.parametrize(
    ("function", "value"),
    [("log", 0), ("log", -1), ("sqrt", -1), ("exp", 10**12)],
)
def test_numbers_that_do_not_exist(function: str, value: int) -> None:
    with pytest.raises(UndefinedError):
        compute(function, [Fraction(value)])


def test_exponentials_of_very_small_numbers_are_positive() -> None:
    found = compute("exp", [Fraction(-(10**12))])
    assert isinstance(found, Interval)
    assert found.low == 0 < found.high


def test_exact_values_stay_exact() -> None:
    assert compute("sqrt", [Fraction(9, 4)]) == Fraction(3, 2)
    assert compute("exp", [Fraction(0)]) == 1
    assert compute("log", [Fraction(1)]) == 0
    assert compute("mul", [THIRD, Fraction(0)]) == 0


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize(
    "function",
    [
        "add", "sub", "mul", "min", "max", "band", "bor", "bxor", "shl", "shr", "lt", "le", "gt",
        "ge", "eq", "ne", "and", "or",
    ],
)  # fmt: skip
def test_integers_are_those_of_the_kernels(function: Function, element: str) -> None:
    low, high = limits(element)
    random = Random(7)
    small = [low, low + 1, 0, 1, 2, 7, 8, 31, 63, 64, high - 1, high]
    values = [v for v in small if low <= v <= high] + [random.randint(low, high) for _ in range(9)]
    pairs = [(x, y) for x in values for y in values]
    operator = Operator("f", scalar_body(Apply(function, (Variable(0), Variable(1)))))
    kind = ELEMENTS[element]
    left, right = (np.array(column, dtype=kind.dtype) for column in zip(*pairs, strict=True))
    wanted = merge(operator, kind, [left, right]).tolist()
    compiled = compile_body(operator.body, [element])
    assert [compiled(((x,), (y,))) for x, y in pairs] == [(each,) for each in wanted]


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("function", ["neg", "abs", "inv", "not"])
def test_integers_of_one_value(function: Function, element: str) -> None:
    low, high = limits(element)
    values = [low, low + 1, 0, 1, 5, high - 1, high]
    operator = Operator("f", scalar_body(Apply(function, (Variable(0),))))
    kind = ELEMENTS[element]
    given = np.array(values, dtype=kind.dtype)
    wanted = merge(operator, kind, [given, given]).tolist()
    compiled = compile_body(operator.body, [element])
    assert [compiled(((x,), (x,))) for x in values] == [(each,) for each in wanted]
