"""A topology's names and shapes, checked before anything has a value.

What a part has inside is known when its machine is built, and checked then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import syntax
from .faults import unknown
from .indices import arity_fault, nothing_inside, whole_part
from .layout import RANKS
from .names import check_expression, check_loops, check_parameters, names_in, names_machine

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .faults import Report

Groups = dict[str, tuple[syntax.Item, bool]]
"""The names of nodes, where they are declared, and whether each is a part."""


def check_topology(declaration: syntax.Machine, report: Report) -> None:
    """Blame what is wrong in a topology whatever the values of its parameters."""
    match declaration:
        case syntax.Topology():
            _check_declared(declaration, report)
        case syntax.Derived():
            _check_derived(declaration, report)
        case syntax.Imported():
            _check_imported(declaration, report)


def called_machines(declaration: syntax.Topology | syntax.Derived) -> tuple[syntax.Call, ...]:
    """The machines that one is made of."""
    if isinstance(declaration, syntax.Derived):
        return (declaration.base,)
    parts = (each for each in declaration.statements if isinstance(each, syntax.Part))
    return tuple(each.machine for each in parts)


def _check_declared(declaration: syntax.Topology, report: Report) -> None:
    names = _check_head(declaration, report)
    groups: Groups = {}
    for statement in declaration.statements:
        if isinstance(statement, syntax.Link):
            continue
        part = isinstance(statement, syntax.Part)
        for group in (statement.group,) if isinstance(statement, syntax.Part) else statement.groups:
            _declare(group, part, groups, report)
            for size in group.indices:
                check_expression(size, names, report)
        if isinstance(statement, syntax.Part):
            _check_call(statement.machine, declaration, names, report)
        elif isinstance(statement, syntax.Switches):
            abilities = [ability.text for ability in statement.abilities]
            for i, ability in enumerate(statement.abilities):
                if ability.text in abilities[:i]:
                    report.blame(f"{ability.text!r} is said twice", ability.span, "once")
    parts = [name for name, (_, part) in groups.items() if part]
    for statement in declaration.statements:
        if isinstance(statement, syntax.Link):
            scope = check_loops(statement.loops, statement.guard, names, report, parts=parts)
            _check_link(statement, groups, scope, report)


def _declare(group: syntax.Item, part: bool, groups: Groups, report: Report) -> None:
    name = group.name
    if name.text in groups:
        first = groups[name.text][0].span
        report.blame(
            f"{name.text!r} is declared twice",
            name.span,
            f"one declaration; the first stands at {first.place}",
        )
    groups.setdefault(name.text, (group, part))


def _check_derived(declaration: syntax.Derived, report: Report) -> None:
    names = _check_head(declaration, report)
    _check_call(declaration.base, declaration, names, report)
    for change in declaration.changes:
        scope = check_loops(change.loops, change.guard, names, report, parts=None)
        if isinstance(change, syntax.Link):
            _check_link(change, None, scope, report)
        elif isinstance(change, syntax.Only):
            for node in change.nodes:
                _check_node(node, None, scope, report, many=True)
        else:
            for removal in change.removals:
                check_connection(removal, scope, report)


def check_connection(connection: syntax.Connection, scope: Collection[str], report: Report) -> None:
    """Blame what is wrong in a link or nodes to take out, whatever the machine."""
    _check_node(connection.src, None, scope, report, many=connection.dst is None)
    if connection.dst is not None:
        _check_node(connection.dst, None, scope, report)


def _check_imported(declaration: syntax.Imported, report: Report) -> None:
    first: dict[str, syntax.Speed] = {}
    for speed in declaration.speeds:
        known = first.setdefault(speed.kind.text, speed)
        if known is not speed:
            report.blame(
                f"the speed of {speed.kind.text!r} is said twice",
                speed.span,
                f"one; the first stands at {known.span.place}",
            )
        for value in (speed.bandwidth, speed.latency):
            if value is not None:
                check_expression(value, (), report)


# ------------------------------------------------------------------------------- parameters


def _check_head(declaration: syntax.Topology | syntax.Derived, report: Report) -> list[str]:
    """Check the parameters; the names of those that are numbers."""
    machines, handed_on = set(), set()
    for call in called_machines(declaration):
        machines.add(call.name.text)
        handed_on |= {name for each in call.arguments for name in names_in(each.value)}
    parameters = declaration.parameters
    for parameter in parameters:
        if parameter.kind is not None:
            report.blame(
                f"parameter {parameter.name.text!r} of a topology has an element",
                parameter.kind.span,
                "a name, perhaps with a default",
            )
        for name in sorted(names_in(parameter.default) & machines):
            assert parameter.default is not None
            message = f"the machine {name!r} in a default"
            report.blame(message, parameter.default.span, "numbers, or the name of a topology")
    names = check_parameters(parameters, report, machines=machines | handed_on)
    return [name for name in names if name not in machines]


def _check_call(
    call: syntax.Call,
    declaration: syntax.Topology | syntax.Derived,
    names: Collection[str],
    report: Report,
) -> None:
    """Check what a machine inside is called with, as far as that shows without knowing it."""
    parameters = [each.name.text for each in declaration.parameters]
    if call.name.text in parameters and call.arguments:
        report.blame(
            f"the machine {call.name.text!r} is a parameter, and has its arguments already",
            call.span,
            f"{call.name.text} alone",
        )
    for argument in call.arguments:
        _check_argument(argument.value, parameters, names, report)


def _check_argument(
    value: syntax.Expression, parameters: Collection[str], names: Collection[str], report: Report
) -> None:
    if isinstance(value, syntax.Name):
        return  # A number's name, or a machine's; only the machine that is called can tell.
    if names_machine(value, ()) and isinstance(value, syntax.Apply):
        for argument in value.arguments:
            _check_argument(argument, parameters, names, report)
    else:
        check_expression(value, names, report)


# ------------------------------------------------------------------------------------ nodes


def _check_link(
    link: syntax.Link, groups: Groups | None, scope: Collection[str], report: Report
) -> None:
    for node in (link.src, link.dst):
        _check_node(node, groups, scope, report)
    for value in (link.count, link.bandwidth, link.latency):
        if value is not None:
            check_expression(value, scope, report)


def _check_node(
    place: syntax.Expression,
    groups: Groups | None,
    scope: Collection[str],
    report: Report,
    many: bool = False,
) -> None:
    """Check a node, or a selection of ``many``; against the groups where they are known."""
    if isinstance(place, syntax.Name):
        items: tuple[syntax.Item, ...] = (syntax.Item(place, (), place.span),)
    else:
        assert isinstance(place, syntax.Reference)
        items = place.items
    if groups is not None:
        _check_shape(items, groups, report)
    for item in items:
        for index in item.indices:
            if many and isinstance(index, syntax.Range):
                check_expression(index.low, scope, report)
                check_expression(index.high, scope, report)
            else:
                check_expression(index, scope, report)


def _check_shape(
    items: tuple[syntax.Item, ...], groups: Mapping[str, tuple[syntax.Item, bool]], report: Report
) -> None:
    node = items[0]
    if node.name.text not in groups:
        report.add(unknown("node", node.name.text, node.name.span, groups))
        return
    group, part = groups[node.name.text]
    if len(group.indices) != len(node.indices):
        report.blame(*arity_fault(node, len(group.indices)))
    elif part and len(items) == 1:
        report.blame(*whole_part(node))
    elif not part and len(items) > 1:
        report.blame(*nothing_inside(node, items[1]))
    elif part and len(items) > 2 and items[1].name.text == RANKS:
        report.blame(*nothing_inside(items[1], items[2]))
