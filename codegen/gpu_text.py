"""What the texts for both GPU backends share: titles, trees, expressions, the launch file.

The launch file is named like the kernels' file, with ``.json`` after it, and is all that a caller
needs beside the kernels::

    file, backend, element, itemsize, align, ranks, chunks, threads, options,
    kernels: [{entry, operands, targets, rows: [[chunk, sources, targets], ...]}, ...]

``sources`` and ``targets`` are pairs [rank, unit] of input and output buffers. ``align`` is the
number of elements to which chunk boundaries are rounded down (16 bytes; 1 where a struct fills
more). One launch a kernel; its table is int64, one row a row: elements, then the addresses of
sources and targets.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from string import Template
from typing import TYPE_CHECKING, Protocol

import numpy as np

from roundelay.dsl.model import CONDITIONS, LOGIC, Apply, Count, Made, Number, Variable

from .artifact import Artifact
from .elements import ELEMENTS
from .fused import Operand
from .operators import argument_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Expression, Field

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
    "tiles will do. Rows whose addresses are all multiples of 16 are the fastest ones. A target",
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
    operator = quote(str(problem.operator)) if problem.operator else "none"
    if element.fields:
        shown = [f"element     {quote(element.name)}, {element.bytes} bytes without gaps, fields:"]
        shown += [f"            {line}" for line in _field_lines(element)]
    else:
        shown = [f"element     {element.name}, combined as {element.accumulate}, rounded once"]
    return (
        f"machine     {quote(problem.topology.name)}, {problem.collective.ranks} ranks",
        f"collective  {quote(problem.collective.name)}",
        f"operator    {operator}",
        *shown,
        f"chunks      {fused.chunks}",
    )


def _field_lines(element: Element) -> Iterator[str]:
    for number, (part, offset) in enumerate(field_offsets(element)):
        length = f"[{part.length}]" if part.vector else ""
        yield f"f{number}  {quote(part.name)}, {part.element}{length} at byte {offset}"


def field_offsets(element: Element) -> Iterator[tuple[Field, int]]:
    """The fields of a struct, each with its first byte."""
    offset = 0
    for part in element.fields:
        yield part, offset
        offset += part.length * ELEMENTS[part.element].bytes


def stem(fused: Fused, element: Element) -> str:
    """The generated files' name without its ending, an identifier."""
    problem = fused.problem
    words = (problem.topology.name, problem.collective.name, element.name)
    return "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word)[:40].strip("_") or "x" for word in words)


class Speller(Protocol):
    """What differs between C++ and Python in the text of an expression."""

    def number(self, value: Fraction, kind: Element) -> str:
        """A constant of a type."""

    def count(self, kind: Element) -> str:
        """The number of combined values, as one of a type."""

    def truth(self, condition: str, kind: Element) -> str:
        """1 or 0 of a type."""

    def name(self, leaf: Variable | Made) -> str:
        """What a value is called."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Spells the expressions of an operator on an element.

    ``known``: parts that have been computed, by the part and its type, and what they are called.
    """

    element: Element
    speller: Speller
    known: Mapping[tuple[Expression, str], str] = field(default_factory=dict)

    def value(self, expression: Expression, context: Element) -> str:
        """As calls of ``rl_add``, ``rl_min``, …, the same in C++ and Python.

        ``context`` is the type of the surroundings, which numbers take.
        """
        if known := self.known.get((expression, context.name)):
            return known
        match expression:
            case Number(value):
                return self.speller.number(value, context)
            case Count():
                return self.speller.count(context)
            case Variable() | Made():
                return self.speller.name(expression)
            case Apply(function) if function in CONDITIONS:
                return self.speller.truth(self.condition(expression, context), context)
            case Apply("where", (condition, *_)):
                kinds = argument_kinds(expression, self.element, context)
                parts = [self.condition(condition, kinds[0])]
                parts += map(self.value, expression.arguments[1:], kinds[1:])
            case _:
                kinds = argument_kinds(expression, self.element, context)
                parts = list(map(self.value, expression.arguments, kinds))
        return f"rl_{expression.function}({', '.join(parts)})"

    def condition(self, expression: Expression, context: Element) -> str:
        """An expression of which no more is asked than whether it is 0."""
        if known := self.known.get((expression, context.name)):
            return f"rl_true({known})"
        if not isinstance(expression, Apply) or expression.function not in CONDITIONS:
            return f"rl_true({self.value(expression, context)})"
        kinds = argument_kinds(expression, self.element, context)
        spell = self.condition if expression.function in LOGIC else self.value
        return f"rl_{expression.function}({', '.join(map(spell, expression.arguments, kinds))})"


def fold_line(line: str, width: int = 98) -> list[str]:
    """A line broken after commas, where it is too long and has any."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines = [""]
    for part in re.split(r"(?<=, )", line):
        if lines[-1].strip() and len(lines[-1]) + len(part.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += part
    return lines


def choose_definitions(text: str, starts: str, used: Iterable[str]) -> str:
    """Those of a text's definitions that are called, by others of them too.

    A definition begins with a line that matches ``starts``, whose group is its name, and calls
    others by names that begin with ``rl_``. Of one name there may be several.
    """
    places = [match.start() for match in re.finditer(starts, text, re.MULTILINE)]
    parts = [text[a:b] for a, b in pairwise([*places, len(text)])]
    names = [match.group(1) for match in re.finditer(starts, text, re.MULTILINE)]
    needed, more = set(used), True
    while more:
        chosen = [part for name, part in zip(names, parts, strict=True) if name in needed]
        called = set(calls("".join(chosen)))
        more = not called <= needed
        needed |= called
    return "".join(chosen)


def calls(text: str) -> list[str]:
    """The names beginning with ``rl_`` that a text calls."""
    return re.findall(r"\b(rl_\w+)\(", text)


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
