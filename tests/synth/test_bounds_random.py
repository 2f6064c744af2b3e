"""Random machines: bounds against all cuts and all partitions, counted by other means."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

import networkx
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from roundelay.synth.bounds import bound
from roundelay.synth.bounds.flow_door import Flows
from roundelay.synth.bounds.flow_fallback import least_cut
from roundelay.synth.certificates import verify

from .problems import (
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    copies,
    gather,
    machine,
    reduce_scatter,
    scan,
    scatter,
    stencil,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Topology


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    """Up to nine nodes, some of them switches, links both ways alike or not; all connected."""
    ranks = draw(st.integers(2, 6))
    switches = draw(st.integers(0, 9 - ranks if ranks > 4 else 3))
    two_way = draw(st.booleans())
    random = Random(draw(st.integers(0, 10**6)))
    nodes = ranks + switches
    links = {(i, (i + 1) % ranks): random.randint(1, 3) for i in range(ranks)}
    for i in range(nodes):
        for j in range(nodes):
            if i != j and random.random() < 0.3:
                links.setdefault((i, j), random.randint(1, 3))
    if two_way:
        links = {(i, j): n for (i, j), n in links.items() if i < j or (j, i) not in links}
    made = [(i, j, n) for (i, j), n in sorted(links.items())]
    return machine("random", ranks, made, switches, two_way=two_way)


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


class Reference:
    """Min cuts between sets of ranks by networkx."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.graph = networkx.DiGraph()
        for link in topology.links:
            self.graph.add_edge(link.src, link.dst, capacity=link.count)
        self.known: dict[frozenset[int], int] = {}

    def out(self, side: frozenset[int]) -> int:
        if side not in self.known:
            graph = self.graph.copy()
            for rank in range(len(self.topology.ranks)):
                ends = ("from", rank) if rank in side else (rank, "to")
                graph.add_edge(*ends)
            self.known[side] = int(networkx.maximum_flow_value(graph, "from", "to"))
        return self.known[side]

    def all_reduce(self) -> Fraction:
        """Rounds by the best cut or partition."""
        ranks = list(range(len(self.topology.ranks)))
        whole = frozenset(ranks)
        best = Fraction(0)
        for parts in partitions(ranks):
            if len(parts) > 1:
                sides = [frozenset(part) for part in parts]
                for each in (sides, [whole - side for side in sides]):
                    carried = sum(map(self.out, each))
                    best = max(best, Fraction(2 * (len(parts) - 1), carried))
                    best = max(best, *(Fraction(1, self.out(side)) for side in each))
        return best

    def all_gather(self, *, reverse: bool = False) -> Fraction:
        """Rounds by the best cut, of an all-gather or (``reverse``) of a reduce-scatter."""
        ranks = range(len(self.topology.ranks))
        return max(
            Fraction(len(ranks) - size if reverse else size, self.out(frozenset(side)))
            for size in range(1, len(ranks))
            for side in combinations(ranks, size)
        )


@settings(max_examples=60, deadline=None)
@given(machines())
def test_all_reduce_is_the_best_partition(topology: Topology) -> None:
    problem = ask(topology, all_reduce(len(topology.ranks)))
    found = bound(problem)
    assert found.rounds == Reference(topology).all_reduce()
    for certificate in found.certificates:
        verify(problem, certificate)
    if found.reachable is None:
        event("nothing known to reach")
    else:
        event("tight" if found.tight else "a gap")
        assert found.reachable >= found.per_byte
    if found.rs_ag is not None:
        assert found.rs_ag >= found.per_byte


@settings(max_examples=60, deadline=None)
@given(machines())
def test_all_gather_and_reduce_scatter_are_the_best_cut(topology: Topology) -> None:
    ranks = len(topology.ranks)
    for make, reverse in ((all_gather, False), (reduce_scatter, True)):
        problem = ask(topology, make(ranks))
        found = bound(problem)
        assert found.rounds == Reference(topology).all_gather(reverse=reverse)
        for certificate in found.certificates:
            verify(problem, certificate)


@settings(max_examples=40, deadline=None)
@given(machines(), st.integers(0, 10**6))
def test_all_certificates_are_accepted(topology: Topology, seed: int) -> None:
    ranks = len(topology.ranks)
    random = Random(seed)
    wanted = {s: tuple(r for r in range(ranks) if random.random() < 0.4) for s in range(ranks)}
    groups = ((0, 1), tuple(range(2, ranks))) if ranks > 3 else (tuple(range(ranks)),)
    for collective in (
        scan(ranks),
        all_to_all(ranks),
        broadcast(ranks),
        gather(ranks),
        scatter(ranks),
        copies("some", ranks, wanted),
        within(all_reduce, groups, ranks),
        within(all_gather, groups, ranks),
        *([stencil(ranks)] if ranks > 2 else []),
    ):
        problem = ask(topology, collective)
        found = bound(problem)
        for certificate in found.certificates:
            verify(problem, certificate)
        assert found.reachable is None or found.reachable >= found.per_byte


@settings(max_examples=40, deadline=None)
@given(machines())
def test_gather_is_a_flow(topology: Topology) -> None:
    """Values on their own to one rank: what a flow from all of them takes."""
    ranks = len(topology.ranks)
    found = bound(ask(topology, gather(ranks)))
    graph = networkx.DiGraph()
    for link in topology.links:  # So many rounds fill every link so many times.
        graph.add_edge(link.src, link.dst, capacity=link.count * found.rounds.numerator)
    for rank in range(1, ranks):
        graph.add_edge("from", rank, capacity=found.rounds.denominator)
    value = networkx.maximum_flow_value(graph, "from", 0)
    assert value == (ranks - 1) * found.rounds.denominator


@pytest.mark.parametrize("scale", [1, 2**70])
def test_flows_of_any_size(scale: int) -> None:
    """Beyond 64 bits another algorithm takes over; both find the same nearest and farthest cuts."""
    random = Random(3)
    for _ in range(60):
        nodes = random.randint(3, 8)
        arcs = [
            (u, v, random.randint(0, 4) * scale)
            for u in range(nodes)
            for v in range(nodes)
            if u != v and random.random() < 0.5
        ]
        flows = Flows(nodes, arcs)
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(nodes))
        for u, v, capacity in arcs:
            graph.add_edge(u, v, capacity=capacity)
        expected = networkx.maximum_flow_value(graph, 0, nodes - 1)
        ends = [(u, v) for u, v, _ in arcs]
        rooms = [capacity for _, _, capacity in arcs]
        for far in (False, True):
            value, side = flows.cut(0, nodes - 1, far=far)
            assert (value, side) == least_cut(nodes, ends, rooms, 0, nodes - 1, far=far)
            inside = set(side)
            crossing = sum(c for u, v, c in arcs if u in inside and v not in inside)
            assert value == expected == crossing


def test_capacities_that_change() -> None:
    flows = Flows(3, [(0, 1, 5), (1, 2, 3)])
    assert flows.cut(0, 2) == (3, [0, 1])
    flows.put([1], [2**80])
    assert flows.cut(0, 2) == (5, [0])
    flows.put([0], [2**81])
    assert flows.cut(0, 2) == (2**80, [0, 1])
    flows.put([0, 1], [7, 9])
    assert flows.cut(0, 2) == (7, [0])
