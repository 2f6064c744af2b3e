"""Which send meets which receive, and how many messages a channel must be able to hold."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from .program import Program, Receive, Transmit, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .program import Instruction, RankProgram


class Event(NamedTuple):
    """An instruction, by its place in the program."""

    rank: int
    lane: int
    position: int


class Message(NamedTuple):
    """One message: who sends it, as which of its forwards (-1: a ``Transmit``), who takes it."""

    sender: Event
    forward: int
    receiver: Event


Channel = tuple[int, int, int]
"""Sending rank, receiving rank, number."""


def find_messages(ranks: Sequence[RankProgram]) -> dict[Channel, tuple[Message, ...]]:
    """The messages of every channel in the order in which they are sent and received.

    Each end of a channel belongs to one lane. Raises ``ValueError`` where sends and receives of
    a channel differ in number.
    """
    sends: dict[Channel, list[tuple[Event, int]]] = {}
    takes: dict[Channel, list[Event]] = {}
    for event, instruction in walk(ranks):
        match instruction:
            case Transmit(peer, channel, _):
                sends.setdefault((event.rank, peer, channel), []).append((event, -1))
            case Receive():
                key = (instruction.peer, event.rank, instruction.channel)
                takes.setdefault(key, []).append(event)
                for i, (peer, channel) in enumerate(instruction.forwards):
                    sends.setdefault((event.rank, peer, channel), []).append((event, i))
            case _:
                pass
    if {key: len(ends) for key, ends in sends.items()} != {
        key: len(ends) for key, ends in takes.items()
    }:
        raise ValueError("sends and receives do not match")
    return {
        key: tuple(
            Message(sender, forward, receiver)
            for (sender, forward), receiver in zip(ends, takes[key], strict=True)
        )
        for key, ends in sorted(sends.items())
    }


def walk(ranks: Sequence[RankProgram]) -> list[tuple[Event, Instruction]]:
    """Every instruction with its place, rank by rank, lane by lane, in order."""
    return [
        (Event(r, n, i), instruction)
        for r, rank in enumerate(ranks)
        for n, lane in enumerate(rank.lanes)
        for i, instruction in enumerate(lane)
    ]


def order_events(ranks: Sequence[RankProgram], buffering: int | None) -> tuple[Event, ...] | None:
    """All instructions in an order that respects lanes, waits and messages.

    With ``buffering`` a send also comes after the receive that makes room for it; None sets no
    limit. Returns None where no such order exists: the program would come to a standstill.
    """
    before: dict[Event, int] = {event: 0 for event, _ in walk(ranks)}
    after: dict[Event, list[Event]] = {event: [] for event in before}

    def add(first: Event, second: Event) -> None:
        after[first].append(second)
        before[second] += 1

    for event, instruction in walk(ranks):
        if event.position:
            add(Event(event.rank, event.lane, event.position - 1), event)
        if isinstance(instruction, Wait):
            add(Event(event.rank, instruction.lane, instruction.index), event)
    for messages in find_messages(ranks).values():
        for k, message in enumerate(messages):
            add(message.sender, message.receiver)
            if buffering is not None and k >= buffering:
                add(messages[k - buffering].receiver, message.sender)
    ready = deque(event for event, count in before.items() if not count)
    order: list[Event] = []
    while ready:
        event = ready.popleft()
        order.append(event)
        for later in after[event]:
            before[later] -= 1
            if not before[later]:
                ready.append(later)
    return tuple(order) if len(order) == len(before) else None


def find_buffering(ranks: Sequence[RankProgram]) -> int:
    """The smallest number of messages a channel must hold so that the program comes to its end.

    Raises ``ValueError`` where no number suffices.
    """
    most = max((len(messages) for messages in find_messages(ranks).values()), default=1)
    if order_events(ranks, None) is None:
        raise ValueError("the program comes to a standstill however much its channels hold")
    low, high = 1, most
    while low < high:  # Whatever runs with some room runs with more.
        middle = (low + high) // 2
        if order_events(ranks, middle) is None:
            low = middle + 1
        else:
            high = middle
    return high


def rebuild(program: Program, ranks: tuple[RankProgram, ...]) -> Program:
    """The program with other ranks, and the buffering that these need."""
    return Program(program.problem, program.chunks, ranks, find_buffering(ranks))
