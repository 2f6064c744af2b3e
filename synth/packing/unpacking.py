"""From chunks with dated trees to a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.synth.exact.draft import Draft
from roundelay.synth.schedule import Got, Own, Part, Result, Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.dsl.model import Problem
    from roundelay.synth.routes import Route

    from .box import Placed


def unpack(problem: Problem, routes: Sequence[Route], placed: Sequence[Placed]) -> Schedule:
    """The schedule that sends what the trees say; every job has the same number of chunks."""
    draft = Draft()
    count: dict[tuple[int, tuple[int, ...]], int] = {}
    for each in placed:
        key = each.job.block, each.job.symbols
        count[key] = count.get(key, 0) + 1
    chunks = max(count.values())
    numbers = dict.fromkeys(count, 0)
    for each in placed:
        key = each.job.block, each.job.symbols
        _send(problem, routes, each, each.job.block * chunks + numbers[key], draft)
        numbers[key] += 1
    plain = draft.finish()
    return Schedule(problem, chunks, plain.steps, plain.sends, plain.results)


def _send(
    problem: Problem, routes: Sequence[Route], placed: Placed, chunk: int, draft: Draft
) -> None:
    """Add one chunk's messages and results."""
    job, block = placed.job, problem.collective.blocks[placed.job.block]
    held: dict[int, list[Part]] = {}
    for symbol in job.symbols:
        held.setdefault(block.symbols[symbol].rank, []).append(Own(symbol))
    for route, step in sorted(placed.rising, key=lambda message: message[1]):
        way = routes[route]
        number = draft.send(step, chunk, way, tuple(held[way.src]))
        held.setdefault(way.dst, []).append(Got(number))
    whole: dict[int, tuple[Part, ...]] = {placed.root: tuple(held[placed.root])}
    for route, step in sorted(placed.falling, key=lambda message: message[1]):
        way = routes[route]
        whole[way.dst] = (Got(draft.send(step, chunk, way, whole[way.src])),)
    draft.results += [Result(chunk, w, whole[block.wants[w].rank]) for w in job.wants]
