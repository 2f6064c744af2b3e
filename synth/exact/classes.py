"""Which encodings there are for a query, and in which class an "impossible" of each is meant."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Literal

from roundelay.synth.routes import enumerate_routes

from .helping import ONE_MESSAGE, name_unhelped
from .symmetry import find_group

if TYPE_CHECKING:
    from roundelay.dsl.model import Block, Problem
    from roundelay.synth.schedule import Query

    from .encodings.merging import Order, Slots
    from .helping import Kind

_MANY = 16  # Chunks, from which on half as many are modelled as well.
_MOST_SLOTS = 8  # Messages a chunk, pair of ranks and step.

Variant = Literal[
    "symmetric-trees", "copied-trees", "trees", "symmetric", "full", "slots", "symmetric-only"
]
"""``trees``: a root, a way up and a way down a chunk. ``full``: whatever ranks can make of what
they hold, with one message a chunk, pair of ranks and step where more could be of use. ``slots``:
as many as the links can carry. The ``symmetric`` ones: alike in all directions (see ``symmetry``),
the last one where that is asked for and nothing else will do. ``copied``: half as many chunks are
modelled, and two do the same.
"""


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
    more schedules; ``slots`` covers all, as far as what switches do is no matter. Where symmetry is
    asked for, no other kind is given.
    """
    several: tuple[Variant, ...] = ()
    if has_trees(problem):
        copied: tuple[Variant, ...] = ("copied-trees",) if count_copies(query.chunks) > 1 else ()
        several = ("symmetric-trees", *copied, "trees")
    blocks = problem.collective.blocks
    complete = all(_is_complete(problem, block, query.steps, full=False) for block in blocks)
    wider = not complete and count_slots(problem, query) is not None
    every: tuple[Variant, ...] = (*several, "symmetric", "full", *(("slots",) if wider else ()))
    if problem.limits.symmetric:
        return (*several[:1], "symmetric-only")
    if keeps_order(problem):
        return tuple(variant for variant in every if not variant.startswith("symmetric"))
    return every


def has_trees(problem: Problem) -> bool:
    """Whether there is a quick encoding that finds or gives up."""
    order = keeps_order(problem)
    return any(find_tree_order(block, order) is not None for block in problem.collective.blocks)


def count_copies(chunks: int) -> int:
    """Of so many chunks, how many may do the same as one that is modelled."""
    return 2 if chunks >= _MANY and chunks % 2 == 0 else 1


def refutes(variant: Variant) -> bool:
    """Whether "impossible" in a variant's class is worth telling."""
    return variant in ("full", "slots", "symmetric-only")


def find_tree_order(block: Block, order: bool) -> Order | None:
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
        limits = f" {ONE_MESSAGE}"
        if keeps_order(problem) and problem.operator is not None and problem.operator.idempotent:
            limits += ", that merge no value twice"
    routes = enumerate_routes(problem.topology)
    if not routes.complete:
        limits += ", over the shortest routes alone where there are very many"
    kinds: dict[Kind, list[Block]] = {}
    for block in blocks:
        kinds.setdefault(classify(block), []).append(block)
    for named in name_unhelped(problem, routes.routes, kinds, query.steps):
        again = limits.startswith(f" {ONE_MESSAGE}") and named.startswith(ONE_MESSAGE)
        limits += named.removeprefix(ONE_MESSAGE) if again else f", {named}"
    if variant == "symmetric-only":
        group = find_group(problem, query.chunks)
        limits += (
            ", that a symmetry of the machine which moves every chunk maps to themselves"
            if group is None
            else f", that {len(group.motions)} symmetries of the machine map to themselves"
        )
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


def count_slots(problem: Problem, query: Query) -> Slots | None:
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
