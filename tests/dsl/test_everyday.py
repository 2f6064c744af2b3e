"""What people write every day: no false alarms on it, no silent second meaning, and the right text
is to blame.
"""

from __future__ import annotations

import pytest

from roundelay.dsl.loader import by_hand, load
from roundelay.dsl.model import Handwritten
from roundelay.dsl.source import InputError, Source
from roundelay.synth.by_hand import judge
from roundelay.synth.schedule import Found


def faults(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(Source("a.rly", text))
    return [fault.message for fault in caught.value.faults]


def warnings(text: str) -> list[str]:
    return [each.message for each in load(Source("a.rly", text), wary=True).warnings]


@pytest.mark.parametrize("groups", ["[[g, g + 2] for g in 0..2 if g > n]", "[[0, 1] if n > 9]"])
def test_no_group_at_all_is_not_everybody(groups: str) -> None:
    found = faults(f"plan {{ synthesize all_reduce(sum) within {groups} on ring(4) }}")
    assert found == ["no group at all: the condition never holds"]


BOX = (
    "topology box { ranks gpu[4] switch pcie, nic\n"
    "  link gpu[g] <-> pcie at 24 GB/s, 1 us for g in 0..4\n"
    "  link pcie <-> nic at 24 GB/s, 1 us }\n"
)


def test_a_switch_with_one_neighbour_may_wait_for_others() -> None:
    dead = "switch nic is joined to pcie alone"
    assert warnings(BOX) == [dead]
    link = "link box[b].nic <-> ib at 12.5 GB/s, 2 us for b in 0..2 }"
    assert warnings(f"{BOX} topology two {{ part box[2] = box switch ib {link}") == []
    family = f"topology many(m) {{ part box[2] = m switch ib {link}"
    assert warnings(f"{BOX} {family} plan {{ synthesize all_gather on many(box) }}") == []
    assert warnings(f"{BOX} plan {{ synthesize all_gather on box }}") == [dead]


def test_what_is_left_of_a_machine_may_have_such_switches() -> None:
    rails = (
        "topology rails { part box[2] = dgx_a100 switch rail[8]\n"
        "  link box[b].gpu[g] <-> rail[g] at 25 GB/s, 2 us for b in 0..2, g in 0..8 }\n"
    )
    assert warnings(f"{rails} topology one = rails only box[0]") == []
    assert warnings(f"{rails} topology one = rails without box[1]") == []


def run(schedule: str) -> Handwritten:
    (task,) = load(Source("a.rly", f"{schedule} plan {{ run s }}")).plans
    assert isinstance(task, Handwritten)
    return task


def test_a_rank_in_no_group_passes_on_what_others_send_it() -> None:
    """The value is the receiver's group's where the sender has none."""
    given = run(
        "schedule s of all_reduce(max) within [[0, 1], [3, 5]] on ring(6) {\n"
        "  chunks 1\n"
        "  step: send c = 0 from 0 to 1 reduce send c = 0 from 1 to 0 reduce\n"
        "    send c = 0 from 3 to 4 copy\n"
        "  step: send c = 0 from 4 to 5 reduce\n"
        "  step: send c = 0 from 5 to 4 copy\n"
        "  step: send c = 0 from 4 to 3 copy\n"
        "}"
    )
    assert [move.chunk for move in given.moves] == [0, 0, 1, 1, 1, 1]
    assert isinstance(judge(given).outcome, Found)


def test_between_ranks_in_no_group_nobody_knows_whose_value_it_is() -> None:
    head = "schedule s of all_reduce(max) within"
    send = "on ring(6) { chunks 1 step: send c = 0 from 3 to 4 copy }"
    found = faults(f"{head} [[0, 1], [2]] {send} plan {{ run s }}")
    assert found == ["ranks 3 and 4 are in no group, so this may be the value of any"]
    assert [move.chunk for move in run(f"{head} [[0, 1]] {send}").moves] == [0]


def test_a_value_with_too_few_indices_is_not_taken_for_another() -> None:
    found = faults(
        "schedule s of all_gather on ring(4) { chunks 1 step: send x[0] from 0 to 1 copy\n"
        "  send y[1, 0] from 0 to 1 copy send x[0, 1, 0] from 0 to 1 copy } plan { run s }"
    )
    assert found == ["'x' with 1 index", "'y' with 2 indices", "'x' with 3 indices"]


def test_a_machine_that_does_not_exist_is_blamed_before_anyone_runs_it() -> None:
    rest = "{ chunks 1 step: send x[0, 0] from 0 to 1 copy }"
    assert faults(f"schedule s of all_gather on rong(4) {rest}") == ["unknown topology 'rong'"]
    found = faults(f"schedule s(m) of all_gather on m(4) {rest}")
    assert found == ["the parameter 'm' with arguments"]
    load(Source("a.rly", f"schedule s(m) of all_gather on m {rest}"))


def test_what_is_wanted_has_a_name_of_its_own() -> None:
    found = faults("collective shift { given x[r, c] want x[r, c] = x[(r + 1) % n, c] }")
    assert found == ["'x' is the name of what is given"]


@pytest.mark.parametrize("schedule", ["ring", "two_shot", "tree", "torus_2d(w = 2, h = 2)"])
def test_a_schedule_of_the_library_that_does_not_fit_is_its_callers_fault(schedule: str) -> None:
    for machine in ("dgx1", "line(5)"):
        with pytest.raises(InputError) as caught:
            judge(by_hand(schedule, machine=machine))
        places = {each.span.source.name for each in caught.value.faults if each.span}
        assert places == {"command line"}
        text = f"plan {{ run {schedule.split('(')[0]}({machine}"
        text += ", 2, 2) }" if "(" in schedule else ") }"
        (task,) = load(Source("a.rly", text)).plans
        assert isinstance(task, Handwritten)
        with pytest.raises(InputError) as caught:
            judge(task)
        for fault in caught.value.faults:
            assert fault.span is not None
            assert text[fault.span.start : fault.span.end] == text[11:-2]


def test_a_schedule_of_ones_own_is_blamed_where_it_stands() -> None:
    text = "schedule s(m) of all_reduce(max) on m { chunks 1 step: send c = 0 from 0 to 2 reduce }"
    (task,) = load(Source("a.rly", f"{text} plan {{ run s(ring(4)) }}")).plans
    assert isinstance(task, Handwritten)
    with pytest.raises(InputError) as caught:
        judge(task)
    fault = next(each for each in caught.value.faults if "link" in each.message)
    assert fault.span is not None
    assert text[fault.span.start :].startswith("send c = 0 from 0 to 2")
