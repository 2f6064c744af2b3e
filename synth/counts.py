"""Which numbers of steps and chunks a search tries, and in which order."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from .exact.symmetry import list_fitting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .walk import Walk

_CHUNKS = (1, 2, 4, 8, 3, 6, 5, 7)  # Halving and doubling first: links mostly come in powers of 2.
_MOST_RANGE = 1024  # Chunk counts of a range that are looked at, from its lower end.
_MANY_CHUNKS = (*_CHUNKS, 12, 16)  # Where bandwidth counts, and not steps alone.
_PLAIN = 16  # The largest denominator of a fraction that is shown as one.


def step_counts(walk: Walk, first: int) -> Iterator[int]:
    """Step counts worth trying: for latency the first schedule's own alone.

    Else twice as many come first: all the way to a root and back is room enough for much of the
    bandwidth, and more room makes schedules easier to find. Then three times as many, and the
    others in order.
    """
    if walk.objective.kind == "latency":
        yield first
        return
    limits = walk.problem.limits
    ranks = len(walk.problem.topology.ranks)
    most = max(3 * first, 2 * ranks) if limits.steps is None else limits.steps[1]
    leaps = [count for count in (2 * first, 3 * first) if first < count <= most]
    yield from leaps
    yield from (count for count in range(first, most + 1) if count not in leaps)


def chunk_counts(walk: Walk) -> Iterator[int]:
    """Chunk counts worth trying, in order.

    Where bandwidth counts, those come first that could come nearest to the bound: rounds are
    multiples of a grain, so a bound of 7/24 rounds a chunk may be met with 12 chunks, in 7/2
    rounds, while a single chunk takes 1/2 round at least.
    """
    limits = walk.problem.limits
    ranks = len(walk.problem.topology.ranks)
    usual = _CHUNKS if walk.objective.kind == "latency" else _MANY_CHUNKS
    if limits.chunks is None:
        numbers = [*usual, *([ranks] if ranks not in usual else [])]
    else:
        low, high = limits.chunks
        numbers = [number for number in usual if low <= number <= high]
        most = min(high, low + _MOST_RANGE)
        numbers += [number for number in range(low, most + 1) if number not in usual]
    if walk.objective.kind != "latency":
        grain = walk.grain()

        def nearest(number: int) -> Fraction:
            return ceil(number * walk.limit.rounds / grain) * grain / number

        numbers.sort(key=lambda number: (nearest(number), number))
    if limits.symmetric:
        fitting = set(list_fitting(walk.problem, limits.chunks))
        numbers = [number for number in numbers if number in fitting]
    yield from numbers


def show_count(number: int | Fraction, noun: str) -> str:
    """``1 chunk``, ``7/2 rounds``, ``3.14159 rounds``, ``just under 1 round``."""
    value = Fraction(number)
    whole, shown = round(value), str(value)
    if value.denominator > _PLAIN:
        shown = f"{float(value):.6g}"
        if Fraction(shown) == whole:
            shown = f"just {'under' if value < whole else 'over'} {whole}"
    one = value == 1 or shown.endswith(" 1")
    return f"{shown} {noun}" if one else f"{shown} {noun}s"
