"""A plan may bound the channels from one rank to another: lowering obeys, the checker looks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay.codegen.checker import ProgramError, check
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.program import Receive, Transmit
from roundelay.dsl.model import Limits
from roundelay.runtime import interpreter
from tests.arrays import expected, inputs_of, run
from tests.schedules import COLLECTIVES, MAX, SUM, random_schedule, ring_all_reduce

if TYPE_CHECKING:
    from roundelay.codegen.program import Program
    from roundelay.synth.schedule import Schedule


def limited(schedule: Schedule, channels: int | None) -> Schedule:
    limits = Limits(channels=channels)
    return replace(schedule, problem=replace(schedule.problem, limits=limits))


def most(program: Program) -> int:
    """The largest number of channels from one rank to another."""
    used: dict[tuple[int, int], set[int]] = {}
    for rank, code in enumerate(program.ranks):
        for instruction in (i for lane in code.lanes for i in lane):
            if isinstance(instruction, Transmit):
                used.setdefault((rank, instruction.peer), set()).add(instruction.channel)
            elif isinstance(instruction, Receive):
                for peer, channel in instruction.forwards:
                    used.setdefault((rank, peer), set()).add(channel)
    return max(map(len, used.values()), default=0)


def forwards(program: Program) -> int:
    return sum(
        len(i.forwards) for r in program.ranks for lane in r.lanes for i in lane
        if isinstance(i, Receive)
    )  # fmt: skip


def busy(seed: int = 3) -> Schedule:
    """A schedule whose forwards need several channels."""
    return next(
        schedule
        for schedule in (random_schedule(COLLECTIVES["all_gather"](5), SUM, 3, s)
                         for s in range(seed, 200))
        if most(lower(schedule)) > 2
    )  # fmt: skip


def test_a_limit_is_kept_at_the_price_of_forwards() -> None:
    schedule = busy()
    free = lower(schedule)
    counts = [forwards(free)]
    for limit in range(most(free), 0, -1):
        program = lower(limited(schedule, limit))
        assert most(program) <= limit
        counts.append(forwards(program))
    assert counts[0] == counts[1]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def test_a_limit_that_nothing_reaches_changes_nothing() -> None:
    schedule = ring_all_reduce(4)
    assert lower(limited(schedule, 2)).ranks == lower(schedule).ranks


def test_a_program_with_more_channels_than_allowed_is_refused() -> None:
    program = lower(busy())
    number = most(program)
    for limit in (number, number - 1):
        problem = replace(program.problem, limits=Limits(channels=limit))
        if limit == number:
            check(replace(program, problem=problem))
        else:
            with pytest.raises(ProgramError, match=f"{number} channels from rank . to rank ."):
                check(replace(program, problem=problem))


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(COLLECTIVES)),
    st.integers(2, 6),
    st.integers(1, 4),
    st.sampled_from([SUM, MAX]),
    st.integers(1, 3),
    st.integers(0, 10**6),
)
def test_limited_programs_give_the_wanted_values(
    name: str, n: int, chunks: int, operator: object, limit: int, seed: int
) -> None:
    schedule = random_schedule(COLLECTIVES[name](n), operator, chunks, seed)  # type: ignore[arg-type]
    program = lower(limited(schedule, limit))
    assert most(program) <= limit
    element = ELEMENTS["i32"]
    values = inputs_of(schedule.problem, element, 13, seed)
    made = run(interpreter.load(None, program, element), program.problem, element, 13, values)
    right = expected(schedule.problem, element, values, 13)
    assert [a.tobytes() for a in made] == [b.tobytes() for b in right]
