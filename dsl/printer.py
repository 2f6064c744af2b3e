"""Syntax to text in one canonical form: printing, parsing and printing again changes nothing.

A document is laid out in rows, each with the place in the source of what it prints, so that the
formatter can put the comments back between them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from . import syntax
from .comments import Comments
from .phrases import (
    Statement,
    render_call,
    render_expression,
    render_grouped,
    render_option,
    render_parameters,
    render_statement,
    render_turns,
)
from .tables import tables
from .units import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Row", "lay_out", "render", "render_call", "render_expression"]

WIDTH = 100
"""Characters of a line, unless it cannot be broken."""
_COMMA = re.compile(r'"[^"]*"|[()\[\]]|, ')
_BARE_NUMBER = re.compile(r"(?<![A-Za-z0-9_])[0-9.]+\Z")


@dataclass(frozen=True, slots=True)
class Row:
    """What stands on a line of its own, or on a line and those that go on with it.

    ``text`` is without the indentation of ``depth`` levels; its further lines have theirs on top
    of it. What it prints stands in ``[start, end)`` of the source. ``opens`` a block, or
    ``closes`` one.
    """

    text: str
    depth: int
    start: int
    end: int
    opens: bool = False
    closes: bool = False


def render(document: syntax.Document) -> str:
    """The canonical text of a document; comments are not part of it."""
    lines: list[str] = []
    before: syntax.Declaration | None = None
    for declaration in document.declarations:
        if before is not None and not together(before, declaration):
            lines.append("")
        for row in lay_out(declaration, Comments("")):
            lines += indented(row)
        before = declaration
    return "\n".join(lines) + "\n" if lines else ""


def together(first: syntax.Declaration, second: syntax.Declaration) -> bool:
    """Whether two declarations need no empty line between them."""
    return isinstance(first, syntax.Use) and isinstance(second, syntax.Use)


def indented(row: Row) -> list[str]:
    """The lines of a row as they stand in the text."""
    margin = "  " * row.depth
    return [margin + line for line in row.text.split("\n")]


# ------------------------------------------------------------------------------------- rows


def lay_out(declaration: syntax.Declaration, comments: Comments) -> list[Row]:
    """The rows of a declaration, top to bottom.

    What would be one row is a block where a comment stands in it, so that the comment keeps its
    place.
    """
    match declaration:
        case syntax.Topology():
            head = f"topology {declaration.name.text}{render_parameters(declaration.parameters)}"
            return _block(head, declaration, declaration.statements, comments)
        case syntax.Derived():
            return _derived(declaration, comments)
        case syntax.Imported():
            head = f'topology {declaration.name.text} from "{declaration.path.text}"'
            head += f" as {declaration.format.text}"
            return _block(head, declaration, declaration.speeds, comments)
        case syntax.Struct():
            head = f"element {declaration.name.text}"
            return _short_block(head, declaration, declaration.fields, ", ", comments)
        case syntax.Operator():
            return _operator(declaration, comments)
        case syntax.Collective():
            head = f"collective {declaration.name.text}{render_parameters(declaration.parameters)}"
            return _block(head, declaration, declaration.statements, comments)
        case syntax.Schedule():
            head = f"schedule {declaration.name.text}{render_parameters(declaration.parameters)}"
            head += f" of {render_grouped(declaration.collective, declaration.groups)}"
            head += f" on {render_call(declaration.topology)}"
            return _block(head, declaration, declaration.statements, comments)
        case syntax.Plan():
            return _block("plan", declaration, declaration.options, comments)
        case syntax.Use():
            return [_row(f'use "{declaration.path.text}"', "", 0, declaration)]
        case _:
            assert_never(declaration)


Line = Statement | syntax.Option | syntax.Law | syntax.Mapping | syntax.Step
Blocky = (
    syntax.Topology
    | syntax.Imported
    | syntax.Struct
    | syntax.Operator
    | syntax.Mapping
    | syntax.Collective
    | syntax.Schedule
    | syntax.Plan
)


def _row(head: str, tail: str, depth: int, node: Line | syntax.Declaration) -> Row:
    return Row(_broken(head, tail, depth), depth, node.span.start, node.span.end)


def _block(
    head: str, node: Blocky, inner: Sequence[Line], comments: Comments, depth: int = 0
) -> list[Row]:
    """``head {``, a row for each of what stands inside, ``}``."""
    start, end = node.span.start, node.span.end
    first = min((each.span.start for each in inner), default=end)
    opening = Row(
        _broken(f"{head} {{", "", depth), depth, start, comments.behind("{", start, first), True
    )
    rows = [row for each in _lines(inner) for row in _inner(*each, depth + 1, comments)]
    return [opening, *rows, Row("}", depth, end - 1, end, closes=True)]


def _short_block(
    head: str,
    node: Blocky,
    inner: Sequence[Line],
    separator: str,
    comments: Comments,
    depth: int = 0,
) -> list[Row]:
    """A block on one line, if it has room there and no comment inside."""
    first = min((each.span.start for each in inner), default=node.span.end)
    brace = comments.behind("{", node.span.start, first)
    if not comments.between(brace, node.span.end):
        shown = separator.join(_one_line(each) for each in inner)
        whole = f"{head} {{ {shown} }}" if inner else f"{head} {{ }}"
        if len(whole) <= WIDTH - 2 * depth or not inner:
            return [_row(whole, "", depth, node)]
    return _block(head, node, inner, comments, depth)


def _lines(inner: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """What stands in a block, with the semicolon that must part it from the following.

    A number and a unit make one quantity even across a line end, and a keyword that begins a
    speed or an assignment as its name could belong to the expression before it.
    """
    for i, this in enumerate(inner):
        following = inner[i + 1] if i + 1 < len(inner) else None
        name = ""
        if isinstance(following, syntax.Speed):
            name = following.kind.text
        elif isinstance(following, syntax.Assignment):
            name = following.target.text
        joins = name in UNITS and _BARE_NUMBER.search(_one_line(this))
        yield this, ";" if joins or (name and name in tables().keywords) else ""


def _one_line(line: Line) -> str:
    match line:
        case syntax.Law():
            value = line.value
            return line.kind if value is None else f"{line.kind} {render_expression(value)}"
        case syntax.Mapping():
            if not isinstance(line.body, tuple):
                return f"{_names(line)} = {render_expression(line.body)}"
            shown = "; ".join(map(_one_line, line.body))
            return f"{_names(line)} {{ {shown} }}" if shown else f"{_names(line)} {{ }}"
        case syntax.Step():
            return _step(line)
        case _ if isinstance(line, syntax.Option):
            return render_option(line)
        case _:
            return " ".join(filter(None, render_statement(line)))


def _names(mapping: syntax.Mapping) -> str:
    return f"{mapping.kind} ({', '.join(name.text for name in mapping.parameters)})"


def _step(step: syntax.Step) -> str:
    turns = render_turns(step.loops, step.guard)
    return f"step {turns}:" if turns else "step:"


def _inner(line: Line, apart: str, depth: int, comments: Comments) -> list[Row]:
    """The rows of a line of a block."""
    match line:
        case syntax.Mapping() if isinstance(line.body, tuple):
            return _short_block(_names(line), line, line.body, "; ", comments, depth)
        case syntax.Step():
            start, end = line.span.start, line.span.end
            if line.sends:
                end = comments.behind(":", start, line.sends[0].span.start)
            else:
                end = comments.past(":", end)
            head = Row(_broken(_step(line), "", depth), depth, start, end, bool(line.sends))
            return [head, *(_row(*render_statement(each), depth + 1, each) for each in line.sends)]
        case _ if isinstance(line, syntax.Option | syntax.Law | syntax.Mapping):
            return [_row(_one_line(line), "", depth, line)]
        case _:
            head_text, tail = render_statement(line)
            return [_row(head_text + apart, tail, depth, line)]


def _operator(operator: syntax.Operator, comments: Comments) -> list[Row]:
    head = f"operator {operator.name.text}{render_parameters(operator.numbers)}"
    head += render_parameters(operator.parameters, always=True)
    if isinstance(operator.body, tuple):
        return _block(head, operator, [*operator.body, *operator.laws], comments)
    head += f" = {render_expression(operator.body)}"
    if not operator.laws:
        return [_row(head, "", 0, operator)]
    return _short_block(head, operator, operator.laws, "; ", comments)


def _derived(derived: syntax.Derived, comments: Comments) -> list[Row]:
    head = f"topology {derived.name.text}{render_parameters(derived.parameters)}"
    head += f" = {render_call(derived.base)}"
    end = derived.base.span.end
    whole = " ".join([head, *map(_one_line, derived.changes)])
    if not derived.changes or (len(whole) <= WIDTH and not comments.between(end, derived.span.end)):
        return [_row(whole, "", 0, derived)]
    top = Row(_broken(head, "", 0), 0, derived.span.start, end, opens=True)
    return [top, *(_row(*render_statement(each), 1, each) for each in derived.changes)]


# ------------------------------------------------------------------------------- long lines


def _broken(head: str, tail: str, depth: int) -> str:
    """A statement and its loops, on a line of their own where one would be too long."""
    room = WIDTH - 2 * depth
    whole = f"{head} {tail}" if tail else head
    if len(whole) <= room:
        return whole
    if len(head) > room and head.endswith((" copy", " reduce")):
        # A send without a comma to break at: its last word can go with the loops.
        head, _, word = head.rpartition(" ")
        tail = f"{word} {tail}".rstrip()
    lines = _fill(head, room, "    ")
    if tail:
        lines += ["  " + line for line in _fill(tail, room - 2, "  ")]
    return "\n".join(lines)


def _fill(text: str, room: int, hang: str) -> list[str]:
    """A text in lines that end with a comma, the one least deep in brackets that has room."""
    commas: list[tuple[int, int]] = []
    depth = 0
    for match in _COMMA.finditer(text):
        if match[0] == ", ":
            commas.append((match.start() + 1, depth))
        elif match[0] in "()[]":
            depth += 1 if match[0] in "([" else -1
    lines, start, at, margin = [], 0, 0, ""
    while at < len(commas) and len(margin) + len(text) - start > room:
        best = at
        for i in range(at + 1, len(commas)):
            if len(margin) + commas[i][0] - start > room:
                break
            if commas[i][1] <= commas[best][1]:
                best = i
        lines.append(margin + text[start : commas[best][0]])
        start, at, margin = commas[best][0] + 1, best + 1, hang
    return [*lines, margin + text[start:]]
