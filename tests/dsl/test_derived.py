"""Machines made from others: what is left, its numbers and names, and its speeds."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import networkx as nx
import pytest

from roundelay.dsl.faults import BlamedError
from roundelay.dsl.loader import load
from roundelay.dsl.parser import parse, parse_call
from roundelay.dsl.source import InputError, Source
from roundelay.dsl.syntax import Forbid, Plan
from tests.dsl.test_parts import POD, built, machines, place

if TYPE_CHECKING:
    from roundelay.dsl import model, syntax

MACHINES = ("dgx1", "hgx_h100", "pod(line(3), 3)", "pcie_box", "mesh(3, 3)", "fat_tree(4)")


def topology(text: str) -> model.Topology:
    return load(Source("test", text)).topologies[-1]


def named(it: model.Topology) -> dict[tuple[str, str], tuple[int, Fraction, Fraction]]:
    name = it.node_name
    return {(name(k.src), name(k.dst)): (k.count, k.bandwidth, k.latency) for k in it.links}


def names(it: model.Topology) -> list[str]:
    return [it.node_name(node) for node in range(len(it.ranks) + len(it.switches))]


def kept_by_hand(it: model.Topology, ranks: set[str]) -> nx.DiGraph:
    """What is left with only some ranks: switches without a way through go, until none does."""
    graph = nx.DiGraph(named(it).keys())
    graph.add_nodes_from(names(it))
    graph.remove_nodes_from([rank.name for rank in it.ranks if rank.name not in ranks])
    while True:
        dead = [
            each.name
            for each in it.switches
            if each.name in graph
            and not (graph.in_degree(each.name) and graph.out_degree(each.name))
        ]
        if not dead:
            return graph
        graph.remove_nodes_from(dead)


@pytest.mark.parametrize("base", MACHINES)
@pytest.mark.parametrize("seed", range(4))
def test_only_keeps_what_joins_the_ranks_named(base: str, seed: int) -> None:
    random = Random(f"{base} {seed}")
    whole = topology(f"{POD} topology t = {base}")
    ranks = [rank.name for rank in whole.ranks]
    chosen = random.sample(ranks, random.randint(2, len(ranks)))
    text = f"{POD} topology t = {base} only {', '.join(chosen)}"
    expected = kept_by_hand(whole, set(chosen))
    reach = [set(chosen) <= {chosen[0], *nx.descendants(expected, chosen[0])}]
    reach.append(set(chosen) <= {chosen[0], *nx.ancestors(expected, chosen[0])})
    if not all(reach):
        with pytest.raises(InputError, match="no links lead"):
            topology(text)
        return
    it = topology(text)
    # In the old order, whatever the order of naming; switches behind the ranks.
    assert names(it) == [name for name in names(whole) if name in expected]
    assert len(it.ranks) == len(chosen)
    assert named(it) == {pair: named(whole)[pair] for pair in expected.edges}


def test_names_outlive_what_is_taken_out() -> None:
    text = "topology partial = dgx1 only gpu[0, 1, 2, 3, 7]"
    it = built("partial", text)
    assert it.layout.node(place("gpu[7]"), {}) == 4
    assert it.layout.nodes(place("gpu"), {}) == (0, 1, 2, 3, 4)
    for gone in ("gpu[5]", "gpu[0..8]", "gpu[4, 0]"):
        with pytest.raises(BlamedError, match="no longer there"):
            it.layout.nodes(place(gone), {})
    again = topology(f"{text} topology less = partial without gpu[1] -> gpu[3], gpu[0]")
    assert [rank.name for rank in again.ranks] == ["gpu[1]", "gpu[2]", "gpu[3]", "gpu[7]"]
    assert ("gpu[3]", "gpu[1]") in named(again)
    assert ("gpu[1]", "gpu[3]") not in named(again)


def test_without_takes_links_out() -> None:
    whole, wounded = topology("topology t = dgx1"), topology(
        "topology t = dgx1 without gpu[0] <-> gpu[3], gpu[4] -> gpu[7]"
    )  # fmt: skip
    gone = {("gpu[0]", "gpu[3]"), ("gpu[3]", "gpu[0]"), ("gpu[4]", "gpu[7]")}
    assert named(wounded) == {pair: k for pair, k in named(whole).items() if pair not in gone}
    assert names(wounded) == names(whole)


def test_without_takes_nodes_out() -> None:
    whole = topology("topology t = hgx_h100")
    less = topology("topology t = hgx_h100 without nvs[s], gpu[7 - s] for s in 0..2")
    gone = {"nvs[0]", "nvs[1]", "gpu[7]", "gpu[6]"}
    assert names(less) == [name for name in names(whole) if name not in gone]
    assert named(less) == {p: k for p, k in named(whole).items() if not gone.intersection(p)}
    # A whole instance goes with its switches.
    pod = topology(f"{POD} topology t = pod(hgx_h100, 3) without box[1]")
    assert names(pod) == [
        *(f"box[{b}].gpu[{g}]" for b in (0, 2) for g in range(8)),
        *(f"box[{b}].nvs[{s}]" for b in (0, 2) for s in range(4)), "ib",
    ]  # fmt: skip


def test_a_switch_left_alone_goes_with_only_and_stays_with_without() -> None:
    chain = "topology c { ranks a, b switch s, t link a <-> b at 1 GB/s, 1 us\n" \
        "link b <-> s at 1 GB/s, 1 us link s -> t at 1 GB/s, 1 us }"  # fmt: skip
    assert names(topology(f"{chain} topology t = c only a, b")) == ["a", "b", "s"]
    assert names(topology(f"{chain} topology t = c without s -> t")) == ["a", "b", "s", "t"]
    assert names(topology(f"{chain} topology t = c only a")) == ["a"]


def test_with_changes_what_it_says_and_no_more() -> None:
    whole = named(topology("topology t = dgx1"))
    it = named(
        topology(
            "topology t = dgx1 with gpu[0] <-> gpu[3] at 22.1 GB/s\n"
            "  with gpu[i] -> gpu[i + 1] x(i + 3) at 10 GB/s, i * 1 us for i in 0..2\n"
            "  with gpu[3] -> gpu[0] at 5 GB/s, 2 us"
        )
    )
    us = Fraction(1, 10**6)
    changed = {
        ("gpu[0]", "gpu[3]"): (2, Fraction(22_100_000_000), Fraction(7, 10) * us),
        ("gpu[3]", "gpu[0]"): (2, Fraction(5 * 10**9), 2 * us),
        ("gpu[0]", "gpu[1]"): (3, Fraction(10**10), 0 * us),
        ("gpu[1]", "gpu[2]"): (4, Fraction(10**10), us),
    }
    assert it == whole | changed


def test_clauses_apply_in_order() -> None:
    it = topology(
        "topology t = complete(4) only node[0, 1, 2] with node[0] <-> node[1] at 1 GB/s\n"
        "  without node[0] <-> node[1] only node"
    )
    assert {(k.src, k.dst) for k in it.links} == {(0, 2), (2, 0), (1, 2), (2, 1)}
    with pytest.raises(InputError, match="there is no link"):
        topology(
            "topology t = complete(3) without node[0] <-> node[1]\n"
            "  with node[0] <-> node[1] at 1 GB/s"
        )


def test_derived_machines_take_parameters_and_may_be_parts() -> None:
    it = topology(
        f"{POD} topology cut(machine, n, bw = 3 GB/s) = machine only ranks_of[i] for i in 0..n"
        "  with ranks_of[0] -> ranks_of[1] at bw".replace("ranks_of", "gpu")
        + " topology t = pod(cut(dgx1, 3), 2)"
    )
    assert it.name == "t"
    assert [rank.name for rank in it.ranks] == [
        f"box[{b}].gpu[{g}]" for b in range(2) for g in range(3)
    ]
    links = named(it)
    assert links["box[1].gpu[0]", "box[1].gpu[1]"][1] == 3 * 10**9
    assert links["box[1].gpu[1]", "box[1].gpu[0]"][1] == 25 * 10**9
    assert it.assumed == (
        ("bw", "50 GB/s"), ("lat", "2.6 us"), ("box.bw", "3 GB/s"),
        ("box.machine.bw", "25 GB/s"), ("box.machine.lat", "0.7 us"),
    )  # fmt: skip


def test_the_ranks_of_a_derived_part_count_what_is_left() -> None:
    it = topology(
        "topology few = dgx1 only gpu[1, 2, 3]\n"
        "topology t { part box[2] = few  link box[0].ranks[g] <-> box[1].ranks[g] at 1 GB/s, 1 us\n"
        "  for g in ranks of box }"
    )
    assert {
        ("box[0].gpu[1]", "box[1].gpu[1]"), ("box[0].gpu[3]", "box[1].gpu[3]"),
    } <= named(it).keys()  # fmt: skip
    assert len(it.ranks) == 6


def test_a_bare_copy_has_a_name_of_its_own() -> None:
    it = topology("topology mine = torus(4, 4)")
    assert (it.name, len(it.ranks)) == ("mine", 16)
    assert it.assumed == (("bw", "50 GB/s"), ("lat", "1 us"))


# -------------------------------------------------------------------- what a plan forbids


def forbidden(text: str) -> tuple[syntax.Connection, ...]:
    source = Source("test", f"plan {{ synthesize all_gather on dgx1 forbid {text} }}")
    (plan,) = parse(source).declarations
    assert isinstance(plan, Plan)
    (forbid,) = (option for option in plan.options if isinstance(option, Forbid))
    return forbid.connections


def test_a_machine_without_what_a_plan_forbids() -> None:
    made = machines()
    whole = made.built(parse_call(Source("call", "dgx1")))
    assert whole is not None
    less = made.remove(whole, forbidden("gpu[0] -> gpu[1], gpu[i] <-> gpu[7]"), {"i": 6})
    assert less is not None
    gone = {("gpu[0]", "gpu[1]"), ("gpu[6]", "gpu[7]"), ("gpu[7]", "gpu[6]")}
    assert named(less.topology) == {
        pair: k for pair, k in named(whole.topology).items() if pair not in gone
    }
    assert (less.topology.name, less.topology.assumed) == ("dgx1", whole.topology.assumed)
    assert not made.report.faults


def test_what_a_plan_may_not_forbid() -> None:
    for text, message in (
        ("gpu[0] -> gpu[5]", "there is no link gpu[0] -> gpu[5]"),
        ("gpu[i] -> gpu[1]", "unknown name 'i'"),
        (
            "gpu[0] -> gpu[1], gpu[0] -> gpu[2], gpu[0] -> gpu[3], gpu[0] -> gpu[4]",
            "no links lead from gpu[0] to gpu[1] (nor 6 more)",
        ),
    ):
        made = machines()
        whole = made.built(parse_call(Source("call", "dgx1")))
        assert whole is not None
        assert made.remove(whole, forbidden(text)) is None
        (fault,) = made.report.faults
        assert fault.message == message
        assert fault.span is not None
        assert fault.span.source.name == "test"
