"""The matrix of ``nvidia-smi topo -m``, cell by cell.

A cell that could mean two things is a fault, never a guess: there is a row for every GPU, its
diagonal is ``X``, and every pair says the same both ways.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from roundelay.dsl.readers.smi_text import CODE, CODES, WHOLE, find_block, gpu_number
from roundelay.dsl.source import Span

if TYPE_CHECKING:
    from roundelay.dsl.faults import Report
    from roundelay.dsl.readers.smi_text import Block, Word
    from roundelay.dsl.source import Source

NVLINKS = 18
"""Most NVLinks of one GPU of any generation so far: P100 4, V100 6, A100 12, H100 and B200 18."""

_LANES_OF = re.compile(r"\s*GPU ([0-9]{1,5}): ")
_LANE = re.compile(r"\s*Link ([0-9]{1,3}): [0-9.]{1,12} GB/s\s*")


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one cell: ``X``, ``NV`` with a number of links, or a path over PCIe."""

    code: str
    links: int
    span: Span


@dataclass(frozen=True, slots=True)
class Matrix:
    """The GPU block of the matrix: symmetric, ``X`` on the diagonal.

    ``homes`` names the NUMA node of each GPU as the affinity columns have it, empty where they
    do not tell. ``lanes`` is how many active NVLinks each GPU has by the output of
    ``nvidia-smi nvlink -s``, for the GPUs that the text lists so.
    """

    cells: tuple[tuple[Cell, ...], ...]
    homes: tuple[str, ...]
    lanes: dict[int, int]


def read_matrix(source: Source, report: Report) -> Matrix | None:
    """The first GPU matrix of a text, or None and faults."""
    before = len(report.faults)
    block = find_block(source, report)
    if block is None or len(report.faults) > before:
        return None
    if block.rows and len(block.rows[0]) > 1 and block.rows[0][1].text.isdecimal():
        span = block.rows[0][1].span
        report.blame("a matrix of numbers is another tool's", span, "paths: PIX, NV4, SYS", WHOLE)
        return None
    rows: dict[int, list[Cell]] = {}
    homes = [""] * block.gpus
    places = _affinity(block)
    for row in block.rows:
        number = gpu_number(row[0])
        if number is None or number >= block.gpus:
            _blame_row(row[0], f"row {row[0].text} has no column", block, report)
        elif number in rows:
            _blame_row(row[0], f"a second row {row[0].text}", block, report)
        else:
            rows[number] = _cells(row, number, block.gpus, report)
            homes[number] = _home(row, places)
    missing = [word for number, word in enumerate(block.header[: block.gpus]) if number not in rows]
    if missing and len(report.faults) == before:
        more = f" (nor have {len(missing) - 1} more)" if len(missing) > 1 else ""
        message = f"{missing[0].text} has a column but no row{more}"
        report.blame(message, missing[0].span, f"{block.gpus} rows, one for each GPU", WHOLE)
    if len(report.faults) > before:
        return None
    cells = tuple(tuple(rows[number]) for number in range(block.gpus))
    return Matrix(cells, tuple(homes), _lanes(source)) if _symmetric(cells, report) else None


def _cells(row: list[Word], number: int, gpus: int, report: Report) -> list[Cell]:
    """The cells of one row, as many as there are GPUs; fewer after a fault."""
    cells: list[Cell] = []
    for word in row[1:]:
        if len(cells) >= gpus:
            break
        if not CODES.fullmatch(word.text):
            _blame_code(row[0], word, len(cells), report)
            return cells
        for match in islice(CODE.finditer(word.text), gpus - len(cells)):
            start = word.span.start + match.start()
            span = Span(word.span.source, start, start + len(match[0]))
            cells.append(_cell(match[0], span))
    if len(cells) < gpus:
        source, end = row[-1].span.source, row[-1].span.end
        report.blame(
            f"row {row[0].text} ends before column GPU{len(cells)}",
            Span(source, end, end),
            f"{gpus} cells, one for each GPU",
            WHOLE,
        )
    for column, cell in enumerate(cells):
        if not _check(cell, row[0].text, column, number, report):
            break
    return cells


def _cell(text: str, span: Span) -> Cell:
    if text.startswith("NV"):
        return Cell("NV", int(text[2:]), span)
    return Cell("SYS" if text == "SOC" else text, 0, span)


def _check(cell: Cell, row: str, column: int, number: int, report: Report) -> bool:
    if (cell.code == "X") != (column == number):
        message = f"row {row}, column GPU{column} has {_shown(cell)}"
        expected = (
            "X, the GPU itself" if column == number else "a path: X stands for the GPU itself"
        )
        report.blame(message, cell.span, expected, WHOLE)
        return False
    if cell.code == "NV" and not 1 <= cell.links <= NVLINKS:
        report.blame(f"{cell.links} NVLinks", cell.span, f"1 to {NVLINKS}, as in NV4", WHOLE)
        return False
    return True


def _shown(cell: Cell) -> str:
    return f"NV{cell.links}" if cell.code == "NV" else cell.code


def _symmetric(cells: tuple[tuple[Cell, ...], ...], report: Report) -> bool:
    """Blame the first cell of each row that differs from its mirror image."""
    even = True
    for i, row in enumerate(cells):
        for j, cell in enumerate(row[:i]):
            other = cells[j][i]
            if (cell.code, cell.links) != (other.code, other.links):
                report.blame(
                    f"GPU{i} to GPU{j} is {_shown(cell)}, GPU{j} to GPU{i} is {_shown(other)}",
                    cell.span,
                    f"the same both ways; the other cell stands at {other.span.place}",
                    WHOLE,
                )
                even = False
                break
    return even


def _affinity(block: Block) -> tuple[int, int, str]:
    """How many affinity columns there are, which of them tells the NUMA node, and how it looks.

    A NUMA affinity of several nodes, or of none, does not say which one the GPU is at. Where
    that column is not there, GPUs of one node are those with the same list of processors.
    """
    tail = " ".join(word.text for word in block.header[block.gpus :])
    numa = "NUMA Affinity" in tail or tail.endswith(" NUMA")
    cpu = "CPU Affinity" in tail
    columns = cpu + numa + ("GPU NUMA ID" in tail)
    if numa:
        return columns, int(cpu), r"[0-9]+"
    return columns, 0 if cpu else -1, r"[0-9][0-9,-]*"


def _home(row: list[Word], places: tuple[int, int, str]) -> str:
    """The NUMA node of a row's GPU, or nothing where its columns are not all there."""
    columns, best, pattern = places
    rest = [word.text for word in row[1:]]
    codes = next((i for i, text in enumerate(rest) if not CODES.fullmatch(text)), len(rest))
    rest = rest[codes:]
    if best < 0 or len(rest) != columns:
        return ""
    return rest[best] if re.fullmatch(pattern, rest[best]) else ""


def _lanes(source: Source) -> dict[int, int]:
    """Active NVLinks by GPU, of ``nvidia-smi nvlink -s`` in the same text."""
    lanes: dict[int, set[str]] = {}
    gpu = -1
    for number in range(1, len(source.starts) + 1):
        line = source.line(number)
        if match := _LANES_OF.match(line):
            gpu = int(match[1])
            lanes.setdefault(gpu, set())
        elif gpu >= 0 and (match := _LANE.fullmatch(line)):
            lanes[gpu].add(match[1])
    return {gpu: len(links) for gpu, links in lanes.items()}


def _blame_row(name: Word, message: str, block: Block, report: Report) -> None:
    report.blame(message, name.span, f"one row each for GPU0 to GPU{block.gpus - 1}", WHOLE)


def _blame_code(name: Word, word: Word, column: int, report: Report) -> None:
    shown = word.text if len(word.text) <= 40 else f"{word.text[:37]}..."
    remedy = WHOLE
    if word.span.end == len(word.span.source.text):
        remedy += "; the text breaks off here"
    report.blame(
        f"row {name.text} has {shown!r} in column GPU{column}",
        word.span,
        "X, PIX, PXB, PHB, NODE, SYS, or NV and a number of links",
        remedy,
    )
