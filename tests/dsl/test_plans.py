"""Plans: every option, and what follows from leaving it out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roundelay.dsl.loader import load
from roundelay.dsl.model import ELEMENT_NAMES, Limits, Objective
from roundelay.dsl.source import InputError, Source


def limits(options: str) -> Limits:
    source = Source("test", f"plan {{ synthesize all_reduce(sum) on ring(4) {options} }}")
    (plan,) = load(source).plans
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
    assert [plan.topology.name for plan in module.plans] == ["ring(3)", "ring(2)"]


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
    assert module.plans[0].operator is not None
    assert module.plans[0].operator.name == "op"
    assert module.warnings == ()
    names = (module.topology_names, module.operator_names, module.collective_names)
    assert names == (("two",), ("op",), ("both",))


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
    (plan,) = module.plans
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
    assert module.plans[0].collective.name == module.plans[0].topology.name == "f"
