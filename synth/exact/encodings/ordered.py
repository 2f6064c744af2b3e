"""Encoding (d): merges under an operator that is not commutative.

As in ``merging``, and every message is a run: symbols that stand side by side in the order of
some want, merged in that order. That is enough: of disjoint runs whose union is a run, each ends
where the next one begins, so they can be merged from left to right. What is no run of any want's
order can become part of no want, for a merge keeps what it is made of together.

A message may go straight back here: what its receiver already holds may be the middle of a run.
Values are merged once each, even where the operator is idempotent.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family

from .merging import encode_merges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.model import Model

    from .merging import Merged, Order
    from .switching import Key

Runs = list[tuple[int, "Order"]]
"""Orders that a message may follow, each with the literal that says so (0: it always does)."""


def list_orders(block: Block) -> tuple[Order, ...]:
    """The orders of a block's wants, without those that are part of another: prefixes, say."""
    wanted = dict.fromkeys(want.symbols for want in block.wants)
    longest = sorted(wanted, key=len, reverse=True)
    kept: list[Order] = []
    for order in longest:
        if not any(is_run(order, other) for other in kept):
            kept.append(order)
    return tuple(kept)


def is_run(symbols: Order, order: Order) -> bool:
    """Whether symbols, all different, stand side by side in an order, and in this direction."""
    if symbols[0] not in order:
        return False
    start = order.index(symbols[0])
    return order[start : start + len(symbols)] == symbols


def encode_ordered(model: Model, board: Board, block: Block, chunk: int) -> Merged:
    """The block's wants take their symbols in the order they name, each symbol once."""
    merged = encode_merges(model, board, block, chunk, idempotent=False, back=True)
    orders = list_orders(block)
    runs = {key: _follow(model, bits, orders) for key, bits in merged.holds.items()}
    for key, merge in merged.merges.items():
        for follows, order in runs[key]:
            _pass_on(model, follows, order, merge.got, runs)
    for want, merge in zip(block.wants, merged.results, strict=True):
        order = next(order for order in orders if is_run(want.symbols, order))
        _pass_on(model, 0, order, merge.got, runs)
    return replace(merged, runs=runs)


def _follow(model: Model, bits: dict[int, int], orders: tuple[Order, ...]) -> Runs:
    """What a message holds is a run of the orders it follows, and it follows one at least."""
    if len(orders) == 1:
        keep_together(model, bits, orders[0])
        return [(0, orders[0])]
    runs = [(model.new(), order) for order in orders if bits.keys() & set(order)]
    model.clause(*(follows for follows, _ in runs))
    for follows, order in runs:
        for symbol, bit in bits.items():
            if symbol not in order:
                model.clause(-follows, -bit)
        keep_together(model, bits, order, -follows)
    for (one, first), (other, second) in combinations(runs, 2):
        same = {*pairwise(first)} & {*pairwise(second)}
        for a, b in pairwise(first):  # A run of both orders has one sequence, not two.
            if a in bits and b in bits and (a, b) not in same and a in second and b in second:
                model.clause(-one, -other, -bits[a], -bits[b])
    return runs


@family("runs")
def keep_together(model: Model, bits: Mapping[int, int], order: Order, *unless: int) -> None:
    """The symbols whose bits are true stand side by side: one of them at most begins a run."""
    begins: list[int] = []
    for before, symbol in zip((None, *order), order, strict=False):
        if symbol in bits:
            begin = model.new()
            left = (bits[before],) if before is not None and before in bits else ()
            model.clause(*unless, begin, -bits[symbol], *left)
            begins.append(begin)
    model.at_most_one(begins)


@family("runs")
def _pass_on(
    model: Model, follows: int, order: Order, got: dict[Key, int], runs: dict[Key, Runs]
) -> None:
    """Every part of a merge that follows an order follows it, too."""
    for key, select in got.items():
        theirs = next((literal for literal, other in runs[key] if other == order), None)
        if theirs != 0:
            model.clause(-select, *((-follows,) if follows else ()), *((theirs,) if theirs else ()))
