"""Schedules by hand: every one of the library over many sizes, and what their texts mean."""

from __future__ import annotations

import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.dsl.loader import by_hand, load, schedules
from roundelay.dsl.model import Handwritten, Move
from roundelay.dsl.source import InputError, Source
from roundelay.runtime import interpreter
from roundelay.synth.by_hand import judge
from roundelay.synth.schedule import Found
from tests.arrays import expected, inputs_of, run

# A machine that fits, and the schedule's further arguments; steps and chunks as the textbooks
# have them.
CASES = [
    *(("ring", f"ring({n})", "", 2 * (n - 1), n) for n in (2, 3, 4, 5, 8, 13)),
    *(("ring", machine, "", 2 * (n - 1), n) for machine, n in (("complete(6)", 6), ("dgx2", 16))),
    *(("bidirectional_ring", f"ring({n})", "", 2 * (n - 1), 2 * n) for n in (2, 3, 4, 7)),
    *(("ring_all_gather", f"ring({n})", "", n - 1, 1) for n in (2, 3, 4, 8, 11)),
    *(("ring_reduce_scatter", f"ring({n})", "", n - 1, 1) for n in (2, 3, 4, 8, 11)),
    *(("one_shot", f"complete({n})", "", 1, 1) for n in (2, 3, 5, 8)),
    *(("two_shot", f"complete({n})", "", 2, n) for n in (2, 3, 5, 8)),
    ("two_shot", "hgx_h100", "", 2, 8),
    *(
        ("halving_doubling", f"complete({n})", "", 2 * k + 2 * (n > 1 << k), 1 << k)
        for n, k in ((2, 1), (3, 1), (4, 2), (5, 2), (7, 2), (8, 3), (9, 3), (12, 3), (16, 4))
    ),
    ("halving_doubling", "hypercube(3)", "", 6, 8),
    *(
        ("tree", f"complete({n})", f", pieces = {pieces}", 2 * (k + pieces - 1), pieces)
        for n, k in ((2, 1), (3, 1), (4, 2), (6, 2), (7, 2), (8, 3), (9, 3))
        for pieces in (1, 2, 5)
    ),
    *(
        ("hierarchical", f"complete({boxes * size})", f", {size}", 4 if boxes > 1 else 2, n)
        for boxes, size in ((1, 4), (2, 2), (2, 3), (3, 2), (4, 4), (6, 1))
        for n in (boxes * size,)
    ),
    ("hierarchical", "pod(hgx_h100, 2)", ", 8", 4, 16),
    *(
        ("torus_2d", f"torus({w}, {h})", f", {w}, {h}", 2 * (w + h - 2), w * h)
        for w, h in ((2, 2), (3, 2), (2, 3), (3, 3), (4, 3), (3, 5))
    ),
]


@pytest.mark.parametrize(
    ("name", "machine", "arguments", "steps", "chunks"),
    CASES,
    ids=[f"{name}-{machine}{arguments}".replace(" ", "") for name, machine, arguments, *_ in CASES],
)
def test_schedules_of_the_library(
    name: str, machine: str, arguments: str, steps: int, chunks: int
) -> None:
    hand = by_hand(f"{name}({machine}{arguments})")
    assert (hand.name, hand.steps, hand.chunks) == (name, steps, chunks)
    answer = judge(hand)  # The checker's word, or an InputError.
    assert isinstance(answer.outcome, Found)
    kind = ELEMENTS["i32"]
    program = lower(answer.outcome.schedule)
    oracle = interpreter.load(None, program, kind)
    for count in (1, chunks + 1):
        given = inputs_of(hand.problem, kind, count)
        made = run(oracle, hand.problem, kind, count, given)
        wanted = expected(hand.problem, kind, given, count)
        assert [array.tobytes() for array in made] == [array.tobytes() for array in wanted]


def test_every_schedule_of_the_library_has_cases() -> None:
    assert {name for name, *_ in CASES} == set(schedules())


@pytest.mark.parametrize("name", schedules())
def test_the_library_works_with_another_operator(name: str) -> None:
    if name == "ring_all_gather":
        with pytest.raises(InputError, match="takes no op"):
            by_hand(f"{name}(ring(4))", op="max")
        return
    sizes = {"hierarchical": "size = 2", "torus_2d": "w = 2, h = 2"}
    hand = by_hand(f"{name}({sizes.get(name, '')})", machine="complete(4)", op="max")
    assert hand.problem.operator is not None
    assert hand.problem.operator.name == "max"
    assert isinstance(judge(hand).outcome, Found)


def moves(text: str, machine: str = "ring(4)", of: str = "all_reduce(sum)") -> tuple[Move, ...]:
    source = Source("test", f"schedule s of {of} on {machine} {{ {text} }}\nplan {{ run s }}")
    (hand,) = load(source).plans
    assert isinstance(hand, Handwritten)
    return hand.moves


def test_sends_in_every_form() -> None:
    found = moves(
        "step: send c = 1 from 0 to node[1] copy step for k in 1..3:"
        " send x[0, k] from k to (k + 1) % n reduce"
        " send y[3, 0] from node[2] to 2 + 1 copy chunks 3"
    )
    assert [(it.step, it.chunk, it.src, it.dst, it.reduce, it.via) for it in found] == [
        (0, 1, 0, 1, False, None),
        (1, 1, 1, 2, True, None),
        (1, 0, 2, 3, False, None),
        (2, 2, 2, 3, True, None),
        (2, 0, 2, 3, False, None),
    ]


def test_loops_and_guards_of_steps_and_sends() -> None:
    found = moves(
        "chunks 2 step for k in 0..n, j in 0..2 if k != j:"
        " send c = j from r to k copy for r in ranks if r == k + 1"
    )
    assert [(it.step, it.chunk, it.src, it.dst) for it in found] == [
        (0, 1, 1, 0), (1, 0, 2, 1), (2, 0, 3, 2), (3, 1, 3, 2),
    ]  # fmt: skip


def test_switches_on_the_way() -> None:
    (found,) = moves("chunks 1 step: send c = 0 from 0 to 3 via nvs[2] copy", "hgx_h100")
    assert found.via == (8 + 2,)


def test_values_are_told_apart_by_what_is_given_and_what_is_wanted() -> None:
    # Block b of a reduce-scatter is what rank b wants: y[b, c], made of x[r, b, c].
    (one, two) = moves(
        "chunks 2 step: send y[2, 1] from 0 to 1 reduce send x[0, 3, 0] from 1 to 2 reduce",
        of="reduce_scatter(sum)",
    )
    assert (one.chunk, two.chunk) == (2 * 2 + 1, 3 * 2)


def test_within_groups_values_are_those_of_the_senders_group() -> None:
    found = moves(
        "chunks 1 step: send x[0, 0] from 0 to 2 copy send x[0, 0] from 3 to 1 copy"
        " send x[1, 0] from 1 to 3 copy",
        of="all_gather within [[0, 2], [3, 1]]",
        machine="complete(4)",
    )
    assert [it.chunk for it in found] == [0, 2, 3]


@pytest.mark.parametrize(
    ("schedule", "machine", "op", "message"),
    [
        ("ring", None, None, "schedule 'ring' lacks 'machine'"),
        ("ring", "rings(4)", None, "unknown topology 'rings'"),
        ("ring", "", None, "not one value"),
        ("ring", "ring(4), min", None, "not one value"),
        ("ring", "machine = ring(4)", None, "not one value"),
        ("ring", "4", None, "a value where a machine is needed"),
        ("ring", "ring(4)", "", "not one value"),
        ("ring", "ring(4)", "sum, max", "not one value"),
        ("ring", "ring(4)", ") x", "unexpected 'x'"),
        ("rings", "ring(4)", None, "unknown schedule 'rings'"),
        ("ring(", "ring(4)", None, "the text ends too early"),
        ("ring(4) x", "ring(4)", None, "unexpected 'x'"),
        ("hierarchical(size = 3)", "ring(4)", None, "chunk|rank|wanted|not"),
    ],
)
def test_command_lines_that_are_wrong(
    schedule: str, machine: str | None, op: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        judge(by_hand(schedule, machine=machine, op=op))


TEXT = """
topology t { ranks a[3] link a[i] -> a[(i + 1) % 3] at 1 GB/s for i in 0..3 }
schedule own of all_reduce(sum) on t { chunks 1 step: send c = 0 from 0 to 1 reduce }
schedule lent(m, op = min) of all_reduce(op) on m { chunks 1 step: send c = 0 from 0 to 1 reduce }
"""


def test_a_schedule_of_a_file_runs_on_the_files_machine() -> None:
    source = Source("test", TEXT)
    assert by_hand("own", source=source).problem.topology.name == "t"
    hand = by_hand("lent", source=source, op="max")
    assert (hand.problem.topology.name, str(hand.problem.operator)) == ("t", "max")
    assert len(by_hand("lent(ring(5))", source=source).problem.topology.ranks) == 5
    assert by_hand("ring", source=source).steps == 4
    with pytest.raises(InputError, match="schedule 'own' has a machine of its own"):
        by_hand("own", source=source, machine="ring(4)")
    with pytest.raises(InputError, match="takes no op"):
        by_hand("own", source=source, op="max")


def test_the_machines_of_a_plan_lose_what_it_forbids() -> None:
    plan = "plan {{ run ring(complete(4)) forbid {} }}"
    (hand,) = load(Source("test", plan.format("node[0] <-> node[2]"))).plans
    assert isinstance(hand, Handwritten)
    assert isinstance(judge(hand).outcome, Found)
    (hand,) = load(Source("test", plan.format("node[0] -> node[1]"))).plans
    assert isinstance(hand, Handwritten)
    with pytest.raises(InputError):
        judge(hand)
