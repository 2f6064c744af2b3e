"""How queries are solved: clocks, jobs, memory, who proves what, and that it is the same again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Limits
from roundelay.dsl.source import InputError
from roundelay.synth.exact import cpsat_door, z3_door
from roundelay.synth.exact.classes import list_variants
from roundelay.synth.exact.clock import start_clock
from roundelay.synth.exact.engine import CHOICES, solve
from roundelay.synth.exact.memory import parse_memory, share_memory
from roundelay.synth.exact.model import Model
from roundelay.synth.exact.pool import Pool, Worker, count_cores
from roundelay.synth.schedule import Found, GaveUp, Query
from roundelay.synth.search import search
from tests.processes import busy_factor

from .problems import all_gather, all_reduce, all_to_all, ask, complete, dgx1, ring, torus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.synth.exact.worker import Job

ROOT = Path(__file__).resolve().parents[2]
NEVER = ask(complete(4), all_reduce(4))  # Two chunks in one step and one round: too much by half.
TOO_MUCH = Query(2, 1, Fraction(1))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1) as shared:
        yield shared


# ------------------------------------------------------------------ clocks and jobs


def test_a_clock_of_effort_counts_what_is_spent_and_ends_with_the_wall() -> None:
    clock = start_clock(100, 1)
    assert clock.kind == "effort"
    assert clock.left() == 50  # Half of the budget, that the wall may not come first.
    part = clock.part(10)
    part.spend(4)
    assert (part.left(), clock.left()) == (6, 46)
    clock.shorten(20)
    assert clock.left() == 20
    assert clock.part(100).left() == 20
    part.spend(30)
    assert part.out()
    assert clock.left() == 0
    over = start_clock(1, 1, began=time.monotonic() - 2)
    assert over.left() == 0
    assert over.out()


def test_a_clock_on_the_wall_does_not_care_for_effort() -> None:
    clock = start_clock(100, 2)
    clock.spend(1000)
    assert 99 < clock.left() <= 100
    assert 4 < clock.part(5).left() <= 5
    clock.shorten(1)
    assert clock.left() <= 1
    assert not clock.out()


def test_the_cores_there_are_is_the_default_number_of_jobs() -> None:
    assert 1 <= count_cores() <= (os.cpu_count() or 1)
    with Pool() as default:
        assert default.jobs == count_cores()
    with pytest.raises(ValueError, match="at least 1 job"):
        solve(NEVER, TOO_MUCH, budget=1, jobs=0)


def test_no_more_workers_than_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once: list[int] = []
    start = Worker.start
    with Pool(3) as fresh:

        def watch(self: Worker, job: Job) -> None:
            start(self, job)
            at_once.append(sum(each.busy is not None for each in fresh.workers))

        monkeypatch.setattr(Worker, "start", watch)
        problem = ask(dgx1(), all_to_all(8))
        solve(problem, Query(3, 8, Fraction(8)), budget=1, jobs=3, pool=fresh)
    assert max(at_once) == 3


@pytest.mark.parametrize("name", CHOICES)
def test_every_kind_of_solver_gets_a_turn(
    name: str, monkeypatch: pytest.MonkeyPatch, pool: Pool
) -> None:
    asked: list[tuple[str, str, int]] = []
    start = Worker.start
    problem, query = ask(dgx1(), all_gather(8)), Query(2, 2, Fraction(3))
    variants = list_variants(problem, query)
    most = 9 * len(variants)  # The slowest of four kinds comes first after 3, 3 and 2 of others.

    def watch(self: Worker, job: Job) -> None:
        asked.append((job.solver, job.variant, job.seed))
        assert len(asked) < most, "enough"
        start(self, replace(job, effort=0.0))  # Nobody gets anywhere.

    monkeypatch.setattr(Worker, "start", watch)
    with pytest.raises(AssertionError, match="enough"):
        solve(problem, query, budget=60, jobs=1, solver=name, pool=pool)
    assert len({*asked}) == most  # A second turn has another seed.
    assert {(solver, variant) for solver, variant, _ in asked} == {
        (solver, variant) for solver in CHOICES[name] for variant in variants
    }


# ------------------------------------------------------------------ the same again

AGAIN = """
import sys
from roundelay.dsl.model import Limits
from roundelay.synth.search import search
from tests.synth.problems import all_gather, ask, dgx1

problem = ask(dgx1(), all_gather(8), limits=Limits(chunks=(2, 3), steps=(2, 3)))
said = search(problem, seed=5, jobs=1, solver=sys.argv[1])
print([(query, word) for query, word, _ in said.log])
print(said.outcome.schedule)
"""


def _again(solver: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", AGAIN, solver], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["race", "z3", "cpsat"])
def test_one_job_and_a_seed_give_the_same_bytes(solver: str) -> None:
    """In two processes, one of them on a busy machine: whole walks, with turns that end."""
    alone, _ = _again(solver).communicate()
    noise = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        busy, _ = _again(solver).communicate()
    finally:
        for each in noise:
            each.kill()
            each.wait()
    assert alone == busy
    assert "\nschedule " in alone


@pytest.mark.parametrize("kind", ["cpsat", "cpsat-lp", "z3", "z3-fd"])
def test_effort_is_counted_and_limits_a_solver(kind: str) -> None:
    """The same effort is spent on the same question each time, and a small one ends it early."""
    # 30 pigeons, 29 holes: no solver that argues by clauses alone gets through that in time.
    model = Model()
    sits = [[model.new() for _ in range(29)] for _ in range(30)]
    for row in sits:
        model.clause(*row)
    for a in range(30):
        for b in range(a):
            for hole in range(29):
                model.clause(-sits[a][hole], -sits[b][hole])

    def decide(effort: float | None, seconds: float) -> tuple[object, float]:
        spent: list[float] = []
        if kind.startswith("cpsat"):
            said = cpsat_door.decide(model, seconds, 3, lambda _: None, effort=effort,
                                     spend=spent.append, linear=kind == "cpsat-lp")  # fmt: skip
        else:
            said = z3_door.decide(model, seconds, 3, lambda _: None, effort=effort,
                                  spend=spent.append, finite_domain=kind == "z3-fd")  # fmt: skip
        return said, spent[0]

    first, second = decide(0.1, 60), decide(0.1, 60)
    assert first == second
    if first[0] is None:  # Else it was clever, and quick.
        assert 0.05 < first[1] < 1


# ------------------------------------------------------------------ budgets


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("make", [all_gather, all_to_all])
def test_a_second_is_a_second_on_a_huge_machine(make: object, jobs: int) -> None:
    assert make in (all_gather, all_to_all)
    problem = ask(torus(12, 12), all_gather(144) if make is all_gather else all_to_all(144))
    began = time.monotonic()
    said = search(problem, budget=1, jobs=jobs)
    assert time.monotonic() - began < 3 * busy_factor()
    assert isinstance(said.outcome, Found | GaveUp)


def test_there_may_be_no_time_for_copies() -> None:
    """A million messages take longer to copy and check than one chunk takes to schedule."""
    problem = ask(ring(16), all_gather(16), limits=Limits(chunks=(4096, 4096)))
    said = search(problem, budget=9)
    assert isinstance(said.outcome, GaveUp)
    assert "no time for 4096 copies" in said.outcome.reason


def test_a_worker_that_does_not_read_holds_nobody_up() -> None:
    """A problem larger than a pipe is handed over while the worker still starts."""
    problem = ask(torus(8, 8), all_to_all(64))
    with Pool(1) as fresh:
        began = time.monotonic()
        worker = fresh.take("z3")
        outcome = solve(problem, Query(1, 8, Fraction(100)), budget=0.05, pool=fresh, jobs=2)
        assert time.monotonic() - began < 2 * busy_factor()
        assert isinstance(outcome, GaveUp)
        fresh.kill(worker)


# ------------------------------------------------------------------ memory


def test_amounts_of_memory_are_read() -> None:
    assert parse_memory("6 GiB") == parse_memory("6G") == parse_memory("6gb") == 6 << 30
    assert parse_memory("1048576") == parse_memory("1 MiB") == 1 << 20
    for wrong in ("much", "-1", "5", "1.5G", "", "9" * 30):
        with pytest.raises(InputError, match="ROUNDELAY_MEMORY"):
            parse_memory(wrong)


def test_an_amount_beyond_all_machines_is_one_that_a_system_takes() -> None:
    """The most that a signed number of 64 bits holds, which systems keep it in, and less."""
    pytest.importorskip("resource")
    most = parse_memory("999999999999999999T")
    assert 1 << 60 < most < 1 << 63
    assert parse_memory("1T") == 1 << 40
    source = "from roundelay.synth.exact.memory import limit_memory; print(limit_memory({}))"
    for amount, does in ((most, "True"), (1 << 80, "False")):
        done = subprocess.run([sys.executable, "-c", source.format(amount)],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.stdout.strip(), done.stderr) == (does, "")


def test_workers_share_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDELAY_MEMORY", "8G")
    assert share_memory(4) == 2 << 30
    monkeypatch.delenv("ROUNDELAY_MEMORY")
    one, four = share_memory(1), share_memory(4)
    if one is not None and four is not None:
        assert four < one // 3


@pytest.mark.parametrize("solver", ["z3", "cpsat", "race"])
def test_too_little_memory_is_a_reason_told(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resource")
    monkeypatch.setenv("ROUNDELAY_MEMORY", "100M")
    with Pool(1) as small:
        problem = ask(dgx1(), all_gather(8))
        outcome = solve(problem, Query(2, 2, Fraction(3)), budget=20, pool=small, jobs=1,
                        solver=solver)  # fmt: skip
    assert isinstance(outcome, GaveUp)
    assert "out of memory" in outcome.reason
