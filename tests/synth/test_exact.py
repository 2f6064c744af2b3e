"""The exact engine against known rows, an exhaustive search, and its own promises."""

from __future__ import annotations

import itertools
import random
import selectors
import subprocess
import sys
import threading
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Symbol, Want
from roundelay.dsl.source import UnsupportedError
from roundelay.synth.checker import check
from roundelay.synth.exact import cpsat_door, engine, race, verdicts, worker, z3_door
from roundelay.synth.exact.board import lay_out, limit_rounds
from roundelay.synth.exact.classes import list_variants
from roundelay.synth.exact.draft import Plain
from roundelay.synth.exact.encodings.merging import encode_merges
from roundelay.synth.exact.engine import EngineError, solve
from roundelay.synth.exact.model import Model
from roundelay.synth.exact.plan import encode
from roundelay.synth.exact.pool import Pool, Worker
from roundelay.synth.exact.worker import Job, Reply, Started
from roundelay.synth.routes import enumerate_routes, measure_hops
from roundelay.synth.schedule import Found, GaveUp, Impossible, Query
from tests.processes import is_running

from .brute import fewest_rounds
from .problems import (
    MAX,
    SUB,
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    dgx1,
    gather,
    line,
    machine,
    pcie_box,
    reduce,
    reduce_scatter,
    ring,
    scan,
    scatter,
    switched,
    torus,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from roundelay.dsl.model import Operator, Problem, Topology
    from roundelay.synth.schedule import Outcome

DGX = dgx1()
ANY = Fraction(10**6)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def quick(problem: Problem, query: Query, pool: Pool, solver: str = "race") -> Outcome:
    return solve(problem, query, budget=30, pool=pool, solver=solver)


def query(chunks: int, steps: int, rounds: int | Fraction = ANY) -> Query:
    return Query(chunks, steps, Fraction(rounds))


FOUND: list[tuple[Topology, Collective, Operator, Query]] = [
    (DGX, all_reduce(8), SUM, query(8, 4, 4)),
    (DGX, all_reduce(8), SUM, query(2, 2, 2)),
    (DGX, all_gather(8), SUM, query(1, 2, 2)),
    (DGX, reduce_scatter(8), SUM, query(1, 2, 2)),
    (DGX, broadcast(8), SUM, query(6, 3, 3)),
    (DGX, reduce(8, 3), SUM, query(6, 3, 3)),
    (DGX, scatter(8), SUM, query(1, 2, 2)),
    (DGX, gather(8), SUM, query(1, 2, 2)),
    (DGX, all_to_all(8), SUM, query(1, 2, 3)),
    (ring(5), all_reduce(5), SUM, query(1, 2)),
    (ring(5), all_reduce(5), MAX, query(1, 2)),
    (ring(8), all_reduce(8), SUM, query(1, 4)),
    (ring(8), all_reduce(8), MAX, query(2, 4)),
    (complete(8), all_reduce(8), SUM, query(1, 1, 1)),
    (ring(3), all_reduce(3), SUM, query(3, 1, 3)),
    (ring(6), all_reduce(6), SUM, query(1, 3)),
    (ring(7), all_reduce(7), SUM, query(1, 3)),
    (ring(2), all_reduce(2), SUM, query(1, 1, 1)),
    (ring(1), all_reduce(1), SUM, query(3, 0, 0)),
    (line(4), all_reduce(4), SUM, query(2, 6, 4)),
    (ring(5), scan(5), SUM, query(1, 2)),
    (ring(5), scan(5), MAX, query(1, 2)),
    (pcie_box(), all_reduce(4), SUM, query(1, 1, 4)),
    (pcie_box(), all_gather(4), SUM, query(2, 2)),
    (dgx1((0, 1, 2, 3, 7)), all_reduce(5), SUM, query(1, 3)),
    (switched(4), all_reduce(4), SUM, query(4, 2, 6)),
    (switched(8, 4, flags=True), all_reduce(8), SUM, query(4, 2, 4)),
]


@pytest.mark.parametrize(("topology", "collective", "operator", "asked"), FOUND)
def test_found(
    topology: Topology, collective: Collective, operator: Operator, asked: Query, pool: Pool
) -> None:
    outcome = quick(ask(topology, collective, operator), asked, pool)
    assert isinstance(outcome, Found), outcome
    schedule = outcome.schedule
    verdict = check(schedule)
    assert verdict.rounds == outcome.cost.rounds <= asked.rounds
    assert schedule.steps <= asked.steps
    assert schedule.chunks == asked.chunks
    assert not verdict.unused
    assert {send.step for send in schedule.sends} == set(range(schedule.steps))


IMPOSSIBLE: list[tuple[Topology, Collective, Operator, Query]] = [
    (DGX, all_reduce(8), SUM, query(3, 2, 3)),
    (DGX, all_reduce(8), SUM, query(3, 2, Fraction(5, 2))),
    (DGX, all_gather(8), SUM, query(6, 2, 7)),
    (DGX, all_gather(8), SUM, query(3, 2, 4)),
    (DGX, broadcast(8), SUM, query(6, 2, 3)),
    (complete(4), all_reduce(4), SUM, query(2, 1, 1)),
    (complete(4), all_reduce(4), MAX, query(2, 1, 1)),
    (switched(4), all_reduce(4), SUM, query(1, 1, 2)),
]


@pytest.mark.parametrize(("topology", "collective", "operator", "asked"), IMPOSSIBLE)
def test_impossible(
    topology: Topology, collective: Collective, operator: Operator, asked: Query, pool: Pool
) -> None:
    problem = ask(topology, collective, operator)
    outcome = quick(problem, asked, pool)
    assert isinstance(outcome, Impossible), outcome
    assert outcome.certificate.kind == "search"
    assert "all schedules of messages from rank to rank" in outcome.certificate.reason
    assert "at most one message" not in outcome.certificate.reason
    assert isinstance(quick(problem, asked, pool, "z3"), Impossible)


def test_a_smaller_class_is_named(pool: Pool) -> None:
    outcome = quick(ask(DGX, all_reduce(8)), query(1, 3, Fraction(1, 2)), pool)
    assert isinstance(outcome, Impossible)
    assert outcome.certificate.complete  # With as many messages as the links can carry.
    flagged = quick(ask(switched(4, flags=True), all_reduce(4)), query(1, 1, 2), pool)
    assert isinstance(flagged, Found)  # Switches that copy and combine are in the class.


def test_bounds_answer_before_any_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "run", lambda *_: pytest.fail("a solver was asked"))
    problem = ask(DGX, all_reduce(8))
    steps = solve(problem, query(1, 1), budget=1)
    assert isinstance(steps, Impossible)
    assert steps.certificate.kind == "distance"
    rounds = solve(problem, query(24, 9, Fraction(13, 2)), budget=1)
    assert isinstance(rounds, Impossible)
    assert rounds.certificate.kind == "partition"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collective", "asked"),
    [
        (all_gather(8), query(6, 3, 7)),
        (reduce_scatter(8), query(6, 3, 7)),
        (all_reduce(8), query(8, 3, 4)),
        (all_to_all(8), query(3, 2, 8)),
    ],
)
def test_harder_rows(collective: Collective, asked: Query, pool: Pool) -> None:
    outcome = solve(ask(DGX, collective), asked, budget=60, pool=pool)
    assert isinstance(outcome, Found), outcome


# ------------------------------------------------------------------ against brute force


def _random_machine(chance: random.Random, ranks: int, most: int) -> Topology:
    ends = [(i, j) for i in range(ranks) for j in range(ranks) if i != j]
    ring_ends = [(i, (i + 1) % ranks) for i in range(ranks)]
    others = [pair for pair in ends if pair not in ring_ends]
    chosen = ring_ends if chance.random() < 0.7 else []
    chosen = chosen + chance.sample(others, min(len(others), most - len(chosen)))
    speeds = [Fraction(1), Fraction(3, 2), Fraction(2)]
    links = [(i, j, chance.randint(1, 2), chance.choice(speeds)) for i, j in chosen]
    return machine("random", ranks, links, two_way=False)


def _agree(problem: Problem, chunks: int, steps: int, pool: Pool) -> bool:
    """Whether brute force found something; the engine must find exactly that."""
    fewest = fewest_rounds(problem, chunks, steps)
    if fewest is None:
        try:
            assert isinstance(quick(problem, query(chunks, steps), pool, "cpsat"), Impossible)
        except UnsupportedError:
            return False
        return False
    for solver in ("cpsat", "cpsat-lp"):  # The second is asked with the chunks ordered.
        found = quick(problem, query(chunks, steps, fewest), pool, solver)
        assert isinstance(found, Found), (problem, fewest)
        assert found.cost.rounds == fewest
        less = fewest - Fraction(1, 1000)
        if less >= 0:
            assert isinstance(quick(problem, query(chunks, steps, less), pool, solver), Impossible)
    return True


@pytest.mark.parametrize("operator", [SUM, MAX, SUB], ids=["sum", "max", "sub"])
@pytest.mark.parametrize("make", [all_reduce, scan, reduce, broadcast, all_gather, reduce_scatter])
def test_agrees_with_brute_force(
    make: Callable[[int], Collective], operator: Operator, pool: Pool
) -> None:
    chance = random.Random(make.__name__ + operator.name)
    hits = 0
    few = make is reduce_scatter  # Three blocks of three symbols: every link triples the bits.
    for trial in range(6):
        ranks = 4 if trial == 3 and make in (all_reduce, scan, reduce, broadcast) else 3
        links = 4 if few else 6
        problem = ask(_random_machine(chance, ranks, links), make(ranks), operator)
        chunks = chance.choice((1, 2)) if ranks == 3 and make in (all_reduce, broadcast) else 1
        for steps in (1, 2):
            hits += _agree(problem, chunks, steps, pool)
    assert hits >= 3


def _decide(model: Model) -> bool:
    values = cpsat_door.decide(model, 30, 0, lambda _: None)
    assert values is not None
    return values is not False


def _merging_alone(problem: Problem, asked: Query) -> Model:
    """The general encoding where ``encode`` would take a smaller one."""
    model = Model()
    topology = problem.topology
    idempotent = problem.operator is not None and problem.operator.idempotent
    routes = enumerate_routes(topology).routes
    board = lay_out(routes, measure_hops(topology), asked.steps)
    for number, block in enumerate(problem.collective.blocks):
        for chunk in range(asked.chunks):
            number_of_chunk = number * asked.chunks + chunk
            encode_merges(model, board, block, number_of_chunk, idempotent=idempotent)
    limit_rounds(model, board, topology, asked.rounds)
    return model


@pytest.mark.parametrize("operator", [SUM, MAX], ids=["sum", "max"])
@pytest.mark.parametrize("make", [all_reduce, reduce, broadcast, all_gather, reduce_scatter])
def test_small_encodings_agree_with_the_general_one(
    make: Callable[[int], Collective], operator: Operator
) -> None:
    """Over three steps and switches: copies, mirrored copies and gossip lose nothing."""
    chance = random.Random(make.__name__ + operator.name)
    answers = []
    for _ in range(4):
        ranks, switches = chance.choice(((4, 0), (3, 1), (3, 2)))
        ring_links = [(i, (i + 1) % ranks, chance.randint(1, 2)) for i in range(ranks)]
        links = ring_links + [
            (i, j, chance.randint(1, 2))
            for i in range(ranks + switches)
            for j in range(ranks + switches)
            if max(i, j) >= ranks and i != j and chance.random() < 0.6
        ]
        topology = machine("random", ranks, links, switches, two_way=False)
        problem = ask(topology, make(ranks), operator)
        for rounds in range(1, 9):
            asked = query(2 if make in (reduce, broadcast) else 1, 3, Fraction(rounds, 2))
            small = encode(problem, asked, "full", ordered=rounds % 2 == 0).model
            answers.append(_decide(small))
            assert answers[-1] == _decide(_merging_alone(problem, asked))
    assert {*answers} == {True, False}


# ------------------------------------------------------------------ promises


@pytest.mark.parametrize("solver", worker.SOLVERS)
def test_one_solver_alone_answers_alike(solver: str) -> None:
    problem = ask(ring(5), all_reduce(5))
    texts = set()
    for _ in range(2):
        with Pool() as fresh:
            outcome = solve(problem, query(2, 3, 4), budget=30, seed=7, solver=solver, pool=fresh,
                            jobs=1)  # fmt: skip
        assert isinstance(outcome, Found)
        texts.add(str(outcome.schedule))
    assert len(texts) == 1


def test_a_budget_holds_and_nothing_leaks() -> None:
    problem = ask(torus(8, 8), all_to_all(64))
    with Pool() as fresh:
        began = time.monotonic()
        outcome = solve(problem, query(2, 8), budget=1, pool=fresh)
        assert time.monotonic() - began < 20
        assert isinstance(outcome, GaveUp)
        assert all(each.busy is None or each.cancelled_at for each in fresh.workers)
        processes = [each.process for each in fresh.workers]
    assert all(process.poll() is not None for process in processes)


def test_a_model_too_large_is_given_up_in_words(pool: Pool) -> None:
    outcome = solve(ask(ring(64), all_reduce(64)), query(1, 32), budget=40, pool=pool, jobs=1)
    assert isinstance(outcome, GaveUp)
    assert "literals" in outcome.reason


def test_a_dead_worker_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ask(DGX, all_to_all(8))
    with Pool() as fresh:
        start = Worker.start

        def start_and_kill(self: Worker, job: worker.Job) -> None:
            start(self, job)
            self.process.kill()

        monkeypatch.setattr(Worker, "start", start_and_kill)
        outcome = solve(problem, query(1, 2, 3), budget=10, pool=fresh)
        assert isinstance(outcome, GaveUp)
        assert "died" in outcome.reason
        assert not fresh.workers


def test_workers_end_with_their_parent() -> None:
    code = (
        "import os, signal\n"
        "from roundelay.synth.exact.pool import Worker\n"
        "worker = Worker()\n"
        "print(worker.process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    for _ in range(100):
        if not is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent")


def test_ctrl_c_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(race, "_hear", interrupt)
    with Pool() as fresh:
        with pytest.raises(KeyboardInterrupt):
            solve(ask(DGX, all_reduce(8)), query(16, 5, 5), budget=30, pool=fresh)
        assert not fresh.workers


def test_a_wrong_answer_of_a_solver_is_caught(monkeypatch: pytest.MonkeyPatch, pool: Pool) -> None:
    problem = ask(ring(4), all_reduce(4))
    good = quick(problem, query(1, 2), pool)
    assert isinstance(good, Found)
    bad = Plain(good.schedule.steps, good.schedule.sends[:-1], good.schedule.results)
    with pytest.raises(EngineError, match="no schedule"):
        verdicts.accept(problem, query(1, 2), bad, "test")
    whole = Plain(good.schedule.steps, good.schedule.sends, good.schedule.results)
    with pytest.raises(EngineError, match="beyond the limits"):
        verdicts.accept(problem, query(1, 2, 1), whole, "test")


def test_a_model_is_checked_against_the_values_it_is_given() -> None:
    plan = encode(ask(ring(4), all_reduce(4)), query(1, 2), "full")
    with pytest.raises(RuntimeError, match="does not satisfy"):
        plan.read([False] * plan.model.variables)


def test_unsupported_problems_are_refused() -> None:
    twice = Block((Symbol((0,), 0), Symbol((1,), 1)), (Want(0, (0,), (0, 1, 0)),))
    for operator in (SUM, SUB):
        problem = ask(ring(2), Collective("twice", (), 2, (twice,)), operator)
        with pytest.raises(UnsupportedError, match="the same value twice"):
            solve(problem, query(1, 1), budget=1)
    with pytest.raises(ValueError, match="not one of"):
        solve(ask(ring(3), all_reduce(3)), query(1, 1), budget=1, solver="guess")
    with pytest.raises(ValueError, match="needs a chunk"):
        solve(ask(ring(3), all_reduce(3)), query(0, 1), budget=1)


def test_an_operator_not_commutative_does_not_matter_to_copies(pool: Pool) -> None:
    outcome = quick(ask(ring(3), all_gather(3), SUB), query(1, 1), pool)
    assert isinstance(outcome, Found)


def test_trees_alone_never_refute(pool: Pool) -> None:
    """Two steps are too few for a tree pair on a ring of five, and enough for the full class."""
    problem = ask(ring(5), all_reduce(5))
    variants = list_variants(problem, query(1, 2))
    assert "trees" in variants
    assert variants[-1] == "full"
    for solver in ("cpsat", "z3"):
        assert isinstance(quick(problem, query(1, 2), pool, solver), Found)


def test_importing_the_engine_loads_no_solver() -> None:
    code = (
        "import sys, roundelay.synth.search, roundelay.synth.exact.engine\n"
        "print([m for m in ('z3', 'ortools', 'numpy', 'numba') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_two_threads_share_nothing(pool: Pool) -> None:
    outcomes: list[Outcome] = []

    def work() -> None:
        with Pool() as own:
            outcomes.append(quick(ask(ring(5), all_reduce(5)), query(1, 2), own))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(outcome, Found) for outcome in outcomes)


def test_threads_may_share_a_pool(pool: Pool) -> None:
    """A worker answers one thread at a time, or a verdict would be taken for another query's."""
    chosen: list[Worker] = []
    barrier = threading.Barrier(4)

    def take() -> None:
        barrier.wait()
        chosen.append(pool.take("z3"))

    takers = [threading.Thread(target=take) for _ in range(4)]
    for thread in takers:
        thread.start()
    for thread in takers:
        thread.join()
    assert len({id(one) for one in chosen}) == 4
    for one in chosen:
        pool.kill(one)

    outcomes: dict[int, Outcome] = {}

    def work(n: int) -> None:
        outcomes[n] = quick(ask(ring(n), all_reduce(n)), query(1, n // 2), pool)

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [3, 4, 5]
    for n, outcome in outcomes.items():
        assert isinstance(outcome, Found)
        assert len(outcome.schedule.problem.topology.ranks) == n


def test_what_a_worker_says_of_another_job_is_not_heard(pool: Pool) -> None:
    taken = pool.take("cpsat")
    problem = ask(complete(2), all_reduce(2))
    taken.start(Job(7, problem, query(1, 1), "full", "cpsat", 0, 20.0))
    taken.busy = 8  # As if job 7 had been given up and another one begun.
    heard: list[Started | Reply] = []
    until = time.monotonic() + 3
    with selectors.DefaultSelector() as selector:
        selector.register(taken, selectors.EVENT_READ)
        while time.monotonic() < until and len(heard) < 2 and selector.select(1.0):
            heard += taken.receive() or []
    assert heard == []
    assert taken.busy == 8
    pool.kill(taken)


# ------------------------------------------------------------------ the model and its doors


def _reader(row: Sequence[bool]) -> Callable[[int], bool]:
    return lambda literal: row[abs(literal) - 1] == (literal > 0)


def _random_model(chance: random.Random) -> Model:
    model = Model()
    names = [model.new() for _ in range(5)]
    for _ in range(chance.randint(2, 6)):
        picked = chance.sample(names, 3)
        literals = [name * chance.choice((1, -1)) for name in picked]
        kind = chance.randrange(3)
        if kind == 0:
            model.clause(*literals)
        elif kind == 1:
            model.at_most_one(literals)
        else:
            weights = [chance.choice((-3, -2, -1, 0, 1, 2, 3)) for _ in literals]
            model.at_most(zip(weights, literals, strict=True), chance.randint(-4, 4))
    return model


def test_the_doors_agree_with_a_truth_table() -> None:
    chance = random.Random(11)
    answers = set()
    for _ in range(60):
        model = _random_model(chance)
        possible = any(
            model.holds(_reader(row))
            for row in itertools.product((False, True), repeat=model.variables)
        )
        answers.add(possible)
        for values in (
            cpsat_door.decide(model, 10, 0, lambda _: None),
            cpsat_door.decide(model, 10, 0, lambda _: None, linear=True),
            z3_door.decide(model, 10, 0, lambda _: None),
            z3_door.decide(model, 10, 0, lambda _: None, finite_domain=True),
        ):
            if possible:
                assert isinstance(values, list)
                assert model.holds(_reader(values))
            else:
                assert values is False
    assert answers == {True, False}


def test_rows_with_negative_weights_mean_what_they_say() -> None:
    chance = random.Random(3)
    for _ in range(200):
        model = Model()
        names = [model.new() for _ in range(4)]
        terms = [(chance.randint(-3, 3), name * chance.choice((1, -1))) for name in names]
        limit = chance.randint(-5, 5)
        model.at_most(terms, limit)
        for row in itertools.product((False, True), repeat=4):
            value = _reader(row)
            total = sum(weight for weight, literal in terms if value(literal))
            assert model.holds(value) == (total <= limit)
