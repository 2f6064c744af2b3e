"""The one place that talks to OR-tools CP-SAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Model

_LOWEST = -(2**63)  # No lower limit.
_SCALE = 0.4  # Of CP-SAT's deterministic time in a second of effort: 0.1 to 0.8 was measured.


def decide(
    model: Model,
    seconds: float,
    seed: int,
    started: Callable[[Callable[[], None]], None],
    *,
    linear: bool = False,
    care: int = 2,
    effort: float | None = None,
    spend: Callable[[float], None] | None = None,
) -> list[bool] | bool | None:
    """Values of the variables 1, 2, … in order, False if there are none, None if undecided.

    ``linear`` adds the linear relaxation: much stronger where loads are tight, much slower where
    they are not. ``care``: how much is done before the search, which is much too much for most
    models and a great help with some (0: nothing, 1: a little, 2: all there is). ``started`` is
    handed a function that stops the search from another thread. ``effort``: seconds of it that may
    be spent (None: no limit); ``spend`` is told how many were. One worker and a fixed seed: the
    same model, seed and effort give the same answer, unless the ``seconds`` run out.
    """
    cp = cp_model.CpModel()
    cp.proto.parse_text_format(_write(model))
    variables = range(model.variables)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.linearization_level = 2 if linear else 0
    solver.parameters.cp_model_presolve = care > 0
    if care < 2:
        solver.parameters.symmetry_level = 0
        solver.parameters.cp_model_probing_level = 0
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    if effort is not None:
        solver.parameters.max_deterministic_time = max(effort * _SCALE, 1e-6)
    started(solver.stop_search)
    status = solver.solve(cp)
    if spend is not None:
        spend(solver.response_proto.deterministic_time / _SCALE)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        solution = solver.response_proto.solution
        return [bool(solution[variable]) for variable in variables]
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT calls the model invalid: {cp.validate()}")
    return False if status == cp_model.INFEASIBLE else None


def _write(model: Model) -> str:
    """The model as CP-SAT's own text, which it reads much quicker than it is built piece by piece.

    Variables count from 0 there, and a negative number -i - 1 is the negation of number i.
    """
    lines = ["variables{domain:[0,1]}"] * model.variables
    for kind, groups in (("bool_or", model.clauses), ("at_most_one", model.groups)):
        for literals in groups:
            numbers = ",".join([str(lit - 1 if lit > 0 else lit) for lit in literals])
            lines.append(f"constraints{{{kind}{{literals:[{numbers}]}}}}")
    for row, limit in model.rows:
        places = ",".join([str(lit - 1 if lit > 0 else -lit - 1) for _, lit in row])
        weights = ",".join([str(weight if lit > 0 else -weight) for weight, lit in row])
        most = limit - sum(weight for weight, lit in row if lit < 0)
        lines.append(
            f"constraints{{linear{{vars:[{places}] coeffs:[{weights}] domain:[{_LOWEST},{most}]}}}}"
        )
    return "\n".join(lines)
