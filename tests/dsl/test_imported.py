"""Machines that a file of another tool describes, from the text that names it to the model."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.files import read_source
from roundelay.dsl.loader import load
from roundelay.dsl.source import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from roundelay.dsl.model import Topology

MATRIX = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity
GPU0     X      NV4     SYS     SYS     0-31
GPU1    NV4      X      SYS     SYS     0-31
GPU2    SYS     SYS      X      NV4     32-63
GPU3    SYS     SYS     NV4      X      32-63
"""
SPEEDS = "nvlink 14.0625 GB/s, 1 us; pcie 24 GB/s, 2 us; socket 16 GB/s"


def written(folder: Path, text: str, matrix: str = MATRIX) -> Path:
    (folder / "topo.txt").write_text(matrix, encoding="utf-8")
    path = folder / "machine.rly"
    path.write_text(text, encoding="utf-8")
    return path


def topology(folder: Path, text: str, matrix: str = MATRIX) -> Topology:
    return load(read_source(written(folder, text, matrix))).topologies[-1]


def test_a_matrix_becomes_a_machine(tmp_path: Path) -> None:
    it = topology(tmp_path, f'topology mine from "topo.txt" as nvidia-smi {{ {SPEEDS} }}')
    assert it.name == "mine"
    assert [rank.name for rank in it.ranks] == [f"gpu[{g}]" for g in range(4)]
    links = {(it.node_name(k.src), it.node_name(k.dst)): k for k in it.links}
    bridge = links["gpu[2]", "gpu[3]"]
    assert (bridge.count, bridge.bandwidth) == (4, Fraction(14_062_500_000))
    assert bridge.latency == Fraction(1, 10**6)
    assert ("gpu[0]", "gpu[2]") not in links
    sockets = [k for k in it.links if min(k.src, k.dst) >= 4]
    assert {(k.count, k.bandwidth) for k in sockets} == {(1, Fraction(16 * 10**9))}
    assert {k.latency for k in sockets} == {Fraction(0)}
    assert it.assumed == (("latency", "0 s"),)


def test_a_speed_that_is_not_used_assumes_nothing(tmp_path: Path) -> None:
    pair = "     GPU0 GPU1\nGPU0  X  NV4\nGPU1 NV4  X\n"
    it = topology(
        tmp_path,
        'topology mine from "topo.txt" as nvidia-smi { nvlink 25 GB/s, 1 us pcie 24 GB/s }',
        pair,
    )
    assert it.assumed == ()
    assert {(k.count, k.bandwidth) for k in it.links} == {(4, Fraction(25 * 10**9))}


def test_an_import_may_be_a_part_and_a_base(tmp_path: Path) -> None:
    it = topology(
        tmp_path,
        f'topology mine from "topo.txt" as nvidia-smi {{ {SPEEDS} }}\n'
        "topology two { part box[2] = mine  switch ib\n"
        "  link box[b].gpu[g] <-> ib at 25 GB/s for b in 0..2, g in ranks of box }\n"
        "topology less = two without box[1].gpu[0, 3]",
    )
    assert [rank.name for rank in it.ranks] == [
        *(f"box[0].gpu[{g}]" for g in range(4)), "box[1].gpu[1]", "box[1].gpu[2]",
    ]  # fmt: skip


def faults(folder: Path, text: str, matrix: str = MATRIX) -> str:
    with pytest.raises(InputError) as caught:
        topology(folder, text, matrix)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_fault_of_the_file_is_shown_in_the_file(tmp_path: Path) -> None:
    bad = MATRIX.replace("GPU1    NV4 ", "GPU1    NV2 ")
    told = faults(
        tmp_path,
        f'topology mine from "topo.txt" as nvidia-smi {{ {SPEEDS} }}\n'
        "topology two { part box[2] = mine  switch ib\n"
        "  link box[b].gpu[g] <-> ib at 25 GB/s for b in 0..2, g in ranks of box }",
        bad,
    )
    assert told.count("error:") == 1
    assert told.startswith(("topo.txt:2:", "topo.txt:3:"))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    told = faults(tmp_path, f'topology mine from "topo.text" as nvidia-smi {{ {SPEEDS} }}')
    assert told.startswith("machine.rly:1:20: error: 'topo.text' does not exist")
    assert "did you mean" in told
    (tmp_path / "empty").mkdir()
    assert "error:" in faults(tmp_path, f'topology m from "empty" as nvidia-smi {{ {SPEEDS} }}')
    (tmp_path / "zero.txt").write_bytes(b"\0")
    told = faults(tmp_path, f'topology m from "zero.txt" as nvidia-smi {{ {SPEEDS} }}')
    assert told.startswith("machine.rly:1:17: error:")
    assert "is not a text file" in told


def test_a_machine_that_falls_apart(tmp_path: Path) -> None:
    told = faults(
        tmp_path,
        f'topology mine from "topo.txt" as nvidia-smi {{ {SPEEDS} }}\n'
        "topology cut = mine without root[0] <-> root[1]",
    )
    assert "machine.rly:2:10: error: no links lead from gpu[0] to gpu[2]" in told
