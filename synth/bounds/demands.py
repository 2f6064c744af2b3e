"""What a collective asks of a machine, in a few words: who holds it, and who wants it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.subsets import list_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from roundelay.dsl.model import Block, Collective


@dataclass(frozen=True, slots=True)
class Need:
    """Symbols of a block that are wanted together: bits of symbols, and of wanting ranks.

    ``places`` are pairs of a symbol's bit and the bit of the rank that holds it.
    """

    symbols: int
    places: tuple[tuple[int, int], ...]
    wanting: int

    @property
    def holding(self) -> int:
        """Bits of the ranks that hold a symbol of it."""
        union = 0
        for _, rank in self.places:
            union |= rank
        return union


Mixed = tuple[Need, ...]
"""Needs of one block that share symbols, so that a message may serve several."""


class Demands:
    """All that has to move, for one chunk of every block.

    ``pairs`` counts values that one rank holds and one other wants, by the two. ``simple`` counts
    other needs by the ranks that hold and the ranks that want them (bits); a lone holder counts
    as wanting, and a lone wanting rank as holding. No message serves two of all these.
    ``mixed`` counts the families of needs that share symbols.
    """

    def __init__(
        self,
        pairs: Mapping[tuple[int, int], int],
        simple: Mapping[tuple[int, int], int],
        mixed: Mapping[Mixed, int],
    ) -> None:
        self.pairs, self.simple, self.mixed = pairs, simple, mixed
        # Ranks (bits) that want the same number of values of a holder.
        self._targets: dict[int, dict[int, int]] = {}
        for (holder, target), count in self.pairs.items():
            of_holder = self._targets.setdefault(holder, {})
            of_holder[count] = of_holder.get(count, 0) | 1 << target

    def __bool__(self) -> bool:
        """Whether anything has to move."""
        return bool(self.pairs or self.simple or self.mixed)

    def ends(self) -> Iterator[tuple[int, int]]:
        """The holding and the wanting ranks (bits) of every need but the pairs."""
        yield from self.simple
        yield from self.mixed_ends()

    def mixed_ends(self) -> Iterator[tuple[int, int]]:
        """The holding and the wanting ranks (bits) of every need that shares symbols."""
        for needs in self.mixed:
            for need in needs:
                yield need.holding, need.wanting

    def messages(self, side: int) -> int:
        """Messages of one chunk that must leave a set of ranks.

        Those who want something outside of the set, of which the set holds a part, need a
        message out of it that carries some of that part and, of what the set holds, nothing
        else: all that a message carries ends up in the value that it is used for. So needs whose
        parts are disjoint take different messages.
        """
        far = ~side
        total = sum(n for (h, w), n in self.simple.items() if h & side and w & far)
        for holder, targets in self._targets.items():
            if side >> holder & 1:
                total += sum(n * (mask & far).bit_count() for n, mask in targets.items())
        return total + sum(n * _leaving(needs, side) for needs, n in self.mixed.items())

    def exchanges(self, parts: list[int]) -> int:
        """Messages of one chunk that must pass between parts of the ranks.

        Take the messages between parts one by one. Of a value that h parts hold and w parts want,
        let the first part that has all of it be complete: by then every other holding part has
        sent, and every other wanting part becomes complete by a later message into it.
        """
        total = 0
        if self.pairs:
            part_of = {rank: i for i, part in enumerate(parts) for rank in list_bits(part)}
            total = sum(n for (h, w), n in self.pairs.items() if part_of[h] != part_of[w])
        total += sum(n * _passing(h, w, parts) for (h, w), n in self.simple.items())
        for needs, n in self.mixed.items():
            weights = [(_passing(need.holding, need.wanting, parts), need) for need in needs]
            taken = 0
            for weight, need in sorted(weights, key=lambda each: (-each[0], each[1].symbols)):
                if not need.symbols & taken:
                    taken |= need.symbols
                    total += n * weight
        return total


def read_demands(collective: Collective) -> Demands:
    """What a collective asks for, without what its ranks hold already."""
    pairs: Counter[tuple[int, int]] = Counter()
    simple: Counter[tuple[int, int]] = Counter()
    mixed: Counter[Mixed] = Counter()
    masks: dict[tuple[int, ...], int] = {}
    for block in collective.blocks:
        families = list(block.families())
        if len(families) == 1:
            symbols, ranks = families[0]
            holding = _mask(tuple([block.symbols[s].rank for s in symbols]), masks)
            _add(pairs, simple, holding, _mask(ranks, masks))
            continue
        for family in _families(block):
            if len(family) == 1:
                _add(pairs, simple, family[0].holding, family[0].wanting)
            else:
                mixed[family] += 1
    return Demands(pairs, simple, mixed)


def gather_all(ranks: int) -> Demands:
    """An all-gather."""
    whole = (1 << ranks) - 1
    return Demands({}, {(1 << rank, whole): 1 for rank in range(ranks)}, {})


def scatter_all(ranks: int) -> Demands:
    """A reduce-scatter."""
    whole = (1 << ranks) - 1
    return Demands({}, {(whole, 1 << rank): 1 for rank in range(ranks)}, {})


def _add(
    pairs: Counter[tuple[int, int]], simple: Counter[tuple[int, int]], holding: int, wanting: int
) -> None:
    if not holding & (holding - 1):
        others = wanting & ~holding
        if not others & (others - 1):
            if others:
                pairs[holding.bit_length() - 1, others.bit_length() - 1] += 1
            return
        wanting |= holding
    elif not wanting & (wanting - 1):
        holding |= wanting
    simple[holding, wanting] += 1


def _mask(ranks: tuple[int, ...], known: dict[tuple[int, ...], int]) -> int:
    if ranks not in known:
        mask = 0
        for rank in ranks:
            mask |= 1 << rank
        known[ranks] = mask
    return known[ranks]


def _families(block: Block) -> list[Mixed]:
    """The needs of a block, those together that share symbols, directly or by way of others."""
    wanting: dict[frozenset[int], int] = {}
    for wanted, ranks in block.families():
        symbols = frozenset(wanted)
        wanting[symbols] = wanting.get(symbols, 0) | sum(1 << rank for rank in set(ranks))
    families: list[tuple[int, list[Need]]] = []
    for symbols, bits in wanting.items():
        places = tuple((1 << s, 1 << block.symbols[s].rank) for s in sorted(symbols))
        need = Need(sum(1 << s for s in symbols), places, bits)
        union, members = need.symbols, [need]
        apart: list[tuple[int, list[Need]]] = []
        for used, others in families:
            if used & need.symbols:
                union |= used
                members = [*others, *members]
            else:
                apart.append((used, others))
        families = [*apart, (union, members)]
    return [tuple(members) for _, members in families]


def _leaving(needs: Mixed, side: int) -> int:
    inside: set[int] = set()
    for need in needs:
        if need.wanting & ~side:
            inside.add(sum(symbol for symbol, rank in need.places if rank & side))
    inside.discard(0)
    taken = count = 0
    for symbols in sorted(inside, key=lambda bits: (bits.bit_count(), bits)):
        if not symbols & taken:
            taken |= symbols
            count += 1
    return count


def _passing(holding: int, wanting: int, parts: list[int]) -> int:
    if len(parts) == (holding | wanting).bit_length() and all(
        part == 1 << i for i, part in enumerate(parts)
    ):  # Then counting bits counts parts.
        h, w, both = holding.bit_count(), wanting.bit_count(), bool(holding & wanting)
    else:
        h = sum(1 for part in parts if part & holding)
        w = sum(1 for part in parts if part & wanting)
        both = any(part & holding and part & wanting for part in parts)
    return h + w - (2 if both else 1)
