"""The fused view of a program: every wanted chunk as one expression over the initial values.

What all generated kernels are printed from. Expressions of equal shape share one body; which
places a body reads and writes is data (its rows). All ranks that want the same symbols of a
chunk take one tree, that of the lowest of these ranks, so that they get the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem


@dataclass(frozen=True, slots=True)
class Operand:
    """The value of source number ``index`` of a row."""

    index: int


@dataclass(frozen=True, slots=True)
class Merge:
    """The operator applied to two trees: op(left, right)."""

    left: Tree
    right: Tree


Tree = Operand | Merge


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A unit of a rank's input buffer (as a source) or output buffer (as a target)."""

    rank: int
    unit: int


@dataclass(frozen=True, slots=True)
class Row:
    """One chunk's use of a shape: where its operands lie and where its result goes.

    ``chunk`` is the chunk's index within its unit (0 ≤ chunk < chunks).
    """

    chunk: int
    sources: tuple[Place, ...]
    targets: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kernel body and the rows that use it; operands are numbered in the order of their
    first use, left to right, and every row has ``targets`` targets. ``count`` is the number of
    values that the operator's ``finish`` is told of; 0 where the operator has no ``finish``.
    """

    tree: Tree
    operands: int
    targets: int
    rows: tuple[Row, ...]
    count: int = 0


@dataclass(frozen=True, slots=True)
class Fused:
    """All shapes of a program. Rows are independent of each other: no row writes what another
    reads, in place too (see ``codegen.inplace``), so they may run in any order.
    """

    problem: Problem
    chunks: int
    shapes: tuple[Shape, ...]

    def moves_bits(self, shape: Shape) -> bool:
        """Whether a shape is a plain copy: one source, and nothing done to it on the way."""
        operator = self.problem.operator
        touched = operator is not None and (operator.prepare or operator.finish)
        return isinstance(shape.tree, Operand) and not touched
