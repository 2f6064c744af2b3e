"""The program: what every rank does, lane by lane, on slots of its buffers.

A buffer is a row of **slots**, each one chunk of one unit. Slot ``u * chunks + c`` of ``input``
and ``output`` is chunk ``c`` of unit ``u`` (the units are ``Collective.inputs`` and ``outputs``
of the rank); scratch slot ``s`` holds a chunk of index ``RankProgram.scratch[s]``. A lane is a
thread block on a GPU and a task on a CPU: lanes of a rank run at once and are ordered by ``Wait``
alone; instructions of a lane run in order. Messages of one channel (sender, receiver, channel
number) arrive in the order in which they were sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem

Buffer = Literal["input", "output", "scratch"]


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A place for one chunk in a buffer of the rank at hand."""

    buffer: Buffer
    index: int

    def __str__(self) -> str:
        return f"{self.buffer}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Copy:
    """dst = src."""

    dst: Slot
    src: Slot


@dataclass(frozen=True, slots=True)
class Reduce:
    """dst = op(op(sources[0], sources[1]), …), left to right, accumulated before the store."""

    dst: Slot
    sources: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Transmit:
    """Send to ``peer`` on ``channel`` the combination of ``sources``, left to right."""

    peer: int
    channel: int
    sources: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Receive:
    """Take the next message from ``peer`` on ``channel``; store it, merged, and pass it on.

    The value is the combination, left to right, of ``before``, the message, and ``after``
    (both empty: the message as it came). It is stored in every slot of ``stores`` and sent on
    the channels of ``forwards``, pairs of peer and channel. With nothing else to merge and no
    forward this is ``recv``; with slots to merge ``recv_reduce``; with forwards
    ``recv_copy_send`` or ``recv_reduce_send``.
    """

    peer: int
    channel: int
    before: tuple[Slot, ...] = ()
    after: tuple[Slot, ...] = ()
    stores: tuple[Slot, ...] = ()
    forwards: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on once lane ``lane`` of the same rank has done its instruction ``index``."""

    lane: int
    index: int


Instruction = Copy | Reduce | Transmit | Receive | Wait


@dataclass(frozen=True, slots=True)
class RankProgram:
    """The lanes of one rank and the chunk index that each of its scratch slots holds."""

    lanes: tuple[tuple[Instruction, ...], ...]
    scratch: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """One program a rank. ``buffering`` is how many messages a channel holds before its sender
    has to wait: the transport must offer at least as much.
    """

    problem: Problem
    chunks: int
    ranks: tuple[RankProgram, ...]
    buffering: int

    def __str__(self) -> str:
        """One block a rank, one line an instruction; stable, so that two programs compare."""
        lines = [f"program {self.chunks} chunks, buffering {self.buffering}"]
        for rank, program in enumerate(self.ranks):
            name = self.problem.topology.node_name(rank)
            lines.append(f"rank {rank} {name}: {len(program.scratch)} scratch slots")
            for number, lane in enumerate(program.lanes):
                lines.append(f"  lane {number}")
                lines += [f"    {i}: {show(instruction)}" for i, instruction in enumerate(lane)]
        return "\n".join(lines)


def show(instruction: Instruction) -> str:
    """An instruction on one line."""
    match instruction:
        case Copy(dst, src):
            return f"copy {dst} = {src}"
        case Reduce(dst, sources):
            return f"reduce {dst} = {_row(sources)}"
        case Transmit(peer, channel, sources):
            return f"send to {peer}/{channel} {_row(sources)}"
        case Wait(lane, index):
            return f"wait for lane {lane} instruction {index}"
        case Receive():
            text = f"recv from {instruction.peer}/{instruction.channel}"
            if instruction.before or instruction.after:
                merged = (*map(str, instruction.before), "it", *map(str, instruction.after))
                text += f", merge {' + '.join(merged)}"
            if instruction.stores:
                text += f", store {', '.join(map(str, instruction.stores))}"
            for peer, channel in instruction.forwards:
                text += f", send to {peer}/{channel}"
            return text


def _row(slots: tuple[Slot, ...]) -> str:
    return " + ".join(map(str, slots))


def chunk_range(elements: int, chunks: int, chunk: int, align: int = 1) -> tuple[int, int]:
    """The half-open range of a unit's elements that a chunk covers.

    Chunk boundaries are rounded down to a multiple of ``align`` elements (16 bytes, so that
    whole vectors can be moved); the last chunk takes the rest. For any number of elements the
    chunks cover the unit exactly once; some may be empty.
    """
    low = chunk * elements // chunks // align * align
    high = (chunk + 1) * elements // chunks // align * align
    return low, elements if chunk == chunks - 1 else high
