"""The one place that talks to OR-tools CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Model

_SCALE = 0.4  # Of CP-SAT's deterministic time in a second of effort: 0.1 to 0.8 was measured.


def decide(
    model: Model,
    seconds: float,
    seed: int,
    started: Callable[[Callable[[], None]], None],
    *,
    linear: bool = False,
    effort: float | None = None,
    spend: Callable[[float], None] | None = None,
) -> list[bool] | bool | None:
    """Values of the variables 1, 2, … in order, False if there are none, None if undecided.

    ``linear`` adds the linear relaxation: much stronger where loads are tight, much slower where
    they are not. ``started`` is handed a function that stops the search from another thread.
    ``effort``: seconds of it that may be spent (None: no limit); ``spend`` is told how many were.
    One worker and a fixed seed: the same model, seed and effort give the same answer, unless the
    ``seconds`` run out.
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
    if effort is not None:
        solver.parameters.max_deterministic_time = max(effort * _SCALE, 1e-6)
    started(solver.stop_search)
    status = solver.solve(cp)
    if spend is not None:
        spend(solver.response_proto.deterministic_time / _SCALE)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return [solver.boolean_value(variable) for variable in variables]
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT calls the model invalid: {cp.validate()}")
    return False if status == cp_model.INFEASIBLE else None
