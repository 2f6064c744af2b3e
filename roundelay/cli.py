"""The command line. Exit statuses are in ``console``, the verbs that only read in ``reading``."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer reads the annotations when a verb is called.
from typing import TYPE_CHECKING, Annotated

import typer

from . import bounding, charting, reading
from .console import WRONG, How, complain, leave, schedule_of, search_aloud
from .words import (  # noqa: TC001 - typer reads the annotations when a verb is called.
    Budget,
    Chunks,
    Collective,
    Export,
    Jobs,
    Json,
    Minimize,
    Op,
    PlanNumber,
    Prove,
    Root,
    Rounds,
    Schedule,
    Seed,
    Solver,
    Steps,
    Target,
)

if TYPE_CHECKING:
    from roundelay.dsl.model import Handwritten, Problem
    from roundelay.runtime.bench import Plan
    from roundelay.synth.schedule import Answer
    from roundelay.synth.schedule import Schedule as Found

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Describe a machine and a collective; get a proven schedule, its kernels, and checked "
    "numbers.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from roundelay import __version__

        print(f"roundelay {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    del version


app.command()(reading.check)
app.command()(reading.fmt)
app.command()(reading.show)
app.command()(bounding.bounds)
app.command()(bounding.certify)
app.command()(charting.frontier)


@app.command()
def synth(
    target: Target,
    collective: Collective = None,
    op: Op = None,
    root: Root = None,
    plan: PlanNumber = None,
    schedule: Schedule = None,
    chunks: Chunks = None,
    steps: Steps = None,
    rounds: Rounds = None,
    minimize: Minimize = None,
    budget: Budget = None,
    seed: Seed = 0,
    solver: Solver = "race",
    jobs: Jobs = None,
    prove: Prove = False,
    export: Export = None,
    show: Annotated[bool, typer.Option("--show", help="Print every message as well")] = False,
    as_json: Json = False,
) -> None:
    """Find a schedule, and say how good it is."""
    from roundelay import options

    how = How(seed, solver, jobs, prove, export)
    task = _task(target, collective, op, root, plan, schedule)
    task = options.limit(task, chunks, steps, rounds, budget, minimize)
    options.require_search(task, **{"--prove": prove, "--export": export is not None})
    if export is not None:
        options.require_folder(export, "--export")
    answer, files = search_aloud(task, how, as_json)
    if as_json:
        from roundelay.records import answer_json

        record = answer_json(answer)
        if export is not None:
            record["exported"] = [str(path) for path in files.paths]
        print(json.dumps(record))
    elif show and (found := schedule_of(answer)):
        print(found)
    files.require()
    leave(answer)


@app.command()
def run(
    target: Target,
    collective: Collective = None,
    op: Op = None,
    root: Root = None,
    plan: PlanNumber = None,
    schedule: Schedule = None,
    chunks: Chunks = None,
    steps: Steps = None,
    rounds: Rounds = None,
    minimize: Minimize = None,
    budget: Budget = None,
    seed: Seed = 0,
    solver: Solver = "race",
    jobs: Jobs = None,
    begin: Annotated[
        str | None, typer.Option("-b", "--minbytes", help="Smallest size, as in nccl-tests: 4K")
    ] = None,
    end: Annotated[str | None, typer.Option("-e", "--maxbytes", help="Largest size: 64M")] = None,
    factor: Annotated[int, typer.Option("-f", "--stepfactor", help="From a size to the next")] = 2,
    iterations: Annotated[int, typer.Option("-n", "--iters", min=1, help="Timed calls")] = 20,
    warmup: Annotated[int, typer.Option("-w", "--warmup_iters", min=0, help="Untimed calls")] = 1,
    datatype: Annotated[
        str | None, typer.Option("-d", "--datatype", help="f32 or float, i32 or int32, …")
    ] = None,
    verify: Annotated[int, typer.Option("-c", "--check", min=0, max=1, help="Verify")] = 1,
    fill: Annotated[
        str, typer.Option(help="random, or rank: r + 1 everywhere on rank r")
    ] = "random",
    backend: Annotated[
        str, typer.Option(help="numba-cpu, interpreter, cuda, numba-cuda, numba-cuda-sim")
    ] = "numba-cpu",
    as_json: Json = False,
) -> None:
    """Find a schedule, generate its kernels, run and verify them over a range of sizes."""
    from roundelay import options, pipeline
    from roundelay.runtime.executors import EXECUTORS

    options.require("--backend", backend, EXECUTORS)
    options.require("--fill", fill, ("random", "rank"))
    how = How(seed, solver, jobs)
    task = _task(target, collective, op, root, plan, schedule)
    task = options.limit(task, chunks, steps, rounds, budget, minimize, datatype)
    problem = pipeline.problem_of(task)
    sizes, cut = options.choose_sizes(problem, begin, end, factor)
    pipeline.require_runnable(problem, backend)
    answer, _ = search_aloud(task, how, as_json)
    found = _schedule_or_leave(answer, as_json, {"rows": [], "verified": False})
    from roundelay.runtime.bench import Plan

    measured = Plan(
        sizes,
        iterations,
        warmup,
        "rank" if fill == "rank" else "random",
        bool(verify),
        seed,
        problem.limits.in_place,
    )
    wrong = _run_rows(answer, found, backend, measured, cut, as_json)
    if wrong:
        raise typer.Exit(WRONG)


@app.command()
def codegen(
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write into")],
    collective: Collective = None,
    op: Op = None,
    root: Root = None,
    plan: PlanNumber = None,
    schedule: Schedule = None,
    chunks: Chunks = None,
    steps: Steps = None,
    rounds: Rounds = None,
    minimize: Minimize = None,
    budget: Budget = None,
    seed: Seed = 0,
    solver: Solver = "race",
    jobs: Jobs = None,
    datatype: Annotated[str | None, typer.Option("-d", "--datatype", help="Element type")] = None,
    backend: Annotated[str, typer.Option(help="numba-cpu, cuda or numba-cuda")] = "numba-cpu",
    as_json: Json = False,
) -> None:
    """Find a schedule and write its kernels as readable files."""
    from roundelay import options, pipeline, writing
    from roundelay.codegen.backends import BACKENDS

    options.require("--backend", backend, BACKENDS)
    options.require_folder(output)
    how = How(seed, solver, jobs)
    task = _task(target, collective, op, root, plan, schedule)
    task = options.limit(task, chunks, steps, rounds, budget, minimize, datatype)
    pipeline.require_runnable(pipeline.problem_of(task))
    answer, _ = search_aloud(task, how, as_json)
    found = _schedule_or_leave(answer, as_json, {"backend": backend, "files": []})
    _, artifact = pipeline.generate(found, backend)
    files = writing.write_files((output / name, text) for name, text in artifact.files)
    if as_json:
        from roundelay.records import answer_json

        record = answer_json(answer)
        record |= {"backend": backend, "files": [str(path) for path in files.paths]}
        print(json.dumps(record | {"entry": artifact.entry, "digest": artifact.digest}))
    else:
        print("".join(f"wrote     {path}\n" for path in files.paths), end="")
    files.require()


# ------------------------------------------------------------------------- what verbs share


def _task(
    target: str,
    collective: str | None,
    op: str | None,
    root: int | None,
    plan: int | None,
    schedule: str | None,
) -> Problem | Handwritten:
    from roundelay.pipeline import Request, read

    return read(Request(target, collective, op, root, plan, schedule))


def _schedule_or_leave(answer: Answer, as_json: bool, nothing: dict[str, object]) -> Found:
    """The schedule to go on with; else the end, with ``nothing`` in the JSON object."""
    schedule = schedule_of(answer)
    if schedule is None or answer.interrupted:
        if as_json:
            from roundelay.records import answer_json

            print(json.dumps(answer_json(answer) | nothing))
        leave(answer)
    return schedule


def _run_rows(
    answer: Answer, found: Found, runner: str, plan: Plan, cut: str, as_json: bool
) -> int:
    """Run all sizes; return the number of wrong elements."""
    from roundelay import pipeline, records, table
    from roundelay.codegen.elements import find_element
    from roundelay.synth import schedule

    problem = answer.problem
    element = find_element(problem)
    assert isinstance(answer.outcome, schedule.Found)
    bound, cost = answer.bound, answer.outcome.cost
    execution = pipeline.execute(found, runner, plan)
    if not as_json:
        if cut:
            print(cut)
        print("\n".join(table.table_header(problem, element, plan, runner, execution)), flush=True)
    rows = []
    for row in execution.rows:
        rows.append(row)
        if not as_json:
            print(table.table_row(row, problem, element, bound, cost), flush=True)
    wrong = sum(row.wrong for row in rows)
    if as_json:
        record = records.answer_json(answer)
        record |= {"backend": runner, "device": execution.device}
        record["rows"] = [records.row_json(row, problem, element, bound, cost) for row in rows]
        print(json.dumps(record | {"verified": plan.check and not wrong}))
    else:
        print("\n".join(table.table_footer(rows, problem)))
    first = next((row for row in rows if row.first), None)
    if first:
        complain(f"error: {wrong} wrong elements; the first, at size {first.size}: {first.first}")
    return wrong


def main() -> None:
    """The entry of the ``roundelay`` command: no traceback reaches a user unasked."""
    from .ending import conclude

    conclude(app)
