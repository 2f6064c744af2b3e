"""A tiny simulator of schedules: what the checker's word is compared with.

It replays the messages one by one on the values themselves, as free values: bags of symbols for a
sum, sets for a maximum, words for what does not commute. Switches only forward in it. It knows a
schedule by its fields alone and shares nothing with the checker, the encodings or the decoder.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.synth.schedule import Own

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Part, Schedule, Send

Value = tuple[int, ...]


class WrongError(Exception):
    """The schedule cannot be replayed, or makes something else than what is wanted."""


def replay(schedule: Schedule) -> Fraction:
    """The rounds of a right schedule; raises ``WrongError`` for a wrong one."""
    problem = schedule.problem
    total = len(problem.collective.blocks) * schedule.chunks
    inbox: list[Value] = []
    now = 0
    for number, send in enumerate(schedule.sends):
        if not 0 <= send.chunk < total:
            raise WrongError("no such chunk")
        if not now <= send.step < schedule.steps:
            raise WrongError("out of time")
        now = send.step
        _travel(problem, send)
        inbox.append(_make(schedule, inbox, number, send.parts, send.chunk, send.src, now))
    _deliver(schedule, inbox)
    return _clock(schedule)


def _travel(problem: Problem, send: Send) -> None:
    """Follow the route link by link."""
    links, ranks = problem.topology.links, len(problem.topology.ranks)
    at = send.src
    visited = [at]
    for link in send.route:
        if not 0 <= link < len(links) or links[link].src != at:
            raise WrongError("no way on")
        at = links[link].dst
        visited.append(at)
    ends = len(visited) > 1 and at == send.dst and 0 <= send.dst < ranks
    if not ends or not 0 <= send.src < ranks or min(visited[1:-1], default=ranks) < ranks:
        raise WrongError("not from rank to rank over switches")
    if len({*send.route}) < len(send.route):
        raise WrongError("the same link twice")


def _make(
    schedule: Schedule,
    inbox: list[Value],
    limit: int,
    parts: tuple[Part, ...],
    chunk: int,
    rank: int,
    step: int,
) -> Value:
    """What a rank makes of parts before a step, of which messages below ``limit`` have come."""
    symbols = schedule.problem.collective.blocks[chunk // schedule.chunks].symbols
    values: list[Value] = []
    for part in parts:
        if isinstance(part, Own):
            if not 0 <= part.symbol < len(symbols) or symbols[part.symbol].rank != rank:
                raise WrongError("not its own")
            values.append((part.symbol,))
            continue
        if not 0 <= part.send < limit:
            raise WrongError("no such message yet")
        sent = schedule.sends[part.send]
        if (sent.dst, sent.chunk) != (rank, chunk) or sent.step >= step:
            raise WrongError("it has not arrived here")
        values.append(inbox[part.send])
    if not values or (len(values) > 1 and schedule.problem.operator is None):
        raise WrongError("nothing to send, or nothing to merge with")
    return _fold(schedule.problem, values)


def _fold(problem: Problem, values: list[Value]) -> Value:
    """The operator in its free algebra; no value may count twice unless that means nothing."""
    operator = problem.operator
    word = tuple(symbol for value in values for symbol in value)
    if operator is None:
        return word
    if operator.commutative and operator.idempotent:
        return tuple(sorted({*word}))
    if max(Counter(word).values()) > 1:
        raise WrongError("a value counts twice")
    return tuple(sorted(word)) if operator.commutative else word


def _deliver(schedule: Schedule, inbox: list[Value]) -> None:
    problem = schedule.problem
    due = {
        (block * schedule.chunks + c, position)
        for block, each in enumerate(problem.collective.blocks)
        for c in range(schedule.chunks)
        for position in range(len(each.wants))
    }
    for result in schedule.results:
        if (result.chunk, result.want) not in due:
            raise WrongError("not wanted, or made before")
        due.remove((result.chunk, result.want))
        want = problem.collective.blocks[result.chunk // schedule.chunks].wants[result.want]
        made = _make(schedule, inbox, len(inbox), result.parts, result.chunk, want.rank,
                     schedule.steps)  # fmt: skip
        if made != _fold(problem, [(symbol,) for symbol in want.symbols]):
            raise WrongError("not what is wanted")
    if due:
        raise WrongError("not everything is made")


def _clock(schedule: Schedule) -> Fraction:
    """The time of every step's busiest link, summed up, in chunks on the slowest single wire."""
    links = schedule.problem.topology.links
    carried: dict[int, Counter[int]] = {}
    for send in schedule.sends:
        carried.setdefault(send.step, Counter()).update(send.route)
    slowest = min((link.bandwidth for link in links), default=Fraction(1))
    return sum(
        (
            max(number * slowest / (links[at].count * links[at].bandwidth)
                for at, number in load.items())
            for load in carried.values()
        ),
        Fraction(0),
    )  # fmt: skip
