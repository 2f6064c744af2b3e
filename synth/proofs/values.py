"""The exact value of an operator at a point, by fractions and whole numbers, without a solver."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from .reading import Call, Constant, Done, Input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reading import Kind, Node, Question, Reading, Record

Partial = tuple[Fraction | None, ...]
"""A record some of whose fields may be undefined (a division by zero)."""

_BITS = 4096
"""Longest number computed with: repeated squaring would fill the memory."""

_ONE, _ZERO = Fraction(1), Fraction(0)


class InexactError(Exception):
    """A value is irrational, or too long to be computed."""


def sides(question: Question, point: Sequence[Record]) -> list[tuple[Partial, Partial]]:
    """Both sides of each equation of a law at a point. Raises ``InexactError``."""
    reading = question.reading

    def combine(left: Partial, right: Partial) -> Partial:
        return evaluate(reading, left, right)

    a, b = point[0], point[min(1, len(point) - 1)]
    match question.law:
        case "associative":
            return [(combine(combine(a, b), point[2]), combine(a, combine(b, point[2])))]
        case "commutative":
            return [(combine(a, b), combine(b, a))]
        case "idempotent":
            return [(combine(a, a), a)]
        case "identity":
            assert question.unit is not None
            return [(combine(a, question.unit), a), (combine(question.unit, a), a)]


def differ(left: Partial, right: Partial) -> bool:
    """Whether the sides differ in a field that is defined on both."""
    pairs = zip(left, right, strict=True)
    return any(x is not None and y is not None and x != y for x, y in pairs)


def evaluate(reading: Reading, left: Partial, right: Partial) -> Partial:
    """The operator's value. Raises ``InexactError``."""
    made: list[Fraction | None] = [None] * len(reading.kinds)
    for field, node in reading.body:
        made[field] = _value(node, (left, right), made)
    return tuple(made)


def _value(
    node: Node, inputs: tuple[Partial, Partial], made: Sequence[Fraction | None]
) -> Fraction | None:
    match node:
        case Constant(value):
            return value
        case Input(index, field):
            return inputs[index][field]
        case Done(field):
            return made[field]
        case Call("where", _, (test, yes, no)):  # What is not chosen need not be defined.
            condition = _value(test, inputs, made)
            return None if condition is None else _value(yes if condition else no, inputs, made)
        case Call():
            return _call(node, [_value(argument, inputs, made) for argument in node.arguments])


def _call(node: Call, parts: list[Fraction | None]) -> Fraction | None:
    # Nor need what cannot change the outcome.
    if node.function == "and" and _ZERO in parts:
        return _ZERO
    if node.function == "or" and any(parts):
        return _ONE
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    value = _apply(node.function, node.kind, known)
    if value is not None and max(map(int.bit_length, value.as_integer_ratio())) > _BITS:
        raise InexactError
    return value


def _apply(function: str, kind: Kind, parts: list[Fraction]) -> Fraction | None:
    x, y = parts[0], parts[-1]
    match function:
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
        case "lt" | "le" | "gt" | "ge" | "eq" | "ne":
            found = {"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y}
            return Fraction(found.get(function, x != y))
        case "and" | "or":
            return Fraction(bool(x and y) if function == "and" else bool(x or y))
        case "not":
            return Fraction(not x)
        case "div":
            return x / y if y else None
        case "exp" | "log" | "logaddexp" | "sqrt":
            return _transcendental(function, x)
        case _:
            return _wrap(_arithmetic(function, kind, x, y), kind)


def _arithmetic(function: str, kind: Kind, x: Fraction, y: Fraction) -> Fraction:
    match function:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "neg":
            return -x
        case "abs":
            return abs(x)
        case _:
            return Fraction(_bitwise(function, kind.width, int(x), int(y)))


def _bitwise(function: str, width: int, x: int, y: int) -> int:
    match function:
        case "band":
            return x & y
        case "bor":
            return x | y
        case "bxor":
            return x ^ y
        case "inv":
            return ~x
        case "shl":
            return x << y if 0 <= y < width else 0
        case "shr":
            return x >> (y if 0 <= y < width else width)
        case _:
            raise AssertionError(function)


def _wrap(value: Fraction, kind: Kind) -> Fraction:
    if not kind.width:
        return value
    return (value - kind.low) % (1 << kind.width) + kind.low


def _transcendental(function: str, x: Fraction) -> Fraction | None:
    """The few values that are rational; None where there is none at all."""
    if (function == "sqrt" and x < 0) or (function == "log" and x <= 0):
        return None
    if function == "sqrt":
        root = Fraction(isqrt(x.numerator), isqrt(x.denominator))
        if root * root == x:
            return root
    elif function == "exp" and x == 0:
        return _ONE
    elif function == "log" and x == 1:
        return _ZERO
    raise InexactError
