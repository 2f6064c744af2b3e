"""Little time, large machines and awkward numbers."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations

import pytest

from roundelay.synth.bounds import bound
from roundelay.synth.bounds.network import Network
from roundelay.synth.certificates import verify

from .nets import boxes
from .problems import (
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    machine,
    reduce_scatter,
    within,
)


@pytest.mark.parametrize("budget", [0.0, 0.05])
def test_no_time_leaves_a_certified_bound(budget: float) -> None:
    groups = tuple(tuple(range(g, 64, 8)) for g in range(8))
    topology = boxes(8, 8, 300, 25)
    for collective in (
        *(make(64) for make in (all_gather, reduce_scatter, all_reduce, all_to_all, broadcast)),
        within(all_reduce, groups, 64),
    ):
        problem = ask(topology, collective)
        found, best = bound(problem, budget=budget), bound(problem)
        assert 0 < found.rounds <= best.rounds
        assert found.steps == best.steps
        for certificate in found.certificates:
            verify(problem, certificate)
        assert found.reachable is None or found.reachable >= best.per_byte


def test_large_machines_keep_to_the_budget() -> None:
    """Five hundred ranks around switches; ten times the budget is allowed, for slow days."""
    groups = tuple(tuple(range(g, 512, 8)) for g in range(8))
    topology = boxes(64, 8, 300, 25)
    for collective, rounds in (
        (all_reduce(512), Fraction(63 * 2, 64 * 8)),
        (within(all_reduce, groups, 512), Fraction(63 * 2, 64)),
        (within(all_gather, groups, 512), Fraction(63)),
    ):
        problem = ask(topology, collective)
        start = time.monotonic()
        found = bound(problem, budget=2)
        assert time.monotonic() - start < 20
        assert found.rounds == rounds
        for certificate in found.certificates:
            verify(problem, certificate)


def test_numbers_beyond_64_bits() -> None:
    """Capacities without a common measure: flows in them are left to exact arithmetic."""
    primes = (999983, 999979, 999961, 999959, 999953, 999931, 999917, 999907)
    links = [
        (i, (i + step) % 4, 1, Fraction(primes[i], primes[i + 4]))
        for i in range(4)
        for step in (1, 3)
    ]
    topology = machine("awkward", 4, links, two_way=False)
    assert max(c for _, _, c in Network(topology).arcs) > 2**63
    capacity = {(link.src, link.dst): link.capacity for link in topology.links}

    def out(side: tuple[int, ...]) -> Fraction:
        return sum((c for (u, v), c in capacity.items() if u in side and v not in side),
                   Fraction(0))  # fmt: skip

    steepest = max(
        Fraction(size) / out(side) for size in (1, 2, 3) for side in combinations(range(4), size)
    )
    for collective, expected in (
        (all_gather(4), steepest * topology.slowest),
        (broadcast(4), max(1 / out(s) for n in (1, 2, 3) for s in combinations(range(4), n)
                           if 0 in s) * topology.slowest),
    ):  # fmt: skip
        problem = ask(topology, collective)
        found = bound(problem)
        assert found.rounds == expected
        assert found.tight
        for certificate in found.certificates:
            verify(problem, certificate)


def test_numbers_beyond_floats() -> None:
    """Capacities of a thousand digits: no linear program is asked, and cuts are exact."""
    links = [(i, (i + 1) % 24, 1, Fraction(10**24 + i, 10**24 + 2 * i + 1)) for i in range(24)]
    links += [(24, 1, 1, Fraction(1)), (0, 24, 1, Fraction(1))]
    topology = machine("finer", 24, links, 1)
    assert max(c for _, _, c in Network(topology).arcs) > 10**400
    for collective in (all_reduce(24), all_to_all(24), all_gather(24)):
        problem = ask(topology, collective)
        found = bound(problem)
        assert found.rounds > 0
        for certificate in found.certificates:
            verify(problem, certificate)
