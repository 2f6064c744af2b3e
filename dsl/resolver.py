"""Syntax to model: finds what names mean, gives parameters their values, gathers every fault."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import syntax
from .algebra import Algebra
from .calls import match_arguments, parameter_values, pass_on
from .collective_checks import check_collective, operators_of
from .collectives import build_collective
from .faults import Report
from .groups import build_groups, check_groups
from .handwriting import check_call, resolve_schedule
from .machines import Machines
from .model import Problem
from .nodes import check_topology
from .plans import build_limits, settle_element

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .machines import Built
    from .model import Collective, Handwritten, Operator, Topology
    from .scopes import Scopes
    from .units import Value


@dataclass(slots=True)
class Resolver:
    """The declarations of a text and of the files it uses, over those of the library.

    ``partial`` are the offsets of the main text's declarations that lost a statement to a syntax
    fault: they are checked as far as they go.
    """

    scopes: Scopes
    report: Report
    plans: tuple[syntax.Plan, ...] = ()
    partial: frozenset[int] = frozenset()
    machines: Machines = field(init=False)
    algebra: Algebra = field(init=False)
    _sound: dict[int, tuple[syntax.Named, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.machines = Machines(self._machine, self.report)
        self.algebra = Algebra(self.find, self.scopes, self.report)

    def check(self) -> None:
        """Check every declaration of the texts for itself."""
        for declaration in self.scopes.declared():
            self._check(declaration)

    def _check(self, declaration: syntax.Named) -> bool:
        """Whether a declaration holds for itself; blamed once."""
        known = self._sound.get(id(declaration))
        if known is not None:
            return known[1]
        # A declaration that meets itself on the way is not its own fault.
        self._sound[id(declaration)] = declaration, True
        before = len(self.report.faults)
        match declaration:
            case syntax.Topology() | syntax.Derived() | syntax.Imported():
                check_topology(declaration, self.report)
            case syntax.Collective():
                check_collective(declaration, self.report)
            case syntax.Struct() | syntax.Operator():
                self.algebra.check(declaration)
            case syntax.Schedule():
                check_call(self, declaration)
        sound = len(self.report.faults) == before
        self._sound[id(declaration)] = declaration, sound
        return sound

    def find(self, kind: str, name: syntax.Name) -> syntax.Named | None:
        """What a name means, if it is there and holds for itself."""
        found = self.scopes.find(kind, name)
        return found if found is not None and self._check(found) else None

    def _machine(self, name: syntax.Name) -> syntax.Machine | None:
        found = self.find("topology", name)
        if isinstance(found, syntax.Topology | syntax.Derived | syntax.Imported):
            return found
        return None

    # ----------------------------------------------------------------------------- machines

    def topologies(self) -> dict[str, Topology | None]:
        """Every topology of the main text that needs no arguments; None where it has faults."""
        result: dict[str, Topology | None] = {}
        for declaration in self.scopes.own("topology"):
            parameters = getattr(declaration, "parameters", ())
            if any(each.default is None for each in parameters):
                continue
            if declaration.span.start in self.partial:
                if isinstance(declaration, syntax.Topology) and self._check(declaration):
                    self.machines.check_partly(declaration)
                continue
            call = syntax.Call(declaration.name, (), declaration.name.span)
            result[declaration.name.text] = self.topology(call)
        return result

    def topology(self, call: syntax.Call) -> Topology | None:
        """The machine that a call names."""
        built = self.machines.built(call)
        return None if built is None else built.topology

    # -------------------------------------------------------------------------- collectives

    def collective(
        self,
        call: syntax.Call,
        ranks: int | None,
        groups: syntax.Groups | None = None,
        scope: Mapping[str, Value] | None = None,
    ) -> tuple[Collective | None, Operator | None]:
        """What a call of a collective means over so many ranks (None: unknown, check only).

        ``scope`` is what names in its arguments mean.
        """
        declaration = self.find("collective", call.name)
        if not isinstance(declaration, syntax.Collective):
            return None, None
        before = len(self.report.faults)
        bound = match_arguments(declaration.parameters, call, "collective", self.report)
        if bound is None:
            return None, None
        names = operators_of(declaration)
        if len(names) > 1:
            self.report.blame(
                f"collective {call.name.text!r} has {len(names)} operators",
                call.span,
                "at most one",
            )
        operator = None
        for name in names:
            argument = bound.get(name)
            if argument is not None:
                operator = self.algebra.operator(argument.value, scope)
        plain = tuple(each for each in declaration.parameters if each.name.text not in names)
        inner = Report()
        values, _ = parameter_values(plain, bound, self.report, inner, scope)
        pass_on(inner, call, self.report)
        for name, value in values.items():
            argument = bound.get(name)
            if type(value) is not int and argument is not None:
                self.report.blame(
                    f"{name!r} is not a whole number", argument.span, "a whole number"
                )
        if groups is not None:
            check_groups(groups, scope or {}, self.report)
        if ranks is None or len(self.report.faults) > before or (names and operator is None):
            return None, None
        within = build_groups(groups, ranks, dict(scope or {}), self.report) if groups else ()
        if within is None:
            return None, None
        _require_folds(declaration, operator, call, self.report)
        arguments = (
            *([str(operator)] if operator is not None else []),
            *(str(values[each.name.text]) for each in plain),
        )
        inner = Report()
        collective = build_collective(declaration, arguments, values, ranks, inner, within)
        pass_on(inner, call, self.report)
        if len(self.report.faults) > before:
            return None, None
        return collective, operator

    # -------------------------------------------------------------------------------- plans

    def forbidding(self, built: Built, plan: syntax.Plan) -> Built | None:
        """The machine without the links that a plan forbids."""
        for option in plan.options:
            if isinstance(option, syntax.Forbid):
                less = self.machines.remove(built, option.connections)
                if less is None:
                    return None
                built = less
        return built

    def tasks(self) -> tuple[Problem | Handwritten, ...]:
        """What every plan of the main text asks for, as far as it has no faults."""
        asked = map(self._task, self.plans)
        return tuple(task for task in asked if task is not None)

    def _task(self, plan: syntax.Plan) -> Problem | Handwritten | None:
        wanted, limits = build_limits(plan, self.report, plan.span.start in self.partial)
        if isinstance(wanted, syntax.Run):
            made = resolve_schedule(self, wanted.schedule, limits, plan)
            return (
                None if made is None else replace(made, problem=self._settled(plan, made.problem))
            )
        if wanted is None:
            return None
        built = self.machines.built(wanted.topology)
        if built is not None:
            built = self.forbidding(built, plan)
        ranks = None if built is None else len(built.topology.ranks)
        collective, operator = self.collective(wanted.collective, ranks, wanted.groups)
        if built is None or collective is None:
            return None
        return self._settled(plan, Problem(built.topology, collective, operator, limits))

    def _settled(self, plan: syntax.Plan, problem: Problem) -> Problem:
        """The problem with its element and with what its plan forbade."""
        operator = problem.operator
        struct = None if operator is None else operator.struct
        names = self.scopes.names("element", plan.span.source)
        limits = settle_element(plan, problem.limits, struct, names, self.report)
        return replace(problem, limits=replace(limits, forbidden=_forbidden(plan)))


def _forbidden(plan: syntax.Plan) -> tuple[tuple[str, str], ...]:
    """The links that a plan forbids, as it wrote them."""
    found: list[tuple[str, str]] = []
    for option in plan.options:
        for each in option.connections if isinstance(option, syntax.Forbid) else ():
            texts = [
                end.span.source.text[end.span.start : end.span.end]
                for end in (each.src, each.dst or each.src)
            ]
            found.append((texts[0], texts[1]))
            if each.both:
                found.append((texts[1], texts[0]))
    return tuple(found)


def _require_folds(
    declaration: syntax.Collective, operator: Operator | None, call: syntax.Call, report: Report
) -> None:
    """Blame an operator that prepares or finishes where a wanted value is a plain copy."""
    if operator is None or not (operator.prepare or operator.finish):
        return
    wants = [each for each in declaration.statements if isinstance(each, syntax.Want)]
    if any(isinstance(each.value, syntax.Item) for each in wants):
        report.blame(
            f"operator {operator} changes values, and {call.name.text!r} also wants plain copies",
            call.span,
            "a collective whose wanted values all combine",
            "take an operator without 'prepare' and 'finish'",
        )
