"""What the verbs say while they work, and the exit status with which they end."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Handwritten, Problem
    from roundelay.synth.schedule import Answer, Certificate, Schedule

WRONG, BAD_INPUT, GAVE_UP, INTERNAL, UNWRITTEN, INTERRUPTED = 1, 2, 3, 70, 74, 130
"""Exit statuses beside 0: wrong data; bad input, or a request that was proved impossible; nothing
found within the budget; a fault of ours; standard output took no more; interrupted."""


def complain(text: str) -> None:
    """One message on standard error, if it takes any."""
    with suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class Progress:
    """One line that changes on a terminal; a line a query on standard error elsewhere."""

    def __init__(self) -> None:
        self.say: Callable[[str], None] = lambda text: complain(f"search    {text}")
        self._status: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("searching")
            self._status.start()
            self.say = lambda text: self._status.update(f"searching: {text}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()


def search_aloud(task: Problem | Handwritten, seed: int, solver: str, quiet: bool) -> Answer:
    """Search, or judge what was written by hand, and unless ``quiet`` say what is asked, how it
    goes and what came of it.
    """
    from roundelay import options, pipeline, report

    options.require("--solver", solver, ("race", "z3", "cpsat"))
    if quiet:
        return pipeline.synthesize(task, seed=seed, solver=solver)
    for line in report.header_lines(pipeline.problem_of(task)):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    with Progress() as progress:
        answer = pipeline.synthesize(task, seed=seed, solver=solver, on_progress=progress.say)
    for line in report.answer_lines(answer):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return answer


def schedule_of(answer: Answer) -> Schedule | None:
    """The schedule, where one was found."""
    from roundelay.synth.schedule import Found

    return answer.outcome.schedule if isinstance(answer.outcome, Found) else None


def leave(answer: Answer) -> NoReturn:
    """End with the exit status of an answer."""
    from roundelay.synth.schedule import GaveUp, Impossible

    match answer.outcome:
        case Impossible(certificate, _):
            complain(f"error: impossible: {certificate.reason}")
            if remedy := _remedy(answer, certificate):
                complain(f"  remedy: {remedy}")
            sys.exit(BAD_INPUT)
        case GaveUp(reason, _):
            complain(f"error: gave up: {reason}")
            sys.exit(INTERRUPTED if answer.interrupted else GAVE_UP)
        case _:
            if answer.interrupted:
                complain("interrupted: this is the best schedule found until then")
            sys.exit(INTERRUPTED if answer.interrupted else 0)


def _remedy(answer: Answer, certificate: Certificate) -> str:
    """Which limit to move, and how far, where a bound alone forbids the request."""
    from .report import count, show_number

    if certificate.kind == "distance":
        return f"allow at least {count(answer.bound.steps, 'step')} (--steps)"
    if certificate.kind in ("cut", "partition", "lengths"):
        fewest = answer.problem.limits.chunks[0] if answer.problem.limits.chunks else 1
        rounds = show_number(fewest * answer.bound.rounds)
        return f"allow at least {rounds} rounds for {count(fewest, 'chunk')} (--rounds)"
    return ""
