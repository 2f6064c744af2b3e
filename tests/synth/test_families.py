"""Every family of constraints, left out: what it forbids gets through, or nothing changes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import pytest

from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.families import FAMILIES, family
from roundelay.synth.exact.model import Model
from roundelay.synth.exact.plan import encode
from roundelay.synth.schedule import Query

from .problems import (
    MAX,
    SUB,
    SUM,
    all_gather,
    all_reduce,
    ask,
    broadcast,
    complete,
    line,
    reduce,
    ring,
    scan,
)

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.exact.classes import Variant
    from roundelay.synth.exact.plan import Plan

ANY = Fraction(10**6)
Asked: TypeAlias = "tuple[Problem, Query, Variant]"


def has_solution(model: Model) -> bool:
    values = cpsat_door.decide(model, 60, 0, lambda stop: None)
    assert values is not None
    return values is not False


def model_of(asked: Asked, *without: str) -> Plan:
    problem, query, variant = asked
    return encode(problem, query, variant, without=frozenset(without))


COPY: Asked = (ask(line(3), broadcast(3)), Query(1, 1, ANY), "full")  # Two steps to rank 2.
RING: Asked = (ask(ring(4), all_reduce(4)), Query(1, 1, ANY), "full")
TREES: Asked = (ask(line(3), all_reduce(3)), Query(1, 1, ANY), "trees")
NARROW: Asked = (ask(complete(3), all_reduce(3)), Query(3, 1, Fraction(2)), "full")

NEEDED: list[tuple[str, Asked, tuple[str, ...]]] = [
    ("reach", COPY, ()),
    ("reach", RING, ()),
    ("reach", TREES, ("distance",)),
    ("reach", (ask(ring(4), all_reduce(4), MAX), Query(1, 1, ANY), "full"), ()),
    ("hold", COPY, ("distance",)),
    ("hold", TREES, ("distance",)),
    ("made", RING, ("distance",)),
    ("root", TREES, ("distance",)),
    ("climb", (ask(line(3), all_reduce(3)), Query(1, 1, Fraction(1)), "trees"), ("distance",)),
    ("carry", NARROW, ()),
    ("rounds", NARROW, ()),
    ("rounds", (ask(ring(4), all_gather(4)), Query(1, 2, Fraction(1)), "full"), ()),
]


@pytest.mark.parametrize(
    ("name", "asked", "also"), NEEDED, ids=[f"{n}-{a[2]}-{i}" for i, (n, a, _) in enumerate(NEEDED)]
)
def test_what_a_family_forbids_gets_through_without_it(
    name: str, asked: Asked, also: tuple[str, ...]
) -> None:
    assert not has_solution(model_of(asked).model)
    assert not has_solution(model_of(asked, *also).model)
    assert has_solution(model_of(asked, name, *also).model)


def test_once_keeps_a_rank_from_sending_its_sum_twice() -> None:
    """To rank 0 from rank 2 of a ring of four, both ways round: its input would count twice."""

    def both_ways(*without: str) -> bool:
        plan = model_of((ask(ring(4), reduce(4)), Query(1, 2, ANY), "full"), *without)
        (piece,) = plan.pieces
        routes = piece.board.routes  # type: ignore[attr-defined]
        for (step, route), literal in piece.sent.items():  # type: ignore[attr-defined]
            if step == 1 and routes[route].src == 2:  # Mirrored: the first step of the schedule.
                plan.model.clause(literal)
        return has_solution(plan.model)

    assert not both_ways()
    assert both_ways("once")


def test_disjoint_keeps_a_value_from_counting_twice() -> None:
    """Every rank of a ring of four merges both arrivals of the far rank's value."""

    def twice(*without: str) -> bool:
        plan = model_of((ask(ring(4), all_reduce(4)), Query(1, 2, ANY), "full"), *without)
        (piece,) = plan.pieces
        for want, merge in enumerate(piece.results):  # type: ignore[attr-defined]
            far = (want + 2) % 4
            for key, literal in merge.got.items():
                if key[0] == 1:
                    plan.model.clause(literal)
                    plan.model.clause(piece.holds[key][far])  # type: ignore[attr-defined]
        return has_solution(plan.model)

    assert not twice()
    assert twice("disjoint")


def test_runs_keep_what_does_not_stand_side_by_side_apart() -> None:
    """Ranks 0 and 2 must not meet before rank 1 is between them."""
    problem = ask(ring(4), reduce(4, 3), SUB)

    def meets(*without: str) -> bool:
        plan = model_of((problem, Query(1, 3, ANY), "full"), *without)
        (piece,) = plan.pieces
        bits = list(piece.holds.values())  # type: ignore[attr-defined]
        apart = []
        for each in bits:
            if {0, 1, 2} <= each.keys():
                meeting = plan.model.new()
                plan.model.clause(-meeting, each[0])
                plan.model.clause(-meeting, -each[1])
                plan.model.clause(-meeting, each[2])
                apart.append(meeting)
        plan.model.clause(*apart)
        return has_solution(plan.model)

    assert not meets()
    assert meets("runs")


SAME: list[Asked] = [
    (ask(ring(4), all_gather(4)), Query(2, 2, Fraction(3)), "full"),
    (ask(ring(4), all_gather(4)), Query(2, 2, Fraction(5, 2)), "full"),
    (ask(ring(5), all_reduce(5)), Query(2, 2, Fraction(4)), "full"),
    (ask(ring(5), all_reduce(5)), Query(2, 2, Fraction(3)), "full"),
    (ask(ring(5), all_reduce(5)), Query(2, 3, Fraction(3)), "slots"),
    (ask(ring(4), all_reduce(4)), Query(2, 3, Fraction(2)), "slots"),
    (ask(ring(4), all_reduce(4)), Query(4, 4, Fraction(6)), "trees"),
    (ask(ring(4), all_reduce(4)), Query(4, 3, Fraction(6)), "trees"),
    (ask(ring(5), all_reduce(5), MAX), Query(2, 2, Fraction(3)), "full"),
    (ask(line(4), reduce(4), SUM), Query(2, 3, Fraction(4)), "full"),
    (ask(line(4), scan(4), SUB), Query(1, 3, Fraction(3)), "full"),
]


@pytest.mark.parametrize("asked", SAME, ids=[f"{i}-{a[2]}" for i, a in enumerate(SAME)])
@pytest.mark.parametrize("name", ["distance", "slots", "order"])
def test_some_only_save_time(name: str, asked: Asked) -> None:
    problem, query, variant = asked
    for ordered in (False, True):
        whole = encode(problem, query, variant, ordered=ordered)
        less = encode(problem, query, variant, ordered=ordered, without=frozenset({name}))
        assert has_solution(whole.model) == has_solution(less.model)


def test_every_family_is_tried() -> None:
    tried = {name for name, _, _ in NEEDED} | {"once", "disjoint", "runs"}
    tried |= {"same", "together"}  # In test_switch_abilities.
    assert tried | {"distance", "slots", "order"} == set(FAMILIES)


def test_a_family_has_a_name_that_is_known() -> None:
    with pytest.raises(AssertionError):
        family("guess")
    with pytest.raises(ValueError, match="no families of constraints: guess"):
        encode(*COPY, without=frozenset({"guess"}))
    added: list[int] = []

    @family("once")
    def add(model: Model, number: int) -> None:
        added.append(number)

    add(Model(), 1)
    add(Model(without=frozenset({"once"})), 2)
    assert added == [1]
