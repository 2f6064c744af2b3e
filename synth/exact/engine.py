"""The exact engine: one query, several encodings and solvers at once, an answer within a budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.checker import check
from roundelay.synth.paths import build, build_rooted
from roundelay.synth.schedule import Found, Impossible
from roundelay.synth.timeline import price

from .classes import list_variants
from .clock import start_clock
from .pool import count_cores, share_pool
from .race import Race, line_up, run
from .verdicts import NAMES, EngineError, accept, refuse_below, stay
from .worker import SOLVERS

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Outcome, Query

    from .classes import Variant
    from .clock import Clock
    from .pool import Pool

_LITTLE = 4000  # Symbols times wants times chunks: some milliseconds of building.

__all__ = ["CHOICES", "EngineError", "confirm", "refuse_unsupported", "solve"]

CHOICES = {
    "race": ("cpsat", "z3", "cpsat-lp", "z3-fd"),
    "cpsat": ("cpsat", "cpsat-lp"),
    "z3": ("z3", "z3-fd"),
    **{kind: (kind,) for kind in SOLVERS if "-" in kind},
}
"""Which kinds of solvers take turns under each name."""


def refuse_unsupported(problem: Problem) -> None:
    """Raise ``UnsupportedError`` for wants that these encodings cannot make."""
    operator = problem.operator
    if operator is None or (operator.idempotent and operator.commutative):
        return
    for block in problem.collective.blocks:
        for want in block.wants:
            if len(set(want.symbols)) < len(want.symbols):
                raise UnsupportedError(
                    f"{want} takes the same value twice",
                    "every value once, or an operator that is idempotent and commutative",
                    "leave the second one out",
                )


def solve(
    problem: Problem,
    query: Query,
    *,
    budget: float,
    seed: int = 0,
    solver: str = "race",
    jobs: int | None = None,
    pool: Pool | None = None,
    limit: Bound | None = None,
    quick: bool = False,
    prove: bool = False,
    clock: Clock | None = None,
) -> Outcome:
    """Whether ``query.chunks`` chunks can take ``query.steps`` steps and ``query.rounds`` rounds.

    ``budget`` in seconds from now, or a ``clock`` in its place. ``solver``: a key of ``CHOICES``;
    before a ``race`` a schedule by the shortest ways is tried, which takes no solver.
    ``jobs``: worker processes at once (default: the cores this process may use). With one job
    turns are measured in effort, and the same question has the same answer each time unless the
    budget's end cuts it short; with more, the first answer counts. ``pool``: where the workers
    come from (default: those of this process). ``limit``: the problem's bound, where it is known
    already. ``quick`` asks the encodings by trees alone, where there are any: they find or
    give up. ``prove`` has a refutation confirmed by the other solver in the time
    that is left. Raises ``UnsupportedError``, and ``EngineError`` for a fault of its own.
    """
    if solver not in CHOICES:
        raise ValueError(f"solver {solver} is not one of {', '.join(CHOICES)}")
    if query.chunks < 1 or query.steps < 0 or query.rounds < 0:
        raise ValueError("a query needs a chunk, and no fewer than 0 steps and rounds")
    if jobs is not None and jobs < 1:
        raise ValueError("somebody has to do the work: at least 1 job")
    refuse_unsupported(problem)
    jobs = count_cores() if jobs is None else jobs
    clock = start_clock(budget, jobs) if clock is None else clock
    limit = bound(problem, budget=clock.wall()) if limit is None else limit
    refusal = refuse_below(limit, query)
    if refusal is not None:
        return refusal
    if limit.steps == 0:
        return accept(problem, query, stay(problem, query.chunks), "exact")
    if solver == "race" and (found := _at_once(problem, query)):
        return found
    variants = list_variants(problem, query)
    if quick:
        variants = tuple(v for v in variants if v.endswith("trees")) or variants
    pool = share_pool() if pool is None else pool
    outcome = _ask(problem, query, variants, CHOICES[solver], seed, clock.part(clock.left()), pool,
                   jobs)  # fmt: skip
    if prove and isinstance(outcome, Impossible):
        return confirm(problem, query, outcome, seed=seed, jobs=jobs, pool=pool, clock=clock)
    return outcome


def _at_once(problem: Problem, query: Query) -> Found | None:
    """A schedule by the shortest ways, where that takes milliseconds and is good enough."""
    if problem.limits.symmetric or query.chunks * _count_work(problem) > _LITTLE:
        return None
    for make in (build, build_rooted):
        schedule = make(problem, query.chunks)
        if schedule is not None and schedule.steps <= query.steps:
            cost = price(schedule)
            if cost.rounds <= query.rounds:
                check(schedule)
                return Found(schedule, cost, "shortest ways")
    return None


def _count_work(problem: Problem) -> int:
    """Symbols times wants, over the blocks."""
    blocks = problem.collective.blocks
    return sum(len(block.symbols) * len(block.wants) for block in blocks)


def _ask(
    problem: Problem,
    query: Query,
    variants: tuple[Variant, ...],
    solvers: tuple[str, ...],
    seed: int,
    clock: Clock,
    pool: Pool,
    jobs: int,
) -> Outcome:
    race = Race(problem, query, variants, seed, clock, line_up(variants, solvers))
    return run(race, pool, jobs)


def confirm(
    problem: Problem,
    query: Query,
    refuted: Impossible,
    *,
    seed: int,
    jobs: int,
    pool: Pool,
    clock: Clock,
) -> Impossible:
    """Ask the other solver about what one has refuted; the reason then names both, or says that
    the other one did not answer in time.

    Both of its kinds take turns, over the same encoding. Impossibilities that a bound
    proves are left as they are: their certificates need no solver. Raises ``EngineError`` where
    the other one finds a schedule.
    """
    if refuted.certificate.kind != "search":
        return refuted
    first = next(name for name in NAMES.values() if refuted.engine == f"exact ({name})")
    other, kinds = ("Z3", CHOICES["z3"]) if first.startswith("CP") else ("CP-SAT", CHOICES["cpsat"])
    variants = tuple(v for v in list_variants(problem, query) if v == refuted.encoding)
    again = _ask(problem, query, variants, kinds, seed, clock.part(clock.left()), pool, jobs)
    certificate = refuted.certificate
    if isinstance(again, Found):
        raise EngineError(f"{again.engine} found what {first} refuted: {certificate.reason}")
    if not isinstance(again, Impossible):
        reason = f"{certificate.reason}; {other} did not answer in time ({again.reason})"
        return replace(refuted, certificate=replace(certificate, reason=reason))
    second = again.engine.removeprefix("exact (").removesuffix(")")
    both = f"{first} and {second}"
    reason = certificate.reason.replace(f"{first} refuted", f"{both} refuted", 1)
    return Impossible(replace(certificate, reason=reason), f"exact ({both})", refuted.encoding)
