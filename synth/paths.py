"""Schedules at once, without a solver: along shortest ways, over the least loaded links.

What comes out is valid and of the fewest steps that any schedule takes, or, by way of a root, of
up to twice as many and far fewer messages. It is where a search begins, and all there is where a
machine is too large for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.dsl.collector import at_rest

from .fabric import Fabric, LateError, UnreachedError
from .sharing import group_alike, list_joint
from .timeline import price
from .weaving import SMALL, Maker

if TYPE_CHECKING:
    from roundelay.dsl.model import Limits, Problem

    from .schedule import Schedule
    from .weaving import Style


def build(problem: Problem, chunks: int = 1, deadline: float | None = None) -> Schedule | None:
    """A schedule of the fewest steps possible, and of few rounds for that.

    ``deadline`` is a time of ``time.monotonic`` at which to give up. None then, and where a wanted
    value takes one symbol twice that counts twice, or has no way to its rank.
    """
    operator, blocks = problem.operator, problem.collective.blocks
    if operator is not None and not operator.commutative:
        return _best(problem, chunks, deadline, ["apart"])
    styles: list[Style] = ["shared"]
    work = sum(len(block.symbols) * len(list_joint(block)) for block in blocks)
    if operator is not None and work:
        if operator.idempotent and work * chunks <= SMALL:
            styles.append("gossip")
        if work * chunks <= SMALL:
            styles.append("apart")
    return _best(problem, chunks, deadline, styles)


def build_rooted(
    problem: Problem, chunks: int = 1, deadline: float | None = None
) -> Schedule | None:
    """A schedule that combines what several ranks want at a root, another one for each chunk, and
    spreads it from there: a message or two a rank and chunk, in up to twice the fewest steps.

    None where ``build`` gives up, and where no several ranks want the same of symbols that may be
    combined in any order.
    """
    operator, blocks = problem.operator, problem.collective.blocks
    if operator is None or not operator.commutative:
        return None
    if not any(group_alike(list_joint(block)) for block in blocks):
        return None
    return _best(problem, chunks, deadline, ["rooted"])


def within(schedule: Schedule, limits: Limits) -> bool:
    """Whether a schedule has a number of chunks, steps and rounds that limits allow.

    Fewer steps than a range of them begins with are allowed: the others stay empty. Whether it is
    symmetric is not known here, so it is not within limits that ask for that.
    """
    if limits.symmetric:
        return False
    if limits.chunks is not None and not limits.chunks[0] <= schedule.chunks <= limits.chunks[1]:
        return False
    if limits.steps is not None and schedule.steps > limits.steps[1]:
        return False
    return limits.rounds is None or price(schedule).rounds <= limits.rounds


@at_rest()
def _best(
    problem: Problem, chunks: int, deadline: float | None, styles: list[Style]
) -> Schedule | None:
    """The one of the fewest rounds, then messages; None where no style makes any in time."""
    found: tuple[int, int, Schedule] | None = None
    try:
        fabric = Fabric(problem.topology, deadline)
        for style in styles:
            maker = Maker(problem, chunks, fabric, style)
            made = maker.run()
            if made is not None:
                # Weights are in one unit, so that sums of peaks compare as rounds do.
                worth = sum(maker.grove.loads.peaks), len(made.sends)
                if found is None or worth < found[:2]:
                    found = (*worth, made)
    except (LateError, UnreachedError):
        pass  # What is there by then is as valid.
    return None if found is None else found[2]
