"""Schedules by hand: known algorithms come out as they should, and every slip is named."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Handwritten, Move, Operator, Symbol, Want
from roundelay.dsl.source import Fault, InputError, Source, Span
from roundelay.synth.by_hand import arrange, judge
from roundelay.synth.checker import check
from roundelay.synth.schedule import Found, Got, Own

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
    line,
    machine,
    reduce,
    reduce_scatter,
    ring,
    scan,
    switched,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.schedule import Answer

TEXT = Source("by_hand.rly", "schedule\n" + "".join(f"send {i}\n" for i in range(99)))
WHOLE = Span(TEXT, 0, 8)
LEFT = Operator("left", SUM.body, idempotent=True)
REDUCE, COPY = True, False


def by_hand(problem: Problem, chunks: int, moves: Iterable[Move], steps: int = 0) -> Handwritten:
    listed = tuple(moves)
    last = max((move.step for move in listed), default=-1)
    return Handwritten("mine", problem, chunks, steps or last + 1, listed, WHOLE)


def spelt(*moves: tuple[int, int, int, int, bool]) -> tuple[Move, ...]:
    """Moves as (step, chunk, src, dst, reduce), each with a line of the text as its span."""
    starts = TEXT.starts
    return tuple(
        Move(*move, span=Span(TEXT, starts[i + 1], starts[i + 2] - 1))
        for i, move in enumerate(moves)
    )


def found(answer: Answer) -> Found:
    assert isinstance(answer.outcome, Found)
    check(answer.outcome.schedule)
    assert answer.outcome.cost.per_byte >= answer.bound.per_byte
    assert answer.outcome.schedule.steps >= answer.bound.steps
    return answer.outcome


def faults(given: Handwritten) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        arrange(given)
    return caught.value.faults


def around(n: int, way: int = 1, first: int = 0) -> list[Move]:
    """The ring all-reduce of n chunks in one direction."""
    moves = []
    for step in range(2 * (n - 1)):
        for r in range(n):
            chunk = first + (r - way * step) % n
            moves.append(Move(step, chunk, r, (r + way) % n, step < n - 1))
    return moves


# ------------------------------------------------------------------ known algorithms


@pytest.mark.parametrize("n", [3, 4, 8])
@pytest.mark.parametrize("operator", [SUM, MAX], ids=["sum", "max"])
def test_ring(n: int, operator: Operator) -> None:
    outcome = found(judge(by_hand(ask(ring(n), all_reduce(n), operator), n, around(n))))
    assert outcome.engine == "by hand"
    assert (outcome.schedule.steps, outcome.schedule.chunks) == (2 * (n - 1), n)
    assert outcome.cost.rounds == 2 * (n - 1)
    assert check(outcome.schedule).unused == ()


def test_two_rings_at_once_meet_the_bound() -> None:
    moves = around(4) + around(4, way=-1, first=4)
    answer = judge(by_hand(ask(ring(4), all_reduce(4)), 8, moves))
    assert found(answer).cost.rounds == 6
    assert answer.proved
    assert not judge(by_hand(ask(ring(4), all_reduce(4)), 4, around(4))).proved


@pytest.mark.parametrize("topology", [complete(8), switched(8)], ids=["complete", "switch"])
def test_recursive_halving_and_doubling(topology: Topology) -> None:
    """In step t of three, partners whose numbers differ in bit t halve what they reduce."""
    moves: list[Move] = []
    mine = {r: set(range(8)) for r in range(8)}
    for step in range(3):
        for r in range(8):
            other = r ^ (1 << step)
            keep = {c for c in mine[r] if c >> step & 1 == r >> step & 1}
            moves += [Move(step, c, r, other, REDUCE) for c in sorted(mine[r] - keep)]
        for r in range(8):
            mine[r] = {c for c in mine[r] if c >> step & 1 == r >> step & 1}
    for step in range(3):
        bit = 2 - step
        before = {r: set(held) for r, held in mine.items()}
        for r in range(8):
            other = r ^ (1 << bit)
            moves += [Move(3 + step, c, r, other, COPY) for c in sorted(before[r])]
            mine[other] |= before[r]
    answer = judge(by_hand(ask(topology, all_reduce(8)), 8, moves))
    assert found(answer).cost.rounds == 14
    assert answer.proved == bool(topology.switches)


@pytest.mark.parametrize("operator", [SUM, MAX, SUB, LEFT], ids=lambda op: op.name)
def test_one_shot_over_a_switch_in_any_order_of_moves(operator: Operator) -> None:
    moves = [Move(0, 0, i, j, REDUCE) for i in range(5) for j in range(5) if i != j]
    random.Random(3).shuffle(moves)
    outcome = found(judge(by_hand(ask(switched(5), all_reduce(5), operator), 1, moves)))
    assert outcome.cost.rounds == 4
    sends = outcome.schedule.sends
    for result in outcome.schedule.results:
        merged = [p.symbol if isinstance(p, Own) else sends[p.send].src for p in result.parts]
        if operator.commutative:
            others = [move.src for move in moves if move.dst == result.want]
            assert merged == [result.want, *others]
        else:
            assert merged == [0, 1, 2, 3, 4]


def test_all_gather_all_to_all_broadcast_and_scan() -> None:
    gather = [Move(0, i, i, j, COPY) for i in range(4) for j in range(4) if i != j]
    assert found(judge(by_hand(ask(complete(4), all_gather(4)), 1, gather))).cost.rounds == 1
    exchange = [Move(0, 4 * i + j, i, j, COPY) for i in range(4) for j in range(4) if i != j]
    assert found(judge(by_hand(ask(complete(4), all_to_all(4)), 1, exchange))).cost.rounds == 1
    chain = [Move(i, 0, i, i + 1, COPY) for i in range(4)]
    assert found(judge(by_hand(ask(line(5), broadcast(5)), 1, chain))).schedule.steps == 4
    prefix = [Move(i, 0, i, i + 1, REDUCE) for i in range(4)]
    for operator in (SUM, SUB):
        found(judge(by_hand(ask(line(5), scan(5), operator), 1, prefix)))


def test_reduce_scatter_has_a_block_for_every_rank() -> None:
    moves = [Move(0, 2 * j + c, i, j, REDUCE) for i in range(3) for j in range(3) for c in range(2)
             if i != j]  # fmt: skip
    outcome = found(judge(by_hand(ask(ring(3), reduce_scatter(3), SUB), 2, moves)))
    assert outcome.cost.rounds == 2


def test_a_step_reads_what_was_there_before_it() -> None:
    """Two ranks exchange in one step: neither sends on what just arrived."""
    problem = ask(complete(2), all_reduce(2))
    both = spelt((0, 0, 0, 1, REDUCE), (0, 0, 1, 0, REDUCE))
    found(judge(by_hand(problem, 1, both)))
    passed_on = spelt((0, 0, 0, 1, REDUCE), (0, 0, 1, 2, REDUCE))
    said = faults(by_hand(ask(line(3), reduce(3, 2)), 1, passed_on))
    assert [fault.message for fault in said] == [
        "y[2] of chunk 0 is not made at gpu[2], which holds x[2], x[1]"
    ]


def test_moves_need_not_stand_in_the_order_of_their_steps() -> None:
    moves = around(4)
    problem = ask(ring(4), all_reduce(4))
    there, back = (judge(by_hand(problem, 4, order)) for order in (moves, moves[::-1]))
    assert found(there).cost == found(back).cost


def test_a_copy_takes_the_place_of_what_was_there() -> None:
    """Down to rank 0 and back: the copies replace partial sums."""
    up = [(i, 0, 3 - i, 2 - i, REDUCE) for i in range(3)]
    down = [(3 + i, 0, i, i + 1, COPY) for i in range(3)]
    for operator in (SUM, SUB):
        problem = ask(line(4), all_reduce(4), operator)
        schedule = found(judge(by_hand(problem, 1, spelt(*up, *down)))).schedule
        assert [result.parts for result in schedule.results][1:] == [
            (Got(3),),
            (Got(4),),
            (Got(5),),
        ]


# ------------------------------------------------------------------ order


def test_a_ring_does_not_keep_the_order() -> None:
    said = faults(by_hand(ask(ring(3), all_reduce(3), SUB), 3, around(3)))
    assert said
    assert all("is not made at" in fault.message for fault in said)
    assert all(fault.expected.endswith("in this order") for fault in said)
    assert all("not commutative" in fault.remedy for fault in said)
    assert all(fault.span == WHOLE for fault in said)


def test_neighbours_that_arrive_out_of_order_are_put_in_order() -> None:
    """Rank 1 of a line takes x[2] first, then x[0], and passes all of it on."""
    moves = spelt(
        (0, 0, 2, 1, REDUCE), (1, 0, 0, 1, REDUCE), (2, 0, 1, 2, COPY), (2, 0, 1, 0, COPY)
    )
    schedule = found(judge(by_hand(ask(line(3), all_reduce(3), SUB), 1, moves))).schedule
    assert schedule.sends[2].parts == (Got(1), Own(1), Got(0))


def test_wants_in_two_orders_each_get_their_own() -> None:
    symbols = tuple(Symbol((r,), r) for r in range(3))
    wants = (Want(0, (0,), (0, 1, 2)), Want(2, (2,), (2, 1, 0)))
    collective = Collective("both", ("sub",), 3, (Block(symbols, wants),))
    problem = ask(complete(3), collective, SUB)
    at_once = [Move(0, 0, i, j, REDUCE) for i in range(3) for j in (0, 2) if i != j]
    schedule = found(judge(by_hand(problem, 1, at_once))).schedule
    assert schedule.results[0].parts[0] == Own(0)
    assert schedule.results[1].parts[0] == Own(2)
    relayed = spelt((0, 0, 0, 1, REDUCE), (1, 0, 1, 2, REDUCE), (0, 0, 1, 0, REDUCE),
                    (0, 0, 2, 0, REDUCE))  # fmt: skip
    schedule = found(judge(by_hand(problem, 1, relayed))).schedule
    assert schedule.sends[3].parts == (Own(1), Got(0))  # In the order of its receiver's want.


def test_a_relay_merges_in_the_order_that_makes_a_run() -> None:
    """Of x[0] and x[2] the first want's order makes no run, the second's does: x[2] x[0]."""
    symbols = tuple(Symbol((r,), r) for r in range(3))
    wants = (Want(0, (0,), (0, 1, 2)), Want(2, (2,), (2, 0, 1)))
    problem = ask(complete(5), Collective("both", ("sub",), 5, (Block(symbols, wants),)), SUB)
    moves = spelt(
        (0, 0, 0, 3, REDUCE), (0, 0, 2, 3, REDUCE), (0, 0, 1, 0, REDUCE), (0, 0, 2, 0, REDUCE),
        (1, 0, 3, 4, REDUCE), (2, 0, 4, 2, COPY), (3, 0, 1, 2, REDUCE),
    )  # fmt: skip
    schedule = found(judge(by_hand(problem, 1, moves))).schedule
    assert schedule.sends[4].parts == (Got(1), Got(0))


# ------------------------------------------------------------------ ways


def test_ways_through_switches_are_shared_out() -> None:
    moves = [Move(0, 0, i, j, REDUCE) for i in range(4) for j in range(4) if i != j]
    outcome = found(judge(by_hand(ask(switched(4, 3), all_reduce(4)), 1, moves)))
    assert outcome.cost.rounds == 1


def test_a_wider_switch_takes_more_and_equals_go_to_the_first() -> None:
    wide = [(i, 2, 1, 3) for i in range(2)] + [(i, 3, 1, 1) for i in range(2)]
    topology = machine("two switches", 2, wide, 2)
    moves = [Move(0, c, 0, 1, COPY) for c in range(4)]
    schedule = arrange(by_hand(ask(topology, broadcast(2)), 4, moves))
    taken = [topology.links[send.route[0]].dst for send in schedule.sends]
    assert taken == [2, 2, 2, 3]
    moves = [Move(c, c, 0, 1, COPY) for c in range(4)]  # Every step begins with empty links.
    schedule = arrange(by_hand(ask(topology, broadcast(2)), 4, moves))
    assert [topology.links[send.route[0]].dst for send in schedule.sends] == [2] * 4


def test_the_shortest_way_is_taken_and_a_written_one_kept() -> None:
    topology = machine("detour", 2, [(0, 1, 1), (0, 2, 1), (2, 1, 1), (2, 3, 1), (3, 1, 1)], 2)
    problem = ask(topology, broadcast(2))
    for via, links in ((None, 1), ((), 1), ((2,), 2), ((2, 3), 3)):
        outcome = found(judge(by_hand(problem, 1, [Move(0, 0, 0, 1, COPY, via)])))
        assert len(outcome.schedule.sends[0].route) == links


@pytest.mark.parametrize(
    ("via", "message"),
    [
        ((3,), "gpu[0] has no link to sw[1]"),
        ((2, 3), "sw[1] has no link to gpu[1]"),
        ((1,), "node 1 is no switch to pass"),
        ((9,), "node 9 is no switch to pass"),
        ((2, 3, 2), "the way passes sw[0] twice"),
    ],
)
def test_a_way_that_is_no_path(via: tuple[int, ...], message: str) -> None:
    topology = machine("two switches", 2, [(0, 2, 1), (2, 1, 1), (2, 3, 1)], 2)
    move = replace(spelt((0, 0, 0, 1, COPY))[0], via=via)
    said = faults(by_hand(ask(topology, broadcast(2)), 1, [move]))
    assert [(fault.message, fault.span) for fault in said] == [(message, move.span)]


def test_no_way_at_all() -> None:
    moves = spelt((0, 0, 0, 2, REDUCE), (0, 0, 1, 2, REDUCE))
    said = faults(by_hand(ask(line(3), reduce(3, 2)), 1, moves))
    assert [(fault.message, fault.span) for fault in said] == [
        ("gpu[0] has no link to gpu[2]", moves[0].span)
    ]


# ------------------------------------------------------------------ slips

THREE = ask(complete(3), all_reduce(3))
SLIPS = [
    (ask(complete(3), broadcast(3)), [(0, 0, 1, 2, COPY)],
     "step 0, chunk 0: gpu[1] holds nothing of it to send"),
    (ask(complete(3), all_gather(3)), [(0, 2, 1, 2, COPY)],
     "step 0, chunk 0 of x[2]: gpu[1] holds nothing of it to send"),
    (THREE, [(0, 0, 1, 1, REDUCE)], "gpu[1] sends to itself"),
    (THREE, [(0, 1, 0, 1, REDUCE)], "chunk 1 does not exist"),
    (THREE, [(0, -1, 0, 1, REDUCE)], "chunk -1 does not exist"),
    (THREE, [(0, 0, 0, 3, REDUCE)], "rank 3 does not exist"),
    (THREE, [(-1, 0, 0, 1, REDUCE)], "step -1 does not exist"),
    (THREE, [(0, 0, 0, 1, REDUCE), (0, 0, 0, 1, REDUCE)],
     "step 0, chunk 0: gpu[1] merges x[0] twice"),
    (THREE, [(0, 0, 0, 1, REDUCE), (1, 0, 1, 2, REDUCE), (2, 0, 2, 1, REDUCE)],
     "step 2, chunk 0: gpu[1] merges x[0], x[1] twice"),
    (ask(complete(3), all_reduce(3), LEFT), [(0, 0, 0, 1, REDUCE), (1, 0, 0, 1, REDUCE)],
     "step 1, chunk 0: gpu[1] merges x[0] twice"),
    (ask(complete(3), all_gather(3)), [(0, 0, 0, 1, REDUCE)],
     "all_gather has no operator to reduce with"),
    (THREE, [(0, 0, 0, 1, COPY), (0, 0, 2, 1, REDUCE)],
     "step 0, chunk 0: gpu[1] takes a copy and a reduction"),
    (THREE, [(0, 0, 2, 1, REDUCE), (0, 0, 0, 1, COPY)],
     "step 0, chunk 0: gpu[1] takes a copy and a reduction"),
    (THREE, [(0, 0, 0, 1, COPY), (0, 0, 2, 1, COPY)], "step 0, chunk 0: gpu[1] takes two copies"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "moves", "message"), SLIPS)
def test_slips(
    problem: Problem, moves: list[tuple[int, int, int, int, bool]], message: str
) -> None:
    made = spelt(*moves)
    said = faults(by_hand(problem, 1, made, steps=max(1, moves[-1][0] + 1)))
    assert [fault.message for fault in said] == [message]
    assert said[0].span in [move.span for move in made]
    assert said[0].expected
    with pytest.raises(InputError):
        judge(by_hand(problem, 1, made))


def test_an_idempotent_operator_may_merge_twice() -> None:
    moves = [Move(t, 0, i, j, REDUCE) for t in range(2) for i in range(3) for j in range(3)
             if i != j]  # fmt: skip
    found(judge(by_hand(ask(complete(3), all_reduce(3), MAX), 1, moves)))


def test_all_faults_are_told_at_once_and_in_order() -> None:
    moves = spelt(
        (0, 0, 0, 0, REDUCE), (0, 7, 0, 1, REDUCE), (0, 0, 0, 2, REDUCE), (0, 0, 9, 1, REDUCE)
    )
    said = faults(by_hand(ask(line(3), all_reduce(3)), 1, moves))
    assert [fault.span for fault in said] == [move.span for move in moves]


def test_wants_that_are_not_made_say_what_is_missing() -> None:
    said = faults(by_hand(THREE, 1, spelt((0, 0, 0, 1, REDUCE))))
    assert [(fault.message, fault.expected, fault.remedy) for fault in said] == [
        ("y[0] of chunk 0 is not made at gpu[0], which holds x[0]", "x[0], x[1], x[2]",
         "send it what is missing: x[1], x[2]"),
        ("y[1] of chunk 0 is not made at gpu[1], which holds x[1], x[0]", "x[0], x[1], x[2]",
         "send it what is missing: x[2]"),
        ("y[2] of chunk 0 is not made at gpu[2], which holds x[2]", "x[0], x[1], x[2]",
         "send it what is missing: x[0], x[1]"),
    ]  # fmt: skip
    too_much = spelt((0, 0, 0, 1, REDUCE), (0, 0, 1, 0, REDUCE))
    said = faults(by_hand(ask(complete(2), scan(2)), 1, too_much))
    assert [fault.remedy for fault in said] == ["keep x[1] out of it"]
    said = faults(by_hand(ask(complete(2), broadcast(2)), 1, (), steps=1))
    assert "which holds nothing" in said[0].message


def test_numbers_without_sense_or_end() -> None:
    for chunks, steps in ((0, 1), (10**9, 1), (1, -1)):
        given = Handwritten("mine", THREE, chunks, steps, (), WHOLE)
        assert faults(given)[0].span == WHOLE


# ------------------------------------------------------------------ any schedule, any size


@pytest.mark.parametrize("operator", [SUM, MAX, SUB], ids=["sum", "max", "sub"])
def test_whatever_is_accepted_is_right(operator: Operator) -> None:
    """Random moves: what ``arrange`` takes, the checker takes."""
    chance = random.Random(operator.name)
    accepted = 0
    for _ in range(300):
        n = chance.randint(2, 3)
        make = chance.choice((all_reduce, scan, reduce))
        moves = [
            Move(chance.randint(0, 1), 0, i, j, chance.random() < 0.9)
            for i in range(n)
            for j in range(n)
            if i != j and chance.random() < 0.8
        ]
        given = by_hand(ask(complete(n), make(n), operator), 1, moves, steps=2)
        try:
            schedule = arrange(given)
        except InputError:
            continue
        check(schedule)
        accepted += 1
    assert accepted > 20


def test_many_sends() -> None:
    """128 ranks over two switches: scatter-reduce and gather at once, 32,512 messages."""
    n = 128
    moves = [
        Move(phase, chunk, *ends, phase == 0)
        for phase in range(2)
        for chunk in range(n)
        for other in range(n)
        if other != chunk
        for ends in [(other, chunk) if phase == 0 else (chunk, other)]
    ]
    outcome = found(judge(by_hand(ask(switched(n, 2), all_reduce(n)), n, moves)))
    assert len(outcome.schedule.sends) == 2 * n * (n - 1)
    assert outcome.cost.rounds == Fraction(2 * 64)
