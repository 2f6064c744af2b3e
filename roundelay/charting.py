"""The verb ``frontier``: all schedules worth having, few steps to little time."""

from __future__ import annotations

import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path  # noqa: TC003 - typer reads the annotations when a verb is called.
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .console import BAD_INPUT, GAVE_UP, INTERRUPTED, Progress, complain
from .words import (  # noqa: TC001 - typer reads the annotations when a verb is called.
    Budget,
    Chunks,
    Collective,
    Jobs,
    Json,
    Op,
    PlanNumber,
    Root,
    Seed,
    Solver,
    Steps,
    Target,
)

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.frontier.chart import Chart


def frontier(
    target: Target,
    collective: Collective = None,
    op: Op = None,
    root: Root = None,
    plan: PlanNumber = None,
    chunks: Chunks = None,
    steps: Steps = None,
    budget: Budget = None,
    seed: Seed = 0,
    solver: Solver = "race",
    jobs: Jobs = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where what is found is kept for the next run "
            "[default: $ROUNDELAY_STORE, else among your caches]",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew, whatever an earlier run has found")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the frontier as well")
    ] = None,
    detail: Annotated[
        bool, typer.Option("--detail", "--all", help="List every query with its verdict as well")
    ] = False,
    as_json: Json = False,
) -> None:
    """Chart steps against bandwidth: the best schedule for every number of steps, with proofs."""
    from roundelay import options, pipeline, report, tabulate, writing
    from roundelay import plot as drawing

    began = time.monotonic()
    options.require("--solver", solver, ("race", "z3", "cpsat"))
    if store is not None:
        options.require_folder(store, "--store")
    if plot is not None:
        writing.require_file(plot, "--plot", ".svg")
    request = pipeline.Request(target, collective, op, root, plan)
    task = pipeline.problem_of(pipeline.read(request))
    problem = pipeline.problem_of(options.limit(task, chunks, steps, None, budget, None))
    if not as_json:
        _print(report.header_lines(problem))
    with nullcontext() if as_json else Progress() as progress:
        chart = pipeline.chart(
            problem, seed=seed, solver=solver, jobs=jobs, folder=store, fresh=fresh,
            began=began, on_progress=None if progress is None else progress.say,
            on_warning=lambda text: complain(f"warning: {text}"),
        )  # fmt: skip
    if as_json:
        _print([json.dumps(tabulate.chart_json(chart))])
    elif not chart.faults:
        _print(tabulate.chart_lines(chart, detail=detail))
    if plot is not None and chart.points:
        # Only now: what was found is told even if the picture cannot be written.
        drawn = writing.write_text(plot, drawing.draw_chart(chart))
        if not as_json:
            _print([f"wrote     {drawn}"])
    _leave(problem, chart)


def _print(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _leave(problem: Problem, chart: Chart) -> NoReturn:
    """End with the exit status of a chart."""
    from roundelay.dsl.source import InputError

    if chart.starved and not chart.settled:
        asked = "1 query" if chart.starved == 1 else f"{chart.starved} queries"
        complain(
            f"warning: {asked} ran out of memory\n  remedy: more memory, fewer --jobs that share "
            "it, or a larger ROUNDELAY_MEMORY where that is set"
        )
    if chart.interrupted:
        complain("interrupted: this is what was found until then; the next run goes on from here")
        sys.exit(INTERRUPTED)
    if chart.faults:
        complain(str(InputError(*chart.faults)))
        sys.exit(BAD_INPUT)
    if chart.refused is not None:
        complain(f"error: impossible: {chart.refused.reason}")
        sys.exit(BAD_INPUT)
    if not chart.points:
        from roundelay.tabulate import remedy

        complain(
            f"error: gave up: no schedule of {problem.collective.name} found in "
            f"{chart.seconds:.1f} s\n  remedy: {remedy(chart)} goes on from here"
        )
        sys.exit(GAVE_UP)
    sys.exit(0)
