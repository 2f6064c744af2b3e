"""Machines read from the matrix of nvidia-smi: what they are, and what damage is refused.

This file is long because every kind of damage stands here beside what it must not change.
"""

from __future__ import annotations

import random
from fractions import Fraction
from importlib import import_module
from itertools import combinations, pairwise, product
from pathlib import Path

import networkx as nx
import pytest

from roundelay.dsl.faults import Report
from roundelay.dsl.loader import problem
from roundelay.dsl.readers.nvidia_smi import read_nvidia_smi
from roundelay.dsl.readers.table import READERS, Drawn, Speed
from roundelay.dsl.source import Fault, Source, Span

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "topologies"
GIVEN = Source("plan.rly", "as nvidia-smi { speeds }")
SPAN = Span(GIVEN, 16, 22)
ALL = {
    "nvlink": Speed(Fraction(25), Fraction(0), SPAN),
    "pcie": Speed(Fraction(24), Fraction(0), SPAN),
    "socket": Speed(Fraction(16), Fraction(0), SPAN),
}

DGX1 = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tmlx5_2\tCPU Affinity
GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tSYS\t0-19,40-59
GPU1\tNV1\t X \tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tPIX\tSYS\t0-19,40-59
GPU2\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tNV1\tSYS\tPHB\tSYS\t0-19,40-59
GPU3\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tSYS\tNV1\tPHB\tSYS\t0-19,40-59
GPU4\tNV2\tSYS\tSYS\tSYS\t X \tNV1\tNV1\tNV2\tSYS\tPIX\t20-39,60-79
GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\t X \tNV2\tNV1\tSYS\tPIX\t20-39,60-79
GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\t X \tNV2\tSYS\tPHB\t20-39,60-79
GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\t X \tSYS\tPHB\t20-39,60-79
mlx5_0\tPIX\tPIX\tPHB\tPHB\tSYS\tSYS\tSYS\tSYS\t X \tSYS\t
mlx5_2\tSYS\tSYS\tSYS\tSYS\tPIX\tPIX\tPHB\tPHB\tSYS\t X \t

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NV#  = Connection traversing a bonded set of # NVLinks
"""
BOX = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      NV1     SYS     SYS     0-23    0               N/A
GPU1    NV1      X      SYS     SYS     0-23    0               N/A
GPU2    SYS     SYS      X      NV1     24-47   1               N/A
GPU3    SYS     SYS     NV1      X      24-47   1               N/A
"""


def read(text: str, speeds: dict[str, Speed] = ALL) -> Drawn:
    report = Report()
    drawn = read_nvidia_smi(Source("topo.txt", text), speeds, report)
    assert drawn is not None, [fault.render() for fault in report.faults]
    assert not report.faults
    return drawn


def refused(text: str, speeds: dict[str, Speed] = ALL) -> list[Fault]:
    report = Report()
    assert read_nvidia_smi(Source("topo.txt", text), speeds, report) is None
    assert report.faults
    return report.faults


def refusal(text: str, speeds: dict[str, Speed] = ALL) -> tuple[str, int, int]:
    """The message of the only fault, and its line and column."""
    (fault,) = refused(text, speeds)
    assert fault.span is not None
    return (fault.message, *fault.span.source.place(fault.span.start))


def matrix(rows: list[str], tail: str = "") -> str:
    """A matrix from the cells of its rows."""
    names = [f"GPU{i}" for i in range(len(rows))]
    lines = [f"{name}\t" + "\t".join(row.split()) for name, row in zip(names, rows, strict=True)]
    return "\n".join(["\t" + "\t".join(names), *lines, tail])


def alike(gpus: int, code: str) -> str:
    """A matrix in which every pair has the same code."""
    return matrix(
        [" ".join("X" if i == j else code for j in range(gpus)) for i in range(gpus)],
        "\nLegend:\n",
    )


def graph(drawn: Drawn) -> nx.DiGraph:
    it = nx.DiGraph()
    it.add_nodes_from(drawn.ranks)
    it.add_nodes_from(name for name, _, _ in drawn.switches)
    for src, dst, count, kind in drawn.links:
        assert not it.has_edge(src, dst)
        assert {src, dst} <= set(it.nodes)
        it.add_edge(src, dst, what=(count, kind))
    assert set(it.edges) == {(b, a) for a, b in it.edges}
    assert nx.is_strongly_connected(it)
    return it


def switches(drawn: Drawn) -> list[str]:
    return [name for name, _, _ in drawn.switches]


# ------------------------------------------------------------------------------ what is meant


def test_the_table_names_the_reader() -> None:
    module, _, function = READERS["nvidia-smi"].partition(":")
    assert getattr(import_module(module), function) is read_nvidia_smi


def test_a_cube_mesh_is_the_dgx1_of_the_library() -> None:
    drawn = read(DGX1, {"nvlink": ALL["nvlink"]})
    assert drawn.ranks == tuple(f"gpu[{i}]" for i in range(8))
    assert not drawn.switches
    assert not drawn.warnings
    library = nx.DiGraph()
    for link in problem("dgx1", "all_gather", ()).topology.links:
        library.add_edge(link.src, link.dst, what=(link.count, "nvlink"))
    assert nx.is_isomorphic(graph(drawn), library, edge_match=lambda a, b: a["what"] == b["what"])
    assert ("gpu[0]", "gpu[3]", 2, "nvlink") in drawn.links


def test_two_bridged_pairs_are_the_pcie_box_of_the_library() -> None:
    library = problem("pcie_box", "all_gather", ()).topology
    kinds = {Fraction(56_250_000_000): "nvlink", 24 * 10**9: "pcie", 16 * 10**9: "socket"}
    drawn = read(BOX)
    assert switches(drawn) == [switch.name for switch in library.switches]
    assert set(drawn.links) == {
        (
            library.node_name(link.src),
            library.node_name(link.dst),
            link.count,
            kinds[link.bandwidth],
        )
        for link in library.links
    }


@pytest.mark.parametrize(
    ("gpus", "links"), [(16, 6), (8, 12), (8, 18), (8, 8), (4, 12), (3, 18), (5, 5), (7, 4)]
)
def test_a_switch_shows_every_pair_all_links(gpus: int, links: int) -> None:
    drawn = read(alike(gpus, f"NV{links}"))
    assert drawn.switches == (("nvs", False, False),)
    joined = {(f"gpu[{i}]", "nvs", links, "nvlink") for i in range(gpus)}
    assert set(drawn.links) == joined | {(dst, src, n, kind) for src, dst, n, kind in joined}


@pytest.mark.parametrize(("gpus", "links"), [(4, 2), (4, 4), (4, 1), (3, 5), (2, 18), (2, 4)])
def test_wires_share_the_links_of_a_gpu_out(gpus: int, links: int) -> None:
    drawn = read(alike(gpus, f"NV{links}"))
    assert not drawn.switches
    pairs = {(i, j) for i, j in product(range(gpus), repeat=2) if i != j}
    assert set(drawn.links) == {(f"gpu[{i}]", f"gpu[{j}]", links, "nvlink") for i, j in pairs}


def status(gpus: int, links: int) -> str:
    """What ``nvidia-smi nvlink -s`` prints, with one link that is off."""
    lines = []
    for gpu in range(gpus):
        lines.append(f"GPU {gpu}: NVIDIA H100 (UUID: GPU-00000000)")
        lines += [f"\t Link {link}: 26.562 GB/s" for link in range(links)]
        lines.append(f"\t Link {links}: <inactive>")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("gpus", "links"), [(4, 6), (3, 6), (3, 8), (3, 9)])
def test_where_both_exist_the_links_of_a_gpu_decide(gpus: int, links: int) -> None:
    text = alike(gpus, f"NV{links}")
    message, line, column = refusal(text)
    assert f"NV{links} may be wired to each other or to an NVSwitch" in message
    assert (line, column) == (2, 8)
    assert switches(read(status(gpus, links) + text)) == ["nvs"]
    assert switches(read(text + status(gpus, links))) == ["nvs"]
    assert not switches(read(status(gpus, links * (gpus - 1)) + text))
    assert "may be wired" in refusal(status(gpus, links + 1) + text)[0]
    assert "may be wired" in refusal(status(gpus - 1, links * (gpus - 1)) + text)[0]
    # The names of the GPUs again take no links away.
    assert switches(read(status(gpus, links) + status(gpus, 0) + text)) == ["nvs"]
    # The same list twice is no list of twice the links.
    assert switches(read(status(gpus, links) * 2 + text)) == ["nvs"]


def with_columns(rows: list[list[str]], columns: list[str], head: str) -> str:
    """A matrix from its cells, with affinity columns behind them."""
    names = [f"GPU{i}" for i in range(len(rows))]
    lines = [" ".join([*names, head])]
    for name, row, column in zip(names, rows, columns, strict=True):
        lines.append(" ".join([name, *row, column]))
    return "\n".join(lines) + "\n"


def test_two_islands_of_switches() -> None:
    rows = [
        ["X" if i == j else "NV12" if i // 4 == j // 4 else "SYS" for j in range(8)]
        for i in range(8)
    ]
    drawn = read(with_columns(rows, ["0-3"] * 4 + ["4-7"] * 4, "CPU Affinity"))
    assert switches(drawn) == ["nvs[0]", "nvs[1]", "root[0]", "root[1]"]
    it = graph(drawn)
    assert set(it["nvs[1]"]) == {f"gpu[{i}]" for i in range(4, 8)}
    assert it.edges["root[0]", "root[1]"]["what"] == (1, "socket")


def test_a_gpu_that_lost_its_nvlinks_goes_over_pcie_and_is_named() -> None:
    rows = [["X" if i == j else "NV18" for j in range(8)] for i in range(8)]
    for i in (0, 1, 3, 4, 5, 6, 7):
        rows[i][2] = rows[2][i] = "NODE" if i < 4 else "SYS"
    columns = ["0-55 0 N/A"] * 4 + ["56-111 1 N/A"] * 4
    drawn = read(with_columns(rows, columns, "CPU Affinity NUMA Affinity GPU NUMA ID"))
    it = graph(drawn)
    assert switches(drawn) == ["nvs", "root[0]", "root[1]"]
    assert set(it["gpu[2]"]) == {"root[0]"}
    assert set(it["gpu[5]"]) == {"nvs", "root[1]"}
    assert set(it["gpu[3]"]) == {"nvs", "root[0]"}
    lost, hidden = drawn.warnings
    assert lost.message.startswith("GPU2: no NVLink")
    assert "PCIe links of their own" in hidden.message


def test_one_gpu_needs_nothing() -> None:
    text = "        GPU0    NIC0    CPU Affinity\nGPU0     X      NODE    0-7\nNIC0    NODE     X\n"
    assert read(text, {}) == Drawn(("gpu[0]",), (), ())


def test_an_uplink_is_shared_below_one_switch_and_not_at_the_host() -> None:
    pix = read(alike(4, "PIX"))
    assert switches(pix) == ["pix[0]"]
    phb = read(alike(4, "PHB"))
    assert switches(phb) == switches(read(alike(4, "NODE"))) == ["root[0]"]
    sys = read(alike(3, "SYS"))
    assert switches(sys) == ["root[0]", "root[1]", "root[2]", "sys"]
    assert graph(sys).edges["root[1]", "sys"]["what"] == (1, "socket")
    pair = read(alike(2, "SYS"))
    assert [link for link in pair.links if link[3] == "socket"] == [
        ("root[0]", "root[1]", 1, "socket"),
        ("root[1]", "root[0]", 1, "socket"),
    ]


CODES = ("PIX", "PXB", "PHB", "NODE", "SYS")


def random_places(draw: random.Random, gpus: int) -> list[tuple[int, ...]]:
    """For each GPU its NUMA node, host bridge, upper switch and lower switch."""
    return [
        (draw.randrange(3), draw.randrange(2), draw.randrange(2), draw.randrange(2))
        for _ in range(gpus)
    ]


def code(one: tuple[int, ...], other: tuple[int, ...]) -> str:
    same = next((k for k in range(4) if one[k] != other[k]), 4)
    return CODES[4 - same]


def damaged(draw: random.Random, rows: list[list[str]]) -> str:
    """The matrix as people paste it: other columns, colours, prompts, quotation, width."""
    gap = draw.choice(["\t", " ", "    ", "\t "])
    mark = draw.choice(["", "", "# ", "> ", "run.sh:# ", "notes/topo.txt:"])
    nics = draw.randrange(3)
    names = [f"GPU{i}" for i in range(len(rows))] + [f"NIC{k}" for k in range(nics)]
    head = gap.join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    if draw.random() < 0.3:
        head = f"\x1b[4m{head}\x1b[0m"
    lines = [draw.choice(["", "$ nvidia-smi topo -m", "GPU Topology:"]), mark + gap + head]
    for i, row in enumerate(rows):
        cells = [*row, *(draw.choice(CODES) for _ in range(nics))]
        end = gap.join(draw.choice([["0-31", "0", "N/A"], ["0,2,4"], []]))
        lines.append(mark + gap.join([f"GPU{i}", *cells, end]) + " " * draw.randrange(3))
    lines += [mark + gap.join([f"NIC{k}", *("SYS" for _ in names)]) for k in range(nics)]
    lines += ["", "Legend:", "", "  X    = Self", "  GPU0 X SYS"]
    return draw.choice(["\n", "\r\n"]).join(lines)


@pytest.mark.parametrize("seed", range(60))
def test_any_tree_of_pcie_is_found_again(seed: int) -> None:
    draw = random.Random(seed)
    places = random_places(draw, draw.randrange(2, 10))
    rows = [
        ["X" if i == j else code(one, other) for j, other in enumerate(places)]
        for i, one in enumerate(places)
    ]
    drawn = read(damaged(draw, rows))
    it = graph(drawn)
    assert nx.is_tree(it.to_undirected())
    for i, j in combinations(range(len(places)), 2):
        path = nx.shortest_path(it, f"gpu[{i}]", f"gpu[{j}]")
        kinds = [it.edges[pair]["what"] for pair in pairwise(path)]
        passed = [name.partition("[")[0] for name in path[1:-1]]
        across = kinds.count((1, "socket"))
        assert len(kinds) == across + kinds.count((1, "pcie"))
        match rows[i][j]:
            case "PIX":
                assert passed == ["pix"]
            case "PXB":
                assert "pxb" in passed
                assert "root" not in passed
            case "PHB" | "NODE":
                assert passed.count("root") == 1
                assert across == 0
            case _:
                assert passed.count("root") == 2
                assert across == (2 if "sys" in switches(drawn) else 1)
    # Who is below one switch with others shares its one way up.
    for name in switches(drawn):
        if name.startswith(("pix", "pxb")):
            ups = [node for node in it[name] if node.startswith(("pxb", "root"))]
            assert len(ups) <= 1
            assert len(it[name]) - len(ups) >= 2


# ------------------------------------------------------------------------ what NVLinks hide


def test_affinity_tells_what_nvlinks_hide() -> None:
    by_cpu = BOX.replace("    NUMA Affinity   GPU NUMA ID", "")
    by_cpu = by_cpu.replace("    0               N/A", "").replace("   1               N/A", "")
    assert "NUMA" not in by_cpu
    assert graph(read(by_cpu)).edges == graph(read(BOX)).edges
    # All processors for every GPU, as in a container, and one NUMA node each.
    anywhere = BOX.replace("0-23 ", "0-47 ").replace("24-47", "0-47 ")
    assert graph(read(anywhere)).edges == graph(read(BOX)).edges
    (warning,) = read(BOX).warnings
    assert warning.message.startswith("GPU0 and GPU1 (and 1 pair more) are taken to have PCIe")


def test_a_numa_node_of_its_own() -> None:
    text = BOX.replace("0-23    0               N/A\nGPU2", "0-23    2               N/A\nGPU2")
    drawn = read(text)
    assert switches(drawn) == ["root[0]", "root[1]", "root[2]", "sys"]
    assert graph(drawn).has_edge("gpu[1]", "root[1]")


@pytest.mark.parametrize("columns", [("N/A", "N/A"), ("0-1", "0-1"), ("0", ""), ("", "")], ids=repr)
def test_what_nothing_tells_is_refused(columns: tuple[str, str]) -> None:
    first, second = columns
    text = BOX.replace("0               N/A", f"{first}   N/A" if first else "")
    text = text.replace("1               N/A", f"{second}  N/A" if second else "")
    message, line, column = refusal(text)
    if first == "0":
        assert message.startswith("whether GPU2 and GPU3 are at one NUMA node is not told")
        assert (line, column) == (4, 33)
    else:
        assert message.startswith("whether GPU0 and GPU1 are at one NUMA node is not told")
        assert (line, column) == (2, 17)


def test_other_cells_tell_what_nvlinks_hide() -> None:
    drawn = read(matrix(["X NV4 PIX", "NV4 X PIX", "PIX PIX X"]))
    assert switches(drawn) == ["pix[0]"]
    assert not drawn.warnings
    drawn = read(matrix(["X NV4 NODE", "NV4 X NODE", "NODE NODE X"]))
    assert switches(drawn) == ["root[0]"]
    assert len(drawn.warnings) == 1
    drawn = read(matrix(["X NV4 NODE", "NV4 X SYS", "NODE SYS X"]))
    assert set(graph(drawn)["root[0]"]) == {"gpu[0]", "gpu[2]", "root[1]"}
    assert not drawn.warnings


# ------------------------------------------------------------------------ what is told too little


@pytest.mark.parametrize("missing", ["nvlink", "pcie", "socket"])
def test_a_speed_that_is_needed(missing: str) -> None:
    speeds = {kind: speed for kind, speed in ALL.items() if kind != missing}
    (fault,) = refused(BOX, speeds)
    assert fault.message.startswith(f"'{missing}' needs a bandwidth")
    assert f"{{ {missing} " in fault.remedy
    assert fault.span is not None
    shown = fault.span.source.text[fault.span.start : fault.span.end]
    assert shown == {"nvlink": "NV1", "pcie": "SYS", "socket": "SYS"}[missing]


def test_all_speeds_that_are_needed_and_no_others() -> None:
    kinds = {fault.message.split("'")[1] for fault in refused(BOX, {})}
    assert kinds == {"nvlink", "pcie", "socket"}
    assert refusal(alike(8, "NV18"), {"pcie": ALL["pcie"]})[0].startswith("'nvlink'")
    assert read(alike(4, "PHB"), {"pcie": ALL["pcie"]}) == read(alike(4, "PHB"))


def test_a_speed_that_means_nothing() -> None:
    (fault,) = refused(BOX, {**ALL, "nvlinks": ALL["nvlink"]})
    assert fault.message == "unknown speed 'nvlinks'"
    assert fault.remedy == "did you mean 'nvlink'"
    assert fault.span == SPAN


def test_the_option_that_hides_nvlinks() -> None:
    (warning,) = read("host$ nvidia-smi topo -mp\n" + alike(4, "NODE")).warnings
    assert warning.message.startswith("topo -mp does not show NVLinks")
    assert not read("host$ nvidia-smi topo -m\n" + alike(4, "NODE")).warnings


# ------------------------------------------------------------------------ damage that is harmless


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\t", " "),
        ("\t", "        "),
        ("\n", "\r\n"),
        ("SYS\tSYS", "SYSSYS"),
        ("\tNV2\tSYS", "\tNV2SYS"),
        ("mlx5_0\tmlx5_2\tCPU", "mlx5_0mlx5_2CPU"),
        ("\t0-19,40-59", ""),
        ("\tGPU0\tGPU1", "GPU0\tGPU1"),
        ("\tGPU0\tGPU1", "  \t\x1b[4mGPU0\tGPU1"),
        ("\n", "\n> "),
        ("\nGPU", "\n\u200bGPU"),
        (" X ", "X"),
        ("\t", " | "),
    ],
)
def test_what_changes_nothing(old: str, new: str) -> None:
    assert old in DGX1
    assert read(DGX1.replace(old, new)) == read(DGX1)


def test_the_socket_link_of_old_drivers() -> None:
    assert read(BOX.replace("SYS", "SOC")).links == read(BOX).links


def test_what_stands_around_it() -> None:
    plain = read(BOX)
    peers = "\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n\n  OK   = x\n"
    fenced = "### GPU0 GPU1 and others\n\n```\n" + BOX + "```\n\nLegend:\n GPU0 X NV2\n"
    assert read(peers + BOX).links == plain.links
    assert read(BOX + peers).links == plain.links
    assert read(BOX + "\n" + alike(3, "PIX")).links == plain.links
    assert read(fenced).links == plain.links
    for end in ("\n", "Legend:\n", "\nLegend:\n"):
        assert read(BOX + end + "GPU0 X NV2 SYS SYS\n").links == plain.links
    cut, last = line(5, BOX, ""), BOX.splitlines()[4]
    assert refusal(cut + "Legend:\n" + last) == ("GPU3 has a column but no row", 1, 33)
    grep = "".join(f"jobs/a.sh:{n}:# {line}\n" for n, line in enumerate(BOX.splitlines(), 7))
    assert read(grep).links == plain.links
    glued = "".join(f"jobs/a.sh:{n}:{line}\n" for n, line in enumerate(BOX.splitlines(), 7))
    assert read(glued).links == plain.links


# ------------------------------------------------------------------------ damage that is not


def line(number: int, text: str, new: str) -> str:
    lines = text.splitlines()
    lines[number - 1] = new
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "there is no matrix of GPUs in this text", (1, 1)),
        ("\n\n  -i: not found\n", "there is no matrix of GPUs in this text", (3, 3)),
        ("GPU 0: A100 (UUID: GPU-1)\n", "there is no matrix of GPUs in this text", (1, 1)),
        (line(1, BOX, ""), "row GPU0 stands under no line of column names", (2, 1)),
        (line(3, BOX, ""), "GPU1 has a column but no row", (1, 17)),
        (BOX.partition("\nGPU2")[0], "GPU2 has a column but no row (nor have 1 more)", (1, 25)),
        (line(3, BOX, BOX.splitlines()[1]), "a second row GPU0", (3, 1)),
        (line(5, BOX, "GPU7 SYS SYS NV1 X"), "row GPU7 has no column", (5, 1)),
        (line(5, BOX, "GPU3 SYS SYS N"), "row GPU3 has 'N' in column GPU2", (5, 14)),
        (line(5, BOX, "GPU3 SYS SYS"), "row GPU3 ends before column GPU2", (5, 13)),
        (line(5, BOX, "GPU3 SYS SYS NV1 0-3"), "row GPU3 has '0-3' in column GPU3", (5, 18)),
        (line(5, BOX, "GPU3 SYS SYS NV1 NV1"), "row GPU3, column GPU3 has NV1", (5, 18)),
        (line(5, BOX, "GPU3 SYS X NV1 X"), "row GPU3, column GPU1 has X", (5, 10)),
        (line(5, BOX, "GPU3 SYS SYS NV2 X"), "GPU3 to GPU2 is NV2, GPU2 to GPU3 is NV1", (5, 14)),
        (line(5, BOX, "GPU3 SYS PIX NV1 X"), "GPU3 to GPU1 is PIX, GPU1 to GPU3 is SYS", (5, 10)),
        (line(5, BOX, "GPU3 SYS N/A NV1 X"), "row GPU3 has 'N/A' in column GPU1", (5, 10)),
        (line(5, BOX, "GPU3 SYSPSB NV1 X"), "row GPU3 has 'SYSPSB' in column GPU0", (5, 6)),
        (line(5, BOX, "GPU3 SYS SYS NV01 X"), "row GPU3 has 'NV01' in column GPU2", (5, 14)),
        (BOX.replace("NV1 ", "NV19"), "19 NVLinks", (2, 17)),
        (BOX.replace("NV1", "NV0"), "0 NVLinks", (2, 17)),
        (BOX.replace("GPU1 ", "GPU2 "), "column GPU2 where GPU1 should stand", (1, 17)),
        (BOX.replace("GPU3    CPU", "GPU3GPU4CPU"), "the columns run together in 'GPU3GPU4CPU'",
         (1, 33)),
        ("GPU0GPU1CPU Affinity\nGPU0XNODE0-3\n", "the columns run together in 'GPU0GPU1CPU'",
         (1, 1)),
        ("GPU0\nGPU0 SYS\n", "row GPU0, column GPU0 has SYS", (2, 6)),
        ("  GPU0 GPU1\nGPU0  0  15\nGPU1 15  0\n", "a matrix of numbers is another tool's", (2, 7)),
        ("  GPU0 GPU1\n GPU0  X  GNS\n GPU1 GNS  X\n",
         "a matrix of topo -p2p says who may talk, not over which links", (1, 3)),
        (" ".join(f"GPU{i}" for i in range(300)), "more than 256 GPUs", (1, 1683)),
    ],
)  # fmt: skip
def test_damage_is_named_with_its_place(text: str, message: str, place: tuple[int, int]) -> None:
    found = refused(text)
    assert found[0].message == message
    assert found[0].span is not None
    assert found[0].span.source.place(found[0].span.start) == place
    assert found[0].expected
    assert found[0].render()


def test_a_cut_number_of_links_is_not_a_smaller_one() -> None:
    text = alike(8, "NV18").partition("\n\n")[0]
    whole = read(text)
    for end in range(text.index("GPU6\t"), len(text)):
        assert refused(text[:end]), end
    assert read(text + "\n") == whole


def test_cells_that_do_not_go_together() -> None:
    for apart, meet in [
        ("SYS", "at one PCIe switch"),
        ("NODE", "at one PCIe switch"),
        ("PXB", "at one PCIe switch"),
    ]:
        message, line_number, column = refusal(
            matrix([f"X PIX {apart}", "PIX X PIX", f"{apart} PIX X"])
        )
        assert message == f"GPU2 to GPU0 is {apart}, but by what others say they meet {meet}"
        assert (line_number, column) == (4, 6)
    assert "at one NUMA node" in refusal(matrix(["X PHB SYS", "PHB X NODE", "SYS NODE X"]))[0]
    read(matrix(["X PHB NODE", "PHB X PHB", "NODE PHB X"]))


def test_nvlinks_that_fit_neither_wires_nor_a_switch() -> None:
    message, line_number, column = refusal(
        matrix(["X NV12 NV12 NV12", "NV12 X NV12 NV11", "NV12 NV12 X NV12", "NV12 NV11 NV12 X"])
    )
    assert message.startswith("the NVLinks of GPU0 fit neither wires nor an NVSwitch: 36")
    assert (line_number, column) == (2, 8)
    assert read(matrix(["X NV9 NV9", "NV9 X SYS", "NV9 SYS X"])).switches == ()
    assert "neither" in refusal(matrix(["X NV10 NV9", "NV10 X SYS", "NV9 SYS X"]))[0]


# ------------------------------------------------------------------------ what people really have


READABLE = {
    "01": "8", "02": "8", "04": "4", "05": "8", "07": "2", "09": "4", "11": "4", "13": "2",
    "14": "2", "21": "4", "29": "8", "60": "2", "44": "1",
    "08": "3 root[0]", "17": "2 root[0]", "18": "2 root[0]", "24": "5 root[0]",
    "25": "4 root[0]",
    "20": "8 nvs", "42": "8 nvs", "51": "8 nvs", "59": "8 nvs", "67": "4 nvs",
    "26": "8 root[0] root[1]", "36": "4 root[0] root[1]", "45": "2 root[0] root[1]",
    "62": "4 root[0] root[1]",
    "23": "4 pix[0] pxb[0] root[0] root[1]",
    "27": "8 pix[0] pix[1] pix[2] pix[3] root[0] root[1]",
    "34": "6 pix[0] pix[1] root[0] root[1]",
    "37": "8 pix[0] pix[1] root[0]",
}  # fmt: skip


@pytest.mark.skipif(not CORPUS.is_dir(), reason="needs the collection of real outputs")
def test_real_outputs_are_read_or_refused_with_a_place() -> None:
    found = {}
    files = sorted(CORPUS.glob("nvsmi-*.txt"))
    assert files
    for file in files:
        report = Report()
        drawn = read_nvidia_smi(Source(file.name, file.read_text()), ALL, report)
        if drawn is None:
            assert report.faults
            assert all(fault.span and fault.expected and fault.remedy for fault in report.faults)
        else:
            graph(drawn)
            found[file.name[6:8]] = " ".join([str(len(drawn.ranks)), *switches(drawn)])
    assert found == READABLE


def test_no_text_breaks_it() -> None:
    draw = random.Random(7)
    pieces = [*"X \t\n\r|#>:[m\x1b0", "GPU", "GPU0", "GPU1", "GPU2", "NV", "NV6", "SYS", "PIX"]
    pieces += ["OK", "Affinity", "CPU", "Legend:", "\n\n", "GPU 0: ", "Link 0: 1 GB/s", "NIC0"]
    for _ in range(3000):
        text = list(draw.choice([BOX, DGX1, ""]))
        for _ in range(draw.randrange(1, 12)):
            at = draw.randrange(len(text) + 1)
            text[at : at + draw.randrange(6)] = draw.choice(pieces)
        report = Report()
        source = Source("topo.txt", "".join(text))
        drawn = read_nvidia_smi(source, ALL, report)
        assert (drawn is None) == bool(report.faults)
        if drawn is not None:
            graph(drawn)
        for fault in report.faults:
            assert fault.render()
