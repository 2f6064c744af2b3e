"""Values that refute a law, and the words in which a reader can check them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .intervals import Interval, differ

if TYPE_CHECKING:
    from .evaluation import Record, Value
    from .model import Operator

Law = Literal["associative", "commutative", "idempotent", "identity"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Values at which the two sides of a law differ, in the law's own order.

    ``element`` is the integer type of a plain number, ``unit`` the identity's side. ``reason``
    stands in place of values where a law means nothing; ``nowhere``: nor does the operator.
    """

    values: tuple[Record, ...] = ()
    left: Record = ()
    right: Record = ()
    element: str = ""
    unit: Literal["left", "right"] = "right"
    reason: str = ""
    nowhere: bool = False


def distinct(x: Value, y: Value) -> bool:
    """Whether two numbers of one type differ for certain."""
    if isinstance(x, int) or isinstance(y, int):
        return x != y
    return differ(x, y)


def word_failure(operator: Operator, names: tuple[str, ...], law: Law, failure: Failure) -> str:
    """What refutes the law; ``names`` are the operator's parameters."""
    if failure.reason:
        return failure.reason
    if operator.struct is not None:
        return _of_fields(operator, names, law, failure)
    words = _of_numbers(operator, names, law, failure)
    return f"{words} (on {failure.element})" if failure.element else words


def _of_numbers(operator: Operator, names: tuple[str, ...], law: Law, failure: Failure) -> str:
    name, (a, b) = operator.name, names
    x, y, z = (*(record[0] for record in failure.values), 0, 0)[:3]
    left, right = _apart(failure.left[0], failure.right[0])
    match law:
        case "associative":
            one, other = f"{name}({name}({x}, {y}), {z})", f"{name}({x}, {name}({y}, {z}))"
            return f"{one} = {left}, {other} = {right}"
        case "commutative":
            return f"for {a} = {x}, {b} = {y} it gives {left}, swapped {right}"
        case "idempotent":
            return f"for {a} = {b} = {x} it gives {left}"
        case "identity":
            unit = operator.identity
            call = f"{x}, {unit}" if failure.unit == "right" else f"{unit}, {x}"
            return f"{name}({call}) = {left}"


def _of_fields(operator: Operator, names: tuple[str, ...], law: Law, failure: Failure) -> str:
    assert operator.struct is not None
    name = operator.name
    fields = [field.name for field in operator.struct.fields]
    pairs = list(zip(failure.left, failure.right, strict=True))
    k = next(k for k, pair in enumerate(pairs) if distinct(*pair))
    left, right = _apart(*pairs[k])
    letters = names if law == "commutative" else "xyz"
    values = ", ".join(
        f"{letter} = {_record(fields, record)}"
        for letter, record in zip(letters, failure.values, strict=False)
    )
    match law:
        case "associative":
            one, other = f"{name}({name}(x, y), z)", f"{name}(x, {name}(y, z))"
            return f"{fields[k]!r} of {one} = {left}, of {other} = {right}, for {values}"
        case "commutative":
            return f"for {values} it makes {fields[k]!r} {left}, swapped {right}"
        case _:
            return f"{fields[k]!r} of {name}(x, x) = {left}, for {values}"


def _record(fields: list[str], record: Record) -> str:
    shown = ", ".join(f"{name}: {value}" for name, value in zip(fields, record, strict=True))
    return f"{{{shown}}}"


def _apart(left: Value, right: Value) -> tuple[str, str]:
    """Two different numbers with as many digits as it takes to tell them apart."""
    for digits in (10, 20, 30):
        one, other = _digits(left, digits), _digits(right, digits)
        if one != other:
            break
    return one, other


def _digits(value: Value, digits: int) -> str:
    return f"{value.low:.{digits}g}" if isinstance(value, Interval) else str(value)
