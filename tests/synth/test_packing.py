"""Packing: rates that are known by hand, limits, and what it leaves alone."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Limits, Problem
from roundelay.synth.checker import check
from roundelay.synth.packing.growth import Dates, grow
from roundelay.synth.packing.packer import list_lengths, pack
from roundelay.synth.timeline import price

from . import problems as p

if TYPE_CHECKING:
    from roundelay.dsl.model import Collective, Operator, Topology
    from roundelay.synth.schedule import Schedule

_MOST = Fraction(9, 10)  # Of what a machine carries, in few steps.
PAIR = p.machine("pair", 3, [(0, 1, 4, 25), (0, 3, 1, 24), (1, 3, 1, 24), (2, 3, 1, 24)], 1)
"""Three ranks at a switch, two of them joined by more."""


def _best(problem: Problem, enough: Fraction, **asked: int) -> Schedule:
    """The first schedule of so many chunks a round, else the last."""
    best = None
    for best in pack(problem, deadline=time.monotonic() + 60, **asked):
        check(best)
        if best.chunks >= enough * price(best).rounds:
            break
    assert best is not None
    return best


def _rate(schedule: Schedule) -> Fraction:
    return schedule.chunks / price(schedule).rounds


@pytest.mark.parametrize(
    ("topology", "collective", "bound"),
    [
        (p.ring(4), p.all_reduce(4), Fraction(4, 3)),  # 2 (n - 1) of 2 n messages a round.
        (p.line(3), p.all_reduce(3), Fraction(1)),  # Every link both ways.
        (p.dgx1((0, 1, 2)), p.all_reduce(3), Fraction(2)),  # Of 1, 1 and 2 two each.
        (PAIR, p.all_reduce(3), Fraction(1)),  # What the third rank's link carries.
        (p.ring(4), p.all_gather(4), Fraction(2, 3)),  # Two links into each rank for three shards.
        (p.ring(4), p.reduce_scatter(4), Fraction(2, 3)),
        (p.ring(4), p.broadcast(4), Fraction(2)),  # Two links out of the root.
        (p.ring(4), p.reduce(4, 1), Fraction(2)),
    ],
)  # fmt: skip
def test_nearly_all_of_a_machine_is_used(
    topology: Topology, collective: Collective, bound: Fraction
) -> None:
    operator = p.SUM if collective.combines else None
    best = _best(Problem(topology, collective, operator), bound * _MOST)
    assert bound * _MOST <= _rate(best) <= bound


def test_a_seed_gives_the_same_schedules() -> None:
    problem = Problem(p.ring(4), p.all_reduce(4), p.SUM)
    first, again, other = (list(islice(pack(problem, seed=s), 5)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_each_schedule_is_cheaper_than_the_last() -> None:
    problem = Problem(p.ring(5), p.all_reduce(5), p.SUM)
    costs = [price(each).per_byte for each in islice(pack(problem), 3)]
    assert len(costs) == 3
    assert costs == sorted(set(costs), reverse=True)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(chunks=(5, 7)),
        Limits(steps=(1, 5)),
        Limits(rounds=Fraction(13, 2)),
        Limits(chunks=(2, 4), steps=(5, 9), rounds=Fraction(6)),
    ],
)
def test_limits_are_kept(limits: Limits) -> None:
    problem = Problem(p.ring(4), p.all_reduce(4), p.SUM, limits)
    found = list(pack(problem, deadline=time.monotonic() + 1))
    assert found
    for each in found:
        check(each)
        assert limits.chunks is None or limits.chunks[0] <= each.chunks <= limits.chunks[1]
        assert limits.steps is None or each.steps <= limits.steps[1]
        assert limits.rounds is None or price(each).rounds <= limits.rounds


def test_no_more_steps_than_asked_for() -> None:
    problem = Problem(p.ring(4), p.all_reduce(4), p.SUM)
    found = list(islice(pack(problem, steps=6), 3))
    assert found
    assert all(each.steps <= 6 for each in found)
    # A value goes two links up or down, so up and down take three steps at least.
    assert not list(pack(problem, steps=2))


def test_the_deadline_holds() -> None:
    problem = Problem(p.torus(4, 4), p.all_reduce(16), p.SUM)
    began = time.monotonic()
    assert list(pack(problem, deadline=began + 1))
    assert time.monotonic() - began < 3
    assert not list(pack(problem, deadline=time.monotonic()))


@pytest.mark.parametrize(
    ("collective", "operator", "limits"),
    [
        (p.all_to_all(4), None, Limits()),
        (p.scatter(4), None, Limits()),
        (p.gather(4), None, Limits()),
        (p.scan(4), p.SUM, Limits()),  # Its wants share symbols.
        (p.all_reduce(4), p.SUB, Limits()),  # Order counts.
        (p.all_reduce(4), p.SUM, Limits(symmetric=True)),
    ],
)
def test_other_problems_are_left_alone(
    collective: Collective, operator: Operator | None, limits: Limits
) -> None:
    problem = Problem(p.ring(4), collective, operator, limits)
    assert not list(pack(problem, deadline=time.monotonic() + 1))


def test_groups_are_packed_side_by_side() -> None:
    collective = p.within(p.all_reduce, ((0, 1, 2), (3, 4, 5)), 6)
    best = next(pack(Problem(p.complete(6), collective, p.SUM)))
    check(best)
    assert all(each.src // 3 == each.dst // 3 for each in best.sends)


def test_steps_last_as_long_as_links_are_used_well() -> None:
    assert list_lengths(p.ring(4)) == (Fraction(1),)
    # Beside a link of speed 1, one of 3/2 is used fully every two rounds.
    unequal = p.machine("unequal", 3, [(0, 1, 1, 2), (1, 2, 1, 3)])
    assert list_lengths(unequal)[-1] == 2


def test_a_tree_takes_the_cheapest_messages_and_times() -> None:
    # Routes 0 -> 1, 0 -> 2 and 1 -> 2; the direct way to 2 is dear except in the last step.
    rows = [[5, 1, 9], [9, 9, 4], [9, 9, 2]]
    arcs = [[(0, 1), (1, 2)], [(2, 2)], []]
    tree = grow(0, 0, rows, arcs, frozenset({1, 2}), timed=True)
    assert tree == ((1, 0, 0), (2, 2, 1))
    dates = Dates(0, tree, rows, 3)
    assert dates.from_step[:2] == [3, 3]
    assert dates.choose(0) == [(0, 1), (2, 2)]
    assert grow(2, 0, rows, arcs, frozenset({0}), timed=True) is None
