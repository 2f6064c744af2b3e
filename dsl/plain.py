"""What an operator of plain numbers may not be made of: all its parts are of one element type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import INTEGERS, holds, walk
from .model import ON_FLOATS, ON_INTEGERS, Apply, Number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from .faults import Report
    from .model import Expression, Operator
    from .source import Span


def check_plain(operator: Operator, spans: dict[int, Span], where: Span, report: Report) -> None:
    """Blame what means nothing on any element type.

    ``spans`` are the places of the parts by their identity, ``where`` is that of the operator.
    """
    parts = list(_parts(operator))
    bits = any(isinstance(node, Apply) and node.function in ON_INTEGERS for node, _ in parts)
    types = INTEGERS if bits else ("f64",)
    before = len(report.faults)
    for node, divides in parts:
        if bits and isinstance(node, Apply) and (node.function in ON_FLOATS or divides):
            report.blame(
                f"{'a division' if divides else node.function} in an operator on bits",
                spans[id(node)],
                "functions of integers: floating-point numbers have no operations on bits",
            )
        if isinstance(node, Number) and not any(holds(each, node.value) for each in types):
            report.blame(
                f"the number {_brief(node.value)}" + (" in an operator on bits" if bits else ""),
                spans[id(node)],
                "a number of some integer type" if bits else "a number that f64 holds",
            )
    numbers = [node.value for node, _ in parts if isinstance(node, Number)]
    fits = any(all(holds(each, value) for value in numbers) for each in types)
    if not fits and len(report.faults) == before:
        report.blame(
            f"no integer type holds all numbers of operator {operator.name!r}",
            where,
            "numbers of one integer type: an operator on bits has no other",
        )


def _parts(operator: Operator) -> Iterator[tuple[Expression, bool]]:
    """Every part of an operator, and whether it is a division that integers do not have."""
    for body in (operator.body, operator.prepare, operator.finish):
        for each in body or ():
            for node in walk(each.value):
                division = isinstance(node, Apply) and node.function == "div"
                yield node, division and body is not operator.finish


def _brief(value: Fraction) -> str:
    shown = str(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
