"""The time that is left for better bounds."""

from __future__ import annotations

import time


class Clock:
    """So many seconds from now on; None: no end."""

    def __init__(self, budget: float | None) -> None:
        self.end = None if budget is None else time.monotonic() + budget

    def left(self) -> float | None:
        """Seconds left, or None where there is no end."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def out(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and time.monotonic() >= self.end
