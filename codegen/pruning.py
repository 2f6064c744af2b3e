"""Pass: waits that other waits and the order of lanes already imply are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .channels import rebuild
from .waiting import Place, find_clocks, fold_waits, precedes, unfold_waits

if TYPE_CHECKING:
    from .program import Program, RankProgram


def prune(program: Program) -> Program:
    """Keep only the waits without which the order would be lost.

    What a rank's lanes guarantee is a partial order; its smallest set of waits is unique.
    """
    return rebuild(program, tuple(map(_prune, program.ranks)))


def _prune(rank: RankProgram) -> RankProgram:
    lanes = fold_waits(rank)
    clocks = find_clocks(lanes)
    for n, lane in enumerate(lanes):
        for position, work in enumerate(lane):
            others = set(work.after)
            if position:
                others.add(Place(n, position - 1))
            work.after = {
                place
                for place in work.after
                if not any(other != place and precedes(clocks, place, other) for other in others)
            }
    return unfold_waits(lanes, rank.scratch)
