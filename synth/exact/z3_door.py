"""The one place that talks to Z3: Booleans and pseudo-Boolean rows, no Int, no Real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Model


def decide(
    model: Model,
    seconds: float,
    seed: int,
    started: Callable[[Callable[[], None]], None],
    *,
    finite_domain: bool = False,
) -> list[bool] | bool | None:
    """Values of the variables 1, 2, … in order, False if there are none, None if undecided.

    ``started`` is handed a function that stops the search from another thread.
    ``finite_domain`` picks ``SolverFor("QF_FD")``, else the default solver decides.
    """
    context = z3.Context()
    solver = z3.SolverFor("QF_FD", ctx=context) if finite_domain else z3.Solver(ctx=context)
    solver.set("timeout", max(1, int(seconds * 1000)))
    solver.set("random_seed", seed)
    variables = [z3.Bool(f"b{i}", context) for i in range(1, model.variables + 1)]
    literals = {i + 1: variable for i, variable in enumerate(variables)}
    literals |= {-i - 1: z3.Not(variable) for i, variable in enumerate(variables)}
    for clause in model.clauses:
        solver.add(z3.Or([literals[x] for x in clause]) if clause else z3.BoolVal(False, context))
    for group in model.groups:
        solver.add(z3.AtMost(*(literals[lit] for lit in group), 1))
    for row, limit in model.rows:
        solver.add(z3.PbLe([(literals[lit], weight) for weight, lit in row], limit))
    started(context.interrupt)
    status = solver.check()
    if status == z3.sat:
        found = solver.model()
        return [z3.is_true(found.eval(variable)) for variable in variables]
    return False if status == z3.unsat else None
