"""The fused view of a program, by executing it on expressions instead of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .channels import find_messages, order_events
from .fused import Fused, Merge, Operand, Place, Row, Shape
from .operators import commutes_bitwise
from .program import Copy, Receive, Reduce, Slot, Transmit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Operator, Problem

    from .channels import Event
    from .fused import Tree
    from .program import Program

Leaf = tuple[int, int]
"""Block and symbol of an input; all leaves of an expression are of one chunk."""

Wanted = tuple[int, int, int, tuple[int, ...]]
"""Block, chunk, number of values that ``finish`` is told of (0: nothing), and symbols."""


def fuse(program: Program) -> Fused:
    """Every wanted chunk as one expression over inputs, grouped by the expressions' shapes.

    Wants of one chunk with the same symbols (in any order, if the operator commutes) share the
    tree of the lowest rank among theirs. Where the operator commutes bit for bit, trees that
    differ only in the order of operands count as one shape. Where the operator has a ``finish``,
    a shape's rows all combine the same number of values. Shapes come in the order of the
    first wanted value that uses them; rows by block and chunk. Takes a program that the
    checker accepts.
    """
    problem, chunks = program.problem, program.chunks
    collective = problem.collective
    trees = _execute(program)
    commuting = commutes_bitwise(problem.operator)
    position = {
        held: Place(rank, unit)
        for rank in range(collective.ranks)
        for unit, held in enumerate(collective.inputs(rank))
    }
    places = [position[leaf] for leaf in _leaves(problem)]
    rows: dict[tuple[Tree, int, int, int], list[Row]] = {}
    for (_, chunk, count, _), targets in _targets(problem, chunks).items():
        first = targets[0]
        tree = trees[first.rank, Slot("output", first.unit * chunks + chunk)]
        if commuting:
            tree = _sorted(tree)[1]
        numbers: dict[int, int] = {}
        shape = _numbered(tree, numbers)
        sources = tuple(places[index] for index in numbers)
        key = (shape, len(sources), len(targets), count)
        rows.setdefault(key, []).append(Row(chunk, sources, tuple(targets)))
    shapes = tuple(
        Shape(tree, operands, targets, tuple(found), count)
        for (tree, operands, targets, count), found in rows.items()
    )
    return Fused(problem, chunks, shapes)


def _targets(problem: Problem, chunks: int) -> dict[Wanted, list[Place]]:
    """Output places by what is wanted there; the lowest rank's first."""
    collective, operator = problem.collective, problem.operator
    counts = operator is not None and operator.finish is not None
    found: dict[Wanted, list[Place]] = {}
    positions = {
        (rank, wanted): unit
        for rank in range(collective.ranks)
        for unit, wanted in enumerate(collective.outputs(rank))
    }
    for b, block in enumerate(collective.blocks):
        for chunk in range(chunks):
            for w, want in enumerate(block.wants):
                count = len(want.symbols) if counts else 0
                key = (b, chunk, count, wanted_key(operator, want.symbols))
                found.setdefault(key, []).append(Place(want.rank, positions[want.rank, (b, w)]))
    return {key: sorted(places) for key, places in found.items()}


def wanted_key(operator: Operator | None, symbols: Iterable[int]) -> tuple[int, ...]:
    """The same for all lists of symbols whose combination the operator's laws make equal."""
    listed = tuple(symbols)
    if operator is None or not operator.commutative:
        return listed
    return tuple(sorted(set(listed) if operator.idempotent else listed))


def _execute(program: Program) -> dict[tuple[int, Slot], Tree]:
    """What every output slot holds in the end; an ``Operand`` is a position in ``_leaves``."""
    problem, chunks = program.problem, program.chunks
    order = order_events(program.ranks, None)
    if order is None:
        raise ValueError("the program deadlocks")
    sender: dict[Event, tuple[Event, int]] = {}
    for messages in find_messages(program.ranks).values():
        for message in messages:
            sender[message.receiver] = message.sender, message.forward
    leaves = {leaf: Operand(i) for i, leaf in enumerate(_leaves(problem))}
    inputs = [problem.collective.inputs(rank) for rank in range(problem.collective.ranks)]
    held: dict[tuple[int, Slot], Tree] = {}
    sent: dict[tuple[Event, int], Tree] = {}
    for event in order:
        rank = event.rank
        instruction = program.ranks[rank].lanes[event.lane][event.position]

        def look(slot: Slot, rank: int = rank) -> Tree:
            if slot.buffer == "input":
                return leaves[inputs[rank][slot.index // chunks]]
            return held[rank, slot]

        match instruction:
            case Copy(dst, src):
                held[rank, dst] = look(src)
            case Reduce(dst, sources):
                held[rank, dst] = _merged(problem.operator, [look(slot) for slot in sources])
            case Transmit(_, _, sources):
                sent[event, -1] = _merged(problem.operator, [look(slot) for slot in sources])
            case Receive():
                parts = [look(slot) for slot in instruction.before]
                parts.append(sent.pop(sender[event]))
                parts += [look(slot) for slot in instruction.after]
                tree = _merged(problem.operator, parts)
                for slot in instruction.stores:
                    held[rank, slot] = tree
                for i in range(len(instruction.forwards)):
                    sent[event, i] = tree
            case _:
                pass
    return held


def _leaves(problem: Problem) -> list[Leaf]:
    blocks = problem.collective.blocks
    return [(b, s) for b, block in enumerate(blocks) for s in range(len(block.symbols))]


def _merged(operator: Operator | None, parts: list[Tree]) -> Tree:
    """Left to right. An idempotent, commutative operator takes every leaf only once: without
    that a schedule that gossips would double its trees in every step.
    """
    tree = parts[0]
    for part in parts[1:]:
        rest: Tree | None = part
        if operator is not None and operator.idempotent and operator.commutative:
            rest = _without(part, set(find_operands(tree)))
        tree = tree if rest is None else Merge(tree, rest)
    return tree


def _without(tree: Tree, taken: set[int]) -> Tree | None:
    match tree:
        case Operand(index):
            return None if index in taken else tree
        case Merge(left, right):
            first, second = _without(left, taken), _without(right, taken)
            if first is None or second is None:
                return first or second
            return Merge(first, second)


def find_operands(tree: Tree) -> tuple[int, ...]:
    """The operands' numbers, left to right, with repeats."""
    match tree:
        case Operand(index):
            return (index,)
        case Merge(left, right):
            return find_operands(left) + find_operands(right)


def _sorted(tree: Tree) -> tuple[tuple[int, str], Tree]:
    """The tree with the larger branch of every merge on the left, and a name of its shape."""
    match tree:
        case Operand():
            return (1, "x"), tree
        case Merge(left, right):
            branches = [_sorted(left), _sorted(right)]
            branches.sort(key=lambda branch: branch[0], reverse=True)
            (one, first), (two, second) = branches
            return (one[0] + two[0], f"({one[1]}{two[1]})"), Merge(first, second)


def _numbered(tree: Tree, numbers: dict[int, int]) -> Tree:
    match tree:
        case Operand(index):
            return Operand(numbers.setdefault(index, len(numbers)))
        case Merge(left, right):
            first = _numbered(left, numbers)
            return Merge(first, _numbered(right, numbers))
