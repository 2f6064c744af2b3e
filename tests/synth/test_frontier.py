"""The frontier: its points against values by hand and by exhaustive search, and its walk."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Limits, Topology
from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.checker import check
from roundelay.synth.exact import engine
from roundelay.synth.frontier import walk
from roundelay.synth.frontier.chart import Asked, Kept
from roundelay.synth.frontier.envelope import share_sizes
from roundelay.synth.frontier.explorer import explore
from roundelay.synth.frontier.ledger import Ledger
from roundelay.synth.frontier.store import Store
from roundelay.synth.schedule import ANY_ROUNDS, Cost, Found, GaveUp, Impossible, Query
from roundelay.synth.timeline import price

from .brute import fewest_rounds
from .problems import (
    MAX,
    all_gather,
    all_reduce,
    ask,
    complete,
    dgx1,
    line,
    machine,
    ring,
    switched,
)

if TYPE_CHECKING:
    from pathlib import Path

    from roundelay.dsl.model import Problem
    from roundelay.synth.frontier.chart import Chart
    from roundelay.synth.schedule import Outcome

Spot = tuple[int, int, Fraction | int, str]


def chart_of(problem: Problem, budget: float = 20) -> Chart:
    """A chart, of which every schedule has been judged again."""
    chart = explore(problem, budget=budget)
    rates = [point.kept.cost.per_byte for point in chart.points]
    assert rates == sorted(set(rates), reverse=True)
    for point in chart.points:
        verdict = check(point.kept.schedule)
        assert verdict.rounds == point.kept.cost.rounds
        assert point.kept.cost == price(point.kept.schedule)
        assert point.kept.cost.per_byte >= chart.bound.per_byte
    return chart


def spots(chart: Chart) -> list[Spot]:
    """Chunks, steps, rounds and proof of every point."""
    return [
        (point.kept.schedule.chunks, point.kept.schedule.steps, point.kept.cost.rounds, point.proof)
        for point in chart.points
    ]


def by_steps(chart: Chart) -> dict[int, tuple[Fraction, str]]:
    """Rounds a chunk and proof of every point."""
    return {steps: (Fraction(rounds) / chunks, why) for chunks, steps, rounds, why in spots(chart)}


def within(chunks: tuple[int, int], steps: tuple[int, int]) -> Limits:
    return Limits(chunks=chunks, steps=steps)


# ------------------------------------------------------------------------------- by hand


def test_a_complete_machine_has_two_points() -> None:
    """In one step each rank hears each other one out, a round a chunk. In two it reduces and
    gathers a quarter of the chunks each: N - 1 = 3 trees on 6 pairs of links, so half a round.
    """
    chart = chart_of(ask(complete(4), all_reduce(4), limits=within((1, 4), (1, 3))))
    assert by_steps(chart) == {1: (1, "counts"), 2: (Fraction(1, 2), "bound")}
    assert chart.settled
    assert all(row.complete for row in chart.rows)


def test_a_line_pipelines() -> None:
    """All chunks must leave an end before the last step and reach the other after the first one:
    in two steps 2 rounds a chunk, in three the first half of them meets the second: 3/2.
    """
    chart = chart_of(ask(line(3), all_reduce(3), limits=within((1, 2), (2, 3))))
    assert spots(chart) == [(1, 2, 2, "counts"), (2, 3, 3, "counts")]
    assert chart.settled
    assert [point.wins for point in chart.points][-1] is not None


def test_a_ring_reaches_its_bound() -> None:
    """A ring of 4 moves N / (N - 1) of a link's bandwidth: 3 rounds for 4 chunks."""
    chart = chart_of(ask(ring(4), all_reduce(4), limits=within((1, 4), (1, 6))))
    assert by_steps(chart) == {2: (1, "counts"), 3: (Fraction(3, 4), "bound")}
    assert [row.steps for row in chart.rows] == [2, 3, 4, 5, 6]
    assert all(row.proof == "bound" for row in chart.rows[1:])


def test_nothing_to_move_is_one_point() -> None:
    chart = chart_of(ask(machine("one", 1, []), all_reduce(1)))
    assert [(point.kept.schedule.steps, point.proof) for point in chart.points] == [(0, "bound")]
    assert chart.points[0].wins == (1, None)


@pytest.mark.parametrize(
    "problem",
    [
        ask(ring(3), all_reduce(3)),
        ask(ring(3), all_reduce(3), MAX),
        ask(line(3), all_reduce(3)),
        ask(ring(3), all_gather(3)),
        ask(line(3), all_gather(3)),
        ask(machine("fast", 3, [(0, 1, 2), (1, 2, 1), (0, 2, 1)]), all_reduce(3)),
    ],
    ids=lambda problem: f"{problem.topology.name} {problem.collective.name}",
)
def test_points_are_what_exhaustive_search_finds(problem: Problem) -> None:
    """Two chunks at most: every chunk count of one and two steps is tried in full."""
    limited = ask(problem.topology, problem.collective, problem.operator, within((1, 2), (1, 2)))
    chart = chart_of(limited)
    for row in chart.rows:
        each = [
            rounds / chunks
            for chunks in (1, 2)
            for steps in range(1, row.steps + 1)
            if (rounds := fewest_rounds(problem, chunks, steps)) is not None
        ]
        found = row.best and row.best.cost.rounds / row.best.schedule.chunks
        assert found == min(each, default=None)
        assert row.proof in ("bound", "counts")
    assert chart.settled


# ------------------------------------------------------------------------------- the sizes


def test_sizes_are_shared_as_evaluation_on_every_size_says() -> None:
    random = Random(3)
    for _ in range(60):
        slopes = sorted(random.sample(range(1, 40), random.randint(1, 5)), reverse=True)
        costs = [
            Cost(Fraction(random.randint(0, 90), random.randint(1, 3)), Fraction(b, 7), Fraction(b))
            for b in slopes
        ]
        shares = share_sizes(costs)
        for size in range(1, 700):
            times = [cost.at(size) for cost in costs]
            first = times.index(min(times))
            for i, share in enumerate(shares):
                inside = share is not None and share[0] <= size and size <= (share[1] or size)
                assert inside == (i == first), (size, costs)


def test_a_tie_goes_to_fewer_steps() -> None:
    few = Cost(Fraction(2), Fraction(3), Fraction(1))
    many = Cost(Fraction(12), Fraction(1), Fraction(1))  # As quick at 5 bytes, quicker from 6 on.
    assert share_sizes([few, many]) == [(1, 5), (6, None)]


def test_without_latency_the_least_bytes_win_everywhere() -> None:
    costs = [Cost(Fraction(0), Fraction(b), Fraction(b)) for b in (3, 2, 1)]
    assert share_sizes(costs) == [None, None, (1, None)]


def test_costs_out_of_order_are_refused() -> None:
    costs = [Cost(Fraction(0), Fraction(b), Fraction(b)) for b in (1, 2)]
    with pytest.raises(ValueError, match="order"):
        share_sizes(costs)


# ------------------------------------------------------------------------------- the ledger


def ledger_of(problem: Problem) -> Ledger:
    return Ledger(problem, bound(problem))


def test_the_links_are_looked_at_once_not_once_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ask(ring(8), all_reduce(8))
    limit = bound(problem)
    real: property = vars(Topology)["slowest"]
    asked = []

    def count(topology: Topology) -> object:
        asked.append(topology)
        return real.__get__(topology)

    monkeypatch.setattr(Topology, "slowest", property(count))
    assert Ledger(problem, limit).grain == 1
    assert len(asked) == 1


def refuted(chunks: int, steps: int, rounds: int, *, complete: bool = True) -> Asked:
    return Asked(
        Query(chunks, steps, Fraction(rounds)), "impossible", 1.0, "exact (X)", "", complete
    )


@pytest.mark.parametrize(
    ("query", "follows"),
    [
        ((4, 3, 7), True),
        ((4, 2, 6), True),  # Fewer steps, fewer rounds.
        ((4, 4, 7), False),
        ((4, 3, 8), False),
        ((5, 3, 7), True),  # Leave one chunk out.
        ((2, 3, 3), True),  # Twice: 4 chunks in 6 rounds.
        ((2, 3, 4), False),
        ((3, 3, 3), True),  # Twice, without two: 4 chunks in 6 rounds.
        ((3, 3, 4), False),
        ((1, 3, 1), True),
        ((1, 3, 2), False),
    ],
)
def test_a_refutation_refutes_others(query: tuple[int, int, int], follows: bool) -> None:
    ledger = ledger_of(ask(ring(4), all_reduce(4)))
    ledger.note(refuted(4, 3, 7))
    chunks, steps, rounds = query
    entry = ledger.refuter(chunks, steps, Fraction(rounds))
    assert (entry is not None) == follows
    lowest = ledger.lowest_open(chunks, steps, 1.0, quick=False)
    assert (rounds < lowest) == follows or rounds < ledger.lowest(chunks)


def test_what_was_tried_long_enough_is_not_tried_again() -> None:
    ledger = ledger_of(ask(ring(8), all_reduce(8)))
    query = Query(4, 6, Fraction(5))
    ledger.note(Asked(query, "open", 2.0, limit=2.0))
    ledger.note(Asked(query, "open", 9.0, glance=9.0))
    assert ledger.lowest_open(4, 6, 2.0, quick=False) == 6
    assert ledger.lowest_open(4, 5, 2.0, quick=False) == 6  # In fewer steps it is no easier.
    assert ledger.lowest_open(4, 7, 2.0, quick=False) == 4
    assert ledger.lowest_open(4, 6, 4.0, quick=False) == 4
    assert ledger.lowest_open(4, 6, 9.0, quick=True) == 6
    assert ledger.asked[query].seconds == 11.0


def test_what_found_no_memory_is_tried_again_by_the_next_run() -> None:
    problem = ask(ring(8), all_reduce(8))
    query, late = Query(4, 6, Fraction(5)), Query(4, 6, Fraction(4))
    earlier = (
        Asked(query, "open", 2.0, "", "out of memory: Z3 had 50 MiB", limit=2.0, glance=2.0),
        Asked(late, "open", 2.0, "", "out of time", limit=2.0),
    )
    ledger = ledger_of(problem)
    ledger.merge(earlier, ())
    assert ledger.lowest_open(4, 6, 2.0, quick=False) == 5
    assert not ledger.tried(ledger.asked[query], 0.1, quick=True)
    assert ledger.tried(ledger.asked[late], 2.0, quick=False)
    ledger.note(earlier[0])  # In this run there is no more memory than there was.
    ledger.merge(earlier, ())
    assert ledger.lowest_open(4, 6, 2.0, quick=False) == 6


def test_incomplete_proofs_say_so_and_give_way_to_complete_ones() -> None:
    ledger = ledger_of(ask(ring(4), all_reduce(4)))
    ledger.note(refuted(4, 3, 7, complete=False))
    entry = ledger.refuter(4, 3, Fraction(3))
    assert entry is not None
    assert not entry.complete
    ledger.note(refuted(5, 3, 5))
    entry = ledger.refuter(4, 3, Fraction(3))
    assert entry is None or not entry.complete  # 5 chunks in 5 rounds say nothing of 4 in 3 ...
    entry = ledger.refuter(5, 3, Fraction(5))
    assert entry is not None
    assert entry.complete


# ------------------------------------------------------------------------------- the walk


class Oracle:
    """A ledger of one chunk and step count, in which all from ``threshold`` rounds up exists."""

    def __init__(self, grain: Fraction, threshold: Fraction, first: Fraction) -> None:
        self.grain, self.threshold, self.high = grain, threshold, first
        self.low = grain
        self.limit = SimpleNamespace(per_byte=Fraction(0))
        self.queries = 0

    def best(self, _steps: int) -> SimpleNamespace:
        return SimpleNamespace(cost=SimpleNamespace(per_byte=self.high))

    def rounds_to_win(self, _chunks: int, _steps: int) -> Fraction:
        return self.high - self.grain

    def lowest_open(self, *_: object, quick: bool) -> Fraction:
        del quick
        return self.low

    def answer(self, query: Query, *_: object, quick: bool) -> Outcome:
        """What is found is as bad as may be, and what is refuted refutes nothing else."""
        del quick
        assert self.low <= query.rounds < self.high
        assert query.rounds % self.grain == 0
        self.queries += 1
        if query.rounds >= self.threshold:
            self.high = query.rounds
            return Found(None, None, "")  # type: ignore[arg-type]
        self.low = query.rounds + self.grain
        return Impossible(None, "")  # type: ignore[arg-type]


@pytest.mark.parametrize("grains", [1, 2, 3, 99, 413_700_001, 999_999_999, 1_000_000_000])
def test_many_grains_take_few_queries(grains: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 1 round of a thousand million grains down to any number of them: 100 strides of a
    hundredth at most, which get longer, and two queries for each halving of what is left.
    """
    grain = Fraction(1, 10**9)
    oracle = Oracle(grain, grains * grain, Fraction(1))
    monkeypatch.setattr(walk.Walk, "ask", lambda _, *args, quick: oracle.answer(*args, quick=quick))
    clock = SimpleNamespace(left=lambda: 60.0)
    one = walk.Walk(
        oracle, None, range(7, 8), (1,), 0, "race", 1, clock, 1.0, None, print, False  # type: ignore[arg-type]
    )  # fmt: skip
    one._tighten(1, 7, 1)
    assert oracle.high == oracle.threshold
    assert oracle.low == oracle.threshold
    assert oracle.queries <= 200


def test_nothing_is_asked_twice_nor_below_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = ask(ring(4), all_reduce(4), limits=within((1, 4), (1, 4)))
    asked: list[tuple[Query, bool]] = []
    real = engine.solve

    def solve(problem: Problem, query: Query, **options: object) -> object:
        outcome = real(problem, query, **options)  # type: ignore[arg-type]
        asked.append((query, isinstance(outcome, GaveUp)))
        return outcome

    monkeypatch.setattr(walk, "solve", solve)
    told: list[str] = []
    first = explore(problem, budget=40, store=Store(tmp_path, problem, told.append))
    limit = bound(problem)
    assert first.settled
    assert first.queries == len(asked)
    refuted = [entry.query for entry in first.asked if entry.verdict == "impossible"]
    for number, (query, _) in enumerate(asked):
        assert query.steps >= limit.steps
        assert query.rounds >= query.chunks * limit.rounds
        assert (query, False) not in asked[:number]
    for query in refuted:  # Those asked later do not follow from those asked before.
        place = asked.index((query, False))
        for earlier in [each for each, unanswered in asked[:place] if not unanswered]:
            follows = earlier.chunks == query.chunks and earlier.steps >= query.steps
            assert not (earlier in refuted and follows and earlier.rounds >= query.rounds)
    asked.clear()
    again = explore(problem, budget=20, store=Store(tmp_path, problem, told.append))
    assert asked == []
    assert told == []
    assert again.settled
    assert again.resumed
    assert [(row.steps, row.proof) for row in again.rows] == [
        (row.steps, row.proof) for row in first.rows
    ]
    assert [point.kept.found for point in again.points] == [
        point.kept.found for point in first.points
    ]


def test_an_interruption_keeps_what_there_is(tmp_path: Path) -> None:
    problem = ask(ring(4), all_reduce(4), limits=within((1, 3), (1, 4)))
    heard: list[str] = []

    def stop(text: str) -> None:
        heard.append(text)
        if len(heard) == 2:
            raise KeyboardInterrupt

    cut = explore(problem, budget=30, store=Store(tmp_path, problem, print), on_progress=stop)
    assert cut.interrupted
    assert not cut.settled
    assert cut.points
    answered = {entry.query for entry in cut.asked if entry.verdict != "open"}
    rest = explore(problem, budget=60, store=Store(tmp_path, problem, print))
    assert rest.resumed == len(answered)
    assert rest.settled
    whole = explore(problem, budget=60)
    assert [(row.steps, row.best and row.best.cost.per_byte) for row in rest.rows] == [
        (row.steps, row.best and row.best.cost.per_byte) for row in whole.rows
    ]


def test_one_job_does_the_same_again() -> None:
    problem = ask(ring(4), all_reduce(4), limits=within((1, 4), (1, 4)))
    first, second = (explore(problem, budget=40, seed=5, jobs=1) for _ in range(2))
    assert [point.kept.schedule for point in first.points] == [
        point.kept.schedule for point in second.points
    ]
    assert [(e.query, e.verdict, e.engine) for e in first.asked] == [
        (e.query, e.verdict, e.engine) for e in second.asked
    ]


def test_a_budget_is_kept_and_worth_something() -> None:
    """Even before a solver has started there are points from few steps to more bandwidth."""
    chart = explore(ask(dgx1(), all_reduce(8)), budget=1)
    assert chart.seconds < 3
    assert chart.points[0].kept.schedule.steps == 2
    assert len(chart.points) > 1
    assert not chart.settled


def test_steps_below_the_distance_are_refused_by_it() -> None:
    chart = explore(ask(ring(8), all_reduce(8), limits=Limits(steps=(3, 3))))
    assert chart.refused is not None
    assert (chart.refused.kind, chart.points, chart.queries) == ("distance", (), 0)


def test_rounds_below_the_bound_are_refused_by_it() -> None:
    chart = explore(ask(ring(8), all_reduce(8), limits=Limits(chunks=(4, 8), rounds=Fraction(3))))
    assert chart.refused is not None
    assert (chart.refused.kind, chart.queries) == ("partition", 0)


def test_a_range_without_a_schedule_is_refused_by_search() -> None:
    limits = Limits(chunks=(2, 3), steps=(1, 1), rounds=Fraction(1))
    chart = explore(ask(complete(4), all_reduce(4), limits=limits), budget=20)
    assert chart.refused is not None
    assert chart.refused.kind == "search"
    assert chart.settled
    assert [(row.best, row.proof) for row in chart.rows] == [(None, "counts")]


def test_a_limit_on_the_rounds_holds() -> None:
    limits = Limits(chunks=(1, 4), steps=(1, 4), rounds=Fraction(2))
    chart = chart_of(ask(ring(4), all_reduce(4), limits=limits))
    assert spots(chart) == [(2, 2, 2, "counts")]


def test_a_schedule_of_few_chunks_serves_a_range_that_begins_higher() -> None:
    problem = ask(line(3), all_reduce(3), limits=within((3, 3), (2, 2)))
    chart = chart_of(problem)
    assert spots(chart) == [(3, 2, 6, "counts")]


def test_symmetric_schedules_alone_are_not_charted() -> None:
    with pytest.raises(UnsupportedError, match="symmetric"):
        explore(ask(ring(4), all_reduce(4), limits=Limits(symmetric=True)))


def test_a_query_that_stays_open_leaves_its_step_count_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were every solver silent on one query, no proof that needs it could be claimed."""
    problem = ask(line(3), all_reduce(3), limits=within((1, 2), (2, 3)))
    real = engine.solve

    def solve(problem: Problem, query: Query, **options: object) -> Found | Impossible | GaveUp:
        if query.chunks == 2 and query.steps == 3 and query.rounds < ANY_ROUNDS:
            return GaveUp("silent", "exact")
        return real(problem, query, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(walk, "solve", solve)
    chart = explore(problem, budget=5)
    assert not chart.settled
    assert chart.rows[-1].proof in ("open", "count")


def test_worse_schedules_are_forgotten() -> None:
    problem = ask(switched(4), all_reduce(4))
    chart = explore(ask(switched(4), all_reduce(4), limits=within((1, 2), (1, 3))), budget=3)
    ledger = ledger_of(problem)
    kept = [Kept(point.kept.found, 1.0) for point in chart.points]
    for each in (*kept, *kept):
        ledger.keep(each)
    by_chunks: dict[int, list[Kept]] = {}
    for (chunks, _), each in sorted(ledger.kept.items()):
        by_chunks.setdefault(chunks, []).append(each)
    for several in by_chunks.values():
        rounds = [each.cost.rounds for each in several]
        assert rounds == sorted(set(rounds), reverse=True)
