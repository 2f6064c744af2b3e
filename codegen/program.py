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


def chunk_range(elements: int, chunks: int, chunk: int, align: int = 1) -> tuple[int, int]:
    """The half-open range of a unit's elements that a chunk covers.

    Chunk boundaries are rounded down to a multiple of ``align`` elements (16 bytes, so that
    whole vectors can be moved); the last chunk takes the rest. For any number of elements the
    chunks cover the unit exactly once; some may be empty.
    """
    low = chunk * elements // chunks // align * align
    high = (chunk + 1) * elements // chunks // align * align
    return low, elements if chunk == chunks - 1 else high
