"""Filled buffers, and the right results of a collective: straight from its wants, or from the trees
of a fused program.

Bodies of operators are evaluated here in NumPy, which shares nothing with the tool's own ways.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Merge, Operand
from roundelay.codegen.program import chunk_range
from roundelay.dsl.model import Apply, Count, Field, Made, Number, Variable
from roundelay.runtime.buffers import allocate, overlay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Fused, Tree
    from roundelay.dsl.model import Body, Expression, Function, Operator, Problem
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


def evaluate(fused: Fused, element: Element, given: Sequence[Array], count: int) -> list[Array]:
    """The fused program's trees in NumPy, merged as they stand and rounded once."""
    collective = fused.problem.collective
    outputs = [
        np.zeros(count * len(collective.outputs(rank)), element.dtype)
        for rank in range(collective.ranks)
    ]
    for shape in fused.shapes:
        for row in shape.rows:
            low, high = chunk_range(count, fused.chunks, row.chunk, element.align)
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
    touched = operator is not None and (operator.prepare or operator.finish)
    if operator is None or (isinstance(tree, Operand) and not touched):
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


# --------------------------------------------------------------------------------- bodies

Columns = list[Any]
"""The fields of values, each of shape (values, length); plain numbers are one field."""


def compute(body: Body, element: Element, values: list[Array], count: int = 0) -> Array:
    """A body on values: plain numbers in the type they are combined in, records rounded field by
    field. Numbers and truth values take the type of what they meet.
    """
    with np.errstate(all="ignore"):
        columns = [_split(element, value) for value in values]
        made: dict[int, Any] = {}
        for assignment in body:
            field = fields_of(element)[assignment.field]
            kind = _kinds(element)[assignment.field]
            value = _typed(_evaluate(assignment.value, columns, made, count, kind), kind)
            value = np.broadcast_to(value, (len(values[0]), field.length))
            if element.fields:
                value = value.astype(ELEMENTS[field.element].dtype).astype(kind)
            made[assignment.field] = value
        return _join(element, made)


def fields_of(element: Element) -> tuple[Field, ...]:
    """The fields of a struct; a plain number is one of its own."""
    return element.fields or (Field("", element.name),)


def _kinds(element: Element) -> list[Any]:
    return [ELEMENTS[ELEMENTS[field.element].accumulate].dtype for field in fields_of(element)]


def _split(element: Element, array: Array) -> Columns:
    parts = [array[field.name] if element.fields else array for field in fields_of(element)]
    sized = zip(parts, fields_of(element), _kinds(element), strict=True)
    return [part.reshape(len(array), field.length).astype(kind) for part, field, kind in sized]


def _join(element: Element, columns: dict[int, Any]) -> Array:
    if not element.fields:
        plain: Array = columns[0][:, 0]
        return plain
    array = np.zeros(len(columns[0]), element.dtype)
    for number, field in enumerate(element.fields):
        array[field.name] = columns[number] if field.vector else columns[number][:, 0]
    return array


def _typed(value: Any, kind: Any) -> Any:
    """A value in a type, where it has none of its own: numbers and the results of conditions."""
    if isinstance(value, Fraction):
        exact = kind.kind in "iu"
        return np.array([[int(value) if exact else float(value)]]).astype(kind)
    return value.astype(kind) if value.dtype == bool else value


def _evaluate(
    body: Expression, values: list[Columns], made: dict[int, Any], count: int, kind: Any
) -> Any:
    match body:
        case Variable(index, field):
            return values[index][field]
        case Made(field):
            return made[field]
        case Number(value):
            return value
        case Count():
            return Fraction(count)
        case Apply(function, arguments):
            parts = [_evaluate(part, values, made, count, kind) for part in arguments]
    if function == "where":
        condition, *parts = parts
    own = [part.dtype for part in parts if isinstance(part, np.ndarray) and part.dtype != bool]
    assert function in ("and", "or", "not") or len(set(own)) <= 1
    if function in ("and", "or", "not"):
        parts = [_typed(part, kind) != 0 for part in parts]
    else:
        parts = [_typed(part, own[0] if own else kind) for part in parts]
    if function == "where":
        return np.where(_typed(condition, kind) != 0, *parts)
    return _apply(function, *parts)


def _apply(function: Function, x: Any, y: Any = None) -> Any:
    match function:
        case "min":
            return np.where((x <= y) | (x != x), x, y)
        case "max":
            return np.where((x >= y) | (x != x), x, y)
        case "div" if x.dtype.kind in "iu":
            return _wrap(lambda a, b: int(Fraction(a, b)) if b else 0, x, y)
        case "shl":
            bits = 8 * x.itemsize
            return _wrap(lambda a, b: a << b if 0 <= b < bits else 0, x, y)
        case "shr":
            bits = 8 * x.itemsize
            return _wrap(lambda a, b: a >> (b if 0 <= b < bits else bits), x, y)
        case _:
            return _NUMPY[function](x) if y is None else _NUMPY[function](x, y)


_NUMPY: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "abs": np.abs, "exp": np.exp, "log": np.log, "logaddexp": np.logaddexp, "sqrt": np.sqrt,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not, "band": np.bitwise_and, "bor": np.bitwise_or,
    "bxor": np.bitwise_xor, "inv": np.invert,
}  # fmt: skip


def _wrap(function: Any, x: Any, y: Any) -> Any:
    """A function of Python's integers on arrays, modulo their range."""
    x, y = np.broadcast_arrays(x, y)
    mask = (1 << 8 * x.itemsize) - 1
    found = [
        function(a, b) & mask for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    ]
    return np.array(found, f"u{x.itemsize}").view(x.dtype).reshape(x.shape)
