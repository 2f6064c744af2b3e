"""Operators on NumPy arrays, bit for bit as the generated kernels compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.operators import require_supported
from roundelay.dsl.model import Apply, Number, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Expression, Operator

    from .executor import Array


def merge(operator: Operator | None, element: Element, values: Sequence[Array]) -> Array:
    """The values combined, left to right, in the type in which the element accumulates.

    Values may be of the element's type or of its accumulate type. One value alone comes back as
    it is. Raises ``UnsupportedOperatorError`` for an operator that the type cannot do.
    """
    if len(values) == 1 or operator is None:
        return values[0]
    require_supported(operator, element)
    kind = ELEMENTS[element.accumulate].dtype
    with np.errstate(all="ignore"):
        total = values[0].astype(kind, copy=False)
        for value in values[1:]:
            total = _evaluate(operator.body, total, value.astype(kind, copy=False))
    return total


def narrow(value: Array, element: Element) -> Array:
    """The value rounded once to the element's type."""
    with np.errstate(all="ignore"):
        return value.astype(element.dtype, copy=False)


def _evaluate(expression: Expression, x: Array, y: Array) -> Array:
    match expression:
        case Variable(index):
            return (x, y)[index]
        case Number(value):
            exact = x.dtype.kind in "iu"
            return np.full_like(x, int(value) if exact else float(value))
        case Apply(function, arguments):
            return _apply(function, [_evaluate(argument, x, y) for argument in arguments])


def _apply(function: str, parts: list[Array]) -> Array:
    a, b = parts[0], parts[-1]
    result: Array
    match function:
        case "min":
            result = np.where(np.less_equal(a, b) | (a != a), a, b)
        case "max":
            result = np.where(np.greater_equal(a, b) | (a != a), a, b)
        case _:
            compute = {
                "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
                "neg": np.negative, "abs": np.absolute,
            }[function]  # fmt: skip
            result = compute(*parts)
    return result
