"""Small fabrics whose switches multicast, reduce, both or neither, given and random."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.dsl.model import Link, Rank, Switch, Topology

from .problems import GB, US

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable


def fabric(
    ranks: int, abilities: Iterable[str], pairs: Iterable[tuple[int, int]], *, two_way: bool = True
) -> Topology:
    """Ranks, then a switch for each of ``abilities`` (some of the letters m and r), and links."""
    both = [*pairs]
    both += [(b, a) for a, b in both if two_way]
    return Topology(
        "fabric",
        tuple(Rank(f"gpu[{i}]") for i in range(ranks)),
        tuple(Switch(f"sw[{i}]", "m" in a, "r" in a) for i, a in enumerate(abilities)),
        tuple(Link(a, b, 1, Fraction(GB), US) for a, b in dict.fromkeys(both)),
    )


def star(ranks: int, ability: str) -> Topology:
    """All ranks at one switch."""
    return fabric(ranks, [ability], [(rank, ranks) for rank in range(ranks)])


def two_levels(*abilities: str) -> Topology:
    """Two ranks at each of two switches, and a third one above these."""
    return fabric(4, abilities, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6)])


def draw(chance: random.Random, ranks: int, switches: int = 2) -> Topology:
    """A connected fabric: ranks at one or two switches, switches joined, some links besides."""
    pairs = [(rank, ranks + chance.randrange(switches)) for rank in range(ranks)]
    pairs += [(ranks + i, ranks + i + 1) for i in range(switches - 1)]
    for _ in range(chance.randrange(3)):
        a, b = chance.sample(range(ranks + switches), 2)
        if (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    return fabric(ranks, chance.choices(("", "m", "r", "mr"), (1, 2, 2, 3), k=switches), pairs)
