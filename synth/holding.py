"""What a rank holds of a chunk in a schedule by hand, and in which order its parts are merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Block, Operator

    from .schedule import Part

Content = tuple[int, ...]
"""Symbols of a block by position, in the order in which they are merged."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge: its symbols in order, the same as bits, and its parts in order."""

    content: Content
    symbols: int
    parts: tuple[Part, ...]


@dataclass(slots=True)
class Held:
    """An accumulator: its parts with what each is made of, and all their symbols as bits.

    Parts stay apart until they are sent or wanted. ``merges`` remembers how they were merged.
    """

    parts: list[tuple[Content, Part]] = field(default_factory=list)
    symbols: int = 0
    merges: dict[tuple[Content, ...], Merged] = field(default_factory=dict)

    def add(self, content: Content, symbols: int, part: Part) -> None:
        """Merge a part in, behind the others."""
        self.parts.append((content, part))
        self.symbols |= symbols
        self.merges = {}

    def merge(self, orders: tuple[Content, ...]) -> Merged:
        """All parts as one: in the first order that makes one run of them, else as they came.

        Without orders, as they came: then neither the order nor a repeat means anything.
        """
        if orders not in self.merges:
            parts = _sort(self.parts, orders)
            content = tuple(symbol for symbols, _ in parts for symbol in symbols)
            if not orders:
                content = tuple(dict.fromkeys(content))
            made = Merged(content, self.symbols, tuple(part for _, part in parts))
            self.merges[orders] = made
        return self.merges[orders]


def _sort(
    parts: list[tuple[Content, Part]], orders: tuple[Content, ...]
) -> list[tuple[Content, Part]]:
    for order in orders:
        place = {symbol: i for i, symbol in enumerate(order)}
        if all(symbol in place for content, _ in parts for symbol in content):
            made = sorted(parts, key=lambda item: place[item[0][0]])
            places = [place[symbol] for content, _ in made for symbol in content]
            if all(b == a + 1 for a, b in pairwise(places)):
                return made
    return parts


class Orders:
    """The orders in which the wants of a block merge their symbols; none where any will do."""

    def __init__(self, blocks: tuple[Block, ...], operator: Operator | None) -> None:
        self.blocks = blocks
        self.any = operator is None or operator.commutative
        self._known: dict[tuple[int, int], tuple[Content, ...]] = {}

    def list(self, block: int, rank: int) -> tuple[Content, ...]:
        """The orders of a block's wants, those of one rank before the others."""
        if self.any:
            return ()
        if (block, rank) not in self._known:
            wants = sorted(self.blocks[block].wants, key=lambda want: want.rank != rank)
            self._known[block, rank] = tuple(dict.fromkeys(want.symbols for want in wants))
        return self._known[block, rank]
