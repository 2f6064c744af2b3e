"""Which operators can be computed on which elements, in which types, and which commute bit for bit.

An expression is computed in one **kind**: the type in which the fields that it is made of
accumulate. Numbers, ``Count`` and truth values have no kind of their own: they take that of what
stands beside them, at last that of the field that is assigned. Kinds never mix by themselves.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.dsl.model import (
    COMPARISONS,
    CONDITIONS,
    LOGIC,
    ON_FLOATS,
    ON_INTEGERS,
    Apply,
    Count,
    Made,
    Number,
    Variable,
)
from roundelay.dsl.source import UnsupportedError

from .elements import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Assignment, Body, Expression, Operator, Problem

    from .elements import Element

_COMMUTING = ("add", "mul", "band", "bor", "bxor")


class UnsupportedOperatorError(UnsupportedError):
    """An operator has no meaning on an element type."""


# --------------------------------------------------------------------------------- kinds


def field_elements(element: Element) -> tuple[Element, ...]:
    """The elements of a struct's fields; a plain number counts as its own one field."""
    return tuple(ELEMENTS[field.element] for field in element.fields) or (element,)


def field_lengths(element: Element) -> tuple[int, ...]:
    """Values in each field of a struct; a plain number is one field of one value."""
    return tuple(field.length for field in element.fields) or (1,)


def field_kind(field: int, element: Element) -> Element:
    """The type in which a field is computed before it is rounded to its own."""
    return ELEMENTS[field_elements(element)[field].accumulate]


def find_kind(expression: Expression, element: Element) -> Element | None:
    """The type in which an expression is computed; None where it takes that of its surroundings.

    Raises ``UnsupportedOperatorError`` where it mixes types.
    """
    match expression:
        case Number() | Count():
            return None
        case Variable(_, field) | Made(field):
            return field_kind(field, element)
        case Apply("where", (_, yes, no)):
            return _common((yes, no), element)
        case Apply(function, arguments):
            return None if function in CONDITIONS else _common(arguments, element)


def argument_kinds(expression: Apply, element: Element, context: Element) -> tuple[Element, ...]:
    """The type in which each argument of a function is computed.

    ``context`` is the type in which the surroundings take the function's value.
    """
    match expression:
        case Apply("where", (condition, *_)):
            kind = find_kind(expression, element) or context
            return (find_kind(condition, element) or context, kind, kind)
        case Apply(function, arguments) if function in LOGIC:
            return tuple(find_kind(part, element) or context for part in arguments)
        case Apply(_, arguments):
            return (_common(arguments, element) or context,) * len(arguments)


def _common(arguments: tuple[Expression, ...], element: Element) -> Element | None:
    kinds = [kind for part in arguments if (kind := find_kind(part, element))]
    if any(kind != kinds[0] for kind in kinds):
        names = sorted({kind.name for kind in kinds})
        raise UnsupportedOperatorError(f"an expression mixes {' and '.join(names)}")
    return kinds[0] if kinds else None


def is_wide(expression: Expression, element: Element) -> bool:
    """Whether an expression has another value at every place of a vector field."""
    match expression:
        case Variable(_, field) | Made(field):
            return field_lengths(element)[field] > 1
        case Apply(_, arguments):
            return any(is_wide(part, element) for part in arguments)
        case _:
            return False


# --------------------------------------------------------------------------------- support


def require_problem(problem: Problem, element: Element) -> None:
    """Raise ``UnsupportedOperatorError`` where a problem's operator means nothing on an element.

    Beside ``require_supported`` it asks that integers can hold every number that ``Count``
    stands for.
    """
    operator = problem.operator
    require_supported(operator, element)
    if operator is None or operator.finish is None:
        return
    wants = [want for block in problem.collective.blocks for want in block.wants]
    most = max((len(want.symbols) for want in wants), default=0)
    for part, kind in _walk(operator.finish, element):
        if isinstance(part, Count) and kind.exact and most > np.iinfo(kind.dtype).max:
            raise UnsupportedOperatorError(
                f"operator {operator.name} counts {most} values, which is no {kind.name}"
            )


def require_supported(operator: Operator | None, element: Element) -> None:
    """Raise ``UnsupportedOperatorError`` unless the operator means something on the element.

    A struct's operator belongs to that struct alone, any other to plain numbers. Bit operations
    exist on integers, ``exp``, ``log``, ``logaddexp`` and ``sqrt`` on floats, and division on
    floats and, truncating, in an integer's ``finish``. No integer constant may lie outside the
    range of its kind, no other one beyond it.
    """
    if operator is None:
        return
    wanted = () if operator.struct is None else operator.struct.fields
    if element.fields != wanted or (operator.struct and operator.struct.name != element.name):
        own = operator.struct.name if operator.struct else "plain numbers"
        raise UnsupportedOperatorError(
            f"operator {operator.name} combines {own}, not {element.name}"
        )
    for body in (operator.body, operator.prepare, operator.finish):
        if body is not None:
            _require_body(operator, body, element)


def _require_body(operator: Operator, body: Body, element: Element) -> None:
    _require_fields(operator, body, element)
    try:
        parts = list(_walk(body, element))
    except UnsupportedOperatorError as error:
        what = error.faults[0].message
        raise UnsupportedOperatorError(f"operator {operator.name}: {what}") from error
    for part, kind in parts:
        match part:
            case Apply("div") if kind.exact and body is not operator.finish:
                raise _misses(operator, "div", kind)
            case Apply(function) if function in (ON_FLOATS if kind.exact else ON_INTEGERS):
                raise _misses(operator, function, kind)
            case Number(value):
                _require_constant(operator, value, kind)
            case _:
                pass


def _misses(operator: Operator, function: str, kind: Element) -> UnsupportedOperatorError:
    """A function that has no meaning on an element type."""
    does = "divides" if function == "div" else f"uses {function}"
    others = [element for element in ELEMENTS.values() if element.exact is not kind.exact]
    return UnsupportedOperatorError(
        f"operator {operator.name} {does}, which is not defined on {kind.name}",
        f"an element among {', '.join(element.name for element in others)}",
        f"name one in the plan, as in 'element {others[2].name}', or with -d",
    )


def _require_constant(operator: Operator, value: Fraction, kind: Element) -> None:
    if kind.exact:
        limits = np.iinfo(kind.dtype)
        if value.denominator != 1 or not limits.min <= value <= limits.max:
            raise UnsupportedOperatorError(
                f"operator {operator.name} uses {value}, which is no {kind.name}"
            )
    elif abs(value) > Fraction(float(np.finfo(kind.dtype).max)):
        raise UnsupportedOperatorError(
            f"operator {operator.name} uses a constant that {kind.name} cannot hold"
        )


def _require_fields(operator: Operator, body: Body, element: Element) -> None:
    """Every field is made once, of fields that fit its length, and of results already made."""
    lengths = field_lengths(element)
    made: list[int] = []
    for assignment in body:
        for part in _parts(assignment.value):
            if isinstance(part, Made) and part.field not in made:
                raise UnsupportedOperatorError(
                    f"operator {operator.name} uses a field of its result before it is made"
                )
            if isinstance(part, Variable | Made):
                fits = lengths[part.field] in (1, lengths[assignment.field])
                if not fits:
                    raise UnsupportedOperatorError(
                        f"operator {operator.name} mixes vectors of different lengths"
                    )
        made.append(assignment.field)
    if sorted(made) != list(range(len(lengths))):
        raise UnsupportedOperatorError(
            f"operator {operator.name} does not make every field of its result once"
        )


def _walk(body: Body, element: Element) -> Iterator[tuple[Expression, Element]]:
    """Every part of a body with the kind in which it is computed; a comparison with that of what
    it compares.
    """

    def visit(expression: Expression, context: Element) -> Iterator[tuple[Expression, Element]]:
        kind = find_kind(expression, element) or context
        if not isinstance(expression, Apply):
            yield expression, kind
            return
        kinds = argument_kinds(expression, element, context)
        yield expression, kinds[0] if expression.function in COMPARISONS else kind
        for part, own in zip(expression.arguments, kinds, strict=True):
            yield from visit(part, own)

    for assignment in body:
        context = field_kind(assignment.field, element)
        kind = find_kind(assignment.value, element)
        if kind is not None and kind != context:
            raise UnsupportedOperatorError(f"a field of kind {context.name} is made of {kind.name}")
        yield from visit(assignment.value, context)


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from _parts(argument)


# --------------------------------------------------------------------------------- laws


def commutes_bitwise(operator: Operator | None) -> bool:
    """Whether swapping the two operands gives the same bits on every element type.

    True of plain sums, products and bit operations alone, in every field of a struct: IEEE 754
    addition and multiplication commute (but for which of two NaNs' payload is kept), while min
    and max of zeros of different sign depend on the order.
    """
    return operator is not None and all(map(_commutes, operator.body))


def _commutes(assignment: Assignment) -> bool:
    match assignment.value:
        case Apply(function, (Variable(one, first), Variable(other, second))):
            same = first == second and one != other
            return function in _COMMUTING and same
        case _:
            return False
