"""What a body is worth at a point: reals exactly or within bounds, integers as they wrap around."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .intervals import Interval, UndefinedError, compare, compute
from .kinds import FLOATS, limits, type_body, width
from .model import COMPARISONS, LOGIC, Apply, Count, Made, Number, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .intervals import Real
    from .kinds import Part
    from .model import Body, Function

Value = Fraction | Interval | int
"""A real number, or an ``int`` where the element type is an integer."""

Record = tuple[Value, ...]
"""One value of an operator: a number a field, one number without fields.

One value stands for all those of a vector field: a body computes a vector place by place, of the
same place and of single numbers, and single numbers of single numbers alone. So two results are
equal if and only if they are equal at every place, and every place has the same equation.
"""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A body over fields of some element types. Floats are taken as real numbers."""

    fields: tuple[str, ...]
    assignments: tuple[tuple[int, Part], ...]

    def __call__(self, inputs: Sequence[Record], count: int = 1) -> Record:
        """The result of a body on its inputs. Raises ``UndefinedError`` where there is none."""
        made: dict[int, Value] = {}
        for field, part in self.assignments:
            made[field] = _value(part, inputs, made, count)
        return tuple(made[field] for field in range(len(self.fields)))


def compile_body(body: Body, fields: Sequence[str]) -> Compiled:
    """A body ready to be evaluated; ``fields`` are the element types of the fields."""
    return Compiled(tuple(fields), type_body(body, fields))


def convert(value: Fraction, element: str) -> Value:
    """A number as a value of an element type that holds it."""
    return value if element in FLOATS else int(value)


def _value(part: Part, inputs: Sequence[Record], made: dict[int, Value], count: int) -> Value:
    node = part.node
    match node:
        case Number(value):
            return convert(value, part.kind)
        case Variable(index, field):
            return inputs[index][field]
        case Made(field):
            return made[field]
        case Count():
            return convert(Fraction(count), part.kind)
        case Apply(function):
            return _apply(function, part, inputs, made, count)


def _apply(
    function: Function,
    part: Part,
    inputs: Sequence[Record],
    made: dict[int, Value],
    count: int,
) -> Value:
    parts = part.parts
    if function == "where":
        chosen = parts[1] if _truth(_value(parts[0], inputs, made, count)) else parts[2]
        # What is not chosen need not be defined: machines compute it and throw it away.
        return _value(chosen, inputs, made, count)
    if function in LOGIC:
        truths = (_truth(_value(each, inputs, made, count)) for each in parts)
        holds = any(truths) if function == "or" else all(truths)
        return convert(Fraction(holds is not (function == "not")), part.kind)
    values = [_value(each, inputs, made, count) for each in parts]
    if function in COMPARISONS:
        return convert(Fraction(_holds(function, *values)), part.kind)
    if part.kind in FLOATS:
        return compute(function, [_real(value) for value in values])
    return _whole(function, [_integer(value) for value in values], part.kind)


def _real(value: Value) -> Real:
    assert not isinstance(value, int)
    return value


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _truth(value: Value) -> bool:
    return value != 0 if isinstance(value, int) else compare(value, Fraction(0)) != 0


def _holds(function: str, x: Value, y: Value) -> bool:
    if isinstance(x, int) and isinstance(y, int):
        order = (x > y) - (x < y)
    else:
        order = compare(_real(x), _real(y))
    match function:
        case "lt":
            return order < 0
        case "le":
            return order <= 0
        case "gt":
            return order > 0
        case "ge":
            return order >= 0
        case "eq":
            return order == 0
        case _:
            return order != 0


def _whole(function: str, values: list[int], element: str) -> int:
    (low, _), bits = limits(element), width(element)
    return (_wide(function, values, bits) - low) % (1 << bits) + low


def _wide(function: str, values: list[int], bits: int) -> int:
    """A function on whole numbers, before the result wraps around."""
    x, y = values[0], values[-1]
    match function:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul":
            return x * y
        case "div":
            if y == 0:
                raise UndefinedError("a division by zero")
            return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        case "neg":
            return -x
        case "abs":
            return abs(x)
        case "min":
            return min(x, y)
        case "max":
            return max(x, y)
        case "band":
            return x & y
        case "bor":
            return x | y
        case "bxor":
            return x ^ y
        case "inv":
            return ~x
        case "shl":
            return x << y if 0 <= y < bits else 0
        case "shr":
            # By a negative amount, or by all bits and more, nothing but the sign is left.
            return x >> (y if 0 <= y < bits else bits)
        case _:
            raise AssertionError(function)
