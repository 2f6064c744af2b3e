"""Rows of SCCL's: whether so many chunks can take so many steps and rounds, by its verdicts.

Its own, measured with z3 5.4.1, all-reduce aside: of that it knows fewer schedules than we do, so
what it finds must be found, and what it calls impossible may be found. (Whether the others are
impossible, an exhaustive search and closed forms say elsewhere.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.synth.checker import check
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import ANY_ROUNDS, Found, Impossible, Query

from .nets import NDV2
from .problems import (
    MAX,
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    gather,
    line,
    machine,
    reduce,
    reduce_scatter,
    ring,
    scatter,
    switched,
)
from .replay import replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roundelay.dsl.model import Collective, Operator, Topology
    from roundelay.synth.schedule import Outcome

DGX1 = machine("dgx1", 8, NDV2, bandwidth=25)  # In the order of SCCL, which matters for roots.
AMD4 = machine("amd4", 4, [(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1)])
FIVES = {(0, 1), (0, 4), (0, 6), (0, 7), (1, 2), (1, 3), (1, 5), (2, 4), (2, 6), (2, 7), (3, 4),
         (3, 6), (3, 7), (4, 5), (5, 6), (5, 7)}  # fmt: skip
AMD8 = machine(
    "amd8", 8, [(i, j, 5 if (i, j) in FIVES else 6) for i in range(8) for j in range(i + 1, 8)]
)
"""The complete graph with links that are five or six wide."""


def star(n: int) -> Topology:
    return machine(f"star({n})", n, [(0, i, 1) for i in range(1, n)])


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def answer(
    topology: Topology,
    collective: Collective,
    asked: tuple[int, int, int],
    pool: Pool,
    operator: Operator = SUM,
) -> Outcome:
    query = Query(asked[0], asked[1], Fraction(asked[2]))
    outcome = solve(ask(topology, collective, operator), query, budget=60, pool=pool)
    if isinstance(outcome, Found):
        assert check(outcome.schedule).rounds == replay(outcome.schedule) <= query.rounds
        assert outcome.schedule.steps <= query.steps
        assert outcome.schedule.chunks == query.chunks
    return outcome


Row = tuple["Topology", "Callable[[int], Collective]", tuple[int, int, int]]

FOUND: list[Row] = [
    (DGX1, all_gather, (1, 2, 2)),
    (DGX1, all_gather, (2, 2, 3)),
    (DGX1, all_gather, (2, 3, 3)),
    (DGX1, reduce_scatter, (1, 2, 2)),
    (DGX1, reduce_scatter, (2, 2, 3)),
    (DGX1, broadcast, (2, 2, 2)),
    (DGX1, broadcast, (6, 3, 5)),
    (DGX1, broadcast, (12, 4, 4)),
    (DGX1, gather, (2, 2, 3)),
    (DGX1, gather, (6, 2, 7)),
    (DGX1, scatter, (1, 2, 2)),
    (DGX1, reduce, (2, 2, 2)),
    (DGX1, reduce, (6, 3, 3)),
    (DGX1, all_to_all, (1, 2, 3)),
    (DGX1, all_to_all, (1, 3, 3)),
    (ring(4), all_gather, (2, 3, 3)),
    (ring(4), reduce_scatter, (2, 2, 3)),
    (ring(8), all_gather, (2, 4, 7)),
    (ring(8), broadcast, (8, 7, 7)),
    (ring(8), gather, (2, 4, 7)),
    (ring(8), all_to_all, (1, 4, 8)),
    (ring(8), reduce_scatter, (2, 4, 7)),
    (complete(8), all_to_all, (1, 1, 1)),
    (complete(4), all_gather, (2, 1, 2)),
    (AMD4, all_gather, (2, 2, 3)),
    (AMD4, all_to_all, (1, 2, 2)),
    (AMD8, all_gather, (5, 1, 1)),
    (AMD8, all_to_all, (1, 1, 1)),
    (AMD8, reduce_scatter, (1, 1, 1)),
    (switched(8), all_gather, (1, 3, 7)),
    (star(8), all_gather, (1, 2, 7)),
    (line(8), all_gather, (1, 7, 7)),
]
IMPOSSIBLE: list[Row] = [
    (DGX1, all_gather, (1, 1, 1)),
    (DGX1, all_gather, (3, 2, 4)),
    (DGX1, all_gather, (4, 2, 5)),
    (DGX1, all_gather, (6, 2, 7)),
    (DGX1, broadcast, (6, 2, 3)),
]


def name_row(row: object) -> str | None:
    if isinstance(row, tuple):
        return ",".join(map(str, row))
    return getattr(row, "name", None) or getattr(row, "__name__", None)


@pytest.mark.parametrize(("topology", "make", "asked"), FOUND, ids=name_row)
def test_found_as_by_sccl(
    topology: Topology,
    make: Callable[[int], Collective],
    asked: tuple[int, int, int],
    pool: Pool,
) -> None:
    outcome = answer(topology, make(len(topology.ranks)), asked, pool)
    assert isinstance(outcome, Found), outcome


@pytest.mark.parametrize(("topology", "make", "asked"), IMPOSSIBLE, ids=name_row)
def test_impossible_as_by_sccl(
    topology: Topology,
    make: Callable[[int], Collective],
    asked: tuple[int, int, int],
    pool: Pool,
) -> None:
    outcome = answer(topology, make(len(topology.ranks)), asked, pool)
    assert isinstance(outcome, Impossible), outcome
    assert outcome.certificate.complete


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "make", "asked"),
    [
        (DGX1, all_gather, (6, 3, 7)),
        (DGX1, scatter, (6, 3, 7)),
        (DGX1, all_to_all, (3, 2, 8)),
        # No answer of SCCL's within ten minutes.
        (DGX1, all_to_all, (3, 3, 8)),
    ],
    ids=name_row,
)
def test_the_hard_rows(
    topology: Topology,
    make: Callable[[int], Collective],
    asked: tuple[int, int, int],
    pool: Pool,
) -> None:
    outcome = answer(topology, make(len(topology.ranks)), asked, pool)
    assert isinstance(outcome, Found), outcome


# ------------------------------------------------------------------ all-reduce


def test_two_steps_of_a_dgx1_take_a_round_a_chunk_but_not_of_three_chunks(pool: Pool) -> None:
    assert isinstance(answer(DGX1, all_reduce(8), (2, 2, 2), pool), Found)
    outcome = answer(DGX1, all_reduce(8), (3, 2, 3), pool)
    assert isinstance(outcome, Impossible)
    assert outcome.certificate.complete


@pytest.mark.slow
def test_no_composition_reduces_five_chunks_in_three_steps_and_rounds(pool: Pool) -> None:
    """A reduce-scatter takes two steps by its distances, and so does an all-gather: four."""
    assert isinstance(answer(DGX1, all_reduce(8), (5, 3, 3), pool), Found)
    for half in (reduce_scatter, all_gather):
        alone = answer(DGX1, half(8), (1, 1, ANY_ROUNDS), pool)
        assert isinstance(alone, Impossible)


@pytest.mark.parametrize("chunks", [1, 2, 3, 4])
def test_a_maximum_needs_as_many_bytes_as_a_sum_in_two_steps_of_a_ring_of_five(
    chunks: int, pool: Pool
) -> None:
    """What is two away has one way to come, over a link in each step: so every link carries every
    chunk in both, whatever the operator, which makes two rounds a chunk. A sum takes no more.
    """
    five = all_reduce(5)
    for operator in (SUM, MAX):
        fewest = answer(ring(5), five, (chunks, 2, 2 * chunks), pool, operator)
        assert isinstance(fewest, Found)
        assert fewest.cost.rounds == 2 * chunks
        fewer = answer(ring(5), five, (chunks, 2, 2 * chunks - 1), pool, operator)
        assert isinstance(fewer, Impossible)
        assert fewer.certificate.complete
