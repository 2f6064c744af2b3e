"""Fused programs for tests of GPU text, and what NumPy says they compute."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Fused, Merge, Operand, Place, Row, Shape
from roundelay.codegen.program import Program, RankProgram, chunk_range
from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Number,
    Operator,
    Problem,
    Rank,
    Symbol,
    Topology,
    Variable,
    Want,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Tree
    from roundelay.dsl.model import Expression

A, B = Variable(0), Variable(1)
SUM = Operator("sum", Apply("add", (A, B)), commutative=True)
PROD = Operator("prod", Apply("mul", (A, B)), commutative=True)
MIN = Operator("min", Apply("min", (A, B)), commutative=True, idempotent=True)
MAX = Operator("max", Apply("max", (A, B)), commutative=True, idempotent=True)


def every_function(*, divides: bool) -> Operator:
    """An operator that uses all functions and a constant; the product invites contraction."""
    three = Number(Fraction(3))
    product = Apply("add", (Apply("mul", (A, B)), Apply("neg", (A,))))
    limits = Apply("max", (Apply("min", (A, B)), Apply("sub", (Apply("abs", (A,)), B))))
    body = Apply("add", (product, Apply("mul", (limits, three))))
    return Operator("all", Apply("div", (body, three)) if divides else body)


def reduce_all(ranks: int, operator: Operator, chunks: int = 1, machine: str = "ring") -> Fused:
    """An all-reduce; chunk c adds up from rank c on, left to right."""
    indices = range(ranks)
    symbols = tuple(Symbol((i,), i) for i in indices)
    wants = tuple(Want(i, (i,), tuple(indices)) for i in indices)
    collective = Collective("all_reduce", (operator.name,), ranks, (Block(symbols, wants),))
    tree: Tree = Operand(0)
    for i in indices[1:]:
        tree = Merge(tree, Operand(i))
    targets = tuple(Place(i, 0) for i in indices)
    rows = tuple(
        Row(c, tuple(Place((i + c) % ranks, 0) for i in indices), targets) for c in range(chunks)
    )
    problem = Problem(_machine(machine, ranks), collective, operator)
    return Fused(problem, chunks, (Shape(tree, ranks, ranks, rows),))


def gather_all(ranks: int, chunks: int = 1) -> Fused:
    """An all-gather: copies alone, and outputs of several units."""
    indices = range(ranks)
    blocks = tuple(
        Block((Symbol((i,), i),), tuple(Want(r, (r, i), (0,)) for r in indices)) for i in indices
    )
    problem = Problem(_machine("ring", ranks), Collective("all_gather", (), ranks, blocks), None)
    rows = tuple(
        Row(c, (Place(i, 0),), tuple(Place(r, i) for r in indices))
        for i in indices
        for c in range(chunks)
    )
    return Fused(problem, chunks, (Shape(Operand(0), 1, ranks, rows),))


def scatter_trees(seed: int, operator: Operator, widest: int = 20) -> Fused:
    """Random trees from random places of several units a rank to random disjoint targets.

    Always with one copy, one tree of ``widest`` operands and one that uses an operand twice.
    """
    rng = random.Random(seed)
    ranks, chunks = rng.randint(2, 4), rng.randint(1, 3)
    given, made = -(-widest // ranks), rng.randint(3, 5)
    indices = [(u, r) for u in range(made) for r in range(ranks)]
    blocks = [Block((Symbol((u, r), r),), ()) for u in range(given) for r in range(ranks)]
    blocks += [Block((), (Want(r, (u, r), ()),)) for u, r in indices]
    problem = Problem(
        _machine("random", ranks),
        Collective("scatter_trees", (), ranks, tuple(blocks)),
        operator,
    )
    sources = [Place(r, u) for r in range(ranks) for u in range(given)]
    repeated = Merge(Operand(0), Merge(Operand(1), Operand(0)))
    rows: dict[tuple[Tree, int, int], list[Row]] = {}
    for chunk in range(chunks):
        targets = [Place(r, u) for u, r in indices]
        rng.shuffle(targets)
        wanted: list[tuple[Tree, int]] = [(Operand(0), 1), (repeated, 2)]
        wanted.append((_tree(rng, list(range(widest))), widest))
        while targets:
            count = min(len(targets), rng.randint(1, 2))
            chosen = tuple(sorted(targets.pop() for _ in range(count)))
            size = rng.choice((1, 2, 3, 5))
            tree, size = wanted.pop() if wanted else (_tree(rng, list(range(size))), size)
            places = tuple(rng.sample(sources, size))
            rows.setdefault((tree, size, count), []).append(Row(chunk, places, chosen))
    shapes = tuple(Shape(*key, tuple(found)) for key, found in rows.items())
    return Fused(problem, chunks, shapes)


def _tree(rng: random.Random, operands: list[int]) -> Tree:
    if len(operands) == 1:
        return Operand(operands[0])
    cut = rng.randint(1, len(operands) - 1)
    return Merge(_tree(rng, operands[:cut]), _tree(rng, operands[cut:]))


def _machine(name: str, ranks: int) -> Topology:
    return Topology(name, tuple(Rank(f"gpu[{r}]") for r in range(ranks)), (), ())


def as_program(fused: Fused) -> Program:
    """A program with the fused one's problem; executors of GPU text read nothing else of it."""
    ranks = fused.problem.collective.ranks
    return Program(fused.problem, fused.chunks, (RankProgram(()),) * ranks, 1)


def fill_randomly(element: Element, arrays: Sequence[Any], seed: int) -> None:
    """Moderate values, any bits (NaN, infinities, subnormals), and zeros of either sign."""
    rng = np.random.default_rng(seed)
    for array in arrays:
        bits = rng.integers(0, 256, array.nbytes, np.uint8).view(element.dtype)
        some = rng.integers(0, 100, array.size) - (0 if element.dtype.kind == "u" else 50)
        mild = some.astype(element.dtype)
        if not element.exact:
            mild = (some * rng.random(array.size)).astype(element.dtype)
        zero = np.where(rng.random(array.size) < 0.5, 0.0, -0.0).astype(element.dtype)
        which = rng.integers(0, 3, array.size)
        for number, values in enumerate((bits, mild, zero)):
            array[which == number] = values[which == number]


def compute(fused: Fused, element: Element, inputs: Sequence[Any], count: int) -> list[Any]:
    """Every rank's output, by NumPy, one chunk after another."""
    collective = fused.problem.collective
    outputs = [
        np.zeros(len(collective.outputs(rank)) * count, element.dtype)
        for rank in range(collective.ranks)
    ]
    acc = ELEMENTS[element.accumulate].dtype
    align = element.align
    for shape in fused.shapes:
        for row in shape.rows:
            low, high = chunk_range(count, fused.chunks, row.chunk, align)
            operands = [
                inputs[place.rank][place.unit * count + low : place.unit * count + high]
                for place in row.sources
            ]
            with np.errstate(all="ignore"):
                if isinstance(shape.tree, Operand):
                    value = operands[0]
                else:
                    wide = [operand.astype(acc) for operand in operands]
                    value = _fold(shape.tree, fused.problem.operator, wide).astype(element.dtype)
            for place in row.targets:
                start = place.unit * count
                outputs[place.rank][start + low : start + high] = value
    return outputs


def _fold(tree: Tree, operator: Operator | None, operands: list[Any]) -> Any:
    if isinstance(tree, Operand):
        return operands[tree.index]
    assert operator is not None
    left = _fold(tree.left, operator, operands)
    return _apply(operator.body, left, _fold(tree.right, operator, operands))


def _apply(body: Expression, a: Any, b: Any) -> Any:
    match body:
        case Variable(index):
            return (a, b)[index]
        case Number(value):
            return np.full_like(a, float(value))
        case Apply(function, arguments):
            x, *rest = (_apply(part, a, b) for part in arguments)
    match function:
        case "neg":
            return -x
        case "abs":
            return np.abs(x)
        case "min":
            return np.where((x <= rest[0]) | (x != x), x, rest[0])
        case "max":
            return np.where((x >= rest[0]) | (x != x), x, rest[0])
        case "add":
            return x + rest[0]
        case "sub":
            return x - rest[0]
        case "mul":
            return x * rest[0]
        case "div":
            return x / rest[0]


def find_difference(element: Element, got: Sequence[Any], wanted: Sequence[Any]) -> str:
    """Where two sets of arrays differ, bit for bit save that any NaN is as good as another."""
    unsigned = np.dtype(f"u{element.bytes}")
    for rank, (one, other) in enumerate(zip(got, wanted, strict=True)):
        with np.errstate(invalid="ignore"):
            nan = (one != one) & (other != other)
        differ = (one.view(unsigned) != other.view(unsigned)) & ~nan
        if differ.any():
            first = int(np.argmax(differ))
            return f"rank {rank} element {first}: got {one[first]}, wanted {other[first]}"
    return ""
