"""Asks Z3 whether a law holds: its answer is a proof, or a point that has to be checked."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import z3

from .probes import LETTERS
from .z3_terms import Terms, UnknownError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .probes import Point
    from .reading import Kind, Question
    from .z3_terms import Term

_EFFORT = 8_000_000  # Z3's own count of its work: a second or a few, and the same on any machine.
_MEMORY = 1024  # Megabytes.
_SEED = 0


def decide(question: Question, seconds: float) -> Point | bool:
    """True: the law is proved. A point: it may fail there. False: open."""
    z3.set_param("memory_max_size", _MEMORY)
    try:
        return _decide(question, seconds)
    except (UnknownError, z3.Z3Exception):
        return False


def _decide(question: Question, seconds: float) -> Point | bool:
    kinds = question.reading.kinds
    terms = Terms(question.reading, z3.Context())
    letters = [
        [terms.variable(kind, f"{letter}{i}") for i, kind in enumerate(kinds)]
        for letter in "abc"[: LETTERS[question.law]]
    ]
    pairs = [
        pair for sides in _sides(question, terms, letters) for pair in zip(*sides, strict=True)
    ]
    defined = [z3.And(x.defined, y.defined) for x, y in pairs]
    gaps = [z3.And(both, _gap(*pair)) for both, pair in zip(defined, pairs, strict=True)]
    # A law about no point at all would hold, and mean nothing.
    partial = any(not z3.is_true(z3.simplify(both)) for both in defined)
    if partial and not isinstance(_ask(terms, z3.And(defined), seconds), z3.ModelRef):
        return False
    claim = z3.simplify(z3.Or(gaps))
    if z3.is_false(claim):
        return True
    model = _ask(terms, claim, seconds)
    if not isinstance(model, z3.ModelRef):
        return model is False
    values = [
        [_number(model, term, kind) for term, kind in zip(letter, kinds, strict=True)]
        for letter in letters
    ]
    point = tuple(tuple(v for v in letter if v is not None) for letter in values)
    return point if all(len(record) == len(kinds) for record in point) else False


def _ask(terms: Terms, claim: Any, seconds: float) -> Any:
    """A model, False if there is none, None if undecided."""
    solver = z3.Solver(ctx=terms.context)
    solver.set("timeout", max(1, int(seconds * 1000)))
    solver.set("rlimit", _EFFORT)
    solver.set("random_seed", _SEED)
    solver.add(*terms.facts, claim)
    status = solver.check()
    if status == z3.sat:
        return solver.model()
    return False if status == z3.unsat else None


def _sides(
    question: Question, terms: Terms, letters: Sequence[Sequence[Term]]
) -> list[tuple[Sequence[Term], Sequence[Term]]]:
    a, b, merge = letters[0], letters[min(1, len(letters) - 1)], terms.merge
    match question.law:
        case "associative":
            return [(merge(merge(a, b), letters[2]), merge(a, merge(b, letters[2])))]
        case "commutative":
            return [(merge(a, b), merge(b, a))]
        case "idempotent":
            return [(merge(a, a), a)]
        case "identity":
            assert question.unit is not None
            pairs = zip(question.unit, question.reading.kinds, strict=True)
            unit = [terms.number(value, kind) for value, kind in pairs]
            return [(merge(a, unit), a), (merge(unit, a), a)]


def _gap(x: Term, y: Term) -> Any:
    """Whether the terms differ, where both are defined."""
    if x.bits is not None:
        difference = x.bits - y.bits
    elif x.value is not None and y.value is not None:
        difference = x.value.gap(y.value)
    elif x.power is not None and y.power is not None:
        difference = x.power.gap(y.power)
    else:
        raise UnknownError
    # Multiplied out, polynomials that are the same cancel, and nothing is left to search.
    if z3.is_true(z3.simplify(z3.simplify(difference, som=True) == 0)):
        return z3.BoolVal(False, difference.ctx)
    if x.bits is not None:
        return x.bits != y.bits  # A subtraction would hide from the solver what is simple.
    return difference != 0


def _number(model: z3.ModelRef, term: Term, kind: Kind) -> Fraction | None:
    """A variable's value; None if it is irrational."""
    variable = term.bits if term.value is None else term.value.top
    value = model.eval(variable, model_completion=True)
    if kind.width:
        return Fraction(value.as_signed_long() if kind.signed else value.as_long())
    return value.as_fraction() if z3.is_rational_value(value) else None
