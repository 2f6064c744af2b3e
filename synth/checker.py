"""Judges a schedule without a solver, from the problem's own words alone.

It propagates contribution sets by the operator's algebra and adds up what every link carries.
Nothing here or in ``loads`` is shared with the engines, the bounds, the prices or the decoding of
solver models.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING

from .loads import count_loads
from .schedule import Got, Own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.dsl.model import Block, Operator, Topology

    from .schedule import Part, Schedule, Send


PACE = 4e-5
"""Seconds that judging a message takes, more or less."""


class ScheduleError(Exception):
    """A schedule breaks a law; ``violations`` says each in a sentence."""

    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__("\n".join(violations))
        self.violations = tuple(violations)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a valid schedule costs and wastes.

    ``loads``: for every step the number of chunks on each link (position in ``topology.links``).
    ``rounds``: the sum over the steps of the busiest link's load, in rounds (one chunk's time on
    the machine's slowest link). ``unused``: numbers of messages that reach no result.
    """

    loads: tuple[tuple[int, ...], ...]
    rounds: Fraction
    unused: tuple[int, ...]


def check(schedule: Schedule) -> Verdict:
    """Accept a schedule or raise ``ScheduleError`` with everything found wrong.

    Laws: a route is a path of existing links whose inner nodes are switches. A rank uses its own
    inputs and what arrived in an earlier step, of the same chunk. A merge takes disjoint
    contributions unless the operator is idempotent and commutative; one that is not commutative
    keeps the order of the wanted symbols. Every wanted value of every chunk is made exactly once.
    """
    violations: list[str] = []
    carried: list[tuple[int, ...]] = []
    for number, send in enumerate(schedule.sends):
        fault = _misplaced(schedule, number, send)
        if fault:
            violations.append(f"message {number}: {fault}")
        block = _block(schedule, send.chunk)
        if block is None:
            carried.append(())
            continue
        content, faults = _merge(schedule, carried, block, send.parts, send.src, send.chunk, number)
        carried.append(content)
        violations += [f"message {number}: {fault}" for fault in faults]
    violations += _judge_results(schedule, carried)
    if violations:
        raise ScheduleError(violations)
    loads = count_loads(schedule)
    return Verdict(loads, _rounds(schedule.problem.topology, loads), _unused(schedule))


def _block(schedule: Schedule, chunk: int) -> Block | None:
    blocks = schedule.problem.collective.blocks
    inside = schedule.chunks > 0 and 0 <= chunk < len(blocks) * schedule.chunks
    return blocks[chunk // schedule.chunks] if inside else None


def _misplaced(schedule: Schedule, number: int, send: Send) -> str:
    """What is wrong with a message's step, chunk, ends or route; empty when nothing is."""
    topology = schedule.problem.topology
    ranks = len(topology.ranks)
    if not 0 <= send.step < schedule.steps:
        return f"step {send.step} is not one of the {schedule.steps} steps"
    if number and schedule.sends[number - 1].step > send.step:
        return f"step {send.step} stands after step {schedule.sends[number - 1].step}"
    if _block(schedule, send.chunk) is None:
        return f"chunk {send.chunk} does not exist"
    if not (0 <= send.src < ranks and 0 <= send.dst < ranks):
        return f"{send.src} -> {send.dst} does not join two ranks"
    if not send.route:
        return "its route is empty"
    at = send.src
    for position, link in enumerate(send.route):
        if not 0 <= link < len(topology.links):
            return f"link {link} does not exist"
        if topology.links[link].src != at:
            return f"its route breaks at {topology.node_name(at)}"
        if position and at < ranks:
            return f"its route passes through {topology.node_name(at)}, which is no switch"
        at = topology.links[link].dst
    if at != send.dst:
        return f"its route ends at {topology.node_name(at)}, not at {topology.node_name(send.dst)}"
    if len(set(send.route)) != len(send.route):
        return "its route uses a link twice"
    return ""


def _merge(
    schedule: Schedule,
    carried: list[tuple[int, ...]],
    block: Block,
    parts: tuple[Part, ...],
    rank: int,
    chunk: int,
    limit: int,
) -> tuple[tuple[int, ...], list[str]]:
    """The symbols of a merge at a rank, in order, and what is wrong with it.

    ``limit`` is the number of the message being made: parts come from earlier ones.
    """
    faults: list[str] = []
    content: list[int] = []
    if not parts:
        faults.append("it is made of nothing")
    step = schedule.sends[limit].step if limit < len(schedule.sends) else schedule.steps
    for part in parts:
        if isinstance(part, Own):
            if not 0 <= part.symbol < len(block.symbols):
                faults.append(f"own input {part.symbol} does not exist in its block")
                continue
            if block.symbols[part.symbol].rank != rank:
                faults.append(f"{block.symbols[part.symbol]} is not an input of rank {rank}")
            content.append(part.symbol)
            continue
        if not 0 <= part.send < min(limit, len(schedule.sends)):
            faults.append(f"message {part.send} is not an earlier one")
            continue
        got = schedule.sends[part.send]
        if got.dst != rank:
            faults.append(f"message {part.send} goes to rank {got.dst}, not to rank {rank}")
        if got.step >= step:
            faults.append(f"message {part.send} arrives in step {got.step}, too late for it")
        if got.chunk != chunk:
            faults.append(f"message {part.send} carries chunk {got.chunk}, not chunk {chunk}")
            continue  # Its symbols may be another block's.
        content += carried[part.send]
    operator = schedule.problem.operator
    if len(parts) > 1 and operator is None:
        faults.append("it merges values, and the collective has no operator")
    if operator is None or not (operator.idempotent and operator.commutative):
        for symbol, times in Counter(content).items():
            if times > 1:
                faults.append(f"{block.symbols[symbol]} counts {times} times in it")
    # Here contents only grow by repeats that mean nothing; without dropping them a long schedule
    # would double its lists in every step. (Without commutativity, a repeat means nothing only
    # beside its like; such merges are not needed, so none is allowed.)
    else:
        content = sorted(set(content))
    return tuple(content), faults


def _judge_results(schedule: Schedule, carried: list[tuple[int, ...]]) -> list[str]:
    violations: list[str] = []
    made: Counter[tuple[int, int]] = Counter()
    for result in schedule.results:
        block = _block(schedule, result.chunk)
        if block is None or not 0 <= result.want < len(block.wants):
            violations.append(f"result {result.want} of chunk {result.chunk} is not wanted")
            continue
        made[result.chunk, result.want] += 1
        want = block.wants[result.want]
        name = f"{want} of chunk {result.chunk}"
        content, faults = _merge(
            schedule, carried, block, result.parts, want.rank, result.chunk, len(schedule.sends)
        )
        violations += [f"{name}: {fault}" for fault in faults]
        if not faults and not _equal(content, want.symbols, schedule.problem.operator):
            violations.append(
                f"{name}: made of {_names(block, content)}, wanted {_names(block, want.symbols)}"
            )
    for b, block in enumerate(schedule.problem.collective.blocks):
        for chunk in range(b * schedule.chunks, (b + 1) * schedule.chunks):
            for w, want in enumerate(block.wants):
                if made[chunk, w] != 1:
                    violations.append(f"{want} of chunk {chunk} is made {made[chunk, w]} times")
    return violations


def _equal(content: tuple[int, ...], wanted: tuple[int, ...], operator: Operator | None) -> bool:
    if operator is None or not operator.commutative:
        return content == wanted
    if operator.idempotent:
        return set(content) == set(wanted)
    return Counter(content) == Counter(wanted)


def _names(block: Block, symbols: Sequence[int]) -> str:
    return " ".join(str(block.symbols[symbol]) for symbol in symbols) or "nothing"


def _rounds(topology: Topology, loads: tuple[tuple[int, ...], ...]) -> Fraction:
    if not topology.links:
        return Fraction(0)
    slowest = topology.slowest
    share = [slowest / link.capacity for link in topology.links]
    busiest = (max(map(mul, step, share)) for step in loads)
    return sum(busiest, Fraction(0))


def _unused(schedule: Schedule) -> tuple[int, ...]:
    """Messages from which no result takes anything, even through others."""
    needed: set[int] = set()
    waiting = [part for result in schedule.results for part in result.parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Got) and part.send not in needed:
            needed.add(part.send)
            waiting += schedule.sends[part.send].parts
    return tuple(sorted(set(range(len(schedule.sends))) - needed))
