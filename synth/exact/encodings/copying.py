"""Encoding (a): one value spreads from one rank; on a mirrored board, a reduction to one rank.

Complete for copies: a second arrival of the same value at a rank can be dropped. Complete for a
reduction to one rank: if every rank sends once only, at the last of the times it sent before,
merging all it has by then, each contribution still reaches the root once, over messages that
were sent anyway. What a rank takes in in one step it so uses together, and of several ranks that
it sent to it keeps the one with the lowest number: that leaves no more for switches to carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family
from roundelay.synth.schedule import Got, Own, Part, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.draft import Draft
    from roundelay.synth.exact.model import Model

Sent = dict[tuple[int, int], int]
"""The literal of a message by (step, route) of the board."""


def list_earliest(sent: Sent) -> list[int]:
    """The literals of messages, earliest first."""
    return [sent[key] for key in sorted(sent)]


def spread(
    model: Model, board: Board, value: tuple[int, ...], source: int, targets: set[int]
) -> Sent:
    """A value held by rank ``source`` before step 0 is held by all ``targets`` after the last.

    ``value`` tells it from others: what a rank sends of it in one step is all the same.
    """
    nearest = [min((board.hops[v][w] for w in targets), default=0) for v in range(board.ranks)]
    sent: Sent = {}
    arriving: list[list[list[int]]] = [[[] for _ in range(board.steps)] for _ in nearest]
    if not targets - {source}:
        return sent
    for step in range(board.steps):
        for route, (u, v) in enumerate(board.ends):
            if v == source or board.hops[source][u] > step:
                continue
            if step + 1 + nearest[v] <= board.steps:
                sent[step, route] = model.new()
                arriving[v][step].append(sent[step, route])
                board.load(sent[step, route], route, step, sent=(*value, u))
    _hold_first(model, board, source, sent, arriving)
    _arrive_once(model, arriving)
    _reach(model, arriving, targets - {source})
    return sent


@family("hold")
def _hold_first(
    model: Model, board: Board, source: int, sent: Sent, arriving: list[list[list[int]]]
) -> None:
    """A rank sends only what arrived before."""
    has = [_hold(model, arrivals) for arrivals in arriving]
    for (step, route), literal in sent.items():
        u = board.ends[route][0]
        if u != source:
            before = has[u][step]
            model.clause(*((-literal, before) if before else (-literal,)))


@family("once")
def _arrive_once(model: Model, arriving: list[list[list[int]]]) -> None:
    for arrivals in arriving:
        model.at_most_one(literal for step in arrivals for literal in step)


@family("reach")
def _reach(model: Model, arriving: list[list[list[int]]], targets: set[int]) -> None:
    for target in sorted(targets):
        model.clause(*(literal for step in arriving[target] for literal in step))


def _hold(model: Model, arriving: list[list[int]]) -> list[int]:
    """Literals for "arrived before step t", one a step; 0 where nothing can have arrived.

    Implied in one direction: a true literal has an arrival behind it.
    """
    has = [0]
    for arrivals in arriving[:-1]:
        if arrivals:
            held = model.new()
            model.clause(-held, *arrivals, *([has[-1]] if has[-1] else []))
            has.append(held)
        else:
            has.append(has[-1])
    return has


@dataclass(frozen=True, slots=True)
class Copied:
    """One symbol of one chunk on its way to the wants that are copies of it."""

    board: Board
    chunk: int
    symbol: int
    source: int
    wants: tuple[tuple[int, int], ...]
    sent: Sent

    @property
    def marks(self) -> list[int]:
        """The literals of the messages, earliest first."""
        return list_earliest(self.sent)

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution and the results they bring."""
        arrived: dict[int, Part] = {self.source: Own(self.symbol)}
        for (step, route), literal in sorted(self.sent.items()):
            if value(literal):
                u, v = self.board.ends[route]
                number = draft.send(step, self.chunk, self.board.routes[route], (arrived[u],))
                arrived[v] = Got(number)
        for want, rank in self.wants:
            draft.results.append(Result(self.chunk, want, (arrived[rank],)))


def encode_copy(
    model: Model, board: Board, block: Block, chunk: int, symbol: int, wants: tuple[int, ...]
) -> Copied:
    """The wants at positions ``wants`` are all copies of the block's symbol ``symbol``."""
    places = tuple((want, block.wants[want].rank) for want in wants)
    source = block.symbols[symbol].rank
    sent = spread(model, board, (chunk, symbol), source, {rank for _, rank in places})
    return Copied(board, chunk, symbol, source, places, sent)


@dataclass(frozen=True, slots=True)
class Reduced:
    """One chunk of a block with one want, made of the symbols at positions ``symbols``."""

    board: Board
    chunk: int
    block: Block
    sent: Sent

    @property
    def marks(self) -> list[int]:
        """The literals of the messages, earliest first."""
        return list_earliest(self.sent)

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution and the result they bring."""
        want = self.block.wants[0]
        held: dict[int, list[Part]] = {}
        for symbol in dict.fromkeys(want.symbols):
            held.setdefault(self.block.symbols[symbol].rank, []).append(Own(symbol))
        for (step, route), literal in sorted(self.sent.items(), key=lambda item: -item[0][0]):
            source, target = reversed(self.board.ends[route])
            if value(literal) and held.get(source):
                true_step = self.board.true_step(step)
                path = self.board.routes[route]
                number = draft.send(true_step, self.chunk, path, tuple(held[source]))
                held.setdefault(target, []).append(Got(number))
        draft.results.append(Result(self.chunk, 0, tuple(held[want.rank])))


def encode_reduce(model: Model, board: Board, block: Block, chunk: int) -> Reduced:
    """The block's only want is spread backwards to the holders of its symbols."""
    mirror = board.mirror()
    want = block.wants[0]
    holders = {block.symbols[symbol].rank for symbol in want.symbols}
    sent = spread(model, mirror, (chunk,), want.rank, holders)
    return Reduced(mirror, chunk, block, sent)
