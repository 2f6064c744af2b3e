"""A process that asks Z3 about laws, and ends where Z3 does not listen.

It gets its questions at once, as a pickle on its standard input, and writes one pickle for each
answer, in the same order. A question that takes too long ends the process; the next one takes up
what is left.
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from .probes import Point
    from .reading import Question

_START = 0.2  # Seconds under which no process is worth its start.


def decide_all(questions: Sequence[Question], budget: float) -> list[Point | bool]:
    """For each question True (proved), a point (where it may fail) or False (open).

    Takes ``budget`` seconds at most, whatever Z3 does, and for each question at most half of what
    is left then.
    """
    answers: list[Point | bool] = []
    deadline = time.monotonic() + budget
    while len(answers) < len(questions):
        left = deadline - time.monotonic()
        if left < _START:
            break
        answers += _ask(questions[len(answers) :], left)
        answers.append(False)  # The one at which the process ended, or one beyond the last.
    answers += [False] * len(questions)
    return answers[: len(questions)]


def _ask(questions: Sequence[Question], seconds: float) -> list[Point | bool]:
    """The answers of one process, up to the question at which it ended."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        written = subprocess.run(  # Whatever happens meanwhile, it ends the process.
            # -P: a file of the current folder must not stand in for a module.
            [sys.executable, "-P", "-m", "roundelay.synth.proofs.worker"],
            input=pickle.dumps((tuple(questions), seconds)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=seconds,
            start_new_session=True,  # Ctrl-C is for the parent.
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as late:
        written = late.stdout or b""
    stream, answers = io.BytesIO(written), []
    while True:
        try:
            answers.append(pickle.load(stream))
        except (EOFError, pickle.UnpicklingError):  # The last one may be cut off.
            return answers


class _Watch:
    """Ends this process when a question takes longer than it may."""

    def __init__(self) -> None:
        self.limit = float("inf")
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while time.monotonic() < self.limit:
            time.sleep(0.02)
        os._exit(1)


def serve(stream_in: BinaryIO, stream_out: BinaryIO) -> None:
    """Answer the questions."""
    watch = _Watch()
    questions, seconds = pickle.load(stream_in)
    deadline = time.monotonic() + seconds
    watch.limit = deadline
    from . import z3_door

    for question in questions:
        share = (deadline - time.monotonic()) / 2
        watch.limit = time.monotonic() + share
        stream_out.write(pickle.dumps(z3_door.decide(question, 0.9 * share)))
        stream_out.flush()


if __name__ == "__main__":
    # Solvers print to standard output; the answers have it to themselves under another number.
    own_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Under "python -m" this module is called __main__.
    from roundelay.synth.proofs import worker

    worker.serve(sys.stdin.buffer, own_out)
