from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Link
from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.certificates import CertificateError, verify
from roundelay.synth.routes import enumerate_routes, measure_hops
from roundelay.synth.schedule import Bound, Certificate

from .problems import (
    MAX,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    dgx1,
    gather,
    line,
    machine,
    pcie_box,
    reduce,
    reduce_scatter,
    ring,
    scan,
    scatter,
    switched,
    torus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Collective, Topology

CASES: list[tuple[Topology, Callable[[int], Collective], int, str]] = [
    (dgx1(), all_reduce, 2, "7/24"),
    (dgx1(), all_gather, 2, "7/6"),
    (dgx1(), reduce_scatter, 2, "7/6"),
    (dgx1(), all_to_all, 2, "8/3"),
    (dgx1(), broadcast, 2, "1/6"),
    (dgx1(), reduce, 2, "1/6"),
    (dgx1(), gather, 2, "7/6"),
    (dgx1(), scatter, 2, "7/6"),
    (ring(8), all_gather, 4, "7/2"),
    (ring(8), all_reduce, 4, "7/8"),
    (ring(8), all_to_all, 4, "8"),
    (line(8), all_reduce, 7, "1"),
    (line(8), all_gather, 7, "7"),
    (line(4), scan, 3, "1"),
    (complete(8), all_reduce, 1, "1/4"),
    (complete(8), all_gather, 1, "1"),
    (torus(4, 4), all_reduce, 4, "15/32"),
    (torus(4, 4), all_gather, 4, "15/4"),
    (switched(8), all_reduce, 1, "7/4"),
    (switched(8), all_gather, 1, "7"),
    (switched(8, 4), all_reduce, 1, "7/16"),
    (switched(8, 4, flags=True), all_reduce, 1, "1/4"),
    (switched(8, 4, flags=True), all_gather, 1, "7/4"),
    (pcie_box(), all_reduce, 1, "1"),
    (pcie_box(), all_gather, 1, "2"),
]


@pytest.mark.parametrize(("topology", "collective", "steps", "rounds"), CASES)
def test_closed_forms(
    topology: Topology, collective: Callable[[int], Collective], steps: int, rounds: str
) -> None:
    problem = ask(topology, collective(len(topology.ranks)))
    found = bound(problem)
    assert (found.steps, found.rounds) == (steps, Fraction(rounds))
    units = problem.collective.units
    assert found.per_byte == found.rounds / (topology.slowest * units)
    assert len(found.certificates) == 2
    for certificate in found.certificates:
        verify(problem, certificate)


@pytest.mark.parametrize(("topology", "collective", "steps", "rounds"), CASES)
def test_a_bolder_certificate_is_refused(
    topology: Topology, collective: Callable[[int], Collective], steps: int, rounds: str
) -> None:
    problem = ask(topology, collective(len(topology.ranks)))
    for certificate in bound(problem).certificates:
        bolder = Fraction(1) if certificate.kind == "distance" else Fraction(1, 1000)
        with pytest.raises(CertificateError):
            verify(problem, replace(certificate, value=certificate.value + bolder))


def test_certificates_of_other_data_are_refused() -> None:
    problem = ask(ring(4), broadcast(4))
    for wrong in (
        Certificate("distance", Fraction(1), (1, 2)),
        Certificate("distance", Fraction(1), (0,)),
        Certificate("cut", Fraction(1, 2), (1,)),
        Certificate("cut", Fraction(1, 2), (0, 1, 2, 3)),
        Certificate("cut", Fraction(1, 2), ()),
        Certificate("partition", Fraction(1), (0, 1)),
        Certificate("partition", Fraction(1, 8), (0, 0, 0, 0)),
        Certificate("search", Fraction(1)),
    ):
        with pytest.raises(CertificateError):
            verify(problem, wrong)


def test_a_partition_proves_nothing_where_switches_combine() -> None:
    certificate = Certificate("partition", Fraction(7, 16))
    verify(ask(switched(8, 4), all_reduce(8)), certificate)
    with pytest.raises(CertificateError, match="switch"):
        verify(ask(switched(8, 4, flags=True), all_reduce(8)), certificate)


def test_a_partition_into_larger_parts() -> None:
    """Three triangles joined in a ring by thin links: what the triangles exchange is the bound."""
    links = [(3 * b + i, 3 * b + j, 9) for b in range(2) for i, j in ((0, 1), (1, 2), (0, 2))]
    links += [(0, 6, 1), (3, 6, 1), (0, 3, 1)]
    problem = ask(machine("clusters", 7, links), all_reduce(7))
    found = bound(problem)
    assert found.rounds == Fraction(2, 3)
    partition = found.certificates[1]
    assert partition.kind == "partition"
    assert len(set(partition.nodes)) == 3
    verify(problem, partition)


def test_slow_links_set_the_round() -> None:
    mixed = machine("mixed", 2, [(0, 1, 3, 2)], two_way=False)
    back = Link(1, 0, 1, Fraction(10**9), Fraction(0))
    topology = replace(mixed, links=(*mixed.links, back))
    assert bound(ask(topology, broadcast(2, 0))).rounds == Fraction(1, 6)
    assert bound(ask(topology, broadcast(2, 1))).rounds == 1


def test_nothing_to_move() -> None:
    found = bound(ask(ring(1), all_reduce(1)))
    assert found == Bound(0, Fraction(0), Fraction(0), ())


def test_no_way() -> None:
    one_way = machine("one way", 2, [(0, 1, 1)], two_way=False)
    with pytest.raises(UnsupportedError, match=r"gpu\[1\] to gpu\[0\]"):
        bound(ask(one_way, all_reduce(2)))
    assert bound(ask(one_way, broadcast(2, 0))).steps == 1


def test_an_idempotent_operator_has_the_same_bounds() -> None:
    assert bound(ask(ring(5), all_reduce(5), MAX)).rounds == Fraction(4, 5)


def test_bounds_of_random_machines_verify() -> None:
    chance = random.Random(5)
    for _ in range(40):
        ranks, switches = chance.randint(2, 5), chance.randint(0, 2)
        nodes = ranks + switches
        links = [(i, (i + 1) % ranks, chance.randint(1, 3)) for i in range(ranks)]
        for i in range(nodes):
            for j in range(nodes):
                if (j != (i + 1) % ranks or i >= ranks) and i != j and chance.random() < 0.4:
                    links.append((i, j, chance.randint(1, 3)))
        topology = machine("random", ranks, links, switches, two_way=False)
        for collective in (all_reduce, all_gather, reduce_scatter, scan, all_to_all):
            problem = ask(topology, collective(ranks))
            for certificate in bound(problem).certificates:
                verify(problem, certificate)


def test_routes() -> None:
    box = enumerate_routes(pcie_box())
    assert box.complete
    ways = [(r.src, r.dst, len(r.links)) for r in box.routes if r.src == 0]
    assert ways == [(0, 1, 1), (0, 1, 2), (0, 2, 3), (0, 3, 3)]
    boards = enumerate_routes(switched(8, 4))
    assert len(boards.routes) == 8 * 7 * 4
    assert not enumerate_routes(switched(3, 20)).complete


def test_a_detour_over_all_of_another_route_is_dropped() -> None:
    """From 0 to 1 over one switch, or over it and a second one and back to it: not simple."""
    links = [(0, 3, 1), (3, 1, 1), (3, 4, 1), (4, 1, 1), (1, 2, 1), (2, 0, 1)]
    routes = enumerate_routes(machine("detour", 3, links, 2, two_way=False)).routes
    assert [r.links for r in routes if (r.src, r.dst) == (0, 1)] == [(0, 1), (0, 2, 3)]


def test_hops_count_ranks_alone() -> None:
    assert measure_hops(switched(3))[0] == (0, 1, 1)
    assert measure_hops(ring(5))[0] == (0, 1, 2, 2, 1)
    assert measure_hops(machine("one way", 2, [(0, 1, 1)], two_way=False))[1] == (None, 0)
