"""The oracle: a program carried out step by step on NumPy arrays.

Values in scratch, in outputs and on their way are kept in the type in which the element
accumulates, and rounded once at the end: where a rank's own tree of merges is the one that the
fused kernels use, the bytes are the same. What nothing was merged with keeps its own bits. Records
are rounded after every merge instead. Inputs are prepared before anything happens, and outputs
finished after everything has.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.codegen.operators import require_problem
from roundelay.codegen.program import Copy, Receive, Reduce, Slot, Transmit, Wait, chunk_range

from .arithmetic import finish, merge, narrow, prepare
from .buffers import measure_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Instruction, Program

    from .executor import Array


class DeadlockError(Exception):
    """No lane can go on; the message says at which instruction each stands."""


def load(
    artifact: Artifact | None, program: Program, element: Element, seed: int | None = None
) -> Interpreter:
    """Make a program ready to run; it needs no artifact.

    Lanes take turns; with a seed, whichever lane comes next is drawn at random instead.
    """
    require_problem(program.problem, element)
    return Interpreter(program, element, seed)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program and the type of its values."""

    program: Program
    element: Element
    seed: int | None = None

    @property
    def device(self) -> str:
        """What runs the program, in words."""
        return "interpreter (NumPy)"

    @property
    def alike(self) -> bool:
        """False: it merges in every rank's own tree, as the machine itself would."""
        return False

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Interpretation:
        """Bind arrays as ``Executor.bind`` says."""
        count, _ = measure_units(self.program.problem.collective, self.element, inputs, outputs)
        return Interpretation(self, tuple(inputs), tuple(outputs), count)


@dataclass(frozen=True, slots=True)
class Interpretation:
    """A program bound to its arrays, of ``count`` elements a unit."""

    interpreter: Interpreter
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    count: int

    def load(self) -> None:
        """The arrays are where the program runs."""

    def wait(self) -> None:
        """A call returns when it is done."""

    def store(self) -> None:
        """The arrays are where the program runs."""

    def __call__(self) -> None:
        """Run the program; raises ``DeadlockError`` where it comes to a standstill."""
        program, element = self.interpreter.program, self.interpreter.element
        machine = _Machine(self)
        machine.run(self.interpreter.seed)
        operator, collective = program.problem.operator, program.problem.collective
        for rank, output in enumerate(self.outputs):
            for unit, (block, want) in enumerate(collective.outputs(rank)):
                count = len(collective.blocks[block].wants[want].symbols)
                for index in range(unit * program.chunks, (unit + 1) * program.chunks):
                    low, high = self.extent(index)
                    made = machine.held[rank, Slot("output", index)]
                    output[low:high] = narrow(finish(operator, element, made, count), element)

    def extent(self, index: int) -> tuple[int, int]:
        """The range of a buffer's elements that a slot covers."""
        program, element = self.interpreter.program, self.interpreter.element
        unit, chunk = divmod(index, program.chunks)
        align = element.align
        low, high = chunk_range(self.count, program.chunks, chunk, align)
        return unit * self.count + low, unit * self.count + high


class _Machine:
    """The state of one run: slots, channels, and where each lane stands."""

    def __init__(self, bound: Interpretation) -> None:
        self.program = bound.interpreter.program
        self.element = bound.interpreter.element
        # Copies, so that outputs may lie in inputs: the order of writes to them is not defined.
        self.held: dict[tuple[int, Slot], Array] = {}
        problem = self.program.problem
        for rank, array in enumerate(bound.inputs):
            units = len(problem.collective.inputs(rank))
            for index in range(units * self.program.chunks):
                low, high = bound.extent(index)
                given = prepare(problem.operator, self.element, array[low:high].copy())
                self.held[rank, Slot("input", index)] = given
        self.channels: dict[tuple[int, int, int], deque[Array]] = {}
        self.at = [[0] * len(rank.lanes) for rank in self.program.ranks]

    def run(self, seed: int | None) -> None:
        lanes = [
            (r, n)
            for r, rank in enumerate(self.program.ranks)
            for n, lane in enumerate(rank.lanes)
            if lane
        ]
        chance = None if seed is None else random.Random(seed)
        while lanes:
            if chance is not None:
                chance.shuffle(lanes)
            moved = False
            for rank, lane in lanes:
                if self._step(rank, lane):
                    moved = True
                    if chance is not None:
                        break  # Whoever is drawn goes one step, then lots are drawn again.
            if not moved:
                raise DeadlockError("\n".join(self._where(rank, lane) for rank, lane in lanes))
            lanes = [
                (rank, lane)
                for rank, lane in lanes
                if self.at[rank][lane] < len(self.program.ranks[rank].lanes[lane])
            ]

    def _where(self, rank: int, lane: int) -> str:
        index = self.at[rank][lane]
        stuck = self.program.ranks[rank].lanes[lane][index]
        return f"rank {rank} lane {lane} stands at instruction {index}: {stuck}"

    def _step(self, rank: int, lane: int) -> bool:
        """Carry out the lane's next instruction, if it can be."""
        instruction = self.program.ranks[rank].lanes[lane][self.at[rank][lane]]
        if not self._ready(rank, instruction):
            return False
        self._execute(rank, instruction)
        self.at[rank][lane] += 1
        return True

    def _ready(self, rank: int, instruction: Instruction) -> bool:
        match instruction:
            case Wait(lane, index):
                return self.at[rank][lane] > index
            case Transmit(peer, channel, _):
                return self._has_room(rank, peer, channel)
            case Receive():
                waiting = self.channels.get((instruction.peer, rank, instruction.channel))
                return bool(waiting) and all(
                    self._has_room(rank, peer, channel) for peer, channel in instruction.forwards
                )
            case _:
                return True

    def _has_room(self, rank: int, peer: int, channel: int) -> bool:
        return len(self.channels.get((rank, peer, channel), ())) < self.program.buffering

    def _execute(self, rank: int, instruction: Instruction) -> None:
        match instruction:
            case Copy(dst, src):
                self.held[rank, dst] = self.held[rank, src]
            case Reduce(dst, sources):
                self.held[rank, dst] = self._merged(rank, sources)
            case Transmit(peer, channel, sources):
                self._send(rank, peer, channel, self._merged(rank, sources))
            case Receive():
                message = self.channels[instruction.peer, rank, instruction.channel].popleft()
                value = merge(
                    self.program.problem.operator,
                    self.element,
                    [
                        *(self.held[rank, slot] for slot in instruction.before),
                        message,
                        *(self.held[rank, slot] for slot in instruction.after),
                    ],
                )
                for slot in instruction.stores:
                    self.held[rank, slot] = value
                for peer, channel in instruction.forwards:
                    self._send(rank, peer, channel, value)
            case _:
                pass

    def _merged(self, rank: int, sources: tuple[Slot, ...]) -> Array:
        values = [self.held[rank, slot] for slot in sources]
        return merge(self.program.problem.operator, self.element, values)

    def _send(self, rank: int, peer: int, channel: int, value: Array) -> None:
        self.channels.setdefault((rank, peer, channel), deque()).append(value)
