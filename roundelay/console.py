"""What the verbs say while they work, and the exit status with which they end."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from roundelay.dsl.model import Handwritten, Problem
    from roundelay.synth.schedule import Answer, Schedule

    from .writing import Written

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


@dataclass(frozen=True, slots=True)
class How:
    """How to search: the options of the command line that are not about the problem.

    ``began``: when the command did, for the budget.
    """

    seed: int = 0
    solver: str = "race"
    jobs: int | None = None
    prove: bool = False
    export: Path | None = None
    began: float = field(default_factory=time.monotonic)


def search_aloud(task: Problem | Handwritten, how: How, quiet: bool) -> tuple[Answer, Written]:
    """Search, or judge what was written by hand, and unless ``quiet`` say what is asked, how it
    goes and what came of it. Also the files that were exported.
    """
    from roundelay import options, pipeline, report, writing

    options.require("--solver", how.solver, ("race", "z3", "cpsat"))
    if not quiet:
        for line in report.header_lines(pipeline.problem_of(task)):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    with nullcontext() if quiet else Progress() as progress:
        answer = pipeline.synthesize(
            task, seed=how.seed, solver=how.solver, jobs=how.jobs, prove=how.prove,
            began=how.began, on_progress=None if progress is None else progress.say,
        )  # fmt: skip
    files = writing.Written()
    if how.export is not None:
        files = pipeline.export(answer, how.export, complain)
    if not quiet:
        lines = [f"exported  {path}" for path in files.paths]
        for line in (*lines, *report.answer_lines(answer)):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return answer, files


def schedule_of(answer: Answer) -> Schedule | None:
    """The schedule, where one was found."""
    from roundelay.synth.schedule import Found

    return answer.outcome.schedule if isinstance(answer.outcome, Found) else None


def leave(answer: Answer) -> NoReturn:
    """End with the exit status of an answer."""
    from roundelay.synth.schedule import GaveUp, Impossible

    match answer.outcome:
        case Impossible(certificate, engine):
            from roundelay.dsl.source import InputError
            from roundelay.synth.refusals import refuse

            refusals = refuse(answer.problem, answer.bound) if engine == "bound" else ()
            if refusals:
                complain(str(InputError(*(each.fault for each in refusals))))
            else:
                complain(f"error: impossible: {certificate.reason}")
            sys.exit(BAD_INPUT)
        case GaveUp(reason, _):
            complain(f"error: gave up: {reason}")
            sys.exit(INTERRUPTED if answer.interrupted else GAVE_UP)
        case _:
            if answer.interrupted:
                complain("interrupted: this is the best schedule found until then")
            sys.exit(INTERRUPTED if answer.interrupted else 0)
