"""Collectives, operators and schedules for tests, built from the nouns alone.

In one file, though a long one, so that tests of every room draw from the same cases.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Link,
    Operator,
    Problem,
    Rank,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from roundelay.synth.checker import check
from roundelay.synth.schedule import Got, Own, Part, Result, Schedule, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

X, Y = Variable(0), Variable(1)
SUM = Operator("sum", scalar_body(Apply("add", (X, Y))), Fraction(0), commutative=True)
PROD = Operator("prod", scalar_body(Apply("mul", (X, Y))), Fraction(1), commutative=True)
MIN = Operator("min", scalar_body(Apply("min", (X, Y))), commutative=True, idempotent=True)
MAX = Operator("max", scalar_body(Apply("max", (X, Y))), commutative=True, idempotent=True)
LEFT = Operator("left", scalar_body(X), idempotent=True)
# Associative, not commutative, not idempotent: |x| y keeps the order of signs visible.
SCALED = Operator("scaled", scalar_body(Apply("mul", (Apply("abs", (X,)), Y))))
OPERATORS = {op.name: op for op in (SUM, PROD, MIN, MAX)}


def complete(n: int) -> Topology:
    ranks = tuple(Rank(f"gpu[{r}]") for r in range(n))
    links = tuple(
        Link(a, b, 1, Fraction(10**9), Fraction(1, 10**6))
        for a in range(n)
        for b in range(n)
        if a != b
    )
    return Topology(f"complete({n})", ranks, (), links)


def _symbols(b: int, n: int) -> tuple[Symbol, ...]:
    return tuple(Symbol((r, b), r) for r in range(n))


def all_reduce(n: int) -> Collective:
    everything = tuple(range(n))
    block = Block(_symbols(0, n), tuple(Want(r, (r,), everything) for r in range(n)))
    return Collective("all_reduce", ("sum",), n, (block,))


def reduce(n: int, root: int = 0) -> Collective:
    block = Block(_symbols(0, n), (Want(root, (root,), tuple(range(n))),))
    return Collective("reduce", ("sum", str(root)), n, (block,), root=root)


def all_gather(n: int) -> Collective:
    blocks = tuple(
        Block((Symbol((b,), b),), tuple(Want(r, (r, b), (0,)) for r in range(n))) for b in range(n)
    )
    return Collective("all_gather", (), n, blocks)


def reduce_scatter(n: int) -> Collective:
    blocks = tuple(Block(_symbols(b, n), (Want(b, (b,), tuple(range(n))),)) for b in range(n))
    return Collective("reduce_scatter", ("sum",), n, blocks)


def broadcast(n: int, root: int = 0) -> Collective:
    block = Block((Symbol((root,), root),), tuple(Want(r, (r,), (0,)) for r in range(n)))
    return Collective("broadcast", (str(root),), n, (block,), root=root)


def gather(n: int, root: int = 0) -> Collective:
    blocks = tuple(Block((Symbol((b,), b),), (Want(root, (root, b), (0,)),)) for b in range(n))
    return Collective("gather", (str(root),), n, blocks, root=root)


def scatter(n: int, root: int = 0) -> Collective:
    blocks = tuple(Block((Symbol((root, b), root),), (Want(b, (b,), (0,)),)) for b in range(n))
    return Collective("scatter", (str(root),), n, blocks, root=root)


def all_to_all(n: int) -> Collective:
    blocks = tuple(
        Block((Symbol((a, b), a),), (Want(b, (b, a), (0,)),)) for a in range(n) for b in range(n)
    )
    return Collective("all_to_all", (), n, blocks)


def scan(n: int) -> Collective:
    block = Block(_symbols(0, n), tuple(Want(r, (r,), tuple(range(r + 1))) for r in range(n)))
    return Collective("scan", ("sum",), n, (block,))


def shift(n: int) -> Collective:
    blocks = tuple(
        Block((Symbol((b,), b),), (Want((b + 1) % n, ((b + 1) % n,), (0,)),)) for b in range(n)
    )
    return Collective("shift", (), n, blocks)


COLLECTIVES: dict[str, Callable[[int], Collective]] = {
    "all_reduce": all_reduce, "reduce": reduce, "all_gather": all_gather,
    "reduce_scatter": reduce_scatter, "broadcast": broadcast, "gather": gather,
    "scatter": scatter, "all_to_all": all_to_all, "scan": scan, "shift": shift,
}  # fmt: skip


def problem(collective: Collective, operator: Operator | None = SUM) -> Problem:
    return Problem(complete(collective.ranks), collective, operator)


class Builder:
    """Collects sends; ``finish`` sorts them by step and lets the schedule checker judge."""

    def __init__(self, problem: Problem, chunks: int) -> None:
        self.problem, self.chunks = problem, chunks
        self.links = {(link.src, link.dst): i for i, link in enumerate(problem.topology.links)}
        self.sends: list[Send] = []
        self.results: list[Result] = []

    def send(self, step: int, chunk: int, src: int, dst: int, parts: Iterable[Part]) -> Got:
        route = (self.links[src, dst],)
        self.sends.append(Send(step, chunk, src, dst, route, tuple(parts)))
        return Got(len(self.sends) - 1)

    def result(self, chunk: int, want: int, parts: Iterable[Part]) -> None:
        self.results.append(Result(chunk, want, tuple(parts)))

    def finish(self) -> Schedule:
        order = sorted(range(len(self.sends)), key=lambda i: self.sends[i].step)
        number = {old: new for new, old in enumerate(order)}

        def moved(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(Got(number[p.send]) if isinstance(p, Got) else p for p in parts)

        sends = tuple(
            Send(s.step, s.chunk, s.src, s.dst, s.route, moved(s.parts))
            for s in (self.sends[i] for i in order)
        )
        results = tuple(Result(r.chunk, r.want, moved(r.parts)) for r in self.results)
        steps = 1 + max((send.step for send in sends), default=-1)
        schedule = Schedule(self.problem, self.chunks, steps, sends, results)
        if len(self.links) < 200:  # The judge weighs every link in every step.
            check(schedule)
        return schedule


def ring_all_reduce(n: int, chunks: int | None = None, operator: Operator = SUM) -> Schedule:
    """Reduce-scatter, then all-gather, around a ring."""
    chunks = n if chunks is None else chunks
    b = Builder(problem(all_reduce(n), operator), chunks)
    for c in range(chunks):
        start = c % n
        parts: tuple[Part, ...] = (Own(start),)
        for step in range(n - 1):
            src, dst = (start + step) % n, (start + step + 1) % n
            parts = (b.send(step, c, src, dst, parts), Own(dst))
        owner = (start + n - 1) % n
        b.result(c, owner, parts)
        for step in range(n - 1):
            src, dst = (owner + step) % n, (owner + step + 1) % n
            parts = (b.send(n - 1 + step, c, src, dst, parts),)
            b.result(c, dst, parts)
    return b.finish()


def two_shot_all_reduce(n: int, chunks: int | None = None, operator: Operator = SUM) -> Schedule:
    """Everyone sends to the owner of a chunk, which sends the result to everyone."""
    chunks = n if chunks is None else chunks
    b = Builder(problem(all_reduce(n), operator), chunks)
    for c in range(chunks):
        owner = c % n
        got = {r: b.send(0, c, r, owner, (Own(r),)) for r in range(n) if r != owner}
        parts = tuple(got.get(r, Own(r)) for r in range(n))
        for r in range(n):
            if r != owner:
                b.result(c, r, (b.send(1, c, owner, r, parts),))
        b.result(c, owner, parts)
    return b.finish()


def one_shot_all_reduce(n: int, chunks: int = 1, operator: Operator = SUM) -> Schedule:
    """Everyone sends to everyone; all merge in the order of ranks."""
    b = Builder(problem(all_reduce(n), operator), chunks)
    for c in range(chunks):
        for dst in range(n):
            b.result(
                c,
                dst,
                [Own(r) if r == dst else b.send(0, c, r, dst, (Own(r),)) for r in range(n)],
            )
    return b.finish()


def doubling_all_reduce(n: int, chunks: int = 1, operator: Operator = SUM) -> Schedule:
    """Recursive doubling with kept parts; ``n`` a power of two."""
    b = Builder(problem(all_reduce(n), operator), chunks)
    for c in range(chunks):
        parts: list[tuple[Part, ...]] = [(Own(r),) for r in range(n)]
        step, distance = 0, 1
        while distance < n:
            got = [b.send(step, c, r ^ distance, r, parts[r ^ distance]) for r in range(n)]
            parts = [
                (*parts[r], got[r]) if r & distance == 0 else (got[r], *parts[r]) for r in range(n)
            ]
            step, distance = step + 1, distance * 2
        for r in range(n):
            b.result(c, r, parts[r])
    return b.finish()


def random_schedule(
    collective: Collective, operator: Operator | None, chunks: int, seed: int
) -> Schedule:
    """Gossip at random, then send directly what is still missing for each result.

    Ranks keep partial results apart, use what they got several times, and merge in any order the
    operator allows.
    """
    rng = random.Random(seed)
    b = Builder(problem(collective, operator), chunks)
    ordered = operator is None or not operator.commutative
    steps = rng.randrange(4)
    for number in range(len(collective.blocks) * chunks):
        block = collective.blocks[number // chunks]
        held: dict[int, list[tuple[tuple[int, ...], Part]]] = {
            r: [((s,), Own(s)) for s, x in enumerate(block.symbols) if x.rank == r]
            for r in range(collective.ranks)
        }
        wanted = [want.symbols for want in block.wants]

        def pick(
            rank: int, held: dict[int, list[tuple[tuple[int, ...], Part]]] = held
        ) -> list[tuple[tuple[int, ...], Part]]:
            items = held[rank][:]
            rng.shuffle(items)
            chosen: list[tuple[tuple[int, ...], Part]] = []
            for item in items[: rng.randint(1, 3)]:
                taken = [s for content, _ in chosen for s in content]
                if operator is None and chosen:
                    break
                if ordered and taken and item[0][0] != taken[-1] + 1:
                    continue
                overlaps = set(taken) & set(item[0])
                if overlaps and (ordered or operator is None or not operator.idempotent):
                    continue
                chosen.append(item)
            return chosen

        for step in range(steps):
            arrived: list[tuple[int, tuple[tuple[int, ...], Part]]] = []
            for _ in range(rng.randrange(collective.ranks + 1)):
                if collective.ranks < 2:
                    break
                src, dst = rng.sample(range(collective.ranks), 2)
                if not held[src]:
                    continue
                chosen = pick(src)
                content = tuple(s for symbols, _ in chosen for s in symbols)
                got = b.send(step, number, src, dst, [part for _, part in chosen])
                arrived.append((dst, (content, got)))
            for dst, item in arrived:
                held[dst].append(item)
        for w, symbols in enumerate(wanted):
            rank = block.wants[w].rank
            items = held[rank][:]
            rng.shuffle(items)
            parts = _in_order(items, symbols) if ordered else _disjoint(items, symbols)
            full: list[Part] = []
            for part in parts:
                if isinstance(part, int):  # A symbol that is missing.
                    holder = block.symbols[part].rank
                    step = rng.randint(0, steps)
                    full.append(b.send(step, number, holder, rank, (Own(part),)))
                else:
                    full.append(part)
            if not ordered:
                rng.shuffle(full)
            b.result(number, w, full)
    return b.finish()


Items = list[tuple[tuple[int, ...], Part]]


def _disjoint(items: Items, symbols: tuple[int, ...]) -> list[Part | int]:
    left, parts = set(symbols), list[Part | int]()
    for content, part in items:
        if set(content) <= left:
            left -= set(content)
            parts.append(part)
    return parts + sorted(left)


def _in_order(items: Items, symbols: tuple[int, ...]) -> list[Part | int]:
    parts, at = list[Part | int](), 0
    while at < len(symbols):
        for content, part in items:
            if content == symbols[at : at + len(content)]:
                parts.append(part)
                at += len(content)
                break
        else:
            parts.append(symbols[at])
            at += 1
    return parts
