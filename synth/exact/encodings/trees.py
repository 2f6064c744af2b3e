"""Encoding (b): an in-tree to a root, then an out-tree from it, for values that many want.

Small and quick, but not complete: a schedule need not pass through one root a chunk. What it
finds counts; that it finds nothing proves nothing. Where order counts, what comes up from a
subtree is a run of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family
from roundelay.synth.schedule import Got, Own, Part, Result

from .ordered import keep_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.draft import Draft
    from roundelay.synth.exact.model import Model

    from .copying import Sent
    from .merging import Order


@dataclass(frozen=True, slots=True)
class TreePair:
    """One chunk: its root, its way up and its way down, and the order to merge in (if any)."""

    board: Board
    chunk: int
    block: Block
    roots: tuple[int, ...]
    up: Sent
    down: Sent
    order: Order = ()

    @property
    def marks(self) -> list[int]:
        """The literals that choose the root."""
        return list(self.roots)

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution and the results they bring."""
        root = next(rank for rank, literal in enumerate(self.roots) if value(literal))
        place = {symbol: i for i, symbol in enumerate(self.order)}
        held: dict[int, list[tuple[int, Part]]] = {}

        def merge(rank: int) -> tuple[int, tuple[Part, ...]]:
            """Where in the order all that a rank holds begins, and its parts from there on."""
            parts = sorted(held[rank], key=lambda item: item[0])
            return parts[0][0], tuple(part for _, part in parts)

        for position, symbol in enumerate(self.block.symbols):
            held.setdefault(symbol.rank, []).append((place.get(position, 0), Own(position)))
        for (step, route), literal in sorted(self.up.items()):
            path = self.board.routes[route]
            if value(literal) and held.get(path.src):
                first, parts = merge(path.src)
                number = draft.send(step, self.chunk, path, parts)
                held.setdefault(path.dst, []).append((first, Got(number)))
        final: dict[int, tuple[Part, ...]] = {root: merge(root)[1]}
        for (step, route), literal in sorted(self.down.items()):
            if value(literal):
                path = self.board.routes[route]
                number = draft.send(step, self.chunk, path, final[path.src])
                final[path.dst] = (Got(number),)
        for position, want in enumerate(self.block.wants):
            draft.results.append(Result(self.chunk, position, final[want.rank]))


def encode_trees(
    model: Model, board: Board, block: Block, chunk: int, order: Order = ()
) -> TreePair:
    """Every want of the block is made of all its symbols, in this order where there is one.

    A rank sends up once, after all it receives from below; it sends down what is complete: at
    the root once all has come up, elsewhere once it has come down.
    """
    ranks = range(board.ranks)
    holders = {symbol.rank for symbol in block.symbols}
    wanting = {want.rank for want in block.wants}
    roots = tuple(model.new() for _ in ranks)
    up, down = _list_ways(model, board, chunk, holders, wanting, apart=bool(order))
    arriving: list[list[list[int]]] = [[[] for _ in range(board.steps)] for _ in ranks]
    for (step, route), literal in down.items():
        arriving[board.routes[route].dst][step].append(literal)
    _take_root(model, roots)
    _climb(model, board, holders, roots, up)
    if order:
        _keep_order(model, board, block, order, up)
    done = [[model.new() for _ in range(board.steps + 1)] for _ in ranks]
    _complete(model, board, roots, up, arriving, done)
    _hold_first(model, board, down, done)
    _arrive_once(model, roots, arriving)
    _reach(model, done, wanting)
    return TreePair(board, chunk, block, roots, up, down, order)


def _list_ways(
    model: Model, board: Board, chunk: int, holders: set[int], wanting: set[int], *, apart: bool
) -> tuple[Sent, Sent]:
    """The messages up and down that are not too late or too early.

    What goes up must still reach every rank that wants it; what goes down is complete, so every
    holder's value has come all its way. A rank merges all that comes up to it in one step, unless
    (``apart``) something else may have to come between.
    """
    up: Sent = {}
    down: Sent = {}
    for step in range(board.steps):
        for route, path in enumerate(board.routes):
            if step + 1 + max(board.hops[path.dst][w] for w in wanting) <= board.steps:
                up[step, route] = model.new()
                together = None if apart else (chunk, "up", path.dst)
                board.load(up[step, route], route, step, taken=together)
            if max(board.hops[h][path.src] for h in holders) <= step:
                down[step, route] = model.new()
                board.load(down[step, route], route, step, sent=(chunk, "down", path.src))
    return up, down


@family("root")
def _take_root(model: Model, roots: tuple[int, ...]) -> None:
    model.exactly_one(roots)


@family("climb")
def _climb(model: Model, board: Board, holders: set[int], roots: tuple[int, ...], up: Sent) -> None:
    """Every holder but the root sends up once; whoever receives, and is not the root, too."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in roots]
    for (step, route), literal in up.items():
        leaving[board.routes[route].src].append((step, literal))
    for v, out in enumerate(leaving):
        once = [literal for _, literal in out] + [roots[v]]
        if v in holders:
            model.exactly_one(once)
        else:
            model.at_most_one(once)
    for (step, route), literal in up.items():
        v = board.routes[route].dst
        model.clause(-literal, roots[v], *(later for t, later in leaving[v] if t > step))


@family("hold")
def _complete(
    model: Model,
    board: Board,
    roots: tuple[int, ...],
    up: Sent,
    arriving: list[list[list[int]]],
    done: list[list[int]],
) -> None:
    """``done[v][t]``: before step t all has come up to v, the root, or down to v."""
    for (step, route), literal in up.items():
        model.clause(-literal, -done[board.routes[route].dst][step])
    for v, root in enumerate(roots):
        model.clause(-done[v][0], root)
        for step in range(board.steps):
            model.clause(-done[v][step], done[v][step + 1])
            model.clause(-done[v][step + 1], done[v][step], *arriving[v][step], root)


@family("hold")
def _hold_first(model: Model, board: Board, down: Sent, done: list[list[int]]) -> None:
    """What goes down is complete."""
    for (step, route), literal in down.items():
        model.clause(-literal, done[board.routes[route].src][step])


@family("once")
def _arrive_once(model: Model, roots: tuple[int, ...], arriving: list[list[list[int]]]) -> None:
    """What is complete comes down once, and never to the root."""
    for root, arrivals in zip(roots, arriving, strict=True):
        model.at_most_one([root, *(literal for step in arrivals for literal in step)])


@family("reach")
def _reach(model: Model, done: list[list[int]], wanting: set[int]) -> None:
    for v in sorted(wanting):
        model.clause(done[v][-1])


@family("runs")
def _keep_order(model: Model, board: Board, block: Block, order: Order, up: Sent) -> None:
    """What a rank gathers from below and of its own is a run; ``under[v][s]``: s is in it."""
    ranks = range(board.ranks)
    under = [{s: model.new() for s in order} for _ in ranks]
    sources: list[dict[int, list[int]]] = [{s: [] for s in order} for _ in ranks]
    for s, symbol in enumerate(block.symbols):
        model.clause(under[symbol.rank][s])
    arcs: dict[tuple[int, int], list[int]] = {}
    for (_, route), literal in up.items():
        arcs.setdefault((board.routes[route].src, board.routes[route].dst), []).append(literal)
    for (u, v), ways in arcs.items():
        child = model.new()
        model.clause(-child, *ways)
        for way in ways:
            model.clause(child, -way)
        for s in order:
            both = model.new()
            model.clause(-both, child)
            model.clause(-both, under[u][s])
            model.clause(both, -child, -under[u][s])
            model.clause(-both, under[v][s])
            sources[v][s].append(both)
    for v in ranks:
        for s in order:
            if block.symbols[s].rank != v:
                model.clause(-under[v][s], *sources[v][s])
        keep_together(model, under[v], order)
