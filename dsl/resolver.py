"""Syntax to model: finds what names mean, gives parameters their values, gathers every fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from . import syntax
from .calls import match_arguments, parameter_values
from .collectives import build_collective, check_collective, operators_of
from .faults import Report, unknown
from .model import Problem
from .names import check_topology
from .operators import build_operator
from .plans import build_limits
from .printer import render_call
from .source import Fault
from .standard import names as library_names
from .standard import standard
from .topologies import build_topology

if TYPE_CHECKING:
    from .model import Collective, Limits, Operator, Topology

D = TypeVar("D", syntax.Topology, syntax.Operator, syntax.Collective)
_TYPES: dict[str, type] = {
    "topology": syntax.Topology,
    "operator": syntax.Operator,
    "collective": syntax.Collective,
}


@dataclass(slots=True)
class Resolver:
    """The declarations of one text over those of the library.

    ``broken`` are declarations with syntax faults, as (keyword, name): what refers to them is not
    blamed again. Those that start at an offset in ``partial`` are checked as far as they go.
    """

    document: syntax.Document
    broken: frozenset[tuple[str, str]] = frozenset()
    partial: frozenset[int] = frozenset()
    report: Report = field(default_factory=Report)
    warnings: list[Fault] = field(default_factory=list)
    _own: dict[tuple[str, str], syntax.Declaration] = field(default_factory=dict)
    _sound: dict[tuple[str, str, bool], bool] = field(default_factory=dict)
    _operators: dict[tuple[str, bool], Operator | None] = field(default_factory=dict)
    _machines: dict[str, tuple[Topology | None, Report]] = field(default_factory=dict)

    # ----------------------------------------------------------------------- declarations

    def declare(self) -> None:
        """Note the text's declarations, blame those that clash, and check each for itself."""
        for declaration in self.document.declarations:
            if isinstance(declaration, syntax.Use):
                self.report.blame(
                    "this version does not have 'use'",
                    declaration.span,
                    remedy="copy the declarations into this file",
                )
            if isinstance(declaration, syntax.Use | syntax.Plan):
                continue
            kind, name = _kind(declaration), declaration.name
            known = self._own.get((kind, name.text))
            if known is not None:
                line, column = name.span.source.place(known.span.start)
                self.report.blame(
                    f"{kind} {name.text!r} is declared twice",
                    name.span,
                    f"one {kind} of a name; the first stands at {line}:{column}",
                )
                continue
            self._own[kind, name.text] = declaration
            if standard(kind, name.text) is not None:
                self.warnings.append(
                    Fault(
                        f"{kind} {name.text!r} takes the place of the library's",
                        name.span,
                        remedy="give it another name if that is not meant",
                    )
                )
        for declaration in self._own.values():
            self._check(declaration)

    def names(self, kind: str) -> tuple[str, ...]:
        """What the text itself declares of a kind, in order."""
        return tuple(name for each, name in self._own if each == kind)

    def _check(self, declaration: syntax.Declaration) -> bool:
        """Whether a declaration holds for itself; blamed once."""
        kind, name = _kind(declaration), declaration.name.text  # type: ignore[union-attr]
        key = (kind, name, self._own.get((kind, name)) is declaration)
        if key not in self._sound:
            before = len(self.report.faults)
            if isinstance(declaration, syntax.Topology):
                check_topology(declaration, self.report)
            elif isinstance(declaration, syntax.Collective):
                check_collective(declaration, self.report)
            elif isinstance(declaration, syntax.Operator):
                self._operators[name, key[2]] = build_operator(declaration, self.report)
            self._sound[key] = len(self.report.faults) == before
        return self._sound[key]

    def find(self, kind: str, type_: type[D], name: syntax.Name) -> D | None:
        """The declaration that a name means: the text's own, else the library's."""
        if (kind, name.text) in self.broken:
            return None
        found = self._own.get((kind, name.text))
        if found is None:
            found = standard(kind, name.text)
            if found is None:
                known = [*self.names(kind), *library_names(kind)]
                self.report.add(unknown(kind, name.text, name.span, known))
        if isinstance(found, type_) and self._check(found):
            return found
        return None

    # -------------------------------------------------------------------------- instances

    def topologies(self) -> dict[str, Topology | None]:
        """Every topology of the text that needs no arguments; None where it has faults."""
        result: dict[str, Topology | None] = {}
        for declaration in self._own.values():
            if not isinstance(declaration, syntax.Topology):
                continue
            if any(each.default is None for each in declaration.parameters):
                continue
            call = syntax.Call(declaration.name, (), declaration.name.span)
            if declaration.span.start not in self.partial:
                result[declaration.name.text] = self.topology(call)
            elif self._check(declaration):
                inner = Report()
                scope, _ = parameter_values(declaration.parameters, {}, self.report, inner)
                if not inner.faults:
                    build_topology(declaration, "", scope, (), self.report, whole_text=False)
        return result

    def topology(self, call: syntax.Call) -> Topology | None:
        """The machine that a call names."""
        declaration = self.find("topology", syntax.Topology, call.name)
        if declaration is None:
            return None
        bound = match_arguments(declaration.parameters, call, "topology", self.report)
        if bound is None:
            return None
        before = len(self.report.faults)
        inner = Report()
        scope, assumed = parameter_values(declaration.parameters, bound, self.report, inner)
        if inner.faults or len(self.report.faults) > before:
            self._pass_on(inner, call)
            return None
        name = render_call(call)
        if name not in self._machines:
            topology = build_topology(declaration, name, scope, assumed, inner)
            self._machines[name] = (topology, inner)
        topology, inner = self._machines[name]
        self._pass_on(inner, call)
        return topology

    def _pass_on(self, inner: Report, call: syntax.Call) -> None:
        """Blame the call, not the library's text, for what came of the call's arguments."""
        own = call.span.source
        for fault in inner.faults:
            if fault.span is None or fault.span.source is not own:
                name = render_call(call)
                self.report.blame(
                    f"{name}: {fault.message}", call.span, fault.expected, fault.remedy
                )
            elif call.arguments:
                message = f"{fault.message}, in {render_call(call)}"
                self.report.blame(message, fault.span, fault.expected, fault.remedy)
            else:
                self.report.add(fault)

    def collective(
        self, call: syntax.Call, ranks: int | None
    ) -> tuple[Collective | None, Operator | None]:
        """What a call of a collective means over so many ranks (None: unknown, check only)."""
        declaration = self.find("collective", syntax.Collective, call.name)
        if declaration is None:
            return None, None
        bound = match_arguments(declaration.parameters, call, "collective", self.report)
        if bound is None:
            return None, None
        before = len(self.report.faults)
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
                operator = self._operator(argument)
        plain = tuple(each for each in declaration.parameters if each.name.text not in names)
        inner = Report()
        scope, _ = parameter_values(plain, bound, self.report, inner)
        self._pass_on(inner, call)
        for name, value in scope.items():
            argument = bound.get(name)
            if type(value) is not int and argument is not None:
                self.report.blame(
                    f"{name!r} is not a whole number", argument.span, "a whole number"
                )
        if ranks is None or len(self.report.faults) > before or (names and operator is None):
            return None, None
        arguments = (
            *([operator.name] if operator is not None else []),
            *(str(scope[each.name.text]) for each in plain),
        )
        inner = Report()
        collective = build_collective(declaration, arguments, scope, ranks, inner)
        self._pass_on(inner, call)
        return collective, operator

    def _operator(self, argument: syntax.Argument) -> Operator | None:
        if not isinstance(argument.value, syntax.Name):
            known = [*self.names("operator"), *library_names("operator")]
            self.report.blame(
                "a value where an operator is needed",
                argument.value.span,
                f"one of {', '.join(sorted(set(known)))}",
            )
            return None
        declaration = self.find("operator", syntax.Operator, argument.value)
        if declaration is None:
            return None
        own = self._own.get(("operator", argument.value.text)) is declaration
        return self._operators[argument.value.text, own]

    def problem(self, wanted: syntax.Synthesize, limits: Limits) -> Problem | None:
        """The whole question, or None and faults."""
        topology = self.topology(wanted.topology)
        ranks = None if topology is None else len(topology.ranks)
        collective, operator = self.collective(wanted.collective, ranks)
        if topology is None or collective is None:
            return None
        return Problem(topology, collective, operator, limits)

    def plans(self) -> tuple[Problem, ...]:
        """Every plan of the text that has no faults."""
        problems = []
        for plan in self.document.declarations:
            if isinstance(plan, syntax.Plan):
                partial = plan.span.start in self.partial
                wanted, limits = build_limits(plan, self.report, partial)
                problem = self.problem(wanted, limits) if wanted is not None else None
                if problem is not None:
                    problems.append(problem)
        return tuple(problems)


def _kind(declaration: syntax.Declaration) -> str:
    return next(kind for kind, type_ in _TYPES.items() if isinstance(declaration, type_))
