"""What an operator's expressions do not round: choices, and sums and products as they stand."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.operators import field_elements
from roundelay.dsl.model import CONDITIONS, Apply, Made, Number, Variable

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Assignment, Expression


def is_own(assignment: Assignment, function: str) -> bool:
    """Whether a field is made by a function of that field of both values."""
    match assignment.value:
        case Apply(name, (Variable(one, first), Variable(other, second))):
            return (name, first, second) == (function, *(assignment.field,) * 2) and one != other
        case _:
            return False


def adds(assignment: Assignment) -> bool:
    """Whether a field is the plain sum of that field of both values."""
    return is_own(assignment, "add")


_CHOICES = ("min", "max", "neg", "abs")


def selects(expression: Expression, own: Element, element: Element) -> bool:
    """Whether an expression gives one of its values, its negative or a constant, of those that
    ``own`` holds, and so never has to be rounded to it.
    """
    match expression:
        case Number(value):
            return holds(own, value)
        case Variable(_, field) | Made(field):
            return field_elements(element)[field] == own
        case Apply("where", (_, yes, no)):
            return selects(yes, own, element) and selects(no, own, element)
        case Apply(function, arguments):
            return function in CONDITIONS or (
                function in _CHOICES and all(selects(part, own, element) for part in arguments)
            )
        case _:
            return False


def holds(kind: Element, value: Fraction) -> bool:
    """Whether a kind has exactly this number among its values."""
    if kind.exact:
        return True  # Others are refused.
    nearest = float(kind.dtype.type(float(value)))
    return bool(np.isfinite(nearest)) and Fraction(nearest) == value
