"""Which parameters of a topology stand for machines, and which for numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import syntax
from .algebra import as_call
from .calls import match_arguments
from .faults import Report
from .nodes import called_machines

if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH = 16
"""Most levels of machines inside machines."""


def parameters_of(declaration: syntax.Machine) -> tuple[syntax.Parameter, ...]:
    """The parameters of a topology; an import has none."""
    return () if isinstance(declaration, syntax.Imported) else declaration.parameters


@dataclass(slots=True)
class Roles:
    """What parameters are for; ``find`` gives the declaration that a name means, or blames it."""

    find: Callable[[syntax.Name], syntax.Machine | None]
    _known: dict[int, frozenset[str]] = field(default_factory=dict)

    def machines(self, declaration: syntax.Machine) -> frozenset[str]:
        """The parameters that stand for machines: those that parts or a base are made of, and
        those handed on to such a parameter of another topology.
        """
        if id(declaration) not in self._known:
            self._known[id(declaration)] = self._machines(declaration, 4 * DEPTH)
        return self._known[id(declaration)]

    def _machines(self, declaration: syntax.Machine, depth: int) -> frozenset[str]:
        # Who nests deeper than that, or in a circle, is blamed when the machine is built.
        if isinstance(declaration, syntax.Imported) or not declaration.parameters or not depth:
            return frozenset()
        names = {each.name.text for each in declaration.parameters}
        found: set[str] = set()
        for call in called_machines(declaration):
            self._handed_on(call, names, found, depth)
        return frozenset(found)

    def _handed_on(self, call: syntax.Call, names: set[str], found: set[str], depth: int) -> None:
        """Find the parameters that a call hands on as machines, or is itself."""
        if call.name.text in names:
            found.add(call.name.text)
            return
        if not any(as_call(each.value) for each in call.arguments):
            return
        callee = self.find(call.name)
        if callee is None:
            return
        wanted = self._machines(callee, depth - 1)
        bound = match_arguments(parameters_of(callee), call, "topology", Report()) or {}
        for name, argument in bound.items():
            inner = as_call(argument.value)
            if name in wanted and inner is not None:
                self._handed_on(inner, names, found, depth)
