"""From a query to a model and back: which encoding each block takes, and what a solution says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from roundelay.synth.routes import enumerate_routes, measure_hops
from roundelay.synth.schedule import Query

from .board import Board, lay_out, limit_rounds
from .classes import classify, count_copies, count_slots, find_tree_order, keeps_order
from .draft import Draft, Plain
from .encodings.copying import encode_copy, encode_reduce
from .encodings.gossip import encode_gossip
from .encodings.merging import encode_merges
from .encodings.ordered import encode_ordered
from .encodings.trees import encode_trees
from .families import FAMILIES, family
from .model import Model
from .orbits import Orbits
from .symmetry import find_group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundelay.dsl.model import Block, Problem

    from .classes import Variant
    from .encodings.merging import Slots

_MARKS = 12  # Bits of the numbers that chunks are ordered by.


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

    ``keeps_order``: merges keep the order of their parts. ``orbits``: what the chunks that are
    modelled stand for (None: themselves). ``copies``: how many chunks do the same as each of these.
    """

    model: Model
    pieces: tuple[Piece, ...]
    keeps_order: bool = False
    orbits: Orbits | None = None
    copies: int = 1

    def read(self, values: Sequence[bool]) -> Plain:
        """The schedule that values of the variables 1, 2, … stand for."""

        def value(literal: int) -> bool:
            return values[literal - 1] if literal > 0 else not values[-literal - 1]

        if not self.model.holds(value):
            raise RuntimeError("a solver's answer does not satisfy the model it was given")
        draft = Draft(self.keeps_order)
        for piece in self.pieces:
            piece.read(value, draft)
        whole = draft if self.orbits is None else self.orbits.unfold(draft)
        return (whole if self.copies == 1 else whole.copy(self.copies)).finish()


def encode(
    problem: Problem,
    query: Query,
    variant: Variant,
    *,
    ordered: bool = False,
    without: frozenset[str] = frozenset(),
) -> Plan:
    """The model whose solutions are the schedules of a query within the variant's class.

    ``ordered`` leaves one of all renumberings of the chunks: that speeds up refutations, and
    slows down many a search for a schedule. ``without``: families of constraints to leave out.
    """
    if unknown := without - FAMILIES.keys():
        raise ValueError(f"no families of constraints: {', '.join(sorted(unknown))}")
    if variant == "copied-trees":
        times = count_copies(query.chunks)
        # Thrice the way across is room enough for trees; more steps make the model larger.
        across = max((hop or 0 for row in measure_hops(problem.topology) for hop in row), default=0)
        fewer = Query(query.chunks // times, min(query.steps, 3 * across), query.rounds / times)
        inner: Variant = "symmetric-trees" if find_group(problem, fewer.chunks) else "trees"
        part = encode(problem, fewer, inner, ordered=ordered, without=without)
        return replace(part, copies=times)
    model = Model(without=without)
    operator = problem.operator
    idempotent = operator is not None and operator.idempotent
    in_order = keeps_order(problem)
    topology = problem.topology
    routes, hops = enumerate_routes(topology).routes, measure_hops(topology)
    near = "distance" not in without
    board = lay_out(routes, hops, query.steps, near=near, topology=topology)
    orbits = None
    if variant.startswith("symmetric"):
        group = find_group(problem, query.chunks)
        if group is None:
            model.clause()
            return Plan(model, ())
        orbits = Orbits(group, query.chunks)
        board = replace(board, fold=orbits.fold_links())
    slots = count_slots(problem, query) if variant == "slots" else None
    pieces: list[Piece] = []
    for number, block in enumerate(problem.collective.blocks):
        kind = classify(block)
        tree = find_tree_order(block, in_order) if variant.endswith("trees") else None
        marks: list[list[int]] = []
        count = query.chunks if orbits is None else orbits.count_modelled(number)
        for chunk in range(number * query.chunks, number * query.chunks + count):
            made: list[Piece]
            if tree is not None:
                made = [encode_trees(model, board, block, chunk, tree)]
            elif in_order and kind != "copy":
                made = [encode_ordered(model, board, block, chunk)]
            else:
                made = _encode_fully(model, board, block, chunk, idempotent, slots)
            pieces += made
            marks += [piece.marks for piece in made[:1]]
        if ordered:
            _order(model, marks)
    if topology.links:
        limit_rounds(model, board, topology, query.rounds)
    return Plan(model, tuple(pieces), in_order, orbits)


@family("order")
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
    model: Model,
    board: Board,
    block: Block,
    chunk: int,
    idempotent: bool,
    slots: Slots | None,
) -> list[Piece]:
    kind = classify(block)
    if kind == "copy":
        wants: dict[int, list[int]] = {}
        for position, want in enumerate(block.wants):
            wants.setdefault(want.symbols[0], []).append(position)
        return [encode_copy(model, board, block, chunk, s, tuple(w)) for s, w in wants.items()]
    if kind == "reduce":
        return [encode_reduce(model, board, block, chunk)]
    if kind == "all" and idempotent:
        return [encode_gossip(model, board, block, chunk)]
    return [encode_merges(model, board, block, chunk, idempotent=idempotent, slots=slots)]
