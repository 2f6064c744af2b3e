"""Machines made of machines: numbers, names, links, speeds, and what is assumed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl import drafts, loops
from roundelay.dsl import machines as building
from roundelay.dsl.faults import BlamedError, Report
from roundelay.dsl.loader import load, problem
from roundelay.dsl.machines import Built, Machines
from roundelay.dsl.nodes import check_topology
from roundelay.dsl.parser import parse, parse_call
from roundelay.dsl.source import InputError, Source
from roundelay.dsl.standard import standard
from roundelay.dsl.syntax import Derived, Imported, Machine, Name, Only, Reference, Topology

if TYPE_CHECKING:
    from roundelay.dsl import model, syntax

POD = """
topology pod(machine, boxes, bw = 50 GB/s, lat = 2.6 us) {
  part box[boxes] = machine
  switch ib
  link box[b].ranks[g] <-> ib at bw, lat for b in 0..boxes, g in ranks of box
}
"""


def topology(text: str) -> model.Topology:
    return load(Source("test", text)).topologies[-1]


def machines(text: str = "") -> Machines:
    report = Report()
    known = {
        each.name.text: each
        for each in parse(Source("test", text)).declarations
        if isinstance(each, Topology | Derived | Imported)
    }

    def find(name: Name) -> Machine | None:
        found = known.get(name.text) or standard("topology", name.text)
        assert isinstance(found, Topology | Derived | Imported)
        check_topology(found, report)
        return found

    return Machines(find, report)


def built(call: str, text: str = "") -> Built:
    made = machines(text)
    found = made.built(parse_call(Source("call", call)))
    assert found is not None, made.report.faults
    return found


def place(text: str) -> syntax.Expression:
    """A selection of nodes as the grammar reads it behind 'only'."""
    (derived,) = parse(Source("place", f"topology t = t only {text}")).declarations
    assert isinstance(derived, Derived)
    (only,) = derived.changes
    assert isinstance(only, Only)
    (node,) = only.nodes
    assert isinstance(node, Name | Reference)
    return node


def shape(it: model.Topology) -> tuple[object, ...]:
    links = {(k.src, k.dst): (k.count, k.bandwidth, k.latency) for k in it.links}
    switches = [(each.multicast, each.reduce) for each in it.switches]
    return len(it.ranks), switches, links


def test_a_pod_is_what_it_would_be_in_one_piece() -> None:
    flat = topology(
        "topology t { ranks gpu[3, 8] switch nvs[3, 4] multicast reduce switch ib\n"
        "  link gpu[b, g] <-> ib at 50 GB/s, 2.6 us for b in 0..3, g in 0..8\n"
        "  link gpu[b, g] <-> nvs[b, s] at 112.5 GB/s, 0.35 us\n"
        "    for b in 0..3, g in 0..8, s in 0..4 }"
    )
    pod = topology(f"{POD} topology t = pod(hgx_h100, 3)")
    assert shape(pod) == shape(flat)
    assert [rank.name for rank in pod.ranks] == [
        f"box[{b}].gpu[{g}]" for b in range(3) for g in range(8)
    ]
    assert [each.name for each in pod.switches] == [
        *(f"box[{b}].nvs[{s}]" for b in range(3) for s in range(4)), "ib",
    ]  # fmt: skip


def test_ranks_and_switches_are_numbered_where_their_statements_stand() -> None:
    it = topology(
        "topology t { switch s ranks a part box[1, 2] = switch(2)\n"
        "  ranks b switch u part c = line(2)\n"
        "  link a <-> s at 1 GB/s, 1 us  link b <-> s at 1 GB/s, 1 us\n"
        "  link box[0, i].node[0] <-> s at 1 GB/s, 1 us for i in 0..2\n"
        "  link c.node[1] <-> s at 1 GB/s, 1 us }"
    )
    assert [it.node_name(i) for i in range(len(it.ranks) + len(it.switches))] == [
        "a", "box[0, 0].node[0]", "box[0, 0].node[1]", "box[0, 1].node[0]", "box[0, 1].node[1]",
        "b", "c.node[0]", "c.node[1]", "s", "box[0, 0].hub", "box[0, 1].hub", "u",
    ]  # fmt: skip
    names = {(it.node_name(k.src), it.node_name(k.dst)) for k in it.links}
    one_way = {
        ("a", "s"), ("b", "s"), ("box[0, 0].node[0]", "s"), ("box[0, 1].node[0]", "s"),
        ("c.node[1]", "s"), ("c.node[0]", "c.node[1]"),
        *((f"box[0, {i}].node[{k}]", f"box[0, {i}].hub") for i in range(2) for k in range(2)),
    }  # fmt: skip
    assert names == one_way | {(b, a) for a, b in one_way}


def test_parts_of_parts() -> None:
    it = topology(f"{POD} topology t = pod(pod(line(3), 2), 2, 1 GB/s)")
    assert len(it.ranks) == 12
    assert it.ranks[10].name == "box[1].box[1].node[1]"
    assert [each.name for each in it.switches] == ["box[0].ib", "box[1].ib", "ib"]
    degree = [sum(k.src == rank for k in it.links) for rank in range(12)]
    assert degree == [3, 4, 3] * 4
    to_outer = {k.bandwidth for k in it.links if k.dst == 14}
    assert to_outer == {Fraction(10**9)}


def test_a_machine_is_named_by_its_call_whatever_the_names_in_it() -> None:
    made = machines(
        "topology two(m, n, bw = 1 GB/s) { part x[n] = m switch s\n"
        "  link x[i].ranks[j] <-> s at bw, 1 us for i in 0..n, j in ranks of x }"
    )
    call = parse_call(Source("call", "two(torus(w, h), n = w * 2, bw = 2 * 1 GB/s)"))
    found = made.built(call, {"w": 2, "h": 3})
    assert found is not None
    assert found.topology.name == "two(torus(2, 3), n = 4, bw = 2 * 1 GB/s)"
    assert len(found.topology.ranks) == 24


def test_what_parts_assume_is_said() -> None:
    assert topology(f"{POD} topology t = pod(dgx1(25 GB/s), 2, lat = 1 us)").assumed == (
        ("bw", "50 GB/s"),
        ("box.lat", "0.7 us"),
    )
    assert problem("pod(hgx_h100, 2)", "all_gather", ()).topology.assumed == (
        ("bw", "50 GB/s"), ("lat", "2.6 us"), ("box.bw", "112.5 GB/s"), ("box.lat", "0.35 us"),
    )  # fmt: skip
    nested = f"{POD} topology t(machine = dgx1, n = 2) = pod(machine, n, 1 GB/s, 1 us)"
    assert topology(nested).assumed == (
        ("machine", "dgx1"), ("n", "2"), ("pod.box.bw", "25 GB/s"), ("pod.box.lat", "0.7 us"),
    )  # fmt: skip


def test_a_machine_may_be_handed_on() -> None:
    it = topology(
        f"{POD} topology outer(what, n) {{ part side[2] = pod(what, n)  switch top\n"
        "  link side[s].ib <-> top at 1 GB/s, 1 us for s in 0..2 }\n"
        "topology t = outer(line(2), 3)"
    )
    assert len(it.ranks) == 12
    assert it.ranks[-1].name == "side[1].box[2].node[1]"


def test_a_part_need_not_hold_together_by_itself() -> None:
    it = topology(
        "topology loose(n) { ranks gpu[n] }\n"
        "topology t { part box[2] = loose(2) switch s\n"
        "  link box[b].gpu[g] <-> s at 1 GB/s, 1 us for b in 0..2, g in 0..2 }"
    )
    assert len(it.links) == 8


def test_the_loops_of_a_part_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "TURNS", 40)
    text = (
        "topology row { part m[40] = mesh(4, 4)\n"
        "  link m[i].chip[0, 0] <-> m[i + 1].chip[0, 0] at 1 GB/s, 1 us for i in 0..39 }"
    )
    it = topology(text)
    assert len(it.links) == 40 * 48 + 39 * 2
    monkeypatch.setattr(loops, "TURNS", 39)  # The mesh alone takes 2 * (4 + 16).
    with pytest.raises(InputError, match="too many turns"):
        topology(text)


def test_limits_count_what_parts_bring(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{POD} topology t = pod(hgx_h100, 2)"
    topology(text)
    monkeypatch.setattr(drafts, "LINKS", 127)
    with pytest.raises(InputError, match="too many links"):
        topology(text)
    monkeypatch.setattr(drafts, "LINKS", 159)
    with pytest.raises(InputError, match="too many links"):
        topology(text)
    monkeypatch.setattr(drafts, "LINKS", 160)
    monkeypatch.setattr(drafts, "NODES", 25)
    topology(text)
    monkeypatch.setattr(drafts, "NODES", 24)
    with pytest.raises(InputError, match="25 ranks and switches"):
        topology(text)


def test_a_fault_of_two_calls_is_told_of_both() -> None:
    text = "topology r(n) { ranks a[n] } topology x = r(0) topology y { part b = r(1 - 1) }"
    with pytest.raises(InputError) as caught:
        topology(text)
    assert [fault.message for fault in caught.value.faults] == [
        "the size of 'a' is 0, in r(0)",
        "the size of 'a' is 0, in r(1 - 1)",
    ]


def test_true_is_not_one() -> None:
    # As keys of a dictionary they are the same; as sizes of a machine they are not.
    made = machines("topology r(n) { ranks a[n] }")
    call = parse_call(Source("call", "r(k)"))
    assert made.built(call, {"k": 1}) is not None
    assert made.built(call, {"k": True}) is None
    assert "a condition" in made.report.faults[0].message


# ------------------------------------------------------------------------------- selections


def selected(it: Built, text: str, **scope: int) -> list[str]:
    return [it.topology.node_name(node) for node in it.layout.nodes(place(text), scope)]


def test_selections_of_one_index_are_lists() -> None:
    dgx1 = built("dgx1")
    assert dgx1.layout.nodes(place("gpu[0, 7, 3..5, i]"), {"i": 6}) == (0, 7, 3, 4, 6)
    assert dgx1.layout.nodes(place("gpu"), {}) == tuple(range(8))
    assert dgx1.layout.node(place("gpu[i + 1]"), {"i": 2}) == 3


def test_selections_of_more_indices_are_boxes() -> None:
    torus = built("torus(4, 3)")
    assert selected(torus, "chip[0..2, 1..3]") == [
        "chip[0, 1]", "chip[0, 2]", "chip[1, 1]", "chip[1, 2]",
    ]  # fmt: skip
    assert selected(torus, "chip[3, 0..3]") == ["chip[3, 0]", "chip[3, 1]", "chip[3, 2]"]
    assert len(selected(torus, "chip")) == 12


def test_selections_in_parts() -> None:
    pod = built("pod(hgx_h100, 3)", POD)
    assert selected(pod, "box[1]") == [f"box[1].gpu[{g}]" for g in range(8)]
    assert selected(pod, "box[2, 0].gpu[7, 1]") == [
        "box[2].gpu[7]", "box[2].gpu[1]", "box[0].gpu[7]", "box[0].gpu[1]",
    ]  # fmt: skip
    assert selected(pod, "box[0..2].ranks[5]") == ["box[0].gpu[5]", "box[1].gpu[5]"]
    assert selected(pod, "box[1].nvs[0..2]") == ["box[1].nvs[0]", "box[1].nvs[1]"]
    assert selected(pod, "box.gpu[b]", b=2) == [f"box[{b}].gpu[2]" for b in range(3)]
    assert selected(pod, "ib") == ["ib"]
    assert len(selected(pod, "box")) == 24
    assert len(pod.layout.nodes(place("box[1]"), {}, entire=True)) == 12


@pytest.mark.parametrize(
    "text",
    [
        "gpu[0]", "box[3]", "box[0].gpu[8]", "box[0].gpu[1, 1]", "box[0].gpu[3..2]", "ib[0]",
        "box[0].ranks[8]", "box[0].ranks[0].x", "box[0, 1, 0]", "box[0].gpu[1, 2..9]", "ib.x",
    ],
)  # fmt: skip
def test_selections_that_mean_nothing(text: str) -> None:
    with pytest.raises(BlamedError):
        built("pod(hgx_h100, 3)", POD).layout.nodes(place(text), {})


@pytest.mark.parametrize("levels", [16, 17])
@pytest.mark.parametrize("upwards", [True, False])
def test_depth_is_what_it_is_in_any_order(levels: int, upwards: bool) -> None:
    lines = ["topology t0 { ranks a }"]
    lines += [f"topology t{i} {{ part x = t{i - 1} }}" for i in range(1, levels + 1)]
    text = "\n".join(lines if upwards else reversed(lines))
    if levels <= 16:
        (deepest,) = (it for it in load(Source("test", text)).topologies if it.name == "t16")
        assert deepest.ranks[0].name == "x." * 16 + "a"
        return
    with pytest.raises(InputError) as caught:
        load(Source("test", text))
    assert {fault.message for fault in caught.value.faults} == {
        "too many machines inside each other"
    }


def test_all_machines_of_a_text_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f"topology t{i} = ring({i + 3})" for i in range(4))
    monkeypatch.setattr(building, "ALL_LINKS", 6 + 8 + 10 + 12)
    assert len(load(Source("t", text)).topologies) == 4
    monkeypatch.setattr(building, "ALL_LINKS", 6 + 8)
    with pytest.raises(InputError) as told:
        load(Source("t", text))
    (fault,) = told.value.faults
    assert fault.message == "too many links in all machines; the rest is not built"
    assert fault.span is not None
    assert fault.span.source.place(fault.span.start)[0] == 3
