"""Plans: every option, and what follows from leaving it out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roundelay.dsl.loader import Module, load
from roundelay.dsl.model import ELEMENT_NAMES, Handwritten, Limits, Objective, Problem
from roundelay.dsl.source import InputError, Source


def problems(module: Module) -> list[Problem]:
    return [plan for plan in module.plans if isinstance(plan, Problem)]


def limits(options: str) -> Limits:
    source = Source("test", f"plan {{ synthesize all_reduce(sum) on ring(4) {options} }}")
    (plan,) = problems(load(source))
    return plan.limits


def test_nothing_asked_is_nothing_limited() -> None:
    assert limits("") == Limits()


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("chunks 8", Limits(chunks=(8, 8))),
        ("chunks 1..8", Limits(chunks=(1, 8))),
        ("chunks 2 * 2 .. 2 ** 3", Limits(chunks=(4, 8))),
        ("steps 2..6", Limits(steps=(2, 6))),
        ("steps 0", Limits(steps=(0, 0))),
        ("rounds 6", Limits(rounds=Fraction(6))),
        ("rounds 7 / 2", Limits(rounds=Fraction(7, 2))),
        ("rounds 2.5", Limits(rounds=Fraction(5, 2))),
        ("sizes 4 KiB .. 256 MiB", Limits(sizes=(4096, 1 << 28))),
        ("sizes 1 MB", Limits(sizes=(10**6, 10**6))),
        ("budget 60 s", Limits(budget=Fraction(60))),
        ("budget 1 s / 4", Limits(budget=Fraction(1, 4))),
        ("minimize latency", Limits(objective=Objective("latency"))),
        ("minimize bandwidth", Limits(objective=Objective("bandwidth"))),
        ("minimize time at 1 MiB", Limits(objective=Objective("time", 1 << 20))),
        ("in place", Limits(in_place=True)),
        ("symmetric", Limits(symmetric=True)),
        ("at most 2 ** 3 channels a link", Limits(channels=8)),
        ("forbid node[0] -> node[1]", Limits(forbidden=(("node[0]", "node[1]"),))),
        (
            "forbid node[0] <-> node[1]",
            Limits(forbidden=(("node[0]", "node[1]"), ("node[1]", "node[0]"))),
        ),
        (
            "forbid node[0] -> node[1] in place forbid node[2] -> node[3]",
            Limits(forbidden=(("node[0]", "node[1]"), ("node[2]", "node[3]")), in_place=True),
        ),
        *((f"element {name}", Limits(element=name)) for name in ELEMENT_NAMES),
    ],
)
def test_options(option: str, expected: Limits) -> None:
    assert limits(option) == expected


@pytest.mark.parametrize(
    "option",
    [
        "chunks 0", "chunks 1 / 1.5", "chunks 3..2", "chunks 1..0", "chunks -1", "chunks 1 B",
        "steps -1", "rounds -1", "rounds 1 B", "sizes 1", "sizes 0.5 B", "sizes 2 B .. 1 B",
        "budget 0 s", "budget 1", "minimize", "minimize time", "minimize time at 1 us",
        "minimize speed", "element int", "chunks n", "chunks 1 == 1", "chunks 1..2..3",
        "at most 0 channels a link", "at most 1 B channels a link", "forbid node[0] -> node[2]",
        "chunks 10 ** 10", "sizes 2 ** 70 * 1 B", "budget 10 ** 20 * 1 s",
        "rounds 10 ** 20", "minimize time at 2 ** 70 * 1 B",
    ],
)  # fmt: skip
def test_options_that_are_wrong(option: str) -> None:
    with pytest.raises(InputError):
        limits(option)


def test_several_plans_keep_their_order() -> None:
    module = load(
        Source(
            "test",
            "plan { synthesize all_gather on ring(3) }\nplan { synthesize all_gather on ring(2) }",
        )
    )
    assert [plan.topology.name for plan in problems(module)] == ["ring(3)", "ring(2)"]


def test_a_plan_may_come_before_what_it_names() -> None:
    module = load(
        Source(
            "test",
            "plan { synthesize both(op) on two }\n"
            "collective both(f) { given x[r, c] want y[r, c] = f(x[s, c] for s in ranks) }\n"
            "operator op(a, b) = a + b\n"
            "topology two { ranks a, b link a <-> b at 1 GB/s, 1 us }",
        )
    )
    (plan,) = problems(module)
    assert plan.operator is not None
    assert plan.operator.name == "op"
    assert module.warnings == ()
    assert dict(module.declared) == {
        "topology": ("two",), "element": (), "operator": ("op",), "collective": ("both",),
        "schedule": (),
    }  # fmt: skip


def test_a_text_may_take_the_place_of_the_library() -> None:
    module = load(
        Source(
            "test",
            "topology ring(n) { ranks a[n] switch s\n"
            "  link a[i] <-> s at 1 GB/s, 1 us for i in 0..n }\n"
            "operator sum(a, b) = a + b\n"
            "plan { synthesize all_reduce(sum) on ring(3) }",
        )
    )
    assert [fault.message for fault in module.warnings] == [
        "topology 'ring' takes the place of the library's",
        "operator 'sum' takes the place of the library's",
    ]
    (plan,) = problems(module)
    assert len(plan.topology.switches) == 1
    assert plan.operator is not None
    assert plan.operator.identity is None


def test_kinds_do_not_share_names() -> None:
    module = load(
        Source(
            "test",
            "topology f { ranks a }\noperator f(a, b) = a\n"
            "collective f { given x[r, c] want y[r, c] = x[r, c] }\n"
            "plan { synthesize f on f }",
        )
    )
    assert problems(module)[0].collective.name == problems(module)[0].topology.name == "f"


def test_what_a_plan_forbids_is_gone() -> None:
    source = Source(
        "test",
        "plan { synthesize all_gather on ring(4) forbid node[0] <-> node[1] forbid node[2] }\n"
        "plan { synthesize all_gather on ring(4) forbid node[3] -> node[2], node[2] -> node[3] }",
    )
    with pytest.raises(InputError, match="no links lead from node"):
        load(source)
    (plan,) = problems(load(Source("test", source.text.splitlines()[1])))
    pairs = {(link.src, link.dst) for link in plan.topology.links}
    assert pairs == {(0, 1), (1, 0), (1, 2), (2, 1), (3, 0), (0, 3)}


def test_an_operator_says_the_element() -> None:
    (plan,) = problems(load(Source("test", "plan { synthesize all_reduce(merge) on ring(4) }")))
    assert plan.limits.element == "partial"


def test_a_plan_may_run_a_schedule_by_hand() -> None:
    (plan,) = load(
        Source("test", "plan { run ring(ring(4), max) sizes 1 KiB .. 4 KiB element i32 in place }")
    ).plans
    assert isinstance(plan, Handwritten)
    assert (plan.name, plan.chunks, plan.steps, len(plan.moves)) == ("ring", 4, 6, 24)
    assert plan.problem.operator is not None
    assert plan.problem.operator.name == "max"
    assert plan.problem.limits == Limits(sizes=(1024, 4096), element="i32", in_place=True)
