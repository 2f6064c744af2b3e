"""Calls of schedules by hand: their operators, their machine, their numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import syntax
from .algebra import as_call
from .calls import match_arguments, parameter_values, pass_on
from .collective_checks import RANKS, operators_of
from .faults import Report
from .groups import check_groups
from .model import Limits, Problem
from .schedules import build_handwritten, check_schedule
from .standard import belongs

if TYPE_CHECKING:
    from .machines import Built
    from .model import Handwritten
    from .resolver import Resolver
    from .values import Scope


def check_call(resolver: Resolver, declaration: syntax.Schedule) -> None:
    """Blame what is wrong in a schedule whatever it is called with."""
    machine, call = _machine(declaration), declaration.topology
    others = {*_operators(resolver, declaration), machine}
    parameters = [each.name.text for each in declaration.parameters]
    if not machine and call.name.text not in parameters:
        resolver.find("topology", call.name)
    elif not machine:
        resolver.report.blame(
            f"the parameter {call.name.text!r} with arguments",
            call.span,
            f"{call.name.text!r} alone: the machine that it stands for has its arguments",
        )
    numbers = [p.name.text for p in declaration.parameters if p.name.text not in others]
    check_schedule(declaration, numbers, resolver.report)
    if declaration.groups is not None:
        check_groups(declaration.groups, numbers, resolver.report)


def _machine(declaration: syntax.Schedule) -> str:
    """The parameter that stands for the machine; empty where none does."""
    call = declaration.topology
    names = {each.name.text for each in declaration.parameters}
    return call.name.text if call.name.text in names and not call.arguments else ""


def _operators(resolver: Resolver, declaration: syntax.Schedule) -> frozenset[str]:
    """The parameters that the schedule's collective takes as operators."""
    call = declaration.collective
    found = resolver.find("collective", call.name)
    if not isinstance(found, syntax.Collective):
        return frozenset()
    bound = match_arguments(found.parameters, call, "collective", resolver.report) or {}
    values = [bound[name].value for name in operators_of(found) if name in bound]
    names = {each.name.text for each in declaration.parameters}
    return frozenset(
        value.text for value in values if isinstance(value, syntax.Name) and value.text in names
    )


def resolve_schedule(
    resolver: Resolver,
    call: syntax.Call,
    limits: Limits | None = None,
    plan: syntax.Plan | None = None,
) -> Handwritten | None:
    """The schedule that a call names, on its machine less what a plan forbids; None and faults."""
    declaration = resolver.find("schedule", call.name)
    if not isinstance(declaration, syntax.Schedule):
        return None
    report = resolver.report
    bound = match_arguments(declaration.parameters, call, "schedule", report)
    if bound is None:
        return None
    before = len(report.faults)
    operators, machine = _operators(resolver, declaration), _machine(declaration)
    plain = [p for p in declaration.parameters if p.name.text not in (*operators, machine)]
    inner = Report()
    scope, _ = parameter_values(plain, bound, report, inner)
    pass_on(inner, call, report)
    if len(report.faults) > before:
        return None
    given = {
        each.name.text: bound[each.name.text].value if each.name.text in bound else each.default
        for each in declaration.parameters
    }
    built = _built(resolver, declaration, given.get(machine), scope)
    if built is not None and plan is not None:
        built = resolver.forbidding(built, plan)
    if built is None:
        return None
    ranks = len(built.topology.ranks)
    collective, operator = resolver.collective(
        _called(declaration.collective, operators, given),
        ranks,
        declaration.groups,
        {RANKS: ranks, **scope},
    )
    found = resolver.find("collective", declaration.collective.name)
    if collective is None or not isinstance(found, syntax.Collective):
        return None
    problem = Problem(built.topology, collective, operator, limits or Limits())
    inner = Report()
    made = build_handwritten(declaration, found, problem, scope, built.layout.node, inner)
    pass_on(inner, call, report)
    if made is None or not belongs(declaration.span):
        return made
    # Nobody can mend the library's text: what its moves come to on this machine is the caller's.
    moves = tuple(replace(move, span=call.span) for move in made.moves)
    return replace(made, moves=moves, span=call.span)


def _built(
    resolver: Resolver,
    declaration: syntax.Schedule,
    machine: syntax.Expression | None,
    scope: Scope,
) -> Built | None:
    """The machine: the one given for a parameter, else the schedule's own."""
    if machine is None:
        return resolver.machines.built(declaration.topology, scope)
    call = as_call(machine)
    if call is None:
        resolver.report.blame(
            "a value where a machine is needed", machine.span, "a topology, as in: torus(4, 4)"
        )
        return None
    return resolver.machines.built(call)


def _called(
    call: syntax.Call, operators: frozenset[str], given: dict[str, syntax.Expression | None]
) -> syntax.Call:
    """The collective's call with the operators given for the schedule's parameters."""
    arguments = []
    for argument in call.arguments:
        value = argument.value
        if isinstance(value, syntax.Name) and value.text in operators:
            value = given[value.text] or value
        arguments.append(replace(argument, value=value))
    return replace(call, arguments=tuple(arguments))
