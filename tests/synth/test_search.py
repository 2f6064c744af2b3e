"""The search: what it asks, what it answers, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import pytest

from roundelay.dsl.model import Limits, Objective
from roundelay.dsl.source import InputError, UnsupportedError
from roundelay.synth import search as searching
from roundelay.synth.bounds import bound
from roundelay.synth.checker import check
from roundelay.synth.exact.symmetry import find_group
from roundelay.synth.schedule import Found, GaveUp, Impossible
from roundelay.synth.search import search

from .problems import (
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    complete,
    dgx1,
    machine,
    pcie_box,
    ring,
    switched,
    torus,
)

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Answer


def answer(problem: Problem, budget: float | None = 20) -> Answer:
    said = search(problem, budget=budget)
    if isinstance(said.outcome, Found):
        check(said.outcome.schedule)
        assert said.outcome.cost.per_byte >= said.bound.per_byte
        assert said.outcome.schedule.steps >= said.bound.steps
    return said


def exactly(chunks: int, steps: int, rounds: int) -> Limits:
    return Limits(chunks=(chunks, chunks), steps=(steps, steps), rounds=Fraction(rounds))


def test_an_exact_request_is_one_query() -> None:
    heard: list[str] = []
    problem = ask(dgx1(), all_reduce(8), limits=exactly(8, 4, 4))
    said = search(problem, budget=20, on_progress=heard.append)
    assert isinstance(said.outcome, Found)
    assert said.outcome.schedule.chunks == 8
    assert [(asked.chunks, asked.steps, word) for asked, word, _ in said.log] == [(8, 4, "found")]
    assert len(heard) == 1
    assert heard[0].startswith("8 chunks, 4 steps, 4 rounds: found (4 rounds) in ")
    assert not said.proved


def test_an_exact_request_can_be_impossible() -> None:
    said = answer(ask(dgx1(), all_reduce(8), limits=exactly(3, 2, 3)))
    assert isinstance(said.outcome, Impossible)
    assert said.proved
    assert said.log[0][1] == "impossible"


def test_steps_below_the_distance_are_impossible_by_a_distance() -> None:
    said = answer(ask(ring(8), all_reduce(8), limits=Limits(steps=(1, 3))))
    assert isinstance(said.outcome, Impossible)
    assert said.outcome.certificate.kind == "distance"


def test_rounds_below_the_bound_are_impossible_by_it() -> None:
    limits = Limits(chunks=(4, 8), rounds=Fraction(3))
    said = answer(ask(ring(8), all_reduce(8), limits=limits))
    assert isinstance(said.outcome, Impossible)
    assert said.outcome.certificate.kind == "partition"


def test_a_range_without_a_schedule_is_impossible_by_search() -> None:
    limits = Limits(chunks=(2, 3), steps=(1, 1), rounds=Fraction(1))
    said = answer(ask(complete(4), all_reduce(4), limits=limits))
    assert isinstance(said.outcome, Impossible)
    assert said.outcome.certificate.kind == "search"


def test_fewest_steps_then_fewest_seconds_a_byte() -> None:
    said = answer(ask(dgx1(), all_reduce(8), limits=Limits(chunks=(1, 3))))
    assert isinstance(said.outcome, Found)
    found = said.outcome
    assert (found.schedule.chunks, found.schedule.steps) == (2, 2)
    assert found.cost.rounds == 2
    assert all(asked.steps == 2 for asked, _, _ in said.log)


def test_bandwidth_first_reaches_the_bound() -> None:
    limits = Limits(chunks=(1, 2), objective=Objective("bandwidth"))
    said = answer(ask(ring(4), all_gather(4), limits=limits))
    assert isinstance(said.outcome, Found)
    assert said.proved
    assert said.outcome.cost.rounds / said.outcome.schedule.chunks == Fraction(3, 2)


def test_time_at_a_size_weighs_both() -> None:
    """On a switch one step takes 3 rounds a chunk, two steps take half of that."""
    small = Limits(chunks=(1, 4), steps=(1, 2), objective=Objective("time", 8))
    large = Limits(chunks=(1, 4), steps=(1, 2), sizes=(8, 2**30))
    few = answer(ask(switched(4), all_reduce(4), limits=small)).outcome
    many = answer(ask(switched(4), all_reduce(4), limits=large)).outcome
    assert isinstance(few, Found)
    assert isinstance(many, Found)
    assert few.schedule.steps == 1
    assert many.schedule.steps == 2
    assert many.cost.rounds / many.schedule.chunks == Fraction(3, 2)


def test_the_rounds_limit_holds_in_a_range() -> None:
    limits = Limits(chunks=(1, 2), steps=(2, 3), rounds=Fraction(2))
    said = answer(ask(dgx1(), all_reduce(8), limits=limits))
    assert isinstance(said.outcome, Found)
    assert said.outcome.cost.rounds <= 2
    assert all(asked.rounds <= 2 and asked.chunks <= 2 for asked, _, _ in said.log)


def test_a_large_least_number_of_chunks_is_served_by_copies() -> None:
    limits = Limits(chunks=(12, 12), steps=(2, 2))
    said = answer(ask(ring(4), all_reduce(4), limits=limits), budget=8)
    assert isinstance(said.outcome, Found)
    assert said.outcome.schedule.chunks == 12


def test_a_number_of_steps_may_be_used_up() -> None:
    """Two steps would do, but four asked for take fewer rounds."""
    limits = Limits(chunks=(8, 8), steps=(4, 4))
    said = answer(ask(dgx1(), all_reduce(8), limits=limits), budget=8)
    assert isinstance(said.outcome, Found)
    assert said.outcome.schedule.chunks == 8
    assert said.outcome.cost.rounds <= 4
    assert all(asked.steps == 4 for asked, _, _ in said.log)


def test_small_machines() -> None:
    for ranks in (1, 2, 3):
        said = answer(ask(ring(ranks), all_reduce(ranks)))
        assert isinstance(said.outcome, Found)
        assert said.outcome.schedule.steps == (ranks > 1)
    assert answer(ask(ring(1), all_reduce(1))).proved


def test_a_pcie_box_and_part_of_a_dgx1() -> None:
    assert isinstance(answer(ask(pcie_box(), all_reduce(4))).outcome, Found)
    part = answer(ask(dgx1((0, 1, 2, 3, 7)), all_reduce(5), limits=Limits(chunks=(1, 2))))
    assert isinstance(part.outcome, Found)


def test_the_time_is_kept_on_a_large_machine() -> None:
    for problem in (ask(ring(64), all_reduce(64)), ask(torus(8, 8), all_to_all(64))):
        began = time.monotonic()
        said = search(problem, budget=1)
        assert time.monotonic() - began < 20
        assert isinstance(said.outcome, Found | GaveUp)


def test_the_plans_budget_is_the_default() -> None:
    limits = Limits(budget=Fraction(1, 2))
    began = time.monotonic()
    assert isinstance(search(ask(ring(64), all_reduce(64), limits=limits)).outcome, Found)
    assert time.monotonic() - began < 20


def test_unsupported_problems_are_refused() -> None:
    lopsided = machine("lopsided", 3, [(0, 1, 1), (1, 2, 2), (0, 2, 3)])
    with pytest.raises(InputError, match="look different from every rank"):
        search(ask(lopsided, all_reduce(3), limits=Limits(symmetric=True)))
    with pytest.raises(InputError, match="a multiple of 2 or 3 chunks"):
        search(ask(ring(6), all_reduce(6), limits=Limits(symmetric=True, chunks=(1, 1))))
    with pytest.raises(UnsupportedError):
        search(ask(machine("one way", 2, [(0, 1, 1)], two_way=False), all_reduce(2)))


def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(searching, "_improve", interrupt)
    assert isinstance(answer(ask(dgx1(), all_reduce(8))).outcome, Found)
    monkeypatch.setattr(searching, "begin", interrupt)
    assert isinstance(answer(ask(dgx1(), all_reduce(8))).outcome, GaveUp)


def test_a_real_ctrl_c_is_survived_and_leaves_no_process() -> None:
    code = (
        "from roundelay.synth.search import search\n"
        "from tests.synth.problems import ask, dgx1, all_reduce\n"
        "from roundelay.dsl.model import Limits, Objective\n"
        "limits = Limits(objective=Objective('bandwidth'))\n"
        "said = search(ask(dgx1(), all_reduce(8), limits=limits), budget=60,\n"
        "              on_progress=lambda text: print(text, flush=True))\n"
        "print('answer', type(said.outcome).__name__, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert rest.splitlines()[-1] == "answer Found"
    assert process.returncode == 0


def test_one_solver_alone_finds_the_same_again() -> None:
    problem = ask(ring(4), all_reduce(4), limits=Limits(chunks=(1, 2)))
    texts = set()
    for _ in range(2):
        outcome = search(problem, solver="cpsat", seed=3, budget=30, jobs=1).outcome
        assert isinstance(outcome, Found)
        texts.add(str(outcome.schedule))
    assert len(texts) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        ask(switched(16), all_reduce(16)),
        ask(switched(8, 4, flags=True), all_reduce(8)),
        ask(torus(4, 4), all_reduce(16)),
        ask(dgx1(), all_reduce(8)),
    ],
    ids=["dgx2", "hgx_h100", "torus", "dgx1"],
)
def test_default_searches_of_whole_machines(problem: Problem) -> None:
    began = time.monotonic()
    said = answer(problem, budget=None)
    assert isinstance(said.outcome, Found)
    assert said.outcome.schedule.steps == said.bound.steps
    assert time.monotonic() - began < 45


@pytest.mark.parametrize("kind", ["latency", "bandwidth"])
def test_a_symmetric_schedule_is_one(kind: Literal["latency", "bandwidth"]) -> None:
    """Every motion of the group takes the messages to messages, chunks aside."""
    limits = Limits(symmetric=True, objective=Objective(kind))
    problem = ask(ring(6), all_reduce(6), limits=limits)
    outcome = search(problem, budget=8).outcome
    assert isinstance(outcome, Found)
    group = find_group(problem, outcome.schedule.chunks)
    assert group is not None
    sends = Counter((s.step, s.src, s.dst) for s in outcome.schedule.sends)
    for motion in group.motions:
        moved = Counter((s.step, motion.nodes[s.src], motion.nodes[s.dst])
                        for s in outcome.schedule.sends)  # fmt: skip
        assert moved == sends
    if kind == "bandwidth":
        assert outcome.cost.per_byte == bound(problem).per_byte


def test_an_impossibility_names_the_symmetry() -> None:
    """Three steps for six ranks in a ring want a round a step; one chunk fewer is not asked."""
    limits = Limits(symmetric=True, chunks=(6, 6), steps=(3, 3), rounds=Fraction(5))
    outcome = search(ask(ring(6), all_reduce(6), limits=limits), budget=30).outcome
    assert isinstance(outcome, Impossible)
    assert "that 6 symmetries of the machine map to themselves" in outcome.certificate.reason
    assert not outcome.certificate.complete
