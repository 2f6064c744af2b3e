"""The chart of a problem: what is looked at, the walk, and what is known in the end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError
from roundelay.synth.exact.classes import has_trees
from roundelay.synth.exact.clock import start_clock
from roundelay.synth.exact.engine import refuse_unsupported
from roundelay.synth.exact.pool import Pool
from roundelay.synth.refusals import bound_surely, refuse
from roundelay.synth.schedule import Certificate
from roundelay.synth.search import refuse_limits

from .chart import Chart, Point, Row
from .envelope import share_sizes
from .ledger import Ledger
from .walk import Walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Query

    from .store import Store

BUDGET = 60.0
"""Seconds a walk takes at most where nobody says how many."""
_BOUNDING = 0.2  # Of the budget is for bounds, where they take so long.
_GLANCE = (0.2, 1.0)  # Seconds for a query of the first two levels: a 60th of the budget, within.
_COUNTS = (1, 2, 4, 8, 3, 6, 5, 7, 12, 16)
_LARGEST = 48  # Chunks: the most that are added for meeting the bound exactly.
_MOST_RANGE = 1024  # Chunk counts of a range that are looked at, from its lower end.


def explore(
    problem: Problem,
    *,
    seed: int = 0,
    budget: float | None = None,
    solver: str = "race",
    jobs: int | None = None,
    store: Store | None = None,
    began: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Chart:
    """The frontier of a problem as far as ``budget`` seconds go (default: its own, or ``BUDGET``).

    What ``store`` holds is taken over, and nothing that it settles is asked again; it is kept up
    to date after every query. Ctrl-C ends the walk early, with what there is. The same request
    gives the same chart with one job, unless the budget cuts it short. ``began``: when
    the budget begins (monotonic; by default now), of which half is left in any case. Raises
    ``UnsupportedError``.
    """
    now = time.monotonic()
    refuse_unsupported(problem)
    _refuse_symmetric(problem)
    refuse_limits(problem)
    given = problem.limits.budget if budget is None else budget
    total = float(BUDGET if given is None else given)
    began = now if began is None else max(began, now - total / 2)
    limit = bound_surely(problem, total * _BOUNDING)
    ledger = Ledger(problem, limit)
    if store is not None:
        store.load(ledger)
    resumed = sum(entry.verdict != "open" for entry in ledger.asked.values())
    refusals = refuse(problem, limit)
    refused = refusals[0].certificate if refusals else None
    steps = range(0) if refusals else _frame(problem, limit)
    counts = tuple(_choose_counts(ledger))
    interrupted, queries, settled = False, 0, refused is not None
    if refused is None:
        glance = min(_GLANCE[1], max(_GLANCE[0], total / 60))
        with Pool(jobs) as pool:
            clock = start_clock(total, pool.jobs, began)
            walk = Walk(
                ledger, store, steps, counts, seed, solver, pool.jobs, clock, glance, pool,
                on_progress or _ignore, has_trees(problem),
            )  # fmt: skip
            try:
                walk.run()
            except KeyboardInterrupt:
                interrupted = True
            queries, settled = walk.queries, walk.settled()
    farthest = max((kept.schedule.steps for kept in ledger.usable()), default=0)
    shown = [*steps, *range(steps[-1] + 1, farthest + 1)] if steps else []
    rows = tuple(
        Row(number, ledger.best(number), *ledger.prove(number, counts)) for number in shown
    )
    points = _points(rows)
    if refused is None and not points and rows and rows[-1].proof == "counts":
        refused = _certificate(ledger, steps[-1])
    asked = tuple(sorted(ledger.asked.values(), key=lambda entry: _order(entry.query)))
    return Chart(
        problem, limit, rows, points, tuple(sorted(counts)), asked, resumed, queries, settled,
        refused, interrupted, time.monotonic() - now, tuple(each.fault for each in refusals),
    )  # fmt: skip


def _refuse_symmetric(problem: Problem) -> None:
    """A chunk dropped from a symmetric schedule may leave none, so there nothing that the ledger
    concludes from one chunk count for another would hold.
    """
    if problem.limits.symmetric:
        raise UnsupportedError(
            "there is no frontier of symmetric schedules alone",
            "a frontier of all schedules",
            "leave 'symmetric' out; 'roundelay synth' keeps to it",
        )


def _frame(problem: Problem, limit: Bound) -> range:
    """The step counts to look at. One number of steps means so many at most."""
    limits, ranks = problem.limits, len(problem.topology.ranks)
    low, high = limit.steps, max(3 * limit.steps, 2 * ranks) if limit.steps else 0
    if limits.steps is not None:
        high = limits.steps[1] if limit.steps else 0
        low = low if limits.steps[0] == limits.steps[1] else max(low, min(limits.steps[0], high))
    return range(low, high + 1)


def _choose_counts(ledger: Ledger) -> list[int]:
    """Chunk counts worth trying, in order: small ones first, and early the one that may meet the
    bound exactly.
    """
    problem, limit = ledger.problem, ledger.limit
    exact = (limit.rounds / ledger.grain).denominator
    numbers = [number for number in _COUNTS if number != exact]
    if exact <= _LARGEST:
        numbers.insert(2 if exact > 1 else 0, exact)
    ranks = len(problem.topology.ranks)
    if ranks not in numbers and ranks <= _LARGEST:
        numbers.append(ranks)
    if problem.limits.chunks is not None:
        low, high = problem.limits.chunks
        numbers = [number for number in numbers if low <= number <= high]
        most = min(high, low + _MOST_RANGE)
        numbers += [number for number in range(low, most + 1) if number not in numbers]
    return numbers


def _points(rows: tuple[Row, ...]) -> tuple[Point, ...]:
    """The rows at which a byte gets quicker, each with the sizes at which it wins."""
    steps: list[Row] = []
    for row in rows:
        known = steps[-1].best if steps else None
        if row.best is None or (known and row.best.cost.per_byte >= known.cost.per_byte):
            continue
        steps.append(row)
    kept = [row.best for row in steps if row.best is not None]
    shares = share_sizes([each.cost for each in kept])
    return tuple(
        Point(each, row.proof, row.complete, share)
        for each, row, share in zip(kept, steps, shares, strict=True)
    )


def _certificate(ledger: Ledger, steps: int) -> Certificate:
    entry = ledger.refuter(ledger.fewest_chunks(), steps, ledger.any_rounds())
    assert entry is not None
    return Certificate("search", entry.query.rounds, (), entry.reason, entry.complete)


def _order(query: Query) -> tuple[int, int, Fraction]:
    return query.steps, query.chunks, query.rounds


def _ignore(text: str) -> None:
    del text
