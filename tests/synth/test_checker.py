"""The schedule checker: valid schedules pass, and every way to break one is caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Link,
    Operator,
    Problem,
    Rank,
    Switch,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from roundelay.synth.checker import ScheduleError, check
from roundelay.synth.schedule import Got, Own, Part, Result, Schedule, Send
from roundelay.synth.timeline import price

GB = Fraction(10**9)
US = Fraction(1, 10**6)
SUM = Operator(
    "sum", scalar_body(Apply("add", (Variable(0), Variable(1)))), Fraction(0), commutative=True
)
MAX = Operator("max", scalar_body(Apply("max", (Variable(0), Variable(1)))), None, True, True)
FIRST = Operator("first", scalar_body(Variable(0)), None, commutative=False, idempotent=True)


def ring(n: int) -> Topology:
    links = []
    for i in range(n):
        links.append(Link(i, (i + 1) % n, 1, 10 * GB, US))
        links.append(Link((i + 1) % n, i, 1, 10 * GB, US))
    return Topology("ring", tuple(Rank(f"r[{i}]") for i in range(n)), (), tuple(links))


def all_reduce(topology: Topology, operator: Operator) -> Problem:
    n = len(topology.ranks)
    everything = tuple(range(n))
    block = Block(
        tuple(Symbol((i,), i) for i in everything),
        tuple(Want(i, (i,), everything) for i in everything),
    )
    return Problem(topology, Collective("all_reduce", (operator.name,), n, (block,)), operator)


def classic(n: int, operator: Operator = SUM) -> Schedule:
    """The ring: n chunks, n - 1 steps of reducing, n - 1 steps of copying."""
    problem = all_reduce(ring(n), operator)
    sends: list[Send] = []
    last: dict[tuple[int, int], int] = {}
    for step in range(2 * (n - 1)):
        fresh: dict[tuple[int, int], int] = {}
        for r in range(n):
            reducing = step < n - 1
            chunk = (r - step) % n if reducing else (r + 1 - (step - (n - 1))) % n
            parts: tuple[Part, ...]
            if step == 0:
                parts = (Own(r),)
            elif step <= n - 1:
                parts = (Got(last[r, chunk]), Own(r))
            else:
                parts = (Got(last[r, chunk]),)
            fresh[(r + 1) % n, chunk] = len(sends)
            sends.append(Send(step, chunk, r, (r + 1) % n, (2 * r,), parts))
        last.update(fresh)
    results = []
    for chunk in range(n):
        for r in range(n):
            owner = (chunk - 1) % n  # Where the reduction of this chunk ended.
            parts = (Got(last[r, chunk]),)
            if r == owner:
                arrived = next(
                    i for i, s in enumerate(sends)
                    if s.dst == r and s.chunk == chunk and s.step == n - 2
                )  # fmt: skip
                parts = (Got(arrived), Own(r))
            results.append(Result(chunk, r, parts))
    return Schedule(problem, n, 2 * (n - 1), tuple(sends), tuple(results))


def gossip() -> Schedule:
    """Two ranks that exchange and merge: one step."""
    problem = all_reduce(ring(3), SUM)
    sends = tuple(
        Send(0, 0, i, j, (k,), (Own(i),))
        for i, j, k in [(0, 1, 0), (1, 0, 1), (1, 2, 2), (2, 1, 3), (2, 0, 4), (0, 2, 5)]
    )
    results = (
        Result(0, 0, (Own(0), Got(1), Got(4))),
        Result(0, 1, (Got(0), Own(1), Got(3))),
        Result(0, 2, (Got(5), Got(2), Own(2))),
    )
    return Schedule(problem, 1, 1, sends, results)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_ring_is_accepted_and_priced(n: int) -> None:
    schedule = classic(n)
    verdict = check(schedule)
    assert verdict.rounds == 2 * (n - 1)
    assert verdict.unused == ()
    cost = price(schedule)
    assert cost.latency == 2 * (n - 1) * US
    assert cost.per_byte == Fraction(2 * (n - 1), n) / (10 * GB)
    assert cost.rounds == verdict.rounds


def test_direct_exchange_is_accepted() -> None:
    assert check(gossip()).rounds == 1


def refused(schedule: Schedule) -> tuple[str, ...]:
    with pytest.raises(ScheduleError) as caught:
        check(schedule)
    return caught.value.violations


def renumbered(schedule: Schedule, gone: int) -> Schedule:
    """The schedule without one message; what used it keeps its other parts."""

    def parts(old: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(
            Got(p.send - (p.send > gone)) if isinstance(p, Got) else p
            for p in old
            if not (isinstance(p, Got) and p.send == gone)
        )

    sends = [replace(s, parts=parts(s.parts)) for i, s in enumerate(schedule.sends) if i != gone]
    results = [replace(r, parts=parts(r.parts)) for r in schedule.results]
    return replace(schedule, sends=tuple(sends), results=tuple(results))


def with_send(schedule: Schedule, number: int, send: Send) -> Schedule:
    sends = list(schedule.sends)
    sends[number] = send
    return replace(schedule, sends=tuple(sends))


SCHEDULES = [classic(3), classic(4), classic(5, MAX), gossip()]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_dropped_message_is_missed(schedule: Schedule) -> None:
    for number in range(len(schedule.sends)):
        assert refused(renumbered(schedule, number))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_redirected_message_is_caught(schedule: Schedule) -> None:
    n = len(schedule.problem.topology.ranks)
    for number, send in enumerate(schedule.sends):
        for rank in range(-1, n + 1):
            if rank != send.dst:
                assert refused(with_send(schedule, number, replace(send, dst=rank)))
            if rank != send.src:
                assert refused(with_send(schedule, number, replace(send, src=rank)))
        for link in range(-1, len(schedule.problem.topology.links) + 1):
            if (link,) != send.route:
                assert refused(with_send(schedule, number, replace(send, route=(link,))))
        assert refused(with_send(schedule, number, replace(send, route=())))
        assert refused(with_send(schedule, number, replace(send, route=send.route * 2)))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_wrong_chunk_or_step_is_caught_or_harmless(schedule: Schedule) -> None:
    chunks = schedule.chunks
    for number, send in enumerate(schedule.sends):
        for chunk in range(-1, chunks + 1):
            if chunk != send.chunk:
                assert refused(with_send(schedule, number, replace(send, chunk=chunk)))
        for step in range(-1, schedule.steps + 1):
            if step == send.step:
                continue
            moved = with_send(schedule, number, replace(send, step=step))
            try:
                check(moved)
            except ScheduleError:
                continue
            # Accepted: then sending it then is possible, for its parts are there and its uses wait.
            assert 0 <= step < schedule.steps
            uses = [s.step for s in moved.sends if Got(number) in s.parts]
            assert all(step < use for use in uses)
            got = [moved.sends[p.send].step for p in send.parts if isinstance(p, Got)]
            assert all(arrival < step for arrival in got)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_duplicated_message_is_harmless_but_unused_and_loads_its_link(schedule: Schedule) -> None:
    last = len(schedule.sends) - 1
    doubled = replace(schedule, sends=(*schedule.sends, schedule.sends[last]))
    before, after = check(schedule), check(doubled)
    assert after.unused == (last + 1,)
    assert sum(map(sum, after.loads)) == sum(map(sum, before.loads)) + 1


@pytest.mark.parametrize("schedule", SCHEDULES[:2])
def test_every_doubled_contribution_is_caught_for_sums(schedule: Schedule) -> None:
    for number, send in enumerate(schedule.sends):
        for part in send.parts:
            assert refused(with_send(schedule, number, replace(send, parts=(*send.parts, part))))
    for number, result in enumerate(schedule.results):
        results = list(schedule.results)
        results[number] = replace(result, parts=(*result.parts, result.parts[0]))
        assert refused(replace(schedule, results=tuple(results)))


def test_overlap_is_legal_for_idempotent_operators() -> None:
    schedule = classic(5, MAX)
    doubled = [replace(s, parts=(*s.parts, s.parts[0])) for s in schedule.sends]
    check(replace(schedule, sends=tuple(doubled)))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_missing_foreign_or_repeated_part_of_a_result_is_caught(schedule: Schedule) -> None:
    for number, result in enumerate(schedule.results):
        for wrong in (
            replace(result, parts=result.parts[:-1]),
            replace(result, parts=()),
            replace(result, chunk=result.chunk + schedule.chunks),
            replace(result, want=len(schedule.problem.topology.ranks)),
            replace(result, want=(result.want + 1) % 3),
            replace(result, parts=(*result.parts, Got(len(schedule.sends)))),
            replace(result, parts=(*result.parts, Own(99))),
        ):
            results = list(schedule.results)
            results[number] = wrong
            assert refused(replace(schedule, results=tuple(results)))
        assert refused(replace(schedule, results=schedule.results[:number]))
    assert refused(replace(schedule, results=(*schedule.results, schedule.results[0])))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_messages_out_of_their_order_are_caught(schedule: Schedule) -> None:
    if schedule.steps > 1:
        assert refused(replace(schedule, sends=schedule.sends[::-1]))


def test_order_matters_without_commutativity() -> None:
    right = replace(gossip(), problem=all_reduce(ring(3), FIRST))
    check(right)
    results = (Result(0, 0, (Got(1), Own(0), Got(4))), *right.results[1:])
    assert "made of x[1] x[0] x[2]" in refused(replace(right, results=results))[0]


def test_a_repeat_counts_unless_the_operator_commutes_too() -> None:
    """x0 x1 x0 is neither x0 x1 nor x1 x0, even where x0 x0 is x0."""
    right = replace(gossip(), problem=all_reduce(ring(3), FIRST))
    for parts in ((Own(0), Own(0), Got(1), Got(4)), (Own(0), Got(1), Got(4), Own(0))):
        results = (Result(0, 0, parts), *right.results[1:])
        assert "x[0] counts 2 times" in refused(replace(right, results=results))[0]


def test_a_route_passes_switches_only() -> None:
    line = Topology(
        "line",
        (Rank("a"), Rank("b"), Rank("c")),
        (Switch("s"),),
        tuple(
            Link(i, j, 1, GB, US)
            for i, j in [(0, 3), (3, 1), (0, 2), (2, 1), (1, 3), (3, 2), (1, 2)]
        ),
    )
    wants = (Want(1, (1,), (0,)),)
    problem = Problem(line, Collective("c", (), 3, (Block((Symbol((0,), 0),), wants),)), None)
    send = Send(0, 0, 0, 1, (0, 1), (Own(0),))
    schedule = Schedule(problem, 1, 1, (send,), (Result(0, 0, (Got(0),)),))
    assert check(schedule).loads == ((1, 1, 0, 0, 0, 0, 0),)
    assert price(schedule).latency == 2 * US
    assert "no switch" in refused(with_send(schedule, 0, replace(send, route=(2, 3))))[0]
    assert "breaks" in refused(with_send(schedule, 0, replace(send, route=(0, 3))))[0]
    assert "ends at" in refused(with_send(schedule, 0, replace(send, route=(0, 5))))[0]
    assert "merges" in refused(
        replace(schedule, results=(Result(0, 0, (Got(0), Got(0))),))
    )[0]  # fmt: skip


def test_unequal_links_make_fractional_rounds() -> None:
    links = (Link(0, 1, 2, 5 * GB, US), Link(1, 0, 1, 15 * GB, 2 * US))
    topology = Topology("pair", (Rank("a"), Rank("b")), (), links)
    problem = all_reduce(topology, SUM)
    sends = (Send(0, 0, 0, 1, (0,), (Own(0),)), Send(0, 0, 1, 0, (1,), (Own(1),)))
    results = (Result(0, 0, (Own(0), Got(1))), Result(0, 1, (Got(0), Own(1))))
    schedule = Schedule(problem, 1, 1, sends, results)
    assert check(schedule).rounds == Fraction(1, 2)
    assert price(schedule).per_byte == Fraction(1, 10) / GB
    assert price(schedule).latency == 2 * US


def test_symbols_of_another_block_are_named_as_a_fault() -> None:
    """A part of a larger block's chunk has symbols that the smaller block lacks."""
    ranks = (Rank("a"), Rank("b"))
    links = (Link(0, 1, 1, Fraction(1), Fraction(0)),)
    large = Block(tuple(Symbol((0, i), 0) for i in range(3)), (Want(1, (1,), (0, 1, 2)),))
    small = Block((Symbol((1, 0), 0),), (Want(1, (2,), (0,)),))
    problem = Problem(
        Topology("pair", ranks, (), links), Collective("two", (), 2, (large, small)), SUM
    )
    sends = (
        Send(0, 0, 0, 1, (0,), (Own(0), Own(1), Own(2))),
        Send(0, 1, 0, 1, (0,), (Own(0),)),
    )
    results = (Result(0, 0, (Got(0),)), Result(1, 0, (Got(1),)))
    right = Schedule(problem, 1, 1, sends, results)
    check(right)
    for parts in ((Got(0),), (Got(0), Got(1)), (Got(0), Got(0))):
        crossed = refused(replace(right, results=(results[0], Result(1, 0, parts))))
        assert any("message 0 carries chunk 0, not chunk 1" in fault for fault in crossed)
