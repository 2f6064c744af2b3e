"""A frontier as people and programs read it: a table, a plot in letters, a JSON object."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from roundelay.synth.certificate_forms import to_json
from roundelay.synth.schedule import ANY_ROUNDS

from .records import bound_json, exact, ratio
from .report import bound_lines, count, show_number, show_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roundelay.synth.frontier.chart import Asked, Chart, Kept, Point, Proof, Row, Sizes

_WIDTH, _HEIGHT = 62, 12  # Letters of the plot, without its scales.
_HEAD = ("steps", "chunks", "rounds", "a chunk", "algbw", "of bound", "quickest for", "verdict",
         "found in", "by")  # fmt: skip
_LEFT = (6, 7, 9)  # Columns of words.


# ----------------------------------------------------------------------------------- the table


def chart_lines(chart: Chart, *, detail: bool = False) -> list[str]:
    """The bound, a line a point, what is open, and the plot; with ``detail`` every query."""
    lines = bound_lines(chart.bound)
    table = [_HEAD, *_table(chart)]
    widths = [max(len(row[i]) for row in table if len(row) > 2) for i in range(len(_HEAD))]
    for row in table:  # Those of two cells are a number of steps and a sentence.
        cells = [row[0].rjust(widths[0])]
        for i, cell in enumerate(row[1:], 1):
            left = i in _LEFT or len(row) == 2
            cells.append(cell.ljust(widths[i]) if left else cell.rjust(widths[i]))
        lines.append("  ".join(cells).rstrip())
    if any(cell.endswith("(*)") for row in table for cell in row):
        lines.append(f"(*) proved over a smaller class of schedules: {_classes(chart)}")
    lines.append(_closing(chart))
    if chart.points:
        lines += ["", *plot_lines(chart)]
    if detail:
        lines += ["", *(_query_line(entry) for entry in chart.asked)]
    return lines


def _classes(chart: Chart) -> str:
    """The smaller classes that were quantified over, each once."""
    reasons = (entry.reason for entry in chart.asked if not entry.complete)
    return "; ".join(sorted({reason.rpartition(" over ")[2] for reason in reasons}))


def _table(chart: Chart) -> list[tuple[str, ...]]:
    points = {point.kept.schedule.steps: point for point in chart.points}
    table: list[tuple[str, ...]] = []
    reached: Kept | None = None
    for (best, proof, complete), group in groupby(
        chart.rows, key=lambda row: (row.best, row.proof, row.complete)
    ):
        rows = list(group)
        if best is not None and best != reached:
            point = points.get(best.schedule.steps)
            table.append(_point_cells(chart, best, proof, complete, point))
            reached, rows = best, rows[1:]
        if rows and proof != "bound":
            table.append((_span(rows), _lack(best, proof, complete, chart)))
    return table


def _point_cells(
    chart: Chart, kept: Kept, proof: Proof, complete: bool, point: Point | None
) -> tuple[str, ...]:
    schedule, cost = kept.schedule, kept.cost
    share = float(chart.bound.per_byte / cost.per_byte) * 100 if cost.per_byte else 100.0
    return (
        str(schedule.steps),
        str(schedule.chunks),
        show_number(cost.rounds),
        show_number(cost.rounds / schedule.chunks),
        show_rate(1 / cost.per_byte) if cost.per_byte else "-",
        f"{share:.1f} %",
        "never" if point is None else show_sizes(point.wins),
        verdict(proof, complete, schedule.chunks, chart.counts),
        f"{kept.seconds:.2f} s",
        kept.found.engine,
    )


def verdict(proof: Proof, complete: bool, chunks: int, counts: Sequence[int]) -> str:
    """How good a point is among all schedules of so many steps at most."""
    star = "" if complete else " (*)"
    match proof:
        case "bound":
            return "optimal: meets the bound"
        case "counts":
            return f"optimal for {show_counts(counts)} chunks{star}"
        case "count":
            return f"optimal for {count(chunks, 'chunk')}{star}"
        case "open":
            return "open"


def _lack(best: Kept | None, proof: Proof, complete: bool, chart: Chart) -> str:
    """What is said of step counts without a point of their own."""
    star = "" if complete else " (*)"
    if best is None:
        return f"impossible{star}" if proof == "counts" else "open: no schedule found"
    if proof == "counts":
        return f"no quicker one in {show_counts(chart.counts)} chunks{star}"
    return "open: no quicker one found"


def _span(rows: list[Row]) -> str:
    first, last = rows[0].steps, rows[-1].steps
    return str(first) if first == last else f"{first}..{last}"


def show_counts(counts: Iterable[int]) -> str:
    """Whole numbers in order, runs of three and more as ranges: ``1..8, 12, 16``."""
    parts = []
    for _, run in groupby(enumerate(counts), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        if len(numbers) > 2:
            parts.append(f"{numbers[0]}..{numbers[-1]}")
        else:
            parts += map(str, numbers)
    return ", ".join(parts)


def show_sizes(sizes: Sizes | None) -> str:
    """From which size to which: ``up to 1.5 KiB``, ``1.5 KiB to 3 MiB``, ``from 3 MiB``."""
    if sizes is None:
        return "never"
    low, high = sizes
    if high is None:
        return "all sizes" if low == 1 else f"from {show_size(low)}"
    return f"up to {show_size(high)}" if low == 1 else f"{show_size(low)} to {show_size(high)}"


def show_size(size: int) -> str:
    """Bytes with three significant digits: ``512 B``, ``34.2 KiB``."""
    value, unit = Fraction(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{float(value):.3g} {unit}"


def _closing(chart: Chart) -> str:
    asked = f"asked     {count(chart.queries, 'query').replace('querys', 'queries')}"
    asked += f" in {chart.seconds:.2f} s"
    if chart.resumed:
        asked += f", {chart.resumed} answered by an earlier run"
    if chart.settled:
        return f"{asked}; nothing is left to ask"
    left = sum(row.proof in ("open", "count") for row in chart.rows)
    return f"{asked}; {count(left, 'step count')} open, {remedy(chart)} goes on from here"


def remedy(chart: Chart) -> str:
    """What may settle more of a chart than this run did."""
    unanswered = sum(entry.verdict == "open" for entry in chart.asked)
    words = ["more memory"] if chart.starved else []
    return " or ".join(words if 0 < unanswered == chart.starved else [*words, "a longer --budget"])


def _query_line(entry: Asked) -> str:
    query = entry.query
    rounds = "any rounds" if query.rounds >= ANY_ROUNDS else count(query.rounds, "round")
    line = (
        f"query     {count(query.chunks, 'chunk')}, {count(query.steps, 'step')}, "
        f"{rounds}: {entry.verdict}, {entry.seconds:.2f} s"
    )
    if entry.verdict == "open" and entry.reason:
        return f"{line}, {entry.reason}"
    return f"{line}, {entry.engine}" if entry.engine else line


# ------------------------------------------------------------------------------------ the plot


def plot_lines(chart: Chart) -> list[str]:
    """Bandwidth over steps, 80 letters wide: ``*`` is proved the best, ``o`` may be bettered.

    Lines show the best of so many steps at most, ``=`` the bound.
    """
    first = chart.rows[0].steps
    last = min(chart.rows[-1].steps, max(chart.points[-1].kept.schedule.steps + 2, first + 4))
    costs = [point.kept.cost.per_byte for point in chart.points]
    if not all(costs):
        return ["nothing moves"]
    top = 1 / chart.bound.per_byte if chart.bound.per_byte else 1 / costs[-1]
    wide = min(8, _WIDTH // (last - first + 1))
    if not wide:
        return [f"too many steps for a plot of {_WIDTH} letters: --plot draws one"]
    grid = [[" "] * (wide * (last - first + 1)) for _ in range(_HEIGHT + 1)]

    def height(per_byte: Fraction) -> int:
        return round(_HEIGHT / (top * per_byte))

    if chart.bound.per_byte:
        grid[_HEIGHT] = ["="] * len(grid[_HEIGHT])
    for i, point in enumerate(chart.points):
        start = (point.kept.schedule.steps - first) * wide
        after = chart.points[i + 1].kept.schedule.steps if i + 1 < len(costs) else last + 1
        row = grid[height(costs[i])]
        for column in range(start, (after - first) * wide):
            row[column] = "=" if row[column] == "=" else "-"
        row[start] = "*" if point.proof in ("bound", "counts") else "o"
    lines = []
    for level in range(_HEIGHT, -1, -1):
        scale = show_rate(top * level / _HEIGHT) if level % 4 == 0 and level else ""
        lines.append(f"{scale:>13} |{''.join(grid[level]).rstrip()}")
    lines.append(f"{'':>13} +{'-' * len(grid[0])}")
    marks = "".join(str(step).ljust(wide)[:wide] for step in range(first, last + 1))
    if len(str(last)) >= wide:
        marks = f"{first}".ljust(len(grid[0]) - len(str(last))) + str(last)
    lines.append(f"{'algbw, steps':>13}  {marks}".rstrip())
    lines.append(f"{'':>15}* proved the best, o may be bettered, = bound".rstrip())
    return lines


# ------------------------------------------------------------------------------------ programs


def chart_json(chart: Chart) -> dict[str, Any]:
    """The object that ``frontier --json`` prints; keys are only ever added."""
    problem = chart.problem
    operator = problem.operator
    return {
        "topology": problem.topology.name,
        "ranks": len(problem.topology.ranks),
        "collective": problem.collective.name,
        "op": str(operator) if operator else None,
        "root": problem.collective.root,
        "assumed": dict(problem.topology.assumed),
        "bound": bound_json(chart.bound),
        "points": [_point_json(chart, point) for point in chart.points],
        "steps": [
            {
                "steps": row.steps,
                "per_byte": None if row.best is None else ratio(row.best.cost.per_byte),
                "verdict": _row_verdict(row),
                "complete": row.complete,
            }
            for row in chart.rows
        ],
        "chunk_counts": list(chart.counts),
        "queries": [_query_json(entry) for entry in chart.asked],
        "asked": chart.queries,
        "resumed": chart.resumed,
        "settled": chart.settled,
        "refused": None if chart.refused is None else to_json(chart.refused),
        "interrupted": chart.interrupted,
        "seconds": round(chart.seconds, 6),
    }


def _row_verdict(row: Row) -> str:
    if row.best is None:
        return "impossible" if row.proof == "counts" else "open"
    return {"bound": "optimal", "counts": "optimal", "count": "open", "open": "open"}[row.proof]


def _point_json(chart: Chart, point: Point) -> dict[str, Any]:
    schedule, cost = point.kept.schedule, point.kept.cost
    return {
        "steps": schedule.steps,
        "chunks": schedule.chunks,
        "rounds": exact(cost.rounds),
        "rounds_per_chunk": exact(cost.rounds / schedule.chunks),
        "latency_s": float(cost.latency),
        "per_byte": ratio(cost.per_byte),
        "algbw_GBps": float(1 / cost.per_byte) / 1e9 if cost.per_byte else None,
        "bound_percent": float(chart.below(point)) * 100,
        "proof": point.proof,
        "complete": point.complete,
        "wins": None if point.wins is None else {"from": point.wins[0], "to": point.wins[1]},
        "seconds": round(point.kept.seconds, 6),
        "engine": point.kept.found.engine,
        "sends": len(schedule.sends),
    }


def _query_json(entry: Asked) -> dict[str, Any]:
    query = entry.query
    return {
        "chunks": query.chunks,
        "steps": query.steps,
        "rounds": None if query.rounds >= ANY_ROUNDS else exact(query.rounds),
        "verdict": entry.verdict,
        "seconds": round(entry.seconds, 6),
        "engine": entry.engine,
        "reason": entry.reason,
        "complete": entry.complete if entry.verdict == "impossible" else None,
    }
