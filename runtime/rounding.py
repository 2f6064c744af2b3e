"""Numbers with a bound on how far a correct computation in lower precision may be from them.

The standard model of rounding: a result is off by at most ``unit`` times its size, beside what
the errors of its operands make of it. Written for the reference alone; shares no code with
kernels or interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element

    from .executor import Array

ULPS = 8.0
"""Units of rounding by which a library's exp or log may be off: NumPy's, the C library's and
CUDA's stay within four units of the last place.
"""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value, its magnitude (the same expression with nothing cancelling), and its error.

    An infinite error says that rounding alone may lead anywhere, NaN too. Integers carry an
    error only where one of them was chosen by a comparison that rounding may turn.
    """

    value: Array
    magnitude: Array
    error: Array


@dataclass(frozen=True, slots=True)
class Precision:
    """How a kind computes: ``unit`` roundoff, largest and smallest value, and in which wider
    type the reference does. ``spread`` counts every rounding so many times.
    """

    wide: np.dtype[np.generic]
    unit: float
    largest: float
    smallest: float
    exact: bool
    spread: int = 1

    @staticmethod
    def of(kind: Element, spread: int = 1) -> Precision:
        """The precision of a type of numbers."""
        if kind.exact:
            return Precision(kind.dtype, 0.0, np.inf, 0.0, True, spread)
        facts = ml_dtypes.finfo(kind.dtype)
        wide = np.dtype(np.longdouble if kind.name == "f64" else np.float64)
        unit = float(facts.eps) / 2 * spread
        return Precision(
            wide, unit, float(facts.max), float(facts.smallest_subnormal) * spread, False, spread
        )


def given(value: Array, precision: Precision) -> Bounded:
    """A value that is exactly what it is."""
    wide = value.astype(precision.wide, copy=False)
    none = np.zeros(wide.shape)
    return Bounded(wide, none if precision.exact else np.abs(wide), none)


def constant(value: int | float, exact: bool, precision: Precision) -> Bounded:
    """A number of an operator's text; ``exact`` where the kind holds it without rounding."""
    whole = given(np.array([[value]], precision.wide), precision)
    error = np.zeros((1, 1)) if exact else precision.unit * whole.magnitude
    return Bounded(whole.value, whole.magnitude, error)


def rounded(
    value: Array,
    magnitude: Array,
    error: Array,
    certain: Array,
    precision: Precision,
    more: Array | float = 0.0,
) -> Bounded:
    """A result after it was rounded; ``certain`` where no operand may be anything at all.

    ``more``: of how much else, in units of rounding, the function itself may be off. What is
    infinite or NaN although every operand is known has no error. A value that surely lies beyond
    the range is infinite; one of which that is open may be anything.
    """
    error = error + precision.unit * (magnitude + error + more) + precision.smallest
    size = np.abs(value)
    over = certain & (size - error > precision.largest * (1 + precision.unit))
    value = np.where(over, np.copysign(np.inf, value), value)
    special = certain & ~np.isfinite(value)
    open_ = ~certain | np.isnan(error) | (size + error > precision.largest)
    error = np.where(special, 0.0, np.where(open_, np.inf, error))
    return Bounded(value, np.where(special, size, magnitude), error)


# --------------------------------------------------------------------------------- functions


def compute(function: str, parts: Sequence[Bounded], precision: Precision) -> Bounded:
    """A function of numbers of one kind that rounds, or picks one of its arguments."""
    if precision.exact:
        return _whole(function, parts)
    a, b = parts[0], parts[-1]
    match function:
        case "neg":
            return Bounded(-a.value, a.magnitude, a.error)
        case "abs":
            return Bounded(np.abs(a.value), a.magnitude, a.error)
        case "min" | "max":
            choose = np.minimum if function == "min" else np.maximum
            return Bounded(
                choose(a.value, b.value),
                np.maximum(a.magnitude, b.magnitude),
                np.maximum(a.error, b.error),
            )
        case "exp" | "log" | "sqrt":
            return _UNARY[function](a, precision)
        case "logaddexp":
            return _logaddexp(a, b, precision)
        case _:
            return _arithmetic(function, a, b, precision)


def _arithmetic(function: str, a: Bounded, b: Bounded, precision: Precision) -> Bounded:
    certain = np.isfinite(a.error) & np.isfinite(b.error)
    value: Array
    match function:
        case "add" | "sub":
            value = a.value + b.value if function == "add" else a.value - b.value
            magnitude = a.magnitude + b.magnitude
            error = a.error + b.error
        case "mul":
            value = a.value * b.value
            magnitude = a.magnitude * b.magnitude
            error = a.error * np.abs(b.value) + b.error * np.abs(a.value) + a.error * b.error
        case _:  # div
            value = a.value / b.value
            divisor = np.abs(b.value) - b.error
            certain &= (b.error == 0) | (divisor > 0)
            magnitude = a.magnitude / np.abs(divisor)
            error = (a.error + np.abs(value) * b.error) / np.abs(divisor)
    return rounded(value, magnitude, error, certain, precision)


def _exp(a: Bounded, precision: Precision) -> Bounded:
    value = np.exp(a.value)
    error = value * np.expm1(a.error)
    return rounded(value, value, error, np.isfinite(a.error), precision, ULPS * value)


def _log(a: Bounded, precision: Precision) -> Bounded:
    value = np.log(a.value)
    low = np.abs(a.value) - a.error
    certain = np.isfinite(a.error) & ((a.error == 0) | (low > 0))
    error = np.where(a.error == 0, 0.0, -np.log1p(-a.error / np.abs(a.value)))
    size = np.abs(value)
    return rounded(value, size, error, certain, precision, ULPS * size)


def _sqrt(a: Bounded, precision: Precision) -> Bounded:
    value = np.sqrt(a.value)
    low = np.abs(a.value) - a.error
    certain = np.isfinite(a.error) & ((a.error == 0) | (low > 0))
    error = np.where(a.error == 0, 0.0, a.error / (value + np.sqrt(np.maximum(low, 0))))
    return rounded(value, value, error, certain, precision)


_UNARY = {"exp": _exp, "log": _log, "sqrt": _sqrt}


def _logaddexp(a: Bounded, b: Bounded, precision: Precision) -> Bounded:
    """Its value never changes by more than the larger change of its two arguments."""
    value = np.logaddexp(a.value, b.value)
    apart = np.abs(a.value - b.value)
    apart = np.where(np.isnan(apart), 0.0, apart)  # Equal infinities.
    term = np.log1p(np.exp(-apart))
    # The term's own error: that of the difference, of exp and of log1p, as a part of the term.
    term = np.where(term > 0, term * (2 * apart + 2 * ULPS + 4), 0.0)
    certain = np.isfinite(a.error) & np.isfinite(b.error)
    error = np.maximum(a.error, b.error)
    return rounded(value, np.abs(value), error, certain, precision, term)


# --------------------------------------------------------------------------------- choices


def is_true(part: Bounded) -> tuple[Array, Array]:
    """Whether a number is not 0, and where rounding may turn the answer."""
    turned: Array = (part.error > 0) & ~(np.abs(part.value.astype(np.float64)) > part.error)
    return part.value != 0, turned


def compare(function: str, a: Bounded, b: Bounded) -> tuple[Array, Array]:
    """The outcome of a comparison, and where rounding may turn it."""
    outcome: Array = _COMPARE[function](a.value, b.value)
    error = a.error + b.error
    if not error.any():
        return outcome, np.zeros(outcome.shape, bool)
    apart = np.abs(a.value.astype(np.float64) - b.value.astype(np.float64))
    turned = (error > 0) & ~(apart > error)
    # Against what is infinite or NaN for sure a bounded error turns nothing.
    fixed = np.isfinite(error) & ~np.isfinite(apart)
    return outcome, turned & ~fixed


_COMPARE: dict[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def combine_truth(function: str, parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """``and``, ``or`` or ``not`` of truth values, and where rounding may turn the outcome."""
    (one, first), (other, second) = parts[0], parts[-1]
    if function == "not":
        return ~one, first
    if function == "and":
        turned = (first | second) & (one | first) & (other | second)
        return one & other, turned
    turned = (first | second) & (~one | first) & (~other | second)
    return one | other, turned


def as_number(truth: tuple[Array, Array], precision: Precision) -> Bounded:
    """1 or 0; off by 1 where rounding may turn it."""
    value = truth[0].astype(precision.wide)
    return Bounded(value, value.astype(np.float64), truth[1].astype(np.float64))


def choose(truth: tuple[Array, Array], yes: Bounded, no: Bounded) -> Bounded:
    """``where``; with the distance to the other value where rounding may turn the choice."""
    outcome, turned = truth
    value = np.where(outcome, yes.value, no.value)
    magnitude = np.where(outcome, yes.magnitude, no.magnitude)
    error = np.where(outcome, yes.error, no.error)
    if turned.any():
        apart = np.abs(yes.value.astype(np.longdouble) - no.value.astype(np.longdouble))
        apart = np.where(yes.value == no.value, 0, apart)
        wider = np.maximum(yes.error, no.error) + np.where(np.isnan(apart), np.inf, apart)
        magnitude = np.where(turned, np.maximum(yes.magnitude, no.magnitude), magnitude)
        error = np.where(turned, wider, error)
    return Bounded(value, magnitude, error)


# --------------------------------------------------------------------------------- integers


def _whole(function: str, parts: Sequence[Bounded]) -> Bounded:
    """Modulo the range of the type; of an operand that is open the result is open."""
    a, b = parts[0].value, parts[-1].value
    value: Array
    match function:
        case "div":
            value = _truncated(a, b)
        case "shl" | "shr":
            value = _moved(function, a, b)
        case _:
            value = _WHOLE[function](*(part.value for part in parts))
    known = np.zeros(value.shape, bool)
    for part in parts:
        known = known | (part.error > 0)
    return Bounded(value, np.zeros(value.shape), np.where(known, np.inf, 0.0))


_WHOLE: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "min": np.minimum, "max": np.maximum, "abs": np.absolute, "inv": np.invert,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
}  # fmt: skip


def _truncated(a: Array, b: Array) -> Array:
    """The quotient of the sizes, which unsigned numbers always hold, with its sign put back."""
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    one, other = np.abs(a).astype(unsigned), np.abs(b).astype(unsigned)
    size = (one // np.maximum(other, 1)).astype(a.dtype) * (other > 0).astype(a.dtype)
    result: Array = np.where((a < 0) != (b < 0), np.negative(size), size)
    return result


def _moved(function: str, a: Array, b: Array) -> Array:
    """Times or by powers of two, one bit after another."""
    bits = a.dtype.itemsize * 8
    steps = np.where((b < 0) | (b >= bits), bits, b)
    value = np.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)).copy()
    for step in range(bits):
        moved = value * 2 if function == "shl" else value // 2
        value = np.where(steps > step, moved, value).astype(a.dtype)
    return value
