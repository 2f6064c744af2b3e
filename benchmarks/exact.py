"""How long the exact engine takes for the queries that SCCL's times are known of.

Run from the root of the repository: ``python -m benchmarks.exact [--seeds N] [--budget SECONDS]
[--rows all|MACHINE|COLLECTIVE ...] [--runner interpreter|numba-cpu] [--odd]``. Each row is asked
once a seed, with warm workers and everything else counted: the bound, the model, the search, the
check. Whatever is found is judged by the checker again, and every all-reduce that is found is
lowered, run and compared with a reference. ``--odd`` asks for schedules on odd boxes and on 16
ranks in place of the rows.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from roundelay.dsl import loader
from roundelay.dsl.model import Problem
from roundelay.dsl.source import Source
from roundelay.pipeline import execute
from roundelay.runtime.bench import Plan
from roundelay.synth.checker import check
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.pool import Pool
from roundelay.synth.exact.worker import SOLVERS
from roundelay.synth.schedule import Found, GaveUp, Impossible, Query

from .odd_boxes import report_odd
from .sccl_rows import ROWS, SOURCE, TEXTS, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.synth.schedule import Outcome, Schedule

_WITH_OPERATOR = ("all_reduce", "reduce", "reduce_scatter")
_WORDS = {Found: "found", Impossible: "impossible", GaveUp: "gave up"}
_SMALL = (0, 4, 4096, 65_536)  # Bytes at which a schedule is run.


@dataclass(frozen=True, slots=True)
class Measured:
    """A row's answers, one a seed, with their seconds; ``ran``: the sizes ended without a fault.

    ``ran`` is None where nothing was to run.
    """

    row: Row
    outcomes: tuple[Outcome, ...]
    seconds: tuple[float, ...]
    ran: bool | None

    @property
    def words(self) -> tuple[str, ...]:
        """What was answered, once each, in the order of the seeds."""
        return tuple(dict.fromkeys(_WORDS[type(outcome)] for outcome in self.outcomes))

    @property
    def ratio(self) -> float | None:
        """How many of our median times SCCL takes; where it has no answer, at least so many."""
        return None if self.row.seconds is None else self.row.seconds / median(self.seconds)


@cache
def problem_of(machine: str, collective: str) -> Problem:
    """A row's machine and collective: sums, and rank 0 where a root is needed."""
    arguments = [*(["sum"] if collective in _WITH_OPERATOR else [])]
    if collective in ("broadcast", "reduce", "gather", "scatter"):
        arguments.append("0")
    if machine in TEXTS:
        call = f"{collective}({', '.join(arguments)})" if arguments else collective
        name = TEXTS[machine].split()[1]
        text = f"{TEXTS[machine]}plan {{ synthesize {call} on {name} }}\n"
        plan = loader.load(Source("benchmark", text)).plans[0]
        assert isinstance(plan, Problem)
        return plan
    return loader.problem(machine, collective, tuple(arguments))


def ask(row: Row, seeds: int, budget: float, runner: str, pool: Pool) -> Measured:
    """Put a row to the engine once a seed."""
    problem = problem_of(row.machine, row.collective)
    query = Query(row.chunks, row.steps, Fraction(row.rounds))
    outcomes: list[Outcome] = []
    seconds: list[float] = []
    ran: bool | None = None
    for seed in range(seeds):
        began = time.perf_counter()
        outcome = solve(problem, query, budget=budget, seed=seed, pool=pool)
        seconds.append(time.perf_counter() - began)
        outcomes.append(outcome)
        if isinstance(outcome, Found):
            verdict = check(outcome.schedule)
            assert verdict.rounds <= query.rounds
            assert outcome.schedule.steps <= query.steps
            if row.collective == "all_reduce":
                ran = ran is not False and runs_right(outcome.schedule, runner)
    return Measured(row, tuple(outcomes), tuple(seconds), ran)


def runs_right(schedule: Schedule, runner: str) -> bool:
    """Whether a schedule, lowered and run, gives what the reference gives at every size."""
    element = "f32" if runner == "numba-cpu" else "i32"
    limits = replace(schedule.problem.limits, element=element)
    schedule = replace(schedule, problem=replace(schedule.problem, limits=limits))
    execution = execute(schedule, runner, Plan(_SMALL, iterations=1, warmup=0))
    return all(row.wrong == 0 for row in execution.rows)


def warm_up(pool: Pool) -> None:
    """Let every solver be loaded once, so that no row pays for that."""
    problem = problem_of("ring(5)", "all_reduce")
    for solver in SOLVERS:
        solve(problem, Query(1, 4, Fraction(4)), budget=60, solver=solver, pool=pool)
    for _ in range(2):
        solve(problem, Query(1, 2, Fraction(4)), budget=60, pool=pool)


def chosen(words: Sequence[str]) -> list[Row]:
    """The rows of these machines or collectives."""
    if "all" in words:
        return list(ROWS)
    rows = [r for r in ROWS if {r.machine, r.machine.split("(")[0], r.collective} & {*words}]
    if not rows:
        raise SystemExit(f"no row of {' '.join(words)}: a machine, a collective, or all")
    return rows


def show(measured: Measured) -> str:
    """One line of the table."""
    row = measured.row
    asked = f"{row.chunks},{row.steps},{row.rounds}"
    theirs = "-" if row.seconds is None else f"{row.seconds:.2f}"
    if row.verdict is None:
        theirs = f">{row.seconds:.0f}"
    ratio = measured.ratio
    times = "" if ratio is None else f"{'>' if row.verdict is None else ''}{ratio:.1f}x"
    note = {None: "", True: "run", False: "RUN WRONG"}[measured.ran]
    if len(measured.words) > 1:
        note += " " + " ".join(_WORDS[type(o)][0] for o in measured.outcomes)
    return (
        f"{row.machine:<13}{row.collective:<15}{asked:<10}{'/'.join(measured.words):<12}"
        f"{median(measured.seconds):>8.2f}{max(measured.seconds):>8.2f}"
        f"{row.verdict or 'none':>12}{theirs:>9}{times:>10}  {note}"
    ).rstrip()


def conclude(rows: Sequence[Measured], budget: float) -> list[str]:
    """What all rows together say."""
    dgx1 = [median(m.seconds) for m in rows if m.row.machine == "dgx1" and m.row.seconds]
    ratios = [log(m.ratio) for m in rows if m.ratio is not None]
    lines = []
    if dgx1:
        lines.append(
            f"DGX-1: the medians of {len(dgx1)} rows add up to {sum(dgx1):.2f} s (aim: under 30 s)"
        )
    if ratios:
        least = sum(m.row.verdict is None for m in rows)
        lines.append(
            f"geometric mean of {len(ratios)} ratios: {exp(sum(ratios) / len(ratios)):.1f} "
            f"(aim: 30), {least} of them lower limits, as SCCL gave no answer"
        )
    alike = [m for m in rows if m.row.collective != "all_reduce"]
    different = [m for m in alike if m.row.verdict and m.words != (m.row.verdict,)]
    lines.append(
        f"other verdicts than SCCL's, all-reduce aside: {len(different)} of {len(alike)} rows"
    )
    lines += [f"  {show(m)}" for m in different]
    gained = [m for m in rows if m.row.collective == "all_reduce"
              and m.row.verdict == "impossible" and m.words == ("found",)]  # fmt: skip
    lost = [m for m in rows if m.row.collective == "all_reduce"
            and m.row.verdict == "found" and m.words != ("found",)]  # fmt: skip
    total = sum(m.row.collective == "all_reduce" for m in rows)
    lines.append(
        f"all-reduce: {total} rows, {len(gained)} found that SCCL calls impossible, "
        f"{len(lost)} that it finds and we did not"
    )
    lines += [f"  {show(m)}" for m in lost]
    lines += _unanswered(rows, budget)
    wrong = [m for m in rows if m.ran is False]
    lines.append(f"schedules that ran wrong: {len(wrong)}")
    return lines


def _unanswered(rows: Sequence[Measured], budget: float) -> list[str]:
    """The rows without an answer in time, and what SCCL could not say that we can."""
    gave_up = [m for m in rows if any(isinstance(o, GaveUp) for o in m.outcomes)]
    lines = [f"no answer within {budget:g} s, at some seed: {len(gave_up)} rows"]
    lines += [f"  {show(m)}" for m in gave_up]
    new = [m for m in rows if m.row.verdict is None and "gave up" not in m.words]
    if any(m.row.verdict is None for m in rows):
        lines.append(f"answered where SCCL has no answer in 600 s: {len(new)}")
    return lines


def main() -> None:
    """Print the table and its conclusions."""
    words = argparse.ArgumentParser(prog="benchmarks.exact", description=__doc__)
    words.add_argument("--seeds", type=int, default=5)
    words.add_argument("--budget", type=float, default=60.0, help="seconds a query")
    words.add_argument("--rows", nargs="+", default=["all"])
    words.add_argument("--runner", default="interpreter", choices=["interpreter", "numba-cpu"])
    words.add_argument("--odd", action="store_true", help="odd boxes and 16 ranks instead")
    given = words.parse_args()
    if given.odd:
        report_odd(given.budget)
        return
    print(f"seconds of {given.seeds} seeds, beside those of {SOURCE}.")
    print("Ours are of this run on this machine, SCCL's of another run on another: the ratio says")
    print(
        "what is an order of magnitude apart, not more. What holds on every machine: the verdicts,"
    )
    print("and that the checker accepts whatever is found.\n")
    print(f"{'machine':<13}{'collective':<15}{'C,S,R':<10}{'ours':<12}{'median':>8}{'worst':>8}"
          f"{'SCCL':>12}{'s':>9}{'ratio':>10}")  # fmt: skip
    rows = []
    with Pool() as pool:
        warm_up(pool)
        for row in chosen(given.rows):
            rows.append(ask(row, given.seeds, given.budget, given.runner, pool))
            print(show(rows[-1]), flush=True)
    print()
    print("\n".join(conclude(rows, given.budget)))


if __name__ == "__main__":
    main()
