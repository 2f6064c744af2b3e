"""Which encoding each block of a query takes, and in which class an "impossible" is then meant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Literal, Protocol

from roundelay.synth.routes import enumerate_routes, measure_hops

from .board import Board, lay_out, limit_rounds
from .draft import Draft, Plain
from .encodings.copying import encode_copy, encode_reduce
from .encodings.gossip import encode_gossip
from .encodings.merging import encode_merges
from .encodings.ordered import encode_ordered
from .encodings.trees import encode_trees
from .families import FAMILIES, family
from .helping import name_unhelped
from .model import Model
from .orbits import Orbits
from .symmetry import find_group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundelay.dsl.model import Block, Problem
    from roundelay.synth.schedule import Query

    from .encodings.merging import Order, Slots
    from .helping import Kind

_MOST_SLOTS = 8  # Messages a chunk, pair of ranks and step.
_MARKS = 12  # Bits of the numbers that chunks are ordered by.

Variant = Literal["symmetric-trees", "trees", "symmetric", "full", "slots", "symmetric-only"]
"""``trees``: a root, a way up and a way down a chunk. ``full``: whatever ranks can make of what
they hold, with one message a chunk, pair of ranks and step where more could be of use. ``slots``:
as many as the links can carry. The ``symmetric`` ones: alike in all directions (see ``symmetry``),
the last one where that is asked for and nothing else will do.
"""


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
    modelled stand for (None: themselves).
    """

    model: Model
    pieces: tuple[Piece, ...]
    keeps_order: bool = False
    orbits: Orbits | None = None

    def read(self, values: Sequence[bool]) -> Plain:
        """The schedule that values of the variables 1, 2, … stand for."""

        def value(literal: int) -> bool:
            return values[literal - 1] if literal > 0 else not values[-literal - 1]

        if not self.model.holds(value):
            raise RuntimeError("a solver's answer does not satisfy the model it was given")
        draft = Draft(self.keeps_order)
        for piece in self.pieces:
            piece.read(value, draft)
        return (draft if self.orbits is None else self.orbits.unfold(draft)).finish()


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
    operator = problem.operator
    return operator is not None and not operator.commutative and problem.collective.combines


def list_variants(problem: Problem, query: Query) -> tuple[Variant, ...]:
    """Ways to encode a query, the quickest first.

    Of those in whose class an impossibility is worth telling (see ``refutes``) a later one covers
    more schedules; ``slots`` covers all. Where symmetry is asked for, no other kind is given.
    """
    several: tuple[Variant, ...] = ("symmetric-trees", "trees") if has_trees(problem) else ()
    blocks = problem.collective.blocks
    complete = all(_is_complete(problem, block, query.steps, full=False) for block in blocks)
    wider = not complete and _count_slots(problem, query) is not None
    every: tuple[Variant, ...] = (*several, "symmetric", "full", *(("slots",) if wider else ()))
    if problem.limits.symmetric:
        return (*several[:1], "symmetric-only")
    if keeps_order(problem):
        return tuple(variant for variant in every if not variant.startswith("symmetric"))
    return every


def has_trees(problem: Problem) -> bool:
    """Whether there is a quick encoding that finds or gives up."""
    order = keeps_order(problem)
    return any(_tree_order(block, order) is not None for block in problem.collective.blocks)


def refutes(variant: Variant) -> bool:
    """Whether "impossible" in a variant's class is worth telling."""
    return variant in ("full", "slots", "symmetric-only")


def _tree_order(block: Block, order: bool) -> Order | None:
    """The order that a pair of trees merges a block in (empty: any); None where trees do not fit.

    Where order counts they fit one reduction, too, for which there is no smaller encoding then.
    """
    if not order:
        return () if classify(block) == "all" else None
    orders = {want.symbols for want in block.wants}
    everything = len(orders) == 1 and len(block.symbols) > 1
    return min(orders) if everything and len(min(orders)) == len(block.symbols) else None


def name_class(problem: Problem, query: Query, variant: Variant) -> tuple[str, bool]:
    """The schedules over which a variant quantifies, and whether these are all."""
    limits = ""
    blocks = problem.collective.blocks
    wide = variant == "slots"
    if not all(_is_complete(problem, block, query.steps, full=wide) for block in blocks):
        limits = " with at most one message a chunk, pair of ranks and step"
        if keeps_order(problem) and problem.operator is not None and problem.operator.idempotent:
            limits += ", that merge no value twice"
    routes = enumerate_routes(problem.topology)
    if not routes.complete:
        limits += ", over the shortest routes alone where there are very many"
    kinds: dict[Kind, list[Block]] = {}
    for block in blocks:
        kinds.setdefault(classify(block), []).append(block)
    for named in name_unhelped(problem, routes.routes, kinds, query.steps):
        limits += f", {named}"
    return f"all schedules of messages from rank to rank{limits}", not limits


def _is_complete(problem: Problem, block: Block, steps: int, *, full: bool) -> bool:
    """Whether a variant covers all schedules of a block, as far as messages go.

    ``full``: whether all messages have a slot that a link can carry. Where order counts, a rank
    may need to send two runs at once that do not touch, so one message at a time is all there is
    to it only while every rank has one symbol to send.
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
    return values and (steps <= 1 or ((steps == 2 or full) and inputs))


def _count_slots(problem: Problem, query: Query) -> Slots | None:
    """The most messages that can go from rank to rank in a step that is not the first or last.

    Those two last as long as a message takes at least, and leave the rest of the rounds to it.
    None where that makes a model too large, or where more slots do not make it complete.
    """
    blocks = problem.collective.blocks
    if not all(_is_complete(problem, block, query.steps, full=True) for block in blocks):
        return None
    topology = problem.topology
    slowest = topology.slowest if topology.links else Fraction(1)
    slots: Slots = {}
    routes = enumerate_routes(topology).routes
    speeds = [min(topology.links[i].capacity for i in route.links) / slowest for route in routes]
    longest = query.rounds - 2 / max(speeds, default=Fraction(1))
    for route, speed in zip(routes, speeds, strict=True):
        room = max(1, floor(speed * longest))
        slots[route.src, route.dst] = slots.get((route.src, route.dst), 0) + room
    return slots if max(slots.values(), default=1) <= _MOST_SLOTS else None


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
    slots = _count_slots(problem, query) if variant == "slots" else None
    pieces: list[Piece] = []
    for number, block in enumerate(problem.collective.blocks):
        kind = classify(block)
        tree = _tree_order(block, in_order) if variant.endswith("trees") else None
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
