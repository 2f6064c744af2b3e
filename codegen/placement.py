"""First pass: a schedule's messages and results become instructions on slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.synth.schedule import Got, Own

from .channels import find_buffering
from .program import Copy, Program, RankProgram, Receive, Reduce, Slot, Transmit

if TYPE_CHECKING:
    from roundelay.synth.schedule import Part, Result, Schedule

    from .program import Instruction


def place(schedule: Schedule) -> Program:
    """Give every value a slot, and every rank one lane in the order of the steps.

    In a step a rank first sends everything, then receives, then makes the results that have
    become complete. What arrives has a slot of its own: the output's, where it is a result as it
    came, else one of scratch. Messages from which no result takes anything are left out. Every
    pair of ranks has one channel. Takes a schedule that ``synth.checker`` accepts.
    """
    return _Placement(schedule).program()


class _Placement:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        collective = schedule.problem.collective
        self.ranks = range(collective.ranks)
        self.inputs = [
            {unit: u for u, unit in enumerate(collective.inputs(rank))} for rank in self.ranks
        ]
        self.outputs = [
            {unit: u for u, unit in enumerate(collective.outputs(rank))} for rank in self.ranks
        ]
        self.lanes: list[list[Instruction]] = [[] for _ in self.ranks]
        self.scratch: list[list[int]] = [[] for _ in self.ranks]
        self.homes: dict[int, tuple[Slot, ...]] = {}

    def program(self) -> Program:
        schedule = self.schedule
        needed = _needed(schedule)
        self._find_homes(needed)
        sends: list[list[int]] = [[] for _ in range(schedule.steps)]
        for number in sorted(needed):
            sends[schedule.sends[number].step].append(number)
        results: list[list[Result]] = [[] for _ in range(max(1, schedule.steps))]
        for result in schedule.results:
            last = [schedule.sends[p.send].step for p in result.parts if isinstance(p, Got)]
            results[max(last, default=0)].append(result)
        for step, complete in enumerate(results):
            for number in sends[step] if sends else ():
                send = schedule.sends[number]
                sources = self._slots(send.src, send.chunk, send.parts)
                self.lanes[send.src].append(Transmit(send.dst, 0, sources))
            for number in sends[step] if sends else ():
                send = schedule.sends[number]
                self.lanes[send.dst].append(Receive(send.src, 0, stores=self.homes[number]))
            for result in complete:
                self._make(result)
        ranks = tuple(
            RankProgram((tuple(lane),), tuple(scratch))
            for lane, scratch in zip(self.lanes, self.scratch, strict=True)
        )
        return Program(schedule.problem, schedule.chunks, ranks, find_buffering(ranks))

    def _find_homes(self, needed: set[int]) -> None:
        direct: dict[int, list[Slot]] = {}
        for result in self.schedule.results:
            match result.parts:
                case (Got(send),):
                    direct.setdefault(send, []).append(self._target(result)[1])
                case _:
                    pass
        for number in sorted(needed):
            if number in direct:
                self.homes[number] = tuple(direct[number])
                continue
            message = self.schedule.sends[number]
            scratch = self.scratch[message.dst]
            self.homes[number] = (Slot("scratch", len(scratch)),)
            scratch.append(message.chunk % self.schedule.chunks)

    def _make(self, result: Result) -> None:
        rank, target = self._target(result)
        sources = self._slots(rank, result.chunk, result.parts)
        match result.parts:
            case (Got(),):
                pass  # It was stored there when it arrived.
            case (_,):
                self.lanes[rank].append(Copy(target, sources[0]))
            case _:
                self.lanes[rank].append(Reduce(target, sources))

    def _target(self, result: Result) -> tuple[int, Slot]:
        chunks = self.schedule.chunks
        block, chunk = divmod(result.chunk, chunks)
        rank = self.schedule.problem.collective.blocks[block].wants[result.want].rank
        unit = self.outputs[rank][block, result.want]
        return rank, Slot("output", unit * chunks + chunk)

    def _slots(self, rank: int, number: int, parts: tuple[Part, ...]) -> tuple[Slot, ...]:
        chunks = self.schedule.chunks
        block, chunk = divmod(number, chunks)
        return tuple(
            Slot("input", self.inputs[rank][block, part.symbol] * chunks + chunk)
            if isinstance(part, Own)
            else self.homes[part.send][0]
            for part in parts
        )


def _needed(schedule: Schedule) -> set[int]:
    """Numbers of the messages from which a result takes something, even through others."""
    needed: set[int] = set()
    waiting = [part for result in schedule.results for part in result.parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Got) and part.send not in needed:
            needed.add(part.send)
            waiting += schedule.sends[part.send].parts
    return needed
