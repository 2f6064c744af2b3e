"""Statements, and what they are made of, as text: each on one line, before it is laid out."""

from __future__ import annotations

from typing import assert_never

from . import syntax

_LEVELS = {
    "or": 1, "and": 2, "not": 3,
    "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "neg": 11, "**": 12,
}  # fmt: skip
_COMPARED = _LEVELS["=="]
_ATOM = 13

Phrase = tuple[str, str]
"""A statement and its loops and condition, which may go on a line of their own."""

Statement = (
    syntax.Ranks
    | syntax.Switches
    | syntax.Part
    | syntax.Link
    | syntax.Only
    | syntax.Without
    | syntax.Speed
    | syntax.Field
    | syntax.Assignment
    | syntax.Given
    | syntax.Want
    | syntax.Busbw
    | syntax.Chunks
    | syntax.Send
)
"""What stands on a line of its own in a block, without a block inside; options beside."""

# ------------------------------------------------------------------------------- statements


def render_statement(statement: Statement) -> Phrase:
    """A statement of a topology, an operator, a collective or a schedule."""
    match statement:
        case syntax.Ranks():
            return f"ranks {', '.join(map(_item, statement.groups))}", ""
        case syntax.Switches():
            abilities = "".join(f" {ability.text}" for ability in statement.abilities)
            return f"switch {', '.join(map(_item, statement.groups))}{abilities}", ""
        case syntax.Part():
            return f"part {_item(statement.group)} = {render_call(statement.machine)}", ""
        case syntax.Speed():
            speed = _speed(statement.bandwidth, statement.latency)
            return f"{statement.kind.text} {speed}", ""
        case syntax.Field():
            length = f"[{render_expression(statement.length)}]" if statement.length else ""
            return f"{statement.name.text}: {statement.element.text}{length}", ""
        case syntax.Assignment():
            return f"{statement.target.text} = {render_expression(statement.value)}", ""
        case syntax.Busbw():
            return f"busbw {render_expression(statement.factor)}", ""
        case syntax.Chunks():
            return f"chunks {render_expression(statement.number)}", ""
        case _:
            return _repeated(statement), render_turns(statement.loops, statement.guard)


def _repeated(
    statement: syntax.Link
    | syntax.Only
    | syntax.Without
    | syntax.Given
    | syntax.Want
    | syntax.Send,
) -> str:
    """A statement that may have loops, without them."""
    match statement:
        case syntax.Link():
            return _link(statement)
        case syntax.Only():
            return f"only {', '.join(map(render_expression, statement.nodes))}"
        case syntax.Without():
            return f"without {', '.join(map(_connection, statement.removals))}"
        case syntax.Given():
            return f"given {_item(statement.item)}"
        case syntax.Want():
            value = statement.value
            shown = _item(value) if isinstance(value, syntax.Item) else _fold(value)
            return f"want {_item(statement.item)} = {shown}"
        case syntax.Send():
            return _send(statement)
        case _:
            assert_never(statement)


def render_option(option: syntax.Option) -> str:
    """An option of a plan."""
    match option:
        case syntax.Synthesize():
            what = render_grouped(option.collective, option.groups)
            return f"synthesize {what} on {render_call(option.topology)}"
        case syntax.Run():
            return f"run {render_call(option.schedule)}"
        case syntax.Interval():
            low = render_expression(option.low)
            if option.high is None:
                return f"{option.kind} {low}"
            dots = ".." if option.kind != "sizes" else " .. "
            return f"{option.kind} {low}{dots}{render_expression(option.high)}"
        case syntax.Rounds():
            return f"rounds {render_expression(option.limit)}"
        case syntax.Element():
            return f"element {option.name.text}"
        case syntax.Budget():
            return f"budget {render_expression(option.time)}"
        case syntax.Minimize():
            size = "" if option.size is None else f" at {render_expression(option.size)}"
            return f"minimize {option.kind}{size}"
        case syntax.InPlace():
            return "in place"
        case syntax.Forbid():
            return f"forbid {', '.join(map(_connection, option.connections))}"
        case syntax.Channels():
            return f"at most {render_expression(option.most)} channels a link"
        case syntax.Symmetric():
            return "symmetric"
        case _:
            assert_never(option)


def _link(link: syntax.Link) -> str:
    arrow = "<->" if link.both else "->"
    ends = f"{render_expression(link.src)} {arrow} {render_expression(link.dst)}"
    count = "" if link.count is None else f" x{render_expression(link.count)}"
    if not (isinstance(link.count, syntax.Number) and count[2:].isdigit()):
        count = count and f" x({count[2:]})"  # Behind the x only digits go without parentheses.
    word = "with" if link.changes else "link"
    return f"{word} {ends}{count} at {_speed(link.bandwidth, link.latency)}"


def _speed(bandwidth: syntax.Expression, latency: syntax.Expression | None) -> str:
    text = render_expression(bandwidth)
    return text if latency is None else f"{text}, {render_expression(latency)}"


def _connection(connection: syntax.Connection) -> str:
    src = render_expression(connection.src)
    if connection.dst is None:
        return src
    return f"{src} {'<->' if connection.both else '->'} {render_expression(connection.dst)}"


def _fold(fold: syntax.Fold) -> str:
    return f"{fold.operator.text}({_item(fold.item)} {render_turns(fold.loops, fold.guard)})"


def _send(send: syntax.Send) -> str:
    chunk = send.chunk
    if isinstance(chunk, syntax.Choice):
        what = f"{chunk.name.text} = {render_expression(chunk.value)}"
    else:
        what = _item(chunk)
    head = f"send {what} from {render_expression(send.src)} to {render_expression(send.dst)}"
    if send.via:
        head += f" via {', '.join(map(render_expression, send.via))}"
    return f"{head} {send.action}"


# ------------------------------------------------------------------------------------ heads


def render_parameters(parameters: tuple[syntax.Parameter, ...], always: bool = False) -> str:
    """What stands between brackets behind a declared name; ``always``: even if it is nothing."""
    if not parameters and not always:
        return ""
    return f"({', '.join(map(_parameter, parameters))})"


def _parameter(parameter: syntax.Parameter) -> str:
    shown = parameter.name.text
    if parameter.kind is not None:
        shown += f": {parameter.kind.text}"
    if parameter.default is not None:
        shown += f" = {render_expression(parameter.default)}"
    return shown


def render_call(call: syntax.Call) -> str:
    """A declared thing with its arguments: ``torus(4, 4)``."""
    if not call.arguments:
        return call.name.text
    return f"{call.name.text}({', '.join(map(_argument, call.arguments))})"


def _argument(argument: syntax.Argument) -> str:
    value = render_expression(argument.value)
    return value if argument.name is None else f"{argument.name.text} = {value}"


def render_grouped(collective: syntax.Call, groups: syntax.Groups | None) -> str:
    """A collective, and the groups of ranks within which it takes place."""
    if groups is None:
        return render_call(collective)
    inner = ", ".join(map(_group, groups.groups))
    tail = render_turns(groups.loops, groups.guard)
    return f"{render_call(collective)} within [{inner}{' ' * bool(tail)}{tail}]"


def _group(group: syntax.Group) -> str:
    tail = render_turns(group.loops, group.guard)
    return f"[{', '.join(map(_index, group.ranks))}{' ' * bool(tail)}{tail}]"


# ------------------------------------------------------------------------- loops and places


def render_turns(loops: tuple[syntax.Loop, ...], guard: syntax.Expression | None) -> str:
    """``for … if …``; nothing where there is neither."""
    parts = []
    if loops:
        parts.append(f"for {', '.join(map(_loop, loops))}")
    if guard is not None:
        parts.append(f"if {render_expression(guard)}")
    return " ".join(parts)


def _loop(loop: syntax.Loop) -> str:
    targets = ", ".join(target.text for target in loop.targets)
    if len(loop.targets) > 1:
        targets = f"({targets})"
    match loop.domain:
        case syntax.Range():
            return f"{targets} in {_index(loop.domain)}"
        case syntax.Listing():
            return f"{targets} in [{', '.join(map(_row, loop.domain.rows))}]"
        case syntax.Everyone():
            part = loop.domain.part
            return f"{targets} in ranks" + (f" of {part.text}" if part else "")
        case _:
            assert_never(loop.domain)


def _row(row: tuple[syntax.Expression, ...]) -> str:
    values = ", ".join(map(render_expression, row))
    return f"({values})" if len(row) > 1 else values


def _item(item: syntax.Item) -> str:
    if not item.indices:
        return item.name.text
    return f"{item.name.text}[{', '.join(map(_index, item.indices))}]"


def _index(index: syntax.Expression | syntax.Range) -> str:
    if isinstance(index, syntax.Range):
        return f"{render_expression(index.low)}..{render_expression(index.high)}"
    return render_expression(index)


# ------------------------------------------------------------------------------ expressions


def render_expression(expression: syntax.Expression) -> str:
    """An expression with only the parentheses that it needs."""
    return _expression(expression)[0]


def _expression(node: syntax.Expression) -> tuple[str, int]:
    """The text of an expression and how tightly it binds."""
    match node:
        case syntax.Number():
            return (f"{node.digits} {node.unit}" if node.unit else node.digits), _ATOM
        case syntax.Name():
            return node.text, _ATOM
        case syntax.Reference():
            return ".".join(map(_item, node.items)), _ATOM
        case syntax.Apply():
            arguments = ", ".join(map(render_expression, node.arguments))
            return f"{node.function.text}({arguments})", _ATOM
        case syntax.Unary():
            level = _LEVELS["not" if node.operation == "not" else "neg"]
            text = _within(node.operand, level)
            space = " " if node.operation == "not" else ""
            return f"{node.operation}{space}{text}", level
        case syntax.Binary():
            level = _LEVELS[node.operation]
            # Comparisons do not chain; the exponent may be a negation; all else groups leftwards.
            left = level + (level == _COMPARED or node.operation == "**")
            right = _LEVELS["neg"] if node.operation == "**" else level + 1
            operation = node.operation
            return f"{_within(node.left, left)} {operation} {_within(node.right, right)}", level
        case _:
            assert_never(node)


def _within(node: syntax.Expression, level: int) -> str:
    text, mine = _expression(node)
    return text if mine >= level else f"({text})"
