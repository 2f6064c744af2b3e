"""The structs and operators of the texts: each built once, when it is first called for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import syntax
from .calls import match_arguments, pass_on
from .faults import BlamedError, Report
from .operators import build_operator, check_operator
from .structs import build_struct
from .values import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from .model import Operator, Struct
    from .scopes import Scopes
    from .units import Value


@dataclass(slots=True)
class Algebra:
    """``find`` gives the declaration of a kind and name, where it holds for itself."""

    find: Callable[[str, syntax.Name], syntax.Named | None]
    scopes: Scopes
    report: Report
    _structs: dict[int, Struct | None] = field(default_factory=dict)
    _operators: dict[tuple[int, tuple[Fraction, ...]], Operator | None] = field(
        default_factory=dict
    )

    def check(self, declaration: syntax.Struct | syntax.Operator) -> None:
        """Build a declaration; an operator that takes numbers is tried with a few."""
        if isinstance(declaration, syntax.Struct):
            self._structs[id(declaration)] = build_struct(declaration, self.report)
            return
        if declaration.numbers:
            check_operator(declaration, self.struct, self.report)
        else:
            self._build(declaration, {}, self.report)

    def struct(self, name: syntax.Name) -> Struct | None:
        """The struct that a name means."""
        found = self.find("element", name)
        return self._structs.get(id(found)) if found is not None else None

    def operators(self) -> tuple[Operator, ...]:
        """Those that the main text declares, without the ones that take numbers."""
        found = [self._operators.get((id(each), ())) for each in self.scopes.own("operator")]
        return tuple(operator for operator in found if operator is not None)

    def operator(
        self, value: syntax.Expression, scope: Mapping[str, Value] | None = None
    ) -> Operator | None:
        """The operator that an argument names: ``sum``, ``premulsum(0.5)``."""
        call = as_call(value)
        if call is None:
            self.report.blame(
                "a value where an operator is needed",
                value.span,
                f"one of {', '.join(self.scopes.names('operator', value.span.source))}",
            )
            return None
        declaration = self.find("operator", call.name)
        if not isinstance(declaration, syntax.Operator):
            return None
        bound = match_arguments(declaration.numbers, call, "operator", self.report)
        if bound is None:
            return None
        numbers: dict[str, Fraction] = {}
        for parameter in declaration.numbers:
            name = parameter.name.text
            given = bound[name].value if name in bound else parameter.default
            assert given is not None
            try:
                numbers[name] = number(given, scope or {}, repr(name))
            except BlamedError as error:
                self.report.add(error.fault)
        if len(numbers) < len(declaration.numbers):
            return None
        inner = Report()
        operator = self._build(declaration, numbers, inner)
        pass_on(inner, call, self.report)
        return operator

    def _build(
        self, declaration: syntax.Operator, arguments: Mapping[str, Fraction], report: Report
    ) -> Operator | None:
        key = id(declaration), tuple(arguments.values())
        if key not in self._operators:
            self._operators[key] = build_operator(declaration, arguments, self.struct, report)
        return self._operators[key]


def as_call(value: syntax.Expression) -> syntax.Call | None:
    """A declared thing that stands as an argument: ``hgx_h100``, ``premulsum(0.5)``."""
    if isinstance(value, syntax.Name):
        return syntax.Call(value, (), value.span)
    if isinstance(value, syntax.Apply):
        arguments = tuple(syntax.Argument(None, each, each.span) for each in value.arguments)
        return syntax.Call(value.function, arguments, value.span)
    return None
