"""Judges a program from the problem's own words; shares no code with the passes.

A program is a graph: instructions of a lane follow each other, a wait follows what it waits for,
a receive follows the send of its message, and the send of a message follows the receive that
makes room for it. A circle is a deadlock. Without the last kind of edge, which a transport may
loosen, the graph is what happens before what: two accesses of a slot that it does not order are
a race. In a program without races every order gives the same values, so that one symbolic
execution tells what each output slot holds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ordering import Graph, ProgramError, find_clocks, peers, reads, writes
from .program import Copy, Receive, Reduce, Slot, Transmit, Wait

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from roundelay.dsl.model import Operator

    from .program import Instruction, Program

__all__ = ["ProgramError", "check"]


def check(program: Program) -> None:
    """Accept a program or raise ``ProgramError`` with the first law found broken.

    Laws: every slot, lane, peer and channel exists; nothing writes an input. Every message is
    sent and received once; the ends of a channel are each in one order. Nothing deadlocks when
    a channel holds ``buffering`` messages. No slot is read before it is written; accesses of a
    slot of which one writes are ordered. What is merged, sent or stored belongs to one chunk of
    one block, a scratch slot holds its own chunk index only. From one rank to another there are no
    more channels than the problem's limits allow. Every output slot ends up with the
    wanted symbols: each once (an idempotent operator may repeat them), in the wanted order
    unless the operator is commutative.
    """
    graph = Graph(program)
    for node, instruction in enumerate(graph.instructions):
        _judge_shape(program, graph, node, instruction)
    _judge_channels(program, graph)
    graph.connect()
    order = graph.sort()
    _judge_races(graph, order)
    _judge_values(program, graph, order)


def _judge_shape(program: Program, graph: Graph, node: int, instruction: Instruction) -> None:
    rank = graph.places[node][0]
    collective = program.problem.collective
    code = program.ranks[rank]
    sizes = {
        "input": len(collective.inputs(rank)) * program.chunks,
        "output": len(collective.outputs(rank)) * program.chunks,
        "scratch": len(code.scratch),
    }
    if not all(0 <= chunk < program.chunks for chunk in code.scratch):
        raise ProgramError(f"rank {rank}: a scratch slot is of no chunk index")
    for slot in (*reads(instruction), *writes(instruction)):
        if not 0 <= slot.index < sizes[slot.buffer]:
            raise ProgramError(f"{graph.name(node)}: {slot} does not exist")
    for slot in writes(instruction):
        if slot.buffer == "input":
            raise ProgramError(f"{graph.name(node)}: writes {slot}")
    for peer, channel in peers(instruction):
        if not 0 <= peer < collective.ranks or peer == rank or channel < 0:
            raise ProgramError(f"{graph.name(node)}: no channel {channel} with rank {peer}")
    match instruction:
        case Reduce() | Transmit() if not instruction.sources:
            raise ProgramError(f"{graph.name(node)}: made of nothing")
        case Wait(lane, index):
            if not (0 <= lane < len(code.lanes) and 0 <= index < len(code.lanes[lane])):
                raise ProgramError(f"{graph.name(node)}: waits for what does not exist")
        case _:
            pass


def _judge_channels(program: Program, graph: Graph) -> None:
    limit = program.problem.limits.channels
    if limit is None:
        return
    used: dict[tuple[int, int], set[int]] = {}
    for node, instruction in enumerate(graph.instructions):
        rank = graph.places[node][0]
        ends = tuple(peers(instruction))
        for k, (peer, channel) in enumerate(ends):
            takes = isinstance(instruction, Receive) and k == 0
            used.setdefault((peer, rank) if takes else (rank, peer), set()).add(channel)
    for (source, target), channels in sorted(used.items()):
        if len(channels) > limit:
            raise ProgramError(
                f"{len(channels)} channels from rank {source} to rank {target}, allowed {limit}"
            )


def _judge_races(graph: Graph, order: list[int]) -> None:
    through_all: dict[int, list[npt.NDArray[np.int32]]] = {}

    def ordered(first: int, second: int) -> bool:
        if first == second or graph.ordered_locally(first, second):
            return True
        rank, lane, index = graph.places[first]
        if rank not in through_all:
            through_all[rank] = find_clocks(graph, [graph.inside, graph.across], rank)
        return bool(through_all[rank][second][lane] > index)

    wrote: dict[tuple[int, Slot], int] = {}
    read: dict[tuple[int, Slot], list[int]] = {}
    for node in order:
        rank = graph.places[node][0]
        instruction = graph.instructions[node]
        for slot in reads(instruction):
            key = (rank, slot)
            if slot.buffer == "input":
                continue
            if key not in wrote:
                raise ProgramError(f"{graph.name(node)}: reads {slot}, which nothing has written")
            _demand(graph, ordered(wrote[key], node), wrote[key], node, slot)
            read.setdefault(key, []).append(node)
        for slot in writes(instruction):
            key = (rank, slot)
            for earlier in (*read.pop(key, ()), *([wrote[key]] if key in wrote else ())):
                _demand(graph, ordered(earlier, node), earlier, node, slot)
            wrote[key] = node


def _demand(graph: Graph, fine: bool, first: int, second: int, slot: Slot) -> None:
    if not fine:
        raise ProgramError(
            f"race: {graph.name(first)} and {graph.name(second)} use {slot} in no order"
        )


@dataclass(frozen=True, slots=True)
class _Value:
    """Which chunk of which block, and of which of its symbols, in normal form."""

    block: int
    chunk: int
    symbols: tuple[int, ...]


def _judge_values(program: Program, graph: Graph, order: list[int]) -> None:
    collective, chunks = program.problem.collective, program.chunks
    held: dict[tuple[int, Slot], _Value] = {}
    sent: dict[tuple[int, int], _Value] = {}
    units = [collective.inputs(rank) for rank in range(collective.ranks)]

    def look(rank: int, slot: Slot) -> _Value:
        if slot.buffer != "input":
            return held[rank, slot]
        unit, chunk = divmod(slot.index, chunks)
        block, symbol = units[rank][unit]
        return _Value(block, chunk, (symbol,))

    for node in order:
        rank, instruction = graph.places[node][0], graph.instructions[node]
        match instruction:
            case Copy(_, src):
                parts = [look(rank, src)]
            case Reduce(_, sources) | Transmit(_, _, sources):
                parts = [look(rank, slot) for slot in sources]
            case Receive():
                parts = [look(rank, slot) for slot in instruction.before]
                parts.append(sent[graph.incoming[node]])
                parts += [look(rank, slot) for slot in instruction.after]
            case _:
                continue
        value = _combined(program.problem.operator, parts, graph.name(node))
        if isinstance(instruction, Transmit):
            sent[node, -1] = value
        elif isinstance(instruction, Receive):
            for i in range(len(instruction.forwards)):
                sent[node, i] = value
        for slot in writes(instruction):
            expected = (
                program.ranks[rank].scratch[slot.index]
                if slot.buffer == "scratch"
                else slot.index % chunks
            )
            if value.chunk != expected:
                raise ProgramError(f"{graph.name(node)}: {slot} does not hold chunk {value.chunk}")
            held[rank, slot] = value
    _judge_outputs(program, held)


def _judge_outputs(program: Program, held: dict[tuple[int, Slot], _Value]) -> None:
    collective, operator = program.problem.collective, program.problem.operator
    for rank in range(collective.ranks):
        for unit, (block, want) in enumerate(collective.outputs(rank)):
            wanted = collective.blocks[block].wants[want]
            for chunk in range(program.chunks):
                slot = Slot("output", unit * program.chunks + chunk)
                value = held.get((rank, slot))
                if value is None:
                    raise ProgramError(f"rank {rank}: {slot} ({wanted}) is never written")
                right = _Value(block, chunk, _normal(operator, wanted.symbols))
                if value != right:
                    raise ProgramError(
                        f"rank {rank}: {slot} ({wanted}) is made of block {value.block} chunk "
                        f"{value.chunk} symbols {value.symbols}, wanted {right.symbols}"
                    )


def _combined(operator: Operator | None, parts: list[_Value], where: str) -> _Value:
    first = parts[0]
    if len(parts) == 1:
        return first
    if operator is None:
        raise ProgramError(f"{where}: merges values, and the collective has no operator")
    if any((part.block, part.chunk) != (first.block, first.chunk) for part in parts):
        raise ProgramError(f"{where}: merges different chunks")
    symbols = tuple(symbol for part in parts for symbol in part.symbols)
    # Without idempotence a repeat never heals, so that it can be refused where it happens.
    if not operator.idempotent and max(Counter(symbols).values()) > 1:
        raise ProgramError(f"{where}: counts a value twice")
    return _Value(first.block, first.chunk, _normal(operator, symbols))


def _normal(operator: Operator | None, symbols: tuple[int, ...]) -> tuple[int, ...]:
    """One form for all words of symbols that the operator's laws make equal, where it commutes.

    In a word of an idempotent operator that does not commute, repeats side by side (also of
    several symbols, since x x = x for the value x that they make) are dropped.
    """
    if operator is None:
        return symbols
    if operator.commutative:
        return tuple(sorted(set(symbols) if operator.idempotent else symbols))
    if operator.idempotent:
        return _without_squares(symbols)
    return symbols


def _without_squares(word: tuple[int, ...]) -> tuple[int, ...]:
    for width in range(1, len(word) // 2 + 1):
        for start in range(len(word) - 2 * width + 1):
            middle = start + width
            if word[start:middle] == word[middle : middle + width]:
                return _without_squares(word[:middle] + word[middle + width :])
    return word
