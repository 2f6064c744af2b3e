"""The exact engine: one query, several encodings and solvers at once, an answer within a budget.

This file is long for the sake of one loop: who runs, who is heard, who is ended, and when.
"""

from __future__ import annotations

import selectors
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.checker import ScheduleError, check
from roundelay.synth.schedule import (
    ANY_ROUNDS,
    Certificate,
    Found,
    GaveUp,
    Impossible,
    Outcome,
    Own,
    Result,
    Schedule,
)
from roundelay.synth.timeline import price

from .draft import Plain
from .plan import list_variants, name_class
from .pool import Pool, Worker, share_pool
from .worker import SOLVERS, Job, Started

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Query

    from .plan import Variant

_NAMES = {"cpsat": "CP-SAT", "cpsat-lp": "CP-SAT with LP", "z3": "Z3", "z3-fd": "Z3 QF_FD"}
_SLICE = 2.0  # Seconds of a contestant's first turn in a race; each further turn is twice as long.
_FIRST_SHARE = 0.4  # Of the budget: what the quick but incomplete encoding of one solver gets.
_START = 20.0  # Seconds a new worker process may take until it hears its first job.
_OVERTIME = 0.75  # Seconds past its time for a solver that is about to stop by itself.


class EngineError(RuntimeError):
    """A fault of this program: a solver's answer turned out to be no schedule."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One turn of a contestant: ``seconds`` (None: to the end), and the how-many-th it is."""

    variant: Variant
    solver: str
    seconds: float | None
    turn: int = 0


@dataclass(slots=True)
class _Race:
    """One query: what is running and until when, what waits for its turn, why others gave up."""

    problem: Problem
    query: Query
    seed: int
    waiting: list[_Attempt]
    running: dict[Worker, tuple[_Attempt, float]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    began: float | None = None


def refuse_unsupported(problem: Problem) -> None:
    """Raise ``UnsupportedError`` for wants that these encodings cannot make."""
    operator = problem.operator
    if operator is None or (operator.idempotent and operator.commutative):
        return
    for block in problem.collective.blocks:
        for want in block.wants:
            if len(set(want.symbols)) < len(want.symbols):
                raise UnsupportedError(
                    f"{want} takes the same value twice",
                    "every value once, or an operator that is idempotent and commutative",
                    "leave the second one out",
                )


def solve(
    problem: Problem,
    query: Query,
    *,
    budget: float,
    seed: int = 0,
    solver: str = "race",
    jobs: int = 2,
    pool: Pool | None = None,
    limit: Bound | None = None,
    quick: bool = False,
) -> Outcome:
    """Whether ``query.chunks`` chunks can take ``query.steps`` steps and ``query.rounds`` rounds.

    ``budget`` in seconds from the start of the first worker. ``solver``: ``race`` or one of
    ``cpsat``, ``z3``, ``z3-fd``; one alone is asked one encoding after the other, and answers
    alike each time unless the budget cuts it short, while in a race the first answer counts.
    ``pool``: where the workers come from (default: those of this process). ``limit``: the
    problem's bound, where it is known already. ``quick`` asks the smaller encoding alone, where
    there is one: it finds or gives up. Raises ``UnsupportedError``, and ``EngineError``
    for a fault of its own.
    """
    if solver != "race" and solver not in SOLVERS:
        raise ValueError(f"solver {solver} is not one of race, {', '.join(SOLVERS)}")
    if query.chunks < 1 or query.steps < 0 or query.rounds < 0:
        raise ValueError("a query needs a chunk, and no fewer than 0 steps and rounds")
    refuse_unsupported(problem)
    limit = bound(problem) if limit is None else limit
    refusal = _refuse_below(limit, query.chunks, query.steps, query.rounds)
    if refusal is not None:
        return refusal
    if limit.steps == 0:
        return _accept(problem, query, _stay(problem, query.chunks), "exact")
    variants = list_variants(problem)
    variants = variants[:1] if quick else variants
    race = _Race(problem, query, seed, _line_up(variants, solver, budget))
    pool = share_pool() if pool is None else pool
    try:
        return _run(race, pool, budget, max(1, jobs) if solver == "race" else 1)
    except BaseException:
        for worker in race.running:
            pool.kill(worker)
        race.running.clear()
        raise
    finally:
        for worker in race.running:
            worker.cancel()


def _line_up(variants: tuple[Variant, ...], solver: str, budget: float) -> list[_Attempt]:
    """Who runs, in which order.

    Times are heavy-tailed in the kind of solver and the seed, so a race gives all of them turns.
    """
    if solver == "race":
        return [_Attempt(variant, each, _SLICE) for each in SOLVERS for variant in variants]
    shares = [None] if len(variants) == 1 else [budget * _FIRST_SHARE, None]
    return [_Attempt(v, solver, seconds) for v, seconds in zip(variants, shares, strict=True)]


def _refuse_below(limit: Bound, chunks: int, steps: int, rounds: Fraction) -> Impossible | None:
    """The impossibility that a bound already proves."""
    for certificate in limit.certificates:
        if certificate.kind == "distance" and steps < certificate.value:
            return Impossible(certificate, "bound")
        if certificate.kind != "distance" and rounds < chunks * certificate.value:
            return Impossible(certificate, "bound")
    return None


def _stay(problem: Problem, chunks: int) -> Plain:
    """The schedule without a message: every rank holds what it wants."""
    results = tuple(
        Result(number * chunks + c, want, tuple(Own(s) for s in dict.fromkeys(wanted.symbols)))
        for number, block in enumerate(problem.collective.blocks)
        for c in range(chunks)
        for want, wanted in enumerate(block.wants)
    )
    return Plain(0, (), results)


def _accept(problem: Problem, query: Query, plain: Plain, engine: str) -> Found:
    """A solver's schedule, once the checker has accepted it and it is within the query."""
    schedule = Schedule(problem, query.chunks, plain.steps, plain.sends, plain.results)
    try:
        verdict = check(schedule)
    except ScheduleError as error:
        raise EngineError(f"{engine} found what is no schedule: {error}") from error
    cost = price(schedule)
    if cost.rounds != verdict.rounds:
        raise EngineError(f"a schedule of {verdict.rounds} rounds is priced at {cost.rounds}")
    if schedule.steps > query.steps or cost.rounds > query.rounds:
        raise EngineError(f"{engine} found a schedule beyond the limits asked for")
    return Found(schedule, cost, engine)


def _run(race: _Race, pool: Pool, budget: float, jobs: int) -> Outcome:
    entered = time.monotonic()
    with selectors.DefaultSelector() as selector:
        while race.running or race.waiting:
            now = time.monotonic()
            deadline = entered + _START if race.began is None else race.began + budget
            if now >= deadline + _OVERTIME:
                break
            if race.began is not None and now >= deadline:
                race.waiting.clear()
            while race.waiting and len(race.running) < jobs:
                left = budget if race.began is None else deadline - now
                _start(race, pool, selector, left)
            ends = [deadline if race.began is None else end for _, end in race.running.values()]
            wait = min([deadline, *ends]) + _OVERTIME - now
            for key, _ in selector.select(max(0.0, wait)):
                worker = key.fileobj
                assert isinstance(worker, Worker)
                if worker not in race.running:  # Dropped for what another one has just said.
                    continue
                outcome = _hear(race, pool, selector, worker)
                if outcome is not None:
                    return outcome
            _end_late(race, pool, selector)
        _end_late(race, pool, selector, everyone=True)
    why = "; ".join(dict.fromkeys(race.reasons))
    return GaveUp(why or f"no answer in {budget:.3g} s", "exact")


def _start(race: _Race, pool: Pool, selector: selectors.BaseSelector, left: float) -> None:
    """Give the first in line its turn."""
    attempt = race.waiting.pop(0)
    seconds = left if attempt.seconds is None else min(left, attempt.seconds)
    worker = pool.take(attempt.solver)
    race.running[worker] = attempt, time.monotonic() + seconds
    selector.register(worker, selectors.EVENT_READ)
    seed = (race.seed + 1000 * attempt.turn) % (1 << 31)
    number = pool.next_number()
    worker.start(
        Job(number, race.problem, race.query, attempt.variant, attempt.solver, seed, seconds)
    )


def _end_late(
    race: _Race, pool: Pool, selector: selectors.BaseSelector, *, everyone: bool = False
) -> None:
    """Kill workers whose solver did not stop by itself; what it was doing gets another turn."""
    now = time.monotonic()
    for worker, (attempt, end) in list(race.running.items()):
        if everyone or (race.began is not None and now >= end + _OVERTIME):
            selector.unregister(worker)
            del race.running[worker]
            pool.kill(worker)
            _queue_again(race, attempt)


def _queue_again(race: _Race, attempt: _Attempt) -> None:
    if attempt.seconds is not None:
        race.waiting.append(replace(attempt, seconds=2 * attempt.seconds, turn=attempt.turn + 1))


def _hear(
    race: _Race, pool: Pool, selector: selectors.BaseSelector, worker: Worker
) -> Outcome | None:
    """Take in what a worker says; an outcome when that decides the query."""
    attempt, end = race.running[worker]
    name = _NAMES[attempt.solver]
    messages = worker.receive()
    if messages is None:
        selector.unregister(worker)
        del race.running[worker]
        pool.kill(worker)
        status = worker.process.returncode
        race.reasons.append(f"the {name} process died with status {status} (out of memory?)")
        return None
    for message in messages:
        if isinstance(message, Started):
            race.began = race.began or time.monotonic()
            seconds = message.seconds
            race.running[worker] = attempt, max(end, time.monotonic() + seconds)
            continue
        selector.unregister(worker)
        del race.running[worker]
        if message.broken:
            raise EngineError(f"{name}: {message.answer}")
        if isinstance(message.answer, Plain):
            engine = f"exact ({name}, {attempt.variant})"
            return _accept(race.problem, race.query, message.answer, engine)
        if message.answer is False and attempt.variant == "full":
            return _refute(race, name)
        if message.answer is None:
            _queue_again(race, attempt)
        if isinstance(message.answer, str):  # Too large: so it is for every solver.
            race.reasons.append(message.answer)
        if message.answer is not None:
            _drop(race, selector, attempt.variant)
    return None


def _drop(race: _Race, selector: selectors.BaseSelector, variant: Variant) -> None:
    """Nobody need try a variant any more that has no solution, or is too large."""
    race.waiting = [each for each in race.waiting if each.variant != variant]
    for worker, (attempt, _) in list(race.running.items()):
        if attempt.variant == variant:
            selector.unregister(worker)
            del race.running[worker]
            worker.cancel()


def _refute(race: _Race, name: str) -> Impossible:
    query = race.query
    chunks = "1 chunk" if query.chunks == 1 else f"{query.chunks} chunks"
    rounds = "any number of" if query.rounds >= ANY_ROUNDS else query.rounds
    schedules, complete = name_class(race.problem, query)
    reason = (
        f"no schedule of {chunks} within {query.steps} steps and {rounds} rounds: "
        f"{name} refuted it over {schedules}"
    )
    certificate = Certificate("search", query.rounds, (), reason, complete)
    return Impossible(certificate, f"exact ({name})")
