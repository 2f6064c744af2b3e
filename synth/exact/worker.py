"""A worker process: takes questions from its standard input, builds the model and asks a solver.

Frames are pickles behind four bytes of length. A thread of its own reads them, so that a worker
hears "cancel" while its solver runs, and ends at once when its parent is gone.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import struct
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .classes import name_class, refutes
from .memory import limit_memory, show_memory
from .model import TooLargeError
from .plan import encode
from .spelling import spell_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Query

    from .classes import Variant
    from .draft import Plain

SOLVERS = ("cpsat", "cpsat-lp", "z3", "z3-fd")
"""What a job's ``solver`` may be."""

_HEAVIEST = {"cpsat": 2**62, "cpsat-lp": 2**62, "z3": 2**31 - 1, "z3-fd": 2**31 - 1}
"""What the weights of a row may add up to, lest a solver's own integers overflow."""

_ORDERED = ("cpsat-lp", "z3-fd")  # Those that are asked with the chunks ordered.
_ENCODING = {"cpsat": 1e-5, "cpsat-lp": 1e-5, "z3": 4e-6, "z3-fd": 4e-6}
"""Seconds of effort that a literal of the model costs before the solver counts its own."""
_LEAST = 0.01  # Seconds of effort a solver gets in any case.


@dataclass(frozen=True, slots=True)
class Job:
    """One question to one solver, ``seconds`` at most from the moment a worker starts it.

    ``problem`` None: that of the ``Setting`` before it. ``effort``: how much of it may be spent,
    in seconds (None: no limit). ``turn``: how often the same was asked before.
    """

    number: int
    problem: Problem | None
    query: Query
    variant: Variant
    solver: str
    seed: int
    seconds: float
    effort: float | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """The problem that the jobs from now on are about, pickled."""

    problem: bytes


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
    words why the worker gave up; ``broken`` when the reason is a fault of this program, ``alone``
    when another solver may do better. ``scope``: the class that was refuted, in words, and
    whether it is all schedules. ``effort``: what was spent, in seconds.
    """

    number: int
    answer: Plain | bool | str | None
    broken: bool = False
    alone: bool = False
    scope: tuple[str, bool] = ("", False)
    effort: float = 0.0


def frame(message: object) -> bytes:
    """A message as it goes over the wire."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return struct.pack(">I", len(body)) + body


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


Frame = Job | Setting


def _read(stream: BinaryIO, frames: queue.SimpleQueue[Frame], stop: _Stop) -> None:
    while True:
        head = stream.read(4)
        body = stream.read(struct.unpack(">I", head)[0]) if len(head) == 4 else b""
        if not body:
            os._exit(0)
        try:
            message = pickle.loads(body)
        except MemoryError:
            os._exit(1)  # Deaf, it would be of no use; its parent takes it for what it is.
        if isinstance(message, Cancel):
            stop.cancel(message.number)
        else:
            frames.put(message)


def _answer(job: Job, stop: _Stop) -> Reply:
    if job.problem is None:  # It did not fit.
        raise MemoryError
    deadline = time.monotonic() + job.seconds
    try:
        plan = encode(job.problem, job.query, job.variant, ordered=job.solver in _ORDERED)
        model = spell_out(plan.model, _HEAVIEST[job.solver])
    except TooLargeError as error:
        return Reply(job.number, str(error), effort=job.effort or 0.0)
    spent = model.size * _ENCODING[job.solver]
    left = deadline - time.monotonic()
    if left <= 0 or job.number in stop.cancelled:
        return Reply(job.number, None, effort=spent)
    if job.effort is not None and job.effort <= spent:
        return Reply(job.number, None, effort=job.effort)
    effort = None if job.effort is None else max(_LEAST, job.effort - spent)

    def started(halt: Callable[[], None]) -> None:
        stop.watch(job.number, halt)

    def spend(more: float) -> None:
        nonlocal spent
        spent += more

    if job.solver.startswith("cpsat"):
        from . import cpsat_door

        values = cpsat_door.decide(model, left, job.seed, started, effort=effort, spend=spend,
                                   linear=job.solver == "cpsat-lp")  # fmt: skip
    else:
        from . import z3_door

        values = z3_door.decide(model, left, job.seed, started, effort=effort, spend=spend,
                                finite_domain=job.solver == "z3-fd")  # fmt: skip
    if isinstance(values, list):
        return Reply(job.number, plan.read(values), effort=spent)
    scope = ("", False)
    if values is False and refutes(job.variant):
        scope = name_class(job.problem, job.query, job.variant)
    return Reply(job.number, values, scope=scope, effort=spent)


def serve(stream_in: BinaryIO, stream_out: BinaryIO, memory: int | None = None) -> None:
    """Answer jobs until the input ends, in so many bytes of address space (None: any)."""
    frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    stop = _Stop()
    threading.Thread(target=_read, args=(stream_in, frames, stop), daemon=True).start()
    if memory is not None and not limit_memory(memory):  # Only now: a thread needs room as well.
        memory = None
    problem: Problem | None = None
    while True:
        message = frames.get()
        # What is built here has no cycles; looking for them would take most of the time.
        gc.disable()
        reply: Reply | None = None
        try:
            if isinstance(message, Setting):
                problem = None
                problem = pickle.loads(message.problem)
                continue
            job = replace(message, problem=message.problem or problem)
            _write(stream_out, Started(job.number, job.seconds))
            reply = _answer(job, stop)
        except MemoryError:
            pass
        except ImportError as error:  # A solver's library needs room, too.
            if memory is None:
                reply = Reply(_number(message), f"{type(error).__name__}: {error}", broken=True)
        except Exception as error:
            reply = Reply(_number(message), f"{type(error).__name__}: {error}", broken=True)
        gc.enable()
        if reply is None:
            had = "had all there is" if memory is None else f"had {show_memory(memory)}"
            reply = Reply(_number(message), had, alone=True)
        stop.watch(reply.number, None)
        _write(stream_out, reply)


def _number(message: Frame) -> int:
    return message.number if isinstance(message, Job) else -1


def _write(stream: BinaryIO, message: object) -> None:
    stream.write(frame(message))
    stream.flush()


def _load(solver: str) -> None:
    """Import a solver before anyone asks for it."""
    with suppress(ImportError, MemoryError):
        if solver.startswith("cpsat"):
            from . import cpsat_door  # noqa: F401
        elif solver.startswith("z3"):
            from . import z3_door  # noqa: F401


def main(arguments: list[str]) -> None:
    """Serve standard input: ``SOLVER BYTES``, what to import at once, and the memory (0: any)."""
    # Solvers print to standard output; the frames have it to themselves under another number.
    own_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _load(arguments[0])
    serve(sys.stdin.buffer, own_out, int(arguments[1]) or None)


if __name__ == "__main__":
    # Under "python -m" this module is called __main__, and pickles must name it properly.
    from roundelay.synth.exact import worker

    worker.main(sys.argv[1:])
