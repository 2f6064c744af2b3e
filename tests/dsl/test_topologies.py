"""Machines: those of the library against graphs made independently, and what texts mean."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import networkx as nx
import pytest

from roundelay.dsl import drafts, loops
from roundelay.dsl.loader import load, machines, problem
from roundelay.dsl.model import Problem
from roundelay.dsl.source import InputError, Source

if TYPE_CHECKING:
    from roundelay.dsl.model import Topology


def machine(text: str) -> Topology:
    return problem(text, "all_gather", ()).topology


def topology(text: str) -> Topology:
    return load(Source("test", text)).topologies[-1]


def edges(it: Topology) -> set[tuple[int, int]]:
    return {(link.src, link.dst) for link in it.links}


def both(graph: nx.Graph) -> set[tuple[int, int]]:
    order = {node: i for i, node in enumerate(sorted(graph.nodes))}
    pairs = {(order[a], order[b]) for a, b in graph.edges if a != b}
    return pairs | {(b, a) for a, b in pairs}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_families_of_one_size(n: int) -> None:
    assert edges(machine(f"ring({n})")) == both(nx.cycle_graph(n))
    assert edges(machine(f"line({n})")) == both(nx.path_graph(n))
    assert edges(machine(f"complete({n})")) == both(nx.complete_graph(n))
    assert edges(machine(f"star({n})")) == both(nx.star_graph(n - 1))
    assert edges(machine(f"switch({n})")) == {pair for i in range(n) for pair in ((i, n), (n, i))}
    for name in ("ring", "line", "star", "complete", "switch"):
        assert len(machine(f"{name}({n})").ranks) == n


@pytest.mark.parametrize(("w", "h"), list(product([1, 2, 3, 4], [1, 2, 3, 5])))
def test_grids(w: int, h: int) -> None:
    torus, mesh = machine(f"torus({w}, {h})"), machine(f"mesh({w}, {h})")
    assert edges(torus) == both(nx.grid_2d_graph(w, h, periodic=True))
    assert edges(mesh) == both(nx.grid_2d_graph(w, h))
    names = [f"chip[{x}, {y}]" for x in range(w) for y in range(h)]
    assert [rank.name for rank in torus.ranks] == names


@pytest.mark.parametrize("d", [0, 1, 2, 3, 5])
def test_hypercubes(d: int) -> None:
    it = machine(f"hypercube({d})")
    assert len(it.ranks) == 2**d
    assert edges(it) == {
        (a, b) for a in range(2**d) for b in range(2**d) if (a ^ b).bit_count() == 1
    }


def test_synthetic_machines_say_what_they_assume() -> None:
    it = machine("torus(4, 4)")
    assert it.name == "torus(4, 4)"
    assert it.assumed == (("bw", "50 GB/s"), ("lat", "1 us"))
    assert {(link.bandwidth, link.latency, link.count) for link in it.links} == {
        (Fraction(50 * 10**9), Fraction(1, 10**6), 1)
    }
    assert machine("mesh(8, 8, 1 GB/s)").assumed == (("lat", "1 us"),)
    assert machine("ring(4, lat = 2 us, bw = 1 GB/s)").assumed == ()


def test_dgx1() -> None:
    it = machine("dgx1")
    double = [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)]
    single = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)]
    counts = dict.fromkeys(double, 2) | dict.fromkeys(single, 1)
    expected = counts | {(b, a): count for (a, b), count in counts.items()}
    assert {(link.src, link.dst): link.count for link in it.links} == expected
    assert {(link.bandwidth, link.latency) for link in it.links} == {
        (Fraction(25 * 10**9), Fraction(7, 10**7))
    }
    for rank in range(8):
        assert sum(link.count for link in it.links if link.src == rank) == 6


def test_other_real_machines() -> None:
    dgx2, a100 = machine("dgx2"), machine("dgx_a100")
    for it, ranks, bandwidth in ((dgx2, 16, 150), (a100, 8, 300)):
        assert (len(it.ranks), len(it.switches), len(it.links)) == (ranks, 1, 2 * ranks)
        assert {link.capacity for link in it.links} == {Fraction(bandwidth * 10**9)}
    h100 = machine("hgx_h100")
    assert [(s.name, s.multicast, s.reduce) for s in h100.switches] == [
        (f"nvs[{i}]", True, True) for i in range(4)
    ]
    assert edges(h100) == {
        pair for g in range(8) for s in range(8, 12) for pair in ((g, s), (s, g))
    }
    assert {(link.bandwidth, link.latency) for link in h100.links} == {
        (Fraction(1125 * 10**8), Fraction(35, 10**8))
    }
    mi300x = machine("mi300x")
    assert edges(mi300x) == both(nx.complete_graph(8))
    assert mi300x.slowest == 64 * 10**9


def test_pcie_box() -> None:
    it = machine("pcie_box")
    assert [switch.name for switch in it.switches] == ["root[0]", "root[1]"]
    speed = {(link.src, link.dst): link.bandwidth / 10**9 for link in it.links}
    one_way = {(0, 1): Fraction(225, 4), (2, 3): Fraction(225, 4), (4, 5): Fraction(16)}
    one_way |= {(g, 4 + g // 2): Fraction(24) for g in range(4)}
    assert speed == one_way | {(b, a): x for (a, b), x in one_way.items()}


def test_every_machine_of_the_library_is_tested() -> None:
    assert set(machines()) == {
        "ring", "line", "star", "complete", "torus", "mesh", "hypercube", "switch",
        "dgx1", "dgx2", "dgx_a100", "hgx_h100", "mi300x", "pcie_box",
        # In test_library_machines.py:
        "ndv2", "dgx_b200", "nvl72", "mi250", "tpu_torus", "fat_tree", "dragonfly", "pod",
    }  # fmt: skip


def test_ranks_come_first_whatever_the_order_of_the_text() -> None:
    it = topology(
        "topology t {\n"
        "  switch s\n"
        "  link a -> s at 1 GB/s, 1 us\n"
        "  link s -> b[1] at 1 GB/s, 1 us\n"
        "  link b[i] -> b[1 - i] at 1 GB/s, 1 us for i in 0..2\n"
        "  link b[0] -> a at 1 GB/s, 1 us\n"
        "  ranks b[2], a\n"
        "}"
    )
    assert [it.node_name(i) for i in range(4)] == ["b[0]", "b[1]", "a", "s"]
    assert edges(it) == {(2, 3), (3, 1), (0, 1), (1, 0), (0, 2)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 B/s", Fraction(1)),
        ("1.5 KB/s", Fraction(1500)),
        ("1 KiB/s", Fraction(1024)),
        ("2 MiB/s", Fraction(2 * 1024**2)),
        ("1 GiB/s", Fraction(1024**3)),
        ("1 TB/s", Fraction(10**12)),
        ("8 b/s", Fraction(1)),
        ("100 Gb/s", Fraction(125 * 10**8)),
        ("1 Gbit/s", Fraction(125 * 10**6)),
        ("50 GB/s / 3", Fraction(50 * 10**9, 3)),
        ("2 * (1 GB/s + 1 MB/s)", Fraction(2002 * 10**6)),
        ("1 GB / 4 s", Fraction(250 * 10**6)),
        ("max(1 GB/s, 2 GB/s) - 0.5 GB/s", Fraction(15 * 10**8)),
        ("1 GB/s * (7 / 2)", Fraction(3 * 10**9)),
        ("1 GB/s * (1 GiB // 1 GiB)", None),
        ("1 GB/s * (3 GiB / 2 GiB)", Fraction(15 * 10**8)),
    ],
)
def test_bandwidths_are_exact(text: str, value: Fraction | None) -> None:
    source = f"topology t {{ ranks a, b link a <-> b at {text}, 1 ns }}"
    if value is None:
        with pytest.raises(InputError):
            topology(source)
        return
    assert {(link.bandwidth, link.latency) for link in topology(source).links} == {
        (value, Fraction(1, 10**9))
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [("2 s", Fraction(2)), ("2 ms", Fraction(1, 500)), ("1.5 us", Fraction(3, 2 * 10**6))],
)
def test_latencies_are_exact(text: str, value: Fraction) -> None:
    it = topology(f"topology t {{ ranks a, b link a <-> b at 1 GB/s, {text} }}")
    assert {link.latency for link in it.links} == {value}


def test_a_latency_left_out_is_said() -> None:
    it = topology("topology t { ranks a, b link a -> b at 1 GB/s link b -> a at 1 GB/s, 1 us }")
    assert it.assumed == (("latency", "0 s"),)
    assert [link.latency for link in it.links] == [0, Fraction(1, 10**6)]


def test_defaults_may_use_earlier_parameters() -> None:
    module = load(
        Source(
            "test",
            "topology t(n = 3, bw = n * 1 GB/s) { ranks a[n]\n"
            "  link a[i] <-> a[j] x(j - i) at bw, 1 us for i in 0..n, j in 0..n if i < j }\n"
            "plan { synthesize all_gather on t(2) }",
        )
    )
    (whole,) = module.topologies
    assert whole.assumed == (("n", "3"), ("bw", "3 GB/s"))
    assert [link.count for link in whole.links] == [1, 1, 2, 2, 1, 1]
    (plan,) = module.plans
    assert isinstance(plan, Problem)
    assert plan.topology.name == "t(2)"
    assert plan.topology.assumed == (("bw", "2 GB/s"),)
    assert {link.bandwidth for link in plan.topology.links} == {Fraction(2 * 10**9)}


def test_guards_and_arithmetic() -> None:
    it = topology(
        "topology t { ranks a[6]\n"
        "  link a[i] <-> a[j] at 1 GB/s, 1 us for i in 0..6, j in i + 1..6\n"
        "    if (j - i) % 2 == 1 and not (i == 0 and j == 5) or i // 2 == 1 and j != 4 and j >= 5 }"
    )
    pairs = {
        (i, j)
        for i in range(6)
        for j in range(i + 1, 6)
        if ((j - i) % 2 == 1 and not (i == 0 and j == 5)) or (i // 2 == 1 and j != 4 and j >= 5)
    }
    assert edges(it) == pairs | {(j, i) for i, j in pairs}


def test_division_of_whole_numbers_rounds_down() -> None:
    it = topology(
        "topology t { ranks a[4] switch s[2]\n"
        "  link a[i] <-> s[i / 2] at 1 GB/s, 1 us for i in 0..4\n"
        "  link s[(-1) / 2 + 1] <-> s[3 // 2] at 1 GB/s, 1 us }"
    )
    assert edges(it) == {pair for i in range(4) for pair in ((i, 4 + i // 2), (4 + i // 2, i))} | {
        (4, 5),
        (5, 4),
    }


def test_a_path_may_lead_through_switches_and_ranks() -> None:
    it = topology(
        "topology t { ranks a, b, c switch s\n"
        "  link a -> s at 1 GB/s, 1 us\n  link s -> b at 1 GB/s, 1 us\n"
        "  link b -> c at 1 GB/s, 1 us\n  link c -> a at 1 GB/s, 1 us }"
    )
    assert len(it.links) == 4


def test_an_unreached_switch_is_nobodys_business() -> None:
    assert topology("topology t { ranks a switch s }").switches[0].name == "s"


def test_two_loops_over_nothing_are_two_faults() -> None:
    with pytest.raises(InputError) as caught:
        topology(
            "topology t { ranks a, b link a <-> b at 1 GB/s, 1 us\n"
            "  link a -> b at 1 GB/s for i in 0..0, j in 0..4\n"
            "  link a -> b at 1 GB/s for i in 0..3, j in 5..4 }"
        )
    assert [fault.message.split(":")[1] for fault in caught.value.faults] == [
        " i takes no value", " j takes no value",
    ]  # fmt: skip


def test_an_inner_loop_may_be_over_nothing_at_times() -> None:
    it = topology(
        "topology t { ranks a[3] link a[i] <-> a[j] at 1 GB/s, 1 us for i in 0..3, j in i + 1..3 }"
    )
    assert len(it.links) == 6


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "topology t { ranks a[5] link a[i] <-> a[j] at 1 GB/s for i in 0..5, j in 0..5 if i < j }"
    )
    topology(text)
    monkeypatch.setattr(drafts, "LINKS", 19)
    with pytest.raises(InputError, match="too many links"):
        topology(text)
    monkeypatch.setattr(drafts, "LINKS", 20)
    topology(text)
    monkeypatch.setattr(drafts, "NODES", 4)
    with pytest.raises(InputError, match="5 ranks and switches"):
        topology(text)


def test_turns_are_counted_over_all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "TURNS", 50)
    text = "topology t { ranks a, b link a <-> b at 1 GB/s, 1 us for i in DOMAIN }"
    # 50 turns of one loop; 5 of an outer one and 45 of the inner one.
    for domain in ("0..50 if i == 7", "3..8, j in 0..9 if i == 7 and j == 0"):
        assert len(topology(text.replace("DOMAIN", domain)).links) == 2
    for domain in ("0..51 if i == 7", "0..1000000000000", "3..9, j in 0..9 if i == 7 and j == 0"):
        with pytest.raises(InputError, match="too many turns"):
            topology(text.replace("DOMAIN", domain))
