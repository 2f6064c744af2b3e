"""The blocks of a collective: symbols that meet in wanted values, and those values."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from .model import Block, Spread, Symbol, Want

if TYPE_CHECKING:
    from collections.abc import Sequence

    Indices = tuple[int, ...]


def form_blocks(
    names: Sequence[Indices],
    wants: Sequence[tuple[Indices, Indices]],
    spreads: Sequence[tuple[Indices, Indices]],
    ranks: int,
) -> tuple[Block, ...]:
    """The blocks in the order of their first symbols.

    ``names`` are the indices of every symbol in order. ``wants`` are wanted values, their indices
    and the numbers of their symbols, sorted; ``spreads`` those that all ranks want alike, their
    indices without the rank. Values with the same symbols should share one tuple of them: all that
    is done for a tuple is then done once.
    """
    parent = list(range(len(names)))

    def top(symbol: int) -> int:
        while parent[symbol] != symbol:
            parent[symbol] = parent[parent[symbol]]
            symbol = parent[symbol]
        return symbol

    shared = {id(parts): parts for _, parts in (*wants, *spreads)}
    for parts in shared.values():
        for part in parts[1:]:
            a, b = top(parts[0]), top(part)
            parent[max(a, b)] = min(a, b)
    members: dict[int, list[int]] = {}
    for symbol in range(len(names)):
        members.setdefault(top(symbol), []).append(symbol)
    position = {s: i for block in members.values() for i, s in enumerate(block)}
    places = {key: tuple(position[part] for part in parts) for key, parts in shared.items()}
    single: dict[int, list[Want]] = {block: [] for block in members}
    for indices, parts in wants:
        single[top(parts[0])].append(Want(indices[0], indices, places[id(parts)]))
    everyone = tuple(range(ranks))
    spread: dict[int, list[Spread]] = {block: [] for block in members}
    for rest, parts in spreads:
        spread[top(parts[0])].append(Spread(everyone, rest, places[id(parts)]))
    return tuple(
        Block(
            tuple(Symbol(names[s], names[s][0]) for s in block),
            spread[first][0]
            if len(spread[first]) == 1
            else (*single[first], *sorted(chain(*spread[first]), key=_by_indices)),
        )
        for first, block in members.items()
    )


def _by_indices(want: Want) -> Indices:
    return want.indices
