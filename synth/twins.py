"""Ranks that may change places: what holds of one of them holds of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.model import Topology


def find_twins(topology: Topology) -> list[list[int]]:
    """The ranks in classes, by their least rank; to exchange two of a class changes no capacity.

    Two ranks are twins if they have the same links to and from all others, and the same from one
    to the other as back. To be twins of one another is transitive.
    """
    ranks = len(topology.ranks)
    # Capacities by number: to hash a fraction again and again takes long.
    numbers: dict[Fraction, int] = {}
    out: list[dict[int, int]] = [{} for _ in range(ranks)]
    into: list[dict[int, int]] = [{} for _ in range(ranks)]
    for link in topology.links:
        number = numbers.setdefault(link.capacity, len(numbers))
        if link.src < ranks:
            out[link.src][link.dst] = number
        if link.dst < ranks:
            into[link.dst][link.src] = number
    known: dict[object, int] = {}
    classes: dict[int, list[int]] = {}
    for rank in range(ranks):
        # As if each were joined to itself by what would join it to its twins.
        keys = [
            (frozenset((out[rank] | own).items()), frozenset((into[rank] | own).items()))
            for own in ({}, *({rank: number} for number in sorted(set(out[rank].values()))))
        ]
        first = next((known[key] for key in keys if key in known), rank)
        classes.setdefault(first, []).append(rank)
        if first == rank:
            for key in keys:
                known[key] = rank
    return list(classes.values())
