"""The links that one statement lays, turn by turn of its loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from . import drafts
from .faults import BlamedError, LimitError
from .model import Link
from .speeds import Speeds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from . import syntax
    from .layout import Layout
    from .source import Fault
    from .values import Scope

T = TypeVar("T")

_AT_ONCE = Fraction(0)


@dataclass(slots=True)
class Wiring:
    """One link statement on its way into ``links``; ``called`` gives the names of nodes."""

    statement: syntax.Link
    layout: Layout
    called: Callable[[int], str]
    links: dict[tuple[int, int], Link]
    speeds: Speeds = field(init=False)

    def __post_init__(self) -> None:
        self.speeds = Speeds(self.statement)

    def lay(self, scope: Scope) -> Sequence[Fault]:
        """Lay one turn's links; what is wrong with each part of the statement."""
        statement, node = self.statement, self.layout.node
        try:
            src, dst = node(statement.src, scope), node(statement.dst, scope)
            count, bandwidth, latency = self.speeds.at(scope)
            self._check_ends(src, dst)
            speed = 1 if count is None else count, bandwidth, latency or _AT_ONCE
            self._link(src, dst, *speed)
            if statement.both:
                self._link(dst, src, *speed)
        except LimitError:
            raise
        except BlamedError as error:
            return self._unreadable(scope) or [error.fault]
        return ()

    def _unreadable(self, scope: Scope) -> list[Fault]:
        """Every fault of a turn in which something is wrong, not the first alone."""
        faults: list[Fault] = []

        def read(part: Callable[..., T], *values: object) -> T | None:
            try:
                return part(*values)
            except BlamedError as error:
                faults.append(error.fault)
                return None

        node = self.layout.node
        src = read(node, self.statement.src, scope)
        dst = read(node, self.statement.dst, scope)
        faults += self.speeds.faults(scope)
        if src is not None and dst is not None:
            read(self._check_ends, src, dst)
        return faults

    def _check_ends(self, src: int, dst: int) -> None:
        if src == dst:
            raise BlamedError(
                f"a link from {self.called(src)} to itself",
                self.statement.span,
                "two nodes that differ",
                "leave such turns of a loop out with a guard: if i != j",
            )

    def _link(self, src: int, dst: int, count: int, bandwidth: Fraction, latency: Fraction) -> None:
        links, span = self.links, self.statement.span
        known = links.get((src, dst))
        if known is not None and known.span is not None:
            same = known.span == span
            raise BlamedError(
                f"duplicate link {self.called(src)} -> {self.called(dst)}",
                span,
                "one link from a node to another; the first "
                + ("comes from the same statement" if same else "stands")
                + f" at {known.span.place}",
                "write parallel links as x2",
            )
        if len(links) >= drafts.LINKS:
            raise too_many_links(self.statement)
        links[src, dst] = Link(src, dst, count, bandwidth, latency, span)


def too_many_links(
    statement: syntax.Ranks | syntax.Switches | syntax.Part | syntax.Link,
) -> LimitError:
    """What to raise of the statement that goes beyond the limit."""
    return LimitError("too many links", statement.span, f"at most {drafts.LINKS}")
