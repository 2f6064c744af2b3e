"""A machine made from another: ranks left out, links taken away or given another speed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import syntax
from .drafts import Draft
from .faults import BlamedError
from .loops import Allowance, Loops
from .model import Link
from .speeds import Speeds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .drafts import Pair
    from .faults import Report
    from .layout import Layout
    from .source import Fault, Span
    from .values import Scope

_SHOWN = 8  # More neighbours than that help nobody.


def derive(
    base: Draft,
    changes: Iterable[syntax.Only | syntax.Without | syntax.Link],
    scope: Scope,
    report: Report,
) -> Draft | None:
    """The machine after all changes, in their order; None and faults of the first that has any."""
    change = _Change(base, scope, report)
    for each in changes:
        before = len(report.faults)
        loops = Loops(each.loops, each.guard, change.allowance, parts=base.layout.parts)
        match each:
            case syntax.Only():
                change.only(each, loops)
            case syntax.Without():
                change.without(each, loops)
            case syntax.Link():
                change.speed(each, loops)
        if len(report.faults) > before:
            return None
    return change.result()


@dataclass(slots=True)
class _Change:
    """A machine on its way through the changes; nodes keep their numbers until the end.

    ``out`` and ``into`` are the ends of each node's links. ``loose`` are the switches that may
    have lost their last way in or out since someone looked.
    """

    base: Draft
    scope: Scope
    report: Report
    allowance: Allowance = field(default_factory=Allowance)
    links: dict[Pair, Link] = field(init=False)
    gone: set[int] = field(default_factory=set)
    ranks: set[int] = field(init=False)
    loose: set[int] = field(init=False)
    layout: Layout = field(init=False)
    out: list[set[int]] = field(init=False)
    into: list[set[int]] = field(init=False)

    def __post_init__(self) -> None:
        ranks = len(self.base.ranks)
        nodes = ranks + len(self.base.switches)
        self.links = dict(self.base.links)
        self.ranks, self.loose = set(range(ranks)), set(range(ranks, nodes))
        self.layout = replace(self.base.layout, gone=self.gone)
        self.out, self.into = [set() for _ in range(nodes)], [set() for _ in range(nodes)]
        for src, dst in self.links:
            self.out[src].add(dst)
            self.into[dst].add(src)

    def result(self) -> Draft:
        """What is left, its nodes numbered anew in their old order."""
        if not self.gone:
            return replace(self.base, links=self.links, depth=self.base.depth + 1)
        base, ranks = self.base, len(self.base.ranks)
        numbers = [-1] * len(self.out)
        left = [node for node in range(len(numbers)) if node not in self.gone]
        for number, node in enumerate(left):
            numbers[node] = number
        links: dict[Pair, Link] = {}
        for (src, dst), link in self.links.items():
            pair = numbers[src], numbers[dst]
            links[pair] = Link(*pair, link.count, link.bandwidth, link.latency, link.span)
        return Draft(
            tuple(base.ranks[node] for node in left if node < ranks),
            tuple(base.switches[node - ranks] for node in left if node >= ranks),
            links,
            base.layout.renumbered(tuple(numbers), len(self.ranks), len(left) - len(self.ranks)),
            base.assumed,
            base.depth + 1,
        )

    def _cut(self, pair: Pair) -> None:
        """Take a link out."""
        src, dst = pair
        del self.links[pair]
        self.out[src].discard(dst)
        self.into[dst].discard(src)
        self.loose.update(node for node in pair if node >= len(self.base.ranks))

    def _drop(self, nodes: Iterable[int]) -> None:
        """Take nodes out with their links."""
        for node in nodes:
            for pair in [(node, dst) for dst in self.out[node]]:
                self._cut(pair)
            for pair in [(src, node) for src in self.into[node]]:
                self._cut(pair)
            self.gone.add(node)
            self.ranks.discard(node)

    # ------------------------------------------------------------------------------- only

    def only(self, clause: syntax.Only, loops: Loops) -> None:
        """Keep the ranks named, and the switches that something can still pass."""
        kept: set[int] = set()

        def turn(scope: Scope) -> list[Fault]:
            faults: list[Fault] = []
            for place in clause.nodes:
                try:
                    kept.update(self._named_ranks(place, scope))
                except BlamedError as error:
                    faults.append(error.fault)
            return faults

        before = len(self.report.faults)
        loops.each(self.scope, turn, self.report)
        if len(self.report.faults) > before:
            return
        if not kept:
            self.report.blame(
                "'only' names no rank", clause.span, "one rank at least, in some turn of the loop"
            )
            return
        self._drop(sorted(self.ranks - kept))
        while self.loose:
            node = self.loose.pop()
            if node not in self.gone and not (self.into[node] and self.out[node]):
                self._drop((node,))

    def _named_ranks(self, place: syntax.Expression, scope: Scope) -> tuple[int, ...]:
        found = self.layout.nodes(place, scope)
        self.allowance.take(len(found), place.span)
        for node in found:
            if node >= len(self.base.ranks):
                raise BlamedError(
                    f"the switch {self.base.called(node)} behind 'only'",
                    place.span,
                    "ranks: a switch stays as long as something can pass it",
                )
        return found

    # ---------------------------------------------------------------------------- without

    def without(self, clause: syntax.Without, loops: Loops) -> None:
        """Take links and nodes out; the nodes last, so that the clause may name their links."""
        dropped: set[int] = set()
        taken: set[Pair] = set()

        def turn(scope: Scope) -> list[Fault]:
            faults: list[Fault] = []
            for removal in clause.removals:
                try:
                    if removal.dst is None:
                        found = self.layout.nodes(removal.src, scope, entire=True)
                        self.allowance.take(len(found), removal.span)
                        dropped.update(found)
                    else:
                        self._take_out(removal, removal.dst, taken, scope)
                except BlamedError as error:
                    faults.append(error.fault)
            return faults

        before = len(self.report.faults)
        loops.each(self.scope, turn, self.report)
        if len(self.report.faults) > before:
            return
        if dropped >= self.ranks:
            self.report.blame(
                "no rank is left", clause.span, "one rank at least that stays in the machine"
            )
            return
        self._drop(sorted(dropped))

    def _take_out(
        self,
        removal: syntax.Connection,
        dst: syntax.Expression,
        taken: set[Pair],
        scope: Scope,
    ) -> None:
        for pair in self._pairs(removal.src, dst, removal.both, scope):
            if pair in taken:
                a, b = map(self.base.called, pair)
                raise BlamedError(f"the link {a} -> {b} is taken out twice", removal.span, "once")
            self._require(pair, removal.both, removal.span)
            taken.add(pair)
            self._cut(pair)

    def _pairs(
        self, src: syntax.Expression, dst: syntax.Expression, both: bool, scope: Scope
    ) -> list[Pair]:
        """The directed links meant."""
        a, b = self.layout.node(src, scope), self.layout.node(dst, scope)
        return [(a, b), (b, a)] if both else [(a, b)]

    def _require(self, pair: Pair, both: bool, span: Span) -> None:
        """Raise ``BlamedError`` for a link that is not there."""
        if pair in self.links:
            return
        (src, dst), called = pair, self.base.called
        ends = sorted(self.out[src])
        shown = ", ".join(map(called, ends[:_SHOWN])) + (", ..." if len(ends) > _SHOWN else "")
        there = (
            f"from {called(src)} they lead to {shown}" if ends else f"none leads from {called(src)}"
        )
        remedy = ""
        if both and (dst, src) in self.links:
            remedy = f"write {called(dst)} -> {called(src)} for the one direction that is there"
        raise BlamedError(
            f"there is no link {called(src)} -> {called(dst)}",
            span,
            f"a link that is there; {there}",
            remedy,
        )

    # -------------------------------------------------------------------------------- with

    def speed(self, clause: syntax.Link, loops: Loops) -> None:
        """Give links that are there another speed."""
        speeds = Speeds(clause)
        place = clause.src.span.to(clause.dst.span)

        def turn(scope: Scope) -> list[Fault]:
            faults = speeds.faults(scope)
            try:
                pairs = self._pairs(clause.src, clause.dst, clause.both, scope)
                for pair in pairs:
                    self._require(pair, clause.both, place)
            except BlamedError as error:
                faults.append(error.fault)
            if faults:
                return faults
            count, bandwidth, latency = speeds.at(scope)
            for pair in pairs:
                old = self.links[pair]
                self.links[pair] = Link(
                    *pair,
                    old.count if count is None else count,
                    bandwidth,
                    old.latency if latency is None else latency,
                    clause.span,
                )
            return faults

        loops.each(self.scope, turn, self.report)
