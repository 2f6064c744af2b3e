"""The right values, straight from what the collective says, in a higher precision.

Shares no code with schedules, programs or kernels: it folds the wanted symbols in the order in
which the collective names them. For floats it returns, beside the value, how far a correct
execution in any order of merging may be from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.operators import (
    argument_kinds,
    field_elements,
    field_kind,
    field_lengths,
)
from roundelay.dsl.model import (
    COMPARISONS,
    CONDITIONS,
    LOGIC,
    Apply,
    Count,
    Made,
    Number,
    Variable,
)

from .rounding import (
    Bounded,
    Precision,
    as_number,
    choose,
    combine_truth,
    compare,
    compute,
    constant,
    given,
    is_true,
    rounded,
)
from .selections import adds, holds, is_own, selects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Body, Expression, Operator

    from .executor import Array


@dataclass(frozen=True, slots=True)
class Reference:
    """Wanted values and the largest admissible distance from each; 0 means equal, infinity that
    rounding may lead anywhere. Both of shape (values, length of the field).
    """

    values: Array
    tolerance: Array


def fold(
    operator: Operator | None, element: Element, terms: Sequence[Array]
) -> tuple[Reference, ...]:
    """Prepare the terms, combine them left to right, and finish: one reference a field.

    Integers are combined modulo their range and must be met exactly, and so must a copy. Floats
    are combined in float64 (float64 itself in the longest float of the machine). Beside the
    value runs its error by the standard model of rounding, |fl(a ∘ b) - (a ∘ b)| ≤ u·|a ∘ b|, in
    the precision of the accumulation. Plain numbers are rounded to the element once, at the
    store, records after every merge.
    """
    columns = [_columns(element, term) for term in terms]
    touched = operator is not None and (operator.prepare or operator.finish)
    if operator is None or (len(terms) == 1 and not touched):
        return tuple(Reference(value, np.zeros(value.shape)) for value in columns[0])
    with np.errstate(all="ignore"):
        if adds(operator.body[0]) and not element.fields and not touched:
            return (_sum(element, [column[0] for column in columns]),)
        return _Folding(operator, element, len(terms)).run(columns)


def _columns(element: Element, values: Array) -> list[Array]:
    if not element.fields:
        return [values[:, None]]
    return [values[field.name].reshape(len(values), field.length) for field in element.fields]


def _sum(element: Element, terms: Sequence[Array]) -> Reference:
    """Plain sums, which are most of all there is to verify."""
    if element.exact:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return Reference(total, np.zeros(total.shape))
    accumulate, store = ELEMENTS[element.accumulate], Precision.of(element)
    precision = Precision.of(accumulate)
    value = terms[0].astype(precision.wide)
    magnitude = np.abs(value)
    for term in terms[1:]:
        wide = term.astype(precision.wide)
        value += wide
        magnitude += np.abs(wide)
    error = _sum_error(len(terms) - 1, precision, magnitude)
    # Where signs differ, one order may leave the range and another not.
    mixed = (magnitude > precision.largest) & (np.abs(value) < magnitude * (1 - precision.unit))
    error = np.where(np.isfinite(value), np.where(mixed, np.inf, error), 0.0)
    unit = store.unit if accumulate != element else 0.0
    return Reference(value, error + unit * (np.abs(value) + error) + len(terms) * store.smallest)


def _sum_error(merges: int, precision: Precision, magnitude: Array) -> Array:
    """A sum of n values: each of its merges rounds a partial sum, which is no larger than the sum
    of all magnitudes, so it is off by at most (n - 1)·u·Σ|x| (Higham, Accuracy and Stability of
    Numerical Algorithms, section 4.2), in whatever order they are added.
    """
    steps = merges * precision.unit / precision.spread
    error: Array = steps * (1 + steps) * magnitude
    return error


class _Folding:
    """One fold: ``spread`` is how often each of its roundings is counted.

    Products round relatively, alike in every order. For any other expression no merge of another
    order is taken to lose more than all merges of this one together, so that each rounding
    counts once for every merge.
    """

    def __init__(self, operator: Operator, element: Element, count: int) -> None:
        self.operator, self.element, self.count = operator, element, count
        self.merges = count - 1
        plain = all(adds(each) or is_own(each, "mul") for each in operator.body)
        self.spread = 1 if plain else max(1, self.merges)

    def run(self, columns: Sequence[list[Array]]) -> tuple[Reference, ...]:
        """Prepared, folded and finished, one reference a field."""
        operator = self.operator
        own = field_elements(self.element)
        terms = []
        for column in columns:
            term = [given(value, self._precision(field)) for field, value in enumerate(column)]
            if operator.prepare is not None:
                term = self._evaluate(operator.prepare, (term,))
            terms.append(term)
        total = terms[0]
        for term in terms[1:]:
            total = self._evaluate(operator.body, (total, term))
        if self.merges:
            total = [self._settled(field, part, terms) for field, part in enumerate(total)]
        if operator.finish is not None:
            total = self._evaluate(operator.finish, (total,))
        if not self.element.fields:
            total = [self._stored(total[0], own[0])]
        rows = len(columns[0][0])
        return tuple(
            Reference(
                np.broadcast_to(part.value, (rows, length)),
                np.broadcast_to(part.error, (rows, length)),
            )
            for part, length in zip(total, field_lengths(self.element), strict=True)
        )

    def _precision(self, field: int) -> Precision:
        return Precision.of(field_kind(field, self.element), self.spread)

    def _settled(self, field: int, part: Bounded, terms: Sequence[list[Bounded]]) -> Bounded:
        """A field that is a plain sum, with the error of a sum in any order."""
        assignment = next(each for each in self.operator.body if each.field == field)
        own = field_elements(self.element)[field]
        if own.exact or not adds(assignment):
            return part
        errors = sum((term[field].error for term in terms[1:]), terms[0][field].error)
        precision = self._precision(field)
        magnitude = part.magnitude + errors
        error = errors + _sum_error(self.merges, precision, magnitude)
        if self.element.fields and ELEMENTS[own.accumulate] != own:
            store = Precision.of(own)
            error = error + _sum_error(self.merges, store, magnitude + error)
            error = error + self.merges * store.smallest
        special = ~np.isfinite(part.value) | ~np.isfinite(part.error)
        return Bounded(part.value, part.magnitude, np.where(special, part.error, error))

    def _stored(self, part: Bounded, own: Element) -> Bounded:
        """A plain number rounded to its element; a selection passes its values on untouched."""
        bodies = (self.operator.prepare, self.operator.body, self.operator.finish)
        if own.exact or all(body is None or selects(body[0].value, own, own) for body in bodies):
            return part
        store = Precision.of(own)
        unit = store.unit if ELEMENTS[own.accumulate] != own else 0.0
        known = np.isfinite(part.value) & np.isfinite(part.error)
        error = part.error + unit * (np.abs(part.value) + part.error)
        error = error + self.count * store.smallest
        return Bounded(part.value, part.magnitude, np.where(known, error, part.error))

    # ----------------------------------------------------------------------------- bodies

    def _evaluate(self, body: Body, values: tuple[list[Bounded], ...]) -> list[Bounded]:
        made: dict[int, Bounded] = {}
        for assignment in body:
            kind = field_kind(assignment.field, self.element)
            value = self._value(assignment.value, kind, values, made)
            own = field_elements(self.element)[assignment.field]
            converted = self.element.fields and ELEMENTS[own.accumulate] != own
            if converted and not selects(assignment.value, own, self.element):
                certain = np.isfinite(value.error)
                store = Precision.of(own, self.spread)
                value = rounded(value.value, value.magnitude, value.error, certain, store)
            made[assignment.field] = value
        return [made[field] for field in range(len(made))]

    def _value(
        self,
        expression: Expression,
        context: Element,
        values: tuple[list[Bounded], ...],
        made: dict[int, Bounded],
    ) -> Bounded:
        precision = Precision.of(context, self.spread)
        match expression:
            case Variable(index, field):
                return values[index][field]
            case Made(field):
                return made[field]
            case Number(value):
                number = int(value) if context.exact else float(value)
                return constant(number, holds(context, value), precision)
            case Count():
                exact = holds(context, Fraction(self.count))
                return constant(self.count, exact, precision)
            case Apply(function) if function in CONDITIONS:
                return as_number(self._truth(expression, context, values, made), precision)
            case Apply("where", (condition, yes, no)):
                kinds = argument_kinds(expression, self.element, context)
                truth = self._truth(condition, kinds[0], values, made)
                return choose(
                    truth,
                    self._value(yes, kinds[1], values, made),
                    self._value(no, kinds[2], values, made),
                )
            case Apply(function, arguments):
                kinds = argument_kinds(expression, self.element, context)
                parts = [
                    self._value(part, kind, values, made)
                    for part, kind in zip(arguments, kinds, strict=True)
                ]
                return compute(function, parts, Precision.of(kinds[0], self.spread))

    def _truth(
        self,
        expression: Expression,
        context: Element,
        values: tuple[list[Bounded], ...],
        made: dict[int, Bounded],
    ) -> tuple[Array, Array]:
        match expression:
            case Apply(function, arguments) if function in COMPARISONS:
                kinds = argument_kinds(expression, self.element, context)
                one, other = (
                    self._value(part, kind, values, made)
                    for part, kind in zip(arguments, kinds, strict=True)
                )
                return compare(function, one, other)
            case Apply(function, arguments) if function in LOGIC:
                kinds = argument_kinds(expression, self.element, context)
                return combine_truth(
                    function,
                    [
                        self._truth(part, kind, values, made)
                        for part, kind in zip(arguments, kinds, strict=True)
                    ],
                )
            case _:
                return is_true(self._value(expression, context, values, made))
