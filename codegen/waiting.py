"""Lanes with their waits folded into the instructions that they hold up, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .program import RankProgram, Wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .program import Instruction


class Place(NamedTuple):
    """An instruction of one rank: its lane, and its position among the lane's work."""

    lane: int
    position: int


@dataclass(slots=True)
class Work:
    """An instruction that is no wait, and what of other lanes has to be done before it."""

    instruction: Instruction
    after: set[Place] = field(default_factory=set)


Lanes = list[list[Work]]


def fold_waits(rank: RankProgram) -> Lanes:
    """Take the waits out of a rank's lanes and note them at the next instruction of the lane."""
    places: list[list[int]] = []
    for lane in rank.lanes:
        count, positions = 0, []
        for instruction in lane:
            positions.append(count)
            count += not isinstance(instruction, Wait)
        places.append(positions)
    lanes: Lanes = []
    for lane in rank.lanes:
        work: list[Work] = []
        pending: set[Place] = set()
        for instruction in lane:
            if isinstance(instruction, Wait):
                pending.add(Place(instruction.lane, places[instruction.lane][instruction.index]))
            else:
                work.append(Work(instruction, pending))
                pending = set()
        lanes.append(work)
    return lanes


def unfold_waits(lanes: Lanes, scratch: tuple[int, ...]) -> RankProgram:
    """Put the waits back, each before the instruction that it holds up, in order of lanes."""
    indices: list[list[int]] = []
    for lane in lanes:
        index, own = 0, []
        for work in lane:
            index += len(work.after)
            own.append(index)
            index += 1
        indices.append(own)
    made: list[tuple[Instruction, ...]] = []
    for lane in lanes:
        instructions: list[Instruction] = []
        for work in lane:
            instructions += [
                Wait(place.lane, indices[place.lane][place.position])
                for place in sorted(work.after)
            ]
            instructions.append(work.instruction)
        made.append(tuple(instructions))
    return RankProgram(tuple(made), scratch)


def find_clocks(lanes: Lanes) -> dict[Place, tuple[int, ...]]:
    """For every piece of work how much of each lane is done once it is: a vector clock.

    Counts what the rank's own lanes and waits guarantee; in an order in which everything comes
    after what it waits for. Raises ``ValueError`` where lanes wait for each other in a circle.
    """
    clocks: dict[Place, tuple[int, ...]] = {}
    at = [0] * len(lanes)
    total = sum(map(len, lanes))
    while len(clocks) < total:
        stuck = True
        for n, lane in enumerate(lanes):
            while at[n] < len(lane) and all(place in clocks for place in lane[at[n]].after):
                place = Place(n, at[n])
                before = [clocks[earlier] for earlier in sorted(lane[at[n]].after)]
                if at[n]:
                    before.append(clocks[Place(n, at[n] - 1)])
                own = (
                    [max(column) for column in zip(*before, strict=True)]
                    if before
                    else [0] * len(lanes)
                )
                own[n] = at[n] + 1
                clocks[place] = tuple(own)
                at[n] += 1
                stuck = False
        if stuck:
            raise ValueError("lanes wait for each other in a circle")
    return clocks


def precedes(clocks: dict[Place, tuple[int, ...]], first: Place, second: Place) -> bool:
    """Whether the first is done before the second starts (or is the second itself)."""
    return clocks[second][first.lane] > first.position


def latest(places: Sequence[Place]) -> set[Place]:
    """Of the places of each lane the last one."""
    last: dict[int, int] = {}
    for place in places:
        last[place.lane] = max(last.get(place.lane, -1), place.position)
    return {Place(lane, position) for lane, position in last.items()}
