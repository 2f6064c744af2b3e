"""Fused programs for tests of GPU text, values to run them on, and what may differ.

Operators and programs of all kinds stand in one file, though a long one.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from roundelay.codegen.elements import ELEMENTS, struct_element
from roundelay.codegen.fused import Fused, Merge, Operand, Place, Row, Shape
from roundelay.codegen.program import Program, RankProgram
from roundelay.dsl.model import (
    Apply,
    Assignment,
    Block,
    Collective,
    Count,
    Field,
    Made,
    Number,
    Operator,
    Problem,
    Rank,
    Struct,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from tests.arrays import fields_of
from tests.schedules import SUM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Tree
    from roundelay.dsl.model import Expression, Function

A, B = Variable(0), Variable(1)
ZERO, ONE, TWO = (Number(Fraction(n)) for n in range(3))
HALF = Number(Fraction(1, 2))
AVG = Operator(
    "avg", SUM.body, commutative=True, finish=scalar_body(Apply("div", (Variable(0), Count())))
)
PREMULSUM = Operator(
    "premulsum", SUM.body, commutative=True, prepare=scalar_body(Apply("mul", (A, HALF))),
    arguments=(Fraction(1, 2),),
)  # fmt: skip
SHIFTED = Operator(
    "shifted",
    SUM.body,
    prepare=scalar_body(Apply("sub", (A, TWO))),
    finish=scalar_body(Apply("add", (A, Apply("mul", (Count(), TWO))))),
)

_ANY: tuple[Function, ...] = ("add", "sub", "mul", "neg", "min", "max", "abs")
_TRUTH: tuple[Function, ...] = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")
EXACT: dict[bool, tuple[Function, ...]] = {
    False: (*_ANY, *_TRUTH, "where", "div", "sqrt"),
    True: (*_ANY, *_TRUTH, "where", "band", "bor", "bxor", "inv", "shl", "shr"),
}
"""Functions whose results are the same bits everywhere, on floats and (True) on integers."""

_ARITY = dict.fromkeys(("neg", "abs", "exp", "log", "sqrt", "not", "inv"), 1) | {"where": 3}


def apply_one(function: Function) -> Operator:
    """An operator that is one function; ``where`` chooses by which of two sums is larger."""
    condition = Apply("gt", (Apply("add", (A, B)), Apply("mul", (A, B))))
    arguments = {1: (A,), 2: (A, B), 3: (condition, B, A)}[_ARITY.get(function, 2)]
    return Operator(function, scalar_body(Apply(function, arguments)))


def add_up(functions: Sequence[Function]) -> Operator:
    """An operator that is the sum of many functions, one call within the other."""
    first, *rest = (apply_one(function).scalar for function in functions)
    for value in rest:
        first = Apply("add", (value, first))
    return Operator("many", scalar_body(first))


def bare_numbers() -> Operator:
    """Conditions and numbers that take their type of what stands beside them, or of nothing."""
    less = Apply("lt", (A, B))
    count = Apply("add", (less, Apply("add", (Apply("not", (A,)), Apply("eq", (ONE, TWO))))))
    chosen = Apply(
        "where", (Apply("and", (A, Apply("or", (less, ZERO)))), count, Apply("ne", (A, B)))
    )
    return Operator("bare", scalar_body(Apply("sub", (chosen, Apply("mul", (B, less))))))


def make_struct(
    name: str, fields: Sequence[tuple[str, int] | str], *values: Expression, **more: Any
) -> Operator:
    """An operator on a struct, its fields made in their order unless ``order`` says another."""
    order = more.pop("order", range(len(values)))
    parts = tuple(
        Field(f"field_{n}", *((field,) if isinstance(field, str) else (*field, True)))
        for n, field in enumerate(fields)
    )
    body = tuple(Assignment(n, value) for n, value in zip(order, values, strict=True))
    return Operator(name, body, struct=Struct(name, parts), **more)


def _scaled(index: int) -> Expression:
    weight = Apply("exp", (Apply("sub", (Variable(index, 1), Made(1))),))
    return Apply("mul", (Variable(index, 0), weight))


def attention(length: int = 64, element: str = "f32") -> Operator:
    """Partial results of attention: out, and the logarithm of the sum of its weights."""
    return make_struct(
        "attention",
        ((element, length), element),
        Apply("logaddexp", (Variable(0, 1), Variable(1, 1))),
        Apply("add", (_scaled(0), _scaled(1))),
        order=(1, 0),
    )


def _entry(row: int, column: int) -> Expression:
    first, second = (
        Apply("mul", (Variable(0, 2 * row + k), Variable(1, 2 * k + column))) for k in range(2)
    )
    return Apply("add", (first, second))


def matrix(element: str = "f32") -> Operator:
    """The product of 2x2 matrices: not commutative; no result may replace what it is made of."""
    entries = [_entry(row, column) for row in range(2) for column in range(2)]
    return make_struct("matrix", (element,) * 4, *entries)


def argmax() -> Operator:
    """The larger value with its index: fields of two types."""
    larger = Apply("ge", (Variable(0, 0), Variable(1, 0)))
    values = (Apply("where", (larger, Variable(0, n), Variable(1, n))) for n in range(2))
    return make_struct("argmax", ("f32", "i32"), *values)


def odd(last: str = "f32") -> Operator:
    """A byte before a wider field, which is misaligned for it; finished and prepared."""
    sums = [Apply("add", (Variable(0, n), Variable(1, n))) for n in range(2)]
    return make_struct(
        "odd",
        ("u8", last),
        *sums,
        prepare=(Assignment(0, Apply("add", (A, ONE))), Assignment(1, Variable(0, 1))),
        finish=(
            Assignment(1, Apply("mul", (Variable(0, 1), Count()))),
            Assignment(0, Apply("div", (A, TWO))),
        ),
    )


def halves() -> Operator:
    """Vectors of several types, rounded to 16 bits at every merge; what is made is used again."""
    scaled = Apply("mul", (Variable(0, 0), Made(2)))
    return make_struct(
        "halves",
        (("f16", 3), ("bf16", 3), "f16", ("i8", 20)),
        Apply("add", (Variable(0, 2), Apply("mul", (Variable(1, 2), HALF)))),
        Apply("add", (scaled, Variable(1, 0))),
        Apply("max", (Apply("add", (Variable(0, 1), Variable(1, 1))), Variable(0, 1))),
        Apply("sub", (Variable(0, 3), Variable(1, 3))),
        order=(2, 0, 1, 3),
    )


def element_of(operator: Operator) -> Element:
    """The element of a struct's operator."""
    assert operator.struct is not None
    return struct_element(operator.struct)


def every_function(*, divides: bool) -> Operator:
    """An operator that uses all functions and a constant; the product invites contraction."""
    three = Number(Fraction(3))
    product = Apply("add", (Apply("mul", (A, B)), Apply("neg", (A,))))
    limits = Apply("max", (Apply("min", (A, B)), Apply("sub", (Apply("abs", (A,)), B))))
    body = Apply("add", (product, Apply("mul", (limits, three))))
    return Operator("all", scalar_body(Apply("div", (body, three)) if divides else body))


def count_for(operator: Operator | None, symbols: int) -> int:
    """What ``Shape.count`` is of a result of so many symbols."""
    return symbols if operator is not None and operator.finish is not None else 0


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
    return Fused(problem, chunks, (Shape(tree, ranks, ranks, rows, count_for(operator, ranks)),))


def gather_all(ranks: int, chunks: int = 1, operator: Operator | None = None) -> Fused:
    """An all-gather: copies alone, and outputs of several units."""
    indices = range(ranks)
    blocks = tuple(
        Block((Symbol((i,), i),), tuple(Want(r, (r, i), (0,)) for r in indices)) for i in indices
    )
    problem = Problem(
        _machine("ring", ranks), Collective("all_gather", (), ranks, blocks), operator
    )
    rows = tuple(
        Row(c, (Place(i, 0),), tuple(Place(r, i) for r in indices))
        for i in indices
        for c in range(chunks)
    )
    return Fused(problem, chunks, (Shape(Operand(0), 1, ranks, rows, count_for(operator, 1)),))


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
    shapes = tuple(
        Shape(*key, tuple(found), count_for(operator, key[1] + 1)) for key, found in rows.items()
    )
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


def fill_randomly(
    element: Element, arrays: Sequence[Any], seed: int, *, mild: bool = False
) -> None:
    """Moderate values, any bits (NaN, infinities, subnormals), and zeros of either sign.

    ``mild``: moderate values alone. Records are filled field by field.
    """
    rng = np.random.default_rng(seed)
    for array in arrays:
        if element.fields:
            for field in element.fields:
                kind = ELEMENTS[field.element]
                part = np.zeros(array[field.name].size, kind.dtype)
                _fill(kind, part, rng, mild=mild)
                array[field.name] = part.reshape(array[field.name].shape)
        else:
            _fill(element, array, rng, mild=mild)


def _fill(element: Element, array: Any, rng: Any, *, mild: bool) -> None:
    bits = rng.integers(0, 256, array.nbytes, np.uint8).view(element.dtype)
    some = rng.integers(0, 100, array.size) - (0 if element.dtype.kind == "u" else 50)
    moderate = some.astype(element.dtype)
    if not element.exact:
        moderate = (some * rng.random(array.size)).astype(element.dtype)
    zero = np.where(rng.random(array.size) < 0.5, 0.0, -0.0).astype(element.dtype)
    which = rng.integers(0, 3, array.size)
    for number, values in enumerate((moderate if mild else bits, moderate, zero)):
        array[which == number] = values[which == number]


def find_difference(
    element: Element, got: Sequence[Any], wanted: Sequence[Any], close: float = 0
) -> str:
    """Where two sets of arrays differ, bit for bit save that any NaN is as good as another.

    ``close`` allows floats so many epsilons of the larger one's size, or of 1.
    """
    for rank, (one, other) in enumerate(zip(got, wanted, strict=True)):
        for field in fields_of(element):
            kind = ELEMENTS[field.element]
            a, b = (
                np.ascontiguousarray(array[field.name] if element.fields else array).reshape(-1)
                for array in (one, other)
            )
            differ = _differ(kind, a, b, 0 if kind.exact else close)
            if differ.any():
                first = int(np.argmax(differ))
                where = f"rank {rank} field {field.name!r} value {first}"
                return f"{where}: got {a[first]}, wanted {b[first]}"
    return ""


def _differ(kind: Element, a: Any, b: Any, close: float) -> Any:
    with np.errstate(all="ignore"):
        nan = (a != a) & (b != b)
        unsigned = np.dtype(f"u{kind.bytes}")
        differ = (a.view(unsigned) != b.view(unsigned)) & ~nan
        if close:
            x, y = a.astype(np.float64), b.astype(np.float64)
            size = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)
            near = np.abs(x - y) <= close * float(ml_dtypes.finfo(kind.dtype).eps) * size
            differ &= ~(near & np.isfinite(x) & np.isfinite(y)) & (x != y)
    return differ
