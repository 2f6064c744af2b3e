"""Values to test laws on: first small ones, which a reader can check in the head."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import TYPE_CHECKING

from .kinds import FLOATS, constants, limits, uses, walk, width
from .model import ON_FLOATS, Apply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .evaluation import Record, Value
    from .model import Operator

Triple = tuple["Record", "Record", "Record"]

_SEED = 20260401
_MOST, _LEAST = 300, 30
_WORK = 30_000  # About so many sums are computed a law; a text must be read in no time.
_COSTLY = 100  # Roots and exponentials take a hundred times as long as sums.
_SMALL = tuple(map(Fraction, (0, 1, -1, 2, -2, 3)))


def triples(operator: Operator, fields: Sequence[str]) -> Iterator[Triple]:
    """Triples of values, always the same ones; ``fields`` are the element types of the fields."""
    random = Random(_SEED)
    tries = _tries(operator)
    yield from _small(fields, random, tries)
    draw = _Draw(operator, fields, random)
    for _ in range(tries):
        yield draw.triple()
    near = list(product(draw.around, range(len(fields))))
    for probe, field in near if len(near) <= 2 * tries else random.sample(near, 2 * tries):
        x, y, z = draw.triple()
        yield (*x[:field], draw.around_value(probe, fields[field]), *x[field + 1 :]), y, z


def _tries(operator: Operator) -> int:
    parts = [part for each in operator.body for part in walk(each.value)]
    costly = sum(isinstance(part, Apply) and part.function in ON_FLOATS for part in parts)
    return min(max(_WORK // (len(parts) + _COSTLY * costly), _LEAST), _MOST)


def _small(fields: Sequence[str], random: Random, tries: int) -> Iterator[Triple]:
    slots = [_small_values(element) for element in fields] * 3
    if prod(map(len, slots)) <= tries:
        chosen = list(product(*slots))
    else:
        drawn = {tuple(map(random.choice, slots)) for _ in range(tries)}
        chosen = sorted(drawn, key=_size)
    for point in chosen:
        a, b, c = (point[i : i + len(fields)] for i in range(0, len(point), len(fields)))
        yield a, b, c


def _size(point: tuple[Fraction | int, ...]) -> tuple[Fraction, tuple[Fraction | int, ...]]:
    return sum((abs(Fraction(value)) for value in point), Fraction(0)), point


def _small_values(element: str) -> tuple[Fraction | int, ...]:
    if element in FLOATS:
        return _SMALL
    low, high = limits(element)
    return (0, 1, -1, 2, low, high) if low else (0, 1, 2, 3, high)


class _Draw:
    """Draws wide values. An operator changes its mind, if at all, around a constant of its own."""

    def __init__(self, operator: Operator, fields: Sequence[str], random: Random) -> None:
        self.fields, self.random = fields, random
        costly = uses(operator.body, ON_FLOATS)
        # Exponentials of large numbers say nothing: they lie beyond what any type holds.
        self.sizes = (1, 1, 2, 2, 9) if costly else (1, 3, 3, 9, 30)
        mine = set(constants(operator.body))
        if operator.identity is not None:
            mine.add(operator.identity)
        self.around = [
            sign * probe
            for k in sorted(mine)
            for probe in (k, k + 1, k - 1, k / 2, 2 * k + 1, k * k + 1)
            for sign in (1, -1)
        ]

    def triple(self) -> Triple:
        """Three values; some agree in some fields, and some triples are of positive numbers."""
        random = self.random
        columns = []
        for element in self.fields:
            column = [self.value(element) for _ in range(3)]
            if random.random() < 0.2:
                column[random.randrange(3)] = column[random.randrange(3)]
            columns.append(column)
        if random.random() < 0.3:
            columns = [[self._positive(value) for value in column] for column in columns]
        x, y, z = (tuple(column[i] for column in columns) for i in range(3))
        return x, y, z

    def value(self, element: str) -> Value:
        """One number of an element type."""
        random = self.random
        if self.around and random.random() < 0.5:
            return self.around_value(random.choice(self.around), element)
        if element in FLOATS:
            size = 10 ** random.choice(self.sizes)
            return Fraction(random.randint(-size, size), random.choice((1, 1, 2, 3, 7, 64)))
        low, high = limits(element)
        bound = 2 ** random.choice((3, width(element) // 2, width(element)))
        return random.randint(max(low, -bound), min(high, bound))

    def around_value(self, probe: Fraction, element: str) -> Value:
        """A number near a constant, as near as the type allows."""
        if element in FLOATS:
            return probe
        low, high = limits(element)
        return min(max(int(probe), low), high)

    @staticmethod
    def _positive(value: Value) -> Value:
        return abs(value) if isinstance(value, Fraction) else value
