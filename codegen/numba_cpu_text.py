"""The text of the processor's kernels: their loops.

Loops take their arrays as views first and run over ``range(view.size)``: a loop over a range
with a start keeps a test for negative indices at every access and is not vectorised. Many
arrays go through tiles that stay in the first-level cache, because LLVM gives up vectorising
when it would have to test too many pairs of arrays for overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .elements import ELEMENTS
from .numba_cpu_support import is_converted
from .tiling import cut, find_arrays, spell

if TYPE_CHECKING:
    from .elements import Element
    from .fused import Tree
    from .tiling import Node

LIMIT = 16
"""Arrays that one loop may read."""

PAIRS = 128
"""Pairs of arrays, of which one is written, that LLVM tests for overlap before a vector loop."""

TILE_BYTES = 8192
"""Bytes of a tile's values, as they are accumulated."""


class Kernel(NamedTuple):
    """A body; its result replaces the operands in ``back`` and goes to ``targets`` other places.

    A tiled kernel has no ``back``: what it replaces is among its targets. ``combined``: how many
    values the operator's ``finish`` is told of. ``moves``: a copy that keeps every bit.
    ``prepares``, ``finishes``: whether there is such a function to call.
    """

    tree: Tree
    operands: int
    back: tuple[int, ...]
    targets: int
    combined: int = 0
    moves: bool = False
    prepares: bool = False
    finishes: bool = False


def is_tiled(operands: int, back: int, targets: int) -> bool:
    """Whether a kernel has too many arrays for one loop.

    ``back`` operands are replaced by the result, which goes to ``targets`` other places.
    """
    written = back + targets
    pairs = written * (operands - back) + written * (written - 1) // 2
    return operands > LIMIT or pairs > PAIRS


def spell_kernel(number: int, kernel: Kernel, element: Element) -> str:
    """The function ``kernelN(words, at)``, which carries out its pieces and returns their end."""
    tiled = is_tiled(kernel.operands, len(kernel.back), kernel.targets)
    head, body = _tiled(kernel, element) if tiled else _plain(kernel, element)
    return "\n".join(
        [
            "",
            "@njit(error_model='numpy')",
            f"def kernel{number}(words, at):",
            f"    # {kernel.operands} sources, {len(kernel.back)} of them replaced; "
            f"{kernel.targets} targets.",
            "    pieces = words[at]",
            "    at += 1",
            *(f"    {line}" for line in head),
            "    for _ in range(pieces):",
            "        size = words[at]",
            *(f"        {line}" for line in body),
            f"        at += {1 + kernel.operands + kernel.targets}",
            "    return at",
            "",
        ]
    )


def _plain(kernel: Kernel, element: Element) -> tuple[list[str], list[str]]:
    """One loop: load everything, merge in registers, store everything.

    A result that replaces a source is stored through the source's own view: LLVM then knows that
    the two are the same, where its test at run time would find them to overlap and give up.
    """
    targets = [f"d{k}" for k in range(kernel.targets)]
    lines = [
        f"{name} = view(words[at + {1 + k}], size)"
        for k, name in enumerate([*(f"a{k}" for k in range(kernel.operands)), *targets])
    ]
    _, node, _ = cut(kernel.tree, LIMIT)
    lines += ["for i in range(a0.size):"]
    lines += _assigned("value", node, kernel, element, narrowed=True)
    lines += [f"    {name}[i] = value" for name in (*(f"a{k}" for k in kernel.back), *targets)]
    return [], lines


def _tiled(kernel: Kernel, element: Element) -> tuple[list[str], list[str]]:
    """Tile by tile: merge groups of sources into tiles, then write the last tile everywhere."""
    accumulate = ELEMENTS[element.accumulate]
    size = TILE_BYTES // accumulate.bytes
    loops, node, tiles = cut(kernel.tree, LIMIT)
    storage = "uint16" if is_converted(element) else element.dtype.name
    head = [f"tile{k} = np.empty({size}, np.{accumulate.dtype.name})" for k in range(tiles)]
    head.append(f"last = np.empty({size}, np.{storage})")
    lines = [f"count = min({size}, size - low)", f"shift = low * {element.bytes}"]
    lines += [f"t{k} = tile{k}[:count]" for k in range(tiles)]
    lines.append("made = last[:count]")
    for loop in loops:
        lines += [*_views(loop.node), f"for i in range({loop.target}.size):"]
        lines += _assigned(f"{loop.target}[i]", loop.node, kernel, element, narrowed=False)
    lines += [*_views(node), "for i in range(made.size):"]
    lines += _assigned("made[i]", node, kernel, element, narrowed=True)
    first = 1 + kernel.operands
    lines += [
        f"for k in range({first}, {first + kernel.targets}):",
        "    d = view(words[at + k] + shift, count)",
        "    for i in range(d.size):",
        "        d[i] = made[i]",
    ]
    return head, [f"for low in range(0, size, {size}):", *(f"    {line}" for line in lines)]


def _views(node: Node) -> list[str]:
    return [
        f"{name} = view(words[at + {1 + int(name[1:])}] + shift, count)"
        for name in find_arrays(node)
        if name.startswith("a")
    ]


def _assigned(
    target: str, node: Node, kernel: Kernel, element: Element, *, narrowed: bool
) -> list[str]:
    """A loop's body: the node's value to the target; if ``narrowed``, finished and rounded."""
    # A copy moves bits as they are: conversions would touch the payload of a NaN.
    converts = is_converted(element) and not kernel.moves

    def load(name: str) -> str:
        text = f"{name}[i]"
        if name.startswith("a"):
            text = f"widen({text})" if converts else text
            text = f"prepare({text})" if kernel.prepares else text
        return text

    merges, result = spell(node, load)
    if narrowed:
        result = f"finish({result}, {kernel.combined})" if kernel.finishes else result
        result = f"narrow({result})" if converts else result
    return [f"    {line}" for line in (*merges, f"{target} = {result}")]
