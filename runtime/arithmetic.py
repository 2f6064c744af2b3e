"""Operators on NumPy arrays, bit for bit as the generated kernels compute them.

Only ``exp``, ``log`` and ``logaddexp`` may differ from the kernels' by a few units of the last
place, since every library has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.operators import argument_kinds, field_kind, require_supported
from roundelay.dsl.model import CONDITIONS, Count, Made, Number, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Body, Expression, Operator

    from .executor import Array


def merge(operator: Operator | None, element: Element, values: Sequence[Array]) -> Array:
    """The values combined, left to right, in the type in which the element accumulates.

    Values may be of the element's type or of its accumulate type; records are rounded, field by
    field, after every merge. One value alone comes back as it is. Raises
    ``UnsupportedOperatorError`` for an operator that the element cannot do.
    """
    if len(values) == 1 or operator is None:
        return values[0]
    require_supported(operator, element)
    total = values[0]
    for value in values[1:]:
        total = _evaluate(operator.body, element, (total, value))
    return total


def prepare(operator: Operator | None, element: Element, value: Array) -> Array:
    """An input as it is combined: in the type in which the element accumulates."""
    if operator is None or operator.prepare is None:
        return value
    return _evaluate(operator.prepare, element, (value,))


def finish(operator: Operator | None, element: Element, value: Array, count: int) -> Array:
    """A combination of ``count`` values as it is wanted, not yet rounded."""
    if operator is None or operator.finish is None:
        return value
    return _evaluate(operator.finish, element, (value,), count)


def narrow(value: Array, element: Element) -> Array:
    """The value rounded once to the element's type."""
    with np.errstate(all="ignore"):
        return value.astype(element.dtype, copy=False)


# --------------------------------------------------------------------------------- bodies


def _evaluate(body: Body, element: Element, values: tuple[Array, ...], count: int = 0) -> Array:
    """A body on arrays: of the accumulate type for plain numbers, else records."""
    with np.errstate(all="ignore"):
        if not element.fields:
            kind = ELEMENTS[element.accumulate]
            wide = [[value.astype(kind.dtype, copy=False)[:, None]] for value in values]
            result = _Scope(element, wide, {}, count).value(body[0].value, kind)
            return np.broadcast_to(result, (len(values[0]), 1))[:, 0]
        made = np.empty(len(values[0]), element.dtype)
        results: dict[int, Array] = {}
        scope = _Scope(element, [_columns(value, element) for value in values], results, count)
        for assignment in body:
            field = element.fields[assignment.field]
            kind = field_kind(assignment.field, element)
            column = made[field.name].reshape(len(made), field.length)
            column[:] = scope.value(assignment.value, kind).astype(column.dtype, copy=False)
            results[assignment.field] = column.astype(kind.dtype)
            made[field.name] = column if field.vector else column[:, 0]
        return made


def _columns(value: Array, element: Element) -> list[Array]:
    """Every field of records as an array of its accumulate type, of shape (records, length)."""
    return [
        value[field.name]
        .reshape(len(value), field.length)
        .astype(field_kind(number, element).dtype)
        for number, field in enumerate(element.fields)
    ]


class _Scope:
    """What the names in an expression stand for: arrays of shape (values, length or 1)."""

    def __init__(
        self,
        element: Element,
        values: list[list[Array]],
        made: dict[int, Array],
        count: int,
    ) -> None:
        self.element, self.values, self.made, self.count = element, values, made, count

    def value(self, expression: Expression, context: Element) -> Array:
        """An expression's value; ``context`` is the type that its surroundings take it in."""
        match expression:
            case Variable(index, field):
                return self.values[index][field]
            case Made(field):
                return self.made[field]
            case Number(value):
                return _constant(int(value) if context.exact else float(value), context)
            case Count():
                return _constant(self.count, context)
            case _:
                kinds = argument_kinds(expression, self.element, context)
                parts = [
                    self.value(part, kind)
                    for part, kind in zip(expression.arguments, kinds, strict=True)
                ]
                result = apply(expression.function, parts)
                truth = expression.function in CONDITIONS
                return result.astype(context.dtype) if truth else result


def _constant(value: float, kind: Element) -> Array:
    return np.array([[value]], dtype=kind.dtype)


# --------------------------------------------------------------------------------- functions


def apply(function: str, parts: Sequence[Array]) -> Array:
    """A function on arrays of one type; truth values come back as booleans."""
    a, b = parts[0], parts[-1]
    result: Array
    match function:
        case "min":
            result = np.where(np.less_equal(a, b) | (a != a), a, b)
        case "max":
            result = np.where(np.greater_equal(a, b) | (a != a), a, b)
        case "where":
            result = np.where(a != 0, parts[1], parts[2])
        case "and" | "or" | "not":
            result = _logic(function, [part != 0 for part in parts])
        case "div" if a.dtype.kind in "iu":
            result = _quotient(a, b)
        case "shl" | "shr":
            result = _shifted(function, a, b)
        case _:
            result = _FUNCTIONS[function](*parts)
    return result


_FUNCTIONS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "abs": np.absolute, "exp": np.exp, "log": np.log,
    "logaddexp": np.logaddexp, "sqrt": np.sqrt, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor, "inv": np.invert,
}  # fmt: skip


def _logic(function: str, parts: list[Array]) -> Array:
    result: Array
    if function == "not":
        result = ~parts[0]
    else:
        result = parts[0] & parts[1] if function == "and" else parts[0] | parts[1]
    return result


def _quotient(a: Array, b: Array) -> Array:
    """Truncated toward zero, as in C; 0 where the divisor is 0; the smallest / -1 wraps."""
    if a.dtype.kind == "u":
        divided: Array = a // b  # NumPy gives 0 for a divisor of 0.
        return divided
    floor = np.floor_divide(a, b)
    # NumPy rounds down: one too low where signs differ and something is left.
    short = (b != 0) & ((a < 0) != (b < 0)) & (np.multiply(floor, b) != a)
    truncated: Array = floor + short.astype(a.dtype)
    return truncated


def _shifted(function: str, a: Array, b: Array) -> Array:
    """Bits shifted; by a negative amount or by all bits and more nothing but the sign is left."""
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    amount = np.where(inside, b, 0).astype(a.dtype)
    if function == "shl":
        left: Array = np.where(inside, np.left_shift(a, amount), np.zeros_like(a))
        return left
    sign = (a < 0).astype(a.dtype)
    right: Array = np.where(inside, np.right_shift(a, amount), np.negative(sign))
    return right
