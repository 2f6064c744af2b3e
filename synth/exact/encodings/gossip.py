"""An idempotent operator whose wants are made of all symbols: a message carries all there is.

Complete: sending more than a merge needs harms nothing where overlaps are free and every want
takes in every symbol, so one message a chunk, pair of ranks and step is enough. Where switches can
combine, what arrives at a rank in one step is always used together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family
from roundelay.synth.exact.helping import combines_somewhere
from roundelay.synth.schedule import Got, Own, Part, Result

from .copying import list_earliest

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.draft import Draft
    from roundelay.synth.exact.model import Model

    from .copying import Sent


Known = tuple[frozenset[int], tuple[Part, ...]]
"""Symbols that a rank knows, and the parts that are used together to make them."""


@dataclass(frozen=True, slots=True)
class Gossip:
    """One chunk of one block."""

    board: Board
    chunk: int
    block: Block
    sent: Sent

    @property
    def marks(self) -> list[int]:
        """The literals of the messages, earliest first."""
        return list_earliest(self.sent)

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution and the results they bring."""
        combined = any(map(combines_somewhere, self.board.helps))
        known: list[list[Known]] = [[] for _ in range(self.board.ranks)]
        for position, symbol in enumerate(self.block.symbols):
            known[symbol.rank].append((frozenset({position}), (Own(position),)))
        for step in range(self.board.steps):
            arrivals: dict[int, list[Known]] = {}
            for (_, route), literal in sorted(k for k in self.sent.items() if k[0][0] == step):
                path = self.board.routes[route]
                if value(literal) and known[path.src]:
                    union, parts = _cover(known[path.src])
                    number = draft.send(step, self.chunk, path, parts)
                    arrivals.setdefault(path.dst, []).append((union, (Got(number),)))
            for rank, arrived in arrivals.items():
                known[rank] += [_join(arrived)] if combined else arrived
        for position, want in enumerate(self.block.wants):
            draft.results.append(Result(self.chunk, position, _cover(known[want.rank])[1]))


def _join(arrived: list[Known]) -> Known:
    whole = frozenset[int]().union(*(symbols for symbols, _ in arrived))
    return whole, tuple(part for _, parts in arrived for part in parts)


def _cover(known: list[Known]) -> Known:
    """All that is known at a rank, from few pieces: the one that adds most comes next."""
    whole = frozenset[int]().union(*(symbols for symbols, _ in known))
    seen: frozenset[int] = frozenset()
    parts: list[Part] = []
    while seen != whole:
        symbols, piece = max(known, key=lambda item: len(item[0] - seen))
        seen |= symbols
        parts += piece
    return whole, tuple(parts)


def encode_gossip(model: Model, board: Board, block: Block, chunk: int) -> Gossip:
    """Every want is made of all symbols. ``knows[s][v][t]``: s is at v before step t."""
    sent: Sent = {}
    targets = {want.rank for want in block.wants}
    nearest = [min(board.hops[v][w] for w in targets) for v in range(board.ranks)]
    for step in range(board.steps):
        for route, (u, v) in enumerate(board.ends):
            if step + 1 + nearest[v] <= board.steps:
                sent[step, route] = model.new()
                board.load(
                    sent[step, route], route, step, sent=(chunk, u), taken=(chunk, v), sure=True
                )
    for symbol in block.symbols:
        _reach(model, board, symbol.rank, targets, sent)
    return Gossip(board, chunk, block, sent)


@family("reach")
def _reach(model: Model, board: Board, source: int, targets: set[int], sent: Sent) -> None:
    """One symbol reaches every target over the messages sent."""
    knows = [0] * board.ranks
    knows[source] = model.new()
    model.clause(knows[source])
    for step in range(board.steps):
        arrivals: list[list[int]] = [[] for _ in knows]
        for route, (u, v) in enumerate(board.ends):
            if knows[u] and v != source and (step, route) in sent:
                told = model.new()
                model.clause(-told, sent[step, route])
                model.clause(-told, knows[u])
                arrivals[v].append(told)
        following = list(knows)
        for v, told_here in enumerate(arrivals):
            if told_here:
                following[v] = model.new()
                model.clause(-following[v], *told_here, *([knows[v]] if knows[v] else []))
        knows = following
    for target in targets:
        model.clause(*([knows[target]] if knows[target] else []))
