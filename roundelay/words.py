"""The words of the command line that several verbs share, as typer reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Target = Annotated[
    str, typer.Argument(help="A .rly file, or a machine of the library: dgx1, 'torus(4, 4)', …")
]
Collective = Annotated[
    str | None,
    typer.Option(help="The collective, instead of a file's plan [default: all_reduce]"),
]
Op = Annotated[str | None, typer.Option(help="The operator that combines [default: sum]")]
Root = Annotated[int | None, typer.Option("--root", "-r", help="The root rank [default: 0]")]
PlanNumber = Annotated[
    int | None, typer.Option("--plan", help="Which plan of the file [default: 1]")
]
Schedule = Annotated[
    str | None,
    typer.Option(help="A schedule by hand instead of a search: ring, 'tree(op = max)', …"),
]
Chunks = Annotated[str | None, typer.Option(help="Chunks: 8, or a range 1..8")]
Steps = Annotated[str | None, typer.Option(help="Steps: at most 4 (4), or a range 2..6")]
Rounds = Annotated[str | None, typer.Option(help="At most so many rounds: 4, 7/2")]
Minimize = Annotated[
    str | None, typer.Option(help="latency, bandwidth, or a size: the time there [latency]")
]
Budget = Annotated[str | None, typer.Option(help="Time for the search: 60, 60s [default: 60s]")]
Seed = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of solvers and data")]
Solver = Annotated[str, typer.Option(help="race, z3 or cpsat")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        max=1024,
        help="Solvers at once; with 1, a seed gives the same schedule again [default: all cores]",
    ),
]
Prove = Annotated[
    bool, typer.Option("--prove", help="Have the other solver prove an impossibility, too")
]
Export = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Write the decisive query there as .opb and .smt2"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else")]
