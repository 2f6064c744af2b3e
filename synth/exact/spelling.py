"""Rows with weights too large for a solver, spelt out in clauses that mean the same."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Model, Term


def spell_out(model: Model, most: int) -> Model:
    """The same model with no row whose weights add up to more than ``most``.

    Variables of the given model keep their numbers; those of the binary adders, by which such
    rows are spelt out, follow. Raises ``TooLargeError``.
    """
    if all(_total(row) <= most for row, _ in model.rows):
        return model
    spelt = replace(model, clauses=list(model.clauses), rows=[])
    for row, limit in model.rows:
        divisor = gcd(*(weight for weight, _ in row))
        small = tuple((weight // divisor, literal) for weight, literal in row)
        if _total(small) <= most:
            spelt.rows.append((small, limit // divisor))
        else:
            _bound_sum(spelt, _add_up(spelt, small), limit // divisor)
    return spelt


def _total(row: tuple[Term, ...]) -> int:
    return sum(weight for weight, _ in row)


def _add_up(model: Model, row: tuple[Term, ...]) -> list[int | None]:
    """The literals of the sum's binary digits, the lowest first; None is a digit always 0."""
    columns: list[list[int]] = [[] for _ in range(_total(row).bit_length())]
    for weight, literal in row:
        for digit in range(weight.bit_length()):
            if weight >> digit & 1:
                columns[digit].append(literal)
    digits: list[int | None] = []
    for position, column in enumerate(columns):
        waiting = list(column)
        while len(waiting) > 1:
            taken, waiting = waiting[:3], waiting[3:]
            waiting.append(_add_digit(model, taken))
            if position + 1 < len(columns):
                columns[position + 1].append(_add_carry(model, taken))
            # The last column has no carry: the digits hold the largest sum there is.
        digits.append(waiting[0] if waiting else None)
    return digits


def _add_digit(model: Model, literals: list[int]) -> int:
    """A literal that is true when an odd number of two or three literals are."""
    odd = model.new()
    for pattern in range(1 << len(literals)):
        clause = [-lit if pattern >> i & 1 else lit for i, lit in enumerate(literals)]
        model.clause(*clause, odd if pattern.bit_count() % 2 else -odd)
    return odd


def _add_carry(model: Model, literals: list[int]) -> int:
    """A literal that is true when at least two of two or three literals are."""
    carry = model.new()
    for i, one in enumerate(literals):
        for other in literals[:i]:
            model.clause(-one, -other, carry)
            if len(literals) == 3:
                model.clause(one, other, -carry)
    if len(literals) == 2:
        for literal in literals:
            model.clause(literal, -carry)
    return carry


def _bound_sum(model: Model, digits: list[int | None], limit: int) -> None:
    """A number is at most the limit if wherever its digit alone is 1, a higher one is less."""
    for position, digit in enumerate(digits):
        if digit is None or limit >> position & 1:
            continue
        higher = [(at, other) for at, other in enumerate(digits) if at > position]
        if any(limit >> at & 1 and other is None for at, other in higher):
            continue
        less = [-other for at, other in higher if other is not None and limit >> at & 1]
        model.clause(-digit, *less)
