"""Last pass: scratch slots are used again once what they hold has been read for the last time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .accesses import find_reads, find_writes
from .channels import rebuild
from .program import Copy, Receive, Reduce, Slot, Transmit
from .waiting import Place, find_clocks, fold_waits, precedes, unfold_waits

if TYPE_CHECKING:
    from .program import Instruction, Program, RankProgram
    from .waiting import Lanes


def pack(program: Program) -> Program:
    """Number scratch slots anew, so that values share a slot where no new wait is needed for it.

    A value takes a slot of its chunk index if everything done with the slot's last value is
    done, by the waits that are there, before this one is written. Takes a program in which every
    scratch slot is written once.
    """
    return rebuild(program, tuple(map(_pack, program.ranks)))


def _pack(rank: RankProgram) -> RankProgram:
    lanes = fold_waits(rank)
    clocks = find_clocks(lanes)
    uses: dict[int, list[Place]] = {}
    written: list[tuple[Place, int]] = []
    for place in clocks:  # In an order in which a value is written before it is read.
        instruction = lanes[place.lane][place.position].instruction
        for slot in find_writes(instruction):
            if slot.buffer == "scratch":
                written.append((place, slot.index))
        for slot in {*find_reads(instruction), *find_writes(instruction)}:
            if slot.buffer == "scratch":
                uses.setdefault(slot.index, []).append(place)
    slots: list[int] = []
    chunks: list[int] = []
    homes: dict[int, int] = {}
    for place, value in written:
        chunk = rank.scratch[value]
        home = next(
            (
                slot
                for slot, last in enumerate(slots)
                if chunks[slot] == chunk
                and all(use != place and precedes(clocks, use, place) for use in uses[last])
            ),
            len(slots),
        )
        if home == len(slots):
            slots.append(value)
            chunks.append(chunk)
        slots[home] = value
        homes[value] = home
    return unfold_waits(_renamed(lanes, homes), tuple(chunks))


def _renamed(lanes: Lanes, homes: dict[int, int]) -> Lanes:
    def move(slot: Slot) -> Slot:
        return Slot("scratch", homes[slot.index]) if slot.buffer == "scratch" else slot

    def rename(instruction: Instruction) -> Instruction:
        match instruction:
            case Copy(dst, src):
                return Copy(move(dst), move(src))
            case Reduce(dst, sources):
                return Reduce(move(dst), tuple(map(move, sources)))
            case Transmit(_, _, sources):
                return replace(instruction, sources=tuple(map(move, sources)))
            case Receive():
                return replace(
                    instruction,
                    before=tuple(map(move, instruction.before)),
                    after=tuple(map(move, instruction.after)),
                    stores=tuple(map(move, instruction.stores)),
                )
            case _:
                return instruction

    for lane in lanes:
        for work in lane:
            work.instruction = rename(work.instruction)
    return lanes
