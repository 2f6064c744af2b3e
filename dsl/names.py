"""Names and shapes, checked before anything has a value: faults of texts that nobody runs, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import syntax
from .faults import unknown
from .units import UNITS
from .values import FUNCTIONS, arity_fault, unit_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .faults import Report

LOOPS = 16
"""Most loops of one statement."""


def check_expression(expression: syntax.Expression, names: Collection[str], report: Report) -> None:
    """Blame every name, unit and function in an expression that does not exist."""
    todo = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, syntax.Name):
            if node.text not in names:
                report.add(unknown("name", node.text, node.span, names))
        elif isinstance(node, syntax.Number):
            if node.unit and node.unit not in UNITS:
                report.blame(*unit_fault(node))
        elif isinstance(node, syntax.Unary):
            todo.append(node.operand)
        elif isinstance(node, syntax.Binary):
            todo += [node.right, node.left]
        else:
            if node.function.text not in FUNCTIONS:
                report.add(unknown("function", node.function.text, node.function.span, FUNCTIONS))
            elif len(node.arguments) != FUNCTIONS[node.function.text]:
                report.blame(*arity_fault(node))
            todo += reversed(node.arguments)


def check_parameters(
    parameters: Iterable[syntax.Parameter], report: Report, reserved: Collection[str] = ()
) -> list[str]:
    """Blame parameters that clash, and defaults of what comes later; the names in order."""
    names: list[str] = []
    defaults = False
    for parameter in parameters:
        name = parameter.name
        if name.text in names:
            report.blame(f"two parameters are called {name.text!r}", name.span, "names that differ")
        elif name.text in reserved:
            report.blame(
                f"a parameter is called {name.text!r}",
                name.span,
                f"any name but {' and '.join(sorted(reserved))}, which have a meaning here",
            )
        if parameter.default is not None:
            check_expression(parameter.default, names, report)
            defaults = True
        elif defaults:
            report.blame(
                f"parameter {name.text!r} without a default stands behind one with it",
                name.span,
                "parameters without a default first",
            )
        names.append(name.text)
    return names


def check_loops(
    loops: tuple[syntax.Loop, ...],
    guard: syntax.Expression | None,
    names: Iterable[str],
    report: Report,
    ranks: bool = False,
    reserved: Collection[str] = (),
) -> list[str]:
    """Blame what is wrong in loops and their guard; all names that the loop's body may use."""
    scope = list(names)
    if len(loops) > LOOPS:
        report.blame(f"{len(loops)} loops in one statement", loops[LOOPS].span, f"at most {LOOPS}")
    for loop in loops:
        domain = loop.domain
        if isinstance(domain, syntax.Range):
            check_expression(domain.low, scope, report)
            check_expression(domain.high, scope, report)
        elif isinstance(domain, syntax.Listing):
            _check_listing(loop, domain, scope, report)
        elif not ranks:
            report.blame(
                "a loop over 'ranks' outside a collective", domain.span, "a range or a list"
            )
        if len(loop.targets) > 1 and not isinstance(domain, syntax.Listing):
            report.blame(
                f"{len(loop.targets)} names for one number", loop.span, "one name for a range"
            )
        for target in loop.targets:
            if target.text in scope or target.text in reserved:
                report.blame(
                    f"the loop reuses the name {target.text!r}",
                    target.span,
                    "a name that means nothing yet",
                )
            scope.append(target.text)
    if guard is not None:
        check_expression(guard, scope, report)
    return scope


def _check_listing(
    loop: syntax.Loop, domain: syntax.Listing, scope: list[str], report: Report
) -> None:
    for row in domain.rows:
        for value in row:
            check_expression(value, scope, report)
        if len(row) != len(loop.targets):
            report.blame(
                f"{len(row)} values for {len(loop.targets)} names",
                row[0].span.to(row[-1].span),
                f"as many values as names in every row: {len(loop.targets)}",
            )


def check_topology(declaration: syntax.Topology, report: Report) -> None:
    """Blame every name of a topology that does not exist, and every node with a wrong shape."""
    parameters = check_parameters(declaration.parameters, report)
    groups: dict[str, syntax.Item] = {}
    for statement in declaration.statements:
        if isinstance(statement, syntax.Link):
            continue
        for group in statement.groups:
            name = group.name
            if name.text in groups:
                line, column = _place(groups[name.text])
                report.blame(
                    f"{name.text!r} is declared twice",
                    name.span,
                    f"one declaration; the first stands at {line}:{column}",
                )
            groups.setdefault(name.text, group)
            for size in group.indices:
                check_expression(size, parameters, report)
        if isinstance(statement, syntax.Switches):
            abilities = [ability.text for ability in statement.abilities]
            for i, ability in enumerate(statement.abilities):
                if ability.text in abilities[:i]:
                    report.blame(f"{ability.text!r} is said twice", ability.span, "once")
    for statement in declaration.statements:
        if not isinstance(statement, syntax.Link):
            continue
        scope = check_loops(statement.loops, statement.guard, parameters, report)
        for node in (statement.src, statement.dst):
            _check_node(node, groups, scope, report)
        for value in (statement.count, statement.bandwidth, statement.latency):
            if value is not None:
                check_expression(value, scope, report)


def _check_node(
    node: syntax.Item, groups: dict[str, syntax.Item], scope: list[str], report: Report
) -> None:
    group = groups.get(node.name.text)
    if group is None:
        report.add(unknown("node", node.name.text, node.name.span, groups))
    elif len(group.indices) != len(node.indices):
        needed = len(group.indices)
        report.blame(
            f"{node.name.text!r} with {_count(len(node.indices))}",
            node.span,
            _count(needed)
            + (f", as in {node.name.text}[{', '.join('0' * needed)}]" if needed else ""),
        )
    for index in node.indices:
        check_expression(index, scope, report)


def _count(number: int) -> str:
    return f"{number or 'no'} {'index' if number == 1 else 'indices'}"


def _place(node: syntax.Item) -> tuple[int, int]:
    return node.span.source.place(node.span.start)
