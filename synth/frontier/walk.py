"""The walk along the frontier: which queries to ask, in which order, until the time is out.

Queries are asked level by level: at each level all get more time than at the one before, first
with the smaller encoding alone. Within a level small chunk counts come first, and a level begins
before the one below it has reached the large ones. For a chunk count, step counts are taken far
apart first: what is found for few steps serves more, what is refuted or given up for many serves
fewer, and leaves less to ask in between.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

from roundelay.synth.checker import check
from roundelay.synth.counts import show_count
from roundelay.synth.exact.engine import solve
from roundelay.synth.packing.packer import ATTEMPTS, pack
from roundelay.synth.paths import build, build_rooted
from roundelay.synth.promising import count_alike, list_promising
from roundelay.synth.schedule import ANY_ROUNDS, Found, GaveUp, Impossible, Query
from roundelay.synth.timeline import price

from .chart import Asked, Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundelay.synth.exact.clock import Clock
    from roundelay.synth.exact.pool import Pool
    from roundelay.synth.schedule import Outcome

    from .ledger import Ledger
    from .store import Store

_MORE = 3  # Times as many from one level to the next.
_LEAD = 3  # Chunk counts that a level is ahead of the next.
_BEGINNING = 1 / 5  # Of the budget at most is for schedules made without a solver,
_BEGINNING_FIRST = 3 / 5  # or so much for the first of them,
_LARGE = 1024  # and so many chunks on all ranks.
_SPANS = 10  # Numbers of steps for which what is near the bound is asked,
_PACKING = 1 / 4  # Of the time is for packing,
_FARTHEST = 64  # in so many steps at most,
_GOOD = Fraction(101, 100)  # unless there is something so near to the bound.
_LEAPING = 2 / 3  # until so much of the time is left; a query has
_SHARE = 1 / 25  # of that at least.
_FIRST = 1 / 6  # Of what is left, for a query as long as there is no schedule at all.
_NEAR = Fraction(3, 4)  # Of the bandwidth bound: what is so good is bettered last.
_WORTH_TELLING = 0.5  # Seconds that a query without an answer takes before anyone hears of it.
_LEAST = 0.05  # Seconds: less is not worth asking.
_STRIDE = Fraction(1, 100)  # Of the rounds, at least, from one query to the next.
_FAR = 2  # The first level that looks at more than three times the fewest steps.


@dataclass(slots=True)
class Walk:
    """One run: what it knows, what it looks at, and its time."""

    ledger: Ledger
    store: Store | None
    steps: range
    counts: tuple[int, ...]
    seed: int
    solver: str
    jobs: int
    clock: Clock
    glance: float
    pool: Pool
    tell: Callable[[str], None]
    several: bool
    queries: int = 0

    def left(self) -> float:
        """Seconds until the time is out."""
        return self.clock.left()

    def ask(self, query: Query, seconds: float, level: int, *, quick: bool) -> Outcome:
        """Put one query to the exact engine; note and store what it says."""
        began = time.monotonic()
        outcome = solve(
            self.ledger.problem, query, budget=seconds, seed=(self.seed + 7919 * level) % (1 << 31),
            solver=self.solver, jobs=self.jobs, pool=self.pool, limit=self.ledger.limit,
            quick=quick, clock=self.clock.part(seconds),
        )  # fmt: skip
        took = round(time.monotonic() - began, 3)  # As the store has it.
        self.queries += 1
        limit, glance = (0.0, seconds) if quick else (seconds, 0.0)
        match outcome:
            case Found(_, _, engine):
                self.ledger.keep(Kept(outcome, took))
                self.ledger.note(Asked(query, "found", took, engine, "", True, limit, glance))
                word = f"found ({show_count(outcome.cost.rounds, 'round')})"
            case Impossible(certificate, engine):
                entry = Asked(query, "impossible", took, engine, certificate.reason,
                              certificate.complete, limit, glance)  # fmt: skip
                self.ledger.note(entry)
                word = "impossible"
            case GaveUp(reason, _):
                self.ledger.note(Asked(query, "open", took, "", reason, True, limit, glance))
                word = "no tree pairs" if quick else "no answer"
        if self.store is not None:
            self.store.save(self.ledger)
        if not isinstance(outcome, GaveUp) or took >= _WORTH_TELLING:
            self.tell(f"{_describe(query)}: {word} in {took:.1f} s")
        return outcome

    # ------------------------------------------------------------------------- the order

    def run(self) -> None:
        """Ask until nothing is open or the time is out."""
        self._begin()
        alike = count_alike(self.ledger.problem)
        if alike == 1:
            self._pack()
        self._leap(alike)
        if alike > 1:
            self._pack()
        levels = 2
        while self._seconds(levels - 1)[0] < self.left():
            levels += 1
        for stage in range(_LEAD * (levels - 1) + len(self.counts)):
            for level in range(levels):
                number = stage - _LEAD * level
                if not 0 <= number < len(self.counts):
                    continue
                if number == 0:
                    self._reach(level)
                # One that may meet the bound is worth a glance early on; else less is easier.
                counts = sorted(self.counts) if level else self.counts
                for steps in self._spread(level):
                    self._tighten(counts[number], steps, level)
            if self.left() < _LEAST or self.settled():
                return

    def _begin(self) -> None:
        """Take what is made without a solver, unless an earlier run has left something."""
        problem, began = self.ledger.problem, time.monotonic()
        if self.ledger.usable():
            return
        wall = self.clock.wall()
        end, first = began + wall * _BEGINNING, began + wall * _BEGINNING_FIRST
        for chunks in sorted(self.counts):
            if chunks * len(problem.topology.ranks) > _LARGE or time.monotonic() > end:
                break
            for make in (build, build_rooted):
                started = time.monotonic()
                schedule = make(problem, chunks, end if self.ledger.kept else first)
                if schedule is None:
                    continue
                check(schedule)
                found = Found(schedule, price(schedule), "shortest ways")
                self.ledger.keep(Kept(found, round(time.monotonic() - started, 3)))
        if self.store is not None and self.ledger.kept:
            self.store.save(self.ledger)

    def _pack(self) -> None:
        """Fill the links with many chunks, unless what there is comes near the bound, or an earlier
        run has done that.
        """
        ledger = self.ledger
        usable = ledger.usable()
        goal = ledger.limit.per_byte * _GOOD
        if any(kept.found.engine == "packing" for kept in usable):
            return
        if usable and usable[0].cost.per_byte <= goal:
            return
        seconds = self.left() * _PACKING
        timed = self.clock.kind == "wall"
        began = time.monotonic()
        for schedule in pack(
            ledger.problem,
            seed=self.seed,
            deadline=began + (seconds if timed else self.clock.wall()),
            attempts=None if timed else ceil(seconds * ATTEMPTS),
        ):
            if schedule.steps > _FARTHEST:
                break
            took = round(time.monotonic() - began, 3)
            found = Found(schedule, price(schedule), "packing")
            ledger.keep(Kept(found, took))
            shown = f"{show_count(schedule.chunks, 'chunk')}, {show_count(schedule.steps, 'step')}"
            self.tell(f"{shown}: packed in {took:.1f} s")
            if found.cost.per_byte <= goal:
                break
        self.clock.spend(seconds)
        if self.store is not None and ledger.kept:
            self.store.save(ledger)

    def _leap(self, alike: int) -> None:
        """Ask for what would come near the bound, before anything is tightened little by little."""
        ledger = self.ledger
        first = self.steps[0]
        spans = [steps for steps in self.steps if 2 * first <= steps <= 4 * first + _SPANS]
        spans += [steps for steps in self.steps if steps < 2 * first]
        asked = [list_promising(ledger.problem, ledger.limit, s, alike) for s in spans[:_SPANS]]
        end = self.left() * _LEAPING
        glance = max(self.glance, self.left() * _SHARE)
        for place in range(max(map(len, asked), default=0)):
            for queries in asked:
                query = queries[place] if place < len(queries) else None
                if query is None or self.left() < max(end, _LEAST):
                    continue
                known = ledger.best(query.steps)
                high = ledger.rounds_to_win(query.chunks, query.steps) if known else query.rounds
                if (high is not None and query.rounds <= high) and (
                    ledger.refuter(query.chunks, query.steps, query.rounds) is None
                    and not ledger.tried(ledger.asked.get(query), glance, quick=self.several)
                ):
                    self.ask(query, glance, 0, quick=self.several)

    def settled(self) -> bool:
        """Whether every step count has a schedule that is proved the cheapest, or none."""
        return all(
            self.ledger.prove(steps, self.counts)[0] in ("bound", "counts") for steps in self.steps
        )

    def _seconds(self, level: int) -> tuple[float, bool]:
        """The time for a query of a level, and whether it is for the smaller encoding alone."""
        return self.glance * _MORE ** max(0, level - 1), level == 0 and self.several

    def _spread(self, level: int) -> Iterator[int]:
        """Step counts far apart first: once, twice, three times the fewest, then in between.

        What takes more steps than that is for later levels.
        """
        first, last = self.steps[0], self.steps[-1]
        marks = sorted({first, *(min(last, times * first) for times in (2, 3))})
        if level >= _FAR:
            marks = sorted({*marks, last})
        yield from marks
        waiting = list(pairwise(marks))
        while waiting:
            low, high = waiting.pop(0)
            if high - low > 1:
                middle = (low + high) // 2
                yield middle
                waiting += [(low, middle), (middle, high)]

    def _reach(self, level: int) -> None:
        """Settle how many steps any schedule takes, if it carries ever so little at a time."""
        limit, quick = self._seconds(level)
        twice = min(2 * self.steps[0], self.steps[-1])
        for steps in (self.steps[0], twice, *self.steps):
            seconds = limit if self.ledger.usable() else max(limit, self.left() * _FIRST)
            seconds = min(seconds, self.left())
            if seconds < _LEAST:
                return
            query = Query(self.ledger.fewest_chunks(), steps, self.ledger.any_rounds())
            if (
                self.ledger.best(steps) is None
                and self.ledger.refuter(query.chunks, steps, query.rounds) is None
                and not self.ledger.tried(self.ledger.asked.get(query), seconds, quick=quick)
            ):
                self.ask(query, seconds, level, quick=quick)

    def _tighten(self, chunks: int, steps: int, level: int) -> None:
        """Fewer and fewer rounds for one chunk and step count, as far as a level's time reaches.

        As many rounds in every step come first: good schedules are often so. Strides get longer as
        long as schedules are found: those that exist are found soon, while a query that is not
        answered costs all its time. A stride is a hundredth of the rounds at least. Where the bound
        is near already, little can be won, and the level comes later.
        """
        best = self.ledger.best(steps)
        near = best is not None and self.ledger.limit.per_byte >= _NEAR * best.cost.per_byte
        limit, quick = self._seconds(level - 1 if near and level else level)
        grain = stride = self.ledger.grain
        bold = True  # Not after a query without a schedule: then as little as possible is asked.
        while True:
            seconds = min(limit, self.left())
            if seconds < _LEAST or self.ledger.best(steps) is None:
                return
            high = self.ledger.rounds_to_win(chunks, steps)
            low = self.ledger.lowest_open(chunks, steps, seconds, quick=quick)
            if high is None or low > high:
                return
            even = Fraction(high // steps * steps)
            least = max(grain, high * _STRIDE // grain * grain) if bold else grain
            stride = max(stride, least)
            target = high - (stride - grain)
            if target < low:  # Where grains are many, one after the other would take for ever.
                target = low if least == grain else low + (high - low) / 2 // grain * grain
            if low <= even < high:
                target = even
            outcome = self.ask(Query(chunks, steps, target), seconds, level, quick=quick)
            bold = isinstance(outcome, Found)
            stride = 2 * stride if bold else grain


def _describe(query: Query) -> str:
    rounds = "any rounds" if query.rounds >= ANY_ROUNDS else show_count(query.rounds, "round")
    return f"{show_count(query.chunks, 'chunk')}, {show_count(query.steps, 'step')}, {rounds}"
