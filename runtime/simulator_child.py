"""The simulator's side of ``simulator``: runs in a process with NUMBA_ENABLE_CUDASIM=1."""

from __future__ import annotations

import mmap
import os
import pickle
import queue
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

from .numba_cuda import NumbaCudaExecutor, NumbaCudaLaunch
from .simulator import view_shared

if TYPE_CHECKING:
    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program


class Server:
    """One loaded artifact and the launches bound to it; every method answers one request."""

    def __init__(self) -> None:
        self.launches: dict[int, NumbaCudaLaunch] = {}

    def load(self, artifact: Artifact, program: Program, element: Element) -> str:
        """Load the kernels; the simulator's name."""
        self.executor, self.element = NumbaCudaExecutor(artifact, program, element), element
        return self.executor.device

    def bind(
        self, number: int, path: str, inputs: list[tuple[int, int]], outputs: list[tuple[int, int]]
    ) -> None:
        """Bind arrays at these places of a file, which may be deleted afterwards."""
        with open(path, "r+b") as file:  # noqa: PTH123 - a descriptor is what mmap wants
            memory = mmap.mmap(file.fileno(), 0)
        shared = view_shared(memory, self.element, inputs, outputs)
        self.launches[number] = self.executor.bind(*shared)

    def load_arrays(self, number: int) -> None:
        """Copy the inputs to the simulated device."""
        self.launches[number].load()

    def call(self, number: int) -> None:
        """Run the kernels to their end."""
        self.launches[number]()
        self.launches[number].wait()

    def store_arrays(self, number: int) -> None:
        """Copy the outputs back."""
        self.launches[number].store()


def serve() -> None:
    """Answer requests until the input ends; then end at once, whatever is running."""
    # Only the owner decides; an interrupt at the terminal reaches both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Prints must not land among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    server = Server()
    while True:
        dropped, name, *arguments = requests.get()
        for number in dropped:
            server.launches.pop(number, None)
        try:
            answer = True, getattr(server, name)(*arguments)
        except Exception:
            answer = False, traceback.format_exc()
        pickle.dump(answer, answers)
        answers.flush()


def _read(requests: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    except EOFError:  # The owner has gone.
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
