"""Fill boxes of more and more steps with as many chunks as fit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from roundelay.synth.checker import check
from roundelay.synth.paths import within
from roundelay.synth.routes import enumerate_routes, measure_hops
from roundelay.synth.timeline import price

from .box import Box
from .jobs import list_jobs
from .unpacking import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.routes import Route
    from roundelay.synth.schedule import Schedule

    from .box import Placed
    from .jobs import Job

ATTEMPTS = 2000
"""In a second, more or less: so many are taken for a second where effort is counted, not time."""

_PATIENCE = (500, 4_000, 20_000, 100_000)  # Attempts to mend a box before it is left, by turn.
_TRIES = 20  # Attempts to place a chunk at all: chance may miss what few steps allow.
_MANY = 32  # Each so many chunks, as often as that again.
_SPARE = 16  # Steps a chunk may be put back in, beyond twice those it needs.
_FRESH = 64  # Boxes of so many steps at most are filled from nothing, in the second turn.
_WORTH = Fraction(101, 100)  # How much better a schedule must be to be unpacked at once.
_MOST_STEPS = 128
_MOST_MESSAGES = 20_000
_MOST_CHOICES = 200_000  # Routes times steps: each attempt looks at all.
_BETTER = Fraction(102, 100)  # A longer step must be used so many times better than a short one,
_GOOD = Fraction(9, 10)  # and a short one no worse than this share of what is possible.
_MOST_LENGTH = 12  # Rounds that a step lasts at most,
_MOST_LOAD = 64  # and messages that fill some link in it: more leave nothing over anyway.
_MOST_PAIRS = 6_000  # Pairs of ranks that may be joined.


def pack(
    problem: Problem,
    *,
    seed: int = 0,
    deadline: float | None = None,
    attempts: int | None = None,
    steps: int | None = None,
) -> Iterator[Schedule]:
    """Checked schedules within the problem's limits, each cheaper in seconds a byte than the last.

    For values that several ranks want whole, or that one rank wants merged in any order; nothing
    for other problems, for very large machines, and where a symmetric schedule is asked for.
    ``steps``: no more than so many. ``deadline`` is a moment of ``time.monotonic`` (None: until
    all turns are over). The work is counted in attempts: a seed gives the same schedules each
    time, as many of them as ``attempts`` and the deadline allow.
    """
    topology = problem.topology
    pairs = len(topology.ranks) ** 2 if topology.switches else len(topology.links)
    if pairs > _MOST_PAIRS or problem.limits.symmetric:
        return
    jobs = list_jobs(problem)
    if not jobs:
        return
    yield from _Packer(problem, jobs, seed, deadline, attempts).run(steps)


@dataclass(slots=True)
class _Packer:
    """``best``: chunks a round of the best schedule so far; ``least`` its seconds a byte.

    ``attempts``: how many are left (None: no limit). ``fewest``: steps below which there is
    nothing. ``tops``: the most chunks that fitted in a box, by its steps and their length.
    """

    problem: Problem
    jobs: tuple[Job, ...]
    seed: int
    deadline: float | None
    attempts: int | None
    routes: tuple[Route, ...] = ()
    fewest: int = 0
    best: Fraction = Fraction(0)
    least: Fraction | None = None
    tops: dict[tuple[int, Fraction], list[Placed]] = field(default_factory=dict)

    def run(self, steps: int | None) -> Iterator[Schedule]:
        """Every box once with little patience, then again with more."""
        topology = self.problem.topology
        self.routes = enumerate_routes(topology).routes
        self.fewest = self._count_steps()
        if not self.fewest:
            return
        lengths = list_lengths(topology)
        for turn, patience in enumerate(_PATIENCE):
            for size, length in self._list_boxes(steps, turn, lengths):
                if not self._out():
                    yield from self._fill(size, length, patience, turn)

    def _out(self) -> bool:
        if self.attempts is not None and self.attempts <= 0:
            return True
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _count(self) -> None:
        if self.attempts is not None:
            self.attempts -= 1

    def _list_boxes(
        self, steps: int | None, turn: int, lengths: Sequence[Fraction]
    ) -> list[tuple[int, Fraction]]:
        """Numbers of steps to try, growing, and how long they last."""
        limits = self.problem.limits
        boxes: list[tuple[int, Fraction]] = []
        for length in lengths:
            most = max(_MOST_STEPS, self.fewest)
            if limits.steps is not None:
                most = min(most, limits.steps[1])
            if limits.rounds is not None:
                most = min(most, floor(limits.rounds / length))
            sizes = {min(steps, most)} if steps is not None else _double(self.fewest, most, turn)
            boxes += [(size, length) for size in sizes if size >= self.fewest]
        return sorted(boxes)

    def _count_steps(self) -> int:
        """Steps that a tree up and a tree down take at least; 0 where no way leads."""
        hops = measure_hops(self.problem.topology)
        fewest = 1
        for job in self.jobs:
            roots = sorted(job.passing) if job.root is None else [job.root]
            heights = []
            for root in roots:
                up = [hops[rank][root] for rank in job.up]
                down = [hops[root][rank] for rank in job.down]
                near = [hop for hop in up + down if hop is not None]
                if len(near) == len(up) + len(down):
                    heights.append(
                        max(near[: len(up)], default=0) + max(near[len(up) :], default=0)
                    )
            if not heights:
                return 0
            fewest = max(fewest, min(heights))
        return fewest

    def _fill(self, steps: int, length: Fraction, patience: int, turn: int) -> Iterator[Schedule]:
        """More and more chunks in one box, from those on that beat the best so far.

        Not every number of them is worth unpacking, but the last is.
        """
        limits = self.problem.limits
        if len(self.routes) * steps > _MOST_CHOICES:
            return
        most = _MOST_MESSAGES if limits.chunks is None else limits.chunks[1]
        window = 2 * self.fewest + _SPARE
        number = self.seed * len(_PATIENCE) + turn
        box = Box(self.problem.topology, self.routes, steps, length, window, number)
        known = self._find_known(steps, length)
        if known is not None and (turn != 1 or steps > _FRESH):
            box.take(*known)
        wanted = floor(self.best * steps * length) + 1
        if limits.chunks is not None:
            wanted = max(wanted, limits.chunks[0])
        told = self.best
        wanted = max(wanted, len(box.placed) // len(self.jobs))
        while wanted <= most and self._reach(box, wanted, patience):
            self.tops[steps, length] = list(box.placed)
            self.best = max(self.best, wanted / (steps * length))
            if self.best > told * _WORTH:
                told = self.best
                yield from self._tell(box.placed)
            wanted += 1
        if self.best > told:
            yield from self._tell(self.tops[steps, length])

    def _find_known(self, steps: int, length: Fraction) -> tuple[list[Placed], int] | None:
        """What fills a box of so many steps best, side by side, and its steps."""
        found = [
            (steps // size * len(placed), -size)
            for (size, long), placed in self.tops.items()
            if size <= steps and long == length
        ]
        size = -max(found)[1] if found else 0
        return (self.tops[size, length], size) if found else None

    def _tell(self, placed: Sequence[Placed]) -> Iterator[Schedule]:
        schedule = unpack(self.problem, self.routes, placed)
        check(schedule)
        cost = price(schedule).per_byte
        if within(schedule, self.problem.limits) and (self.least is None or cost < self.least):
            self.least = cost
            yield schedule

    def _reach(self, box: Box, chunks: int, patience: int) -> bool:
        """Whether so many chunks fit, with so many attempts to mend what is crowded."""
        while len(box.placed) < chunks * len(self.jobs):
            if box.messages >= _MOST_MESSAGES or self._out():
                return False
            self._count()
            job = self.jobs[len(box.placed) % len(self.jobs)]
            if not any(box.add(job) for _ in range(_TRIES)):
                return False
        for _ in range(patience * (_MANY + chunks) // _MANY):
            if not box.crowded:
                return True
            if self._out():
                return False
            self._count()
            box.mend()
        return not box.crowded


def _double(fewest: int, most: int, turn: int) -> set[int]:
    """The fewest steps, or in every other turn half as many again, doubled; and the most.

    In later turns without small ones: what is best by then is hard to beat in few steps.
    """
    sizes = set()
    size = fewest if turn % 2 == 0 else fewest * 3 // 2
    while size <= most:
        sizes.add(size)
        size *= 2
    if most < _MOST_STEPS or not sizes:
        sizes.add(most)
    return {size for size in sizes if not turn or 4 * size >= max(sizes)}


def list_lengths(topology: Topology) -> tuple[Fraction, ...]:
    """Rounds that a step may last, so that little of any link's time is left over.

    How well a length is used is how well the link is that it suits worst.
    """
    slowest = topology.slowest
    speeds = sorted({link.capacity / slowest for link in topology.links})
    tried = sorted(
        {
            n / speed
            for speed in speeds
            for n in range(1, min(_MOST_LOAD, floor(_MOST_LENGTH * speed)) + 1)
        }
    )
    kept: list[tuple[Fraction, Fraction]] = []
    for length in tried:
        used = min(floor(speed * length) / (speed * length) for speed in speeds)
        if not kept or used > kept[-1][0] * _BETTER:
            kept.append((used, length))
    best = kept[-1][0]
    return tuple(length for used, length in kept if used >= best * _GOOD)
