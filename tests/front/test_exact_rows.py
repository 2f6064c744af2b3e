"""All-reduces that SCCL has or calls impossible, from the command line to verified numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay import pipeline
from roundelay.runtime.bench import Plan
from roundelay.synth.checker import check
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import ANY_ROUNDS, Found, Impossible, Query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.synth.schedule import Outcome, Schedule

    from .conftest import Command


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def ask(machine: str, asked: tuple[int, int, int], pool: Pool) -> Outcome:
    task = pipeline.problem_of(pipeline.read(pipeline.Request(machine, "all_reduce", "sum")))
    problem = replace(task, limits=replace(task.limits, element="i32"))
    query = Query(asked[0], asked[1], Fraction(asked[2]))
    return solve(problem, query, budget=60, seed=1, pool=pool)


def find(machine: str, asked: tuple[int, int, int], pool: Pool) -> Schedule:
    outcome = ask(machine, asked, pool)
    assert isinstance(outcome, Found), outcome
    assert check(outcome.schedule).rounds <= asked[2]
    assert outcome.schedule.steps <= asked[1]
    assert outcome.schedule.chunks == asked[0]
    return outcome.schedule


def run_right(schedule: Schedule) -> None:
    """Lowered and run on numbers whose sums are exact, at sizes that no chunk count divides."""
    for fill in ("rank", "random"):
        plan = Plan((0, 4, 4 * 1009), iterations=1, warmup=0, fill=fill)
        rows = list(pipeline.execute(schedule, "interpreter", plan).rows)
        assert [row.wrong for row in rows] == [0, 0, 0]


def test_a_dgx1_from_the_command_line_to_numbers(roundelay: Command) -> None:
    done = roundelay(
        "run", "dgx1", "--chunks", 8, "--steps", 4, "--rounds", 4, "--budget", "60s",
        "-b", "64K", "-e", "64K", "-n", 1, "--fill", "rank", "-d", "f32", "--json",
    )  # fmt: skip
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["verified"]) == (0, "found", True), done.err
    (row,) = record["rows"]
    assert (row["count"], row["wrong"], row["value"]) == (16_384, 0, "36.0")


def test_the_bandwidth_optimum_of_a_dgx1(roundelay: Command) -> None:
    """Seven rounds for 24 chunks is the bound; SCCL has it as 48 chunks in 14 steps."""
    done = roundelay(
        "run", "dgx1", "--chunks", 48, "--steps", 14, "--rounds", 14, "--budget", "600s",
        "-b", "192K", "-e", "192K", "-n", 1, "--fill", "rank", "-d", "f32", "--json",
    )  # fmt: skip
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["verified"]) == (0, "found", True), done.err
    (row,) = record["rows"]
    assert (row["wrong"], row["value"]) == (0, "36.0")


@pytest.mark.parametrize(
    ("machine", "asked"),
    [
        # Found by SCCL, too.
        ("dgx1", (1, 2, 2)),
        ("dgx1", (1, 3, 3)),
        ("dgx1", (2, 2, 3)),
        ("dgx1", (2, 3, 3)),
        ("ring(4)", (1, 2, 2)),
        ("complete(8)", (1, 1, 1)),
        # Impossible in its class of schedules.
        ("ring(5)", (1, 2, 2)),
        ("ring(5)", (1, 8, 8)),
        ("ring(6)", (1, 3, 3)),
        ("ring(8)", (1, 4, 4)),
        ("ring(8)", (1, 7, 7)),
        ("complete(4)", (4, 2, 2)),
        ("line(4)", (1, 3, 3)),
        ("line(4)", (1, 6, 6)),
        ("star(4)", (1, 2, 2)),
    ],
)
def test_rows_of_sccl_are_found_and_run(
    machine: str, asked: tuple[int, int, int], pool: Pool
) -> None:
    run_right(find(machine, asked, pool))


@pytest.mark.slow
@pytest.mark.parametrize("n", range(3, 9))
@pytest.mark.parametrize("machine", ["ring", "line", "star"])
def test_rings_lines_and_stars_in_as_few_steps_as_their_diameter(
    machine: str, n: int, pool: Pool
) -> None:
    """And with more chunks, or over a tree, in as many rounds as steps."""
    name = f"{machine}({n})"
    steps = {"ring": n // 2, "line": n - 1, "star": 2}[machine]
    run_right(find(name, (1, steps, ANY_ROUNDS), pool))
    fewer = ask(name, (1, steps - 1, ANY_ROUNDS), pool)
    assert isinstance(fewer, Impossible)
    assert fewer.certificate.kind == "distance"
    chunks, rounds = {"ring": (n, 2 * n - 2), "line": (3, 2 * n), "star": (4, 5)}[machine]
    run_right(find(name, (chunks, rounds, rounds), pool))
