"""Tests an operator's laws on many values, and gives the counterexample where one fails.

Reals are fractions, exact ones; roots and exponentials of them lie between bounds, and only what
differs beyond the bounds refutes a law. Integers wrap around as machines have them. An operation
on bits exists on integers alone: such an operator is tested on every integer type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal

from .counterexamples import Failure, distinct, word_failure
from .evaluation import compile_body, convert
from .intervals import UndefinedError, known
from .kinds import INTEGERS, constants, holds, uses
from .model import ON_FLOATS, ON_INTEGERS
from .points import triples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .counterexamples import Law
    from .evaluation import Compiled, Record, Value
    from .model import Body, Operator
    from .points import Triple

    Sides = Callable[[Record, Record, Record], tuple[Record, Record]]

_FIRST = 300  # So many values are tried before a mapping is said to have none.


@dataclass(frozen=True, slots=True)
class Trial:
    """A law, on how many values both its sides were found to be the same, and what refutes it."""

    law: Law
    samples: int
    failure: Failure | None


def refute(operator: Operator, names: tuple[str, ...]) -> Iterator[tuple[Law, str]]:
    """(law, counterexample) for each law that does not hold: associative, and those declared.

    ``names`` are the operator's parameters, for the counterexample's words. Values at which the
    operator is undefined (a division by zero) are passed over.
    """
    for trial in _examine(operator):
        if trial.failure is not None:
            yield trial.law, word_failure(operator, names, trial.law, trial.failure)


def tested(operator: Operator) -> tuple[tuple[Law, str, int], ...]:
    """How each law was tested: the law, ``exactly`` or ``within rounding``, on how many values."""
    how = "within rounding" if uses(operator.body, ON_FLOATS) else "exactly"
    return tuple((trial.law, how, trial.samples) for trial in _examine(operator))


def undefined(operator: Operator) -> bool:
    """Whether the operator has no value anywhere."""
    return any(trial.failure is not None and trial.failure.nowhere for trial in _examine(operator))


def find_undefined(operator: Operator, mapping: Body) -> str:
    """Why an operator's ``prepare`` or ``finish`` has no value anywhere; nothing if it has some."""
    reason = ""
    for fields in _domains(operator):
        values = ((x,) for x, _, _ in islice(triples(operator, fields), _FIRST))
        why = _nowhere(compile_body(mapping, fields), values)
        if not why:
            return ""
        reason = reason or why
    return reason


# --------------------------------------------------------------------------------- trials


def _domains(operator: Operator) -> list[tuple[str, ...]]:
    """The element types of the fields, for each element that the operator may combine.

    Plain numbers are reals, unless bits count: on integers that wrap around, sums and products
    obey what they obey on whole numbers.
    """
    bodies = [body for body in (operator.body, operator.prepare, operator.finish) if body]
    if operator.struct is not None:
        return [tuple(field.element for field in operator.struct.fields)]
    if not any(uses(body, ON_INTEGERS) for body in bodies):
        return [("f64",)]
    numbers = [number for body in bodies for number in constants(body)]
    return [(each,) for each in INTEGERS if all(holds(each, number) for number in numbers)]


@lru_cache(maxsize=256)
def _examine(operator: Operator) -> tuple[Trial, ...]:
    trials: dict[Law, Trial] = {}
    domains = _domains(operator)
    if not domains:
        failure = Failure(reason="no element type holds its numbers", nowhere=True)
        return (Trial("associative", 0, failure),)
    for fields in domains:
        for trial in _try_all(operator, fields):
            known_ = trials.setdefault(trial.law, Trial(trial.law, 0, None))
            samples = known_.samples + trial.samples
            trials[trial.law] = Trial(trial.law, samples, known_.failure or trial.failure)
    return tuple(trials.values())


def _try_all(operator: Operator, fields: tuple[str, ...]) -> Iterator[Trial]:
    compiled = compile_body(operator.body, fields)
    points = tuple(triples(operator, fields))
    element = fields[0] if fields[0] in INTEGERS and operator.struct is None else ""

    def combine(x: Record, y: Record) -> Record:
        return compiled((x, y))

    reason = _nowhere(compiled, (point[:2] for point in points))
    if reason:
        words = f"it has no value anywhere ({reason})"
        yield Trial("associative", 0, Failure(reason=words, nowhere=True))
        return
    laws: list[tuple[Law, int, Sides]] = [
        (
            "associative",
            3,
            lambda x, y, z: (combine(combine(x, y), z), combine(x, combine(y, z))),
        )
    ]
    if operator.commutative:
        laws.append(("commutative", 2, lambda x, y, _: (combine(x, y), combine(y, x))))
    if operator.idempotent:
        laws.append(("idempotent", 1, lambda x, _, __: (combine(x, x), x)))
    for law, arity, sides in laws:
        yield _try(law, arity, sides, points, element)
    if operator.identity is not None:
        yield _try_identity(operator, compiled, points, element)


def _try_identity(
    operator: Operator, compiled: Compiled, points: tuple[Triple, ...], element: str
) -> Trial:
    assert operator.identity is not None
    if element and not holds(element, operator.identity):
        reason = f"{operator.identity} is no {element}"
        return Trial("identity", 0, Failure(reason=reason))
    unit = (convert(operator.identity, compiled.fields[0]),)
    right = _try("identity", 1, lambda x, _, __: (compiled((x, unit)), x), points, element)
    if right.failure is not None:
        return right
    left = _try("identity", 1, lambda x, _, __: (compiled((unit, x)), x), points, element, "left")
    return Trial("identity", min(left.samples, right.samples), left.failure)


def _try(
    law: Law,
    arity: int,
    sides: Sides,
    points: Iterable[Triple],
    element: str,
    unit: Literal["left", "right"] = "right",
) -> Trial:
    """The first point at which the two sides of a law differ, small ones first."""
    samples, reason = 0, ""
    # Not every law speaks of three values; the same ones need no second look.
    different: dict[tuple[Record, ...], Triple] = {}
    for point in points:
        different.setdefault(point[:arity], point)
    for values, point in different.items():
        try:
            left, right = sides(*point)
        except UndefinedError as error:
            reason = reason or str(error)
            continue
        if any(map(distinct, left, right)):
            return Trial(law, samples, Failure(values, left, right, element, unit))
        samples += all(map(_known, (*left, *right)))
    if not samples:
        reason = reason or "rounding decides"
        return Trial(law, 0, Failure(reason=f"it has no value on both sides ({reason})"))
    return Trial(law, samples, None)


def _nowhere(compiled: Compiled, inputs: Iterable[tuple[Record, ...]]) -> str:
    """Why a body has no value on any of its inputs; nothing if it has some."""
    reason = ""
    for each in inputs:
        try:
            compiled(each, 2)  # A ``finish`` is told of two values.
        except UndefinedError as error:
            reason = reason or str(error)
        else:
            return ""
    return reason


def _known(x: Value) -> bool:
    return isinstance(x, int) or known(x)
