"""The 35 machines whose optima are known, with those that the tests carry themselves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from roundelay.dsl.model import Link

from .problems import GB, US, complete, dgx1, line, machine, ring

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Topology

Wires = list[tuple[int, int, int]]
"""Two nodes and how many links join them."""

NDV2: Wires = [
    (0, 1, 2), (0, 4, 2), (1, 3, 2), (2, 3, 2), (2, 6, 2), (4, 5, 2), (5, 7, 2), (6, 7, 2),
    (0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 5, 1), (3, 7, 1), (4, 6, 1), (4, 7, 1), (5, 6, 1),
]  # fmt: skip
MI250: Wires = [
    *((2 * k, 2 * k + 1, 4) for k in range(8)),
    *((i, j, 2) for i, j in ((0, 4), (3, 7), (8, 12), (11, 15))),
    *((i, j, 1) for i, j in (
        (0, 8), (1, 5), (1, 9), (1, 10), (2, 6), (2, 9), (2, 10), (3, 11), (4, 6), (5, 6), (5, 7),
        (9, 13), (10, 14), (12, 14), (13, 14), (13, 15),
    )),
]  # fmt: skip


def grid(*sizes: int, wrap: bool = False) -> Topology:
    """A mesh, or with ``wrap`` a torus (of three or more in each dimension)."""
    points = list(product(*map(range, sizes)))
    number = {point: i for i, point in enumerate(points)}
    pairs = []
    for point in points:
        for axis, size in enumerate(sizes):
            following = point[axis] + 1
            if following < size or wrap:
                other = (*point[:axis], following % size, *point[axis + 1 :])
                pairs.append((number[point], number[other], 1))
    return machine("grid", len(points), pairs)


def cube(dimensions: int) -> Topology:
    ranks = 2**dimensions
    pairs = [(i, i | 1 << k, 1) for i in range(ranks) for k in range(dimensions) if not i >> k & 1]
    return machine("cube", ranks, pairs)


def star(ranks: int, speed: int) -> Topology:
    return machine("star", ranks, [(i, ranks, 1) for i in range(ranks)], 1, bandwidth=speed)


def boxes(count: int, ranks: int, inner: int, outer: int | Fraction) -> Topology:
    """Boxes around a switch each, every rank with a port of one more switch."""
    n = count * ranks
    links: list[tuple[int, int, int, int | Fraction]] = [
        (rank, n + rank // ranks, 1, inner) for rank in range(n)
    ]
    links += [(rank, n + count, 1, outer) for rank in range(n)]
    return machine("boxes", n, links, count + 1)


def wired(count: int, ranks: int, wires: Wires, inner: int, outer: int | Fraction,
          ports: int) -> Topology:  # fmt: skip
    """Boxes wired inside, the first ``ports`` ranks of each with a port of a switch."""
    n = count * ranks
    links: list[tuple[int, int, int, int | Fraction]] = [
        (box * ranks + i, box * ranks + j, k, inner) for box in range(count) for i, j, k in wires
    ]
    links += [(box * ranks + i, n, 1, outer) for box in range(count) for i in range(ports)]
    return machine("wired", n, links, 1)


def two_dgx2() -> Topology:
    """TE-CCL's: odd ranks of a box send to even ranks of the other, one way."""
    inner = machine("two dgx2", 32, [(r, 32 + r // 16, 1) for r in range(32)], 2, bandwidth=125)
    between = [
        Link(16 * b + i, 16 * (1 - b) + i - 1, 1, Fraction(25, 2) * GB, US)
        for b in range(2)
        for i in range(1, 16, 2)
    ]
    return replace(inner, links=(*inner.links, *between))


def fat_tree(k: int) -> Topology:
    half = k // 2
    hosts = k * half * half
    edge, upper, core = hosts, hosts + k * half, hosts + 2 * k * half
    links = [(host, edge + host // half, 1) for host in range(hosts)]
    for pod, u in product(range(k), range(half)):
        links += [(edge + pod * half + e, upper + pod * half + u, 1) for e in range(half)]
        links += [(upper + pod * half + u, core + u * half + c, 1) for c in range(half)]
    return machine("fat tree", hosts, links, 2 * k * half + half * half)


def dragonfly(routers: int, hosts: int, globals_: int) -> Topology:
    groups = routers * globals_ + 1
    n = groups * routers * hosts
    links = [(host, n + host // hosts, 1) for host in range(n)]
    for g in range(groups):
        first = n + g * routers
        links += [(first + r, first + s, 1) for r in range(routers) for s in range(r)]
        links += [
            (first + (f - g - 1) // globals_,
             n + f * routers + (groups + g - f - 1) // globals_, 1)
            for f in range(g + 1, groups)
        ]  # fmt: skip
    return machine("dragonfly", n, links, groups * routers)


NETS: dict[str, Callable[[], Topology]] = {
    "ring8@1": lambda: ring(8),
    "path4@1": lambda: line(4),
    "path8@1": lambda: line(8),
    "mesh4x4@1": lambda: grid(4, 4),
    "mesh8x8@1": lambda: grid(8, 8),
    "mesh4x8@1": lambda: grid(4, 8),
    "mesh4x4x4@1": lambda: grid(4, 4, 4),
    "torus4x4@1": lambda: grid(4, 4, wrap=True),
    "torus8x8@1": lambda: grid(8, 8, wrap=True),
    "torus4x4x4@1": lambda: grid(4, 4, 4, wrap=True),
    "hypercube3@1": lambda: cube(3),
    "hypercube4@1": lambda: cube(4),
    "full8@1": lambda: complete(8),
    "DGX1_V100@25": dgx1,
    "DGX2_V100_nvswitch@150": lambda: star(16, 150),
    "DGX2x2_teccl_125_12.5": two_dgx2,
    "NDv2x2_teccl_50_25_12.5": lambda: wired(2, 8, NDV2, 25, Fraction(25, 2), 1),
    "NDv2x4_teccl": lambda: wired(4, 8, NDV2, 25, Fraction(25, 2), 1),
    "A100x8@300": lambda: star(8, 300),
    "A100_2x8_300_25": lambda: boxes(2, 8, 300, 25),
    "A100_4x8_300_25": lambda: boxes(4, 8, 300, 25),
    "H100x8@450": lambda: star(8, 450),
    "H100_2x8_450_50": lambda: boxes(2, 8, 450, 50),
    "H100_4x8_450_50": lambda: boxes(4, 8, 450, 50),
    "H100_8x8_450_50": lambda: boxes(8, 8, 450, 50),
    "H100_16x8_450_50": lambda: boxes(16, 8, 450, 50),
    "B200x8@900": lambda: star(8, 900),
    "NVL72@900": lambda: star(72, 900),
    "MI300X_full8@64": lambda: machine(
        "mi300x", 8, [(i, j, 1) for i in range(8) for j in range(i)], bandwidth=64
    ),
    "MI250_1x16_50": lambda: machine("mi250", 16, MI250, bandwidth=50),
    "MI250_2x16_50_16": lambda: wired(2, 16, MI250, 50, 16, 16),
    "MI250_4x16_50_16": lambda: wired(4, 16, MI250, 50, 16, 16),
    "fattree_k4@1": lambda: fat_tree(4),
    "fattree_k8@1": lambda: fat_tree(8),
    "dragonfly_a4p2h2@1": lambda: dragonfly(4, 2, 2),
}

OPTIMA: dict[str, tuple[str, str, str, str]] = {
    "ring8@1": ("16/7", "8/7", "8/7", "1"),
    "path4@1": ("4/3", "1", "2/3", "1"),
    "mesh4x4@1": ("32/15", "8/5", "16/15", "1"),
    "mesh4x8@1": ("64/31", "52/31", "32/31", "1/2"),
    "mesh8x8@1": ("128/63", "16/9", "64/63", "1/2"),
    "torus4x4@1": ("64/15", "32/15", "32/15", "2"),
    "hypercube3@1": ("24/7", "12/7", "12/7", "2"),
    "full8@1": ("8", "4", "4", "8"),
    "DGX1_V100@25": ("1200/7", "600/7", "600/7", "75"),
    "DGX2_V100_nvswitch@150": ("160", "80", "80", "160"),
    "DGX2x2_teccl_125_12.5": ("4000/31", "2100/31", "2000/31", "25/2"),
    "NDv2x2_teccl_50_25_12.5": ("25", "25/2", "25/2", "25/8"),
    "A100_2x8_300_25": ("1040/3", "520/3", "520/3", "50"),
    "H100_4x8_450_50": ("16000/31", "8000/31", "8000/31", "200/3"),
    "MI250_1x16_50": ("2400/7", "1200/7", "1200/7", "75"),
    "MI250_2x16_50_16": ("5312/15", "2656/15", "2656/15", "32"),
    "fattree_k4@1": ("16/15", "8/15", "8/15", "16/15"),
}
"""GB/s of all-gather, all-reduce, reduce-scatter with all-gather, and all-to-all."""
