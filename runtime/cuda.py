"""CUDA C++ kernels through CuPy: N virtual ranks as buffers of one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .buffers import measure_units
from .gpu_launch import (
    UnavailableError,
    choose_grid,
    make_table,
    place_arrays,
    read_plan,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program

    from .executor import Array

_BLOCKS = 8
"""Blocks a multiprocessor: 2048 threads, all that one holds."""


def load(artifact: Artifact, program: Program, element: Element) -> CudaExecutor:
    """Compile an artifact of the ``cuda`` backend for the current device.

    Raises ``UnavailableError`` when CuPy or a device is missing, ``ValueError`` for another
    backend's artifact.
    """
    return CudaExecutor(artifact, program, element)


class CudaExecutor:
    """The kernels loaded on CuPy's current device; launches run on its current stream."""

    alike = True

    def __init__(self, artifact: Artifact, program: Program, element: Element) -> None:
        self._plan = read_plan(artifact, "cuda", element)
        self._collective, self._element = program.problem.collective, element
        self._cupy = cupy = _import_cupy()
        device = cupy.cuda.Device()
        self._blocks = _BLOCKS * int(device.attributes["MultiProcessorCount"])
        name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"]
        self.device = name.decode() if isinstance(name, bytes) else str(name)
        self._module = cupy.RawModule(
            code=self._plan.text, options=self._plan.options, backend="nvrtc"
        )

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> CudaLaunch:
        """Bind host arrays, with a device buffer for each; see ``Executor.bind``."""
        count, _ = measure_units(self._collective, self._element, inputs, outputs)
        cupy, plan = self._cupy, self._plan
        memory = place_arrays(inputs, outputs)
        regions = [cupy.zeros(size, cupy.uint8) for size in memory.sizes]
        sources, targets = memory.locate([int(region.data.ptr) for region in regions])
        calls = []
        for kernel in plan.kernels:
            table = make_table(plan, kernel, count, sources, targets)
            if len(table):
                function = self._module.get_function(kernel.entry)
                grid = choose_grid(plan, table, plan.threads, self._blocks)
                arguments = cupy.asarray(table), cupy.int64(len(table))
                calls.append((function, grid, (plan.threads,), arguments))
        loads, stores = memory.pair(regions, inputs, outputs)
        return CudaLaunch(cupy, calls, loads, stores)


class CudaLaunch:
    """A collective bound to host arrays and their buffers on the device; see ``Launch``."""

    def __init__(
        self,
        cupy: Any,
        calls: list[Any],
        loads: list[tuple[Any, Any]],
        stores: list[tuple[Any, Any]],
    ) -> None:
        self._cupy, self._calls, self._loads, self._stores = cupy, calls, loads, stores

    def load(self) -> None:
        """Copy the inputs to the device."""
        for buffer, host in self._loads:
            buffer.set(host)
        self.wait()

    def __call__(self) -> None:
        """Launch the kernels, one a shape; they may still run on return."""
        for function, grid, block, arguments in self._calls:
            function(grid, block, arguments)

    def wait(self) -> None:
        """Return when the stream has done all that was launched."""
        self._cupy.cuda.get_current_stream().synchronize()

    def store(self) -> None:
        """Copy the outputs from the device."""
        for buffer, host in self._stores:
            buffer.get(out=host)

    def measure_seconds(self, repeats: int) -> float:
        """Seconds a call on the device, by CUDA events around ``repeats`` calls."""
        first, last = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        first.record()
        for _ in range(repeats):
            self()
        last.record()
        last.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(first, last)) / 1e3 / repeats


def require_device() -> None:
    """Raise ``UnavailableError`` without CuPy or without a device that it can use."""
    _import_cupy()


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise UnavailableError(
            "the cuda backend needs CuPy, which is not installed",
            "a machine with a CUDA device and CuPy",
            "pip install 'roundelay[gpu]', or without a GPU --backend numba-cpu",
        ) from error
    try:
        devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise UnavailableError(f"CuPy finds no CUDA device: {error}") from error
    if not devices:
        raise UnavailableError("CuPy finds no CUDA device")
    return cupy
