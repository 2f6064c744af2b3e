"""The figures of a machine against brute force, another library, and what is known of it."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations
from random import Random

import networkx as nx
import pytest

from roundelay.dsl.model import Link, Rank, Switch, Topology
from roundelay.synth.bisection import bisect
from roundelay.synth.flow import Network
from roundelay.synth.profile import Profile, profile
from roundelay.synth.twins import find_twins
from tests.machines import GB, US, boxes, complete, dgx1, grid, hypercube, ring, star


def random_machine(random: Random, ranks: int, switches: int) -> Topology:
    """Connected by a ring through all nodes, one way here and there, speeds of all kinds."""
    nodes = ranks + switches
    order = random.sample(range(nodes), nodes)
    ends = {(a, b) for a, b in zip(order, [*order[1:], order[0]], strict=True)}
    for _ in range(2 * nodes):
        a, b = random.sample(range(nodes), 2)
        ends |= {(a, b)} if random.random() < 0.3 else {(a, b), (b, a)}
    return Topology(
        "random",
        tuple(Rank(f"r[{i}]") for i in range(ranks)),
        tuple(Switch(f"s[{i}]") for i in range(switches)),
        tuple(
            Link(a, b, random.randint(1, 2), Fraction(random.randint(1, 9), 3), random.choice(
                [Fraction(1), Fraction(1, 2), Fraction(5, 3)]))
            for a, b in sorted(ends)
        ),
    )  # fmt: skip


def graph(topology: Topology) -> nx.DiGraph:
    result = nx.DiGraph()
    result.add_nodes_from(range(len(topology.ranks) + len(topology.switches)))
    for link in topology.links:
        result.add_edge(link.src, link.dst, capacity=link.capacity, latency=link.latency)
    return result


def parted(topology: Topology, side: set[int], rest: set[int]) -> Fraction:
    """The least capacity from some ranks to others, over all sides for the switches."""
    ranks = len(topology.ranks)
    switches = range(ranks, ranks + len(topology.switches))
    least: Fraction | None = None
    for number in range(len(switches) + 1):
        for some in combinations(switches, number):
            near = side | set(some)
            capacity = sum(
                (link.capacity for link in topology.links
                 if link.src in near and link.dst not in near),
                Fraction(0),
            )  # fmt: skip
            least = capacity if least is None else min(least, capacity)
    assert least is not None
    assert not side & rest
    return least


def crossing(topology: Topology, side: tuple[int, ...]) -> Fraction:
    inside = set(side)
    return sum(
        (e.capacity for e in topology.links if e.src in inside and e.dst not in inside),
        Fraction(0),
    )


@pytest.mark.parametrize("seed", range(25))
def test_random_machines_against_brute_force(seed: int) -> None:
    random = Random(seed)
    topology = random_machine(random, random.randint(2, 7), random.choice([0, 0, 1, 3]))
    ranks = len(topology.ranks)
    every = set(range(ranks))
    it = profile(topology)
    net = graph(topology)

    sets = [set(s) for n in range(1, ranks) for s in combinations(range(ranks), n)]
    cuts = {frozenset(s): parted(topology, s, every - s) for s in sets}
    alone = [c for s, c in cuts.items() if len(s) in (1, ranks - 1)]
    assert it.isolating is not None
    assert it.isolating.capacity == min(alone) == crossing(topology, it.isolating.side)
    assert it.weakest is not None
    assert it.weakest.capacity == min(cuts.values()) == crossing(topology, it.weakest.side)
    half = ranks // 2
    halves = [c for s, c in cuts.items() if len(s) in (half, ranks - half)]
    assert it.bisection is not None
    assert it.bisection.exact
    assert it.bisection.high == min(halves)
    side = set(it.bisection.side)
    assert len(side) == half
    assert cuts[frozenset(every - side if it.bisection.inward else side)] == min(halves)

    # A step passes switches alone; latencies add up over whatever lies between.
    steps = nx.DiGraph()
    steps.add_nodes_from(range(ranks))
    for a in range(ranks):
        inner = net.subgraph([a, *range(ranks, len(net))])
        for node in nx.descendants(inner, a) | {a}:
            steps.add_edges_from((a, b) for b in net.successors(node) if b < ranks and b != a)
    lengths = dict(nx.all_pairs_shortest_path_length(steps))
    assert it.steps is not None
    assert it.steps.length == max(max(row.values()) for row in lengths.values())
    assert lengths[it.steps.src][it.steps.dst] == it.steps.length
    times = dict(nx.all_pairs_dijkstra_path_length(net, weight="latency"))
    assert it.latency is not None
    assert it.latency.length == max(times[a][b] for a in range(ranks) for b in range(ranks))
    assert times[it.latency.src][it.latency.dst] == it.latency.length


@pytest.mark.parametrize("seed", range(10))
def test_flows_against_another_library(seed: int) -> None:
    topology = random_machine(Random(seed), 20, 5)
    network, net = Network(topology), graph(topology)
    for sink in range(1, 20):
        capacity, side = network.cut([0], [sink])
        assert Fraction(capacity, network.scale) == nx.maximum_flow_value(net, 0, sink)
        assert crossing(topology, tuple(side)) == Fraction(capacity, network.scale)


@pytest.mark.parametrize("seed", range(10))
def test_twins_may_change_places(seed: int) -> None:
    random = Random(seed)
    base = random.choice([boxes(2, 3), star(5), complete(5), dgx1(), random_machine(random, 5, 1)])
    rates = {(link.src, link.dst): link.capacity for link in base.links}

    def same(a: int, b: int) -> bool:
        swap = {a: b, b: a}
        return rates == {(swap.get(s, s), swap.get(d, d)): c for (s, d), c in rates.items()}

    classes = find_twins(base)
    group = {rank: i for i, members in enumerate(classes) for rank in members}
    assert sorted(group) == list(range(len(base.ranks)))
    for a, b in combinations(range(len(base.ranks)), 2):
        assert same(a, b) == (group[a] == group[b])


@pytest.mark.parametrize(
    ("topology", "capacity"),
    [
        (ring(65), 2),
        (grid(8, 8), 8),
        (grid(4, 9), 5),
        (grid(8, 8, around=True), 16),
        (grid(6, 8, around=True), 12),
        (hypercube(6), 32),
        (star(64), 32),
        (complete(33), 16 * 17),
        (boxes(4, 8, up=3), 6),
    ],
    ids=["ring", "mesh", "odd mesh", "torus", "long torus", "cube", "star", "complete", "boxes"],
)
def test_bisections_that_are_known(topology: Topology, capacity: int) -> None:
    halves = profile(topology).bisection
    assert halves is not None
    assert halves.low <= capacity * GB <= halves.high


@pytest.mark.parametrize(
    ("topology", "capacity"),
    [(grid(8, 8), 8), (grid(8, 8, around=True), 16), (hypercube(6), 32), (ring(65), 2)],
    ids=["mesh", "torus", "cube", "ring"],
)
def test_both_limits_meet_where_an_all_to_all_is_even(topology: Topology, capacity: int) -> None:
    halves = profile(topology).bisection
    assert halves is not None
    assert halves.exact
    assert halves.high == capacity * GB


@pytest.mark.parametrize("seed", range(12))
def test_limits_of_a_large_machine_enclose_the_truth(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    topology = random_machine(random, random.randint(4, 9), random.choice([0, 2]))
    classes = find_twins(topology)
    exact = bisect(topology, classes, 10**6)
    assert exact.exact
    monkeypatch.setattr("roundelay.synth.bisection._SUMS", 0)
    monkeypatch.setattr("roundelay.synth.bisection._FLOWS", 0)
    rough = bisect(topology, classes, 10**6)
    assert 0 < rough.low <= exact.high <= rough.high
    assert rough.method != exact.method
    every = set(range(len(topology.ranks)))
    side = set(rough.side)
    sender = every - side if rough.inward else side
    assert parted(topology, sender, every - sender) == rough.high
    assert bisect(topology, classes, 0).low == 0


def test_groups_of_equal_ranks() -> None:
    it = profile(grid(4, 3))
    assert [len(each.ranks) for each in it.ends] == [6, 4, 2]
    assert [(each.links_out, each.links_in) for each in it.ends] == [(3, 3), (2, 2), (4, 4)]
    assert it.ends[0].out == it.ends[0].into == 3 * GB
    assert it.symmetric


def test_a_ring_in_one_direction() -> None:
    it = profile(ring(6, one_way=True))
    assert not it.symmetric
    assert it.steps is not None
    assert it.latency is not None
    assert it.steps.length == 5
    assert it.latency.length == 5 * US
    assert it.bisection is not None
    assert it.bisection.high == GB


def test_one_rank_and_ranks_out_of_reach() -> None:
    alone = profile(Topology("one", (Rank("a"),), (), ()))
    assert alone.steps is not None
    assert alone.steps.length == 0
    assert (alone.isolating, alone.weakest, alone.bisection) == (None, None, None)
    lost = profile(Topology("lost", (Rank("a"), Rank("b")), (), (Link(0, 1, 1, GB, US),)))
    assert lost.steps is None
    assert len(lost.skipped) == 1


@pytest.mark.parametrize("topology", [grid(32, 32, around=True), star(1024), boxes(128, 8)])
def test_a_thousand_ranks_take_seconds(topology: Topology) -> None:
    start = time.process_time()
    it: Profile = profile(topology)
    assert time.process_time() - start < 20  # Far more than it takes, for machines under load.
    assert it.steps is not None
    assert it.isolating is not None
    assert it.bisection is not None
    assert bool(it.bisection.low and it.weakest) is not bool(it.skipped)
