"""How much time a search has: in seconds of the clock on the wall, or in effort of its solvers.

Effort is counted by the solvers themselves (CP-SAT's deterministic time, Z3's resource count) and
by the size of models, so it is the same for the same questions on every run and however busy the
machine is; the scales in ``worker`` make a second of it roughly a second of a quiet machine.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

Kind = Literal["wall", "effort"]

_EFFORT_SHARE = 0.5
"""Of a budget's seconds are spent as effort, so that the wall seldom cuts a search short: what it
cuts may end differently next time."""


@dataclass(slots=True)
class Clock:
    """Time that runs out: ``allowance`` seconds of its kind, ``end`` (monotonic) in any case.

    What is spent on a clock is spent on the one it is part of (``whole``), too.
    """

    kind: Kind
    end: float
    allowance: float
    spent: float = 0.0
    whole: Clock | None = None

    def left(self) -> float:
        """Seconds left, of its kind; none once its end has come."""
        wall = self.wall()
        if self.kind == "wall":
            return wall
        return max(0.0, self.allowance - self.spent) if wall > 0 else 0.0

    def wall(self) -> float:
        """Seconds of real time until its end."""
        return max(0.0, self.end - time.monotonic())

    def out(self) -> bool:
        """Whether the time is over."""
        return self.left() <= 0

    def spend(self, effort: float) -> None:
        """Count so many seconds of effort."""
        self.spent += effort
        if self.whole is not None:
            self.whole.spend(effort)

    def elapsed(self) -> float:
        """A time of its kind, of which only differences mean anything."""
        return time.monotonic() if self.kind == "wall" else self.spent

    def part(self, seconds: float) -> Clock:
        """A clock for ``seconds`` of this one's time from now on, or for what is left of it."""
        seconds = min(seconds, self.left())
        end = time.monotonic() + seconds if self.kind == "wall" else self.end
        return Clock(self.kind, min(end, self.end), seconds, whole=self)

    def hold(self) -> None:
        """Let it stand still until ``resume``, within what it is part of: a worker has to start
        first, which is no time of a query's.
        """
        if self.kind == "wall" and self.whole is not None:
            self.whole.hold()
            self.end = self.whole.end

    def resume(self) -> None:
        """Begin to count again, from its allowance."""
        if self.kind == "wall" and self.whole is not None:
            self.whole.resume()
            self.end = min(self.whole.end, time.monotonic() + self.allowance)

    def shorten(self, seconds: float) -> None:
        """Leave it ``seconds`` from now at most."""
        if self.kind == "wall":
            self.end = min(self.end, time.monotonic() + seconds)
        else:
            self.allowance = min(self.allowance, self.spent + seconds)


def start_clock(budget: float, jobs: int, began: float | None = None) -> Clock:
    """A clock of ``budget`` seconds since ``began`` (monotonic; default: now).

    One job alone is timed by effort, so that it does the same again on another day.
    """
    end = (time.monotonic() if began is None else began) + budget
    if jobs == 1:
        return Clock("effort", end, budget * _EFFORT_SHARE)
    return Clock("wall", end, budget)
