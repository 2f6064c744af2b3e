"""What ``show`` prints and draws of a machine."""

from __future__ import annotations

import json
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from roundelay.drawing import draw_svg
from roundelay.dsl.model import Link, Rank, Switch, Topology
from roundelay.dsl.source import UnsupportedError
from roundelay.show import show_lines
from roundelay.show_record import show_json
from roundelay.synth.profile import profile
from tests.machines import GB, US, boxes, complete, dgx1, grid, machine, ring, star

DGX1 = """\
machine   dgx1: 8 ranks, 48 directed links, the same in both directions
links     each           latency  pairs  such as
          x2 at 25 GB/s  1 us     16     gpu[0] -> gpu[3]
          25 GB/s        1 us     16     gpu[0] -> gpu[1]
ranks     links out  in  sends     gets      ranks
          6          6   150 GB/s  150 GB/s  8: gpu[0] to gpu[7]
diameter  2 steps, as from gpu[0] to gpu[5]
          2 us of latency, as from gpu[0] to gpu[5]
cuts      gpu[0] can send 150 GB/s to all others together; no rank less
          between any two ranks at least 150 GB/s; that is what gpu[0] can send to the rest
"""


def lines(topology: Topology, width: int = 100) -> list[str]:
    return show_lines(topology, profile(topology), width)


def test_a_machine_in_words() -> None:
    text = "\n".join(lines(dgx1()))
    assert text.startswith(DGX1)
    assert "between two halves of the ranks 150 GB/s (all halves" in text


def test_the_matrix() -> None:
    base = dgx1()
    shown = lines(base)
    start = next(i for i, line in enumerate(shown) if line.startswith("        gpu[0]"))
    counts = {(link.src, link.dst): f"x{link.count}" for link in base.links}
    for rank in range(8):
        name, *cells = shown[start + 1 + rank].split()
        assert name == f"gpu[{rank}]"
        assert cells == ["X" if b == rank else counts.get((rank, b), ".") for b in range(8)]


def test_switches_and_one_way_links_in_the_matrix() -> None:
    shown = lines(star(3))
    assert "gpu[1]      sw       X      sw" in shown
    assert "sw: through switches alone" in shown[-1]
    assert "gpu[0]       X      x1       ." in lines(ring(3, one_way=True))


@pytest.mark.parametrize("width", [10, 40, 60, 80, 200])
@pytest.mark.parametrize("topology", [dgx1(), grid(5, 5), boxes(5, 8), grid(4, 4, True)])
def test_lines_keep_the_width(topology: Topology, width: int) -> None:
    shown = lines(topology, width)
    matrix = shown.index("") if "" in shown else len(shown)
    assert all(len(line) <= max(width, 76) for line in shown[:matrix])
    assert all(line == line.rstrip() for line in shown)
    assert not [line for line in shown[:matrix] if len(line) > width > 76]


def test_what_is_left_out_is_said() -> None:
    shown = "\n".join(lines(grid(32, 32, around=True), 300))
    assert "left out  the least cut between two ranks: 1,023 flows over" in shown
    assert "between two halves of the ranks at most 64 GB/s" in shown


def test_limits_that_do_not_meet() -> None:
    shown = "\n".join(lines(boxes(16, 8), 300))
    assert "halves of the ranks at least about 4.267 GB/s and at most 8 GB/s" in shown


def test_a_machine_of_one_rank() -> None:
    one = Topology("one", (Rank("a"),), (), (), (("bw", "1 GB/s"),))
    assert lines(one) == ["machine   one: 1 rank, 0 directed links", "assumed   bw = 1 GB/s"]
    assert "<circle" in draw_svg(one)


def test_json_is_exact() -> None:
    base = machine(["a", "b"], [(0, 1)], bandwidth=Fraction(10**9, 3))
    record = json.loads(json.dumps(show_json(base, profile(base))))
    assert record["links"][0] == {
        "src": 0, "dst": 1, "count": 1, "bandwidth_Bps": "1000000000/3", "latency_s": "1/1000000",
    }  # fmt: skip
    assert record["bisection"]["high_Bps"] == "1000000000/3"
    assert record["bisection"]["exact"] is True
    assert record["weakest_cut"]["side"] == [0]
    assert record["steps"] == {"length": 1, "src": 0, "dst": 1}


# --------------------------------------------------------------------------------- pictures

SVG = "{http://www.w3.org/2000/svg}"
PICTURED = [dgx1(), grid(5, 4), grid(4, 4, True), boxes(3, 4), star(1), ring(5, one_way=True)]


@pytest.mark.parametrize("number", range(len(PICTURED)))
def test_a_picture_has_every_node_and_every_link(number: int) -> None:
    topology = PICTURED[number]
    text = draw_svg(topology)
    assert text == draw_svg(topology)
    root = ElementTree.fromstring(text)
    titles = [each.text for each in root.iter(f"{SVG}title")]
    nodes = [topology.node_name(i) for i in range(len(topology.ranks) + len(topology.switches))]
    assert all(titles.count(name) == 1 for name in nodes)
    drawn = set()
    for title in titles:
        for arrow in (" <-> ", " -> "):
            if title and arrow in title:
                one, other = title.split(" at ")[0].split(" x2")[0].split(arrow)
                drawn |= {(one, other)} | ({(other, one)} if "<" in arrow else set())
                break
    assert drawn == {
        (topology.node_name(link.src), topology.node_name(link.dst)) for link in topology.links
    }
    assert "nan" not in text
    assert text.count("http") == 1


def test_nodes_of_a_picture_do_not_overlap() -> None:
    for topology in PICTURED:
        root = ElementTree.fromstring(draw_svg(topology))
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        places = [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in root.iter(f"{SVG}circle")]
        for rect in list(root.iter(f"{SVG}rect"))[1:]:
            places.append((float(rect.attrib["x"]) + 17, float(rect.attrib["y"]) + 12))
        assert len(places) == len(topology.ranks) + len(topology.switches)
        assert all(20 < x < width - 20 and 20 < y < height - 20 for x, y in places)
        near = [
            (a, b)
            for i, a in enumerate(places)
            for b in places[:i]
            if abs(a[0] - b[0]) < 34 and abs(a[1] - b[1]) < 24
        ]
        assert not near


def test_names_are_escaped() -> None:
    bad = '<script>"&'
    topology = Topology(
        bad, (Rank(bad), Rank("b")), (Switch("]]>"),),
        (Link(0, 2, 1, GB, US), Link(2, 1, 1, GB, US), Link(1, 0, 1, GB, US)),
    )  # fmt: skip
    text = draw_svg(topology)
    assert "<script" not in text
    titles = [each.text for each in ElementTree.fromstring(text).iter(f"{SVG}title")]
    assert titles.count(bad) == 2
    assert "]]>" in titles


def test_a_machine_too_large_for_a_picture() -> None:
    with pytest.raises(UnsupportedError, match="301 nodes"):
        draw_svg(star(300))
    with pytest.raises(UnsupportedError, match="4,005 joined pairs"):
        draw_svg(complete(90))
    assert draw_svg(star(299))
