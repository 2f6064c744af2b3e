"""What an instruction reads and writes, for the passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .program import Copy, Receive, Reduce, Transmit

if TYPE_CHECKING:
    from .program import Instruction, Slot


def find_reads(instruction: Instruction) -> tuple[Slot, ...]:
    """The slots that an instruction reads."""
    match instruction:
        case Copy():
            return (instruction.src,)
        case Reduce() | Transmit():
            return instruction.sources
        case Receive():
            return (*instruction.before, *instruction.after)
        case _:
            return ()


def find_writes(instruction: Instruction) -> tuple[Slot, ...]:
    """The slots that an instruction writes."""
    match instruction:
        case Copy() | Reduce():
            return (instruction.dst,)
        case Receive():
            return instruction.stores
        case _:
            return ()
