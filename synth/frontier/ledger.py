"""What is known of a problem: the schedules found, the queries refuted, those given up.

What one answer says of other queries is used throughout. A schedule does with more steps and
more rounds as well; a chunk can be dropped from it, and each can be doubled. So a query that was
refuted refutes all with fewer steps or fewer rounds; C chunks in R rounds refute c chunks in r
rounds if the latter, each made ceil(C / c) times over, would be the former.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from roundelay.synth.checker import check
from roundelay.synth.copies import replicate
from roundelay.synth.refusals import find_grain
from roundelay.synth.schedule import ANY_ROUNDS, Found
from roundelay.synth.timeline import price

from .chart import Asked, Kept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Query

    from .chart import Proof

_NEARLY = 0.9  # A try that had so much of a time limit counts as one that had it.


class Ledger:
    """Everything learnt of one problem, by this run and by earlier ones."""

    def __init__(self, problem: Problem, limit: Bound) -> None:
        self.problem = problem
        self.limit = limit
        self.grain = find_grain(problem.topology)
        self.asked: dict[Query, Asked] = {}
        self.kept: dict[tuple[int, int], Kept] = {}  # By chunks and steps.
        self._usable: list[Kept] | None = None

    # ------------------------------------------------------------------------- learning

    def keep(self, kept: Kept) -> None:
        """Remember a schedule unless one of as many chunks is as good; forget what it beats."""
        schedule, rounds = kept.schedule, kept.cost.rounds
        same = [(key, other) for key, other in self.kept.items() if key[0] == schedule.chunks]
        if any(key[1] <= schedule.steps and other.cost.rounds <= rounds for key, other in same):
            return
        for key, other in same:
            if key[1] >= schedule.steps and other.cost.rounds >= rounds:
                del self.kept[key]
        self.kept[schedule.chunks, schedule.steps] = kept
        self._usable = None

    def note(self, entry: Asked) -> None:
        """Remember a query; what is known of it already is not forgotten."""
        old = self.asked.get(entry.query)
        if old is None:
            self.asked[entry.query] = entry
            return
        best = entry if old.verdict == "open" else old
        self.asked[entry.query] = Asked(
            entry.query, best.verdict, old.seconds + entry.seconds, best.engine, best.reason,
            best.complete, max(old.limit, entry.limit), max(old.glance, entry.glance),
        )  # fmt: skip

    def merge(self, asked: Iterable[Asked], kept: Iterable[Kept]) -> None:
        """Take in what another run has written, where this one does not know as much.

        What was given up for want of memory counts as not tried: now there may be more.
        """
        for entry in asked:
            old = self.asked.get(entry.query)
            if old is None or (old.verdict == "open" and entry.verdict != "open"):
                tried = replace(entry, limit=0.0, glance=0.0) if entry.starved else entry
                self.asked[entry.query] = tried
        for each in kept:
            self.keep(each)

    # ------------------------------------------------------------------------- schedules

    def usable(self) -> list[Kept]:
        """The schedules that are within the problem's limits, each in as few copies as that takes.

        Ordered by seconds a byte, then steps, then chunks.
        """
        if self._usable is None:
            fitted = (self._fit(kept) for kept in self.kept.values())
            self._usable = sorted(
                (kept for kept in fitted if kept is not None),
                key=lambda kept: (kept.cost.per_byte, kept.schedule.steps, kept.schedule.chunks),
            )
        return self._usable

    def _fit(self, kept: Kept) -> Kept | None:
        limits, schedule = self.problem.limits, kept.schedule
        if limits.steps is not None and schedule.steps > limits.steps[1]:
            return None
        times = 1
        if limits.chunks is not None:
            times = max(1, ceil(Fraction(limits.chunks[0], schedule.chunks)))
            if times * schedule.chunks > limits.chunks[1]:
                return None
        if limits.rounds is not None and kept.cost.rounds * times > limits.rounds:
            return None
        if times == 1:
            return kept
        copied = replicate(schedule, times)
        check(copied)
        engine = f"{kept.found.engine}, copied"
        return Kept(Found(copied, price(copied), engine), kept.seconds)

    def best(self, steps: int) -> Kept | None:
        """The cheapest usable schedule of so many steps at most, of equal ones the shortest."""
        return next((kept for kept in self.usable() if kept.schedule.steps <= steps), None)

    # ------------------------------------------------------------------------- limits

    def lowest(self, chunks: int) -> Fraction:
        """The fewest rounds that the bound leaves to so many chunks."""
        return ceil(chunks * self.limit.rounds / self.grain) * self.grain

    def rounds_to_win(self, chunks: int, steps: int) -> Fraction | None:
        """The most rounds with which so many chunks beat the best of so many steps.

        None where the bound, or what the problem asks for, leaves none that does. There must be
        a schedule of so many steps.
        """
        best = self.best(steps)
        assert best is not None
        most = best.cost.rounds * chunks / best.schedule.chunks
        rounds = (ceil(most / self.grain) - 1) * self.grain
        if self.problem.limits.rounds is not None:
            rounds = min(rounds, self.problem.limits.rounds // self.grain * self.grain)
        return rounds if rounds > 0 and rounds >= self.lowest(chunks) else None

    def refuter(self, chunks: int, steps: int, rounds: Fraction) -> Asked | None:
        """An answer that rules a query out; one that does so for all schedules comes first."""
        partial = None
        for entry in self.asked.values():
            if entry.verdict != "impossible" or entry.query.steps < steps:
                continue
            if rounds * -(-entry.query.chunks // chunks) <= entry.query.rounds:
                if entry.complete:
                    return entry
                partial = partial or entry
        return partial

    def lowest_open(self, chunks: int, steps: int, seconds: float, *, quick: bool) -> Fraction:
        """The fewest rounds that neither bound nor answer rules out, nor a try of so long left
        open with as many steps.
        """
        ruled_out = Fraction(-1)
        for entry in self.asked.values():
            query = entry.query
            if query.steps < steps:
                continue
            if entry.verdict == "impossible":
                ruled_out = max(ruled_out, query.rounds / -(-query.chunks // chunks))
            elif query.chunks == chunks and self.tried(entry, seconds, quick=quick):
                ruled_out = max(ruled_out, query.rounds)
        return max(self.lowest(chunks), (ruled_out // self.grain + 1) * self.grain)

    def tried(self, entry: Asked | None, seconds: float, *, quick: bool) -> bool:
        """Whether an open query has had so much time already."""
        if entry is None or entry.verdict != "open":
            return False
        longest = max(entry.limit, entry.glance) if quick else entry.limit
        return longest >= seconds * _NEARLY

    def any_rounds(self) -> Fraction:
        """The rounds of a query that asks whether there is any schedule at all."""
        limits = self.problem.limits
        return Fraction(ANY_ROUNDS) if limits.rounds is None else limits.rounds

    def fewest_chunks(self) -> int:
        """The chunks of a query that asks whether there is any schedule at all.

        With a limit on the rounds, as few as are allowed; without, one stands for any number.
        """
        limits = self.problem.limits
        return 1 if limits.rounds is None or limits.chunks is None else limits.chunks[0]

    # ------------------------------------------------------------------------- proofs

    def prove(self, steps: int, counts: Iterable[int]) -> tuple[Proof, bool]:
        """Why no schedule of so many steps at most is cheaper than the best, and whether that
        holds for all schedules; without a best, why there is none.
        """
        best = self.best(steps)
        if best is None:
            entry = self.refuter(self.fewest_chunks(), steps, self.any_rounds())
            return ("open", True) if entry is None else ("counts", entry.complete)
        if best.cost.per_byte == self.limit.per_byte:
            return "bound", True
        complete = True
        for count in counts:
            known = self._cannot_win(count, steps)
            if known is None:
                own = self._cannot_win(best.schedule.chunks, steps)
                return ("open", True) if own is None else ("count", own)
            complete = complete and known
        return "counts", complete

    def _cannot_win(self, chunks: int, steps: int) -> bool | None:
        """Whether so many chunks provably cannot beat the best (None), among all schedules (True)
        or those of a smaller class.
        """
        rounds = self.rounds_to_win(chunks, steps)
        if rounds is None:
            return True
        entry = self.refuter(chunks, steps, rounds)
        return None if entry is None else entry.complete
