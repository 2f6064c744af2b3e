"""The one place that talks to OR-tools CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Model


def decide(
    model: Model,
    seconds: float,
    seed: int,
    started: Callable[[Callable[[], None]], None],
    *,
    linear: bool = False,
) -> list[bool] | bool | None:
    """Values of the variables 1, 2, … in order, False if there are none, None if undecided.

    ``linear`` adds the linear relaxation: much stronger where loads are tight, much slower where
    they are not. ``started`` is handed a function that stops the search from another thread. One
    worker and a fixed seed: the same model and seed give the same answer, unless the time runs
    out.
    """
    cp = cp_model.CpModel()
    variables = [cp.new_bool_var("") for _ in range(model.variables)]
    literals: dict[int, cp_model.LiteralT] = {
        i + 1: variable for i, variable in enumerate(variables)
    }
    literals |= {-i - 1: variable.negated() for i, variable in enumerate(variables)}
    for clause in model.clauses:
        cp.add_bool_or([literals[lit] for lit in clause])
    for group in model.groups:
        cp.add_at_most_one([literals[lit] for lit in group])
    for row, limit in model.rows:
        total = cp_model.LinearExpr.weighted_sum(
            [literals[lit] for _, lit in row], [weight for weight, _ in row]
        )
        cp.add(total <= limit)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.linearization_level = 2 if linear else 0
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    started(solver.stop_search)
    status = solver.solve(cp)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return [solver.boolean_value(variable) for variable in variables]
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT calls the model invalid: {cp.validate()}")
    return False if status == cp_model.INFEASIBLE else None
