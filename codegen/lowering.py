"""From a schedule to a program: the passes, in their order, each judged by the checker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .checker import check
from .joining import join
from .lanes import spread
from .packing import pack
from .placement import place
from .pruning import prune

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.synth.schedule import Schedule

    from .program import Program

PASSES: tuple[Callable[[Program], Program], ...] = (
    join,  # Before lanes: with one lane a rank, what is there when a message arrives is plain.
    spread,
    prune,
    pack,  # Last: it shares slots only where the waits that remain already allow it.
)
"""What follows ``place``."""


def lower(schedule: Schedule) -> Program:
    """Turn a schedule that ``synth.checker`` accepts into a program.

    The program checker runs after every pass. Raises ``ProgramError`` where a pass broke a law:
    a fault of this package, or a schedule that was not valid.
    """
    program = place(schedule)
    check(program)
    for run in PASSES:
        program = run(program)
        check(program)
    return program
