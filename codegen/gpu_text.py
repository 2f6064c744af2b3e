"""What the texts for both GPU backends share: titles, trees, expressions, the launch file.

The launch file is named like the kernels' file, with ``.json`` after it, and is all that a caller
needs beside the kernels::

    file, backend, element, itemsize, align, ranks, chunks, threads, options,
    kernels: [{entry, operands, targets, rows: [[chunk, sources, targets], ...]}, ...]

``sources`` and ``targets`` are pairs [rank, unit] of input and output buffers. ``align`` is the
number of elements to which chunk boundaries are rounded down (16 bytes). One launch a kernel;
its table is int64, one row a row: elements, then the addresses of sources and targets.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from roundelay.dsl.model import Apply, Number, Variable

from .artifact import Artifact
from .fused import Operand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Expression

    from .elements import Element
    from .fused import Fused, Shape, Tree

THREADS = 256
"""Threads a block; the kernels are compiled for at most so many."""

PACK = 16
"""Bytes of one vector access."""


ROWS = (
    "A row of this file's .json is [chunk, sources, targets], a place [rank, unit]: of an input as",
    "a source, of an output as a target. Of a unit of E elements, chunk c of C begins at element",
    "c * E // C rounded down to a multiple of align; the last one ends at E. In the table a row is",
    "its length in elements, then the addresses of its sources and of its targets. Any number of",
    "tiles will do. Rows whose addresses are all multiples of 16 move 16 bytes an access. A target",
    "may be a source of the same row. NaN results are NaN; their payload is the machine's.",
)
"""What both kinds of text say of their table, line by line."""


def fill(template: str, **places: object) -> str:
    """The text of a file of ``templates`` with its ``$places`` filled."""
    text = files("roundelay.codegen").joinpath("templates", template).read_text("ascii")
    return Template(text).substitute(places).rstrip("\n")


def quote(text: str) -> str:
    """User text as one printable ASCII word in double quotes, safe in any line comment."""
    shown = "".join(c if " " <= c <= "~" else f"\\u{{{ord(c):x}}}" for c in text[:120])
    return '"' + shown.replace("*/", "* /").replace('"', "'") + '"'


def title(fused: Fused, element: Element) -> tuple[str, ...]:
    """What the kernels compute, one fact a line."""
    problem = fused.problem
    operator = quote(problem.operator.name) if problem.operator else "none"
    return (
        f"machine     {quote(problem.topology.name)}, {problem.collective.ranks} ranks",
        f"collective  {quote(problem.collective.name)}",
        f"operator    {operator}",
        f"element     {element.name}, combined as {element.accumulate}, rounded once",
        f"chunks      {fused.chunks}",
    )


def stem(fused: Fused, element: Element) -> str:
    """The generated files' name without its ending, an identifier."""
    problem = fused.problem
    words = (problem.topology.name, problem.collective.name, element.name)
    return "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word)[:40].strip("_") or "x" for word in words)


def expression(body: Expression, constant: Callable[[Fraction], str]) -> str:
    """An operator's body as calls of ``rl_add``, ``rl_min``, …; the same in C++ and Python."""
    match body:
        case Variable(index):
            return "ab"[index]
        case Number(value):
            return constant(value)
        case Apply(function, arguments):
            return f"rl_{function}({', '.join(expression(part, constant) for part in arguments)})"


def constant_bits(value: Fraction, acc: Element) -> int:
    """The bits of an operator's constant in a floating-point type, as NumPy would round it."""
    with np.errstate(over="ignore"):
        number = np.array(float(value), np.float64).astype(acc.dtype)
    return int(number.view(np.dtype(f"u{acc.bytes}"))[()])


def merges(tree: Tree, leaf: str) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """The value of a tree and the merges that lead to it: ``(name, left, right)`` in order.

    A leaf is called ``leaf.format(index)``. Subtrees that are one object are computed once.
    """
    names: dict[int, str] = {}
    steps: list[tuple[str, str, str]] = []
    stack = [tree]
    while stack:
        node = stack[-1]
        if id(node) in names:
            stack.pop()
        elif isinstance(node, Operand):
            names[id(node)] = leaf.format(node.index)
        elif missing := [part for part in (node.right, node.left) if id(part) not in names]:
            stack.extend(missing)
        else:
            names[id(node)] = f"m{len(steps)}"
            steps.append((names[id(node)], names[id(node.left)], names[id(node.right)]))
    return names[id(tree)], tuple(steps)


def entry(number: int) -> str:
    """The name of the kernel of shape ``number``."""
    return f"rl_fused_{number}"


def artifact(
    backend: str, name: str, text: str, fused: Fused, element: Element, options: Sequence[str]
) -> Artifact:
    """The kernels' text with its launch file as one artifact."""
    facts = {
        "file": name,
        "backend": backend,
        "element": element.name,
        "itemsize": element.bytes,
        "align": element.align,
        "ranks": fused.problem.collective.ranks,
        "chunks": fused.chunks,
        "threads": THREADS,
        "options": list(options),
    }
    head = json.dumps(facts, indent=2)[:-2]
    kernels = ",\n".join(_kernel(number, shape) for number, shape in enumerate(fused.shapes))
    launch = f'{head},\n  "kernels": [\n{kernels}\n  ]\n}}\n'
    pairs = ((name, text), (f"{name}.json", launch))
    digest = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
    return Artifact(backend, pairs, "rl_fused", digest)


def _kernel(number: int, shape: Shape) -> str:
    facts = {"entry": entry(number), "operands": shape.operands, "targets": shape.targets}
    rows = ",\n".join(
        "      "
        + json.dumps(
            [
                row.chunk,
                [[place.rank, place.unit] for place in row.sources],
                [[place.rank, place.unit] for place in row.targets],
            ]
        )
        for row in shape.rows
    )
    return f'    {json.dumps(facts)[:-1]}, "rows": [\n{rows}\n    ]}}'
