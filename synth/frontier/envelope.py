"""At which message sizes each of some schedules is the quickest, exactly."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.synth.schedule import Cost

    from .chart import Sizes


def share_sizes(costs: Sequence[Cost]) -> list[Sizes | None]:
    """The sizes in whole bytes, from 1 on, at which each cost is the least; None where nowhere.

    The costs are ordered: every one takes fewer seconds a byte than those before it. Of equal
    times the earlier cost wins.
    """
    shares: list[Sizes | None] = []
    for i, cost in enumerate(costs):
        low, high = 1, None
        for before in costs[:i]:
            low = max(low, _last(before, cost) + 1)
        for after in costs[i + 1 :]:
            last = _last(cost, after)
            high = last if high is None else min(high, last)
        shares.append(None if high is not None and high < low else (low, high))
    return shares


def _last(flat: Cost, steep: Cost) -> int:
    """The largest size at which the first cost is no more than the second, later one."""
    saved = flat.per_byte - steep.per_byte
    if saved <= 0:
        raise ValueError("the costs are not in the order of their seconds a byte")
    return floor((steep.latency - flat.latency) / saved)
