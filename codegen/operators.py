"""Which operators can be computed on which element types, and which commute bit for bit."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.dsl.model import Apply, Number, Variable
from roundelay.dsl.source import UnsupportedError

from .elements import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Expression, Operator

    from .elements import Element


class UnsupportedOperatorError(UnsupportedError):
    """An operator has no meaning on an element type."""


def require_supported(operator: Operator | None, element: Element) -> None:
    """Raise ``UnsupportedOperatorError`` unless the operator's body means something here.

    On integers neither a division nor a constant that the type cannot hold has a meaning; on
    floats no constant beyond the range of the type in which they are accumulated.
    """
    if operator is None:
        return
    if not element.exact:
        _require_range(operator, element)
        return
    limits = np.iinfo(element.dtype.name)
    for part in _parts(operator.body):
        match part:
            case Apply("div"):
                raise UnsupportedOperatorError(
                    f"operator {operator.name} divides, which is not defined on {element.name}"
                )
            case Number(value) if value.denominator != 1 or not (limits.min <= value <= limits.max):
                raise UnsupportedOperatorError(
                    f"operator {operator.name} uses {value}, which is no {element.name}"
                )
            case _:
                pass


def _require_range(operator: Operator, element: Element) -> None:
    largest = Fraction(float(np.finfo(ELEMENTS[element.accumulate].dtype).max))
    for part in _parts(operator.body):
        if isinstance(part, Number) and abs(part.value) > largest:
            raise UnsupportedOperatorError(
                f"operator {operator.name} uses a constant that {element.accumulate} cannot hold"
            )


def commutes_bitwise(operator: Operator | None) -> bool:
    """Whether swapping the two operands gives the same bits on every element type.

    True of a plain sum and a plain product alone: IEEE 754 addition and multiplication commute
    (but for which of two NaNs' payload is kept), while min and max of zeros of different sign
    depend on the order.
    """
    if operator is None:
        return False
    pairs = ((Variable(0), Variable(1)), (Variable(1), Variable(0)))
    match operator.body:
        case Apply("add" | "mul", arguments):
            return arguments in pairs
        case _:
            return False


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from _parts(argument)
