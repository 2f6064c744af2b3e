"""Real numbers known exactly, or between two bounds: what roots and exponentials leave of them.

Bounds are always rounded outwards, so two intervals without a common point are two different
numbers for certain: rounding never makes a counterexample.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Overflow
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = 30
_EXPONENT = 10**9  # Beyond that lies what no element type comes near.
_BITS = 4096  # Repeated squaring must not fill the memory.
_KNOWN = Decimal("1e-12")


def _context(rounding: str) -> Context:
    return Context(_DIGITS, rounding, -_EXPONENT, _EXPONENT, traps=[Overflow])


_DOWN, _UP = _context(ROUND_FLOOR), _context(ROUND_CEILING)
_ZERO, _ONE = Decimal(0), Decimal(1)


class UndefinedError(Exception):
    """A number that does not exist, or that the bounds do not settle; the message says why."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Some number from ``low`` to ``high``."""

    low: Decimal
    high: Decimal


Real = Fraction | Interval


def compute(function: str, parts: list[Real]) -> Real:
    """A function of the model on real numbers, except comparisons, logic, ``where`` and bits.

    Raises ``UndefinedError``.
    """
    try:
        value = _FUNCTIONS[function](*parts)
    except Overflow:
        raise UndefinedError("a number too large") from None
    if isinstance(value, Fraction) and _long(value):
        raise UndefinedError("a number too large")
    return value


def compare(x: Real, y: Real) -> int:
    """-1, 0 or 1. Raises ``UndefinedError`` where the bounds leave it open."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return (x > y) - (x < y)
    (x_low, x_high), (y_low, y_high) = _bounds(x), _bounds(y)
    if x_high < y_low or x_low > y_high:
        return 1 if x_low > y_high else -1
    raise UndefinedError("a comparison that rounding decides")


def differ(x: Real, y: Real) -> bool:
    """Whether two numbers are different for certain."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x != y
    (x_low, x_high), (y_low, y_high) = _bounds(x), _bounds(y)
    return x_high < y_low or x_low > y_high


def known(x: Real) -> bool:
    """Whether a number is known to twelve digits; what is not says little of a law."""
    if isinstance(x, Fraction):
        return True
    size = max(_ONE, x.low.copy_abs(), x.high.copy_abs())
    return _UP.subtract(x.high, x.low) <= _UP.multiply(_KNOWN, size)


def _long(value: Fraction) -> bool:
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS


def _bounds(x: Real) -> tuple[Decimal, Decimal]:
    if isinstance(x, Interval):
        return x.low, x.high
    top, bottom = Decimal(x.numerator), Decimal(x.denominator)
    return _DOWN.divide(top, bottom), _UP.divide(top, bottom)


# --------------------------------------------------------------------------------- functions


def _add(x: Real, y: Real) -> Real:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x + y
    (x_low, x_high), (y_low, y_high) = _bounds(x), _bounds(y)
    return Interval(_DOWN.add(x_low, y_low), _UP.add(x_high, y_high))


def _negate(x: Real) -> Real:
    # The operator - would round to the digits of whatever context the thread has.
    return -x if isinstance(x, Fraction) else Interval(x.high.copy_negate(), x.low.copy_negate())


def _subtract(x: Real, y: Real) -> Real:
    return _add(x, _negate(y))


def _multiply(x: Real, y: Real) -> Real:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    if x == 0 or y == 0:
        return Fraction(0)
    pairs = [(a, b) for a in _bounds(x) for b in _bounds(y)]
    return Interval(
        min(_DOWN.multiply(a, b) for a, b in pairs), max(_UP.multiply(a, b) for a, b in pairs)
    )


def _divide(x: Real, y: Real) -> Real:
    if y == 0:
        raise UndefinedError("a division by zero")
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x / y
    low, high = _bounds(y)
    if low <= 0 <= high:
        raise UndefinedError("a division by what may be zero")
    pairs = [(a, b) for a in _bounds(x) for b in (low, high)]
    return Interval(
        min(_DOWN.divide(a, b) for a, b in pairs), max(_UP.divide(a, b) for a, b in pairs)
    )


def _least(x: Real, y: Real) -> Real:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return min(x, y)
    (x_low, x_high), (y_low, y_high) = _bounds(x), _bounds(y)
    if x_high <= y_low or y_high <= x_low:
        return x if x_high <= y_low else y
    return Interval(min(x_low, y_low), min(x_high, y_high))


def _greatest(x: Real, y: Real) -> Real:
    return _negate(_least(_negate(x), _negate(y)))


def _absolute(x: Real) -> Real:
    return _greatest(x, _negate(x))


def _exponential(x: Real) -> Real:
    if x == 0:
        return Fraction(1)
    low, high = _bounds(x)
    # The decimal module rounds exp, ln and sqrt to the nearest: one digit further out is safe.
    return Interval(max(_ZERO, _DOWN.next_minus(_DOWN.exp(low))), _UP.next_plus(_UP.exp(high)))


def _logarithm(x: Real) -> Real:
    low, high = _bounds(x)
    if low <= 0:
        raise UndefinedError("a logarithm of 0 or less")
    if x == 1:
        return Fraction(0)
    return Interval(_DOWN.next_minus(_DOWN.ln(low)), _UP.next_plus(_UP.ln(high)))


def _log_add_exp(x: Real, y: Real) -> Real:
    # It grows with both of its arguments; log(1 + exp(-d)) + m needs no exp of a large number.
    (x_low, x_high), (y_low, y_high) = _bounds(x), _bounds(y)
    top, bottom = max(x_low, y_low), min(x_low, y_low)
    power = max(_ZERO, _DOWN.next_minus(_DOWN.exp(_DOWN.subtract(bottom, top))))
    low = _DOWN.add(top, max(_ZERO, _DOWN.next_minus(_DOWN.ln(_DOWN.add(_ONE, power)))))
    top, bottom = max(x_high, y_high), min(x_high, y_high)
    power = _UP.next_plus(_UP.exp(_UP.subtract(bottom, top)))
    return Interval(low, _UP.add(top, _UP.next_plus(_UP.ln(_UP.add(_ONE, power)))))


def _root(x: Real) -> Real:
    low, high = _bounds(x)
    if low < 0:
        raise UndefinedError("a root of a negative number")
    if isinstance(x, Fraction):
        root = Fraction(isqrt(x.numerator), isqrt(x.denominator))
        if root * root == x:
            return root
    return Interval(max(_ZERO, _DOWN.next_minus(_DOWN.sqrt(low))), _UP.next_plus(_UP.sqrt(high)))


_FUNCTIONS: dict[str, Callable[..., Real]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "neg": _negate,
    "abs": _absolute,
    "min": _least,
    "max": _greatest,
    "exp": _exponential,
    "log": _logarithm,
    "logaddexp": _log_add_exp,
    "sqrt": _root,
}
