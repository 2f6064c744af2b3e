"""The state of a search: what was asked, what is best, what could still be better."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from .checker import PACE, check
from .copies import replicate
from .counts import show_count
from .exact.engine import confirm, solve
from .refusals import find_grain
from .schedule import ANY_ROUNDS, Cost, Found, GaveUp, Impossible, Query
from .timeline import price

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Objective, Problem

    from .exact.clock import Clock
    from .exact.pool import Pool
    from .schedule import Bound, Outcome, Schedule

_LEAST = 0.05  # Seconds that every query gets.
_WORTH_TELLING = 0.5  # Seconds that a quick try without a find takes before anyone hears of it.


@dataclass(slots=True)
class Walk:
    """One search: its problem, its time, and what it knows so far.

    ``refuted`` holds, by chunks and steps, the most rounds proved too few. ``quickest`` is the
    least latency of a step, in seconds, where the objective counts it;
    ``patience`` the seconds left once there is a schedule (None: all there are); ``fewest`` the
    steps of the shortest schedule so far. All seconds are
    those of the ``clock``; on one that counts effort, with one job, what is asked next depends on
    nothing but what was answered and the effort it took, so the whole walk goes alike each time
    until the wall-clock end of the budget cuts it. ``asked``: the queries, with their outcomes.
    """

    problem: Problem
    limit: Bound
    objective: Objective
    seed: int
    solver: str
    jobs: int
    clock: Clock
    patience: float | None
    pool: Pool
    tell: Callable[[str], None]
    quickest: Fraction
    best: Found | None = None
    fewest: int | None = None
    refuted: dict[tuple[int, int], Fraction] = field(default_factory=dict)
    log: list[tuple[Query, str, float]] = field(default_factory=list)
    asked: list[tuple[Query, Outcome]] = field(default_factory=list)

    # ------------------------------------------------------------------ money and time

    def left(self) -> float:
        """Seconds until the time is out."""
        return self.clock.left()

    def price_of(self, cost: Cost) -> Fraction:
        """What the objective minimises once the number of steps is settled."""
        if self.objective.kind == "time":
            return cost.at(self.objective.size)
        return cost.per_byte

    def best_possible(self, steps: int) -> Fraction:
        """No schedule of so many steps is cheaper."""
        return self.cost_at(steps, self.limit.per_byte)

    def cost_at(self, steps: int, per_byte: Fraction) -> Fraction:
        """What a schedule of so many steps costs at least, given its seconds a byte."""
        if self.objective.kind == "time":
            return steps * self.quickest + self.objective.size * per_byte
        return per_byte

    def per_round(self, chunks: int) -> Fraction:
        """Seconds for a byte that one round costs."""
        topology = self.problem.topology
        return 1 / (topology.slowest * self.problem.collective.units * chunks)

    def grain(self) -> Fraction:
        """All sums of loads over capacities, in rounds, are multiples of this."""
        return find_grain(self.problem.topology)

    def rounds_to_win(self, chunks: int, steps: int) -> Fraction | None:
        """The most rounds with which so many chunks beat the best so far; None: impossible."""
        assert self.best is not None
        gap = self.price_of(self.best.cost) - self.cost_at(steps, Fraction(0))
        if self.objective.kind == "time":
            gap /= max(1, self.objective.size)
        most = gap / self.per_round(chunks)
        grain = self.grain()
        rounds = (ceil(most / grain) - 1) * grain
        if self.problem.limits.rounds is not None:
            rounds = min(rounds, self.problem.limits.rounds)
        return rounds if rounds >= chunks * self.limit.rounds and rounds > 0 else None

    def lowest_open(self, chunks: int, steps: int) -> Fraction:
        """The fewest rounds that neither the bound nor an answer so far rules out."""
        ruled_out = max(
            (rounds for (c, s), rounds in self.refuted.items() if c == chunks and s >= steps),
            default=Fraction(-1),
        )
        grain = self.grain()
        return max(ceil(chunks * self.limit.rounds / grain) * grain, ruled_out + grain)

    # ------------------------------------------------------------------ asking

    def ask(self, query: Query, seconds: float, *, quick: bool = False) -> Outcome:
        """Put one query to the exact engine, log it, and keep what is better than the best.

        ``quick`` asks the engine's smaller encoding alone.
        """
        began = time.monotonic()
        clock = self.clock.part(max(_LEAST, seconds))
        try:
            outcome = solve(
                self.problem, query, budget=seconds, seed=self.seed, solver=self.solver,
                jobs=self.jobs, pool=self.pool, limit=self.limit, quick=quick, clock=clock,
            )  # fmt: skip
        except KeyboardInterrupt:
            self.asked.append((query, GaveUp("interrupted", "exact")))
            raise
        self.asked.append((query, outcome))
        took = time.monotonic() - began
        open_word = "no tree pairs" if quick else "no answer"
        word = {Found: "found", Impossible: "impossible", GaveUp: open_word}[type(outcome)]
        self.log.append((query, "gave-up" if isinstance(outcome, GaveUp) else word, took))
        if isinstance(outcome, Impossible):
            key = query.chunks, query.steps
            self.refuted[key] = max(query.rounds, self.refuted.get(key, query.rounds))
        if isinstance(outcome, Found):
            word += f" ({show_count(outcome.cost.rounds, 'round')})"
            self.keep(outcome)
        if isinstance(outcome, Found) or not quick or took >= _WORTH_TELLING:
            self.tell(f"{_describe(query)}: {word} in {took:.1f} s")
        return outcome

    def query_of(self, outcome: Outcome) -> Query | None:
        """The query that has this outcome.

        Of a schedule nobody asked for, such as copies of a smaller one: whether there is one like
        it; of any other outcome the last query with one of its kind.
        """
        for query, other in self.asked:
            if other is outcome:
                return query
        if isinstance(outcome, Found):
            schedule = outcome.schedule
            return Query(schedule.chunks, schedule.steps, outcome.cost.rounds)
        kinds = [query for query, other in self.asked if type(other) is type(outcome)]
        return kinds[-1] if kinds else None

    def confirm(self, refuted: Impossible) -> Impossible:
        """Have the other solver prove it, too, in the time that is left."""
        query = self.query_of(refuted)
        if query is None or refuted.certificate.kind != "search":
            return refuted
        began = time.monotonic()
        outcome = confirm(self.problem, query, refuted, seed=self.seed, jobs=self.jobs,
                          pool=self.pool, clock=self.clock)  # fmt: skip
        word = "no answer" if outcome.engine == refuted.engine else "impossible"
        self.tell(f"{_describe(query)}, asked again: {word} in {time.monotonic() - began:.1f} s")
        return outcome

    def beats(self, query: Query) -> bool:
        """Whether what a query asks for would be better than the best so far."""
        if self.best is None:
            return True
        per_byte = query.rounds * self.per_round(query.chunks)
        return self.cost_at(query.steps, per_byte) < self.price_of(self.best.cost)

    def keep(self, found: Found) -> None:
        """Remember a schedule if it is the best; the first one starts the clock of patience."""
        if self.best is None and self.patience is not None:
            self.clock.shorten(self.patience)
        steps = found.schedule.steps
        self.fewest = steps if self.fewest is None else min(self.fewest, steps)
        if self.best is None or self._rank(found) < self._rank(self.best):
            self.best = found

    def _rank(self, found: Found) -> tuple[Fraction, int]:
        return self.price_of(found.cost), found.schedule.steps

    def replicated(self, schedule: Schedule, times: int) -> Found | None:
        """A schedule that does the same to ``times`` as many chunks; None: too many for the time.

        Copying and checking cannot be stopped on the way, so it is estimated beforehand.
        """
        seconds = len(schedule.sends) * times * PACE
        if seconds > self.left():
            return None
        self.clock.spend(seconds)
        copied = replicate(schedule, times)
        check(copied)
        return Found(copied, price(copied), "exact (copies of a smaller schedule)")

    def settled(self, steps: int) -> bool:
        """Whether nothing of so many steps can beat the best."""
        return self.best is not None and self.price_of(self.best.cost) <= self.best_possible(steps)


def _describe(query: Query) -> str:
    rounds = "any rounds" if query.rounds >= ANY_ROUNDS else show_count(query.rounds, "round")
    return f"{show_count(query.chunks, 'chunk')}, {show_count(query.steps, 'step')}, {rounds}"
