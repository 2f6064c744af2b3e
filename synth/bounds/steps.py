"""The fewest steps: how far data is from where it is wanted."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError
from roundelay.synth.schedule import Certificate
from roundelay.synth.subsets import list_bits

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem, Topology

    from .demands import Demands


def measure_farthest(problem: Problem, demands: Demands) -> Certificate | None:
    """Data moves from rank to rank once a step, so it needs as many steps as its way has hops.

    True for merged data too: each symbol of a merge has come the whole way. None where every
    rank holds all it wants. Raises ``UnsupportedError`` where there is no way.
    """
    name = problem.topology.node_name
    worst = _farthest(problem.topology, _by_end(demands))
    if worst[0] < 0:
        source, target = worst[1:]
        raise UnsupportedError(
            f"no way leads from {name(source)} to {name(target)}, which wants "
            f"{_find_symbol(problem, source, target)}"
        )
    if worst[0] == 0:
        return None
    steps, source, target = worst
    count = "1 step" if steps == 1 else f"{steps} steps"
    reason = f"data of {name(source)} needs {count} to {name(target)}"
    return Certificate("distance", Fraction(steps), (source, target), reason)


Ends = tuple[dict[int, int], dict[int, int]]
"""The ranks (bits) that want what a rank holds, and those that hold what a rank wants.

Every pair of a holder and a wanting rank stands in one of the two: where fewer ranks are looked
from.
"""


def _by_end(demands: Demands) -> Ends:
    ahead: dict[int, int] = {}
    behind: dict[int, int] = {}
    for holder, target in demands.pairs:
        ahead[holder] = ahead.get(holder, 0) | 1 << target
    for holding, wanting in dict.fromkeys(demands.ends()):
        few, many, ends = holding, wanting, ahead
        if wanting.bit_count() <= holding.bit_count():
            few, many, ends = wanting, holding, behind
        while few:
            low = few & -few
            few ^= low
            rank = low.bit_length() - 1
            ends[rank] = ends.get(rank, 0) | many
    return ahead, behind


def _farthest(topology: Topology, ends: Ends) -> tuple[int, int, int]:
    """Steps, from which rank, to which; -1 steps where no way leads. The first of the worst."""
    worst = (0, 0, 0)
    for backwards, among in enumerate(ends):
        if not among:
            continue
        near = list_near(topology, backwards=bool(backwards))
        for rank in sorted(among):
            steps, other = _eccentricity(near, rank, among[rank])
            pair = (other, rank) if backwards else (rank, other)
            if steps < 0:
                return (-1, *pair)
            if steps > worst[0]:
                worst = (steps, *pair)
    return worst


def _eccentricity(near: list[int], rank: int, wanted: int) -> tuple[int, int]:
    seen = new = 1 << rank
    depth, worst, last = 0, 0, rank
    missing = wanted & ~seen
    while missing:
        found = 0
        while new:
            low = new & -new
            new ^= low
            found |= near[low.bit_length() - 1]
        new = found & ~seen
        if not new:
            return -1, (missing & -missing).bit_length() - 1
        seen |= new
        depth += 1
        met = new & missing
        if met:
            worst, last = depth, (met & -met).bit_length() - 1
            missing &= ~met
    return worst, last


def list_near(topology: Topology, *, backwards: bool = False) -> list[int]:
    """The ranks that one step leads to from each rank (or to it), as bits.

    A passage through switches is part of one step.
    """
    ranks = len(topology.ranks)
    direct = [0] * (ranks + len(topology.switches))
    for link in topology.links:
        src, dst = (link.dst, link.src) if backwards else (link.src, link.dst)
        direct[src] |= 1 << dst
    whole = (1 << ranks) - 1
    beyond = _beyond(direct, ranks)
    near = []
    for rank in range(ranks):
        reached = direct[rank] & whole
        for switch in list_bits(direct[rank] >> ranks):
            reached |= beyond[switch]
        near.append(reached)
    return near


def _beyond(direct: list[int], ranks: int) -> list[int]:
    """The ranks that each switch leads to, through other switches as well."""
    whole = (1 << ranks) - 1
    known: dict[int, int] = {}
    result = []
    for switch in range(ranks, len(direct)):
        seen = new = 1 << switch
        reached = 0
        while new:
            found = 0
            while new:
                low = new & -new
                new ^= low
                found |= direct[low.bit_length() - 1]
            reached |= found & whole
            new = found & ~whole & ~seen
            seen |= new
        reached = known.setdefault(reached, reached)  # One copy of each set.
        result.append(reached)
    return result


def _find_symbol(problem: Problem, source: int, target: int) -> str:
    for block in problem.collective.blocks:
        for want in block.wants:
            if want.rank == target:
                for position in want.symbols:
                    if block.symbols[position].rank == source:
                        return str(block.symbols[position])
    raise AssertionError("a pair of ranks without a value")
