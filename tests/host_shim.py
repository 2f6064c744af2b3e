"""CUDA C++ run on the CPU: the generated text compiled by g++ with -DRL_HOST.

``FakeCupy`` offers as much of CuPy as the executor uses, with such modules inside, so that the
executor runs whole: only the compiler and the memory are other ones.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from roundelay.codegen.cuda_backend import emit
from roundelay.runtime.gpu_launch import make_table, read_plan
from tests.arrays import evaluate
from tests.gpu_programs import (
    fill_randomly,
    find_difference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Fused

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


def compile_host(text: str, *extra: str) -> ctypes.CDLL:
    """The text as a shared library of the host; undefined behaviour in it kills the process."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernels.so")
        command = ["g++", "-std=c++17", "-DRL_HOST", "-O0", "-Wall", "-Wextra", "-Werror"]
        command += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
        command += ["-ffp-contract=off", "-shared", "-fPIC", "-x", "c++", "-", "-lm", *extra]
        done = subprocess.run(
            [*command, "-o", str(library)], input=text, text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))


def launch_host(
    library: ctypes.CDLL, entry: str, grid: tuple[int, int], threads: int, table: Any
) -> None:
    """Run one kernel; ``table`` is int64 of shape (rows, columns)."""
    table = np.ascontiguousarray(table, np.int64)
    run = library.rl_host_launch
    run.restype = None
    run.argtypes = [ctypes.c_void_p, *[ctypes.c_longlong] * 3, ctypes.c_void_p, ctypes.c_longlong]
    kernel = ctypes.cast(getattr(library, entry), ctypes.c_void_p)
    run(kernel, grid[0], grid[1], threads, table.ctypes.data, len(table))


class Kernels:
    """The text of a fused program compiled for the host; runs on buffers at any offset.

    ``close`` is what ``find_difference`` allows, ``mild`` keeps extreme values away.
    """

    def __init__(
        self, fused: Fused, element: Element, *options: str, close: float = 0, mild: bool = False
    ) -> None:
        self.close, self.mild = close, mild
        artifact = emit(fused, element)
        self.fused, self.element = fused, element
        self.plan = read_plan(artifact, "cuda", element)
        self.library = compile_host(self.plan.text, *options)

    def allocate(self, units: int, count: int, skip: int, shift: int = 0) -> Any:
        """An array whose first element is ``skip`` elements after an address divisible by 16, and
        ``shift`` bytes.
        """
        raw = np.zeros((units * count + skip) * self.element.bytes + 16 + shift, np.uint8)
        start = -raw.ctypes.data % 16 + skip * self.element.bytes + shift
        return raw[start : start + units * count * self.element.bytes].view(self.element.dtype)

    def run(
        self, inputs: list[Any], outputs: list[Any], count: int, threads: int, tiles: int
    ) -> None:
        addresses = [[array.ctypes.data for array in arrays] for arrays in (inputs, outputs)]
        for kernel in self.plan.kernels:
            table = make_table(self.plan, kernel, count, *addresses)
            if len(table):
                grid = tiles, min(len(table), 2)
                launch_host(self.library, kernel.entry, grid, threads, table)

    def check(
        self, count: int, skips: tuple[int, ...], threads: int, tiles: int, shift: int = 0
    ) -> None:
        collective = self.fused.problem.collective
        ranks = range(collective.ranks)
        inputs = [
            self.allocate(len(collective.inputs(r)), count, skips[r % len(skips)], shift)
            for r in ranks
        ]
        outputs = [
            self.allocate(len(collective.outputs(r)), count, skips[-1 - r % len(skips)], shift)
            for r in ranks
        ]
        fill_randomly(self.element, inputs, count, mild=self.mild)
        before = [array.copy() for array in inputs]
        wanted = evaluate(self.fused, self.element, inputs, count)
        self.run(inputs, outputs, count, threads, tiles)
        assert not find_difference(self.element, outputs, wanted, self.close)
        for array, old in zip(inputs, before, strict=True):
            assert array.tobytes() == old.tobytes()

    def check_in_place(self, count: int, skip: int, shift: int = 0) -> None:
        """An all-reduce whose outputs are its inputs."""
        ranks = range(self.fused.problem.collective.ranks)
        arrays = [self.allocate(1, count, skip, shift) for _ in ranks]
        fill_randomly(self.element, arrays, count, mild=self.mild)
        wanted = evaluate(self.fused, self.element, arrays, count)
        self.run(arrays, arrays, count, 3, 5)
        assert not find_difference(self.element, arrays, wanted, self.close)


class FakeArray:
    """Device memory that is the host's."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.data = SimpleNamespace(ptr=array.ctypes.data)

    def __getitem__(self, where: slice) -> FakeArray:
        return FakeArray(self.array[where])

    def set(self, host: Any) -> None:
        assert host.dtype == self.array.dtype
        assert host.shape == self.array.shape
        self.array[:] = host

    def get(self, *, out: Any) -> Any:
        assert out.dtype == self.array.dtype
        assert out.shape == self.array.shape
        out[:] = self.array
        return out


class FakeCupy:
    """The part of the module ``cupy`` that the executor uses."""

    uint8, int64 = np.uint8, np.int64

    def __init__(self, devices: int = 1) -> None:
        self.launches: list[tuple[str, tuple[int, int]]] = []
        self.options: tuple[str, ...] = ()
        self.cuda = SimpleNamespace(
            Device=lambda: SimpleNamespace(id=0, attributes={"MultiProcessorCount": 1}),
            Event=lambda: SimpleNamespace(record=lambda: None, synchronize=lambda: None),
            get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
            get_elapsed_time=lambda _first, _last: 8.0,
            runtime=SimpleNamespace(
                CUDARuntimeError=ZeroDivisionError,
                getDeviceCount=lambda: devices if devices >= 0 else 1 // 0,
                getDeviceProperties=lambda _device: {"name": b"host shim"},
            ),
        )

    def zeros(self, size: int, dtype: Any) -> FakeArray:
        return FakeArray(np.zeros(size, dtype))

    def copyto(self, target: FakeArray, source: FakeArray) -> None:
        target.array[:] = source.array

    def asarray(self, array: Any) -> FakeArray:
        return FakeArray(array.copy())

    def RawModule(self, *, code: str, options: Sequence[str], backend: str) -> Any:  # noqa: N802
        assert backend == "nvrtc"
        self.options = tuple(options)
        library = compile_host(code)

        def get_function(entry: str) -> Any:
            def launch(
                grid: tuple[int, int], block: tuple[int], arguments: tuple[Any, ...]
            ) -> None:
                table, rows = arguments
                assert isinstance(rows, np.int64)
                assert len(table.array) == rows
                self.launches.append((entry, grid))
                launch_host(library, entry, grid, block[0], table.array)

            return launch

        return SimpleNamespace(get_function=get_function)
