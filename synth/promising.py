"""Queries whose schedules would come near the bandwidth bound."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from .exact.symmetry import list_groups
from .refusals import find_grain
from .schedule import Query

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem

    from .schedule import Bound

_MOST = 48  # Chunks.
_NEAR = Fraction(4, 5)  # Of the bandwidth bound: what is further from it is not promising.
_NO_MATTER = Fraction(1, 40)  # What is as near as that is equally good.
_UNEQUAL = 3  # Times as quick as the slowest link: more is much.
_OFFERED = 3  # That symmetry makes quick, and as many others.
_LARGE = 64  # Ranks: the symmetry of larger machines is not looked at here.


def count_alike(problem: Problem) -> int:
    """A number of chunks that the largest symmetry found can move: multiples are quick to find."""
    if len(problem.topology.ranks) > _LARGE:
        return 1
    groups = list_groups(problem)
    blocks = range(len(problem.collective.blocks))
    return max((groups[0].stabilizer(block) for block in blocks), default=1) if groups else 1


def list_promising(problem: Problem, limit: Bound, steps: int, alike: int = 1) -> list[Query]:
    """Queries of so many steps: first those with a multiple of ``alike`` chunks, then others; the
    nearest to the bound come first, then those of the fewest chunks.

    Where every step lasts a round, every link can carry something in every step, so many chunks as
    that has room for are asked for, and somewhat fewer. Where some links are much quicker than
    others, steps may be as short as these allow.
    """
    limits = problem.limits
    if not limit.rounds:
        return []
    low, high = limits.chunks or (1, _MOST)
    topology = problem.topology
    grain = find_grain(topology)
    quickest = max(link.capacity for link in topology.links) / topology.slowest
    shortest = Fraction(steps) if quickest < _UNEQUAL else steps / quickest
    found: dict[tuple[bool, int], Query] = {}
    for chunks in range(low, min(high, max(low, _MOST)) + 1):
        rounds = max(shortest, ceil(chunks * limit.rounds / grain) * grain)
        share = chunks * limit.rounds / rounds
        if share >= _NEAR and (limits.rounds is None or rounds <= limits.rounds):
            away = floor((1 - share) / _NO_MATTER)
            found.setdefault((chunks % alike > 0, away), Query(chunks, steps, rounds))
    order = sorted(found)
    quick = [found[key] for key in order if not key[0]]
    others = [found[key] for key in order if key[0]]
    return quick[:_OFFERED] + others[:_OFFERED]
