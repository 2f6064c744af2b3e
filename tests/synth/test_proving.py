"""Impossibilities: who proved them, who was asked to confirm them, and about what."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Limits
from roundelay.synth.exact import cpsat_door, engine
from roundelay.synth.exact.clock import start_clock
from roundelay.synth.exact.engine import EngineError, confirm, solve
from roundelay.synth.exact.plan import encode
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import Found, GaveUp, Impossible, Query
from roundelay.synth.search import search
from roundelay.synth.walk import Walk

from .problems import SUM, all_reduce, ask, complete, dgx1, ring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.synth.schedule import Outcome

NEVER = ask(complete(4), all_reduce(4))  # Two chunks in one step and one round: too much by half.
TOO_MUCH = Query(2, 1, Fraction(1))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1) as shared:
        yield shared


@pytest.mark.parametrize(("solver", "names"), [("cpsat", "CP-SAT and Z3"), ("z3", "Z3 and CP-SAT")])
def test_an_impossibility_is_proved_by_both(solver: str, names: str, pool: Pool) -> None:
    outcome = solve(NEVER, TOO_MUCH, budget=60, solver=solver, jobs=1, pool=pool, prove=True)
    assert isinstance(outcome, Impossible)
    first, _, second = names.partition(" and ")
    assert outcome.engine.startswith(f"exact ({first}")
    assert f" and {second}" in outcome.engine
    assert "refuted it over all schedules of messages from rank to rank" in (
        outcome.certificate.reason
    )
    assert f" and {second}" in outcome.certificate.reason


def _refuted(pool: Pool) -> Impossible:
    outcome = solve(NEVER, TOO_MUCH, budget=60, solver="cpsat", jobs=1, pool=pool)
    assert isinstance(outcome, Impossible)
    return outcome


def _confirm(pool: Pool, query: Query = TOO_MUCH) -> Impossible:
    clock = start_clock(60, 2)
    return confirm(NEVER, query, _refuted(pool), seed=0, jobs=1, pool=pool, clock=clock)


def test_a_solver_without_an_answer_is_named(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    refuted = _refuted(pool)
    monkeypatch.setattr(engine, "_ask", lambda *_: GaveUp("asleep", "exact"))
    said = confirm(NEVER, TOO_MUCH, refuted, seed=0, jobs=1, pool=pool, clock=start_clock(9, 2))
    assert said.engine == refuted.engine
    assert said.certificate.reason.endswith("; Z3 did not answer in time (asleep)")


def test_a_solver_that_finds_what_was_refuted_is_a_fault_of_ours(pool: Pool) -> None:
    """As if CP-SAT had refuted one chunk in one round, which exists."""
    with pytest.raises(EngineError, match="found what CP-SAT"):
        _confirm(pool, Query(1, 1, Fraction(1)))


def test_what_a_bound_proves_needs_nobody_else(pool: Pool) -> None:
    outcome = solve(ask(ring(8), all_reduce(8)), Query(1, 3, Fraction(9)), budget=9, prove=True,
                    pool=pool)  # fmt: skip
    assert isinstance(outcome, Impossible)
    assert outcome.engine == "bound"


def test_a_search_has_its_answer_proved(pool: Pool) -> None:
    limits = Limits(chunks=(2, 3), steps=(1, 1), rounds=Fraction(1))
    said = search(ask(complete(4), all_reduce(4), limits=limits), budget=30, prove=True, jobs=2)
    assert isinstance(said.outcome, Impossible)
    assert "CP-SAT" in said.outcome.certificate.reason
    assert "Z3" in said.outcome.certificate.reason
    assert said.decisive == TOO_MUCH


def test_ctrl_c_in_the_proof_keeps_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Walk, "confirm", interrupt)
    limits = Limits(chunks=(2, 2), steps=(1, 1), rounds=Fraction(1))
    said = search(ask(complete(4), all_reduce(4), limits=limits), budget=30, prove=True)
    assert isinstance(said.outcome, Impossible)


def test_the_decisive_query_is_the_one_answered() -> None:
    limits = Limits(chunks=(1, 3))
    said = search(ask(dgx1(), all_reduce(8), SUM, limits=limits), budget=2)
    assert isinstance(said.outcome, Found)
    assert said.decisive is not None
    assert said.decisive.chunks == said.outcome.schedule.chunks
    assert said.decisive.rounds >= said.outcome.cost.rounds


def test_a_refutation_names_its_encoding(pool: Pool) -> None:
    refuted: Outcome = _refuted(pool)
    assert isinstance(refuted, Impossible)
    model = encode(NEVER, TOO_MUCH, "full").model
    assert refuted.encoding == "full"
    assert cpsat_door.decide(model, 30, 0, lambda _: None) is False
