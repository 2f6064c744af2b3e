"""Pass: a receive takes over the merges, stores and sends that follow from its message."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .accesses import find_reads, find_writes
from .channels import find_messages, rebuild
from .program import Copy, RankProgram, Receive, Reduce, Slot, Transmit

if TYPE_CHECKING:
    from .program import Instruction, Program


def join(program: Program) -> Program:
    """Merge and pass on a message as it arrives, instead of storing it first.

    Where a message is sent on as it came, its receive forwards it. Where instead everything made
    of it is one and the same merge, and the rest of the merge is there already, its receive
    merges, stores and forwards. The message itself is then stored only if something else still
    reads it. A forward leaves earlier than the send it replaces, so messages that would overtake
    others of their channel get a channel of their own. Where that makes more channels from one
    rank to another than the problem's limits allow, what comes from some peer is not forwarded.

    Takes a program of one lane a rank in which every slot is written once, before it is read.
    """
    limit = program.problem.limits.channels
    barred: set[tuple[int, int, int]] = set()
    while True:
        lanes, receivers = _joined(program, barred)
        channels, used = _number_channels(lanes, receivers)
        fresh = set() if limit is None else _overfull(lanes, used, limit)
        if not fresh:
            break
        barred |= fresh
    ranks = tuple(
        RankProgram((lane.emit(channels),), rank.scratch)
        for lane, rank in zip(lanes, program.ranks, strict=True)
    )
    return rebuild(program, ranks)


def _joined(
    program: Program, barred: set[tuple[int, int, int]]
) -> tuple[list[_Lane], list[tuple[int, int]]]:
    """Every rank's lane with its forwards, and who receives each message, at which position.

    ``barred``: (rank, peer, source) of what is not forwarded to a peer as it comes from a source.
    """
    lanes = [
        _Lane(code.lanes[0], {(peer, source) for r, peer, source in barred if r == rank})
        for rank, code in enumerate(program.ranks)
    ]
    receivers: list[tuple[int, int]] = []
    for (source, target, _), messages in find_messages(program.ranks).items():
        for message in messages:
            lanes[source].numbers[message.sender.position] = len(receivers)
            lanes[target].numbers[message.receiver.position] = len(receivers)
            receivers.append((target, message.receiver.position))
    for lane in lanes:
        lane.join()
    return lanes, receivers


def _overfull(
    lanes: list[_Lane], used: dict[tuple[int, int], int], limit: int
) -> set[tuple[int, int, int]]:
    """For each pair of ranks with too many channels the source with the fewest forwards there."""
    fewest: dict[tuple[int, int], tuple[int, int]] = {}
    for rank, lane in enumerate(lanes):
        counts: dict[tuple[int, int], int] = {}
        for position, forwards in lane.forwards.items():
            receive = lane.kept[position]
            assert isinstance(receive, Receive)
            for peer, _ in forwards:
                key = (peer, receive.peer)
                counts[key] = counts.get(key, 0) + 1
        for (peer, source), count in sorted(counts.items()):
            if used[rank, peer] > limit:
                least = fewest.setdefault((rank, peer), (count, source))
                fewest[rank, peer] = min(least, (count, source))
    return {(rank, peer, source) for (rank, peer), (_, source) in fewest.items()}


@dataclass(slots=True)
class _Lane:
    """One rank's instructions by position; positions of removed ones are missing.

    ``numbers``: the message that a ``Transmit`` sends or a ``Receive`` takes. ``forwards``: the
    messages that a ``Receive`` sends on, beside their peers. ``barred``: pairs of a peer and a
    source whose messages are not forwarded to it.
    """

    given: tuple[Instruction, ...]
    barred: set[tuple[int, int]]
    kept: dict[int, Instruction] = field(init=False)
    numbers: dict[int, int] = field(default_factory=dict)
    forwards: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    written: dict[Slot, int] = field(default_factory=dict)
    readers: dict[Slot, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kept = dict(enumerate(self.given))
        for position, instruction in self.kept.items():
            for slot in set(find_reads(instruction)):
                self.readers.setdefault(slot, []).append(position)
            for slot in find_writes(instruction):
                self.written[slot] = position

    def join(self) -> None:
        for position, instruction in enumerate(self.given):
            if isinstance(instruction, Receive):
                self._forward(position, instruction)
                self._merge(position)

    def _forward(self, position: int, receive: Receive) -> None:
        """Pass on what is sent as it came, and store at once what is only copied."""
        for slot in receive.stores:
            for reader in list(self.readers.get(slot, ())):
                match self.kept[reader]:
                    case Transmit(peer, _, (_,)) if (peer, receive.peer) not in self.barred:
                        self._take_over(position, reader, slot, peer)
                    case Copy(target, _):
                        self._take_over(position, reader, slot, target)
                    case _:
                        pass
        self._drop_stores(position)

    def _merge(self, position: int) -> None:
        """Merge at once, where all that is made of the message is one merge."""
        receive = self.kept[position]
        assert isinstance(receive, Receive)
        if self.forwards.get(position) or len(receive.stores) != 1:
            return
        slot = receive.stores[0]
        readers = list(self.readers.get(slot, ()))
        merges = {_sources(self.kept[reader]) for reader in readers}
        if slot.buffer != "scratch" or len(merges) != 1 or self._is_barred(readers, receive.peer):
            return
        sources = merges.pop()
        rest = [source for source in sources if source != slot]
        if len(rest) != len(sources) - 1 or any(
            source.buffer != "input" and self.written[source] >= position for source in rest
        ):
            return
        at = sources.index(slot)
        self.kept[position] = replace(
            receive, before=sources[:at], after=sources[at + 1 :], stores=()
        )
        for reader in readers:
            for source in set(rest):
                self.readers[source].remove(reader)
            match self.kept[reader]:
                case Transmit(peer, _, _):
                    self._take_over(position, reader, slot, peer)
                case Reduce(target, _):
                    self._take_over(position, reader, slot, target)
                case _:
                    pass
        for source in set(rest):
            self.readers[source].append(position)

    def _is_barred(self, readers: list[int], source: int) -> bool:
        """Whether one of the instructions sends to where the source's messages may not go on."""
        sends = [self.kept[reader] for reader in readers]
        return any(isinstance(s, Transmit) and (s.peer, source) in self.barred for s in sends)

    def _take_over(self, position: int, reader: int, slot: Slot, to: int | Slot) -> None:
        receive = self.kept[position]
        assert isinstance(receive, Receive)
        self.readers[slot].remove(reader)
        del self.kept[reader]
        if isinstance(to, Slot):
            self.kept[position] = replace(receive, stores=(*receive.stores, to))
            self.written[to] = position
        else:
            self.forwards.setdefault(position, []).append((to, self.numbers[reader]))

    def _drop_stores(self, position: int) -> None:
        """Store in scratch only what is still read."""
        receive = self.kept[position]
        assert isinstance(receive, Receive)
        stores = tuple(
            slot for slot in receive.stores if slot.buffer != "scratch" or self.readers.get(slot)
        )
        self.kept[position] = replace(receive, stores=stores)

    def emit(self, channels: list[int]) -> tuple[Instruction, ...]:
        """The instructions that are left, on the channels that their messages were given."""
        lane: list[Instruction] = []
        for position, instruction in sorted(self.kept.items()):
            match instruction:
                case Transmit():
                    lane.append(replace(instruction, channel=channels[self.numbers[position]]))
                case Receive():
                    forwards = self.forwards.get(position, ())
                    lane.append(
                        replace(
                            instruction,
                            channel=channels[self.numbers[position]],
                            forwards=tuple((peer, channels[number]) for peer, number in forwards),
                        )
                    )
                case _:
                    lane.append(instruction)
        return tuple(lane)


def _number_channels(
    lanes: list[_Lane], receivers: list[tuple[int, int]]
) -> tuple[list[int], dict[tuple[int, int], int]]:
    """For every message its channel, so that a channel's messages arrive as they are sent, and
    the number of channels from each rank to each peer.

    A channel carries what a rank sends by itself, or what it forwards from one peer: the lanes
    that other passes make of these never share it.
    """
    sent: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for rank, lane in enumerate(lanes):
        for position, instruction in sorted(lane.kept.items()):
            match instruction:
                case Transmit(peer):
                    number = lane.numbers[position]
                    sent.setdefault((rank, peer, -1), []).append((receivers[number][1], number))
                case Receive():
                    for peer, number in lane.forwards.get(position, ()):
                        key = (rank, peer, instruction.peer)
                        sent.setdefault(key, []).append((receivers[number][1], number))
                case _:
                    pass
    channels = [0] * len(receivers)
    last: dict[tuple[int, int], list[int]] = {}
    for (rank, peer, _), messages in sorted(sent.items()):
        used = last.setdefault((rank, peer), [])
        first = len(used)
        for taken, number in messages:
            channel = next((c for c in range(first, len(used)) if used[c] < taken), len(used))
            if channel == len(used):
                used.append(taken)
            used[channel] = taken
            channels[number] = channel
    return channels, {pair: len(used) for pair, used in last.items()}


def _sources(instruction: Instruction) -> tuple[Slot, ...]:
    match instruction:
        case Reduce() | Transmit():
            return instruction.sources
        case _:
            return ()
