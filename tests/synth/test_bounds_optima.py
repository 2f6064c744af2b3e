"""Known optima and closed forms, and what certificates make of them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import pytest

from roundelay.synth.bounds import bound
from roundelay.synth.certificates import verify

from .nets import NETS, OPTIMA, boxes, cube, grid, star
from .problems import (
    GB,
    MAX,
    SUB,
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    copies,
    dgx1,
    gather,
    line,
    machine,
    reduce,
    reduce_scatter,
    ring,
    scatter,
    switched,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Collective, Operator, Topology
    from roundelay.synth.schedule import Bound

FACTS = Path(__file__).parents[3] / "shared" / "facts" / "optima.json"


def proved(
    topology: Topology, make: Callable[[int], Collective], operator: Operator = SUM
) -> Bound:
    """The bound, with certificates that are accepted."""
    problem = ask(topology, make(len(topology.ranks)), operator)
    found = bound(problem)
    for certificate in found.certificates:
        verify(problem, certificate)
    assert found.certificates[1].value == found.rounds
    assert found.reachable is None or found.reachable >= found.per_byte
    return found


def algbw(found: Bound) -> Fraction:
    """GB/s."""
    return 1 / (found.per_byte * GB)


@pytest.mark.parametrize("name", OPTIMA)
def test_known_optima(name: str) -> None:
    gathered, reduced, both, exchanged = map(Fraction, OPTIMA[name])
    topology = NETS[name]()
    for make, expected in (
        (all_gather, gathered),
        (reduce_scatter, gathered),
        (all_reduce, reduced),
        (all_to_all, exchanged),
    ):
        found = proved(topology, make)
        assert algbw(found) == expected, make
        assert found.tight, make
        assert found.bottleneck
        if make is all_reduce:
            assert found.rs_ag is not None
            assert 1 / (found.rs_ag * GB) == both
        else:
            assert found.rs_ag is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_all_known_optima(name: str) -> None:
    if not FACTS.exists():
        pytest.skip("the table of optima is not here")
    facts = json.loads(FACTS.read_text())["optima"]
    assert set(facts) == set(NETS)
    known = facts[name]
    topology = NETS[name]()
    assert len(topology.ranks) == known["N"]
    for make, key in (
        (all_gather, "allgather_algbw"),
        (reduce_scatter, "reducescatter_algbw"),
        (all_reduce, "allreduce_lp"),
        (all_to_all, "alltoall_algbw"),
    ):
        found = proved(topology, make)
        assert found.tight
        if known[key] is not None:
            assert float(algbw(found)) == pytest.approx(known[key], abs=6e-5)
        if make is all_gather:
            assert 1 / algbw(found) * known["N"] == Fraction(known["allgather_inv_x"])
        if make is all_reduce:
            assert found.rs_ag is not None
            both = float(1 / (found.rs_ag * GB))
            assert both == pytest.approx(known["rs_plus_ag_allreduce"], abs=6e-5)
    low, high = known["broadcast_min_max"]
    roots = range(known["N"]) if known["N"] <= 16 else (0, known["N"] - 1)
    rates = [float(algbw(proved(topology, partial(broadcast, root=root)))) for root in roots]
    assert all(low - 6e-5 <= rate <= high + 6e-5 for rate in rates)
    if known["N"] <= 16:
        assert (min(rates), max(rates)) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize("n", [3, 4, 5, 8, 13, 32])
def test_rings_lines_complete_graphs_and_switches(n: int) -> None:
    share = Fraction(n, n - 1)
    assert algbw(proved(ring(n), all_gather)) == 2 * share
    assert algbw(proved(ring(n), all_reduce)) == share
    assert algbw(proved(line(n), all_gather)) == share
    assert algbw(proved(line(n), all_reduce)) == 1
    assert algbw(proved(complete(n), all_gather)) == n
    assert algbw(proved(complete(n), all_reduce)) == Fraction(n, 2)
    assert algbw(proved(complete(n), all_to_all)) == n
    for found in (proved(star(n, 7), all_gather), proved(star(n, 7), all_to_all)):
        assert algbw(found) == 7 * share
        assert found.tight
    assert algbw(proved(star(n, 7), all_reduce)) == Fraction(7, 2) * share


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5), (4, 4), (3, 3, 3), (2, 7), (5, 6)])
def test_meshes_and_tori(sizes: tuple[int, ...]) -> None:
    ranks = 1
    for size in sizes:
        ranks *= size
    if min(sizes) > 2:
        torus = grid(*sizes, wrap=True)
        assert algbw(proved(torus, all_gather)) == Fraction(2 * len(sizes) * ranks, ranks - 1)
        assert algbw(proved(torus, all_reduce)) == Fraction(len(sizes) * ranks, ranks - 1)
    if len(sizes) == 2:
        a, c = sizes
        found = proved(grid(a, c), all_reduce)
        assert algbw(found) == Fraction(2 * ranks - a - c, ranks - 1)
        assert found.tight


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4, 5])
def test_cubes(dimensions: int) -> None:
    ranks = 2**dimensions
    found = proved(cube(dimensions), all_gather)
    assert (found.steps, algbw(found)) == (dimensions, Fraction(dimensions * ranks, ranks - 1))


def test_every_connected_part_of_a_dgx1() -> None:
    gains: dict[int, list[float]] = {}
    for size in range(3, 8):
        for only in combinations(range(8), size):
            topology = dgx1(only)
            seen = {0}
            for _ in only:
                seen |= {link.dst for link in topology.links if link.src in seen}
            if len(seen) == size:
                found = proved(topology, all_reduce)
                assert found.tight
                assert found.rs_ag is not None
                gains.setdefault(size, []).append(float(found.rs_ag / found.per_byte))
    every = [gain for each in gains.values() for gain in each]
    assert len(every) == 180
    assert sum(gain > 1.01 for gain in every) == 174
    means = [round(mean(gains[size]), 2) for size in range(3, 8)]
    assert means == [1.31, 1.41, 1.47, 1.39, 1.29]


def test_a_thin_link_between_two_pairs() -> None:
    links = [(0, 1, 1, 50), (2, 3, 1, 50), *((g, 4 + g // 2, 1, 24) for g in range(4))]
    found = proved(machine("sockets", 4, [*links, (4, 5, 1, 10)], 2), all_reduce)
    assert algbw(found) == 10
    assert found.bottleneck == "gpu[0], gpu[1] can send only 10 GB/s to the other 2 ranks"


def test_a_pair_and_one_behind_a_bus() -> None:
    links = [(0, 1, 1, 50), *((g, 3, 1, 24) for g in range(3))]
    found = proved(machine("pair and one", 3, links, 1), all_reduce)
    assert algbw(found) == 24
    assert found.tight
    assert found.bottleneck == "gpu[2] can receive only 24 GB/s from the other 2 ranks"


def test_bottlenecks_in_words() -> None:
    assert proved(boxes(4, 8, 300, 25), all_gather).bottleneck == (
        "gpu[0] to gpu[7] can receive only 200 GB/s from the other 24 ranks"
    )
    assert proved(ring(4), all_reduce).bottleneck == (
        "the 4 ranks can pass only 8 GB/s between them, all together"
    )


def test_switches_that_combine() -> None:
    """In-network reduction halves an all-reduce on one switch, and helps no all-gather."""
    plain, able = switched(8, 4), switched(8, 4, flags=True)
    assert algbw(proved(plain, all_reduce)) == Fraction(16, 7)
    found = proved(able, all_reduce)
    assert algbw(found) == 4
    assert found.tight
    assert found.forwarding is not None
    assert algbw(found.forwarding) == Fraction(16, 7)
    assert found.forwarding.tight
    verify(ask(plain, all_reduce(8)), found.forwarding.certificates[1])
    for make in (all_gather, reduce_scatter, all_to_all, broadcast):
        assert proved(able, make).per_byte == proved(plain, make).per_byte
        assert proved(able, make).forwarding is None


def test_operators() -> None:
    """What is proved holds for all operators; trees merge in any order, which not all allow."""
    for operator in (MAX, SUB):
        found = proved(grid(3, 3), all_reduce, operator)
        assert algbw(found) == Fraction(3, 2)
        assert found.tight == operator.commutative


def test_one_root() -> None:
    topology = boxes(2, 4, 100, 10)
    for root in (0, 5):
        for make in (broadcast, reduce):
            found = proved(topology, partial(make, root=root))
            assert algbw(found) == 40
            assert found.tight
        for make in (gather, scatter):
            found = proved(topology, partial(make, root=root))
            assert found.rounds == max(Fraction(4, 4), Fraction(7, 11))
            assert found.tight


def test_links_of_unequal_capacity_each_way() -> None:
    """Three ranks on a one-way ring and a slow way back."""
    links = [(0, 1, 4), (1, 2, 4), (2, 0, 4), (1, 0, 1), (2, 1, 1), (0, 2, 1)]
    topology = machine("uneven", 3, links, two_way=False)
    found = proved(topology, all_reduce)
    assert algbw(found) == Fraction(15, 4)
    assert found.tight


def test_groups() -> None:
    """Rank g of every box with rank g of the others: all at once they need all ports."""
    groups = tuple(tuple(range(g, 32, 8)) for g in range(8))
    topology = boxes(4, 8, 300, 25)
    assert proved(topology, lambda n: within(all_reduce, groups, n)).rounds == Fraction(3, 2)
    assert proved(topology, lambda n: within(all_gather, groups, n)).rounds == 3


def _twice(ranks: int) -> Collective:
    one = all_reduce(ranks)
    return replace(one, blocks=one.blocks * 2)


def test_several_values_at_once() -> None:
    """Two all-reduces are one of twice the size."""
    for topology in (grid(3, 3), NETS["DGX2x2_teccl_125_12.5"]()):
        two = proved(topology, _twice)
        found = proved(topology, all_reduce)
        assert two.rounds == 2 * found.rounds
        assert (two.per_byte, two.rs_ag, two.tight) == (found.per_byte, found.rs_ag, True)


def test_values_that_some_ranks_want() -> None:
    wanted = {0: (1, 2), 3: (2,), 1: (0, 4)}
    found = proved(line(5), lambda n: copies("some", n, wanted))
    assert (found.steps, found.rounds) == (3, Fraction(2))
