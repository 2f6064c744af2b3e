"""A topology's text with values for its parameters, made into the model."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from . import syntax
from .faults import BlamedError, LimitError
from .loops import Allowance, Loops
from .model import Link, Rank, Switch, Topology
from .speeds import read_bandwidth, read_count, read_latency
from .values import whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from .faults import Report
    from .source import Fault, Span
    from .values import Scope

T = TypeVar("T")

NODES = 65_536
"""Most ranks and switches of a topology."""
LINKS = 1_000_000
"""Most directed links of a topology."""


def build_topology(
    declaration: syntax.Topology,
    name: str,
    scope: Scope,
    assumed: tuple[tuple[str, str], ...],
    report: Report,
    whole_text: bool = True,
) -> Topology | None:
    """The machine that a declaration describes for these parameters, or None and faults.

    ``name`` is what the machine is called, ``assumed`` what its parameters were left to. Without
    its whole text (a link is unreadable) the rest is checked, but there is no machine.
    """
    build = _Build(declaration, scope, report)
    if not build.nodes() or not build.join() or not whole_text:
        return None
    if build.silent:
        assumed = (*assumed, ("latency", "0 s"))
    if not build.connected():
        return None
    return Topology(
        name, tuple(build.ranks), tuple(build.switches), tuple(build.links.values()), assumed
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Nodes that share a name: the number of the first, and how many along each index."""

    first: int
    shape: tuple[int, ...]


@dataclass(slots=True)
class _Build:
    declaration: syntax.Topology
    scope: Scope
    report: Report
    ranks: list[Rank] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    groups: dict[str, _Group] = field(default_factory=dict)
    links: dict[tuple[int, int], Link] = field(default_factory=dict)
    allowance: Allowance = field(default_factory=Allowance)
    silent: bool = False

    # ------------------------------------------------------------------------------ nodes

    def nodes(self) -> bool:
        """Number the ranks, then the switches."""
        before = len(self.report.faults)
        shapes: list[tuple[syntax.Ranks | syntax.Switches, syntax.Item, tuple[int, ...]]] = []
        total = 0
        for statement in self.declaration.statements:
            if isinstance(statement, syntax.Link):
                continue
            for group in statement.groups:
                shape = self._shape(group)
                if shape is None:
                    continue
                size = 1
                for extent in shape:
                    size *= extent
                total += size
                if total > NODES:
                    self.report.blame(f"{total} ranks and switches", group.span, f"at most {NODES}")
                    return False
                shapes.append((statement, group, shape))
        for statement, group, shape in shapes:
            if isinstance(statement, syntax.Ranks):
                self.groups[group.name.text] = _Group(len(self.ranks), shape)
                self.ranks += [Rank(name, group.span) for name in _names(group, shape)]
        for statement, group, shape in shapes:
            if isinstance(statement, syntax.Switches):
                first = len(self.ranks) + len(self.switches)
                self.groups[group.name.text] = _Group(first, shape)
                abilities = {ability.text for ability in statement.abilities}
                self.switches += [
                    Switch(name, "multicast" in abilities, "reduce" in abilities, group.span)
                    for name in _names(group, shape)
                ]
        if not self.ranks and len(self.report.faults) == before:
            self.report.blame(
                f"topology {self.declaration.name.text!r} has no ranks",
                self.declaration.name.span,
                "at least one rank, as in: ranks gpu[8]",
            )
        return len(self.report.faults) == before

    def _shape(self, group: syntax.Item) -> tuple[int, ...] | None:
        shape = []
        for index in group.indices:
            try:
                size = whole(index, self.scope, f"the size of {group.name.text!r}")
            except BlamedError as error:
                self.report.add(error.fault)
                continue
            if size < 1:
                self.report.blame(
                    f"the size of {group.name.text!r} is {size}", index.span, "1 or more"
                )
                continue
            shape.append(size)
        return tuple(shape) if len(shape) == len(group.indices) else None

    # ------------------------------------------------------------------------------ links

    def join(self) -> bool:
        """Lay every link."""
        before = len(self.report.faults)
        for statement in self.declaration.statements:
            if isinstance(statement, syntax.Link):
                try:
                    self._lay(statement)
                except BlamedError as error:
                    self.report.add(error.fault)
        return len(self.report.faults) == before

    def _lay(self, statement: syntax.Link) -> None:
        blamed: set[Span] = set()
        loops = Loops(statement.loops, statement.guard, self.allowance)
        for scope in loops.run(self.scope):
            for fault in self._pair(statement, scope):
                # One message a place: the loop would say the same of every turn.
                span = fault.span
                if span is not None and span not in blamed:
                    blamed.add(span)
                    where = loops.where(scope)
                    self.report.blame(fault.message + where, span, fault.expected, fault.remedy)
        loops.blame_empty(self.report)

    def _pair(self, statement: syntax.Link, scope: Scope) -> list[Fault]:
        """Lay one turn's links; what is wrong with each part of the statement."""
        faults: list[Fault] = []

        def read(part: Callable[..., T], *values: object) -> T | None:
            try:
                return part(*values)
            except LimitError:
                raise
            except BlamedError as error:
                faults.append(error.fault)
                return None

        src = read(self._node, statement.src, scope)
        dst = read(self._node, statement.dst, scope)
        count = read(read_count, statement, scope)
        bandwidth = read(read_bandwidth, statement, scope)
        latency = read(read_latency, statement, scope)
        self.silent |= statement.latency is None
        if src is None or dst is None:
            return faults
        read(self._check_ends, statement, src, dst)
        if count is None or bandwidth is None or latency is None or faults:
            return faults
        read(self._link, statement, src, dst, count, bandwidth, latency)
        if statement.both and not faults:
            read(self._link, statement, dst, src, count, bandwidth, latency)
        return faults

    def _check_ends(self, statement: syntax.Link, src: int, dst: int) -> None:
        if src == dst:
            raise BlamedError(
                f"a link from {self._called(src)} to itself",
                statement.span,
                "two nodes that differ",
                "leave such turns of a loop out with a guard: if i != j",
            )

    def _link(
        self,
        statement: syntax.Link,
        src: int,
        dst: int,
        count: int,
        bandwidth: Fraction,
        latency: Fraction,
    ) -> None:
        known = self.links.get((src, dst))
        if known is not None and known.span is not None:
            line, column = known.span.source.place(known.span.start)
            same = known.span == statement.span
            raise BlamedError(
                f"duplicate link {self._called(src)} -> {self._called(dst)}",
                statement.span,
                "one link from a node to another; the first "
                + ("comes from the same statement" if same else "stands")
                + f" at {line}:{column}",
                "write parallel links as x2",
            )
        if len(self.links) >= LINKS:
            raise LimitError("too many links", statement.span, f"at most {LINKS}")
        self.links[src, dst] = Link(src, dst, count, bandwidth, latency, statement.span)

    def _node(self, node: syntax.Item, scope: Scope) -> int:
        group = self.groups[node.name.text]
        number = 0
        for index, size in zip(node.indices, group.shape, strict=True):
            at = whole(index, scope, "an index")
            if not 0 <= at < size:
                raise BlamedError(
                    f"index {at} of {node.name.text!r} is out of range",
                    index.span,
                    f"0 to {size - 1}" if size > 1 else "0",
                )
            number = number * size + at
        return group.first + number

    def _called(self, node: int) -> str:
        ranks = len(self.ranks)
        return self.ranks[node].name if node < ranks else self.switches[node - ranks].name

    # ----------------------------------------------------------------------- reachability

    def connected(self) -> bool:
        """Blame ranks that another rank cannot reach."""
        forward: dict[int, list[int]] = {}
        backward: dict[int, list[int]] = {}
        for src, dst in self.links:
            forward.setdefault(src, []).append(dst)
            backward.setdefault(dst, []).append(src)
        for ways, outward in ((forward, True), (backward, False)):
            lost = self._missing(ways)
            if lost:
                self._blame_lost(lost, outward)
                return False
        return True

    def _blame_lost(self, lost: list[int], outward: bool) -> None:
        first, other = self.ranks[0].name, self.ranks[lost[0]].name
        src, dst = (first, other) if outward else (other, first)
        more = f" (nor {len(lost) - 1} more)" if len(lost) > 1 else ""
        span = self.ranks[lost[0]].span or self.declaration.name.span
        self.report.blame(
            f"no links lead from {src} to {dst}" + (more if outward else ""),
            span,
            "every rank can be reached from every other",
            f"add a link {'to' if outward else 'from'} {other}",
        )

    def _missing(self, ways: dict[int, list[int]]) -> list[int]:
        seen = {0}
        todo = deque(seen)
        while todo:
            for node in ways.get(todo.popleft(), ()):
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return [rank for rank in range(len(self.ranks)) if rank not in seen]


def _names(group: syntax.Item, shape: tuple[int, ...]) -> list[str]:
    """The names of a group's nodes in the order of their numbers: ``chip[1, 2]``."""
    if not shape:
        return [group.name.text]
    places = product(*map(range, shape))
    return [f"{group.name.text}[{', '.join(map(str, place))}]" for place in places]
