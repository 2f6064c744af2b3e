"""The tree of PCIe below a matrix of ``nvidia-smi topo -m``: who shares which way up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.faults import Report
    from roundelay.dsl.readers.smi_matrix import Cell, Matrix

_LEVELS = {"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 2, "SYS": 3}
_MEETING = ("at one PCIe switch", "below one host bridge", "at one NUMA node")


@dataclass(frozen=True, slots=True)
class Tree:
    """Names of switches, and (child, parent, kind of link) for each way up or across.

    ``first`` is a cell that asks for PCIe, ``crossing`` one that asks for a way between NUMA
    nodes, None where there is one node alone.
    """

    switches: tuple[str, ...]
    edges: tuple[tuple[str, str, str], ...]
    first: Cell
    crossing: Cell | None
    warnings: tuple[Fault, ...]


def pcie_tree(matrix: Matrix, report: Report) -> Tree | None:
    """The tree over all GPUs of a matrix in which some pair has no NVLink, or None and faults."""
    cells, size = matrix.cells, len(matrix.cells)
    known = [
        (i, j, _LEVELS[cells[i][j].code])
        for i in range(size)
        for j in range(i)
        if cells[i][j].code in _LEVELS
    ]
    hidden = [(j, i) for i in range(size) for j in range(i) if cells[i][j].code == "NV"]
    levels = [
        _classes(size, ((i, j) for i, j, level in known if level <= most)) for most in range(3)
    ]
    nodes = _settle(matrix, levels[2], hidden, report)
    if nodes is None:
        return None
    levels[2] = nodes
    for i, j, level in known:
        meet = next((k for k in range(3) if levels[k][i] == levels[k][j]), 3)
        if meet < level:
            cell = cells[i][j]
            report.blame(
                f"GPU{i} to GPU{j} is {cell.code}, but by what others say they meet "
                + _MEETING[meet],
                cell.span,
                "cells that go together",
                "paste the output of nvidia-smi topo -m as it was",
            )
            return None
    crossing = next((cells[i][j] for i, j, level in known if level == 3), None)
    if crossing is None and len(set(nodes)) > 1:
        i, j = next((i, j) for i, j in hidden if nodes[i] != nodes[j])
        crossing = cells[i][j]
    first = cells[known[0][0]][known[0][1]]
    return Tree(*_draw(levels), first, crossing, _warnings(matrix, levels, hidden))


def _classes(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The smallest member of the class of each, where pairs are of one class."""
    above = list(range(size))

    def top(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    for i, j in pairs:
        low, high = sorted((top(i), top(j)))
        above[high] = low
    return [top(i) for i in range(size)]


def _settle(
    matrix: Matrix, nodes: list[int], hidden: list[tuple[int, int]], report: Report
) -> list[int] | None:
    """The NUMA node of each GPU, pairs with NVLinks included; None where nothing tells it."""
    cells, homes = matrix.cells, matrix.homes
    size = len(cells)
    apart = {
        (nodes[i], nodes[j]) for i in range(size) for j in range(size) if cells[i][j].code == "SYS"
    }
    open_pairs = [
        (i, j) for i, j in hidden if nodes[i] != nodes[j] and (nodes[i], nodes[j]) not in apart
    ]
    same = [(nodes[i], nodes[j]) for i, j in open_pairs if homes[i] and homes[i] == homes[j]]
    merged = _classes(size, [*enumerate(nodes), *same])
    for i, j in open_pairs:
        if merged[i] != merged[j] and not (homes[i] and homes[j]):
            report.blame(
                f"whether GPU{i} and GPU{j} are at one NUMA node is not told: "
                "their NVLinks hide it",
                cells[i][j].span,
                "one number for each GPU in the column NUMA Affinity, or a list of processors "
                "in CPU Affinity",
                "paste the matrix with these columns, or write the topology out",
            )
            return None
    return merged


def _draw(levels: list[list[int]]) -> tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]:
    """Names of the switches, and the ways up from each."""
    size = len(levels[0])
    switches: list[str] = []
    edges: list[tuple[str, str, str]] = []
    tops = {i: f"gpu[{i}]" for i in range(size)}  # The highest node of a class, by its smallest.
    several = len(set(levels[2])) > 1
    for name, classes in zip(("pix", "pxb", "root"), levels, strict=True):
        made = 0
        for head in sorted(set(classes)):
            below = [i for i in tops if classes[i] == head]
            # One way up needs no switch; but a way to another socket starts at a root.
            if len(below) == 1 and not (several and name == "root"):
                continue
            switch = f"{name}[{made}]"
            made += 1
            switches.append(switch)
            edges += [(tops.pop(i), switch, "pcie") for i in below]
            tops[head] = switch
        tops = dict(sorted(tops.items()))
    roots = list(tops.values())
    if len(roots) == 2:
        edges.append((roots[0], roots[1], "socket"))
    elif len(roots) > 2:
        switches.append("sys")
        edges += [(root, "sys", "socket") for root in roots]
    return tuple(switches), tuple(edges)


def _warnings(
    matrix: Matrix, levels: list[list[int]], hidden: list[tuple[int, int]]
) -> tuple[Fault, ...]:
    """A word on the pairs that are taken to have separate ways up to one root."""
    assumed = [(i, j) for i, j in hidden if levels[1][i] != levels[1][j]]
    assumed = [(i, j) for i, j in assumed if levels[2][i] == levels[2][j]]
    if not assumed:
        return ()
    i, j = assumed[0]
    rest = len(assumed) - 1
    more = f" (and {rest} pair{'s' * (rest > 1)} more)" if rest else ""
    return (
        Fault(
            f"GPU{i} and GPU{j}{more} are taken to have PCIe links of their own up to the host: "
            "their NVLinks hide it",
            matrix.cells[i][j].span,
            remedy="compare nvidia-smi topo -mp, which shows PCIe alone",
        ),
    )
