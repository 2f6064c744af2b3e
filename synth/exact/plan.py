"""Which encoding each block of a query takes, and in which class an "impossible" is then meant."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, Protocol

from roundelay.synth.routes import enumerate_routes, measure_hops

from .board import Board, lay_out, limit_rounds
from .draft import Draft, Plain
from .encodings.copying import encode_copy, encode_reduce
from .encodings.gossip import encode_gossip
from .encodings.merging import encode_merges
from .encodings.ordered import encode_ordered
from .encodings.trees import encode_trees
from .model import Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundelay.dsl.model import Block, Problem
    from roundelay.synth.schedule import Query

    from .encodings.merging import Order

_MARKS = 12  # Bits of the numbers that chunks are ordered by.

Kind = Literal["copy", "reduce", "all", "mixed"]
Variant = Literal["trees", "full"]


class Piece(Protocol):
    """The encoded way of one chunk (or one symbol of one)."""

    def read(self, value: Callable[[int], bool], draft: Draft) -> None:
        """Add the messages of a solution, and the results they bring, to a draft."""

    @property
    def marks(self) -> list[int]:
        """Some of its literals, which mean the same for every chunk of the block."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A model and how to read a schedule from its solution.

    ``keeps_order``: merges keep the order of their parts.
    """

    model: Model
    pieces: tuple[Piece, ...]
    keeps_order: bool = False

    def read(self, values: Sequence[bool]) -> Plain:
        """The schedule that values of the variables 1, 2, … stand for."""

        def value(literal: int) -> bool:
            return values[literal - 1] if literal > 0 else not values[-literal - 1]

        if not self.model.holds(value):
            raise RuntimeError("a solver's answer does not satisfy the model it was given")
        draft = Draft(self.keeps_order)
        for piece in self.pieces:
            piece.read(value, draft)
        return draft.finish()


def classify(block: Block) -> Kind:
    """What is asked of a block: copies, one combination, one combination many want, or a mix."""
    wanted = [frozenset(want.symbols) for want in block.wants]
    if all(len(symbols) == 1 for symbols in wanted):
        return "copy"
    if len(wanted) == 1:
        return "reduce"
    everything = frozenset(range(len(block.symbols)))
    return "all" if all(symbols == everything for symbols in wanted) else "mixed"


def keeps_order(problem: Problem) -> bool:
    """Whether a merge must keep the order of the wanted symbols."""
    return problem.operator is not None and not problem.operator.commutative


def list_variants(problem: Problem) -> tuple[Variant, ...]:
    """Ways to encode a problem, the quickest first; ``full`` alone can prove an impossibility."""
    order = keeps_order(problem)
    several = any(_tree_order(block, order) is not None for block in problem.collective.blocks)
    return ("trees", "full") if several else ("full",)


def _tree_order(block: Block, order: bool) -> Order | None:
    """The order that a pair of trees merges a block in (empty: any); None where trees do not fit.

    Where order counts they fit one reduction, too, for which there is no smaller encoding then.
    """
    if not order:
        return () if classify(block) == "all" else None
    orders = {want.symbols for want in block.wants}
    everything = len(orders) == 1 and len(block.symbols) > 1
    return min(orders) if everything and len(min(orders)) == len(block.symbols) else None


def name_class(problem: Problem, query: Query) -> tuple[str, bool]:
    """The schedules over which the variant ``full`` quantifies, and whether these are all."""
    limits = ""
    if not all(_is_complete(problem, block, query.steps) for block in problem.collective.blocks):
        limits = " with at most one message a chunk, pair of ranks and step"
        if keeps_order(problem) and problem.operator is not None and problem.operator.idempotent:
            limits += ", that merge no value twice"
    if not enumerate_routes(problem.topology).complete:
        limits += ", over the shortest routes alone where there are very many"
    if any(switch.multicast or switch.reduce for switch in problem.topology.switches):
        limits += ", without multicast or reduction in switches"
    return f"all schedules of messages from rank to rank{limits}", not limits


def _is_complete(problem: Problem, block: Block, steps: int) -> bool:
    """Whether the variant ``full`` covers all schedules of a block, as far as messages go.

    Where order counts, a rank may need to send two runs at once that do not touch, so one message
    at a time is all there is to it only while every rank has one symbol to send.
    """
    kind = classify(block)
    values = len({want.rank for want in block.wants}) == len(block.wants)
    inputs = len({symbol.rank for symbol in block.symbols}) == len(block.symbols)
    if kind == "copy":
        return True
    if keeps_order(problem):
        return steps <= 1 and inputs
    if kind == "reduce":
        return True
    if kind == "all" and problem.operator is not None and problem.operator.idempotent:
        return True
    return values and (steps <= 1 or (steps == 2 and inputs))


def encode(problem: Problem, query: Query, variant: Variant, *, ordered: bool = False) -> Plan:
    """The model whose solutions are the schedules of a query within the variant's class.

    ``ordered`` leaves one of all renumberings of the chunks: that speeds up refutations, and
    slows down many a search for a schedule.
    """
    model = Model()
    operator = problem.operator
    idempotent = operator is not None and operator.idempotent
    in_order = keeps_order(problem)
    topology = problem.topology
    board = lay_out(enumerate_routes(topology).routes, measure_hops(topology), query.steps)
    pieces: list[Piece] = []
    for number, block in enumerate(problem.collective.blocks):
        kind = classify(block)
        tree = _tree_order(block, in_order) if variant == "trees" else None
        marks: list[list[int]] = []
        for chunk in range(number * query.chunks, (number + 1) * query.chunks):
            made: list[Piece]
            if tree is not None:
                made = [encode_trees(model, board, block, chunk, tree)]
            elif in_order and kind != "copy":
                made = [encode_ordered(model, board, block, chunk)]
            else:
                made = _encode_fully(model, board, block, chunk, kind, idempotent)
            pieces += made
            marks += [piece.marks for piece in made[:1]]
        if ordered:
            _order(model, marks)
    if topology.links:
        limit_rounds(model, board, topology, query.rounds)
    return Plan(model, tuple(pieces), in_order)


def _order(model: Model, marks: list[list[int]]) -> None:
    """The chunks of a block are interchangeable: order them by their marks, read as a number.

    Any schedule can be renumbered so, since the other chunks' sends do not depend on it.
    """
    for ours, theirs in pairwise(marks):
        weights = [1 << i for i in range(min(len(ours), _MARKS))]
        model.at_most(
            [*zip(weights, ours, strict=False)]
            + [(-weight, mark) for weight, mark in zip(weights, theirs, strict=False)],
            0,
        )


def _encode_fully(
    model: Model, board: Board, block: Block, chunk: int, kind: Kind, idempotent: bool
) -> list[Piece]:
    if kind == "copy":
        wants: dict[int, list[int]] = {}
        for position, want in enumerate(block.wants):
            wants.setdefault(want.symbols[0], []).append(position)
        return [encode_copy(model, board, block, chunk, s, tuple(w)) for s, w in wants.items()]
    if kind == "reduce":
        return [encode_reduce(model, board, block, chunk)]
    if kind == "all" and idempotent:
        return [encode_gossip(model, board, block, chunk)]
    return [encode_merges(model, board, block, chunk, idempotent=idempotent)]
