"""A topology's own text with values for its parameters: nodes, parts and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from . import drafts, syntax
from .drafts import Draft
from .faults import BlamedError
from .indices import names
from .layout import Group, Instances, Layout
from .loops import Allowance, Loops
from .model import Link, Rank, Switch
from .values import whole
from .wiring import Wiring, too_many_links

if TYPE_CHECKING:
    from collections.abc import Callable

    from .faults import Report
    from .values import Scope


def draw_topology(
    declaration: syntax.Topology,
    scope: Scope,
    machine: Callable[[syntax.Call], Draft | None],
    report: Report,
) -> Draft | None:
    """What a declaration describes for these parameters, or None and faults.

    ``machine`` builds the machine of a part, and blames what is wrong with it. What the drawing
    assumes is in it; what its own parameters were left to is not.
    """
    build = _Build(declaration, scope, machine, report)
    return build.draft() if build.arrange() and build.join() else None


@dataclass(frozen=True, slots=True)
class _Piece:
    """One group or part: what declares it, its shape, and the machine of a part."""

    statement: syntax.Ranks | syntax.Switches | syntax.Part
    group: syntax.Item
    shape: tuple[int, ...]
    inner: Draft | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def ranks(self) -> int:
        own = isinstance(self.statement, syntax.Ranks)
        return self.size * (own if self.inner is None else len(self.inner.ranks))

    @property
    def switches(self) -> int:
        own = isinstance(self.statement, syntax.Switches)
        return self.size * (own if self.inner is None else len(self.inner.switches))


@dataclass(slots=True)
class _Build:
    declaration: syntax.Topology
    scope: Scope
    machine: Callable[[syntax.Call], Draft | None]
    report: Report
    pieces: list[_Piece] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    links: dict[tuple[int, int], Link] = field(default_factory=dict)
    layout: Layout = field(init=False)
    allowance: Allowance = field(default_factory=Allowance)
    silent: bool = False

    def draft(self) -> Draft:
        """What has been built."""
        assumed = [
            (f"{piece.group.name.text}.{name}", value)
            for piece in self.pieces
            if piece.inner is not None
            for name, value in piece.inner.assumed
        ]
        if self.silent:
            assumed.append(("latency", "0 s"))
        depths = [1 + piece.inner.depth for piece in self.pieces if piece.inner is not None]
        return Draft(
            tuple(self.ranks),
            tuple(self.switches),
            self.links,
            self.layout,
            tuple(assumed),
            max(depths, default=0),
        )

    # ------------------------------------------------------------------------------ nodes

    def arrange(self) -> bool:
        """Number the ranks, then the switches, each in the order of the text."""
        before = len(self.report.faults)
        if not self._measure():
            return False
        ranks = sum(piece.ranks for piece in self.pieces)
        members: dict[str, Group | Instances] = {}
        for piece in self.pieces:
            members[piece.group.name.text] = self._place(piece, ranks)
        self.layout = Layout(members, ranks, len(self.switches))
        if not self.ranks and len(self.report.faults) == before:
            self.report.blame(
                f"topology {self.declaration.name.text!r} has no ranks",
                self.declaration.name.span,
                "at least one rank, as in: ranks gpu[8]",
            )
        return len(self.report.faults) == before

    def _measure(self) -> bool:
        """Find out what there is to place; whether all of it can be. Nothing is built yet."""
        nodes = links = 0
        unknown = False
        for statement in self.declaration.statements:
            if isinstance(statement, syntax.Link):
                continue
            part = isinstance(statement, syntax.Part)
            inner = self.machine(statement.machine) if isinstance(statement, syntax.Part) else None
            groups = (statement.group,) if isinstance(statement, syntax.Part) else statement.groups
            for group in groups:
                shape = self._shape(group)
                unknown |= part and inner is None
                if shape is None or (part and inner is None):
                    continue
                piece = _Piece(statement, group, shape, inner)
                nodes += piece.ranks + piece.switches
                if nodes > drafts.NODES:
                    self.report.blame(
                        f"{nodes} ranks and switches", group.span, f"at most {drafts.NODES}"
                    )
                    return False
                links += 0 if inner is None else piece.size * len(inner.links)
                if links > drafts.LINKS:
                    self.report.add(too_many_links(statement).fault)
                    return False
                self.pieces.append(piece)
        return not unknown

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

    def _place(self, piece: _Piece, ranks: int) -> Group | Instances:
        """Put a piece behind what is there; ``ranks`` is how many there are in the end."""
        rank, switch = len(self.ranks), ranks + len(self.switches)
        span = piece.group.span
        called = names(piece.group.name.text, piece.shape)
        inner, statement = piece.inner, piece.statement
        if inner is not None:
            for name in called:
                self.ranks += [Rank(f"{name}.{each.name}", span) for each in inner.ranks]
                self.switches += [
                    Switch(f"{name}.{each.name}", each.multicast, each.reduce, span)
                    for each in inner.switches
                ]
            return Instances(piece.shape, inner.layout, rank, switch)
        if isinstance(statement, syntax.Switches):
            abilities = {ability.text for ability in statement.abilities}
            able = "multicast" in abilities, "reduce" in abilities
            self.switches += [Switch(name, *able, span) for name in called]
            return Group(piece.shape, range(switch, switch + len(called)))
        self.ranks += [Rank(name, span) for name in called]
        return Group(piece.shape, range(rank, rank + len(called)))

    # ------------------------------------------------------------------------------ links

    def join(self) -> bool:
        """Lay every link: first those inside the parts."""
        before = len(self.report.faults)
        for piece in self.pieces:
            if piece.inner is not None:
                self._repeat(piece, piece.inner)
        for statement in self.declaration.statements:
            if isinstance(statement, syntax.Link):
                loops = Loops(
                    statement.loops, statement.guard, self.allowance, parts=self.layout.parts
                )
                wiring = Wiring(statement, self.layout, self.called, self.links)
                loops.each(self.scope, wiring.lay, self.report)
                self.silent |= statement.latency is None
        return len(self.report.faults) == before

    def _repeat(self, piece: _Piece, inner: Draft) -> None:
        """Lay a part's links in each of its instances: the same ones, further on."""
        member = self.layout.members[piece.group.name.text]
        assert isinstance(member, Instances)
        links, span = self.links, piece.statement.span
        nodes = range(len(inner.ranks) + len(inner.switches))
        speeds = [
            (each.src, each.dst, each.count, each.bandwidth, each.latency)
            for each in inner.links.values()
        ]
        for instance in range(piece.size):
            at = [member.number(instance, node) for node in nodes]
            for a, b, count, bandwidth, latency in speeds:
                src, dst = at[a], at[b]
                links[src, dst] = Link(src, dst, count, bandwidth, latency, span)

    def called(self, node: int) -> str:
        """The name of a node."""
        ranks = len(self.ranks)
        return self.ranks[node].name if node < ranks else self.switches[node - ranks].name
