"""A machine in the making: what parts and bases are, before anyone asks whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .faults import Report
    from .layout import Layout
    from .model import Link, Rank, Switch
    from .source import Span

NODES = 65_536
"""Most ranks and switches of a topology."""
LINKS = 1_000_000
"""Most directed links of a topology."""
ALL_LINKS = 2_000_000
"""Most directed links of all machines that a text calls for."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """A machine whose ranks may not all reach one another.

    ``links`` are by the numbers of their ends; nobody changes the mapping once a draft has it.
    ``assumed`` is what was left to a default, as in ``Topology``; ``depth`` counts the levels of
    machines that this one is made of.
    """

    ranks: tuple[Rank, ...]
    switches: tuple[Switch, ...]
    links: Mapping[Pair, Link]
    layout: Layout
    assumed: tuple[tuple[str, str], ...] = ()
    depth: int = 0

    def called(self, node: int) -> str:
        """The name of a node."""
        ranks = len(self.ranks)
        return self.ranks[node].name if node < ranks else self.switches[node - ranks].name


def blame_unreached(draft: Draft, report: Report, span: Span | None = None) -> bool:
    """Blame ranks that another rank cannot reach, at a place or where they are declared.

    Whether there are any.
    """
    nodes, ranks = len(draft.ranks) + len(draft.switches), len(draft.ranks)
    for outward in (True, False):
        ways: list[list[int]] = [[] for _ in range(nodes)]
        for src, dst in draft.links:
            if outward:
                ways[src].append(dst)
            else:
                ways[dst].append(src)
        lost = _missing(ways, ranks)
        if lost:
            _blame_lost(draft, lost, outward, span, report)
            return True
    return False


def _missing(ways: list[list[int]], ranks: int) -> list[int]:
    """The ranks that no way leads to from the first."""
    seen = bytearray(len(ways))
    seen[0] = True
    todo = [0]
    while todo:
        for node in ways[todo.pop()]:
            if not seen[node]:
                seen[node] = True
                todo.append(node)
    return [rank for rank in range(ranks) if not seen[rank]]


def _blame_lost(
    draft: Draft, lost: list[int], outward: bool, span: Span | None, report: Report
) -> None:
    first, other = draft.ranks[0].name, draft.ranks[lost[0]].name
    src, dst = (first, other) if outward else (other, first)
    more = f" (nor {len(lost) - 1} more)" if len(lost) > 1 else ""
    place = span or draft.ranks[lost[0]].span
    assert place is not None
    report.blame(
        f"no links lead from {src} to {dst}" + (more if outward else ""),
        place,
        "every rank can be reached from every other",
        f"add a link {'to' if outward else 'from'} {other}"
        if span is None
        else f"leave a way {'to' if outward else 'from'} {other}",
    )
