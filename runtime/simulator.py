"""Numba's CUDA simulator in a child process: it can be killed, and never outlives its owner.

Arrays lie in a file that both processes map. Requests and replies are pickles over the child's
standard input and output; the child ends when its input does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .buffers import measure_units
from .gpu_launch import place_arrays, view_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program

    from .executor import Array


class SimulatorExecutor:
    """Kernels loaded in a simulator's process, which ends with this object or by ``close``."""

    alike = True

    def __init__(self, artifact: Artifact, program: Program, element: Element) -> None:
        self._collective, self._element = program.problem.collective, element
        # Not a pipe: nobody would read it while the child writes more than it holds.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        # -c, not -m: the module would be loaded twice in the child.
        self._process = subprocess.Popen(
            # -P: nor may a file of the current folder stand in for one.
            [sys.executable, "-P", "-W", "ignore", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={
                **os.environ,
                "NUMBA_ENABLE_CUDASIM": "1",
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            },
        )
        self._end = weakref.finalize(self, _kill, self._process, self._errors)
        self._dropped: list[int] = []
        self._next = 0
        self.device = self.ask("load", artifact, program, element)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> SimulatorLaunch:
        """Bind host arrays to a shared copy in the simulator; see ``Executor.bind``."""
        measure_units(self._collective, self._element, inputs, outputs)
        self._next += 1
        return SimulatorLaunch(self, self._next, self._element, inputs, outputs)

    def ask(self, *request: object) -> Any:
        """Send one request and return its answer.

        Raises ``RuntimeError`` when the simulator refuses it or is gone, with its last words.
        """
        if not self._end.alive:
            raise RuntimeError("the CUDA simulator has been closed")
        dropped, self._dropped = self._dropped, []
        channel, answers = self._process.stdin, self._process.stdout
        assert channel is not None
        assert answers is not None
        try:
            pickle.dump((dropped, *request), channel)
            channel.flush()
            good, answer = pickle.load(answers)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()[-2000:]
            self.close()
            raise RuntimeError(
                f"the CUDA simulator ended with status {self._process.returncode}: {said}"
            ) from error
        except BaseException:
            # Interrupted between question and answer: the two would never match again.
            self.close()
            raise
        if not good:
            raise RuntimeError(f"the CUDA simulator failed: {answer}")
        return answer

    def forget(self, number: int) -> None:
        """Let a launch go; told with the next request, since this runs when garbage is found."""
        self._dropped.append(number)

    def close(self) -> None:
        """End the process now."""
        self._end()


class SimulatorLaunch:
    """A collective bound to host arrays and their copies in the simulator; see ``Launch``."""

    def __init__(
        self,
        executor: SimulatorExecutor,
        number: int,
        element: Element,
        inputs: Sequence[Array],
        outputs: Sequence[Array],
    ) -> None:
        self._ask, self._number = executor.ask, number
        memory = place_arrays(inputs, outputs)
        starts = np.cumsum([0, *memory.sizes]).tolist()
        descriptor, path = tempfile.mkstemp(prefix="roundelay-")
        try:
            os.truncate(descriptor, max(starts[-1], 1))
            self._memory = mmap.mmap(descriptor, max(starts[-1], 1))
            places = [
                [(start, array.size) for start, array in zip(where, arrays, strict=True)]
                for where, arrays in zip(memory.locate(starts), (inputs, outputs), strict=True)
            ]
            executor.ask("bind", number, path, *places)
        finally:
            os.close(descriptor)
            Path(path).unlink()
        shared = view_shared(self._memory, element, *places)
        self._loads = list(zip(shared[0], inputs, strict=True))
        self._stores = list(zip(shared[1], outputs, strict=True))
        weakref.finalize(self, executor.forget, number).atexit = False

    def load(self) -> None:
        """Copy the inputs to the simulated device."""
        for buffer, host in self._loads:
            view_bytes(buffer)[:] = view_bytes(host)
        self._ask("load_arrays", self._number)

    def __call__(self) -> None:
        """Run the kernels; they are done on return."""
        self._ask("call", self._number)

    def wait(self) -> None:
        """Return at once: calls do not return before they are done."""

    def store(self) -> None:
        """Copy the outputs from the simulated device."""
        self._ask("store_arrays", self._number)
        for buffer, host in self._stores:
            view_bytes(host)[:] = view_bytes(buffer)


def view_shared(
    memory: mmap.mmap, element: Element, *places: list[tuple[int, int]]
) -> tuple[tuple[Array, ...], ...]:
    """Arrays in a mapped file, by (offset in bytes, number of elements)."""
    return tuple(
        tuple(np.frombuffer(memory, element.dtype, size, offset) for offset, size in where)
        for where in places
    )


_START = "from roundelay.runtime.simulator_child import serve; serve()"


def _kill(process: subprocess.Popen[bytes], errors: Any) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, errors):
        # What was not flushed has no reader left.
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
