"""What each chunk of a problem needs: a way up to a root, a way down from it, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.routes import measure_hops

if TYPE_CHECKING:
    from roundelay.dsl.model import Block, Problem

Hops = tuple[tuple[int | None, ...], ...]
"""Steps from rank to rank."""


@dataclass(frozen=True, slots=True)
class Job:
    """One chunk's task, the same for every chunk of its block.

    ``up``: ranks whose values are merged on the way to the root (none: nothing goes up).
    ``down``: ranks that the outcome goes to (none: nothing goes down). ``root``: the rank where
    both meet, None where any of ``passing`` may be it. ``passing``: ranks that messages may go
    through. ``symbols`` of the block are what it moves, ``wants`` what it brings.
    """

    block: int
    symbols: tuple[int, ...]
    wants: tuple[int, ...]
    root: int | None
    up: frozenset[int]
    down: frozenset[int]
    passing: frozenset[int]


def list_jobs(problem: Problem) -> tuple[Job, ...]:
    """The jobs of one chunk of every block; none where trees do not fit, or would be one path.

    They fit a value that several ranks want whole, and values that one rank wants merged, in
    any order.
    """
    operator = problem.operator
    free = operator is not None and operator.commutative
    whole = len(problem.topology.ranks)
    hops = measure_hops(problem.topology)
    jobs: list[Job] = []
    for number, block in enumerate(problem.collective.blocks):
        groups = _group(block)
        shared = [s for symbols, _ in groups for s in symbols]
        if len(set(shared)) < len(shared):
            return ()  # Trees would send twice what several wants are made of.
        for symbols, wants in groups:
            if len(symbols) > 1 and not free:
                return ()
            job = _describe(problem, hops, number, symbols, wants)
            if job.root is not None and len(job.up | job.down) == 1 and whole > 2:
                return ()
            jobs.append(job)
    return tuple(jobs) if any(job.up or job.down for job in jobs) else ()


def _describe(
    problem: Problem, hops: Hops, number: int, symbols: tuple[int, ...], wants: tuple[int, ...]
) -> Job:
    block = problem.collective.blocks[number]
    holding = frozenset(block.symbols[s].rank for s in symbols)
    wanting = frozenset(block.wants[w].rank for w in wants)
    members = holding | wanting
    if len(holding) > 1 and len(wanting) > 1:
        passing = _find_passing(hops, members)
        return Job(number, symbols, wants, None, holding, wanting, passing)
    root = min(holding) if len(holding) == 1 else min(wanting)
    passing = _find_passing(hops, members) if len(members) > 1 else members
    return Job(number, symbols, wants, root, holding - {root}, wanting - {root}, passing)


def _group(block: Block) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The sets of symbols that are wanted together, each with the wants that ask for it."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for position, want in enumerate(block.wants):
        groups.setdefault(tuple(sorted(want.symbols)), []).append(position)
    return [(symbols, tuple(wants)) for symbols, wants in groups.items()]


def _find_passing(hops: Hops, members: frozenset[int]) -> frozenset[int]:
    """The members themselves where they reach one another directly or through each other."""
    for forth in (True, False):
        start = min(members)
        seen, stack = {start}, [start]
        while stack:
            at = stack.pop()
            for other in sorted(members - seen):
                if (hops[at][other] if forth else hops[other][at]) == 1:
                    seen.add(other)
                    stack.append(other)
        if len(seen) < len(members):
            return frozenset(range(len(hops)))
    return members
