"""The right values, straight from what the collective says, in a higher precision.

Shares no code with schedules, programs or kernels: it folds the wanted symbols in the order in
which the collective names them. For floats it returns, beside the value, how far a correct
execution in any order of merging may be from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.model import Apply, Number, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Expression, Operator

    from .executor import Array


@dataclass(frozen=True, slots=True)
class Reference:
    """Wanted values and, for floats, the largest admissible distance from each; 0 means equal."""

    values: Array
    tolerance: Array


def fold(operator: Operator | None, element: Element, terms: Sequence[Array]) -> Reference:
    """Combine the terms, left to right.

    Integers are combined modulo their range and must be met exactly, and so must a copy. Floats
    are combined in float64 (float64 itself in the longest float of the machine). Beside the
    value runs its magnitude (the same expression with nothing cancelling) and its error by the
    standard model of rounding, |fl(a ∘ b) - (a ∘ b)| ≤ u·|a ∘ b|, in the precision of the
    accumulation for every merge, in whatever order, and in that of the element for the store.
    """
    if len(terms) == 1 or operator is None:
        return Reference(terms[0], np.zeros(len(terms[0])))
    with np.errstate(all="ignore"):
        if element.exact:
            total = terms[0]
            for term in terms[1:]:
                total = _wrapped(operator.body, total, term)
            return Reference(total, np.zeros(len(total)))
        wide = np.longdouble if element.name == "f64" else np.float64
        unit = _unit(ELEMENTS[element.accumulate])
        running = _Bounded.exact(terms[0].astype(wide))
        for term in terms[1:]:
            running = _bounded(operator.body, running, _Bounded.exact(term.astype(wide)), unit)
        # A selection (min, max) passes its values on untouched; anything else is rounded once.
        store = _unit(element) if element.accumulate != element.name else 0.0
        if _selects(operator.body):
            return Reference(running.value, np.zeros(len(running.value)))
        error = _in_any_order(operator.body, running, len(terms) - 1, unit)
        smallest = len(terms) * float(ml_dtypes.finfo(element.dtype).smallest_subnormal)
        return Reference(running.value, error + store * (running.magnitude + error) + smallest)


def _in_any_order(body: Expression, running: _Bounded, merges: int, unit: float) -> Array:
    """How far the result of so many merges may be off, from the error of one order of them.

    A sum of n values: each of its merges rounds a partial sum, which is no larger than the sum of
    all magnitudes, so it is off by at most (n - 1)·u·Σ|x| (Higham, Accuracy and Stability of
    Numerical Algorithms, section 4.2); one order's own partial sums may all be smaller than
    another's. A product rounds relatively, alike in every order. For any other expression no
    merge of another order is taken to lose more than all merges of this one together.
    """
    match body:
        case Apply("add", (Variable(), Variable())):
            return merges * unit * (1 + merges * unit) * running.magnitude
        case Apply("mul", (Variable(), Variable())):
            return running.error
        case _:
            return merges * running.error


def _unit(element: Element) -> float:
    """Half the distance from 1 to the next value: the unit roundoff u."""
    return float(ml_dtypes.finfo(element.dtype).eps) / 2


def _selects(expression: Expression) -> bool:
    match expression:
        case Number() | Variable():
            return True
        case _:
            exact = expression.function in ("min", "max", "neg", "abs")
            return exact and all(map(_selects, expression.arguments))


def _wrapped(expression: Expression, left: Array, right: Array) -> Array:
    """The expression in the integers modulo 2^bits; NumPy's arrays wrap without a warning."""
    match expression:
        case Number(value):
            return np.full_like(left, int(value))
        case Variable(index):
            return (left, right)[index]
        case _:
            parts = [_wrapped(part, left, right) for part in expression.arguments]
            function = {
                "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
                "min": np.minimum, "max": np.maximum, "abs": np.absolute,
            }[expression.function]  # fmt: skip
            result: Array = function(*parts)
            return result


@dataclass(frozen=True, slots=True)
class _Bounded:
    value: Array
    magnitude: Array
    error: Array

    @staticmethod
    def exact(value: Array) -> _Bounded:
        return _Bounded(value, np.abs(value), np.zeros_like(value))


def _bounded(expression: Expression, left: _Bounded, right: _Bounded, unit: float) -> _Bounded:
    match expression:
        case Number(value):
            return _Bounded.exact(np.full_like(left.value, float(value)))
        case Variable(index):
            return (left, right)[index]
        case _:
            parts = [_bounded(part, left, right, unit) for part in expression.arguments]
            return _applied(expression.function, parts, unit)


def _applied(function: str, parts: list[_Bounded], unit: float) -> _Bounded:
    a, b = parts[0], parts[-1]
    match function:
        case "neg":
            return _Bounded(-a.value, a.magnitude, a.error)
        case "abs":
            return _Bounded(np.abs(a.value), a.magnitude, a.error)
        case "min" | "max":
            choose = np.minimum if function == "min" else np.maximum
            return _Bounded(
                choose(a.value, b.value),
                np.maximum(a.magnitude, b.magnitude),
                np.maximum(a.error, b.error),
            )
        case "add" | "sub":
            value = a.value + b.value if function == "add" else a.value - b.value
            magnitude = a.magnitude + b.magnitude
            error = a.error + b.error
        case "mul":
            value = a.value * b.value
            magnitude = a.magnitude * b.magnitude
            error = a.error * b.magnitude + b.error * a.magnitude + a.error * b.error
        case _:  # div
            value = a.value / b.value
            divisor = np.abs(b.value) - b.error
            divisor = np.where(divisor > 0, divisor, np.nan)
            magnitude = np.nan_to_num(a.magnitude / divisor, nan=np.inf)
            error = np.nan_to_num((a.error + np.abs(value) * b.error) / divisor, nan=np.inf)
    return _Bounded(value, magnitude, error + unit * (magnitude + error))
