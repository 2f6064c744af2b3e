"""Machines built by hand, without the language: what measures them must not depend on it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from roundelay.dsl.model import Link, Rank, Switch, Topology

GB = Fraction(10**9)
US = Fraction(1, 10**6)

Pairs = list[tuple[int, int]]


def machine(
    names: list[str], pairs: Pairs, switches: int = 0, one_way: bool = False, **speeds: Fraction
) -> Topology:
    """Nodes, ranks first, joined in both directions at 1 GB/s and 1 us."""
    count = int(speeds.get("count", 1))
    bandwidth, latency = speeds.get("bandwidth", GB), speeds.get("latency", US)
    both = [*pairs, *([] if one_way else [(b, a) for a, b in pairs])]
    return Topology(
        "test",
        tuple(map(Rank, names)),
        tuple(Switch(f"sw[{i}]") for i in range(switches)),
        tuple(Link(a, b, count, bandwidth, latency) for a, b in dict.fromkeys(both)),
    )


def row(ranks: int) -> list[str]:
    return [f"gpu[{i}]" for i in range(ranks)]


def ring(ranks: int, one_way: bool = False) -> Topology:
    return machine(row(ranks), [(i, (i + 1) % ranks) for i in range(ranks)], one_way=one_way)


def complete(ranks: int) -> Topology:
    return machine(row(ranks), [(a, b) for a in range(ranks) for b in range(a)])


def star(ranks: int) -> Topology:
    return machine(row(ranks), [(i, ranks) for i in range(ranks)], 1)


def grid(width: int, height: int, around: bool = False) -> Topology:
    """A mesh, or with ``around`` a torus; rank ``x * height + y`` is ``chip[x, y]``."""
    places = list(product(range(width), range(height)))
    pairs: Pairs = []
    for x, y in places:
        for dx, dy in ((1, 0), (0, 1)):
            u, v = x + dx, y + dy
            if around or (u < width and v < height):
                pairs.append((x * height + y, u % width * height + v % height))
    return machine([f"chip[{x}, {y}]" for x, y in places], [p for p in pairs if p[0] != p[1]])


def hypercube(dimensions: int) -> Topology:
    ranks = 1 << dimensions
    pairs = [(i, i ^ 1 << d) for i in range(ranks) for d in range(dimensions) if not i >> d & 1]
    return machine(row(ranks), pairs)


def boxes(number: int, size: int, up: int = 1) -> Topology:
    """Boxes of ranks around a switch each, ``up`` links of 1 GB/s from each switch to one spine."""
    ranks = number * size
    names = [f"box[{b}].gpu[{g}]" for b in range(number) for g in range(size)]
    inner: Pairs = [(i, ranks + i // size) for i in range(ranks)]
    below = machine(names, inner, number + 1)
    spine = ranks + number
    uplinks = [
        Link(*ends, up, GB, US)
        for b in range(number)
        for ends in ((ranks + b, spine), (spine, ranks + b))
    ]
    return Topology("boxes", below.ranks, below.switches, (*below.links, *uplinks))


def dgx1() -> Topology:
    twice = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
    once = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    two = machine(row(8), twice, count=Fraction(2), bandwidth=25 * GB)
    one = machine(row(8), once, bandwidth=25 * GB)
    return Topology("dgx1", two.ranks, (), (*two.links, *one.links))
