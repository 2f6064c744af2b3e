"""Machines from ``nvidia-smi topo -m``.

What the matrix of that command does not say, its reader settles by these rules:

* **NVLinks.** ``NV4`` between two GPUs is four parallel links of the speed ``nvlink``. Where an
  NVSwitch joins GPUs, every pair of them shows *all* the links of a GPU; where wires do, the
  links of a GPU are shared out over its row. So GPUs that all show the same number are joined by
  a switch ``nvs`` if their rows add up to more links than any GPU has (18), and by wires if the
  number is below that of every NVSwitch generation (6). In between (four GPUs that show NV6)
  both exist, and the output of ``nvidia-smi nvlink -s`` in the same text has to tell: it lists
  the links of each GPU. Two GPUs come to the same either way. Whether the switch multicasts or
  reduces is not in the matrix: it does neither here.
* **PCIe** is drawn where NVLinks alone do not join all GPUs, and left out elsewhere. It is a tree
  of links of the speed ``pcie``: GPUs that say PIX meet in one switch ``pix``, such switches
  (or GPUs) that say PXB in one ``pxb``, and all that say PHB or NODE in the ``root`` of their NUMA
  node; whatever has one way up shares it.
* **SYS.** Two roots are joined by one link of the speed ``socket``; more than two by one such
  link each to a switch ``sys``. ``socket`` is thus what one NUMA node sends to all others.
* **Hidden paths.** An NV cell hides how its pair meets over PCIe. The pair is at one NUMA node
  if other cells say so, else if the affinity columns do; where nothing tells it is a fault. Two
  such GPUs have separate ways up to their root unless other cells join them further down; as this
  may promise too much, a warning says so.

Speeds that a text does not need may be given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from roundelay.dsl.faults import unknown
from roundelay.dsl.readers.pcie import pcie_tree
from roundelay.dsl.readers.smi_matrix import NVLINKS, Cell, read_matrix
from roundelay.dsl.readers.table import Drawn
from roundelay.dsl.source import Fault, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundelay.dsl.faults import Report
    from roundelay.dsl.readers.smi_matrix import Matrix
    from roundelay.dsl.readers.table import Speed
    from roundelay.dsl.source import Source

FEWEST = 6
"""Fewest NVLinks of a GPU in a machine with NVSwitches (V100 6, A800 8, A100 12, H100 18)."""

_SPEEDS = {
    "nvlink": ("one NVLink: 25 GB/s on V100, A100 and H100, 50 GB/s on B200", "25 GB/s"),
    "pcie": ("one GPU's PCIe link: about 24 GB/s for x16 of the fourth generation", "24 GB/s"),
    "socket": ("the link from one NUMA node to the others", "16 GB/s"),
}
_WITHOUT_NVLINK = re.compile(r"topo[ \t]+-mp\b")
_BY_HAND = "write the topology out as ranks, switches and links"


def read_nvidia_smi(source: Source, speeds: Mapping[str, Speed], report: Report) -> Drawn | None:
    """The machine of a text with the output of ``nvidia-smi topo -m``.

    ``speeds`` are those of ``nvlink`` (one link), ``pcie`` and ``socket``, as far as they are
    known. Returns None after faults: damage, contradictions, what the matrix leaves open,
    a speed that is needed and missing, and names of speeds that mean nothing here.
    """
    before = len(report.faults)
    for name, speed in speeds.items():
        if name not in _SPEEDS:
            report.add(unknown("speed", name, speed.span, _SPEEDS))
    matrix = read_matrix(source, report)
    if matrix is None:
        return None
    drawing = _Drawing(matrix, report)
    drawing.nvlinks()
    if len(drawing.islands) > 1:
        drawing.pcie()
    drawing.warn_hidden_nvlinks(source)
    for kind, cell in drawing.needed.items():
        if kind not in speeds:
            _blame_speed(kind, cell, report)
    return None if len(report.faults) > before else drawing.drawn()


def _blame_speed(kind: str, cell: Cell, report: Report) -> None:
    meaning, example = _SPEEDS[kind]
    report.blame(
        f"{kind!r} needs a bandwidth: the text has links of this kind",
        cell.span,
        f"the speed of {meaning}",
        f"give it after the name of the file: {{ {kind} {example} }}",
    )


@dataclass(slots=True)
class _Drawing:
    matrix: Matrix
    report: Report
    islands: list[list[int]] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)
    links: list[tuple[str, str, int, str]] = field(default_factory=list)
    needed: dict[str, Cell] = field(default_factory=dict)
    warnings: list[Fault] = field(default_factory=list)

    def drawn(self) -> Drawn:
        ranks = tuple(_gpu(i) for i in range(len(self.matrix.cells)))
        switches = tuple((name, False, False) for name in self.switches)
        return Drawn(ranks, switches, tuple(self.links), tuple(self.warnings))

    def _join(self, one: str, other: str, count: int, kind: str) -> None:
        self.links += [(one, other, count, kind), (other, one, count, kind)]

    # -------------------------------------------------------------------------- NVLinks

    def nvlinks(self) -> None:
        """Find the islands of GPUs that NVLinks join, and draw the links of each."""
        cells = self.matrix.cells
        self.islands = _islands(self.matrix)
        switched = [island for island in self.islands if len(island) > 1 and self._switched(island)]
        for k, island in enumerate(switched):
            name = "nvs" if len(switched) == 1 else f"nvs[{k}]"
            self.switches.append(name)
            for i in island:
                self._join(_gpu(i), name, cells[island[0]][island[1]].links, "nvlink")
        for island in self.islands:
            if len(island) > 1:
                self.needed.setdefault("nvlink", _first_nvlink(cells[island[0]]))
            if island in switched:
                continue
            for i, j in combinations(island, 2):
                if cells[i][j].code == "NV":
                    self._join(_gpu(i), _gpu(j), cells[i][j].links, "nvlink")
        if switched:
            self._warn_lost(switched)

    def _switched(self, island: list[int]) -> bool:
        """Whether a switch joins these GPUs; blames what neither switch nor wires explain."""
        cells = self.matrix.cells
        rows = {i: [cells[i][j] for j in island if cells[i][j].code == "NV"] for i in island}
        most = max(island, key=lambda i: sum(cell.links for cell in rows[i]))
        total = sum(cell.links for cell in rows[most])
        first = rows[island[0]][0]
        pairs = [cells[i][j] for i, j in combinations(island, 2)]
        same = all(cell.code == "NV" and cell.links == first.links for cell in pairs)
        if not same and total > NVLINKS:
            self.report.blame(
                f"the NVLinks of GPU{most} fit neither wires nor an NVSwitch: {total} in its row",
                rows[most][0].span,
                f"at most {NVLINKS} in a row where GPUs are wired to each other, or the same "
                "number for every pair of GPUs at a switch",
                _BY_HAND,
            )
            return False
        if not same or len(island) == 2 or total > NVLINKS:
            return same and len(island) > 2
        return first.links >= FEWEST and self._told_switched(island, first, total)

    def _told_switched(self, island: list[int], first: Cell, total: int) -> bool:
        """What the list of each GPU's links says, where the matrix alone fits both."""
        lanes = {self.matrix.lanes.get(i, 0) for i in island}
        if lanes == {first.links}:
            return True
        if min(lanes) < total:
            self.report.blame(
                f"{len(island)} GPUs that all show NV{first.links} may be wired to each other "
                "or to an NVSwitch",
                first.span,
                f"the links of each GPU: {first.links} at a switch, {total} where they are wired",
                "add the output of nvidia-smi nvlink -s to the file, or " + _BY_HAND,
            )
        return False

    def _warn_lost(self, switched: list[list[int]]) -> None:
        """A GPU beside an NVSwitch that has no NVLink has probably lost it."""
        lost = [island[0] for island in self.islands if len(island) == 1]
        if lost:
            others = "".join(f", GPU{i}" for i in lost[1:])
            cell = self.matrix.cells[lost[0]][switched[0][0]]
            message = f"GPU{lost[0]}{others}: no NVLink, where other GPUs are at an NVSwitch"
            self.warnings.append(
                Fault(message, cell.span, remedy="look at: nvidia-smi nvlink -s; its PCIe is used")
            )

    def warn_hidden_nvlinks(self, source: Source) -> None:
        """The option -p of ``topo`` leaves NVLinks out."""
        if "nvlink" not in self.needed and (match := _WITHOUT_NVLINK.search(source.text)):
            span = Span(source, match.start(), match.end())
            message = "topo -mp does not show NVLinks; the machine is read as one without"
            self.warnings.append(Fault(message, span, remedy="use nvidia-smi topo -m"))

    # ----------------------------------------------------------------------------- PCIe

    def pcie(self) -> None:
        """Draw the tree of PCIe over all GPUs."""
        tree = pcie_tree(self.matrix, self.report)
        if tree is None:
            return
        self.switches += tree.switches
        for child, parent, kind in tree.edges:
            self._join(child, parent, 1, kind)
        self.needed["pcie"] = tree.first
        if tree.crossing is not None:
            self.needed["socket"] = tree.crossing
        self.warnings += tree.warnings


def _gpu(number: int) -> str:
    return f"gpu[{number}]"


def _first_nvlink(row: tuple[Cell, ...]) -> Cell:
    return next(cell for cell in row if cell.code == "NV")


def _islands(matrix: Matrix) -> list[list[int]]:
    """The GPUs that NVLinks join, directly or over others; each by its smallest member."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for start in range(len(matrix.cells)):
        if start in seen:
            continue
        island = [start]
        seen.add(start)
        for i in island:
            for j, cell in enumerate(matrix.cells[i]):
                if cell.code == "NV" and j not in seen:
                    seen.add(j)
                    island.append(j)
        found.append(sorted(island))
    return found
