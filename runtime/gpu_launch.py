"""What every executor of GPU text shares: the launch file read back, tables, memory, grids."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roundelay.codegen.program import chunk_range
from roundelay.dsl.source import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element

    from .executor import Array

Ints = npt.NDArray[np.int64]

_ROWS = 65535
"""The largest second dimension of a CUDA grid; kernels go on by themselves beyond."""

_ALIGN = 256


class UnavailableError(UnsupportedError):
    """This machine lacks what the executor needs; the message says what to install."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel: chunk of every row, and (rank, unit) of its sources and of its targets."""

    entry: str
    chunk: Ints
    sources: Ints
    targets: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A launch file read back, with the kernels' text."""

    name: str
    text: str
    options: tuple[str, ...]
    threads: int
    align: int
    itemsize: int
    chunks: int
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """How arrays lie in device memory: bytes of every region, and (region, offset) of every rank.

    Arrays that share memory on the host share it, in the same way, on the device.
    """

    sizes: tuple[int, ...]
    inputs: tuple[tuple[int, int], ...]
    outputs: tuple[tuple[int, int], ...]

    def locate(self, bases: Sequence[int]) -> tuple[list[int], list[int]]:
        """Addresses of every rank's input and output, given those of the regions."""
        return (
            [bases[region] + offset for region, offset in self.inputs],
            [bases[region] + offset for region, offset in self.outputs],
        )

    def pair(
        self, regions: Sequence[Any], inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> tuple[list[tuple[Any, Any]], list[tuple[Any, Any]]]:
        """What to copy before and after: parts of byte regions, and host arrays' bytes beside.

        Empty arrays need no copy, and no part of a region could stand for them.
        """
        loads, stores = (
            [
                (regions[region][offset : offset + array.nbytes], view_bytes(array))
                for (region, offset), array in zip(places, arrays, strict=True)
                if array.nbytes
            ]
            for places, arrays in ((self.inputs, inputs), (self.outputs, outputs))
        )
        return loads, stores


def read_plan(artifact: Artifact, backend: str, element: Element) -> Plan:
    """The launch plan of an artifact. Raises ``ValueError`` for another backend or element."""
    (_, text), (_, launch) = artifact.files
    facts = json.loads(launch)
    expected = {"backend": backend, "element": element.name, "itemsize": element.bytes}
    for what, wanted in expected.items():
        if facts[what] != wanted:
            raise ValueError(f"the kernels are for {what} {facts[what]}, not {wanted}")
    kernels = []
    for kernel in facts["kernels"]:
        rows = kernel["rows"]
        places = (len(rows), kernel["operands"], 2), (len(rows), kernel["targets"], 2)
        kernels.append(
            Kernel(
                kernel["entry"],
                np.array([row[0] for row in rows], np.int64),
                np.array([row[1] for row in rows], np.int64).reshape(places[0]),
                np.array([row[2] for row in rows], np.int64).reshape(places[1]),
            )
        )
    return Plan(
        facts["file"],
        text,
        tuple(facts["options"]),
        facts["threads"],
        facts["align"],
        facts["itemsize"],
        facts["chunks"],
        tuple(kernels),
    )


def make_table(
    plan: Plan, kernel: Kernel, count: int, inputs: Sequence[int], outputs: Sequence[int]
) -> Ints:
    """A kernel's table for buffers at these addresses: int64, (rows, 1 + operands + targets).

    ``count`` is the number of elements of a unit. Rows of empty chunks are left out.
    """
    ranges = [chunk_range(count, plan.chunks, c, plan.align) for c in range(plan.chunks)]
    low, high = np.array(ranges, np.int64).reshape(-1, 2).T
    first, length = low[kernel.chunk], (high - low)[kernel.chunk]
    columns = [length[:, None]]
    for bases, places in ((inputs, kernel.sources), (outputs, kernel.targets)):
        base = np.array(bases, np.int64)[places[..., 0]]
        columns.append(base + (places[..., 1] * count + first[:, None]) * plan.itemsize)
    return np.concatenate(columns, axis=1)[length > 0]


def choose_grid(plan: Plan, table: Ints, threads: int, blocks: int) -> tuple[int, int]:
    """(tiles, rows) of a launch: about ``blocks`` blocks, no more tiles than the work fills."""
    rows = min(len(table), _ROWS)
    full = -(-int(table[:, 0].max()) // (plan.align * threads))
    return max(1, min(full, -(-blocks // rows))), rows


def place_arrays(inputs: Sequence[Array], outputs: Sequence[Array]) -> Memory:
    """Lay the arrays of all ranks out in regions, one for every set of overlapping arrays."""
    extents = sorted(
        (array.ctypes.data, array.ctypes.data + array.nbytes, side, rank)
        for side, arrays in enumerate((inputs, outputs))
        for rank, array in enumerate(arrays)
    )
    sizes: list[int] = []
    places: dict[tuple[int, int], tuple[int, int]] = {}
    start = end = -1
    for low, high, side, rank in extents:
        if low >= end:
            sizes.append(0)
            start = low
        end = max(end, high)
        sizes[-1] = max(sizes[-1], -(-(end - start) // _ALIGN) * _ALIGN)
        places[side, rank] = len(sizes) - 1, low - start
    return Memory(
        tuple(sizes),
        tuple(places[0, rank] for rank in range(len(inputs))),
        tuple(places[1, rank] for rank in range(len(outputs))),
    )


def view_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """The bytes of a one-dimensional contiguous array, in the same memory."""
    return array.view(np.uint8)
