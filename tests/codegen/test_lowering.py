from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay.codegen.checker import ProgramError, check
from roundelay.codegen.lowering import PASSES, lower
from roundelay.codegen.placement import place
from roundelay.codegen.program import Copy, Program, Receive, Reduce, Transmit, Wait, chunk_range
from roundelay.synth.schedule import Got, Own
from tests.schedules import (
    COLLECTIVES,
    LEFT,
    MAX,
    SCALED,
    SUM,
    Builder,
    all_gather,
    all_reduce,
    broadcast,
    one_shot_all_reduce,
    problem,
    random_schedule,
    ring_all_reduce,
    two_shot_all_reduce,
)


def kinds(program: Program, rank: int) -> list[list[str]]:
    return [[type(step).__name__ for step in lane] for lane in program.ranks[rank].lanes]


def waits(program: Program) -> int:
    return sum(isinstance(i, Wait) for r in program.ranks for lane in r.lanes for i in lane)


def scratch(program: Program) -> int:
    return sum(len(rank.scratch) for rank in program.ranks)


def test_a_ring_becomes_one_sending_and_one_receiving_lane_without_scratch_or_waits() -> None:
    program = lower(ring_all_reduce(4))
    for rank in range(4):
        receiving, sending = kinds(program, rank)
        assert receiving == ["Receive"] * 6
        assert sending == ["Transmit"]
    assert scratch(program) == waits(program) == 0


def test_a_ring_merges_stores_and_forwards_in_one_instruction() -> None:
    program = lower(ring_all_reduce(4))
    receives = [i for i in program.ranks[0].lanes[0] if isinstance(i, Receive)]
    partial, complete, passed, last = receives[0], receives[2], receives[3], receives[-1]
    assert partial.after
    assert not partial.stores
    assert partial.forwards
    assert complete.after
    assert [slot.buffer for slot in complete.stores] == ["output"]
    assert complete.forwards
    assert not passed.after
    assert passed.stores
    assert passed.forwards
    assert last.stores
    assert not last.forwards


def test_the_last_arrival_of_many_merges_with_those_already_there() -> None:
    program = lower(two_shot_all_reduce(4))
    merging = [
        i for lane in program.ranks[0].lanes for i in lane if isinstance(i, Receive) and i.before
    ]
    assert len(merging) == 1
    assert len(merging[0].before) == 3  # Its own value and two that came before.
    assert len(merging[0].forwards) == 3
    assert not any(isinstance(i, Reduce | Copy) for lane in program.ranks[0].lanes for i in lane)


def test_what_one_rank_keeps_for_itself_is_a_copy() -> None:
    b = Builder(problem(all_gather(1), None), 3)
    for c in range(3):
        b.result(c, 0, [Own(0)])
    assert kinds(lower(b.finish()), 0) == [["Copy"] * 3]


def test_a_message_that_reaches_no_result_is_not_sent() -> None:
    b = Builder(problem(broadcast(3), None), 1)
    got = [b.send(0, 0, 0, r, [Own(0)]) for r in (1, 2)]
    b.send(1, 0, 1, 2, [got[0]])
    b.result(0, 0, [Own(0)])
    b.result(0, 1, [got[0]])
    b.result(0, 2, [got[1]])
    program = lower(b.finish())
    sent = [i for r in program.ranks for lane in r.lanes for i in lane if isinstance(i, Transmit)]
    assert len(sent) == 2
    assert not any(
        i.forwards
        for r in program.ranks
        for lane in r.lanes
        for i in lane
        if isinstance(i, Receive)
    )


def test_messages_that_forwarding_would_reorder_get_channels_of_their_own() -> None:
    """Rank 1 passes on in step 3 what came in step 0, and in step 1 something of its own."""
    b = Builder(problem(all_gather(3), None), 1)
    first = b.send(0, 0, 0, 1, [Own(0)])
    own = b.send(1, 1, 1, 2, [Own(0)])
    late = b.send(2, 2, 2, 1, [Own(0)])
    passed = b.send(3, 0, 1, 2, [first])
    b.result(0, 0, [Own(0)])
    b.result(0, 1, [first])
    b.result(0, 2, [passed])
    b.result(1, 0, [b.send(1, 1, 1, 0, [Own(0)])])
    b.result(1, 1, [Own(0)])
    b.result(1, 2, [own])
    b.result(2, 0, [b.send(2, 2, 2, 0, [Own(0)])])
    b.result(2, 1, [late])
    b.result(2, 2, [Own(0)])
    program = lower(b.finish())
    channels = {
        (i.peer, i.channel)
        for lane in program.ranks[2].lanes
        for i in lane
        if isinstance(i, Receive)
    }
    assert channels == {(1, 0), (1, 1)}


def test_values_of_one_chunk_share_a_slot_when_their_lives_do_not_meet() -> None:
    """Rank 1 merges what rank 0 sends with two different rests, one message after the other."""
    b = Builder(problem(all_reduce(2), MAX), 1)
    parts: list[Own | Got] = [Own(0)]
    back: Got | None = None
    for step in range(0, 8, 2):
        there = b.send(step, 0, 0, 1, parts)
        back = b.send(step + 1, 0, 1, 0, [there, Own(1)])
        keep = b.send(step + 1, 0, 1, 0, [Own(1), there])
        parts = [back, keep, Own(0)]
    assert back is not None
    b.result(0, 0, parts)
    b.result(0, 1, [b.send(8, 0, 0, 1, parts)])
    schedule = b.finish()
    before, after = place(schedule), lower(schedule)
    assert scratch(after) < scratch(before)


@pytest.mark.parametrize("build", [ring_all_reduce, two_shot_all_reduce, one_shot_all_reduce])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_lowering_is_deterministic(build: object, n: int) -> None:
    assert callable(build)
    assert lower(build(n)) == lower(build(n))


def test_pruning_keeps_no_wait_that_can_go() -> None:
    """Without any one of the waits that are left the checker finds a race."""
    program = lower(random_schedule(all_reduce(4), SUM, 2, 11))
    assert waits(program)
    dropped = 0
    for r, rank in enumerate(program.ranks):
        for n, lane in enumerate(rank.lanes):
            for i, instruction in enumerate(lane):
                if not isinstance(instruction, Wait):
                    continue
                # A wait for something done before everything changes nothing else.
                first = Wait(instruction.lane, 0)
                if instruction.index == 0:
                    continue
                lanes = list(rank.lanes)
                lanes[n] = (*lane[:i], first, *lane[i + 1 :])
                ranks = list(program.ranks)
                ranks[r] = replace(rank, lanes=tuple(lanes))
                dropped += 1
                with pytest.raises(ProgramError, match=r"race|no order|written"):
                    check(replace(program, ranks=tuple(ranks)))
    assert dropped


OPERATORS = {"sum": SUM, "max": MAX, "left": LEFT, "scaled": SCALED}


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(sorted(COLLECTIVES)),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(sorted(OPERATORS)),
    st.integers(0, 10**6),
)
def test_every_pass_keeps_random_schedules_right(
    name: str, n: int, chunks: int, operator: str, seed: int
) -> None:
    schedule = random_schedule(COLLECTIVES[name](n), OPERATORS[operator], chunks, seed)
    program = place(schedule)
    check(program)
    for run in PASSES:
        program = run(program)
        check(program)
    if program.buffering > 1:
        with pytest.raises(ProgramError, match="deadlock"):
            check(replace(program, buffering=program.buffering - 1))


@given(st.integers(0, 400), st.integers(1, 40), st.sampled_from([1, 2, 4, 8, 16]))
def test_chunks_cover_a_unit_exactly_once(elements: int, chunks: int, align: int) -> None:
    ends = [chunk_range(elements, chunks, chunk, align) for chunk in range(chunks)]
    assert ends[0][0] == 0
    assert ends[-1][1] == elements
    for (low, high), (following, _) in pairwise(ends):
        assert low <= high == following
        assert high % align == 0
