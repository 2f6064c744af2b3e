"""The larger machines of the library against graphs made independently, and published numbers."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

from roundelay.dsl.loader import problem

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology

GB = 10**9
FACTS = Path(__file__).parent.parent.parent.parent / "shared/facts/optima.json"

SIZES = {
    # ranks, switches, directed links, bytes per second out of each rank in GB/s
    "dgx1": (8, 0, 32, 150),
    "ndv2": (8, 0, 32, 150),
    "dgx2": (16, 1, 32, 150),
    "dgx_a100": (8, 1, 16, 300),
    "hgx_h100": (8, 4, 64, 450),
    "dgx_b200": (8, 2, 32, 900),
    "nvl72": (72, 18, 2592, 900),
    "mi300x": (8, 0, 56, 448),
    "mi250": (16, 0, 56, 350),
    "tpu_torus(4, 4, 4)": (64, 0, 384, 300),
    "fat_tree(4)": (16, 20, 96, 50),
    "fat_tree(8)": (128, 80, 768, 50),
    "dragonfly(9, 4, 2)": (72, 36, 324, 25),
    "pod(hgx_h100, 4)": (32, 17, 320, 500),
    "pod(torus(4, 4), 2)": (32, 1, 192, 250),
}


def machine(text: str) -> Topology:
    return problem(text, "all_gather", ()).topology


def graph(it: Topology) -> nx.DiGraph:
    result = nx.DiGraph()
    result.add_nodes_from(range(len(it.ranks)), kind="rank")
    for number, switch in enumerate(it.switches, len(it.ranks)):
        result.add_node(number, kind=f"switch {switch.multicast} {switch.reduce}")
    for link in it.links:
        result.add_edge(link.src, link.dst, capacity=link.capacity, latency=link.latency)
    return result


def same(one: Topology, other: nx.DiGraph) -> bool:
    return bool(
        nx.is_isomorphic(
            graph(one),
            other,
            node_match=lambda a, b: a["kind"] == b["kind"],
            edge_match=lambda a, b: a["capacity"] == b["capacity"],
        )
    )


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    it = machine(text)
    ranks, switches, links, out = SIZES[text]
    assert (len(it.ranks), len(it.switches), len(it.links)) == (ranks, switches, links)
    for direction in ("src", "dst"):
        total: Counter[int] = Counter()
        for link in it.links:
            total[getattr(link, direction)] += int(link.capacity)
        assert {total[rank] for rank in range(ranks)} == {out * GB}


def test_both_numberings_of_a_dgx1_are_the_same_machine() -> None:
    assert same(machine("dgx1"), graph(machine("ndv2")))
    # The check itself tells machines apart: one link of another width is another machine.
    other = graph(machine("ndv2"))
    other.edges[0, 1]["capacity"] = Fraction(25 * GB)
    assert not same(machine("dgx1"), other)


@pytest.mark.parametrize("name", ["hgx_h100", "dgx_b200", "nvl72"])
def test_switches_that_multicast_and_reduce(name: str) -> None:
    assert {(s.multicast, s.reduce) for s in machine(name).switches} == {(True, True)}


@pytest.mark.parametrize("sides", [(1, 1, 1), (2, 2, 2), (1, 2, 3), (3, 4, 5)])
def test_tpu_torus(sides: tuple[int, int, int]) -> None:
    it = machine(f"tpu_torus{sides}")
    places = list(product(*map(range, sides)))
    assert [rank.name for rank in it.ranks] == [f"chip[{', '.join(map(str, p))}]" for p in places]
    expected = set()
    for place in places:
        for axis, size in enumerate(sides):
            for step in (1, size - 1):
                other = list(place)
                other[axis] = (other[axis] + step) % size
                if tuple(other) != place:
                    expected.add((places.index(place), places.index(tuple(other))))
    assert {(link.src, link.dst) for link in it.links} == expected


def distances(it: Topology) -> dict[int, dict[int, int]]:
    return dict(nx.all_pairs_shortest_path_length(graph(it)))


@pytest.mark.parametrize("k", [2, 4, 6])
def test_fat_tree(k: int) -> None:
    it = machine(f"fat_tree({k})")
    assert len(it.ranks) == k**3 // 4
    assert len(it.switches) == 5 * k * k // 4
    ports = Counter(link.src for link in it.links)
    hosts = len(it.ranks)
    assert {ports[switch] for switch in range(hosts, hosts + len(it.switches))} == {k}
    # On one edge switch 2 links apart, in one pod 4, else 6.
    apart = distances(it)
    half = k // 2
    for a, b in product(range(hosts), repeat=2):
        expected = 0 if a == b else 2 if a // half == b // half else 6
        if expected == 6 and a // half**2 == b // half**2:
            expected = 4
        assert apart[a][b] == expected
    # Any half of the hosts can talk to the other half at full speed.
    flow = graph(it)
    for a in range(hosts):
        flow.add_edge(*(("all", a) if a % 2 else (a, "rest")), capacity=50 * GB)
    assert nx.maximum_flow_value(flow, "all", "rest") == hosts // 2 * 50 * GB


@pytest.mark.parametrize(
    ("groups", "routers", "hosts"), [(9, 4, 2), (5, 4, 1), (1, 3, 1), (2, 1, 3), (6, 2, 2)]
)
def test_dragonfly(groups: int, routers: int, hosts: int) -> None:
    it = machine(f"dragonfly({groups}, {routers}, {hosts})")
    ranks = groups * routers * hosts
    assert len(it.ranks) == ranks
    between: Counter[tuple[int, int]] = Counter()
    outside: Counter[int] = Counter()
    inside = set()
    for link in it.links:
        if link.src < ranks or link.dst < ranks:
            assert max(link.src, link.dst) - ranks == min(link.src, link.dst) // hosts
            continue
        a, b = (link.src - ranks) // routers, (link.dst - ranks) // routers
        if a == b:
            inside.add((link.src, link.dst))
        else:
            between[a, b] += 1
            outside[link.src] += 1
    assert between == {(a, b): 1 for a in range(groups) for b in range(groups) if a != b}
    assert len(inside) == groups * routers * (routers - 1)
    spread = [outside[switch] for switch in range(ranks, ranks + groups * routers)]
    assert max(spread) - min(spread) <= 1


def test_a_dragonfly_needs_three_links_between_routers_at_most() -> None:
    apart = distances(machine("dragonfly(9, 4, 2)"))
    assert max(apart[a][b] for a in range(72) for b in range(72)) == 5


# ----------------------------------------------------------------- numbers computed elsewhere

NETS = {
    "ring8@1": "ring(8, 1 GB/s)",
    "path4@1": "line(4, 1 GB/s)",
    "path8@1": "line(8, 1 GB/s)",
    "mesh4x4@1": "mesh(4, 4, 1 GB/s)",
    "mesh4x8@1": "mesh(4, 8, 1 GB/s)",
    "torus4x4@1": "torus(4, 4, 1 GB/s)",
    "torus8x8@1": "torus(8, 8, 1 GB/s)",
    "torus4x4x4@1": "tpu_torus(4, 4, 4, 1 GB/s)",
    "hypercube3@1": "hypercube(3, 1 GB/s)",
    "hypercube4@1": "hypercube(4, 1 GB/s)",
    "full8@1": "complete(8, 1 GB/s)",
    "DGX1_V100@25": "dgx1",
    "DGX2_V100_nvswitch@150": "dgx2",
    "A100x8@300": "dgx_a100",
    "H100x8@450": "hgx_h100",
    "B200x8@900": "dgx_b200",
    "NVL72@900": "nvl72",
    "MI300X_full8@64": "mi300x",
    "MI250_1x16_50": "mi250",
    "fattree_k4@1": "fat_tree(4, 1 GB/s)",
    "fattree_k8@1": "fat_tree(8, 1 GB/s)",
    "dragonfly_a4p2h2@1": "dragonfly(9, 4, 2, 1 GB/s)",
}


def facts() -> Any:
    if not FACTS.exists():
        pytest.skip("the table of optima is not here")
    return json.loads(FACTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("net", NETS)
def test_cuts_are_those_of_the_published_nets(net: str) -> None:
    known = facts()["optima"][net]
    it = machine(NETS[net])
    ranks = len(it.ranks)
    assert ranks == known["N"]
    into: Counter[int] = Counter()
    for link in it.links:
        into[link.dst] += int(link.capacity)
    if known["ag_bottleneck"] == "all-but-one GPU":
        least = Fraction(min(into[rank] for rank in range(ranks)), GB)
        assert (ranks - 1) / least == Fraction(known["allgather_inv_x"])
    flows = graph(it)
    ends = range(1, ranks, max(1, ranks // 16))
    least_flow = min(nx.maximum_flow_value(flows, 0, end) for end in ends)
    assert least_flow == known["broadcast_min_max"][0] * GB


@pytest.mark.parametrize(
    ("table", "name", "bandwidth"),
    [
        ("DGX1_nvlink_multiplicity", "dgx1", 25),
        ("NDv2_multiplicity", "ndv2", 25),
        ("NDv2_multiplicity", "dgx1", 25),
        ("MI250_multiplicity", "mi250", 50),
    ],
)
def test_links_are_those_of_the_published_tables(table: str, name: str, bandwidth: int) -> None:
    rows = facts()["links"][table]
    counts: dict[tuple[int, int], int] = {}
    if len(rows[0]) == 3:
        for a, b, count in rows:
            counts[a, b] = counts[b, a] = count
    else:
        counts = {(a, b): n for a, row in enumerate(rows) for b, n in enumerate(row) if n}
    known = nx.DiGraph()
    known.add_nodes_from({end for pair in counts for end in pair}, kind="rank")
    for (a, b), count in counts.items():
        known.add_edge(a, b, capacity=Fraction(count * bandwidth * GB))
    it = machine(name)
    assert same(it, known)
    if name in table.lower() or name == "mi250":
        assert {(link.src, link.dst): link.count for link in it.links} == counts
