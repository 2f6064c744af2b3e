"""One query: several encodings and solvers take turns in worker processes until one decides it.

Everyone's turns grow longer, so that nobody holds up the others, and each starts afresh with
another seed: solvers' times are heavy-tailed in the seed, in their kind and in the encoding.
"""

from __future__ import annotations

import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from roundelay.synth.schedule import GaveUp

from .classes import refutes
from .draft import Plain
from .helping import helps
from .pool import Worker
from .verdicts import NAMES, EngineError, accept, refute
from .worker import Job, Started

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Impossible, Outcome, Query

    from .classes import Variant
    from .clock import Clock
    from .pool import Pool

_SLICE = 0.5  # Seconds of a contestant's first turn; each further turn is twice as long.
_HANDICAP = {"cpsat": 1, "z3": 1, "cpsat-lp": 2, "z3-fd": 4}
"""How many times sooner someone else may have a turn of the same length: they win less often."""
_LEAD = 0.03  # Seconds that the first one has to itself: most queries it decides at once.
_OVERTIME = 0.4  # Seconds past its time for a solver that is about to stop by itself.
_WIDER = 2.0  # Seconds at least for a wider class, once a narrower one has no schedule.


@dataclass(frozen=True, slots=True)
class Attempt:
    """One turn of a contestant: ``seconds`` (None: to the end), and the how-many-th it is.

    ``place``: who goes first where nothing else decides.
    """

    variant: Variant
    solver: str
    seconds: float | None
    place: int
    turn: int = 0

    @property
    def patience(self) -> tuple[float, int]:
        """The least of these is next."""
        return (self.seconds or 0.0) * _HANDICAP[self.solver], self.place


@dataclass(slots=True)
class Race:
    """One query: what is running and until when, what waits for its turn, why others gave up.

    ``variants``: all that can decide it; one that can refute covers all before it, but for trees
    that switches help. ``refuted``:
    what is proved of a narrower class while a wider one is being asked. ``started``: whether a
    worker has taken up its work, from when on time counts.
    """

    problem: Problem
    query: Query
    variants: tuple[Variant, ...]
    seed: int
    clock: Clock
    waiting: list[Attempt]
    running: dict[Worker, tuple[Attempt, float]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    refuted: Impossible | None = None
    started: bool = False


def line_up(variants: tuple[Variant, ...], solvers: tuple[str, ...]) -> list[Attempt]:
    """Who takes part: every encoding with every solver.

    The narrowest encoding that can refute goes first: most queries it decides at once.
    """
    alone = len(variants) == len(solvers) == 1
    decisive = [variant for variant in variants if refutes(variant)][:1]
    order = [*decisive, *(variant for variant in variants if variant not in decisive)]
    pairs = [(variant, solver) for solver in solvers for variant in order]
    return [
        Attempt(variant, solver, None if alone else _SLICE, place)
        for place, (variant, solver) in enumerate(pairs)
    ]


def run(race: Race, pool: Pool, jobs: int) -> Outcome:
    """What the contestants of a race make of its query, ``jobs`` of them at once.

    With one job, on a clock of effort and with no more than a seed to choose by, the outcome is
    the same each time: the turns are taken in a fixed order, each ends after a fixed effort, and
    a solver given the same model, seed and effort says the same. Raises ``EngineError``.
    """
    try:
        return _run(race, pool, jobs)
    except BaseException:
        for worker in race.running:
            pool.kill(worker)
        race.running.clear()
        raise
    finally:
        for worker in race.running:
            worker.cancel()


def _run(race: Race, pool: Pool, jobs: int) -> Outcome:
    clock = race.clock
    clock.hold()
    began, entered = clock.elapsed(), time.monotonic()
    with selectors.DefaultSelector() as selector:
        while race.running or (race.waiting and not clock.out()):
            if clock.wall() <= 0 and time.monotonic() >= clock.end + _OVERTIME:
                break
            if clock.out():
                race.waiting.clear()
            lead = entered + _LEAD - time.monotonic() if jobs > 1 else 0.0
            while race.waiting and len(race.running) < (1 if lead > 0 else jobs):
                _start(race, pool, selector)
            ends = [end for _, end in race.running.values()]
            wait = min([clock.end, *ends]) + _OVERTIME - time.monotonic()
            wait = min(wait, lead) if lead > 0 else wait
            for key, _ in selector.select(max(0.0, wait)):
                worker = key.fileobj
                assert isinstance(worker, Worker)
                if worker not in race.running:  # Dropped for what another one has just said.
                    continue
                outcome = _hear(race, pool, selector, worker)
                if outcome is not None:
                    return outcome
                if race.refuted is not None:
                    clock.shorten(max(_WIDER, 2 * (clock.elapsed() - began)))
            _end_late(race, pool, selector)
        _end_late(race, pool, selector, everyone=True)
    if race.refuted is not None:
        return race.refuted
    why = "; ".join(dict.fromkeys(race.reasons))
    return GaveUp(why or "no answer in the time there was", "exact")


def _start(race: Race, pool: Pool, selector: selectors.BaseSelector) -> None:
    """Give the first in line its turn."""
    attempt = min(race.waiting, key=lambda each: each.patience)
    race.waiting.remove(attempt)
    clock = race.clock
    left = min(clock.left(), clock.allowance)
    turn = left if attempt.seconds is None else min(left, attempt.seconds)
    timed = clock.kind == "wall"
    seconds = turn if timed else clock.wall()
    worker = pool.take(attempt.solver)
    # Until it has heard of its turn, which may take a new process a while, there is no hurry.
    race.running[worker] = attempt, clock.end
    selector.register(worker, selectors.EVENT_READ)
    seed = (race.seed + 1000 * attempt.turn) % (1 << 31)
    worker.start(
        Job(pool.next_number(), race.problem, race.query, attempt.variant, attempt.solver, seed,
            seconds, None if timed else turn, attempt.turn)
    )  # fmt: skip


def _end_late(
    race: Race, pool: Pool, selector: selectors.BaseSelector, *, everyone: bool = False
) -> None:
    """Kill workers whose solver did not stop by itself; what it was doing gets another turn."""
    now = time.monotonic()
    for worker, (attempt, end) in list(race.running.items()):
        if everyone or now >= end + _OVERTIME:
            selector.unregister(worker)
            del race.running[worker]
            pool.kill(worker)
            _queue_again(race, attempt)


def _queue_again(race: Race, attempt: Attempt) -> None:
    if attempt.seconds is not None:
        race.waiting.append(replace(attempt, seconds=2 * attempt.seconds, turn=attempt.turn + 1))


def _hear(
    race: Race, pool: Pool, selector: selectors.BaseSelector, worker: Worker
) -> Outcome | None:
    """Take in what a worker says; an outcome when that decides the query."""
    attempt, _ = race.running[worker]
    name = NAMES[attempt.solver]
    messages = worker.receive()
    if messages is None:
        selector.unregister(worker)
        del race.running[worker]
        how = _await_end(worker)
        pool.kill(worker)
        race.reasons.append(f"{name} died ({how}), most likely out of memory")
        return None
    for message in messages:
        if isinstance(message, Started):
            if not race.started:
                race.started = True
                race.clock.resume()
            race.running[worker] = attempt, time.monotonic() + message.seconds
            continue
        selector.unregister(worker)
        del race.running[worker]
        if message.broken:
            raise EngineError(f"{name}: {message.answer}")
        race.clock.spend(message.effort)
        if isinstance(message.answer, Plain):
            engine = f"exact ({name}, {attempt.variant})"
            return accept(race.problem, race.query, message.answer, engine)
        if isinstance(message.answer, str):
            starved = f"out of memory: {name} {message.answer}"
            race.reasons.append(starved if message.alone else message.answer)
            if not message.alone:  # Too large: so it is for every solver.
                _drop(race, selector, (attempt.variant,))
        elif message.answer is False and not refutes(attempt.variant):
            _drop(race, selector, (attempt.variant,))
        elif message.answer is False:
            covered = race.variants[: race.variants.index(attempt.variant) + 1]
            race.refuted = refute(race.query, attempt.solver, attempt.variant, message.scope)
            if message.scope[1]:
                return race.refuted
            if helps(race.problem.topology):  # Trees may have help that the class leaves out.
                covered = tuple(each for each in covered if not each.endswith("trees"))
            _drop(race, selector, covered)
            if not race.waiting and not race.running:
                return race.refuted
        else:
            _queue_again(race, attempt)
    return None


def _await_end(worker: Worker) -> str:
    """How a process ended that nobody has ended, which may be a little after its last word."""
    with suppress(subprocess.TimeoutExpired):
        worker.process.wait(_OVERTIME)
    status = worker.process.poll()
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return "deaf" if status is None else f"status {status}"


def _drop(race: Race, selector: selectors.BaseSelector, variants: tuple[Variant, ...]) -> None:
    """Nobody need try variants any more that have no solution, or are too large."""
    race.waiting = [each for each in race.waiting if each.variant not in variants]
    for worker, (attempt, _) in list(race.running.items()):
        if attempt.variant in variants:
            selector.unregister(worker)
            del race.running[worker]
            worker.cancel()
