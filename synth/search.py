"""The search: which queries to ask, in which order, and what to answer when the time is out."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError

from .bounds import measure_quickest
from .counts import chunk_counts, step_counts
from .exact.classes import has_trees
from .exact.clock import start_clock
from .exact.engine import CHOICES, refuse_unsupported
from .exact.pool import Pool
from .exact.symmetry import list_fitting
from .openings import approach, begin
from .refusals import bound_surely, concern, refuse, refuse_symmetry
from .schedule import ANY_ROUNDS, Answer, Found, GaveUp, Impossible, Query
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Objective, Problem

    from .schedule import Bound, Outcome

BUDGET = 60.0
"""Seconds a search takes at most where nobody says how many."""

_PATIENCE = 12.0  # Seconds spent on better schedules once there is one, unless a budget is given;
_LONG_PATIENCE = 40.0  # so many where steps may be added, too.
_BOUNDING = 0.2  # Of the budget is for bounds, where they take so long.
_SLICE = 2.5  # Seconds for one attempt at a better schedule, or a sixth of what is left.
_GLANCE = 1.0  # Seconds for a quick one.
_CLOSE = Fraction(5, 4)  # A quarter above the least rounds possible is no long way any more.
_MOST_WANTED = 1_000_000  # Wanted values,
_MOST_CHUNKS = 65_536  # chunks of all blocks together,
_MOST_STEPS = 4096  # and steps, beyond which every model is too large.


def search(
    problem: Problem,
    *,
    seed: int = 0,
    budget: float | None = None,
    solver: str = "race",
    jobs: int | None = None,
    prove: bool = False,
    began: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Answer:
    """The best schedule found within a problem's limits, in ``budget`` seconds at most.

    One chunk count, one step count and a number of rounds are one query. Else the search walks:
    for latency it takes the fewest steps that any schedule does with, then the fewest seconds a
    byte in so many steps; for bandwidth the fewest seconds a byte; for time at a size the least
    of both together (without an objective: at the largest of the sizes, else latency). It asks
    nothing below the bounds, and stops when the bound is met, the time is out or Ctrl-C comes:
    the best schedule so far is the answer then. Where no budget is given at all, it has
    ``BUDGET`` seconds to find a schedule and some more to better it. One number of steps alone
    means so many at most. ``jobs``: worker processes at once (default: the cores there are). With
    several, the first answer counts and time decides what is asked, so two runs may differ. With
    one, turns and patience are measured in the solvers' own effort, and the same problem, seed
    and solver give the same schedule on every run, unless the budget (or its share for bounds)
    ends by the clock on the wall first. ``prove``: where the answer is an impossibility that one
    solver proved, the other one is asked too. ``began``: when the budget begins (monotonic; by
    default now), of which half is left in any case. Raises ``UnsupportedError``.
    """
    limits = problem.limits
    refuse_unsupported(problem)
    refuse_limits(problem)
    given = limits.budget if budget is None else budget
    seconds = float(BUDGET if given is None else given)
    now = time.monotonic()
    began = now if began is None else max(began, now - seconds / 2)
    objective = _choose_objective(problem)
    patience = _PATIENCE if objective.kind == "latency" else _LONG_PATIENCE
    limit = bound_surely(problem, seconds * _BOUNDING) if concern(limits) else None
    if limit is not None and (refusals := refuse(problem, limit)):
        refused = Impossible(refusals[0].certificate, "bound")
        return Answer(problem, refused, limit, True, time.monotonic() - now)
    with Pool(jobs) as pool:
        pool.warm(CHOICES[solver][0])
        limit = bound_surely(problem, seconds * _BOUNDING) if limit is None else limit
        walk = Walk(
            problem, limit, objective, seed, solver, pool.jobs,
            start_clock(seconds, pool.jobs, began),
            patience if given is None else None, pool, on_progress or _ignore,
            measure_quickest(problem.topology) if objective.kind == "time" else Fraction(0),
        )  # fmt: skip
        interrupted = False
        try:
            outcome = _walk(walk)
        except KeyboardInterrupt:
            interrupted = True
            outcome = walk.best or GaveUp("interrupted", "exact")
        decisive = walk.query_of(outcome)
        if prove and isinstance(outcome, Impossible):
            with suppress(KeyboardInterrupt):
                outcome = walk.confirm(outcome)
    proved = _is_proved(outcome, limit)
    took = time.monotonic() - now
    return Answer(problem, outcome, limit, proved, took, tuple(walk.log), interrupted, decisive)


def _is_proved(outcome: Outcome, limit: Bound) -> bool:
    match outcome:
        case Found(_, cost, _):
            return cost.per_byte == limit.per_byte
        case Impossible(certificate, _):
            return certificate.complete
        case _:
            return False


def refuse_limits(problem: Problem) -> None:
    """Raise ``UnsupportedError`` for numbers that no model of this engine could hold, and
    ``InputError`` for a symmetry that there is not.
    """
    limits, blocks = problem.limits, len(problem.collective.blocks)
    refuse_symmetry(problem)
    collective = problem.collective
    wanted = sum(len(block.wants) for block in collective.blocks)
    if wanted > _MOST_WANTED:
        raise UnsupportedError(
            f"{collective.name} over {collective.ranks} ranks wants {wanted} values",
            f"at most {_MOST_WANTED}, for a search",
            "ask 'roundelay bounds' for what is possible",
        )
    if limits.chunks is not None and limits.chunks[0] * blocks > _MOST_CHUNKS:
        raise UnsupportedError(
            f"{limits.chunks[0]} chunks are too many",
            f"at most {max(1, _MOST_CHUNKS // blocks)} for this collective",
            "ask for fewer: more chunks only approach the bandwidth that fewer reach",
        )
    if limits.steps is not None and limits.steps[0] > _MOST_STEPS:
        raise UnsupportedError(
            f"{limits.steps[0]} steps are too many", f"at most {_MOST_STEPS}", "ask for fewer"
        )


def _walk(walk: Walk) -> Outcome:
    limits = walk.problem.limits
    chunks, steps = limits.chunks, limits.steps
    exact = chunks is not None and steps is not None and len({*chunks}) == len({*steps}) == 1
    if exact and chunks is not None and steps is not None and limits.rounds is not None:
        return walk.ask(Query(chunks[0], steps[0], limits.rounds), walk.left())
    begin(walk)
    if walk.fewest is None or walk.fewest > max(walk.limit.steps, 0 if steps is None else steps[0]):
        first = _find_first(walk)
        if walk.best is None:
            return first
    assert walk.best is not None
    assert walk.fewest is not None
    fewest = walk.fewest if steps is None else max(steps[0], walk.fewest)
    if walk.objective.kind != "latency":
        approach(walk, fewest)
    several = has_trees(walk.problem)
    for quick in (True, False) if several and walk.objective.kind != "latency" else (False,):
        for count in step_counts(walk, fewest):
            for number in chunk_counts(walk):
                if not walk.settled(count):
                    _improve(walk, number, count, quick=quick)
                if walk.left() <= 0:
                    return walk.best
    return walk.best


def _find_first(walk: Walk) -> Outcome:
    """A schedule of the fewest steps: a few chunks decide whether so many steps are enough.

    With a limit on the rounds, fewer chunks are never harder: dropping one of the chunks of a
    schedule leaves a schedule. Without it, one chunk's schedule serves any number of them.
    """
    limits = walk.problem.limits
    fewest = 1 if limits.chunks is None else limits.chunks[0]
    lowest = walk.limit.steps
    if limits.symmetric:
        fewest = list_fitting(walk.problem, limits.chunks)[0]
    highest = 2 * lowest + 4
    if limits.steps is not None:
        lowest, highest = max(lowest, limits.steps[0]), limits.steps[1]
    if limits.rounds is not None or highest < lowest:
        rounds = Fraction(0) if limits.rounds is None else limits.rounds
        if highest < lowest or rounds < fewest * walk.limit.rounds:
            return walk.ask(Query(fewest, highest, rounds), walk.left())
    undecided = ""
    for steps in range(lowest, highest + 1):
        if walk.left() <= 0:
            break
        asked = fewest if limits.rounds is not None or limits.symmetric else 1
        rounds = Fraction(ANY_ROUNDS) if limits.rounds is None else limits.rounds
        before = walk.best
        last = walk.ask(Query(asked, steps, rounds), walk.left() / (1 if steps == highest else 2))
        if isinstance(last, Found):
            if asked < fewest:
                walk.best = before
                copied = walk.replicated(last.schedule, fewest)
                if copied is None:
                    why = f"there is no time for {fewest} copies of the schedule for one chunk"
                    return GaveUp(why, "exact")
                walk.keep(copied)
            return last
        if isinstance(last, GaveUp):
            undecided = undecided or last.reason
        elif limits.steps is not None and steps == highest:
            return last  # More steps include fewer, so it covers what was undecided.
    if walk.left() <= 0:
        return GaveUp("the budget ran out before any schedule was found", "exact")
    return GaveUp(undecided or f"no schedule found within {highest} steps", "exact")


def _improve(walk: Walk, chunks: int, steps: int, *, quick: bool) -> None:
    """Tighten the rounds of one chunk and step count until it cannot beat the best any more.

    Where the way down may be long, half of it is asked for first. ``quick`` takes what the
    smaller encoding finds soon, so that no hard question is asked before every easy one.
    """
    grain = walk.grain()
    low = walk.lowest_open(chunks, steps)
    while walk.left() > 0:
        high = walk.rounds_to_win(chunks, steps)
        if high is None or low > high:
            return
        target = high
        if high > low * _CLOSE:
            target = max(floor(min((low + high) / 2, 2 * low) / grain) * grain, low)
            target = ceil(target / grain) * grain
        seconds = _GLANCE if quick else max(_SLICE, walk.left() / 6)
        outcome = walk.ask(Query(chunks, steps, target), seconds, quick=quick)
        if isinstance(outcome, Found):
            if outcome is not walk.best:  # Its latency costs more than its rounds save.
                return
        elif target >= high:
            return
        else:
            low = target + grain


def _choose_objective(problem: Problem) -> Objective:
    from roundelay.dsl.model import Objective

    limits = problem.limits
    largest = 0 if limits.sizes is None else limits.sizes[1]
    if limits.objective is None:
        return Objective("latency") if limits.sizes is None else Objective("time", largest)
    if limits.objective.kind == "time" and not limits.objective.size:
        return replace(limits.objective, size=largest)
    return limits.objective


def _ignore(text: str) -> None:
    del text
