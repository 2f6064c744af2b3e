"""The only door to OR-tools' linear programs. What comes out are floats: hints, never bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ortools.linear_solver import pywraplp

Row = list[tuple[int, int]]
"""Columns and their coefficients."""

LARGEST = 2**200
"""Whole numbers up to this are floats with room to spare."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """A best point of a linear program, and what each row's limit is worth."""

    value: float
    point: list[float]
    prices: list[float]


class Program:
    """Maximise over columns that are no less than 0, rows being no more than their limits."""

    def __init__(self, gains: Sequence[int]) -> None:
        from ortools.linear_solver import pywraplp  # Loaded when the first program is.

        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        endless = self._solver.infinity()
        self._columns = [self._solver.NumVar(0.0, endless, "") for _ in gains]
        goal = self._solver.Objective()
        for column, gain in zip(self._columns, gains, strict=True):
            if gain:
                goal.SetCoefficient(column, gain)
        goal.SetMaximization()
        self._rows: list[pywraplp.Constraint] = []

    def add(self, row: Row, limit: int) -> None:
        """One more row."""
        made = self._solver.Constraint(-self._solver.infinity(), limit, "")
        for column, coefficient in row:
            made.SetCoefficient(self._columns[column], coefficient)
        self._rows.append(made)

    def solve(self, seconds: float | None) -> Optimum | None:
        """The optimum, or None where it is not found in so many seconds."""
        if seconds is not None:
            self._solver.set_time_limit(max(1, int(1000 * seconds)))
        if self._solver.Solve() != self._solver.OPTIMAL:
            return None
        return Optimum(
            self._solver.Objective().Value(),
            [column.solution_value() for column in self._columns],
            [row.dual_value() for row in self._rows],
        )
