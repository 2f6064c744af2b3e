"""What a schedule costs on its machine, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from .schedule import Cost
from .traffic import measure_traffic

if TYPE_CHECKING:
    from .schedule import Schedule


def price(schedule: Schedule) -> Cost:
    """The cost of a synchronous schedule: every step begins when the last one has ended.

    A step lasts the largest latency of its routes plus, for each byte of a chunk, the time of
    its busiest link; what switches copy or combine loads a link once. A chunk is
    ``1 / (units * chunks)`` of the collective's size; the remainder of a size that the chunks do
    not divide is left out.
    """
    topology = schedule.problem.topology
    latency = [Fraction(0)] * schedule.steps
    for send in schedule.sends:
        alpha = sum((topology.links[link].latency for link in send.route), Fraction(0))
        latency[send.step] = max(latency[send.step], alpha)
    seconds = [
        max(
            (load / topology.links[link].capacity for link, load in step.items()),
            default=Fraction(0),
        )
        for step in measure_traffic(schedule)
    ]
    busy = sum(seconds, Fraction(0))
    units = schedule.problem.collective.units * schedule.chunks
    return Cost(
        latency=sum(latency, Fraction(0)),
        per_byte=busy / units if busy else busy,
        rounds=busy * topology.slowest if topology.links else Fraction(0),
    )
