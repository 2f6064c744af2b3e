"""Runs the processor's generated kernels: compiles them once, binds addresses, calls."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roundelay.codegen.program import chunk_range

from .buffers import measure_units
from .modules import import_generated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import numpy.typing as npt

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program

    from .executor import Array

THREADED_BYTES = 16 << 20
"""Below so many bytes over all buffers, handing work to threads cost more than it saved where it
was measured (two cores, also used by others); from here on it gained up to 1.7 times.
"""

MOST_THREADS = 4
"""A few threads already saturate the memory of one processor."""


def load(artifact: Artifact | None, program: Program, element: Element) -> NumbaCpu:
    """Compile an artifact of the backend ``numba-cpu``, or take it from the cache on disk.

    Raises ``ValueError`` for any other artifact.
    """
    if artifact is None or artifact.backend != "numba-cpu":
        raise ValueError("the numba-cpu executor needs an artifact of the numba-cpu backend")
    module = import_generated(artifact.files[0][1], artifact.digest)
    fields = tuple((f.name, f.element, f.length, f.vector) for f in element.fields)
    if (element.name, fields) != (module.ELEMENT, module.FIELDS):
        raise ValueError(f"the artifact is for {module.ELEMENT}, not for {element.name}")
    return NumbaCpu(module, program, element)


@dataclass(frozen=True, slots=True)
class NumbaCpu:
    """A compiled module and the program that it was made of."""

    module: ModuleType
    program: Program
    element: Element

    @property
    def device(self) -> str:
        """The processor, and how many threads large messages use."""
        return f"{_processor()}, up to {_threads()} threads"

    @property
    def alike(self) -> bool:
        """True: the fused kernels store one value on every rank that wants it."""
        return True

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> NumbaLaunch:
        """Bind arrays as ``Executor.bind`` says."""
        collective = self.program.problem.collective
        count, in_place = measure_units(collective, self.element, inputs, outputs)
        module = self.module
        tasks = module.IN_PLACE_TASKS if in_place else module.TASKS
        kernels = module.IN_PLACE_KERNELS if in_place else module.KERNELS
        run = module.run_in_place if in_place else module.run
        run(np.zeros(len(kernels), np.int64))  # Compiles it, or loads it from the cache.
        size = sum(array.nbytes for array in (*inputs, *outputs))
        threads = _threads() if size >= THREADED_BYTES else 1
        starts = (
            [array.ctypes.data for array in inputs],
            [array.ctypes.data for array in outputs],
        )
        words = tuple(
            np.array(self._words(kernels, tasks, count, starts, part, threads), np.int64)
            for part in range(threads)
        )
        return NumbaLaunch(run, words, (tuple(inputs), tuple(outputs)))

    def _words(
        self,
        kernels: tuple[int, ...],
        tasks: Sequence[Any],
        count: int,
        starts: tuple[list[int], list[int]],
        part: int,
        parts: int,
    ) -> list[int]:
        """What one thread does: of every task the same share, so that all have equal work."""
        size, align = self.element.bytes, self.module.ALIGN
        pieces: dict[int, list[list[int]]] = {kernel: [] for kernel in kernels}
        for kernel, chunk, sources, targets in tasks:
            low, high = chunk_range(count, self.module.CHUNKS, chunk, align)
            first, last = chunk_range(high - low, parts, part, align)
            if first == last:
                continue
            piece = [last - first]
            for base, places in zip(starts, (sources, targets), strict=True):
                piece += [base[rank] + (unit * count + low + first) * size for rank, unit in places]
            pieces[kernel].append(piece)
        words: list[int] = []
        for own in pieces.values():
            words.append(len(own))
            for piece in own:
                words += piece
        return words


@dataclass(frozen=True, slots=True)
class NumbaLaunch:
    """Compiled kernels bound to addresses: one table a thread."""

    run: Any
    words: tuple[npt.NDArray[np.int64], ...]
    buffers: tuple[tuple[Array, ...], tuple[Array, ...]]
    """Keeps the bound memory alive."""

    def load(self) -> None:
        """The arrays are where the kernels run."""

    def __call__(self) -> None:
        """Run the collective; returns when it is done."""
        if len(self.words) == 1:
            self.run(self.words[0])
            return
        others = [_pool().submit(self.run, words) for words in self.words[1:]]
        self.run(self.words[0])
        for other in others:
            other.result()

    def wait(self) -> None:
        """A call returns when it is done."""

    def store(self) -> None:
        """The arrays are where the kernels run."""


def _threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(usable or 1, MOST_THREADS))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_THREADS - 1, "roundelay")


# Threads do not survive a fork: a child that used its parent's pool would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
