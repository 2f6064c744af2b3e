"""Sets of ranks as the bits of whole numbers."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_SPARSE = 8


def list_bits(mask: int) -> list[int]:
    """The positions of the ones of a number: the members of the set that it stands for."""
    if mask.bit_count() * _SPARSE > mask.bit_length():
        return [place for place, digit in enumerate(reversed(bin(mask)[2:])) if digit == "1"]
    places = []
    while mask:  # A step for each member, where they are few in a long number.
        low = mask & -mask
        places.append(low.bit_length() - 1)
        mask ^= low
    return places


def partition_all(items: list[int]) -> Iterator[list[int]]:
    """Every partition of single bits, its parts as unions of bits."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            kept = [item for item in rest if item not in others]
            for partition in partition_all(kept):
                yield [first | sum(others), *partition]
