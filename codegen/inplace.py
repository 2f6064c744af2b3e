"""The in-place layout: where a rank's output may share memory with its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Collective

    Units = tuple[tuple[int, int], ...]


def find_offsets(collective: Collective) -> tuple[int, ...] | None:
    """For every rank the position of its first output unit, counted in units from its first input.

    The smaller of the two buffers lies inside the larger one, so a negative number says that the
    input lies inside the output. An output unit shares memory with an input unit of the same
    block only: all-reduce 0, all-gather ``-rank``, reduce-scatter ``rank``. A rank that lacks one
    of the two buffers counts as 0.

    None where the collective has no such layout: where a rank has several units on both sides
    (all-to-all), where no unit of the same block exists (a shift), or where a shared input is also
    needed for another value than the one that replaces it (a scan), so that the order in which
    values are made would matter.
    """
    offsets = []
    for rank in range(collective.ranks):
        inputs, outputs = collective.inputs(rank), collective.outputs(rank)
        if not inputs or not outputs:
            offsets.append(0)
            continue
        if len(inputs) > 1 and len(outputs) > 1:
            return None
        place = _meeting(collective, inputs, outputs)
        if place is None:
            return None
        offsets.append(place)
    return tuple(offsets)


def _meeting(collective: Collective, inputs: Units, outputs: Units) -> int | None:
    for i, (block, symbol) in enumerate(inputs):
        for o, (wanted, want) in enumerate(outputs):
            if block != wanted:
                continue
            wants = collective.blocks[block].wants
            replaced = wants[want].symbols
            if all(w.symbols == replaced for w in wants if symbol in w.symbols):
                return i - o
    return None
