"""From what a solver says to an outcome: nothing is found that the checker has not accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.synth.checker import ScheduleError, check
from roundelay.synth.schedule import (
    ANY_ROUNDS,
    Certificate,
    Found,
    Impossible,
    Own,
    Result,
    Schedule,
)
from roundelay.synth.timeline import price

from .draft import Plain

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Query

NAMES = {"cpsat": "CP-SAT", "cpsat-lp": "CP-SAT with LP", "z3": "Z3", "z3-fd": "Z3 QF_FD"}
"""What people call the kinds of solvers."""


class EngineError(RuntimeError):
    """A fault of this program: a solver's answer turned out to be no schedule."""


def refuse_below(limit: Bound, query: Query) -> Impossible | None:
    """The impossibility that a bound already proves."""
    for certificate in limit.certificates:
        if certificate.kind == "distance" and query.steps < certificate.value:
            return Impossible(certificate, "bound")
        if certificate.kind != "distance" and query.rounds < query.chunks * certificate.value:
            return Impossible(certificate, "bound")
    return None


def stay(problem: Problem, chunks: int) -> Plain:
    """The schedule without a message: every rank holds what it wants."""
    results = tuple(
        Result(number * chunks + c, want, tuple(Own(s) for s in dict.fromkeys(wanted.symbols)))
        for number, block in enumerate(problem.collective.blocks)
        for c in range(chunks)
        for want, wanted in enumerate(block.wants)
    )
    return Plain(0, (), results)


def accept(problem: Problem, query: Query, plain: Plain, engine: str) -> Found:
    """A solver's schedule, once the checker has accepted it and it is within the query."""
    schedule = Schedule(problem, query.chunks, plain.steps, plain.sends, plain.results)
    try:
        verdict = check(schedule)
    except ScheduleError as error:
        raise EngineError(f"{engine} found what is no schedule: {error}") from error
    cost = price(schedule)
    if cost.rounds != verdict.rounds:
        raise EngineError(f"a schedule of {verdict.rounds} rounds is priced at {cost.rounds}")
    if schedule.steps > query.steps or cost.rounds > query.rounds:
        raise EngineError(f"{engine} found a schedule beyond the limits asked for")
    return Found(schedule, cost, engine)


def refute(query: Query, solver: str, encoding: str, scope: tuple[str, bool]) -> Impossible:
    """The impossibility that a kind of solver proved over an encoding's class of schedules.

    ``scope``: the class in words, and whether it is all schedules.
    """
    schedules, complete = scope
    name = NAMES[solver]
    chunks = "1 chunk" if query.chunks == 1 else f"{query.chunks} chunks"
    rounds = "any number of" if query.rounds >= ANY_ROUNDS else query.rounds
    reason = (
        f"no schedule of {chunks} within {query.steps} steps and {rounds} rounds: "
        f"{name} refuted it over {schedules}"
    )
    certificate = Certificate("search", query.rounds, (), reason, complete)
    return Impossible(certificate, f"exact ({name})", encoding)
