"""A worker process: takes questions from its standard input, builds the model and asks a solver.

Frames are pickles behind four bytes of length. A thread of its own reads them, so that a worker
hears "cancel" while its solver runs, and ends at once when its parent is gone.
"""

from __future__ import annotations

import os
import pickle
import queue
import struct
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .model import TooLargeError
from .plan import encode
from .spelling import spell_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Query

    from .draft import Plain
    from .plan import Variant

SOLVERS = ("cpsat", "cpsat-lp", "z3", "z3-fd")
"""What a job's ``solver`` may be."""

_HEAVIEST = {"cpsat": 2**62, "cpsat-lp": 2**62, "z3": 2**31 - 1, "z3-fd": 2**31 - 1}
"""What the weights of a row may add up to, lest a solver's own integers overflow."""

_ORDERED = ("cpsat-lp", "z3-fd")  # Those that are asked with the chunks ordered.


@dataclass(frozen=True, slots=True)
class Job:
    """One question to one solver, ``seconds`` at most from the moment a worker starts it."""

    number: int
    problem: Problem
    query: Query
    variant: Variant
    solver: str
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """The answer to job ``number`` is wanted no more."""

    number: int


@dataclass(frozen=True, slots=True)
class Started:
    """The worker has taken up job ``number``, which may take so many seconds from now."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to job ``number``.

    A schedule, False (none exists in the variant's class), None (undecided), or a reason in
    words why the worker gave up; ``broken`` when the reason is a fault of this program.
    """

    number: int
    answer: Plain | bool | str | None
    broken: bool = False


def write_frame(stream: BinaryIO, message: object) -> None:
    """Send one message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


class _Stop:
    """Whether the present job is cancelled, and how to tell its solver."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.cancelled: set[int] = set()
        self.running: tuple[int, Callable[[], None]] | None = None

    def cancel(self, number: int) -> None:
        with self.lock:
            self.cancelled.add(number)
            if self.running and self.running[0] == number:
                self.running[1]()

    def watch(self, number: int, stop: Callable[[], None] | None) -> None:
        with self.lock:
            self.running = None if stop is None else (number, stop)
            if stop is not None and number in self.cancelled:
                stop()


def _read(stream: BinaryIO, jobs: queue.SimpleQueue[Job], stop: _Stop) -> None:
    while True:
        head = stream.read(4)
        body = stream.read(struct.unpack(">I", head)[0]) if len(head) == 4 else b""
        if not body:
            os._exit(0)
        message = pickle.loads(body)
        if isinstance(message, Cancel):
            stop.cancel(message.number)
        else:
            jobs.put(message)


def _answer(job: Job, stop: _Stop) -> Plain | bool | str | None:
    deadline = time.monotonic() + job.seconds
    try:
        plan = encode(job.problem, job.query, job.variant, ordered=job.solver in _ORDERED)
        model = spell_out(plan.model, _HEAVIEST[job.solver])
    except (TooLargeError, MemoryError) as error:
        return str(error) or "out of memory"

    def started(halt: Callable[[], None]) -> None:
        stop.watch(job.number, halt)

    left = deadline - time.monotonic()
    if left <= 0 or job.number in stop.cancelled:
        return None
    if job.solver.startswith("cpsat"):
        from . import cpsat_door

        linear = job.solver == "cpsat-lp"
        values = cpsat_door.decide(model, left, job.seed, started, linear=linear)
    else:
        from . import z3_door

        values = z3_door.decide(model, left, job.seed, started, finite_domain=job.solver == "z3-fd")
    return plan.read(values) if isinstance(values, list) else values


def serve(stream_in: BinaryIO, stream_out: BinaryIO) -> None:
    """Answer jobs until the input ends."""
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    stop = _Stop()
    threading.Thread(target=_read, args=(stream_in, jobs, stop), daemon=True).start()
    while True:
        job = jobs.get()
        write_frame(stream_out, Started(job.number, job.seconds))
        try:
            reply = Reply(job.number, _answer(job, stop))
        except Exception as error:
            reply = Reply(job.number, f"{type(error).__name__}: {error}", broken=True)
        stop.watch(job.number, None)
        write_frame(stream_out, reply)


if __name__ == "__main__":
    # Solvers print to standard output; the frames have it to themselves under another number.
    own_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Under "python -m" this module is called __main__, and pickles must name it properly.
    from roundelay.synth.exact import worker

    worker.serve(sys.stdin.buffer, own_out)
