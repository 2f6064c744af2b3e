"""A pool of warm worker processes, each of which can be killed at any moment."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import pickle
import queue
import selectors
import struct
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from .memory import share_memory
from .worker import Cancel, Job, Reply, Setting, Started, frame

if TYPE_CHECKING:
    from types import TracebackType

    from roundelay.dsl.model import Problem

_RESERVED = -1  # What a worker is busy with from being taken until it hears its job's number.
_WARM = 4  # Workers started before anyone knows how many there is work for.
_GRACE = 1.0  # Seconds a cancelled worker has to come back before it is killed,
_START = 20.0  # or so many if nothing was heard of it yet: it is still starting.
_SPARE = 4  # Workers beside those at work that may be on their way back or idle.


def count_cores() -> int:
    """Processor cores that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return max(1, os.cpu_count() or 1)


class Worker:
    """One process; it is ``busy`` with a job's number, or None.

    ``memory``: bytes of address space it may have (None: any).
    """

    def __init__(self, solver: str = "", memory: int | None = None) -> None:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            # -P: a file of the current folder must not stand in for a module.
            [sys.executable, "-P", "-m", "roundelay.synth.exact.worker", solver, f"{memory or 0}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers.
            bufsize=0,
        )
        self.busy: int | None = None
        self.solver = solver
        self.memory = memory
        self.cancelled_at: float | None = None
        self._received = b""
        self._heard = False
        self._problem: Problem | None = None
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        """Write what is to be sent, in a thread: a worker that starts or encodes does not read."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # A dead worker shows when it is read.
            while data := self._outgoing.get():
                view = memoryview(data)
                while view:
                    view = view[os.write(self.process.stdin.fileno(), view) :]
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def start(self, job: Job) -> None:
        """Hand it a job, and its problem unless that is the last one's."""
        self.busy, self.solver, self.cancelled_at = job.number, job.solver, None
        if job.problem is not None and job.problem is not self._problem:
            self._outgoing.put(frame(Setting(_pack(job.problem))))
            self._problem = job.problem
        self._outgoing.put(frame(replace(job, problem=None)))

    def cancel(self) -> None:
        """Ask it to drop its job."""
        if self.busy is not None:
            self._outgoing.put(frame(Cancel(self.busy)))
            self.cancelled_at = time.monotonic()  # From now on another thread may take it back.

    def fileno(self) -> int:
        """Where its messages arrive."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def receive(self) -> list[Started | Reply] | None:
        """What has arrived about its job, waiting for something; None when the worker is dead."""
        data = os.read(self.fileno(), 1 << 20)
        if not data:
            return None
        self._heard = True
        self._received += data
        messages: list[Started | Reply] = []
        while len(self._received) >= 4:
            length = struct.unpack(">I", self._received[:4])[0]
            if len(self._received) < 4 + length:
                break
            message = pickle.loads(self._received[4 : 4 + length])
            self._received = self._received[4 + length :]
            if message.number == self.busy:  # Else it is about a job that nobody waits for.
                messages.append(message)
                if isinstance(message, Reply):
                    self.busy = None
        return messages

    def patience(self) -> float:
        """Seconds that it may still take to come back from a cancelled job."""
        assert self.cancelled_at is not None
        grace = _GRACE if self._heard else _START
        return self.cancelled_at + grace - time.monotonic()

    def kill(self) -> None:
        """End the process and wait until it is gone."""
        assert self.process.stdout is not None
        self.process.kill()
        self._outgoing.put(None)
        self.process.wait()
        self.process.stdout.close()


_packed: tuple[Problem, bytes] | None = None


def _pack(problem: Problem) -> bytes:
    """A problem, pickled; the last one is kept, since many queries are about one problem."""
    global _packed
    kept = _packed
    if kept is None or kept[0] is not problem:
        collecting = gc.isenabled()
        gc.disable()  # There is no cycle to be found, and looking takes most of the time.
        try:
            kept = problem, pickle.dumps(problem, protocol=pickle.HIGHEST_PROTOCOL)
        finally:
            if collecting:
                gc.enable()
        _packed = kept
    return kept[1]


class Pool:
    """Worker processes kept for the next job. Close it, or use it as a context.

    Several threads may share one: a worker that is taken is nobody else's until it is cancelled.
    ``jobs`` workers at once (default: the cores there are) share the memory.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = count_cores() if jobs is None else jobs
        self.memory = share_memory(self.jobs)
        self.workers: list[Worker] = []
        self.number = 0
        self._owner = os.getpid()
        self._lock = threading.RLock()

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def take(self, solver: str) -> Worker:
        """An idle worker, preferably one that has the solver loaded; else a new one."""
        if self._owner != os.getpid():  # After a fork the workers (and the lock) are the parent's.
            self.workers, self._owner, self._lock = [], os.getpid(), threading.RLock()
        with self._lock:
            self._tidy()
            while True:
                idle = [worker for worker in self.workers if worker.busy is None]
                same = [worker for worker in idle if worker.solver[:2] == solver[:2]]
                if same or len(idle) > 1:
                    worker = (same or idle)[0]
                    break
                working = [w for w in self.workers if w.busy is not None and w.cancelled_at is None]
                if len(self.workers) - len(working) < _SPARE or not self._tidy(wait=True):
                    worker = Worker(solver, self.memory)
                    self.workers.append(worker)
                    break
            worker.busy, worker.cancelled_at = _RESERVED, None
            return worker

    def warm(self, solver: str) -> None:
        """Start workers while there is something else to do."""
        with self._lock:
            while len(self.workers) < min(self.jobs, _WARM):
                self.workers.append(Worker(solver, self.memory))

    def next_number(self) -> int:
        """A number no other job of this pool has."""
        with self._lock:
            self.number += 1
            return self.number

    def kill(self, worker: Worker) -> None:
        """End one worker."""
        with self._lock:
            if worker in self.workers:
                self.workers.remove(worker)
        worker.kill()

    def close(self) -> None:
        """End all workers."""
        if self._owner == os.getpid():
            for worker in self.workers:
                worker.process.kill()  # All at once, since a large one takes a while to go.
            while self.workers:
                self.workers.pop().kill()

    def _tidy(self, *, wait: bool = False) -> bool:
        """Take back the workers whose cancelled job has ended; kill those that do not listen.

        ``wait``: until one has come back or was killed, where there are any; whether there were.
        """
        while True:
            leaving = [worker for worker in self.workers if worker.cancelled_at is not None]
            for worker in [*leaving, *(w for w in self.workers if w.busy is None)]:
                if worker.process.poll() is not None:
                    self.kill(worker)
            away = [w for w in leaving if w.busy is not None and w in self.workers]
            with selectors.DefaultSelector() as selector:
                for worker in away:
                    selector.register(worker, selectors.EVENT_READ)
                left = min((worker.patience() for worker in away), default=0.0)
                for key, _ in selector.select(max(0.0, left) if wait else 0):
                    worker = key.fileobj  # type: ignore[assignment]
                    if worker.receive() is None:
                        self.kill(worker)
            for worker in away:
                if worker.busy is not None and worker in self.workers and worker.patience() <= 0:
                    self.kill(worker)
            done = [w for w in away if w.busy is None or w not in self.workers]
            if not wait or done or not away:
                return bool(away)


_shared: Pool | None = None


def share_pool() -> Pool:
    """The pool of this process, closed when it ends."""
    global _shared
    if _shared is None:
        _shared = Pool()
        atexit.register(_shared.close)
    return _shared
