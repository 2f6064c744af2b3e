"""Small machines and collectives, built from the model's dataclasses without the language."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Limits,
    Link,
    Operator,
    Problem,
    Rank,
    Switch,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

GB = 10**9
US = Fraction(1, 10**6)
BOTH = (Variable(0), Variable(1))
SUM = Operator("sum", scalar_body(Apply("add", BOTH)), identity=Fraction(0), commutative=True)
MAX = Operator("max", scalar_body(Apply("max", BOTH)), commutative=True, idempotent=True)
SUB = Operator("sub", scalar_body(Apply("sub", BOTH)))


def machine(
    name: str,
    ranks: int,
    links: Iterable[tuple[int, int, int] | tuple[int, int, int, int | Fraction]],
    switches: int = 0,
    *,
    two_way: bool = True,
    flags: bool = False,
    bandwidth: int = 1,
) -> Topology:
    """Links as (src, dst, count) or (src, dst, count, GB/s)."""
    made: list[Link] = []
    for link in links:
        src, dst, count = link[0], link[1], link[2]
        speed = Fraction(link[3] if len(link) == 4 else bandwidth) * GB
        made.append(Link(src, dst, count, speed, US))
        if two_way:
            made.append(Link(dst, src, count, speed, US))
    return Topology(
        name,
        tuple(Rank(f"gpu[{i}]") for i in range(ranks)),
        tuple(Switch(f"sw[{i}]", flags, flags) for i in range(switches)),
        tuple(made),
    )


def ring(n: int) -> Topology:
    pairs = {(min(i, (i + 1) % n), max(i, (i + 1) % n)) for i in range(n)}
    return machine(f"ring({n})", n, [(i, j, 1) for i, j in sorted(pairs) if i != j])


def line(n: int) -> Topology:
    return machine(f"line({n})", n, [(i, i + 1, 1) for i in range(n - 1)])


def complete(n: int) -> Topology:
    return machine(f"complete({n})", n, [(i, j, 1) for i in range(n) for j in range(i + 1, n)])


def torus(w: int, h: int) -> Topology:
    pairs = set()
    for x in range(w):
        for y in range(h):
            for a, b in (((x + 1) % w, y), (x, (y + 1) % h)):
                i, j = x * h + y, a * h + b
                pairs.add((min(i, j), max(i, j)))
    return machine(f"torus({w}, {h})", w * h, [(i, j, 1) for i, j in sorted(pairs)])


def switched(n: int, switches: int = 1, *, flags: bool = False) -> Topology:
    links = [(i, n + s, 1) for i in range(n) for s in range(switches)]
    return machine(f"switch({n}, {switches})", n, links, switches, flags=flags)


DOUBLE = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
SINGLE = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]


def dgx1(only: tuple[int, ...] = tuple(range(8))) -> Topology:
    place = {gpu: i for i, gpu in enumerate(only)}
    links = [(i, j, 2) for i, j in DOUBLE] + [(i, j, 1) for i, j in SINGLE]
    kept = [(place[i], place[j], n) for i, j, n in links if i in place and j in place]
    return machine("dgx1", len(only), kept, bandwidth=25)


def pcie_box() -> Topology:
    links: list[tuple[int, int, int, int | Fraction]] = [
        (0, 1, 1, Fraction(225, 4)),
        (2, 3, 1, Fraction(225, 4)),
        *((g, 4 + g // 2, 1, 24) for g in range(4)),
        (4, 5, 1, 16),
    ]
    return machine("pcie_box", 4, links, 2)


def all_reduce(n: int) -> Collective:
    block = Block(
        tuple(Symbol((r,), r) for r in range(n)),
        tuple(Want(r, (r,), tuple(range(n))) for r in range(n)),
    )
    return Collective("all_reduce", ("sum",), n, (block,), Fraction(2 * (n - 1), n))


def all_gather(n: int) -> Collective:
    blocks = tuple(
        Block((Symbol((s,), s),), tuple(Want(r, (r, s), (0,)) for r in range(n))) for s in range(n)
    )
    return Collective("all_gather", (), n, blocks, Fraction(n - 1, n))


def reduce_scatter(n: int) -> Collective:
    blocks = tuple(
        Block(tuple(Symbol((s, r), s) for s in range(n)), (Want(r, (r,), tuple(range(n))),))
        for r in range(n)
    )
    return Collective("reduce_scatter", ("sum",), n, blocks, Fraction(n - 1, n))


def broadcast(n: int, root: int = 0) -> Collective:
    block = Block((Symbol((root,), root),), tuple(Want(r, (r,), (0,)) for r in range(n)))
    return Collective("broadcast", (str(root),), n, (block,), root=root)


def reduce(n: int, root: int = 0) -> Collective:
    block = Block(tuple(Symbol((s,), s) for s in range(n)), (Want(root, (root,), tuple(range(n))),))
    return Collective("reduce", ("sum", str(root)), n, (block,), root=root)


def gather(n: int, root: int = 0) -> Collective:
    blocks = tuple(Block((Symbol((s,), s),), (Want(root, (root, s), (0,)),)) for s in range(n))
    return Collective("gather", (str(root),), n, blocks, root=root)


def scatter(n: int, root: int = 0) -> Collective:
    blocks = tuple(Block((Symbol((root, r), root),), (Want(r, (r,), (0,)),)) for r in range(n))
    return Collective("scatter", (str(root),), n, blocks, root=root)


def all_to_all(n: int) -> Collective:
    blocks = tuple(
        Block((Symbol((s, r), s),), (Want(r, (r, s), (0,)),)) for s in range(n) for r in range(n)
    )
    return Collective("all_to_all", (), n, blocks, Fraction(n - 1, n))


def scan(n: int) -> Collective:
    block = Block(
        tuple(Symbol((s,), s) for s in range(n)),
        tuple(Want(r, (r,), tuple(range(r + 1))) for r in range(n)),
    )
    return Collective("scan", ("sum",), n, (block,))


def within(make: Callable[[int], Collective], groups: tuple[tuple[int, ...], ...],
           ranks: int) -> Collective:  # fmt: skip
    """A collective within each of some groups of ranks; the others take no part."""
    blocks: list[Block] = []
    for group in groups:
        for block in make(len(group)).blocks:
            symbols = tuple(Symbol(s.indices, group[s.rank]) for s in block.symbols)
            wants = tuple(Want(group[w.rank], w.indices, w.symbols) for w in block.wants)
            blocks.append(Block(symbols, wants))
    one = make(len(groups[0]))
    return Collective(one.name, one.arguments, ranks, tuple(blocks), one.busbw, groups=groups)


def copies(name: str, ranks: int, wanted: dict[int, tuple[int, ...]]) -> Collective:
    """Every rank gives one value; ``wanted[s]`` are the ranks that want that of rank s."""
    blocks = tuple(
        Block((Symbol((s,), s),), tuple(Want(r, (r, s), (0,)) for r in wanted.get(s, ())))
        for s in range(ranks)
    )
    return Collective(name, (), ranks, blocks)


def stencil(ranks: int) -> Collective:
    """Every rank wants the combination of its own value and those of its neighbours on a circle."""
    block = Block(
        tuple(Symbol((s,), s) for s in range(ranks)),
        tuple(Want(r, (r,), ((r - 1) % ranks, r, (r + 1) % ranks)) for r in range(ranks)),
    )
    return Collective("stencil", ("sum",), ranks, (block,))


def to_and_fro(ranks: int) -> Collective:
    """All-reduce in which every other rank wants the symbols the other way round."""
    there = tuple(range(ranks))
    block = Block(
        tuple(Symbol((s,), s) for s in range(ranks)),
        tuple(Want(r, (r,), there if r % 2 == 0 else there[::-1]) for r in range(ranks)),
    )
    return Collective("to_and_fro", ("sum",), ranks, (block,))


def ask(
    topology: Topology,
    collective: Collective,
    operator: Operator | None = SUM,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Problem:
    return Problem(topology, collective, operator if collective.combines else None, limits)
