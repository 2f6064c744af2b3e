"""Filled buffers, and the right results of a collective, straight from its wants."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Merge, Operand
from roundelay.codegen.program import chunk_range
from roundelay.dsl.model import Apply, Count, Made, Number, Variable
from roundelay.runtime.buffers import allocate, overlay

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Fused, Tree
    from roundelay.dsl.model import Body, Expression, Operator, Problem
    from roundelay.runtime.executor import Array, Executor


def draw(element: Element, count: int, seed: int) -> Array:
    """Random values: all integers, or floats of both signs and of many magnitudes."""
    if element.fields:
        made = np.zeros(count, element.dtype)
        for number, field in enumerate(element.fields):
            part = draw(ELEMENTS[field.element], count * field.length, seed * 100 + number)
            made[field.name] = part.reshape(made[field.name].shape)
        return made
    random = np.random.default_rng(seed)
    if element.exact:
        limits = np.iinfo(element.dtype.name)
        values: Array = random.integers(
            limits.min, limits.max, count, dtype=element.dtype, endpoint=True
        )
        return values
    # Within 2**±3, so that products of a few stay finite in 16 bits.
    wide = random.uniform(1, 2, count) * 2.0 ** random.integers(-3, 3, count)
    floats: Array = (wide * random.choice([-1, 1], count)).astype(element.dtype)
    return floats


def inputs_of(problem: Problem, element: Element, count: int, seed: int = 0) -> list[Array]:
    collective = problem.collective
    return [
        draw(element, count * len(collective.inputs(rank)), seed * 1000 + rank)
        for rank in range(collective.ranks)
    ]


def run(
    executor: Executor, problem: Problem, element: Element, count: int, given: list[Array]
) -> list[Array]:
    """Outputs of one call out of place; inputs must come out as they went in."""
    inputs, outputs = allocate(problem.collective, element, count)
    for array, value in zip(inputs, given, strict=True):
        array[:] = value
    for array in outputs:
        array.view(np.uint8)[:] = 0xA5
    launch = executor.bind(inputs, outputs)
    launch.load()
    launch()
    launch.wait()
    launch.store()
    for array, value in zip(inputs, given, strict=True):
        assert array.tobytes() == value.tobytes()
    return [array.copy() for array in outputs]


def run_in_place(
    executor: Executor, problem: Problem, element: Element, count: int, given: list[Array]
) -> list[Array] | None:
    """Outputs of one call in place; None where there is no such layout."""
    placed = overlay(problem.collective, element, count)
    if placed is None:
        return None
    for array, value in zip(placed[0], given, strict=True):
        array[:] = value
    launch = executor.bind(*placed)
    launch.load()
    launch()
    launch.wait()
    launch.store()
    return [array.copy() for array in placed[1]]


def expected(problem: Problem, element: Element, given: list[Array], count: int) -> list[Array]:
    """Every want folded in the order of its symbols: exact for integers and selections."""
    collective = problem.collective
    position = {
        held: (rank, unit)
        for rank in range(collective.ranks)
        for unit, held in enumerate(collective.inputs(rank))
    }
    outputs = []
    for rank in range(collective.ranks):
        made = np.zeros(count * len(collective.outputs(rank)), element.dtype)
        for unit, (block, want) in enumerate(collective.outputs(rank)):
            terms = []
            for symbol in collective.blocks[block].wants[want].symbols:
                holder, at = position[block, symbol]
                terms.append(given[holder][at * count : (at + 1) * count])
            value = _whole(problem.operator, element, _chain(len(terms)), terms, len(terms))
            made[unit * count : (unit + 1) * count] = value
        outputs.append(made)
    return outputs


def evaluate(fused: Fused, element: Element, given: list[Array], count: int) -> list[Array]:
    """The fused program's trees in NumPy, merged as they stand and rounded once."""
    collective = fused.problem.collective
    outputs = [
        np.zeros(count * len(collective.outputs(rank)), element.dtype)
        for rank in range(collective.ranks)
    ]
    for shape in fused.shapes:
        for row in shape.rows:
            align = element.align
            low, high = chunk_range(count, fused.chunks, row.chunk, align)
            terms = [
                given[place.rank][place.unit * count + low : place.unit * count + high]
                for place in row.sources
            ]
            operator = fused.problem.operator
            value = _whole(operator, element, shape.tree, terms, shape.count)
            for place in row.targets:
                outputs[place.rank][place.unit * count + low : place.unit * count + high] = value
    return outputs


def _chain(count: int) -> Tree:
    tree: Tree = Operand(0)
    for index in range(1, count):
        tree = Merge(tree, Operand(index))
    return tree


def _whole(
    operator: Operator | None, element: Element, tree: Tree, terms: list[Array], count: int
) -> Array:
    """Prepared, merged as the tree says, finished, and rounded to the element."""
    if operator is None or (len(terms) == 1 and not operator.prepare and not operator.finish):
        return terms[0]
    if operator.prepare:
        terms = [compute(operator.prepare, element, [term]) for term in terms]
    value = _fold(tree, operator, element, terms)
    if operator.finish:
        value = compute(operator.finish, element, [value], count)
    with np.errstate(all="ignore"):
        return value.astype(element.dtype)


def _fold(tree: Tree, operator: Operator, element: Element, terms: list[Array]) -> Array:
    if isinstance(tree, Operand):
        return terms[tree.index]
    left = _fold(tree.left, operator, element, terms)
    return compute(operator.body, element, [left, _fold(tree.right, operator, element, terms)])


def compute(body: Body, element: Element, values: list[Array], count: int = 0) -> Array:
    """A body by NumPy's own functions (its minimum propagates NaN as ours does).

    Numbers and truth values take the type of what they meet, as Python's own numbers would.
    """
    with np.errstate(all="ignore"):
        if not element.fields:
            kind = ELEMENTS[element.accumulate].dtype
            columns = [[value.astype(kind)] for value in values]
            scalar = _typed([_value(body[0].value, columns, {}, count)], kind)[0]
            return np.broadcast_to(scalar, values[0].shape)
        columns = [
            [
                _column(value, n, element).astype(_kind(n, element))
                for n in range(len(element.fields))
            ]
            for value in values
        ]
        made: dict[int, Array] = {}
        result = np.zeros(len(values[0]), element.dtype)
        for assignment in body:
            n = assignment.field
            value = _typed([_value(assignment.value, columns, made, count)], _kind(n, element))[0]
            into = _column(result, n, element)
            into[:] = value.astype(into.dtype)
            made[n] = into.astype(_kind(n, element))
        return result


def _kind(field: int, element: Element) -> np.dtype[Any]:
    return ELEMENTS[ELEMENTS[element.fields[field].element].accumulate].dtype


def _column(records: Array, field: int, element: Element) -> Array:
    part: Array = records[element.fields[field].name]
    return part if part.ndim == 2 else part[:, None]


Untyped = Fraction | int
Some = Any  # An array, or an ``Untyped`` number; arrays of bool have no type of their own either.


def _typed(parts: list[Some], kind: np.dtype[Any]) -> list[Array]:
    """All parts in the one type that some of them have, or else in ``kind``."""
    kinds = {part.dtype for part in parts if isinstance(part, np.ndarray) and part.dtype != bool}
    assert len(kinds) < 2
    kind = kinds.pop() if kinds else kind
    return [
        part.astype(kind)
        if isinstance(part, np.ndarray)
        else np.array(int(part) if kind.kind in "iu" else float(part)).astype(kind)
        for part in parts
    ]


def _value(
    expression: Expression, values: list[list[Array]], made: dict[int, Array], count: int
) -> Some:
    match expression:
        case Variable(index, field):
            return values[index][field]
        case Made(field):
            return made[field]
        case Number(number):
            return number
        case Count():
            return count
        case Apply(function, arguments):
            parts = [_value(argument, values, made, count) for argument in arguments]
            return _call(function, parts)


def _call(function: str, parts: list[Some]) -> Some:
    truths = [part != 0 for part in parts]
    match function:
        case "where":
            return np.where(truths[0], *_typed(parts[1:], np.dtype(np.float64)))
        case "and" | "or":
            return truths[0] & truths[1] if function == "and" else truths[0] | truths[1]
        case "not":
            return ~truths[0]
        case _:
            pass
    typed = _typed(parts, np.dtype(np.float64))
    a, b = typed[0], typed[-1]
    if function in ("shl", "shr"):
        return _shift(function, a, b)
    if function == "div" and a.dtype.kind in "iu":
        whole = [abs(int(x)) // abs(int(y)) * (-1 if (x < 0) != (y < 0) else 1) if y else 0
                 for x, y in np.broadcast(a, b)]  # fmt: skip
        return _wrap(whole, a, b)
    return _FUNCTIONS[function](*typed)


_FUNCTIONS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "abs": np.absolute, "min": np.minimum, "max": np.maximum,
    "exp": np.exp, "log": np.log, "logaddexp": np.logaddexp, "sqrt": np.sqrt,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal, "band": np.bitwise_and, "bor": np.bitwise_or,
    "bxor": np.bitwise_xor, "inv": np.invert,
}  # fmt: skip


def _shift(function: str, a: Array, b: Array) -> Array:
    """By Python's own integers, one value at a time."""
    bits = a.dtype.itemsize * 8
    made = []
    for x, y in np.broadcast(a, b):
        amount = int(y) if 0 <= y < bits else bits
        made.append(int(x) << amount if function == "shl" else int(x) >> amount)
    return _wrap(made, a, b)


def _wrap(numbers: list[int], a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    unsigned = np.array([number % (1 << bits) for number in numbers], f"u{bits // 8}")
    return unsigned.view(a.dtype).reshape(np.broadcast(a, b).shape)
