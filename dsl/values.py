"""What an expression is worth, given the values of its names."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, nearest, unknown_error
from .units import EXAMPLES, PLAIN, UNITS, Quantity, Value, describe, dimension_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .source import Span
    from .units import Dimension

_MOST_BITS = (
    4096  # No machine needs larger numbers, and a tower of powers must not fill the memory.
)

FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "log2": 1}
"""Functions of expressions and how many arguments each takes; ``log2`` rounds down."""

Scope = dict[str, Value]


def evaluate(
    expression: syntax.Expression | syntax.Range, scope: Mapping[str, Value], exact: bool = False
) -> Value:
    """The value of an expression; raises ``BlamedError``, for a range and a node too.

    ``/`` between two whole numbers rounds down, as an index needs it, unless ``exact``.
    Conditions are ``bool``.
    """
    if isinstance(expression, syntax.Name):
        try:
            return scope[expression.text]
        except KeyError:
            raise unknown_error("name", expression.text, expression.span, scope) from None
    if isinstance(expression, syntax.Number):
        if expression.unit and expression.unit not in UNITS:
            raise BlamedError(*unit_fault(expression))
        return _number(expression.digits, expression.unit)
    if isinstance(expression, syntax.Binary):
        operation = expression.operation
        left = evaluate(expression.left, scope, exact)
        if operation in ("and", "or"):
            condition = _condition(left, expression.left)
            if condition is (operation == "or"):
                return condition
            return _condition(evaluate(expression.right, scope, exact), expression.right)
        right = evaluate(expression.right, scope, exact)
        if type(left) is int and type(right) is int and operation in _FAST:
            return _FAST[operation](left, right)
        return _binary(expression, left, right, exact)
    if isinstance(expression, syntax.Unary):
        operand = evaluate(expression.operand, scope, exact)
        if expression.operation == "not":
            return not _condition(operand, expression.operand)
        _number_like(operand, expression.operand)
        if expression.operation == "~":
            return ~_bit_pattern(operand, expression.operand)
        if isinstance(operand, Quantity):
            return Quantity(-operand.value, operand.dimension)
        return -operand
    if isinstance(expression, syntax.Apply):
        return _apply(expression, [evaluate(each, scope, exact) for each in expression.arguments])
    raise BlamedError(*misplaced(expression))


def misplaced(expression: syntax.Range | syntax.Reference) -> tuple[str, Span, str]:
    """What to say of a range or a node that stands where one number is needed."""
    what = "a range" if isinstance(expression, syntax.Range) else "a node"
    return f"{what} where one number is needed", expression.span, "a number"


def whole(
    expression: syntax.Expression | syntax.Range, scope: Mapping[str, Value], what: str
) -> int:
    """The value of an expression that must be a whole number; ``what`` names it in the fault."""
    value = evaluate(expression, scope)
    if type(value) is int:
        return value
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    raise BlamedError(f"{what} is {_kind(value)}", expression.span, "a whole number")


def quantity(
    expression: syntax.Expression,
    scope: Mapping[str, Value],
    dimension: Dimension,
    what: str,
) -> Fraction:
    """The value of an expression that must have a dimension, in bytes and seconds."""
    value = evaluate(expression, scope)
    if type(value) is not bool and dimension_of(value) == dimension:
        return value.value if isinstance(value, Quantity) else Fraction(value)
    raise BlamedError(
        f"{what} is {_kind(value)}",
        expression.span,
        f"{describe(dimension)} such as {EXAMPLES[dimension]}",
    )


def number(expression: syntax.Expression, scope: Mapping[str, Value], what: str) -> Fraction:
    """The exact value of an expression that must be a plain number; ``/`` is exact."""
    value = evaluate(expression, scope, exact=True)
    if type(value) is bool or isinstance(value, Quantity):
        raise BlamedError(f"{what} is {_kind(value)}", expression.span, describe(PLAIN))
    return Fraction(value)


def condition(expression: syntax.Expression, scope: Mapping[str, Value]) -> bool:
    """Whether a guard holds."""
    return _condition(evaluate(expression, scope), expression)


def unit_fault(expression: syntax.Number) -> tuple[str, Span, str, str]:
    """What to say of a number whose unit does not exist."""
    span = expression.span
    return (
        f"unknown unit {expression.unit!r}",
        span,
        "B, KB, KiB, MB, MiB, GB, GiB, TB, TiB, any of them with /s, Gb/s, s, ms, us or ns",
        nearest(expression.unit, UNITS),
    )


@lru_cache(maxsize=4096)
def _number(digits: str, unit: str) -> Value:
    value = Fraction(digits)
    if unit:
        size, dimension = UNITS[unit]
        return Quantity(value * size, dimension)
    return value.numerator if "." not in digits else value


_FAST = {
    "+": int.__add__,
    "-": int.__sub__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
    "==": int.__eq__,
    "!=": int.__ne__,
}


_BITS = {"&": int.__and__, "|": int.__or__, "^": int.__xor__, "<<": None, ">>": int.__rshift__}


def _kind(value: Value) -> str:
    if type(value) is bool:
        return "a condition"
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{value}, a fraction"
    return describe(dimension_of(value))


def _condition(value: Value, expression: syntax.Expression) -> bool:
    if type(value) is not bool:
        raise BlamedError(
            f"{_kind(value)} where a condition is needed",
            expression.span,
            "a comparison such as i < n",
        )
    return value


def _number_like(value: Value, expression: syntax.Expression) -> None:
    if type(value) is bool:
        raise BlamedError("a condition where a number is needed", expression.span, "a number")


def _binary(expression: syntax.Binary, left: Value, right: Value, exact: bool) -> Value:
    _number_like(left, expression.left)
    _number_like(right, expression.right)
    operation = expression.operation
    mine, theirs = dimension_of(left), dimension_of(right)
    a = left.value if isinstance(left, Quantity) else left
    b = right.value if isinstance(right, Quantity) else right
    plain = mine == theirs == PLAIN
    if operation in _FAST:
        if mine != theirs:
            raise BlamedError(
                f"{_kind(left)} {operation} {_kind(right)}",
                expression.span,
                f"{describe(mine)} on both sides",
            )
        if operation in ("+", "-"):
            return _value(a + b if operation == "+" else a - b, mine)
        order = (a > b) - (a < b)
        return _FAST[operation](order, 0)
    if operation in _BITS:
        return _bitwise(expression, left, right)
    if operation == "*":
        _bounded(expression, a, b)
        return _value(a * b, (mine[0] + theirs[0], mine[1] + theirs[1]))
    if operation == "**":
        return _power(expression, a, b, plain)
    if b == 0:
        raise BlamedError("a division by zero", expression.span, "a divisor other than 0")
    if operation == "/":
        if plain and not exact and a == int(a) and b == int(b):
            return int(a // b)
        return _value(Fraction(a) / b, (mine[0] - theirs[0], mine[1] - theirs[1]))
    if not plain:
        raise BlamedError(
            f"{_kind(left)} {operation} {_kind(right)}", expression.span, "plain numbers around it"
        )
    return int(a // b) if operation == "//" else _value(a % b, PLAIN)


def _value(number: Fraction | int, dimension: Dimension) -> Value:
    if dimension != PLAIN:
        return Quantity(Fraction(number), dimension)
    return number.numerator if number.denominator == 1 else number


def _bitwise(expression: syntax.Binary, left: Value, right: Value) -> int:
    a = _bit_pattern(left, expression.left)
    b = _bit_pattern(right, expression.right)
    if expression.operation in ("<<", ">>") and b < 0:
        raise BlamedError(f"a shift by {b}", expression.right.span, "0 or more")
    compute = _BITS[expression.operation]
    if compute is None:
        if a.bit_length() + b > _MOST_BITS:
            raise BlamedError("a number too large", expression.span, f"less than 2 ** {_MOST_BITS}")
        return a << b
    return compute(a, b)


def _bit_pattern(value: Value, expression: syntax.Expression) -> int:
    if type(value) is not int:
        raise BlamedError(
            f"{_kind(value)} where bits are needed", expression.span, "a whole number"
        )
    return value


def _power(expression: syntax.Binary, a: Fraction | int, b: Fraction | int, plain: bool) -> Value:
    if not plain or b.denominator != 1 or b < 0:
        raise BlamedError(
            "a power of or by something else than whole numbers",
            expression.span,
            "a plain number to the power of a whole number from 0 up",
        )
    if b * max(_bits(a), 1) > _MOST_BITS:
        raise BlamedError("a number too large", expression.span, f"less than 2 ** {_MOST_BITS}")
    return _value(a ** int(b), PLAIN)


def _bounded(expression: syntax.Binary, a: Fraction | int, b: Fraction | int) -> None:
    if _bits(a) + _bits(b) > 2 * _MOST_BITS:
        raise BlamedError("a number too large", expression.span, f"less than 2 ** {_MOST_BITS}")


def _bits(value: Fraction | int) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _apply(expression: syntax.Apply, arguments: list[Value]) -> Value:
    name = expression.function.text
    if name not in FUNCTIONS:
        raise unknown_error("function", name, expression.function.span, FUNCTIONS)
    if len(arguments) != FUNCTIONS[name]:
        raise BlamedError(*arity_fault(expression))
    for argument, node in zip(arguments, expression.arguments, strict=True):
        _number_like(argument, node)
    if name == "log2":
        value = _bit_pattern(arguments[0], expression.arguments[0])
        if value < 1:
            raise BlamedError(f"log2 of {value}", expression.span, "1 or more")
        return value.bit_length() - 1
    dimensions = {dimension_of(argument) for argument in arguments}
    if len(dimensions) > 1:
        kinds = " and ".join(map(_kind, arguments))
        raise BlamedError(f"{name} of {kinds}", expression.span, "the same dimension for both")
    amounts = [each.value if isinstance(each, Quantity) else each for each in arguments]
    if name == "abs":
        amounts.append(-amounts[0])
    return _value(min(amounts) if name == "min" else max(amounts), dimensions.pop())


def arity_fault(expression: syntax.Apply) -> tuple[str, Span, str]:
    """What to say of a function with the wrong number of arguments."""
    name = expression.function.text
    return (
        f"wrong number of arguments for {name}: {len(expression.arguments)}",
        expression.span,
        str(FUNCTIONS[name]),
    )
