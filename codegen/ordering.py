"""A program as a graph, for its checker: what comes before what, and why.

Shares no code with the passes.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .program import Copy, Receive, Reduce, Transmit, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from .program import Instruction, Program, Slot

    Ends = list[tuple[int, int]]
    Channel = tuple[int, int, int]


class ProgramError(Exception):
    """A program breaks a law; the message says which, and where."""


class Graph:
    """Instructions as numbered nodes with what has to come before each."""

    def __init__(self, program: Program) -> None:
        collective = program.problem.collective
        if program.chunks < 1 or program.buffering < 1:
            raise ProgramError("a program needs at least one chunk and room for one message")
        if len(program.ranks) != collective.ranks:
            raise ProgramError(f"{len(program.ranks)} programs for {collective.ranks} ranks")
        self.program = program
        self.instructions: list[Instruction] = []
        self.places: list[tuple[int, int, int]] = []
        self.starts: list[list[int]] = []
        for r, rank in enumerate(program.ranks):
            starts = []
            for n, lane in enumerate(rank.lanes):
                starts.append(len(self.instructions))
                self.instructions += lane
                self.places += [(r, n, i) for i in range(len(lane))]
            self.starts.append(starts)
        size = len(self.instructions)
        self.inside: list[list[int]] = [[] for _ in range(size)]  # Edges within a rank,
        self.across: list[list[int]] = [[] for _ in range(size)]  # of messages,
        self.room: list[list[int]] = [[] for _ in range(size)]  # and of full channels.
        self.incoming: dict[int, tuple[int, int]] = {}  # Receive -> sender and its forward.

    def name(self, node: int) -> str:
        """Where a node stands, in words."""
        rank, lane, index = self.places[node]
        return f"rank {rank} lane {lane} instruction {index}"

    def connect(self) -> None:
        """Find all edges; raises where a channel's ends do not match or have no order."""
        for node, instruction in enumerate(self.instructions):
            rank, _, index = self.places[node]
            if index:
                self.inside[node].append(node - 1)
            if isinstance(instruction, Wait):
                self.inside[node].append(self.starts[rank][instruction.lane] + instruction.index)
        self._local = find_clocks(self, [self.inside])
        sends, takes = self._ends()
        for key in sorted({*sends, *takes}):
            source, target, channel = key
            out, into = sends.get(key, []), takes.get(key, [])
            if len(out) != len(into):
                raise ProgramError(
                    f"channel {channel} from rank {source} to rank {target}: "
                    f"{len(out)} messages sent, {len(into)} received"
                )
            out = self._in_order(out, key)
            into = self._in_order(into, key)
            for k, ((sender, forward), (receiver, _)) in enumerate(zip(out, into, strict=True)):
                self.across[receiver].append(sender)
                self.incoming[receiver] = sender, forward
                if k >= self.program.buffering:
                    self.room[sender].append(into[k - self.program.buffering][0])

    def _ends(self) -> tuple[dict[Channel, Ends], dict[Channel, Ends]]:
        sends: dict[Channel, Ends] = {}
        takes: dict[Channel, Ends] = {}
        for node, instruction in enumerate(self.instructions):
            rank = self.places[node][0]
            match instruction:
                case Transmit(peer, channel, _):
                    sends.setdefault((rank, peer, channel), []).append((node, -1))
                case Receive():
                    key = (instruction.peer, rank, instruction.channel)
                    takes.setdefault(key, []).append((node, 0))
                    for i, (peer, channel) in enumerate(instruction.forwards):
                        sends.setdefault((rank, peer, channel), []).append((node, i))
                case _:
                    pass
        return sends, takes

    def _in_order(self, ends: Ends, key: Channel) -> Ends:
        """Ends of a channel as its rank's lanes and waits order them."""
        if len({self.places[node][1] for node, _ in ends}) < 2:
            return ends
        # How much of the rank is done grows along every order, so it sorts a chain.
        ends = sorted(ends, key=lambda end: (int(self._local[end[0]].sum()), *end))
        for (first, _), (second, _) in pairwise(ends):
            if first != second and not self.ordered_locally(first, second):
                raise ProgramError(
                    f"channel {key[2]} from rank {key[0]} to rank {key[1]}: {self.name(first)} "
                    f"and {self.name(second)} use it in no order"
                )
        return ends

    def ordered_locally(self, first: int, second: int) -> bool:
        """Whether the lanes and waits of their rank alone put one node before another."""
        _, lane, index = self.places[first]
        return bool(self._local[second][lane] > index)

    def sort(self) -> list[int]:
        """The nodes in an order that keeps every edge."""
        order = _sorted(len(self.instructions), [self.inside, self.across, self.room])
        if len(order) < len(self.instructions):
            left = set(range(len(self.instructions))) - set(order)
            # Walk back along unmet edges until a node comes up twice: it lies on a circle.
            node, seen = min(left), set[int]()
            while node not in seen:
                seen.add(node)
                edges = (*self.inside[node], *self.across[node], *self.room[node])
                node = next(earlier for earlier in edges if earlier in left)
            raise ProgramError(
                f"deadlock with {self.program.buffering} messages a channel: "
                f"{self.name(node)} waits for itself"
            )
        return order


def _sorted(size: int, kinds: Sequence[list[list[int]]]) -> list[int]:
    later: list[list[int]] = [[] for _ in range(size)]
    missing = [0] * size
    for edges in kinds:
        for node, before in enumerate(edges):
            missing[node] += len(before)
            for earlier in before:
                later[earlier].append(node)
    ready = deque(node for node in range(size) if not missing[node])
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for follower in later[node]:
            missing[follower] -= 1
            if not missing[follower]:
                ready.append(follower)
    return order


def find_clocks(
    graph: Graph, kinds: Sequence[list[list[int]]], rank: int | None = None
) -> list[npt.NDArray[np.int32]]:
    """For every node how many instructions of each lane precede it: of its own rank's lanes,
    or, with ``rank``, of that rank's, along edges through all ranks.
    """
    size = len(graph.instructions)
    order = _sorted(size, kinds)
    if len(order) < size:
        raise ProgramError("deadlock: lanes of a rank wait for each other in a circle")
    clocks: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)] * size
    for node in order:
        own, lane, index = graph.places[node]
        clock = np.zeros(len(graph.starts[own if rank is None else rank]), np.int32)
        for edges in kinds:
            for earlier in edges[node]:
                np.maximum(clock, clocks[earlier], out=clock)
        if rank is None or own == rank:
            clock[lane] = index + 1
        clocks[node] = clock
    return clocks


def reads(instruction: Instruction) -> tuple[Slot, ...]:
    """The slots that an instruction reads."""
    match instruction:
        case Copy(_, src):
            return (src,)
        case Reduce(_, sources) | Transmit(_, _, sources):
            return sources
        case Receive():
            return instruction.before + instruction.after
        case _:
            return ()


def writes(instruction: Instruction) -> tuple[Slot, ...]:
    """The slots that an instruction writes."""
    match instruction:
        case Copy(dst, _) | Reduce(dst, _):
            return (dst,)
        case Receive():
            return instruction.stores
        case _:
            return ()


def peers(instruction: Instruction) -> Iterator[tuple[int, int]]:
    """Peer and channel of every message that an instruction sends or takes."""
    match instruction:
        case Transmit(peer, channel, _):
            yield peer, channel
        case Receive():
            yield instruction.peer, instruction.channel
            yield from instruction.forwards
        case _:
            return
