"""Names and shapes, checked before anything has a value: faults of texts that nobody runs, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import syntax
from .faults import unknown
from .units import UNITS
from .values import FUNCTIONS, arity_fault, misplaced, unit_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .faults import Report

LOOPS = 16
"""Most loops of one statement."""


def check_expression(
    expression: syntax.Expression | syntax.Range, names: Collection[str], report: Report
) -> None:
    """Blame every name, unit and function in an expression that does not exist, and what is none:
    a range or a node.
    """
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
        elif isinstance(node, syntax.Range | syntax.Reference):
            report.blame(*misplaced(node))
        else:
            if node.function.text not in FUNCTIONS:
                report.add(unknown("function", node.function.text, node.function.span, FUNCTIONS))
            elif len(node.arguments) != FUNCTIONS[node.function.text]:
                report.blame(*arity_fault(node))
            todo += reversed(node.arguments)


def names_in(expression: syntax.Expression | syntax.Range | None) -> set[str]:
    """The names that an expression is made of, functions not among them."""
    found: set[str] = set()
    todo = [] if expression is None else [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, syntax.Name):
            found.add(node.text)
        elif isinstance(node, syntax.Unary):
            todo.append(node.operand)
        elif isinstance(node, syntax.Binary):
            todo += (node.left, node.right)
        elif isinstance(node, syntax.Range):
            todo += (node.low, node.high)
        elif isinstance(node, syntax.Apply):
            todo += node.arguments
        elif isinstance(node, syntax.Reference):
            todo += (index for item in node.items for index in item.indices)
    return found


def names_machine(value: syntax.Expression, numbers: Collection[str]) -> bool:
    """Whether an argument has the form of a machine, and not that of a number: ``ring(8)``."""
    if isinstance(value, syntax.Apply):
        return value.function.text not in FUNCTIONS
    return isinstance(value, syntax.Name) and value.text not in numbers


def check_parameters(
    parameters: Iterable[syntax.Parameter],
    report: Report,
    reserved: Collection[str] = (),
    machines: Collection[str] = (),
) -> list[str]:
    """Blame parameters that clash, and defaults of what comes later; the names in order.

    Those in ``machines`` may stand for machines, whose defaults are judged when they are built.
    """
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
            if name.text not in machines or not names_machine(parameter.default, names):
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
    parts: Collection[str] | None = (),
) -> list[str]:
    """Blame what is wrong in loops and their guard; all names that the loop's body may use.

    ``ranks``: whether a loop may run over all ranks. ``parts``: those whose ranks it may run
    over, None where they are not known yet.
    """
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
        elif domain.part is not None:
            if parts is not None and domain.part.text not in parts:
                report.add(unknown("part", domain.part.text, domain.part.span, parts))
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
