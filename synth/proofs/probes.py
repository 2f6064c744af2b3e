"""Looks for a point at which a law fails, small numbers first, and shrinks what is found."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from .reading import Call, Constant
from .values import InexactError, differ, sides

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .reading import Kind, Law, Node, Question, Record

Point = tuple["Record", ...]
"""The values of a law's letters: a, b, c."""

LETTERS: dict[Law, int] = {"associative": 3, "commutative": 2, "idempotent": 1, "identity": 1}
"""How many values each law speaks of."""

_SEED = 20260401
_ALL = 2000  # Where there are no more points of small numbers than this, all are looked at.
_TRIES = 300  # Else so many of them, and as many of any numbers.
_WORK = 30_000  # Most parts of expressions to go through, so that huge operators take no longer.
_SMALL = tuple(map(Fraction, (0, 1, -1, 2, -2, 3)))


def probe(question: Question) -> Point | None:
    """A point at which the law fails, or None if none was found."""
    return next((shrink(question, p) for p in _points(question) if fails(question, p)), None)


def fails(question: Question, point: Point) -> bool:
    """Whether the two sides are known exactly at a point, and differ."""
    kinds = question.reading.kinds
    if any(not k.holds(v) for record in point for k, v in zip(kinds, record, strict=True)):
        return False
    try:
        return any(differ(left, right) for left, right in sides(question, point))
    except InexactError:
        return False


def shrink(question: Question, point: Point) -> Point:
    """Another point at which the law fails, nearer to zero where that is quickly found."""
    flat = [value for record in point for value in record]
    width, left = len(question.reading.kinds), _most(question)
    for _ in range(3):
        before = list(flat)
        for i, value in enumerate(before):
            for smaller in _smaller(value):
                flat[i] = smaller
                left -= 1
                if left >= 0 and fails(question, _cut(flat, width)):
                    break
                flat[i] = value
            if left <= 0:
                break
        if flat == before or left <= 0:
            break
    return _cut(flat, width)


def _smaller(value: Fraction) -> list[Fraction]:
    """Numbers nearer to zero or with a smaller denominator, best first."""
    # The nearest whole numbers too: a solver likes to answer with long fractions.
    tries = (*_SMALL, Fraction(1, 2), Fraction(int(value)), Fraction(round(value)))
    return [smaller for smaller in tries if _cost(smaller) < _cost(value)]


def _most(question: Question) -> int:
    """How many points may be tried."""
    parts = sum(1 for _, root in question.reading.body for _ in _parts(root))
    return max(10, _WORK // parts)


def _cost(value: Fraction) -> tuple[int, Fraction, bool]:
    return value.denominator, abs(value), value < 0


def _cut(flat: list[Fraction], width: int) -> Point:
    return tuple(tuple(flat[i : i + width]) for i in range(0, len(flat), width))


def _points(question: Question) -> Iterator[Point]:
    letters, kinds = LETTERS[question.law], question.reading.kinds
    small = [tuple(filter(kind.holds, _SMALL)) for kind in kinds] * letters
    parts = [part for _, root in question.reading.body for part in _parts(root)]
    most = _most(question)
    size = 1
    for values in small:
        size = min(size * len(values), _ALL + 1)
    random = Random(_SEED)
    if size <= min(most, _ALL):
        flats = sorted(itertools.product(*small), key=lambda flat: sum(map(abs, flat)))
        yield from (_cut(list(flat), len(kinds)) for flat in flats)
    else:
        for _ in range(min(most, _TRIES)):
            yield _cut([random.choice(values) for values in small], len(kinds))
    constants = sorted({part.value for part in parts if isinstance(part, Constant)})
    wide = {kind: _wide(kind, constants) for kind in kinds}
    for _ in range(min(most, _TRIES)):
        flat = [_any(random, kind, wide[kind]) for kind in kinds * letters]
        yield _cut(flat, len(kinds))


def _wide(kind: Kind, constants: list[Fraction]) -> list[Fraction]:
    """Numbers at which an operator may change its mind: about its constants and the ends."""
    around = [sign * n for k in constants for n in (k, k + 1, k - 1, k / 2) for sign in (1, -1)]
    if kind.width:
        around += map(Fraction, (kind.low, kind.low + 1, kind.high, kind.high - 1, kind.high // 2))
    return list(filter(kind.holds, (*_SMALL, *around)))


def _any(random: Random, kind: Kind, wide: list[Fraction]) -> Fraction:
    if random.random() < 0.6:
        return random.choice(wide)
    if kind.width:
        return Fraction(random.randint(kind.low, kind.high))
    size = 10 ** random.choice((1, 3, 9))
    return Fraction(random.randint(-size, size), random.choice((1, 1, 2, 3, 7, 64)))


def _parts(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Call):
        for argument in node.arguments:
            yield from _parts(argument)
