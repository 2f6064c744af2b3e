"""Filled buffers, and the right results of a collective, straight from its wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.program import chunk_range
from roundelay.dsl.model import Apply, Number, Variable
from roundelay.runtime.buffers import allocate, overlay

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Fused, Tree
    from roundelay.dsl.model import Expression, Operator, Problem
    from roundelay.runtime.executor import Array, Executor


def draw(element: Element, count: int, seed: int) -> Array:
    """Random values: all integers, or floats of both signs and of many magnitudes."""
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
            value = terms[0]
            for term in terms[1:]:
                value = combine(problem.operator, value, term)
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
    kind = ELEMENTS[element.accumulate].dtype
    for shape in fused.shapes:
        for row in shape.rows:
            align = element.align
            low, high = chunk_range(count, fused.chunks, row.chunk, align)
            terms = [
                given[place.rank][place.unit * count + low : place.unit * count + high]
                for place in row.sources
            ]
            if len(terms) > 1:
                wide = [term.astype(kind) for term in terms]
                value = _fold(shape.tree, fused.problem.operator, wide).astype(element.dtype)
            else:
                value = terms[0]
            for place in row.targets:
                outputs[place.rank][place.unit * count + low : place.unit * count + high] = value
    return outputs


def _fold(tree: Tree, operator: Operator | None, terms: list[Array]) -> Array:
    from roundelay.codegen.fused import Operand

    if isinstance(tree, Operand):
        return terms[tree.index]
    return combine(operator, _fold(tree.left, operator, terms), _fold(tree.right, operator, terms))


def combine(operator: Operator | None, x: Array, y: Array) -> Array:
    """One merge, by NumPy's own functions (its minimum propagates NaN as ours does)."""
    assert operator is not None
    with np.errstate(all="ignore"):
        return _value(operator.body, x, y)


def _value(expression: Expression, x: Array, y: Array) -> Array:
    match expression:
        case Variable(index):
            return (x, y)[index]
        case Number(value):
            return np.full_like(x, float(value))
        case Apply(function, arguments):
            parts = [_value(argument, x, y) for argument in arguments]
            names = {
                "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
                "neg": np.negative, "abs": np.absolute, "min": np.minimum, "max": np.maximum,
            }  # fmt: skip
            result: Array = names[function](*parts)
            return result
