"""The verbs about limits: ``bounds`` says how good it can be, ``certify`` checks why."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - typer reads the annotations when a verb is called.
from typing import Annotated

import typer

from .words import (  # noqa: TC001 - typer reads the annotations when a verb is called.
    Collective,
    Json,
    Op,
    PlanNumber,
    Root,
    Target,
)


def bounds(
    target: Target,
    collective: Collective = None,
    op: Op = None,
    root: Root = None,
    plan: PlanNumber = None,
    sizes: Annotated[
        list[str] | None, typer.Option("--size", help="The least time at this size as well: 1MiB")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time for better bounds: 60, 60s [default: no limit]")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print every certificate in full as well")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say what no schedule can beat, and why: steps, bandwidth, time, each with a certificate."""
    from roundelay import pipeline, quantities, report
    from roundelay.limits import bounds_json, bounds_lines

    request = pipeline.Request(target, collective, op, root, plan)
    problem = pipeline.problem_of(pipeline.read(request))
    asked = tuple(quantities.parse_size(size, "--size") for size in sizes or ())
    seconds = None if budget is None else float(quantities.parse_seconds(budget, "--budget"))
    limit = pipeline.limit(problem, seconds)
    if as_json:
        print(json.dumps(bounds_json(request, problem, limit, asked)))
        return
    for line in (*report.header_lines(problem), *bounds_lines(problem, limit, asked)):
        print(line)
    if show:
        print(pipeline.spell(problem, limit))


def certify(
    file: Annotated[Path, typer.Argument(help="What 'roundelay bounds --json' printed")],
    target: Annotated[
        str | None, typer.Option(help="The machine or file, where it is not where it was")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the certificates of bounds again, without a solver, and say why they prove them."""
    from roundelay import pipeline
    from roundelay.limits import read_claims

    claims = read_claims(file, target)
    problem, reasons = pipeline.certify(claims)
    if as_json:
        print(json.dumps({"file": str(file), "topology": problem.topology.name, "valid": True,
                          "reasons": list(reasons)}))  # fmt: skip
        return
    for line in reasons:
        print(line)
    print(f"{file}: {len(reasons)} certificates hold, checked without a solver")
