"""What an operator means over a domain: its body with the kind of every number written out.

A kind is that of the reals or that of integers of so many bits, which wrap around. In a struct
every field has the kind of its element. A constant takes the kind of what it meets; comparisons
and logic give 1 or 0 of any kind. Nothing is ever converted from one kind to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from roundelay.dsl.model import (
    COMPARISONS,
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
    from roundelay.dsl.model import Expression, Function, Operator

Law = Literal["associative", "commutative", "idempotent", "identity"]

Record = tuple[Fraction, ...]
"""One value an operator combines: a number a field, one number for a scalar."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The reals (``width`` 0), or integers of so many bits."""

    width: int = 0
    signed: bool = True

    @property
    def low(self) -> int:
        """The least integer."""
        return -(1 << self.width - 1) if self.signed else 0

    @property
    def high(self) -> int:
        """The greatest integer."""
        return (1 << self.width - self.signed) - 1

    def holds(self, value: Fraction) -> bool:
        """Whether the value is one of this kind."""
        return not self.width or (value.denominator == 1 and self.low <= value <= self.high)


REAL = Kind()
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("f16", "bf16", "f32", "f64"), REAL),
    **{f"{'ui'[signed]}{w}": Kind(w, bool(signed)) for w in (8, 32, 64) for signed in (1, 0)},
}
"""The kind of every element type."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of a kind that holds it."""

    value: Fraction
    kind: Kind


@dataclass(frozen=True, slots=True)
class Input:
    """A field of the operator's left (0) or right (1) value."""

    index: int
    field: int


@dataclass(frozen=True, slots=True)
class Done:
    """A field of the result, assigned before."""

    field: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function; ``kind`` is that of the numbers it computes with (``where``: chooses from)."""

    function: Function
    kind: Kind
    arguments: tuple[Node, ...]


Node = Constant | Input | Done | Call


@dataclass(frozen=True, slots=True)
class Reading:
    """An operator over one domain: the kind of each field, and the assignments in their order."""

    kinds: tuple[Kind, ...]
    body: tuple[tuple[int, Node], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Does this law hold? ``unit`` is the value that the identity law speaks of."""

    law: Law
    reading: Reading
    unit: Record | None = None


class SenselessError(Exception):
    """An operator means nothing over a domain, or not clearly so; says why."""


_REAL_ALONE = ("div", *ON_FLOATS)


def read(operator: Operator, kind: Kind = REAL) -> Reading:
    """The operator over numbers of a kind, or over its struct's own fields.

    A vector field is read as one number: its value at a place is made of values at this place
    and of scalars, by the same expression at every place, and scalars are made of scalars alone;
    so a law holds at every place if it holds at one whose values are arbitrary.
    Raises ``SenselessError``.
    """
    struct = operator.struct
    kinds = (kind,) if struct is None else tuple(KINDS[f.element] for f in struct.fields)
    reader = _Reader(kinds)
    body = []
    for each in operator.body:
        body.append((each.field, reader.node(each.value, kinds[each.field])))
        reader.done.add(each.field)
    if sorted(field for field, _ in body) != list(range(len(kinds))):
        raise SenselessError("not one assignment a field")
    return Reading(kinds, tuple(body))


class _Reader:
    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self.kinds = kinds
        self.only = kinds[0] if len(set(kinds)) == 1 else None  # Of what nothing else decides.
        self.done: set[int] = set()

    def natural(self, part: Expression) -> Kind | None:
        """The kind that an expression has by the fields in it; None if any would do."""
        match part:
            case Variable(_, field) | Made(field):
                return self.kinds[field]
            case Apply(function, arguments) if function not in CONDITIONS:
                chosen = arguments[1:] if function == "where" else arguments
                return next(filter(None, map(self.natural, chosen)), None)
            case _:
                return None

    def freely(self, *parts: Expression) -> Kind:
        """The kind in which expressions are computed that meet only each other."""
        kind = next(filter(None, map(self.natural, parts)), self.only)
        if kind is not None:
            return kind
        if all(isinstance(p, Apply) and p.function in CONDITIONS for p in parts):
            return REAL  # 1 and 0 compare alike in every kind.
        raise SenselessError("constants whose type nothing decides")

    def node(self, part: Expression, kind: Kind) -> Node:
        match part:
            case Number(value):
                if not kind.holds(value):
                    raise SenselessError(f"{value} is not among the values")
                return Constant(value, kind)
            case Variable(index, field):
                self._same(field, kind)
                return Input(index, field)
            case Made(field) if field in self.done:
                self._same(field, kind)
                return Done(field)
            case Apply():
                return self._call(part, kind)
            case _:
                raise SenselessError("a part that has no meaning here")

    def _same(self, field: int, kind: Kind) -> None:
        if self.kinds[field] != kind:
            raise SenselessError("an expression mixes types")

    def _call(self, part: Apply, kind: Kind) -> Call:
        function, arguments = part.function, part.arguments
        if function in LOGIC:
            return Call(function, kind, tuple(self.node(a, self.freely(a)) for a in arguments))
        if function in COMPARISONS:
            kind = self.freely(*arguments)
        if function in (_REAL_ALONE if kind.width else ON_INTEGERS):
            raise SenselessError(f"{function} has no meaning here")
        if function == "where":
            condition = self.node(arguments[0], self.freely(arguments[0]))
            rest = (self.node(a, kind) for a in arguments[1:])
            return Call(function, kind, (condition, *rest))
        return Call(function, kind, tuple(self.node(a, kind) for a in arguments))
