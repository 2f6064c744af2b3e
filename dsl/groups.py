"""Lists of ranks within each of which a collective takes place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import syntax
from .collective_checks import RANKS
from .faults import BlamedError
from .loops import Allowance, Loops
from .names import check_expression, check_loops
from .values import whole

if TYPE_CHECKING:
    from collections.abc import Collection

    from .faults import Report
    from .values import Scope


def check_groups(groups: syntax.Groups, names: Collection[str], report: Report) -> None:
    """Blame every name in groups that does not exist."""
    outer = check_loops(groups.loops, groups.guard, [*names, RANKS], report, ranks=True)
    for group in groups.groups:
        inner = check_loops(group.loops, group.guard, outer, report, ranks=True)
        for rank in group.ranks:
            for end in (rank.low, rank.high) if isinstance(rank, syntax.Range) else (rank,):
                check_expression(end, inner, report)


def build_groups(
    groups: syntax.Groups, ranks: int, scope: Scope, report: Report
) -> tuple[tuple[int, ...], ...] | None:
    """The groups' ranks in the order written, or None and faults.

    Groups are not empty and share no rank.
    """
    allowance = Allowance()
    found: list[tuple[int, ...]] = []
    taken: set[int] = set()
    before = len(report.faults)
    outer = Loops(groups.loops, groups.guard, allowance, ranks)
    turn: Scope = {}
    try:
        for turn in outer.run({RANKS: ranks, **scope}):
            found += [_group(group, turn, ranks, allowance, taken) for group in groups.groups]
        outer.blame_empty(report)
        if not found and len(report.faults) == before:
            report.blame(
                "no group at all: the condition never holds", groups.span, "at least one group"
            )
    except BlamedError as error:
        fault = error.fault
        report.add(replace(fault, message=fault.message + outer.where(turn)))
    return tuple(found) if len(report.faults) == before else None


def _group(
    group: syntax.Group, scope: Scope, ranks: int, allowance: Allowance, taken: set[int]
) -> tuple[int, ...]:
    members: list[int] = []
    for turn in Loops(group.loops, group.guard, allowance, ranks).run(scope):
        for place in group.ranks:
            if isinstance(place, syntax.Range):
                low = whole(place.low, turn, "the lower end")
                high = whole(place.high, turn, "the upper end")
                if high > ranks or low < 0:
                    raise BlamedError(
                        f"ranks {low}..{high} do not all exist", place.span, f"0..{ranks} at most"
                    )
                chosen = range(low, high)
            else:
                rank = whole(place, turn, "a rank")
                chosen = range(rank, rank + 1)
            for rank in chosen:
                if not 0 <= rank < ranks:
                    raise BlamedError(
                        f"rank {rank} does not exist", place.span, f"0 to {ranks - 1}"
                    )
                if rank in taken:
                    raise BlamedError(
                        f"rank {rank} stands twice in the groups", place.span, "every rank once"
                    )
                taken.add(rank)
                members.append(rank)
    if not members:
        raise BlamedError("an empty group", group.span, "at least one rank")
    return tuple(members)
