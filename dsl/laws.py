"""Tests an operator's laws on exact values, and gives the counterexample where one fails."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, assert_never

from .model import Apply, Number, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .model import Expression, Operator

_TRIES = 300
_SEED = 20260401
_SMALL = tuple(map(Fraction, (0, 1, -1, 2, -2, 3)))


def refute(operator: Operator, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(law, counterexample) for each law that does not hold: associative, and those declared.

    ``names`` are the operator's parameters, for the counterexample's words. Values at which the
    operator is undefined (a division by zero) are passed over.
    """
    a, b, name = names[0], names[1], operator.name
    triples = tuple(_triples(operator))

    def combine(left: Fraction, right: Fraction) -> Fraction:
        return apply_operator(operator, left, right)

    def grouped(x: Fraction, y: Fraction, z: Fraction) -> tuple[Fraction, Fraction]:
        return combine(combine(x, y), z), combine(x, combine(y, z))

    if not any(_defined(combine, x, y) for x, y, _ in triples):
        yield "associative", "it has no value anywhere (a division by zero)"
        return
    example = _first(triples, grouped)
    if example:
        (x, y, z), left, right = example
        yield (
            "associative",
            f"{name}({name}({x}, {y}), {z}) = {left}, {name}({x}, {name}({y}, {z})) = {right}",
        )
    if operator.commutative:
        example = _first(triples, lambda x, y, _: (combine(x, y), combine(y, x)))
        if example:
            (x, y, _), left, right = example
            yield "commutative", f"for {a} = {x}, {b} = {y} it gives {left}, swapped {right}"
    if operator.idempotent:
        example = _first(triples, lambda x, _, __: (combine(x, x), x))
        if example:
            (x, _, _), left, _ = example
            yield "idempotent", f"for {a} = {b} = {x} it gives {left}"
    unit = operator.identity
    if unit is not None:
        example = _first(triples, lambda x, _, __: (combine(x, unit), x))
        if example:
            (x, _, _), left, _ = example
            yield "identity", f"{name}({x}, {unit}) = {left}"
            return
        example = _first(triples, lambda x, _, __: (combine(unit, x), x))
        if example:
            (x, _, _), left, _ = example
            yield "identity", f"{name}({unit}, {x}) = {left}"


def apply_operator(operator: Operator, left: Fraction, right: Fraction) -> Fraction:
    """The operator's exact value; raises ``ZeroDivisionError`` where it has none."""
    return _value(operator.body, (left, right))


def _value(body: Expression, values: tuple[Fraction, Fraction]) -> Fraction:
    if isinstance(body, Number):
        return body.value
    if isinstance(body, Variable):
        return values[body.index]
    return _call(body, [_value(argument, values) for argument in body.arguments])


def _call(body: Apply, values: list[Fraction]) -> Fraction:
    match body.function:
        case "add":
            return values[0] + values[1]
        case "sub":
            return values[0] - values[1]
        case "mul":
            return values[0] * values[1]
        case "div":
            return values[0] / values[1]
        case "neg":
            return -values[0]
        case "abs":
            return abs(values[0])
        case "min":
            return min(values)
        case "max":
            return max(values)
        case _:
            assert_never(body.function)


def _defined(combine: Callable[[Fraction, Fraction], Fraction], x: Fraction, y: Fraction) -> bool:
    try:
        combine(x, y)
    except ZeroDivisionError:
        return False
    return True


Triple = tuple[Fraction, Fraction, Fraction]


def _first(
    triples: tuple[Triple, ...],
    sides: Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]],
) -> tuple[Triple, Fraction, Fraction] | None:
    """The first triple whose two sides differ."""
    for triple in triples:
        try:
            left, right = sides(*triple)
        except ZeroDivisionError:
            continue
        if left != right:
            return triple, left, right
    return None


def _triples(operator: Operator) -> Iterator[Triple]:
    # Small ones first: they make the counterexamples that a reader can check in the head.
    for x in _SMALL:
        for y in _SMALL:
            for z in _SMALL:
                yield x, y, z
    random = Random(_SEED)
    # An operator changes its mind, if at all, around a constant of its own.
    constants = set(_constants(operator.body))
    if operator.identity is not None:
        constants.add(operator.identity)
    around = [
        sign * probe
        for k in sorted(constants)
        for probe in (k, k + 1, k - 1, k / 2, 2 * k + 1, k * k + 1)
        for sign in (1, -1)
    ]

    def value() -> Fraction:
        if around and random.random() < 0.5:
            return random.choice(around)
        size = 10 ** random.choice((1, 3, 3, 9, 30))
        return Fraction(random.randint(-size, size), random.choice((1, 1, 2, 3, 7, 64)))

    for _ in range(_TRIES):
        yield value(), value(), value()
    for probe in around:
        yield probe, value(), value()


def _constants(body: Expression) -> Iterator[Fraction]:
    if isinstance(body, Number):
        yield body.value
    elif isinstance(body, Apply):
        for argument in body.arguments:
            yield from _constants(argument)
