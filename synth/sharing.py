"""Combinations that many ranks want, in the fewest steps: what serves several is sent once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .fabric import UnreachedError
from .schedule import Got, Own
from .subsets import list_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.dsl.model import Block, Want

    from .fabric import Fabric
    from .schedule import Part

    Numbered = Sequence[tuple[int, Want]]
    """Wants of a block with their positions."""


def list_joint(block: Block) -> Numbered:
    """The wants of a block that combine symbols, if there is more than one of them."""
    if len(block.symbols) < 2 or len(block.wants) < 2:
        return []
    found = [(i, want) for i, want in enumerate(block.wants) if len(set(want.symbols)) > 1]
    return found if len(found) > 1 else []


def group_alike(wants: Numbered) -> list[Numbered]:
    """Those wants of which there are several of the same symbols, together."""
    families: dict[frozenset[int], list[tuple[int, Want]]] = {}
    for position, want in wants:
        families.setdefault(frozenset(want.symbols), []).append((position, want))
    return [family for family in families.values() if len(family) > 1]


@dataclass(slots=True)
class Traffic:
    """The messages of one chunk in the order of their steps, not yet on any route.

    A message is (step, from, to, parts); parts name messages by their places here. ``results``
    are (want, parts).
    """

    messages: list[tuple[int, int, int, tuple[Part, ...]]] = field(default_factory=list)
    results: list[tuple[int, tuple[Part, ...]]] = field(default_factory=list)


def gather_in_trees(fabric: Fabric, block: Block, wants: Numbered, turn: int) -> Traffic:
    """Every want gets a tree of shortest ways to its rank; equal messages of several are one.

    A rank sends as soon as all has come that it merges. Of several shortest ways the choice is
    alike everywhere, so that trees look alike and share much: to the rank whose number differs
    least, which leads along the dimensions of a torus one after the other. ``turn`` moves the
    first differences to the end, so many of them (negative: the other way round). The operator
    commutes.
    """
    made = Traffic()
    messages = made.messages
    known: dict[tuple[int, int, int, int], int] = {}
    own: list[list[int]] = [[] for _ in range(fabric.ranks)]
    for position, symbol in enumerate(block.symbols):
        own[symbol.rank].append(position)
    held = [sum(1 << symbol for symbol in symbols) for symbols in own]
    orders = _orders(fabric, turn)
    for position, want in wants:
        fabric.watch()
        root = want.rank
        distance, layers = fabric.reach(root, True)
        inside = sum(1 << symbol for symbol in set(want.symbols))
        if any(held[rank] & inside and distance[rank] < 0 for rank in range(fabric.ranks)):
            raise UnreachedError
        content = [mine & inside for mine in held]
        height = [0] * fabric.ranks
        came: list[list[int]] = [[] for _ in range(fabric.ranks)]
        for depth in range(len(layers) - 1, 0, -1):
            for rank in layers[depth]:
                what = content[rank]
                if not what:
                    continue
                for target in orders[rank]:
                    if distance[target] == depth - 1:
                        break
                step = height[rank]
                key = rank, target, what, step
                number = known.get(key, -1)
                if number < 0:
                    number = known[key] = len(messages)
                    messages.append((step, rank, target, _parts(own[rank], inside, came[rank])))
                came[target].append(number)
                content[target] |= what
                if height[target] <= step:
                    height[target] = step + 1
        made.results.append((position, _parts(own[root], inside, came[root])))
    return made


def _parts(own: list[int], inside: int, came: list[int]) -> tuple[Part, ...]:
    return (*(Own(symbol) for symbol in own if inside >> symbol & 1), *map(Got, came))


def _orders(fabric: Fabric, turn: int) -> list[list[int]]:
    """For each rank those a step away, in the order in which they are tried."""
    gaps = list_gaps(fabric)
    if turn < 0:
        gaps, turn = gaps[::-1], -turn - 1
    at = turn % max(1, len(gaps))
    place = {gap: i for i, gap in enumerate(gaps[at:] + gaps[:at])}
    return [
        sorted(others, key=lambda other: (place[abs(other - rank)], other))
        for rank, others in enumerate(fabric.beside[False])
    ]


def list_gaps(fabric: Fabric) -> list[int]:
    """The differences between the numbers of ranks that are a step apart."""
    gaps = {abs(a - b) for a, others in enumerate(fabric.beside[False]) for b in others}
    return sorted(gaps)


def gossip(fabric: Fabric, block: Block, wants: Numbered, steps: int) -> Traffic:
    """Every rank sends all that it knows to whoever lacks some of it, step by step.

    The operator is idempotent and commutes; all the wants are of the same symbols.
    """
    made = Traffic()
    wanted = set(wants[0][1].symbols)
    knows = [0] * fabric.ranks
    parts: list[list[Part]] = [[] for _ in range(fabric.ranks)]
    for symbol in sorted(wanted):
        rank = block.symbols[symbol].rank
        knows[rank] |= 1 << symbol
        parts[rank].append(Own(symbol))
    for step in range(steps):
        before, had = list(knows), [tuple(each) for each in parts]
        for target in range(fabric.ranks):
            fabric.watch()
            # Who knows most comes first: the others may have nothing to add then.
            some = list_bits(fabric.near[True][target])
            some.sort(key=lambda rank: (-(before[rank] & ~before[target]).bit_count(), rank))
            for rank in some:
                if before[rank] & ~knows[target]:
                    parts[target].append(Got(len(made.messages)))
                    knows[target] |= before[rank]
                    made.messages.append((step, rank, target, had[rank]))
    every = sum(1 << symbol for symbol in wanted)
    for position, want in wants:
        if knows[want.rank] != every:
            raise UnreachedError
        made.results.append((position, tuple(parts[want.rank])))
    return made


def prune(traffic: Traffic) -> Traffic:
    """The traffic without messages that no result takes anything from."""
    used: set[int] = set()
    stack = [part for _, parts in traffic.results for part in parts]
    while stack:
        part = stack.pop()
        if isinstance(part, Got) and part.send not in used:
            used.add(part.send)
            stack += traffic.messages[part.send][3]
    number = {old: new for new, old in enumerate(sorted(used))}

    def renumber(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(Got(number[p.send]) if isinstance(p, Got) else p for p in parts)

    return Traffic(
        [
            (step, src, dst, renumber(parts))
            for old in sorted(used)
            for step, src, dst, parts in (traffic.messages[old],)
        ],
        [(want, renumber(parts)) for want, parts in traffic.results],
    )
