"""In which element type every part of an operator's body is computed.

Numbers, ``Count`` and the 1 or 0 of a comparison have no type of their own: they take that of what
stands beside them, at last that of the field that is assigned. The 16-bit floats are computed as
f32; otherwise types never mix by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .model import (
    CONDITIONS,
    LOGIC,
    ON_FLOATS,
    ON_INTEGERS,
    Apply,
    Made,
    Number,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .model import Body, Expression

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "u8", "i32", "u32", "i64", "u64")

_LARGEST = {
    "f32": Fraction((2**24 - 1) * 2 ** (127 - 23)),
    "f64": Fraction((2**53 - 1) * 2 ** (1023 - 52)),
}


@dataclass(frozen=True, slots=True)
class Part:
    """An expression, and the element type of its value."""

    node: Expression
    kind: str
    parts: tuple[Part, ...] = ()


def width(element: str) -> int:
    """Bits of an element type."""
    return int(element.lstrip("bfiu"))


def computed(element: str) -> str:
    """The type in which values of an element type are computed."""
    return "f32" if element in ("f16", "bf16") else element


def limits(element: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = width(element)
    return (
        (0, 2**bits - 1) if element.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )


def holds(element: str, value: Fraction) -> bool:
    """Whether a constant may stand where values of a type are computed."""
    if element in FLOATS:
        return abs(value) <= _LARGEST[computed(element)]
    low, high = limits(element)
    return value.denominator == 1 and low <= value <= high


def type_body(body: Body, fields: Sequence[str]) -> tuple[tuple[int, Part], ...]:
    """The assignments of a body with the types of all parts; ``fields`` are those of the fields.

    Where types mix the first one is taken; ``find_misuse`` tells.
    """
    return tuple((each.field, _typed(each.value, fields, fields[each.field])) for each in body)


def _typed(node: Expression, fields: Sequence[str], context: str) -> Part:
    if not isinstance(node, Apply):
        return Part(node, _own(node, fields) or context)
    arguments = node.arguments
    kinds = [_own(argument, fields) for argument in arguments]
    if node.function in LOGIC:
        wanted = [kind or context for kind in kinds]
    elif node.function == "where":
        kind = kinds[1] or kinds[2] or context
        wanted = [kinds[0] or context, kind, kind]
    else:
        wanted = [next(filter(None, kinds), context)] * len(kinds)
    parts = tuple(_typed(a, fields, kind) for a, kind in zip(arguments, wanted, strict=True))
    return Part(node, context if node.function in CONDITIONS else wanted[-1], parts)


def _own(node: Expression, fields: Sequence[str]) -> str | None:
    """The type that an expression has by itself."""
    match node:
        case Variable(_, field) | Made(field):
            return fields[field]
        case Apply(function, arguments) if function not in CONDITIONS:
            values = arguments[1:] if function == "where" else arguments
            return next(filter(None, (_own(value, fields) for value in values)), None)
        case _:
            return None


Misuse = tuple["Expression", str, str]
"""A part of a body, what is wrong with it, and what was expected."""


def find_misuse(part: Part, context: str, finish: bool) -> Iterator[Misuse]:
    """Every part of a value that means nothing in its type.

    ``context`` is the type of the field that is assigned; ``finish``: integers may be divided.
    """
    if computed(part.kind) != computed(context):
        yield (
            part.node,
            f"a value of {part.kind} for a field of {context}",
            "values of one element type; a condition may be of another",
        )
    yield from _misuse(part, finish)


def _misuse(part: Part, finish: bool) -> Iterator[Misuse]:
    node = part.node
    if isinstance(node, Number) and not holds(part.kind, node.value):
        yield node, f"{node.value} is no {part.kind}", f"a number that {part.kind} holds"
    if not isinstance(node, Apply):
        return
    function = node.function
    values = () if function in LOGIC else part.parts[1:] if function == "where" else part.parts
    others = {computed(value.kind): value.kind for value in values}
    if len(others) > 1:
        yield (
            node,
            f"an expression mixes {' and '.join(sorted(others.values()))}",
            "values of one element type; a condition may be of another",
        )
    if part.kind in FLOATS and function in ON_INTEGERS:
        yield node, f"an operation on the bits of {part.kind}", "integers"
    if part.kind in INTEGERS and (function in ON_FLOATS or (function == "div" and not finish)):
        what = "a division" if function == "div" else function
        yield node, f"{what} of {part.kind}", "floating-point numbers"
    for each in part.parts:
        yield from _misuse(each, finish)


def walk(node: Expression) -> Iterator[Expression]:
    """An expression and all its parts."""
    yield node
    if isinstance(node, Apply):
        for argument in node.arguments:
            yield from walk(argument)


def uses(body: Body | None, functions: Sequence[str]) -> bool:
    """Whether a body applies one of some functions."""
    nodes = (node for each in body or () for node in walk(each.value))
    return any(isinstance(node, Apply) and node.function in functions for node in nodes)


def constants(body: Body) -> Iterator[Fraction]:
    """The numbers in a body."""
    for each in body:
        for node in walk(each.value):
            if isinstance(node, Number):
                yield node.value
