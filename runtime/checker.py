"""Judges what an execution left in the output buffers against the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .reference import fold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Problem

    from .executor import Array
    from .reference import Reference

_SLICE = 1 << 15  # Elements judged at once: the reference's arrays stay in the cache.
_REFERENCE = "differs from the reference"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first wrong element: where, what stands there and what should.

    ``field`` names the part of a record (``out[3]``); empty for plain numbers.
    """

    rank: int
    index: int
    got: str
    want: str
    why: str = _REFERENCE
    field: str = ""

    def __str__(self) -> str:
        place = f"rank {self.rank}, index {self.index}"
        place += f", field {self.field}" if self.field else ""
        return f"{place}: got {self.got}, want {self.want} ({self.why})"


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
                bad_model = _bad(element, model, reference)
                for rank, unit in places:
                    got = _unit(outputs, (rank, unit), count)[low:high]
                    drift = _differ(got, model)
                    if not drift.any():
                        if not bad_model.any():
                            continue
                        bad = bad_model
                    else:
                        bad = _bad(element, got, reference)
                    # Where the model itself is wrong, to differ from it is no fault.
                    either = bad.any(axis=1) | (drift & ~bad_model.any(axis=1) & alike)
                    if not either.any():
                        continue
                    wrong += int(either.sum())
                    at = int(either.argmax())
                    index = unit * count + low + at
                    if first is not None and (rank, index) >= (first.rank, first.index):
                        continue
                    if bad[at].any():
                        first = _named(element, (rank, index), got[at], reference, at, bad[at])
                    else:
                        why = f"differs in its bytes from rank {places[0][0]}"
                        first = Mismatch(rank, index, str(got[at]), str(model[at]), why)
    return Judgement(wrong, first)


def judge_inputs(given: Sequence[Array], inputs: Sequence[Array]) -> Judgement:
    """Whether a call that was not in place left its inputs as they were given."""
    wrong = 0
    first: Mismatch | None = None
    for rank, (before, after) in enumerate(zip(given, inputs, strict=True)):
        changed = _differ(before, after)
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


def _differ(one: Array, other: Array) -> Array:
    """Which elements differ in any byte."""
    size = one.dtype.itemsize
    if size in (1, 2, 4, 8):
        kind = np.dtype(f"u{size}")
        plain: Array = one.view(kind) != other.view(kind)
        return plain
    rows = (len(one), size)
    parts: Array = one.view(np.uint8).reshape(rows) != other.view(np.uint8).reshape(rows)
    return np.asarray(parts.any(axis=1))


def _bad(element: Element, got: Array, reference: Sequence[Reference]) -> Array:
    """Which values are wrong, of shape (elements, values of all fields)."""
    columns = [got[field.name] for field in element.fields] or [got]
    return np.concatenate(
        [
            _far(column.reshape(part.values.shape), part.values, part.tolerance)
            for column, part in zip(columns, reference, strict=True)
        ],
        axis=1,
    )


def _named(
    element: Element,
    place: tuple[int, int],
    got: Any,
    reference: Sequence[Reference],
    at: int,
    bad: Array,
) -> Mismatch:
    """The first wrong value of an element, by its field."""
    number = int(bad.argmax())
    if not element.fields:
        return Mismatch(*place, str(got), str(reference[0].values[at, 0]))
    fields = iter(zip(element.fields, reference, strict=True))
    field, part = next(fields)
    while number >= field.length:
        number -= field.length
        field, part = next(fields)
    value = got[field.name][number] if field.vector else got[field.name]
    shown = f"{field.name}[{number}]" if field.vector else field.name
    return Mismatch(*place, str(value), str(part.values[at, number]), field=shown)


def _far(got: Array, want: Array, tolerance: Array) -> Array:
    """Where a value is neither the wanted one (NaN for NaN) nor within its tolerance."""
    if got.dtype.kind in "iu":
        different: Array = got != want
        if not tolerance.any():
            return different
        apart = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble))
        return different & ~(apart <= tolerance)
    wide = want.dtype if want.dtype.itemsize > 4 else np.dtype(np.float64)
    found, wanted = got.astype(wide), want.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        near = (np.abs(found - wanted) <= tolerance) & np.isfinite(wanted)
        # Beyond the type's range the right value is infinite.
        good = near | (got == wanted.astype(got.dtype)) | np.isinf(tolerance)
        if np.isinf(found).any():
            edge = wanted + np.copysign(tolerance, wanted)
            good |= np.isinf(found) & (got == edge.astype(got.dtype))
    good |= np.isnan(found) & np.isnan(wanted)
    bad: Array = ~good
    return bad
