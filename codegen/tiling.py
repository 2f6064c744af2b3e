"""Expressions cut into loops that read a few arrays each, so that they stay vectorised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .fused import Operand

if TYPE_CHECKING:
    from collections.abc import Callable

    from .fused import Tree

Node = str | tuple["Node", "Node"]
"""The name of an array (``a3`` an operand, ``t0`` a tile), or a merge of two nodes."""


@dataclass(frozen=True, slots=True)
class Loop:
    """``target[i] = node`` for all i of a tile; ``target`` is a tile's name."""

    target: str
    node: Node


def cut(tree: Tree, limit: int) -> tuple[tuple[Loop, ...], Node, int]:
    """Cut a tree so that no loop reads more than ``limit`` (at least 2) arrays.

    Returns the loops that come first, what is left to compute, and the number of tiles used. The
    order of merging stays that of the tree.
    """
    cutter = _Cutter(limit)
    node, _ = cutter.reduce(tree)
    return tuple(cutter.loops), node, cutter.tiles


class _Cutter:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.loops: list[Loop] = []
        self.free: list[str] = []
        self.tiles = 0

    def reduce(self, tree: Tree) -> tuple[Node, frozenset[str]]:
        """A node of at most ``limit`` arrays that stands for the tree, and these arrays."""
        if isinstance(tree, Operand):
            name = f"a{tree.index}"
            return name, frozenset({name})
        left, right = self.reduce(tree.left), self.reduce(tree.right)
        while len(left[1] | right[1]) > self.limit:
            if len(left[1]) >= len(right[1]):
                left = self._store(left)
            else:
                right = self._store(right)
        return (left[0], right[0]), left[1] | right[1]

    def _store(self, part: tuple[Node, frozenset[str]]) -> tuple[Node, frozenset[str]]:
        node, arrays = part
        # Each tile is read once, so the result may replace one that it is made of.
        self.free += sorted(name for name in arrays if name.startswith("t"))
        if not self.free:
            self.free.append(f"t{self.tiles}")
            self.tiles += 1
        target = self.free.pop()
        self.loops.append(Loop(target, node))
        return target, frozenset({target})


def spell(node: Node, load: Callable[[str], str]) -> tuple[tuple[str, ...], str]:
    """Assignments, one a merge, that compute a node, and the name of its value.

    ``load`` spells the value of an array, by its name.
    """
    lines: list[str] = []

    def visit(part: Node) -> str:
        if isinstance(part, str):
            return load(part)
        left, right = visit(part[0]), visit(part[1])
        name = f"v{len(lines)}"
        lines.append(f"{name} = op({left}, {right})")
        return name

    value = visit(node)
    return tuple(lines), value


def find_arrays(node: Node) -> tuple[str, ...]:
    """The names of the arrays that a node reads, each once, in order."""
    if isinstance(node, str):
        return (node,)
    return tuple(dict.fromkeys(find_arrays(node[0]) + find_arrays(node[1])))
