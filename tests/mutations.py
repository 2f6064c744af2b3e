"""Programs that differ from a given one in one thing: how the program checker is tested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roundelay.codegen.program import Copy, Program, Receive, Reduce, Slot, Transmit, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.codegen.program import Instruction

Lanes = tuple[tuple["Instruction", ...], ...]


def with_lanes(program: Program, r: int, lanes: Lanes) -> Program:
    ranks = list(program.ranks)
    ranks[r] = replace(ranks[r], lanes=lanes)
    return replace(program, ranks=tuple(ranks))


def renumbered(lanes: Lanes, lane: int, at: int, by: int) -> Lanes:
    """Waits for instructions of a lane from position ``at`` on, moved by ``by``."""
    return tuple(
        tuple(
            Wait(i.lane, max(0, i.index + by))
            if isinstance(i, Wait) and i.lane == lane and i.index >= at
            else i
            for i in own
        )
        for own in lanes
    )


def mutations(program: Program) -> Iterator[tuple[str, Program]]:
    """Programs that differ from the given one in one thing, with the kind of difference."""
    if program.buffering > 1:
        yield "less room", replace(program, buffering=program.buffering - 1)
    for r, rank in enumerate(program.ranks):
        for s in range(len(rank.scratch)):
            other = (rank.scratch[s] + 1) % (program.chunks + 1)
            ranks = list(program.ranks)
            ranks[r] = replace(rank, scratch=(*rank.scratch[:s], other, *rank.scratch[s + 1 :]))
            yield "other chunk index", replace(program, ranks=tuple(ranks))
        for n, lane in enumerate(rank.lanes):
            for i, instruction in enumerate(lane):
                for kind, lanes in structural(rank.lanes, n, i):
                    yield kind, with_lanes(program, r, lanes)
                for kind, changed in variants(program, r, instruction):
                    own = (*lane[:i], changed, *lane[i + 1 :])
                    lanes = (*rank.lanes[:n], own, *rank.lanes[n + 1 :])
                    yield kind, with_lanes(program, r, lanes)


def structural(lanes: Lanes, n: int, i: int) -> Iterator[tuple[str, Lanes]]:
    lane = lanes[n]

    def put(own: tuple[Instruction, ...], lanes: Lanes = lanes) -> Lanes:
        return (*lanes[:n], own, *lanes[n + 1 :])

    moved = renumbered(lanes, n, i, -1)
    kind = "drop wait" if isinstance(lane[i], Wait) else "drop"
    yield kind, put((*moved[n][:i], *moved[n][i + 1 :]), moved)
    moved = renumbered(lanes, n, i + 1, 1)
    yield "duplicate", put((*moved[n][: i + 1], *moved[n][i:]), moved)
    for j in range(i + 1, len(lane)):
        yield "swap", put((*lane[:i], lane[j], *lane[i + 1 : j], lane[i], *lane[j + 1 :]))
    for m in range(len(lanes)):
        if m != n:
            moved = renumbered(lanes, n, i, -1)
            own = (*moved[n][:i], *moved[n][i + 1 :])
            for other in ((*moved[m], lane[i]), (lane[i], *renumbered(moved, m, 0, 1)[m])):
                yield (
                    "other lane",
                    tuple(
                        own if k == n else other if k == m else moved[k] for k in range(len(lanes))
                    ),
                )


def variants(
    program: Program, rank: int, instruction: Instruction
) -> Iterator[tuple[str, Instruction]]:
    match instruction:
        case Copy(dst, src):
            for slot in others(program, rank, src):
                yield "read", Copy(dst, slot)
            for slot in others(program, rank, dst):
                yield "write", Copy(slot, src)
            yield "write input", Copy(Slot("input", 0), src)
        case Reduce(dst, sources):
            for kind, changed in lists(program, rank, sources):
                yield kind, Reduce(dst, changed)
            for slot in others(program, rank, dst):
                yield "write", Reduce(slot, sources)
        case Transmit(peer, channel, sources):
            for kind, changed in lists(program, rank, sources):
                yield kind, Transmit(peer, channel, changed)
            yield "channel", Transmit(peer, channel + 1, sources)
            yield "peer", Transmit((peer + 1) % len(program.ranks), channel, sources)
        case Receive():
            yield "channel", replace(instruction, channel=instruction.channel + 1)
            yield "peer", replace(instruction, peer=(instruction.peer + 1) % len(program.ranks))
            for kind, changed in lists(program, rank, instruction.before):
                yield kind, replace(instruction, before=changed)
            for kind, changed in lists(program, rank, instruction.after):
                yield kind, replace(instruction, after=changed)
            yield "sides", replace(instruction, before=instruction.after, after=instruction.before)
            for kind, changed in lists(program, rank, instruction.stores):
                yield f"stores: {kind}", replace(instruction, stores=changed)
            forwards = instruction.forwards
            for f in range(len(forwards)):
                rest = forwards[:f] + forwards[f + 1 :]
                yield "drop forward", replace(instruction, forwards=rest)
                yield "again", replace(instruction, forwards=(*forwards, forwards[f]))
                peer, channel = forwards[f]
                changed_forward = (peer, channel + 1)
                yield "channel", replace(instruction, forwards=(*rest, changed_forward))
        case Wait(lane, index):
            for other in (index - 1, index + 1):
                yield "wait", Wait(lane, other)
            yield "wait", Wait((lane + 1) % len(program.ranks[rank].lanes), index)


def lists(
    program: Program, rank: int, slots: tuple[Slot, ...]
) -> Iterator[tuple[str, tuple[Slot, ...]]]:
    yield "more", (*slots, Slot("input", 0))
    for i, slot in enumerate(slots):
        yield "fewer", slots[:i] + slots[i + 1 :]
        yield "twice", (*slots, slot)
        for other in others(program, rank, slot):
            yield "slot", (*slots[:i], other, *slots[i + 1 :])
    if len(slots) > 1:
        yield "order", slots[::-1]


def others(program: Program, rank: int, slot: Slot) -> list[Slot]:
    collective, code = program.problem.collective, program.ranks[rank]
    counts = {
        "input": len(collective.inputs(rank)) * program.chunks,
        "output": len(collective.outputs(rank)) * program.chunks,
        "scratch": len(code.scratch),
    }
    found = [Slot(slot.buffer, slot.index + by) for by in (-1, 1)]
    found += [Slot("input", 0), Slot("output", 0), Slot("scratch", 0)]
    found += [Slot(slot.buffer, counts[slot.buffer]), Slot(slot.buffer, -1)]
    return [other for other in dict.fromkeys(found) if other != slot]
