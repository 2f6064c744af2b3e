"""More chunks from fewer: a schedule whose every chunk becomes several that do the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .schedule import Got, Schedule

if TYPE_CHECKING:
    from .schedule import Part


def replicate(schedule: Schedule, times: int) -> Schedule:
    """Every chunk becomes ``times`` chunks; the loads grow as much, the seconds a byte stay."""
    order = sorted(
        (send.step, send.chunk * times + copy, number)
        for number, send in enumerate(schedule.sends)
        for copy in range(times)
    )
    number_of = {(old, chunk % times): new for new, (_, chunk, old) in enumerate(order)}

    def renumber(parts: tuple[Part, ...], copy: int) -> tuple[Part, ...]:
        return tuple(
            Got(number_of[part.send, copy]) if isinstance(part, Got) else part for part in parts
        )

    sends = tuple(
        replace(schedule.sends[old], chunk=chunk,
                parts=renumber(schedule.sends[old].parts, chunk % times))
        for _, chunk, old in order
    )  # fmt: skip
    results = tuple(
        replace(result, chunk=result.chunk * times + copy, parts=renumber(result.parts, copy))
        for result in schedule.results
        for copy in range(times)
    )
    return Schedule(schedule.problem, schedule.chunks * times, schedule.steps, sends, results)
