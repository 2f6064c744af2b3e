"""Judges what an execution left in the output buffers against the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .reference import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Problem

    from .executor import Array

_SLICE = 1 << 15  # Elements judged at once: the reference's arrays stay in the cache.
_REFERENCE = "differs from the reference"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first wrong element: where, what stands there and what should."""

    rank: int
    index: int
    got: str
    want: str
    why: str = _REFERENCE

    def __str__(self) -> str:
        return (
            f"rank {self.rank}, index {self.index}: got {self.got}, want {self.want} ({self.why})"
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """Number of wrong elements over all ranks, and the first of them by rank and index."""

    wrong: int
    first: Mismatch | None = None


def judge(
    problem: Problem,
    element: Element,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    *,
    alike: bool = True,
) -> Judgement:
    """Compare every element of every output with the reference.

    ``inputs`` are the values before the collective, one array a rank, ``outputs`` those after.
    Beside the distance from the reference it asks, where the executor promises it (``alike``),
    that all ranks that want the same symbols hold the same bytes: replicas that drift apart are
    a fault then even within rounding.
    """
    collective = problem.collective
    units = [len(collective.outputs(rank)) for rank in range(collective.ranks)]
    count = next((len(o) // n for o, n in zip(outputs, units, strict=True) if n), 0)
    where = {
        (b, s): (rank, unit)
        for rank in range(collective.ranks)
        for unit, (b, s) in enumerate(collective.inputs(rank))
    }
    place = {
        (b, w): (rank, unit)
        for rank in range(collective.ranks)
        for unit, (b, w) in enumerate(collective.outputs(rank))
    }
    wrong = 0
    first: Mismatch | None = None
    for b, block in enumerate(collective.blocks):
        sharing: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for w, want in enumerate(block.wants):
            sharing.setdefault(want.symbols, []).append(place[b, w])
        for symbols, places in sharing.items():
            for low, high in _slices(count):
                terms = [_unit(inputs, where[b, symbol], count)[low:high] for symbol in symbols]
                reference = fold(problem.operator, element, terms)
                model = _unit(outputs, places[0], count)[low:high]
                bad_model = _bad(model, reference.values, reference.tolerance)
                for rank, unit in places:
                    got = _unit(outputs, (rank, unit), count)[low:high]
                    drift = _bytes(got) != _bytes(model)
                    if not drift.any():
                        if not bad_model.any():
                            continue
                        bad = bad_model
                    else:
                        bad = _bad(got, reference.values, reference.tolerance)
                    # Where the model itself is wrong, to differ from it is no fault.
                    either = bad | (drift & ~bad_model & alike)
                    if not either.any():
                        continue
                    wrong += int(either.sum())
                    at = int(either.argmax())
                    found = Mismatch(
                        rank,
                        unit * count + low + at,
                        str(got[at]),
                        str(reference.values[at] if bad[at] else model[at]),
                        _REFERENCE if bad[at] else f"differs in its bytes from rank {places[0][0]}",
                    )
                    if first is None or (rank, found.index) < (first.rank, first.index):
                        first = found
    return Judgement(wrong, first)


def judge_inputs(given: Sequence[Array], inputs: Sequence[Array]) -> Judgement:
    """Whether a call that was not in place left its inputs as they were given."""
    wrong = 0
    first: Mismatch | None = None
    for rank, (before, after) in enumerate(zip(given, inputs, strict=True)):
        changed = _bytes(before) != _bytes(after)
        if changed.any():
            wrong += int(changed.sum())
            at = int(changed.argmax())
            why = "the input was changed"
            first = first or Mismatch(rank, at, str(after[at]), str(before[at]), why)
    return Judgement(wrong, first)


def _slices(count: int) -> Iterator[tuple[int, int]]:
    for low in range(0, count, _SLICE):
        yield low, min(low + _SLICE, count)


def _unit(arrays: Sequence[Array], place: tuple[int, int], count: int) -> Array:
    rank, unit = place
    return arrays[rank][unit * count : (unit + 1) * count]


def _bytes(values: Array) -> Array:
    return values.view(np.dtype(f"u{values.dtype.itemsize}"))


def _bad(got: Array, want: Array, tolerance: Array) -> Array:
    """Where a value is neither the wanted one (NaN for NaN) nor within its tolerance."""
    if got.dtype.kind in "iu":
        different: Array = got != want
        return different
    wide = want.dtype if want.dtype.itemsize > 4 else np.dtype(np.float64)
    found, wanted = got.astype(wide), want.astype(wide)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - wanted) <= tolerance
    with np.errstate(over="ignore"):
        rounded = wanted.astype(got.dtype)  # Beyond the type's range the right value is infinite.
    good: Array = (got == rounded) | (np.isnan(found) & np.isnan(wanted)) | near
    return ~good
