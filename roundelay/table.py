"""Rows in the form of nccl-tests, with the share of the bound at the end of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .report import count

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Problem
    from roundelay.pipeline import Execution
    from roundelay.runtime.bench import Half, Plan, Row
    from roundelay.synth.schedule import Bound, Cost

_TITLES = (
    "#",
    "#{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {:^33}  {:^33}  {:>7}".format(
        "", "", "", "", "", "out-of-place", "in-place", ""
    ),
    "#{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {:>7}".format(
        "size", "count", "type", "redop", "root",
        *["  {:>7}  {:>6}  {:>6}  {:>6}".format("time", "algbw", "busbw", "#wrong")] * 2,
        "%bound",
    ),
    "#{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}".format(
        "(B)", "(elements)", "", "", "",
        *["  {:>7}  {:>6}  {:>6}  {:>6}".format("(us)", "(GB/s)", "(GB/s)", "")] * 2,
    ),
)  # fmt: skip


def table_header(
    problem: Problem, element: Element, plan: Plan, runner: str, execution: Execution
) -> list[str]:
    """The lines above the rows: what ran where, and what the columns mean."""
    ranks = problem.collective.ranks
    checked = "every element against a higher-precision reference" if plan.check else "not checked"
    return [
        f"# Collective test starting: {problem.collective.name}_perf",
        f"# {count(ranks, 'rank')} in one process on {execution.device}, backend {runner}; "
        f"warmup iters: {plan.warmup} iters: {plan.iterations} "
        f"validation: {int(plan.check)} ({checked})",
        f"# reduction: {_semantics(problem, element, execution.alike)}",
        "# time, algbw, busbw: measured here, where all ranks share this machine's memory",
        f"# %bound: the schedule's predicted algbw on {problem.topology.name} at this size, "
        "against the bandwidth bound",
        *_TITLES,
    ]


def _semantics(problem: Problem, element: Element, alike: bool) -> str:
    if problem.operator is None or not problem.collective.combines:
        return "none, values are moved as they are"
    accumulated = f"accumulated in {element.accumulate}"
    if element.fields:
        accumulated = "every field rounded to its type after each merge"
    rounding = "" if element.accumulate == element.name else ", rounded once"
    trees = "one tree a chunk for all ranks" if alike else "every rank its own tree"
    return f"{problem.operator} in the order of the schedule, {trees}, {accumulated}{rounding}"


def table_row(row: Row, problem: Problem, element: Element, bound: Bound, cost: Cost) -> str:
    """One line in the form of nccl-tests, and the share of the bound at its end."""
    root = -1 if problem.collective.root is None else problem.collective.root
    percent = percent_of_bound(row, bound, cost)
    return (
        f" {row.size:>12}  {row.count:>12}  {element.nccl:>8}"
        f"  {reduction_name(problem):>6}  {root:>6}"
        f"{_half_text(row.out_of_place, row, problem)}{_half_text(row.in_place, row, problem)}"
        f"  {'N/A' if percent is None else f'{percent:.1f}':>7}"
    )


def table_footer(rows: list[Row], problem: Problem) -> list[str]:
    """The closing lines of nccl-tests: wrong elements and the plain mean of all busbw samples."""
    wrong = sum(row.wrong for row in rows)
    halves = [(h, row) for row in rows for h in (row.out_of_place, row.in_place) if h]
    samples = [bandwidths(half, row, problem)[1] for half, row in halves]
    mean = sum(samples) / len(samples) if samples else 0.0
    return [
        f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {mean:g}",
        "#",
        f"# Collective test concluded: {problem.collective.name}_perf",
    ]


def reduction_name(problem: Problem) -> str:
    """The operator, or none where nothing is combined."""
    return problem.operator.name if problem.operator and problem.collective.combines else "none"


def percent_of_bound(row: Row, bound: Bound, cost: Cost) -> float | None:
    """The predicted algbw at a row's size in percent of the bound; None where nothing moves."""
    predicted = cost.at(row.size)
    if not row.size or not predicted:
        return None
    return float(bound.per_byte * row.size / predicted) * 100


def bandwidths(half: Half, row: Row, problem: Problem) -> tuple[float, float]:
    """algbw and busbw of one half of a row, in GB/s."""
    algbw = row.size / half.seconds / 1e9 if half.seconds else 0.0
    return algbw, algbw * float(problem.collective.busbw)


def _half_text(half: Half | None, row: Row, problem: Problem) -> str:
    if half is None:
        return "  {:>7}  {:>6}  {:>6}  {:>6}".format("N/A", "N/A", "N/A", "N/A")
    algbw, busbw = bandwidths(half, row, problem)
    wrong = f"{half.judgement.wrong:g}" if half.judgement else "N/A"
    fields = (_fit(half.seconds * 1e6, 7), _fit(algbw, 6), _fit(busbw, 6))
    return f"  {fields[0]:>7}  {fields[1]:>6}  {fields[2]:>6}  {wrong:>6}"


def _fit(value: float, width: int) -> str:
    """As many of two decimals as fit into the column, else an exponent."""
    for decimals in (2, 1, 0):
        text = f"{value:.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:.1e}"
