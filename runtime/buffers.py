"""Buffers of N ranks in one memory: how they are laid out, and which of them may be bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.inplace import find_offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Collective

    from .executor import Array

Arrays = tuple["Array", ...]

_PAGE = 4096
# Caches map addresses modulo a page to the same set: equal offsets of many ranks would evict each
# other. Seventeen lines of 64 bytes move every rank on, and up to 64 ranks apart from each other.
_SHIFT = 17 * 64


def allocate(collective: Collective, element: Element, count: int) -> tuple[Arrays, Arrays]:
    """Inputs and outputs of every rank, of ``count`` elements a unit, all zero.

    All lie in one memory, each aligned to 64 bytes and none at another's offset within a page.
    """
    sizes = [len(collective.inputs(rank)) * count for rank in range(collective.ranks)]
    sizes += [len(collective.outputs(rank)) * count for rank in range(collective.ranks)]
    arrays = _arena(element, sizes)
    return arrays[: collective.ranks], arrays[collective.ranks :]


def overlay(collective: Collective, element: Element, count: int) -> tuple[Arrays, Arrays] | None:
    """Inputs and outputs in the in-place layout, all zero; None where there is none.

    Of a rank's two buffers the smaller is a view of the larger, so that an output unit lies where
    the input unit of the same block lies (``codegen.inplace``).
    """
    offsets = find_offsets(collective)
    if offsets is None:
        return None
    ranks = range(collective.ranks)
    ins = [len(collective.inputs(rank)) for rank in ranks]
    outs = [len(collective.outputs(rank)) for rank in ranks]
    shared = _arena(element, [max(i, o) * count for i, o in zip(ins, outs, strict=True)])
    starts = [(max(0, -offset) * count, max(0, offset) * count) for offset in offsets]
    inputs = tuple(shared[r][starts[r][0] : starts[r][0] + ins[r] * count] for r in ranks)
    outputs = tuple(shared[r][starts[r][1] : starts[r][1] + outs[r] * count] for r in ranks)
    return inputs, outputs


def measure_units(
    collective: Collective, element: Element, inputs: Sequence[Array], outputs: Sequence[Array]
) -> tuple[int, bool]:
    """Elements of a unit, and whether the arrays lie in place.

    Raises ``ValueError`` unless there is one input and one output array a rank, all of the
    element's type, one-dimensional and contiguous, of the right number of units of one length,
    every output writable, and no output overlapping any other array except as ``overlay`` lays
    them out.
    """
    for name, arrays in (("input", inputs), ("output", outputs)):
        if len(arrays) != collective.ranks:
            raise ValueError(f"{len(arrays)} {name}s were given for {collective.ranks} ranks")
        for rank, array in enumerate(arrays):
            if array.dtype != element.dtype:
                raise ValueError(
                    f"the {name} of rank {rank} is of type {array.dtype}, not {element.dtype}"
                )
            if array.ndim != 1 or not array.flags.c_contiguous:
                raise ValueError(f"the {name} of rank {rank} is not one-dimensional and contiguous")
            # Fields of a record need not be aligned, so neither need the record.
            if not element.fields and array.ctypes.data % element.bytes:
                raise ValueError(f"the {name} of rank {rank} is not aligned to its elements")
            if name == "output" and not array.flags.writeable:
                raise ValueError(f"the output of rank {rank} is read-only")
    count = _common_count(collective, inputs, outputs)
    return count, _judge_overlaps(collective, element, inputs, outputs, count)


def _common_count(collective: Collective, inputs: Sequence[Array], outputs: Sequence[Array]) -> int:
    count: int | None = None
    for rank in range(collective.ranks):
        for name, array, units in (
            ("input", inputs[rank], len(collective.inputs(rank))),
            ("output", outputs[rank], len(collective.outputs(rank))),
        ):
            if not units:
                if array.size:
                    raise ValueError(f"rank {rank} has no {name}, but {array.size} elements given")
                continue
            own, rest = divmod(array.size, units)
            if rest:
                raise ValueError(
                    f"the {name} of rank {rank}, {array.size} elements, does not hold "
                    f"{units} equal units"
                )
            if count is None:
                count = own
            elif own != count:
                raise ValueError(
                    f"the {name} of rank {rank} has {own} elements a unit, others have {count}"
                )
    return count or 0


def _judge_overlaps(
    collective: Collective,
    element: Element,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    count: int,
) -> bool:
    """Whether any rank is in place; raises where memory is shared in any other way."""
    offsets = find_offsets(collective)
    unit = count * element.bytes
    shared: set[int] = set()
    for rank in range(collective.ranks):
        given, made = inputs[rank], outputs[rank]
        if not _meet(_extent(given), _extent(made)):
            continue
        moved = made.ctypes.data - given.ctypes.data
        if offsets is None or moved != offsets[rank] * unit:
            raise ValueError(
                f"the output of rank {rank} overlaps its input in another way than in place"
            )
        shared.add(rank)
    extents = [(_extent(array), "output", rank) for rank, array in enumerate(outputs)]
    extents += [(_extent(array), "input", rank) for rank, array in enumerate(inputs)]
    extents = sorted(extent for extent in extents if extent[0][0] < extent[0][1])
    for i, (extent, kind, rank) in enumerate(extents):
        for other, other_kind, other_rank in extents[i + 1 :]:
            if other[0] >= extent[1]:
                break
            if rank != other_rank and "output" in (kind, other_kind):
                first, second = sorted([(kind, rank), (other_kind, other_rank)], reverse=True)
                raise ValueError(
                    f"the {first[0]} of rank {first[1]} overlaps "
                    f"the {second[0]} of rank {second[1]}"
                )
    both = {rank for rank in range(collective.ranks) if inputs[rank].size and outputs[rank].size}
    return bool(shared) and shared == both


def _extent(array: Array) -> tuple[int, int]:
    return array.ctypes.data, array.ctypes.data + array.nbytes


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


def _arena(element: Element, sizes: Sequence[int]) -> tuple[Array, ...]:
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size * element.bytes // _PAGE) * _PAGE + _SHIFT
    memory = np.zeros(end + 64, np.uint8)
    skip = -memory.ctypes.data % 64
    return tuple(
        memory[skip + offset : skip + offset + size * element.bytes].view(element.dtype)
        for offset, size in zip(offsets, sizes, strict=True)
    )
