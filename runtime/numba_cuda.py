"""Numba CUDA kernels: on a device, or in Numba's simulator in a process of its own."""

from __future__ import annotations

import linecache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

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
    from .simulator import SimulatorExecutor

_BLOCKS = 8
"""Blocks a multiprocessor: 2048 threads, all that one holds."""

_SIMULATED = (2, 4)
"""Blocks and threads in the simulator, where each thread is one of Python's."""


def load(artifact: Artifact, program: Program, element: Element) -> NumbaCudaExecutor:
    """Load an artifact of the ``numba-cuda`` backend for Numba's current device.

    Raises ``UnavailableError`` when there is no device, ``ValueError`` for another backend's
    artifact. Kernels are compiled when first called.
    """
    return NumbaCudaExecutor(artifact, program, element)


def load_simulator(artifact: Artifact, program: Program, element: Element) -> SimulatorExecutor:
    """Load an artifact of the ``numba-cuda`` backend into Numba's CUDA simulator.

    The simulator replaces parts of Numba for a whole process, so it has one of its own, which
    ends with the executor. Raises ``RuntimeError`` with what it said should it fail.
    """
    from .simulator import SimulatorExecutor

    read_plan(artifact, "numba-cuda", element)
    return SimulatorExecutor(artifact, program, element)


class NumbaCudaExecutor:
    """The kernels on Numba's current device; launches run on its default stream."""

    alike = True

    def __init__(self, artifact: Artifact, program: Program, element: Element) -> None:
        from numba import cuda

        self._plan = read_plan(artifact, "numba-cuda", element)
        self._collective, self._element, self._cuda = program.problem.collective, element, cuda
        if _is_simulated():
            self.device = "Numba CUDA simulator"
            self._blocks, self._threads = _SIMULATED
        else:
            device = _find_device(cuda)
            name = device.name
            self.device = name.decode() if isinstance(name, bytes) else str(name)
            self._blocks = _BLOCKS * int(device.MULTIPROCESSOR_COUNT)
            self._threads = self._plan.threads
        self._module = _run_text(self._plan.text, f"{artifact.digest[:16]}/{self._plan.name}")

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> NumbaCudaLaunch:
        """Bind host arrays, with a device buffer for each; see ``Executor.bind``."""
        count, _ = measure_units(self._collective, self._element, inputs, outputs)
        cuda, plan = self._cuda, self._plan
        memory = place_arrays(inputs, outputs)
        regions = [cuda.to_device(np.zeros(max(size, 1), np.uint8)) for size in memory.sizes]
        sources, targets = memory.locate([_address(region) for region in regions])
        calls = []
        for kernel in plan.kernels:
            table = make_table(plan, kernel, count, sources, targets)
            if len(table):
                grid = choose_grid(plan, table, self._threads, self._blocks)
                function = self._module[kernel.entry][grid, self._threads]
                calls.append((function, cuda.to_device(table.ravel()), len(table)))
        loads, stores = memory.pair(regions, inputs, outputs)
        return NumbaCudaLaunch(cuda, calls, loads, stores, regions)


class NumbaCudaLaunch:
    """A collective bound to host arrays and their buffers on the device; see ``Launch``."""

    def __init__(
        self,
        cuda: Any,
        calls: list[tuple[Any, Any, int]],
        loads: list[tuple[Any, Any]],
        stores: list[tuple[Any, Any]],
        regions: list[Any],
    ) -> None:
        self._cuda, self._calls, self._loads, self._stores = cuda, calls, loads, stores
        # Tables hold bare addresses, so the launch itself must keep the memory alive.
        self._regions = regions

    def load(self) -> None:
        """Copy the inputs to the device."""
        for buffer, host in self._loads:
            buffer.copy_to_device(host)

    def __call__(self) -> None:
        """Launch the kernels, one a shape; they may still run on return."""
        for function, table, rows in self._calls:
            function(table, rows)

    def wait(self) -> None:
        """Return when the device has done all that was launched."""
        self._cuda.synchronize()

    def store(self) -> None:
        """Copy the outputs from the device."""
        for buffer, host in self._stores:
            buffer.copy_to_host(host)


def require_device() -> None:
    """Raise ``UnavailableError`` without a device that Numba can use."""
    from numba import cuda

    if not _is_simulated():
        _find_device(cuda)


def _is_simulated() -> bool:
    config: Any = import_module("numba.core.config")
    return bool(config.ENABLE_CUDASIM)


def _find_device(cuda: Any) -> Any:
    if not cuda.is_available():
        try:
            reason = str(cuda.cuda_error() or "no device found")
        except Exception as error:
            reason = str(error)
        raise UnavailableError(
            f"Numba finds no CUDA device: {' '.join(reason.split())}",
            "a machine with a CUDA device and its driver",
            "without a GPU, use --backend numba-cpu or numba-cuda-sim",
        )
    return cuda.get_current_device()


def _run_text(text: str, name: str) -> dict[str, Any]:
    """The names that a module's text defines; its lines are kept for tracebacks."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "roundelay_kernels"}
    exec(compile(text, name, "exec"), scope)
    return scope


def _address(region: Any) -> int:
    interface = getattr(region, "__cuda_array_interface__", None)
    return int(interface["data"][0] if interface else region.ctypes.data)
