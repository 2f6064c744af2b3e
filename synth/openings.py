"""What a search begins with: schedules made without a solver, and queries near the bound."""

from __future__ import annotations

import time
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from .checker import PACE, check
from .packing.packer import ATTEMPTS, pack
from .paths import build, build_rooted, within
from .promising import count_alike, list_promising
from .schedule import Found
from .timeline import price

if TYPE_CHECKING:
    from .walk import Walk

_BUILDING = 0.1  # Of the time is for schedules that no solver is asked for,
_BUILDING_FIRST = 0.8  # or so much for the first, which has
_BUILDING_LEAST = 0.5  # seconds in any case: a late schedule is better than none.
_ROOTS = 16  # Chunks that come together at roots of their own, at most.
_LEAPS = 4  # More steps than thrice the fewest are looked at where these are few,
_SPANS = 10  # and so many numbers of steps.
_PACKING = 0.35  # Of what is left is for packing,
_GOOD = Fraction(101, 100)  # unless it comes as near to the bound as that.
_GLANCE = 1.0  # Seconds for one query, or
_SHARE = 1 / 25  # of what is left.


def begin(walk: Walk) -> None:
    """Take what can be made without a solver: a schedule of the fewest steps, and one by way of
    roots that spares the links.
    """
    limits = walk.problem.limits
    fewest = 1 if limits.chunks is None else limits.chunks[0]
    most = min(len(walk.problem.topology.ranks), _ROOTS)
    latency = walk.objective.kind == "latency"
    least = _BUILDING_LEAST
    wanted = sum(len(block.wants) for block in walk.problem.collective.blocks)
    for chunks in dict.fromkeys((fewest, max(fewest, most))):
        # A wanted value takes a message, more or less, and to judge many takes its time.
        if wanted * chunks * PACE > max(walk.left(), 2 * _BUILDING_LEAST):
            break
        for make in (build,) if latency else (build, build_rooted):
            wall = walk.clock.wall() * _BUILDING
            if walk.best is None:
                wall = max(walk.clock.wall() * _BUILDING_FIRST, least)
                least = 0.0
            schedule = make(walk.problem, chunks, time.monotonic() + wall)
            if schedule is not None and within(schedule, limits):
                check(schedule)
                walk.keep(Found(schedule, price(schedule), "shortest ways"))


def approach(walk: Walk, fewest: int) -> None:
    """Come near the bound before anything is tightened little by little: where ranks look alike
    by asking for what is near, elsewhere by packing the links.
    """
    alike = count_alike(walk.problem)
    if alike == 1:
        _pack(walk)
    _leap(walk, fewest, alike)
    if alike > 1:
        _pack(walk)


def _pack(walk: Walk) -> None:
    """Fill the links with many chunks over many steps, until little is left over."""
    goal = walk.limit.per_byte * _GOOD
    if walk.best is None or walk.best.cost.per_byte <= goal:
        return
    seconds = walk.left() * _PACKING
    timed = walk.clock.kind == "wall"
    made = pack(
        walk.problem,
        seed=walk.seed,
        deadline=time.monotonic() + (seconds if timed else walk.clock.wall()),
        attempts=None if timed else ceil(seconds * ATTEMPTS),
    )
    began = time.monotonic()
    for schedule in made:
        found = Found(schedule, price(schedule), "packing")
        before = walk.best
        walk.keep(found)
        if walk.best is not before:
            size = f"{schedule.chunks} chunks, {schedule.steps} steps"
            walk.tell(f"{size}: packed in {time.monotonic() - began:.1f} s")
        if found.cost.per_byte <= goal:
            break
    walk.clock.spend(seconds)


def _leap(walk: Walk, fewest: int, alike: int) -> None:
    """Ask for what would be near the bound."""
    limits = walk.problem.limits
    most = max(3 * fewest, fewest + _LEAPS) if limits.steps is None else limits.steps[1]
    spans = [*range(min(2 * fewest, most), min(most, 4 * fewest + _LEAPS) + 1)]
    spans += [steps for steps in range(fewest, most + 1) if steps not in spans]
    asked = [list_promising(walk.problem, walk.limit, s, alike) for s in spans[:_SPANS]]
    end = walk.left() / 2
    glance = max(_GLANCE, walk.left() * _SHARE)
    for place in range(max(map(len, asked), default=0)):
        for queries in asked:
            if place < len(queries) and walk.beats(queries[place]) and walk.left() > end:
                walk.ask(queries[place], glance, quick=True)
