"""Syntax to text in one canonical form: printing, parsing and printing again changes nothing."""

from __future__ import annotations

from typing import assert_never

from . import syntax

_LEVELS = {
    "or": 1, "and": 2, "not": 3,
    "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "neg": 7, "**": 8,
}  # fmt: skip
_ATOM = 9
_WIDTH = 100


def render(document: syntax.Document) -> str:
    """The canonical text of a document; comments are not part of it."""
    texts = [_declaration(each) for each in document.declarations]
    return "\n\n".join(texts) + "\n" if texts else ""


def render_call(call: syntax.Call) -> str:
    """A declared thing with its arguments: ``torus(4, 4)``."""
    if not call.arguments:
        return call.name.text
    return f"{call.name.text}({', '.join(map(_argument, call.arguments))})"


def render_expression(expression: syntax.Expression) -> str:
    """An expression with only the parentheses that it needs."""
    return _expression(expression)[0]


def _declaration(declaration: syntax.Declaration) -> str:
    match declaration:
        case syntax.Topology():
            head = f"topology {declaration.name.text}{_parameters(declaration.parameters)}"
            return _block(head, [_statement(each) for each in declaration.statements])
        case syntax.Operator():
            head = f"operator {declaration.name.text}{_parameters(declaration.parameters, True)}"
            laws = [_law(each) for each in declaration.laws]
            body = render_expression(declaration.body)
            return f"{head} = {body}" + (f" {{ {'; '.join(laws)} }}" if laws else "")
        case syntax.Collective():
            head = f"collective {declaration.name.text}{_parameters(declaration.parameters)}"
            return _block(head, [_clause(each) for each in declaration.statements])
        case syntax.Plan():
            return _block("plan", [_option(each) for each in declaration.options])
        case syntax.Use():
            return f'use "{declaration.path}"'
        case _:
            assert_never(declaration)


def _block(head: str, lines: list[str]) -> str:
    if not lines:
        return f"{head} {{\n}}"
    inner = "\n".join(f"  {line}" for line in lines)
    return f"{head} {{\n{inner}\n}}"


def _parameters(parameters: tuple[syntax.Parameter, ...], always: bool = False) -> str:
    if not parameters and not always:
        return ""
    shown = [
        each.name.text
        if each.default is None
        else f"{each.name.text} = {render_expression(each.default)}"
        for each in parameters
    ]
    return f"({', '.join(shown)})"


def _statement(statement: syntax.Ranks | syntax.Switches | syntax.Link) -> str:
    match statement:
        case syntax.Ranks():
            return f"ranks {', '.join(map(_item, statement.groups))}"
        case syntax.Switches():
            abilities = "".join(f" {ability.text}" for ability in statement.abilities)
            return f"switch {', '.join(map(_item, statement.groups))}{abilities}"
        case syntax.Link():
            arrow = "<->" if statement.both else "->"
            head = f"link {_item(statement.src)} {arrow} {_item(statement.dst)}"
            if statement.count is not None:
                head += f" x{_count(statement.count)}"
            head += f" at {render_expression(statement.bandwidth)}"
            if statement.latency is not None:
                head += f", {render_expression(statement.latency)}"
            tail = _turns(statement.loops, statement.guard)
            apart = len(head) + len(tail) > _WIDTH and statement.loops
            return head + ("\n    " if apart else " ") * bool(tail) + tail
        case _:
            assert_never(statement)


def _count(count: syntax.Expression) -> str:
    """Behind ``x``: digits alone, anything else between parentheses."""
    text = render_expression(count)
    return text if isinstance(count, syntax.Number) and text.isdigit() else f"({text})"


def _turns(loops: tuple[syntax.Loop, ...], guard: syntax.Expression | None) -> str:
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
            low, high = render_expression(loop.domain.low), render_expression(loop.domain.high)
            return f"{targets} in {low}..{high}"
        case syntax.Listing():
            return f"{targets} in [{', '.join(map(_row, loop.domain.rows))}]"
        case syntax.Everyone():
            return f"{targets} in ranks"
        case _:
            assert_never(loop.domain)


def _row(row: tuple[syntax.Expression, ...]) -> str:
    values = ", ".join(map(render_expression, row))
    return f"({values})" if len(row) > 1 else values


def _item(item: syntax.Item) -> str:
    if not item.indices:
        return item.name.text
    return f"{item.name.text}[{', '.join(map(render_expression, item.indices))}]"


def _law(law: syntax.Law) -> str:
    return law.kind if law.value is None else f"{law.kind} {render_expression(law.value)}"


def _clause(clause: syntax.Given | syntax.Want | syntax.Busbw) -> str:
    match clause:
        case syntax.Given():
            return f"given {_item(clause.item)}"
        case syntax.Want():
            value = clause.value
            if isinstance(value, syntax.Item):
                return f"want {_item(clause.item)} = {_item(value)}"
            inner = f"{_item(value.item)} {_turns(value.loops, value.guard)}"
            return f"want {_item(clause.item)} = {value.operator.text}({inner})"
        case syntax.Busbw():
            return f"busbw {render_expression(clause.factor)}"
        case _:
            assert_never(clause)


def _argument(argument: syntax.Argument) -> str:
    value = render_expression(argument.value)
    return value if argument.name is None else f"{argument.name.text} = {value}"


def _option(option: syntax.Option) -> str:
    match option:
        case syntax.Synthesize():
            return f"synthesize {render_call(option.collective)} on {render_call(option.topology)}"
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
        case _:
            assert_never(option)


def _expression(node: syntax.Expression) -> tuple[str, int]:
    """The text of an expression and how tightly it binds."""
    match node:
        case syntax.Number():
            return (f"{node.digits} {node.unit}" if node.unit else node.digits), _ATOM
        case syntax.Name():
            return node.text, _ATOM
        case syntax.Apply():
            arguments = ", ".join(map(render_expression, node.arguments))
            return f"{node.function.text}({arguments})", _ATOM
        case syntax.Unary():
            level = _LEVELS["not" if node.operation == "not" else "neg"]
            text = _within(node.operand, level)
            return (f"not {text}" if node.operation == "not" else f"-{text}"), level
        case syntax.Binary():
            level = _LEVELS[node.operation]
            # Comparisons do not chain; the exponent may be a negation; all else groups leftwards.
            left = level + (level == 4 or node.operation == "**")
            right = _LEVELS["neg"] if node.operation == "**" else level + 1
            operation = node.operation
            return f"{_within(node.left, left)} {operation} {_within(node.right, right)}", level
        case _:
            assert_never(node)


def _within(node: syntax.Expression, level: int) -> str:
    text, mine = _expression(node)
    return text if mine >= level else f"({text})"
