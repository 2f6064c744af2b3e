"""Pass: a rank's work is spread over lanes, ordered where they share slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .accesses import find_reads, find_writes
from .channels import rebuild
from .program import Receive, Transmit
from .waiting import Place, Work, latest, unfold_waits

if TYPE_CHECKING:
    from .program import Instruction, Program, RankProgram, Slot
    from .waiting import Lanes


def spread(program: Program) -> Program:
    """Give every peer one lane for what is sent to it and one for what is received from it.

    Local copies and reductions share one more. A lane keeps the order its instructions had, and
    waits for another lane where one reads what the other wrote, or writes what the other read or
    wrote. Takes a program of one lane a rank.
    """
    return rebuild(program, tuple(map(_spread, program.ranks)))


def _spread(rank: RankProgram) -> RankProgram:
    given = rank.lanes[0]
    keys = sorted({_key(instruction) for instruction in given})
    lanes: Lanes = [[] for _ in keys]
    writer: dict[Slot, Place] = {}
    readers: dict[Slot, list[Place]] = {}
    for instruction in given:
        lane = keys.index(_key(instruction))
        place = Place(lane, len(lanes[lane]))
        before: list[Place] = []
        for slot in find_reads(instruction):
            if slot in writer:
                before.append(writer[slot])
        for slot in find_writes(instruction):
            before += readers.get(slot, [])
            if slot in writer:
                before.append(writer[slot])
        others = latest([earlier for earlier in before if earlier.lane != lane])
        lanes[lane].append(Work(instruction, others))
        for slot in find_reads(instruction):
            readers.setdefault(slot, []).append(place)
        for slot in find_writes(instruction):
            writer[slot] = place
            readers[slot] = []
    return unfold_waits(lanes, rank.scratch)


def _key(instruction: Instruction) -> tuple[int, int]:
    """Receives first, then sends, then local work; by peer."""
    match instruction:
        case Receive():
            return 0, instruction.peer
        case Transmit():
            return 1, instruction.peer
        case _:
            return 2, 0
