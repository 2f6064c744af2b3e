"""A pool of warm worker processes, each of which can be killed at any moment."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import selectors
import struct
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from .worker import Cancel, Job, Reply, Started, write_frame

if TYPE_CHECKING:
    from types import TracebackType

_RESERVED = -1  # What a worker is busy with from being taken until it hears its job's number.
_GRACE = 0.5  # Seconds a cancelled worker has to come back before it is killed.


class Worker:
    """One process; it is ``busy`` with a job's number, or None."""

    def __init__(self) -> None:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            # -P: a file of the current folder must not stand in for a module.
            [sys.executable, "-P", "-m", "roundelay.synth.exact.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers.
        )
        self.busy: int | None = None
        self.solver = ""
        self.cancelled_at: float | None = None
        self._received = b""

    def start(self, job: Job) -> None:
        """Hand it a job."""
        assert self.process.stdin is not None
        self.busy, self.solver, self.cancelled_at = job.number, job.solver, None
        with contextlib.suppress(BrokenPipeError):  # A dead worker shows when it is read.
            write_frame(self.process.stdin, job)  # type: ignore[arg-type]

    def cancel(self) -> None:
        """Ask it to drop its job."""
        assert self.process.stdin is not None
        if self.busy is not None:
            with contextlib.suppress(BrokenPipeError):
                write_frame(self.process.stdin, Cancel(self.busy))  # type: ignore[arg-type]
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

    def kill(self) -> None:
        """End the process and wait until it is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


class Pool:
    """Worker processes kept for the next job. Close it, or use it as a context.

    Several threads may share one: a worker that is taken is nobody else's until it is cancelled.
    """

    def __init__(self) -> None:
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
            idle = [worker for worker in self.workers if worker.busy is None]
            same = [worker for worker in idle if worker.solver[:2] == solver[:2]]
            if same or len(idle) > 1:
                worker = (same or idle)[0]
            else:
                worker = Worker()
                self.workers.append(worker)
            worker.busy, worker.cancelled_at = _RESERVED, None
            return worker

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
            while self.workers:
                self.workers.pop().kill()

    def _tidy(self) -> None:
        """Take back the workers whose cancelled job has ended; kill those that do not listen."""
        for worker in list(self.workers):
            if worker.busy is not None and worker.cancelled_at is None:
                continue  # Another query is listening to it.
            if worker.process.poll() is not None:
                self.kill(worker)
            elif worker.busy is not None and worker.cancelled_at is not None:
                with selectors.DefaultSelector() as selector:
                    selector.register(worker, selectors.EVENT_READ)
                    while worker.busy is not None:
                        left = worker.cancelled_at + _GRACE - time.monotonic()
                        if not selector.select(max(0.0, left)) or worker.receive() is None:
                            self.kill(worker)
                            break


_shared: Pool | None = None


def share_pool() -> Pool:
    """The pool of this process, closed when it ends."""
    global _shared
    if _shared is None:
        _shared = Pool()
        atexit.register(_shared.close)
    return _shared
