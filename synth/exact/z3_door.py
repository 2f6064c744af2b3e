"""The one place that talks to Z3: Booleans and pseudo-Boolean rows, no Int, no Real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import z3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .model import Model

_SCALE = 3e6  # Resources in a second of effort: half a million to five millions were measured.


def decide(
    model: Model,
    seconds: float,
    seed: int,
    started: Callable[[Callable[[], None]], None],
    *,
    finite_domain: bool = False,
    effort: float | None = None,
    spend: Callable[[float], None] | None = None,
) -> list[bool] | bool | None:
    """Values of the variables 1, 2, … in order, False if there are none, None if undecided.

    ``started`` is handed a function that stops the search from another thread.
    ``finite_domain`` picks ``SolverFor("QF_FD")``, else the default solver decides. ``effort``:
    seconds of it that may be spent (None: no limit); ``spend`` is told how many were. The same
    model, seed and effort give the same answer, unless the ``seconds`` run out. Raises
    ``MemoryError``.
    """
    context = z3.Context()
    solver = z3.SolverFor("QF_FD", ctx=context) if finite_domain else z3.Solver(ctx=context)
    try:
        # As one text: thirty times faster than an object of Python for every literal.
        solver.from_string("\n".join(_write(model)))
        solver.set("timeout", max(1, min(int(seconds * 1000), 2**31 - 1)))
        solver.set("random_seed", seed)
        if effort is not None:
            solver.set("rlimit", max(1, min(int(effort * _SCALE), 2**32 - 1)))
        started(context.interrupt)
        before = _count(solver)
        status = solver.check()
        if spend is not None:
            spend((_count(solver) - before) / _SCALE)
        if status == z3.sat:
            found = solver.model()
            true = {each.name() for each in found.decls() if z3.is_true(found[each])}
            return [f"b{i}" in true for i in range(1, model.variables + 1)]
    except z3.Z3Exception as error:
        if "memory" in str(error):
            raise MemoryError(str(error)) from error
        raise
    if status == z3.unknown and "memory" in solver.reason_unknown():
        raise MemoryError(solver.reason_unknown())
    return False if status == z3.unsat else None


def _write(model: Model) -> Iterator[str]:
    """The model in SMT-LIB, with Z3's own words for sums of literals."""
    names = {i: f"b{i}" for i in range(1, model.variables + 1)}
    names |= {-i: f"(not {name})" for i, name in names.items()}
    for i in range(1, model.variables + 1):
        yield f"(declare-const b{i} Bool)"
    for clause in model.clauses:
        yield f"(assert (or false {' '.join([names[x] for x in clause])}))"
    for group in model.groups:
        yield f"(assert ((_ at-most 1) {' '.join([names[x] for x in group])}))"
    for row, limit in model.rows:
        weights = " ".join([str(weight) for weight, _ in row])
        yield f"(assert ((_ pble {limit} {weights}) {' '.join([names[x] for _, x in row])}))"


def _count(solver: z3.Solver) -> int:
    """Resources spent so far."""
    statistics = solver.statistics()
    for number in range(len(statistics)):
        name, value = statistics[number]
        if name == "rlimit count":
            return int(value)
    return 0
