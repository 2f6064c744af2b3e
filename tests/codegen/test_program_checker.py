"""Every way to break a program is found, or does no harm under any order of its lanes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from roundelay.codegen.checker import ProgramError, check
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.placement import place
from roundelay.codegen.program import (
    Copy,
    Program,
    RankProgram,
    Receive,
    Reduce,
    Slot,
    Transmit,
    Wait,
)
from roundelay.runtime.interpreter import DeadlockError, load
from tests.arrays import expected, inputs_of, run
from tests.mutations import mutations
from tests.schedules import (
    MAX,
    SCALED,
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    problem,
    random_schedule,
    reduce_scatter,
    ring_all_reduce,
    scan,
    two_shot_all_reduce,
)

if TYPE_CHECKING:
    from roundelay.codegen.program import Instruction
    from roundelay.synth.schedule import Schedule

Lanes = tuple[tuple["Instruction", ...], ...]

PROGRAMS = {
    "ring": lambda: ring_all_reduce(3),
    "two shots": lambda: two_shot_all_reduce(3, 2),
    "max": lambda: random_schedule(all_reduce(3), MAX, 1, 5),
    "sum": lambda: random_schedule(all_reduce(4), SUM, 1, 11),
    "gather": lambda: random_schedule(all_gather(3), None, 2, 3),
    "to all": lambda: random_schedule(all_to_all(3), None, 1, 8),
    "scatter": lambda: random_schedule(reduce_scatter(3), SUM, 2, 6),
    "scan": lambda: random_schedule(scan(4), SCALED, 2, 4),
}


def harmless(program: Program) -> bool:
    """Whether the program still gives the right bytes, whichever lane goes first."""
    element = ELEMENTS["i64"]
    count = 3 * program.chunks + 1
    for seed in range(5):
        given = inputs_of(program.problem, element, count, seed)
        right = expected(program.problem, element, given, count)
        try:
            made = run(
                load(None, program, element, seed or None), program.problem, element, count, given
            )
        except (DeadlockError, KeyError, ValueError, IndexError):
            return False
        if any(a.tobytes() != b.tobytes() for a, b in zip(made, right, strict=True)):
            return False
    return True


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_mutation_is_caught_or_harmless(name: str) -> None:
    schedule: Schedule = PROGRAMS[name]()
    caught: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for program in (place(schedule), lower(schedule)):
        check(program)
        for kind, mutant in mutations(program):
            if mutant == program:
                continue
            try:
                check(mutant)
            except ProgramError:
                caught[kind] += 1
            else:
                assert harmless(mutant), f"{kind} was not caught"
                passed[kind] += 1
    assert sum(caught.values()) > 2 * sum(passed.values())
    assert {"drop", "duplicate", "slot", "channel"} <= set(caught)
    # These can never be harmless.
    fatal = {"less room", "write input", "channel", "drop forward", "again", "other chunk index"}
    assert not fatal & set(passed)


# --------------------------------------------------------------------------------- by hand

A, B, OUT = Slot("input", 0), Slot("scratch", 0), Slot("output", 0)


def hand_written(*ranks: RankProgram, buffering: int = 1) -> Program:
    return Program(problem(all_reduce(2)), 1, ranks, buffering)


def exchange(first: tuple[Instruction, ...], second: tuple[Instruction, ...]) -> Program:
    return hand_written(RankProgram((first,)), RankProgram((second,)))


SEND = Transmit(1, 0, (A,))
BACK = Transmit(0, 0, (A,))


def test_an_exchange_is_right() -> None:
    check(
        exchange(
            (SEND, Receive(1, 0, before=(A,), stores=(OUT,))),
            (BACK, Receive(0, 0, after=(A,), stores=(OUT,))),
        )
    )


def test_receives_that_cross_are_a_deadlock() -> None:
    with pytest.raises(ProgramError, match="deadlock with 1 messages a channel: rank"):
        check(
            exchange(
                (Receive(1, 0, before=(A,), stores=(OUT,)), SEND),
                (Receive(0, 0, after=(A,), stores=(OUT,)), BACK),
            )
        )


def test_lanes_that_wait_for_each_other_are_a_deadlock() -> None:
    lanes = ((Wait(1, 1), SEND), (Wait(0, 1), Receive(1, 0, before=(A,), stores=(OUT,))))
    with pytest.raises(ProgramError, match="deadlock"):
        check(
            hand_written(
                RankProgram(lanes),
                RankProgram(((BACK, Receive(0, 0, before=(A,), stores=(OUT,))),)),
            )
        )


def test_a_channel_that_two_lanes_send_on_in_no_order_is_found() -> None:
    two = ((SEND,), (SEND,))
    takes = (Receive(0, 0, stores=(B,)), Receive(0, 0, before=(A,), stores=(OUT,)), BACK)
    rank = RankProgram((*two, (Receive(1, 0, before=(A,), stores=(OUT,)),)))
    with pytest.raises(ProgramError, match="in no order"):
        check(hand_written(rank, RankProgram((takes,), (0,)), buffering=2))


def test_a_channel_that_two_lanes_send_on_in_turn_is_right() -> None:
    two = ((SEND,), (Wait(0, 0), SEND))
    takes = (Receive(0, 0, stores=(B,)), Receive(0, 0, before=(A,), stores=(OUT,)), BACK)
    rank = RankProgram((*two, (Receive(1, 0, before=(A,), stores=(OUT,)),)))
    check(hand_written(rank, RankProgram((takes,), (0,)), buffering=2))


def test_a_slot_is_safe_once_an_answer_proves_that_it_was_sent() -> None:
    """The order goes through the other rank: a message, and one that follows from it."""
    lanes: Lanes = (
        (Copy(B, A), Transmit(1, 0, (B,))),
        (Receive(1, 0, before=(A,), stores=(OUT,)), Copy(B, A)),
    )
    second = (Receive(0, 0, after=(A,), stores=(OUT,)), BACK)
    check(hand_written(RankProgram(lanes, (0,)), RankProgram((second,))))


def test_the_same_without_the_answer_first_is_a_race() -> None:
    lanes: Lanes = (
        (Copy(B, A), Transmit(1, 0, (B,))),
        (Receive(1, 0, before=(A,), stores=(OUT,)), Copy(B, A)),
    )
    second = (BACK, Receive(0, 0, after=(A,), stores=(OUT,)))
    with pytest.raises(ProgramError, match="race: rank 0"):
        check(hand_written(RankProgram(lanes, (0,)), RankProgram((second,))))


def test_room_in_a_channel_orders_nothing() -> None:
    """With room for one message the third could only leave once the first was taken, and rank 1
    writes a slot after the third that it reads with the first. A transport may have more room.
    """
    first = (SEND, SEND, Transmit(1, 1, (A,)), Receive(1, 0, before=(A,), stores=(OUT,)))
    slot, rest, other = (Slot("scratch", k) for k in range(3))
    lanes: Lanes = (
        (
            Copy(slot, A),
            BACK,
            Receive(0, 0, after=(slot,), stores=(OUT,)),
            Receive(0, 0, stores=(rest,)),
        ),
        (Receive(0, 1, stores=(other,)), Copy(slot, A)),
    )
    with pytest.raises(ProgramError, match="race: rank 1"):
        check(hand_written(RankProgram((first,)), RankProgram(lanes, (0, 0, 0))))


@pytest.mark.parametrize("between", [0, 5])
def test_writing_what_another_lane_still_reads_is_a_race(between: int) -> None:
    """Whichever of the two the checker comes to first."""
    aside = (Copy(Slot("scratch", 1), A),) * between
    lanes: Lanes = (
        (Wait(1, 0), Transmit(1, 0, (B,)), Receive(1, 0, before=(A,), stores=(OUT,))),
        (Copy(B, A), *aside, Copy(B, A)),
    )
    second = (BACK, Receive(0, 0, after=(A,), stores=(OUT,)))
    with pytest.raises(ProgramError, match=r"race: rank 0 .* use scratch\[0\] in no order"):
        check(hand_written(RankProgram(lanes, (0, 0)), RankProgram((second,))))


def test_two_lanes_that_write_one_slot_are_a_race() -> None:
    lanes: Lanes = ((Copy(OUT, A),), (SEND, Receive(1, 0, before=(A,), stores=(OUT,))))
    second = (BACK, Receive(0, 0, after=(A,), stores=(OUT,)))
    with pytest.raises(ProgramError, match=r"race: rank 0 .* use output\[0\] in no order"):
        check(hand_written(RankProgram(lanes), RankProgram((second,))))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ((Copy(OUT, Slot("input", 1)),), r"input\[1\] does not exist"),
        ((Copy(Slot("output", 1), A),), r"output\[1\] does not exist"),
        ((Copy(Slot("scratch", 0), A),), r"scratch\[0\] does not exist"),
        ((Copy(OUT, Slot("input", -1)),), r"input\[-1\] does not exist"),
        ((Copy(A, A),), r"writes input\[0\]"),
        ((Transmit(0, 0, (A,)),), "no channel 0 with rank 0"),
        ((Transmit(2, 0, (A,)),), "no channel 0 with rank 2"),
        ((Transmit(1, -1, (A,)),), "no channel -1 with rank 1"),
        ((Transmit(1, 0, ()),), "made of nothing"),
        ((Reduce(OUT, ()),), "made of nothing"),
        ((Wait(1, 0),), "waits for what does not exist"),
        ((Wait(0, 5),), "waits for what does not exist"),
        ((SEND,), "1 messages sent, 0 received"),
        ((Copy(OUT, OUT),), "which nothing has written"),
        ((Reduce(OUT, (A, A)),), "counts a value twice"),
        ((Copy(OUT, A),), "is made of block 0 chunk 0 symbols .0,., wanted .0, 1."),
        ((), "is never written"),
    ],
)
def test_each_law_names_itself(broken: tuple[Instruction, ...], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        check(exchange(broken, ()))


def test_only_operators_merge() -> None:
    gather = problem(all_gather(2), None)
    program = Program(gather, 1, (RankProgram(((Reduce(OUT, (A, A)),),)), RankProgram(())), 1)
    with pytest.raises(ProgramError, match="has no operator"):
        check(program)


def test_the_number_of_ranks_and_chunks_is_judged() -> None:
    with pytest.raises(ProgramError, match="1 programs for 2 ranks"):
        check(hand_written(RankProgram(())))
    with pytest.raises(ProgramError, match="at least one chunk"):
        check(replace(exchange((), ()), chunks=0))
