"""What texts mean: files, and what stands on a command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import syntax
from .collective_checks import operators_of
from .collector import at_rest
from .faults import Report
from .files import read_source
from .handwriting import resolve_schedule
from .model import Limits, Problem
from .odd_machines import odd_machine
from .oddities import odd_text, unfinished
from .parser import Recovered, parse_call, parse_request, recover
from .resolver import Resolver
from .scopes import Scopes
from .source import Fault, InputError, Source, Span
from .standard import names

if TYPE_CHECKING:
    from .model import Handwritten, Operator, Topology

__all__ = [
    "Module", "by_hand", "collectives", "load", "machines", "on_file", "on_source", "parameters",
    "problem", "read_source", "schedules", "show",
]  # fmt: skip

_COMMAND = "command line"


@dataclass(frozen=True, slots=True)
class Module:
    """What a text means.

    ``plans`` are problems to search or schedules by hand. ``topologies`` are those that need no
    arguments, ``operators`` likewise. ``declared`` has the names of all that the text declares,
    by kind, in their order.
    """

    plans: tuple[Problem | Handwritten, ...]
    topologies: tuple[Topology, ...]
    operators: tuple[Operator, ...]
    warnings: tuple[Fault, ...]
    declared: tuple[tuple[str, tuple[str, ...]], ...]


@at_rest()
def load(source: Source, *, wary: bool = False) -> Module:
    """What a text means; raises ``InputError`` with all its faults.

    ``wary``: behind its other warnings stands what is legal but odd, in the order of its places.
    """
    recovered = recover(source)
    module = _module(_resolved(source, recovered))
    if not wary:
        return module
    odd = odd_text(recovered.document)
    incomplete = unfinished(recovered.document)
    for topology in module.topologies:
        odd += odd_machine(topology, topology.name in incomplete)
    own = [each for each in odd if each.span is None or each.span.source == source]
    return replace(module, warnings=(*module.warnings, *InputError(*own).faults))


@at_rest()
def on_file(source: Source, collective: str, arguments: tuple[str, ...]) -> Problem:
    """A collective from the command line on the last topology of a text that needs no arguments.

    A text without such a topology lends that of its last plan. ``arguments`` are texts such as
    ``sum``, ``0`` or ``root = 0``. Raises ``InputError``.
    """
    resolver = _resolved(source)
    topology = _last_topology(source, _module(resolver))
    return _asked(resolver, topology, collective, arguments)


@at_rest()
def on_source(source: Source) -> Topology:
    """The last topology of a text that needs no arguments, or its last plan's.

    Raises ``InputError``.
    """
    return _last_topology(source, load(source))


def _last_topology(source: Source, module: Module) -> Topology:
    if module.topologies:
        return module.topologies[-1]
    for plan in reversed(module.plans):
        return plan.topology if isinstance(plan, Problem) else plan.problem.topology
    raise InputError(
        Fault(f"{source.name} has no topology to run on", None, "a topology without arguments")
    )


@at_rest()
def problem(machine: str, collective: str, arguments: tuple[str, ...]) -> Problem:
    """A collective on a machine of the library, both as on a command line: ``torus(4, 4)``.

    Raises ``InputError``, whose places are in the text given.
    """
    resolver = _bare()
    topology = resolver.topology(parse_call(Source(_COMMAND, machine)))
    return _asked(resolver, topology, collective, arguments)


@at_rest()
def by_hand(
    schedule: str,
    *,
    machine: str | None = None,
    source: Source | None = None,
    op: str | None = None,
) -> Handwritten:
    """A schedule by hand from a text or the library, as a command line calls it: ``ring``.

    ``machine`` goes to the parameter that stands for the machine, ``op`` to the one called so.
    Raises ``InputError``.
    """
    resolver = _bare() if source is None else _resolved(source)
    call = parse_call(Source(_COMMAND, schedule))
    declaration = resolver.find("schedule", call.name)
    if resolver.report.faults or not isinstance(declaration, syntax.Schedule):
        raise InputError(*resolver.report.faults)
    known = [each.name.text for each in declaration.parameters]
    given = [each.name.text for each in call.arguments if each.name is not None]
    given += known[: len(call.arguments) - len(given)]
    stands = declaration.topology.name.text
    if machine is None and source is not None and stands in known and stands not in given:
        machine = _last_topology(source, _module(resolver)).name
    if machine is not None and stands not in known:
        raise InputError(
            Fault(
                f"schedule {call.name.text!r} has a machine of its own",
                None,
                f"its own: {stands}",
                "leave the machine out",
            )
        )
    for name, text in ((stands, machine), ("op", op)):
        if text is None:
            continue
        what = f"schedule {call.name.text!r}"
        if name in given:
            raise InputError(Fault(f"two values for {name!r} of {what}", None, "one"))
        if name not in known:
            raise InputError(Fault(f"{what} takes no {name}", None, "", f"leave --{name} out"))
        call = _with_argument(call, name, text)
    made = resolve_schedule(resolver, call)
    if resolver.report.faults or made is None:
        raise InputError(*resolver.report.faults)
    return made


def _with_argument(call: syntax.Call, name: str, text: str) -> syntax.Call:
    """A call with one argument more, which a command line has as a text."""
    source = Source(_COMMAND, f"value({text})")
    arguments = parse_call(source).arguments
    if len(arguments) != 1 or arguments[0].name is not None:
        raise InputError(Fault("not one value", Span(source, 6, 6 + len(text)), "one value"))
    value = arguments[0].value
    argument = syntax.Argument(syntax.Name(name, value.span), value, value.span)
    return replace(call, arguments=(*call.arguments, argument))


@at_rest()
def show(machine: str) -> Topology:
    """A machine of the library as on a command line; raises ``InputError``."""
    resolver = _bare()
    topology = resolver.topology(parse_call(Source(_COMMAND, machine)))
    if resolver.report.faults or topology is None:
        raise InputError(*resolver.report.faults)
    return topology


def parameters(collective: str, source: Source | None = None) -> tuple[str, ...]:
    """What a collective takes, in order: ``op`` for an operator, else the parameter's name.

    Looks into the text first, where there is one, then into the library. Raises ``InputError``.
    """
    resolver = _bare() if source is None else _resolved(source)
    call = parse_request(Source(_COMMAND, collective)).collective
    declaration = resolver.find("collective", call.name)
    if not isinstance(declaration, syntax.Collective):
        raise InputError(*resolver.report.faults)
    operators = operators_of(declaration)
    found = [each.name.text for each in declaration.parameters]
    return tuple("op" if name in operators else name for name in found)


def machines() -> tuple[str, ...]:
    """The machines of the library."""
    return names("topology")


def collectives() -> tuple[str, ...]:
    """The collectives of the library."""
    return names("collective")


def schedules() -> tuple[str, ...]:
    """The schedules by hand of the library."""
    return names("schedule")


def _asked(
    resolver: Resolver, topology: Topology | None, collective: str, arguments: tuple[str, ...]
) -> Problem:
    request = parse_request(Source(_COMMAND, collective))
    call = request.collective
    if arguments:
        given = parse_call(Source(_COMMAND, f"{call.name.text}({', '.join(arguments)})"))
        call = replace(given, arguments=(*call.arguments, *given.arguments))
    ranks = None if topology is None else len(topology.ranks)
    found, operator = resolver.collective(call, ranks, request.groups)
    if resolver.report.faults or topology is None or found is None:
        raise InputError(*resolver.report.faults)
    limits = Limits()
    if operator is not None and operator.struct is not None:
        limits = replace(limits, element=operator.struct.name)
    return Problem(topology, found, operator, limits)


def _bare() -> Resolver:
    """The library alone."""
    report = Report()
    return Resolver(Scopes(Source(_COMMAND, ""), report), report)


def _resolved(source: Source, recovered: Recovered | None = None) -> Resolver:
    """A text and its names; ``recovered`` is what was read of it, if that was done already."""
    recovered = recovered or recover(source)
    report = Report()
    for fault in recovered.faults:
        report.add(fault)
    scopes = Scopes(source, report)
    scopes.declare(source, recovered)
    plans = _plans(recovered)
    resolver = Resolver(scopes, report, plans, recovered.partial)
    resolver.check()
    return resolver


def _plans(recovered: Recovered) -> tuple[syntax.Plan, ...]:
    declarations = recovered.document.declarations
    return tuple(each for each in declarations if isinstance(each, syntax.Plan))


def _module(resolver: Resolver) -> Module:
    topologies = resolver.topologies()
    plans = resolver.tasks()
    if resolver.report.faults:
        raise InputError(*resolver.report.faults)
    scopes = resolver.scopes
    kinds = ("topology", "element", "operator", "collective", "schedule")
    return Module(
        plans,
        tuple(each for each in topologies.values() if each is not None),
        resolver.algebra.operators(),
        (*scopes.warnings, *resolver.machines.warnings),
        tuple((kind, tuple(each.name.text for each in scopes.own(kind))) for kind in kinds),
    )
