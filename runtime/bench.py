"""Runs a collective over a range of sizes: verified first, then timed, a row a size."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.source import UnsupportedError

from .buffers import allocate, overlay
from .checker import judge, judge_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Problem

    from .checker import Judgement, Mismatch
    from .executor import Array, Executor, Launch

Fill = Literal["random", "rank"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Which sizes to run and how often, as in nccl-tests.

    ``sizes`` in bytes; each is rounded down to whole elements of whole units. ``iterations``
    and ``warmup`` count timed and untimed calls. ``fill``: seeded random values, or ``rank``,
    which puts r + 1 into every element of rank r. ``check`` false leaves the verification out.
    ``in_place`` leaves the half out of place out.
    """

    sizes: tuple[int, ...]
    iterations: int = 20
    warmup: int = 1
    fill: Fill = "random"
    check: bool = True
    seed: int = 0
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class Half:
    """One half of a row: out of place or in place.

    ``seconds`` for one call, on average over the iterations. ``judgement`` is None where the
    results were not checked.
    """

    seconds: float
    judgement: Judgement | None


@dataclass(frozen=True, slots=True)
class Row:
    """What one size gave. ``in_place`` is None where the collective has no in-place form,
    ``out_of_place`` where the plan asked for the other half alone.

    ``size`` in bytes as nccl-tests counts it for the collective; ``count`` in elements of one
    unit; ``value`` is the common value of all output elements, where they have one.
    """

    size: int
    count: int
    out_of_place: Half | None
    in_place: Half | None
    value: str | None = None

    @property
    def wrong(self) -> int:
        """Wrong elements of both halves together."""
        return sum(half.judgement.wrong for half in self._halves if half.judgement)

    @property
    def first(self) -> Mismatch | None:
        """The first wrong element, out of place before in place."""
        found = (half.judgement.first for half in self._halves if half.judgement)
        return next((mismatch for mismatch in found if mismatch), None)

    @property
    def _halves(self) -> tuple[Half, ...]:
        return tuple(half for half in (self.out_of_place, self.in_place) if half)


def measure(problem: Problem, element: Element, executor: Executor, plan: Plan) -> Iterator[Row]:
    """Run every size of the plan and yield its row as soon as it is there.

    Raises ``UnsupportedError`` where the plan wants the collective in place, and it has no such
    form.
    """
    collective = problem.collective
    if plan.in_place and overlay(collective, element, 0) is None:
        raise UnsupportedError(
            f"{collective.name} has no in-place form",
            "a collective whose results can lie where its inputs were",
            "measure it out of place",
        )
    unit = element.bytes * collective.units
    largest = max((size // unit for size in plan.sizes), default=0)
    inputs, outputs = allocate(collective, element, largest)
    values = [
        _fill(plan, element, [plan.seed, rank], len(array)) for rank, array in enumerate(inputs)
    ]
    done: set[int] = set()
    for size in plan.sizes:
        count = size // unit
        if count in done:  # Two sizes that round down to the same count are one row.
            continue
        done.add(count)
        given = [value[: count * len(collective.inputs(rank))] for rank, value in enumerate(values)]
        sources = [array[: len(part)] for array, part in zip(inputs, given, strict=True)]
        targets = [
            array[: count * len(collective.outputs(rank))] for rank, array in enumerate(outputs)
        ]
        out = place = value = None
        if not plan.in_place:
            out, value = _half(problem, element, executor, plan, (given, sources, targets), False)
        over = overlay(collective, element, count)
        if over:
            place, same = _half(problem, element, executor, plan, (given, *over), True)
            value = same if plan.in_place else value
        yield Row(count * unit, count, out, place, value)


def memory_needed(problem: Problem, size: int) -> int:
    """Bytes that ``measure`` takes for a size: inputs, outputs, kept values, in place."""
    collective = problem.collective
    units = sum(
        2 * len(collective.inputs(rank)) + len(collective.outputs(rank)) + collective.units
        for rank in range(collective.ranks)
    )
    return size // collective.units * units


def memory_available() -> int:
    """Bytes that the machine can still give without swapping; 0 where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 0


def _fill(plan: Plan, element: Element, seed: list[int], length: int) -> Array:
    """A rank's values; ``seed`` begins with the plan's and the rank."""
    if element.fields:
        records = np.zeros(length, element.dtype)
        for number, field in enumerate(element.fields):
            own = ELEMENTS[field.element]
            part = _fill(plan, own, [*seed, number], length * field.length)
            records[field.name] = part.reshape(records[field.name].shape)
        return records
    if plan.fill == "rank":
        return np.full(length, seed[1] + 1).astype(element.dtype)
    random = np.random.default_rng(seed)
    if element.exact:
        limits = np.iinfo(element.dtype)
        integers: Array = random.integers(
            limits.min, limits.max, length, dtype=element.dtype, endpoint=True
        )
        return integers
    # Away from zero and of both signs: sums cancel, products of many ranks neither die nor burst.
    wide = np.float64 if element.bytes == 8 else np.float32
    floats = random.random(length, dtype=wide)
    floats += 0.5
    floats[1::3] *= -1
    return floats.astype(element.dtype)


def _half(
    problem: Problem,
    element: Element,
    executor: Executor,
    plan: Plan,
    arrays: tuple[Sequence[Array], Sequence[Array], Sequence[Array]],
    in_place: bool,
) -> tuple[Half, str | None]:
    """Verify, then time; also the outputs' common value after one call."""
    given, inputs, outputs = arrays
    launch = executor.bind(inputs, outputs)
    judgement: Judgement | None = None
    common: str | None = None
    if plan.check:
        for output in outputs:
            output.view(np.uint8)[:] = (
                0xA5  # No kernel passes by leaving old, right values in place.
            )
        for array, value in zip(inputs, given, strict=True):
            array[:] = value
        launch.load()
        launch()
        launch.wait()
        launch.store()
        judgement = judge(problem, element, given, outputs, alike=executor.alike)
        if not judgement.wrong and not in_place:
            judgement = judge_inputs(given, inputs)
        common = _common(outputs)
    half = Half(_time(launch, plan), judgement)
    # In place, every call but the first starts from results.
    if not plan.check and not in_place:
        common = _common(outputs)
    return half, common


def _time(launch: Launch, plan: Plan) -> float:
    for _ in range(plan.warmup):
        launch()
    launch.wait()
    started = time.perf_counter()
    for _ in range(plan.iterations):
        launch()
    launch.wait()
    return (time.perf_counter() - started) / max(1, plan.iterations)


def _common(arrays: Sequence[Array]) -> str | None:
    """The one value that all elements of all arrays have, as text; None where they differ."""
    filled = [array for array in arrays if len(array)]
    if not filled or any((array != filled[0][0]).any() for array in filled):
        return None
    return str(filled[0][0])
