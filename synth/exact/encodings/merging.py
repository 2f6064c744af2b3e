"""Encoding (c): a message is any legal merge of what its sender holds.

One message a chunk, pair of ranks and step: that is all there is to it in up to two steps where
a rank holds one symbol and wants one value of a block. Else it is a smaller class than all
schedules, and slots for further messages make it larger.

A message never goes straight back: a part that v sent to u, merged at u and returned to v, can
be left out of the merge, for v holds it already and can merge it in itself. (Not so where switches
copy: then it may be what others need.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family
from roundelay.synth.schedule import Got, Own, Part, Result

from .switching import Merge, Switching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.draft import Draft
    from roundelay.synth.exact.model import Model

    from .switching import Key

Slots = dict[tuple[int, int], int]
"""Messages of one chunk that may go from one rank to another in one step."""

Order = tuple[int, ...]
"""Symbols of a block, by position, in an order in which some want merges them."""


@dataclass(frozen=True, slots=True)
class Merged:
    """One chunk of one block.

    ``runs``: where order counts (else None), the orders that a message may follow, each with the
    literal that says it does (0: always). A result follows that of its want.
    """

    board: Board
    chunk: int
    block: Block
    taken: dict[Key, list[tuple[int, int]]]
    holds: dict[Key, dict[int, int]]
    merges: dict[Key, Merge]
    results: tuple[Merge, ...]
    runs: dict[Key, list[tuple[int, Order]]] | None = None

    @property
    def marks(self) -> list[int]:
        """The literals of the messages, earliest first."""
        return [literal for key in sorted(self.taken) for _, literal in self.taken[key]]

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution and the results they bring."""
        numbers: dict[Key, int] = {}
        contents: dict[Key, Order] = {}

        def arrange(merge: Merge, order: Order) -> tuple[Order, tuple[Part, ...]]:
            """The symbols of a merge and its parts, both sorted if there is an order."""
            made: list[tuple[Order, Part]] = [
                ((symbol,), Own(symbol)) for symbol, literal in merge.own.items() if value(literal)
            ]
            made += [(contents[key], Got(numbers[key])) for key, literal in merge.got.items()
                     if value(literal) and key in numbers]  # fmt: skip
            if order:
                made.sort(key=lambda item: order.index(item[0][0]))
            return tuple(s for symbols, _ in made for s in symbols), tuple(p for _, p in made)

        for key in sorted(self.merges):
            if any(map(value, self.holds[key].values())):
                route = next(route for route, literal in self.taken[key] if value(literal))
                runs = [] if self.runs is None else self.runs[key]
                order = next((o for follows, o in runs if not follows or value(follows)), ())
                contents[key], made = arrange(self.merges[key], order)
                numbers[key] = draft.send(key[0], self.chunk, self.board.routes[route], made)
        for want, merge in enumerate(self.results):
            order = () if self.runs is None else self.block.wants[want].symbols
            draft.results.append(Result(self.chunk, want, arrange(merge, order)[1]))


def encode_merges(
    model: Model,
    board: Board,
    block: Block,
    chunk: int,
    *,
    idempotent: bool,
    back: bool = False,
    slots: Slots | None = None,
) -> Merged:
    """Message bits by symbol; ``idempotent``: merged sets may overlap, else they may not.

    ``back``: a message may hold what came from where it goes. ``slots``: how many messages
    may go from one rank to another in a step between the first and the last (None: one).
    """
    own: list[list[int]] = [[] for _ in range(board.ranks)]
    for position, symbol in enumerate(block.symbols):
        own[symbol.rank].append(position)
    switching = Switching(model, board, block, chunk, free=not back)
    back = back or switching.copies
    taken: dict[Key, list[tuple[int, int]]] = {}
    holds: dict[Key, dict[int, int]] = {}
    for step in range(board.steps):
        for route, (u, v) in enumerate(board.ends):
            several = slots if slots is not None and 0 < step < board.steps - 1 else {}
            for slot in range(several.get((u, v), 1)):
                key = step, u, v, slot
                if key not in holds:
                    holds[key] = {s: model.new() for s in _useful(board, block, step, u, v)}
                if holds[key]:
                    ways = [(route, way) for way in switching.load(key, route)]
                    taken.setdefault(key, []).extend(ways)
    holds = {key: bits for key, bits in holds.items() if bits}
    _carry(model, taken, holds)
    _sort_slots(model, holds)
    into: list[list[Key]] = [[] for _ in range(board.ranks)]
    for key in holds:
        into[key[2]].append(key)
    merges: dict[Key, Merge] = {}
    for key, bits in holds.items():
        step, u, v, _ = key
        earlier = [k for k in into[u] if k[0] < step and (back or k[1] != v)]
        merges[key] = _merge(model, bits, own[u], {k: holds[k] for k in earlier}, idempotent)
    results: list[Merge] = []
    for want in block.wants:
        bits = {symbol: model.new() for symbol in want.symbols}
        _reach(model, bits)
        arrived = {k: holds[k] for k in into[want.rank]}
        results.append(_merge(model, bits, own[want.rank], arrived, idempotent))
    switching.tie(merges, results, holds)
    return Merged(board, chunk, block, taken, holds, merges, tuple(results))


def _useful(board: Board, block: Block, step: int, u: int, v: int) -> list[int]:
    """Symbols that can be at u before the step and still serve a want after reaching v in it."""
    near = {
        s
        for want in block.wants
        if step + 1 + board.hops[v][want.rank] <= board.steps
        for s in want.symbols
    }
    return [s for s in sorted(near) if board.hops[block.symbols[s].rank][u] <= step]


@family("reach")
def _reach(model: Model, bits: dict[int, int]) -> None:
    """A result holds all its symbols."""
    for bit in bits.values():
        model.clause(bit)


@family("carry")
def _carry(
    model: Model, taken: dict[Key, list[tuple[int, int]]], holds: dict[Key, dict[int, int]]
) -> None:
    """What a message holds goes over a route."""
    for key, ways in taken.items():
        for bit in holds[key].values():
            model.clause(-bit, *(literal for _, literal in ways))


@family("slots")
def _sort_slots(model: Model, holds: dict[Key, dict[int, int]]) -> None:
    """Slots fill from the first on."""
    for (step, u, v, slot), bits in holds.items():
        if slot:
            before = holds[step, u, v, slot - 1]
            for bit in bits.values():
                model.clause(-bit, *before.values())


def _merge(
    model: Model,
    bits: dict[int, int],
    own: Iterable[int],
    earlier: dict[Key, dict[int, int]],
    idempotent: bool,
) -> Merge:
    """Tie the bits of something to those of what it is made of."""
    sources: dict[int, list[int]] = {s: [] for s in bits}
    from_own = {s: model.new() for s in own if s in bits}
    for s, literal in from_own.items():
        sources[s].append(literal)
    from_earlier: dict[Key, int] = {}
    for key, theirs in earlier.items():
        if not theirs.keys() & bits.keys():
            continue
        select = from_earlier[key] = model.new()
        for s, bit in theirs.items():
            if s not in bits:
                _take_whole(model, select, bit)
                continue
            both = model.new()
            _take_bit(model, both, select, bit)
            sources[s].append(both)
    for s, literals in sources.items():
        _make(model, bits[s], literals)
        if not idempotent:
            _keep_apart(model, literals)
    return Merge(from_own, from_earlier)


@family("made")
def _take_whole(model: Model, select: int, bit: int) -> None:
    """A part with a symbol that what is made cannot hold is no part."""
    model.clause(-select, -bit)


@family("made")
def _take_bit(model: Model, both: int, select: int, bit: int) -> None:
    """``both``: the part is taken and holds the symbol."""
    model.clause(-both, select)
    model.clause(-both, bit)
    model.clause(both, -select, -bit)


@family("made")
def _make(model: Model, bit: int, sources: list[int]) -> None:
    """What is made holds what its parts hold."""
    model.clause(-bit, *sources)
    for literal in sources:
        model.clause(bit, -literal)


@family("disjoint")
def _keep_apart(model: Model, sources: list[int]) -> None:
    """One part at most holds a symbol."""
    model.at_most_one(sources)
