"""Machines by name: finds what a call of a topology means, and what the parts of it do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import syntax
from .algebra import as_call
from .calls import match_arguments, parameter_values, pass_on
from .derived import derive
from .drafts import ALL_LINKS, Draft, blame_unreached
from .faults import Report
from .imported import draw_imported
from .model import Topology
from .names import names_in
from .printer import render_call, render_expression
from .roles import DEPTH, Roles, parameters_of
from .topologies import draw_topology
from .units import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .layout import Layout
    from .source import Fault
    from .units import Value

Key = tuple[object, ...]
"""What tells one machine from another: its declaration, its name, and its parameters' values."""


@dataclass(frozen=True, slots=True)
class Built:
    """A machine, and which of its nodes a name means."""

    topology: Topology
    layout: Layout


@dataclass(frozen=True, slots=True)
class _Made:
    """A draft, and the call it came of with the worth of every name in it."""

    declaration: syntax.Machine
    name: str
    key: Key
    draft: Draft


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean: numbers, and machines that parameters stand for."""

    numbers: Mapping[str, Value] = field(default_factory=dict)
    machines: Mapping[str, _Made] = field(default_factory=dict)


@dataclass(slots=True)
class Machines:
    """Builds what calls of topologies name, each but once.

    ``find`` gives a declaration that holds for itself, or blames the name. What is wrong goes into
    ``report``; what the text of an import leaves open, into ``warnings``.
    """

    find: Callable[[syntax.Name], syntax.Machine | None]
    report: Report
    warnings: list[Fault] = field(default_factory=list)
    _drafts: dict[Key, tuple[Draft | None, Report]] = field(default_factory=dict)
    _built: dict[Key, tuple[Built | None, Report]] = field(default_factory=dict)
    _links: int = 0
    _within: list[syntax.Machine] = field(default_factory=list)
    _roles: Roles = field(init=False)

    def __post_init__(self) -> None:
        self._roles = Roles(self.find)

    def built(self, call: syntax.Call, scope: Mapping[str, Value] | None = None) -> Built | None:
        """The machine that a call names; ``scope`` is what names in its arguments mean.

        Every rank of it can be reached from every other.
        """
        if self._links > ALL_LINKS:
            return None  # That was said when they became too many.
        made = self._make(call, _Scope(scope or {}), self.report)
        if made is None:
            return None
        if made.key not in self._built:
            inner = Report()
            self._links += len(made.draft.links)
            if self._links > ALL_LINKS:
                message = "too many links in all machines; the rest is not built"
                inner.blame(message, call.span, f"at most {ALL_LINKS}")
            self._built[made.key] = (None if inner else _finished(made, inner)), inner
        built, inner = self._built[made.key]
        pass_on(inner, call, self.report)
        return built

    def remove(
        self,
        built: Built,
        connections: Sequence[syntax.Connection],
        scope: Mapping[str, Value] | None = None,
    ) -> Built | None:
        """A machine without some of its links and nodes; None and faults where it falls apart."""
        topology, span = built.topology, connections[0].span.to(connections[-1].span)
        links = {(link.src, link.dst): link for link in topology.links}
        draft = Draft(topology.ranks, topology.switches, links, built.layout)
        clause = syntax.Without(tuple(connections), (), None, span)
        left = derive(draft, (clause,), dict(scope or {}), self.report)
        if left is None or blame_unreached(left, self.report, span):
            return None
        rest = tuple(left.links.values())
        less = replace(topology, ranks=left.ranks, switches=left.switches, links=rest)
        return Built(less, left.layout)

    def check_partly(self, declaration: syntax.Topology) -> None:
        """Blame what is wrong in a text that lost statements to syntax faults."""
        call = syntax.Call(declaration.name, (), declaration.name.span)
        self._instance(declaration, call, _Scope(), self.report)

    # ----------------------------------------------------------------------------- making

    def _make(self, call: syntax.Call, scope: _Scope, report: Report) -> _Made | None:
        """What a call means in a scope; what is wrong with it goes into ``report``."""
        given = scope.machines.get(call.name.text)
        if given is not None:
            return given
        declaration = self.find(call.name)
        return None if declaration is None else self._instance(declaration, call, scope, report)

    def _instance(
        self, declaration: syntax.Machine, call: syntax.Call, scope: _Scope, report: Report
    ) -> _Made | None:
        """What a declaration describes for the arguments of a call."""
        if not self._may_enter(declaration, call, report):
            return None
        bound = match_arguments(parameters_of(declaration), call, "topology", report)
        if bound is None:
            return None
        before = len(report.faults)
        given = self._given(declaration, bound, scope, report)
        if len(report.faults) > before:
            return None
        inner = Report()
        self._within.append(declaration)
        try:
            values, assumed = self._values(declaration, bound, given, scope, report, inner)
            if inner.faults or len(report.faults) > before or values is None:
                pass_on(inner, call, report)
                return None
            name = _spelled(call, bound, values, scope)
            key = (id(declaration), name, *_worth(values))
            if key not in self._drafts:
                self._drafts[key] = self._draw(declaration, values, inner), inner
        finally:
            self._within.pop()
        draft, inner = self._drafts[key]
        pass_on(inner, call, report)
        if draft is None:
            return None
        return _Made(declaration, name, key, replace(draft, assumed=(*assumed, *draft.assumed)))

    def _draw(self, declaration: syntax.Machine, scope: _Scope, report: Report) -> Draft | None:
        """The machine, without what its own parameters were left to."""

        def machine(call: syntax.Call) -> Draft | None:
            made = self._make(call, scope, report)
            if made is not None and made.draft.depth >= DEPTH:
                _blame_depth(call, report)
                return None
            return None if made is None else made.draft

        numbers = dict(scope.numbers)
        if isinstance(declaration, syntax.Topology):
            return draw_topology(declaration, numbers, machine, report)
        if isinstance(declaration, syntax.Imported):
            # Straight to the user: these faults lie in a file of his, which no call stands for.
            return draw_imported(declaration, self.warnings, self.report)
        base = machine(declaration.base)
        if base is None:
            return None
        if declaration.parameters:
            prefix = declaration.base.name.text
            told = tuple((f"{prefix}.{name}", value) for name, value in base.assumed)
            base = replace(base, assumed=told)
        return derive(base, declaration.changes, numbers, report)

    def _may_enter(self, declaration: syntax.Machine, call: syntax.Call, report: Report) -> bool:
        """Blame a machine inside itself, and too many inside each other."""
        ids = [id(each) for each in self._within]
        if id(declaration) in ids:
            name = declaration.name.text
            circle = [each.name.text for each in self._within[ids.index(id(declaration)) :]]
            how = f": {' of '.join([*circle, name])}" if len(circle) > 1 else ""
            message = f"topology {name!r} is made of itself{how}"
            report.blame(message, call.span, "a machine made of others, never of itself")
            return False
        if len(ids) > DEPTH:
            _blame_depth(call, report)
            return False
        return True

    # ------------------------------------------------------------------------- parameters

    def _values(
        self,
        declaration: syntax.Machine,
        bound: dict[str, syntax.Argument],
        given: dict[str, _Made],
        outer: _Scope,
        report: Report,
        inner: Report,
    ) -> tuple[_Scope | None, tuple[tuple[str, str], ...]]:
        """What the parameters are worth, and which were left to their defaults, in order."""
        parameters = parameters_of(declaration)
        wanted = self._roles.machines(declaration)
        plain = [each for each in parameters if each.name.text not in wanted]
        numbers, left = parameter_values(plain, bound, report, inner, outer.numbers)
        assumed = dict(left)
        machines = dict(given)
        for each in parameters:
            name = each.name.text
            if name in wanted and name not in bound and each.default is not None:
                made = self._machine(each.default, _Scope(), inner)
                if made is not None:
                    machines[name] = made
                    assumed[name] = made.name
        names = [each.name.text for each in parameters if each.name.text in assumed]
        scope = _Scope(numbers, machines) if wanted <= machines.keys() else None
        return scope, tuple((name, assumed[name]) for name in names)

    def _given(
        self,
        declaration: syntax.Machine,
        bound: dict[str, syntax.Argument],
        scope: _Scope,
        report: Report,
    ) -> dict[str, _Made]:
        """The machines among a call's arguments; blames those that stand for numbers."""
        wanted = self._roles.machines(declaration)
        given: dict[str, _Made] = {}
        for name, argument in bound.items():
            value = argument.value
            if name in wanted:
                made = self._machine(value, scope, report)
                if made is not None:
                    given[name] = made
            elif isinstance(value, syntax.Name) and value.text in scope.machines:
                message = f"the machine {value.text!r} where a number is needed"
                report.blame(message, value.span, "a number")
        return given

    def _machine(self, value: syntax.Expression, scope: _Scope, report: Report) -> _Made | None:
        """The machine that an argument or a default names."""
        call = as_call(value)
        if call is None or (isinstance(value, syntax.Name) and value.text in scope.numbers):
            message = "a value where a machine is needed"
            report.blame(message, value.span, "a topology, as in: torus(4, 4)")
            return None
        return self._make(call, scope, report)


def _blame_depth(call: syntax.Call, report: Report) -> None:
    report.blame("too many machines inside each other", call.span, f"at most {DEPTH} levels")


def _finished(made: _Made, report: Report) -> Built | None:
    """The machine for use, if every rank reaches every other."""
    declaration, draft = made.declaration, made.draft
    span = None if isinstance(declaration, syntax.Topology) else declaration.name.span
    if blame_unreached(draft, report, span):
        return None
    links = tuple(draft.links.values())
    topology = Topology(made.name, draft.ranks, draft.switches, links, draft.assumed)
    return Built(topology, draft.layout)


def _spelled(
    call: syntax.Call, bound: dict[str, syntax.Argument], values: _Scope, outer: _Scope
) -> str:
    """The call as its caller would write it who has no names: ``torus(8, 8)``."""
    if not outer.numbers and not outer.machines:
        return render_call(call)
    shown: list[str] = []
    for name, argument in bound.items():
        if name in values.machines:
            text = values.machines[name].name
        elif names_in(argument.value):
            text = show(values.numbers[name])
        else:
            text = render_expression(argument.value)
        shown.append(text if argument.name is None else f"{name} = {text}")
    return f"{call.name.text}({', '.join(shown)})" if shown else call.name.text


def _worth(scope: _Scope) -> Key:
    numbers = ((name, type(value), value) for name, value in scope.numbers.items())
    return (*numbers, *((name, made.key) for name, made in scope.machines.items()))
