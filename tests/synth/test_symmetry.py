"""Automorphisms against brute force, groups, and schedules unfolded from one chunk of an orbit."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import Block, Collective, Symbol, Want
from roundelay.synth.checker import check
from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.automorphisms import generate_motions, rest
from roundelay.synth.exact.classes import list_variants
from roundelay.synth.exact.orbits import Orbits
from roundelay.synth.exact.plan import encode
from roundelay.synth.exact.symmetry import find_group, list_groups
from roundelay.synth.schedule import Query, Schedule

from .nets import boxes, cube, star
from .problems import (
    MAX,
    SUB,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    copies,
    dgx1,
    line,
    machine,
    pcie_box,
    reduce_scatter,
    ring,
    switched,
    torus,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.exact.automorphisms import Motion
    from roundelay.synth.exact.classes import Variant
    from roundelay.synth.exact.symmetry import Group

UNEVEN = machine("uneven", 4, [(0, 1, 1), (1, 2, 2), (2, 3, 1), (3, 0, 2)])
ONE_WAY = machine("one way", 4, [(i, (i + 1) % 4, 1) for i in range(4)], two_way=False)
MACHINES = [
    ring(5), line(4), complete(4), dgx1(), UNEVEN, ONE_WAY, torus(3, 3), switched(4), pcie_box(),
    boxes(2, 3, 4, 1), star(4, 2),
]  # fmt: skip
COLLECTIVES = [all_reduce, all_gather, reduce_scatter, all_to_all, broadcast]


def count_by_brute_force(topology: Topology) -> int:
    """Permutations of ranks (of machines without switches) that keep every link's speed."""
    speed = {(link.src, link.dst): (link.capacity, link.latency) for link in topology.links}
    ranks = range(len(topology.ranks))
    return sum(
        all(speed.get((p[a], p[b])) == speed.get((a, b)) for a in ranks for b in ranks if a != b)
        for p in permutations(ranks)
    )


def generate(motions: list[Motion], start: Motion) -> set[Motion]:
    known, waiting = {start}, [start]
    while waiting:
        at = waiting.pop()
        for motion in motions:
            made = motion.after(at)
            if made not in known:
                known.add(made)
                waiting.append(made)
    return known


def keeps_everything(problem: Problem, motion: Motion) -> bool:
    """What an automorphism must keep, from the model's own words."""
    topology, collective = problem.topology, problem.collective
    ranks = len(topology.ranks)
    for number, link in enumerate(topology.links):
        image = topology.links[motion.links[number]]
        ends = motion.nodes[link.src], motion.nodes[link.dst]
        if (image.src, image.dst) != ends:
            return False
        if (image.capacity, image.latency) != (link.capacity, link.latency):
            return False
    for node, image_node in enumerate(motion.nodes):
        if (node < ranks) != (image_node < ranks):
            return False
        if node >= ranks:
            one, other = topology.switches[node - ranks], topology.switches[image_node - ranks]
            if (one.multicast, one.reduce) != (other.multicast, other.reduce):
                return False
    for b, block in enumerate(collective.blocks):
        there = collective.blocks[motion.blocks[b]]
        for s, symbol in enumerate(block.symbols):
            if there.symbols[motion.symbols[b][s]].rank != motion.nodes[symbol.rank]:
                return False
        for w, want in enumerate(block.wants):
            moved = there.wants[motion.wants[b][w]]
            if moved.rank != motion.nodes[want.rank]:
                return False
            if {motion.symbols[b][s] for s in want.symbols} != set(moved.symbols):
                return False
    return all(
        sorted(each) == list(range(len(each)))
        for each in (motion.nodes, motion.links, motion.blocks, *motion.symbols, *motion.wants)
    )


@pytest.mark.parametrize("make", COLLECTIVES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("topology", MACHINES, ids=lambda t: t.name)
def test_motions_keep_everything(topology: Topology, make: Callable[[int], Collective]) -> None:
    problem = ask(topology, make(len(topology.ranks)))
    motions = generate_motions(problem)
    assert all(keeps_everything(problem, motion) for motion in motions)
    for group in list_groups(problem):
        assert all(keeps_everything(problem, motion) for motion in group.motions)


@pytest.mark.parametrize(
    "topology",
    [ring(5), line(4), complete(4), dgx1(), UNEVEN, ONE_WAY, torus(3, 2), cube(3)],
    ids=lambda t: t.name,
)
def test_all_automorphisms_are_found(topology: Topology) -> None:
    """All-reduce is alike for all ranks, so the machine alone decides; all-gather as well."""
    n = len(topology.ranks)
    for make in (all_reduce, all_gather):
        problem = ask(topology, make(n))
        motions = generate(generate_motions(problem), rest(problem))
        assert len(motions) == count_by_brute_force(topology)


def test_the_collective_counts() -> None:
    """A broadcast from rank 0 leaves the turn over through 0; an odd copy leaves nothing."""
    assert len(generate(generate_motions(p := ask(ring(5), broadcast(5))), rest(p))) == 2
    odd = copies("odd", 5, {0: (1,), 1: (3,)})
    assert generate_motions(ask(ring(5), odd)) == []


def test_no_automorphism_where_order_counts_or_nothing_is_alike() -> None:
    assert list_groups(ask(ring(4), all_reduce(4), SUB)) == ()
    lopsided = machine("lopsided", 3, [(0, 1, 1), (1, 2, 2), (0, 2, 3)])
    assert list_groups(ask(lopsided, all_reduce(3))) == ()
    plan = encode(ask(lopsided, all_reduce(3)), Query(1, 2, Fraction(9)), "symmetric-trees")
    assert cpsat_door.decide(plan.model, 10, 0, lambda stop: None) is False


@pytest.mark.parametrize("topology", MACHINES, ids=lambda t: t.name)
def test_groups_are_closed_and_free(topology: Topology) -> None:
    """Products stay inside; a motion that moves any rank which another one moves moves all."""
    problem = ask(topology, all_gather(len(topology.ranks)))
    for group in list_groups(problem):
        members = set(group.motions)
        assert len(members) == len(group.motions)
        assert all(a.after(b) in members for a in members for b in members)
        ranks = range(len(topology.ranks))
        moved = [r for r in ranks if any(m.nodes[r] != r for m in members)]
        assert all(m.nodes[r] != r for m in members if m != rest(problem) for r in moved)


def test_large_groups_are_found() -> None:
    """As many motions as ranks where a machine looks alike from everywhere."""
    for topology in (ring(8), complete(8), torus(4, 4), cube(4), switched(16)):
        n = len(topology.ranks)
        assert len(list_groups(ask(topology, all_reduce(n)))[0].motions) == n
    assert len(list_groups(ask(dgx1(), all_reduce(8)))[0].motions) == 4
    assert list_groups(ask(ring(6), all_reduce(6))) == list_groups(ask(ring(6), all_reduce(6)))


def test_a_group_fits_the_chunks() -> None:
    """Eight motions of one block need eight chunks to move; four chunks leave a smaller group."""
    problem = ask(ring(8), all_reduce(8))
    sizes = {chunks: find_group(problem, chunks) for chunks in (1, 4, 6, 8, 16)}
    orders = {chunks: len(group.motions) if group else 1 for chunks, group in sizes.items()}
    assert orders == {1: 1, 4: 4, 6: 2, 8: 8, 16: 8}
    assert find_group(ask(ring(8), all_gather(8)), 1) is not None


def maps_to_itself(schedule: Schedule, group: Group) -> bool:
    """Whether every motion takes the messages to messages, chunks aside."""
    sends = Counter((s.step, s.src, s.dst, s.route) for s in schedule.sends)
    for motion in group.motions:
        moved = Counter(
            (
                s.step,
                motion.nodes[s.src],
                motion.nodes[s.dst],
                tuple(motion.links[i] for i in s.route),
            )
            for s in schedule.sends
        )
        if moved != sends:
            return False
    return True


FOUND: list[tuple[Problem, Query, Variant]] = [
    (ask(ring(8), all_reduce(8)), Query(8, 8, Fraction(14)), "symmetric-trees"),
    (ask(ring(8), all_reduce(8)), Query(4, 8, Fraction(8)), "symmetric-trees"),
    (ask(ring(5), all_reduce(5)), Query(5, 2, Fraction(10)), "symmetric"),
    (ask(ring(5), all_reduce(5), MAX), Query(5, 2, Fraction(10)), "symmetric"),
    (ask(torus(4, 4), all_reduce(16)), Query(32, 10, Fraction(15)), "symmetric-trees"),
    (ask(torus(4, 4), all_gather(16)), Query(4, 4, Fraction(15)), "symmetric"),
    (ask(cube(4), all_gather(16)), Query(4, 4, Fraction(15)), "symmetric"),
    (ask(switched(16), all_gather(16)), Query(1, 4, Fraction(15)), "symmetric"),
    (ask(dgx1(), all_gather(8)), Query(2, 2, Fraction(3)), "symmetric"),
    (ask(dgx1(), reduce_scatter(8)), Query(2, 2, Fraction(3)), "symmetric"),
    (ask(dgx1(), all_reduce(8)), Query(8, 4, Fraction(4)), "symmetric-trees"),
    (ask(dgx1(), all_reduce(8)), Query(48, 14, Fraction(14)), "copied-trees"),
    (ask(ring(4), all_reduce(4)), Query(16, 6, Fraction(24)), "copied-trees"),
    (ask(complete(4), all_to_all(4)), Query(1, 1, Fraction(1)), "symmetric"),
    (ask(star(4, 2), all_reduce(4)), Query(4, 2, Fraction(6)), "symmetric-trees"),
    (ask(line(3), broadcast(3, 1)), Query(2, 1, Fraction(2)), "symmetric"),
]


@pytest.mark.parametrize(
    ("problem", "query", "variant"),
    FOUND,
    ids=[f"{p.topology.name}-{p.collective.name}-{q.chunks}-{q.steps}" for p, q, _ in FOUND],
)
def test_what_is_unfolded_is_a_schedule_within_the_query(
    problem: Problem, query: Query, variant: Variant
) -> None:
    plan = encode(problem, query, variant)
    values = cpsat_door.decide(plan.model, 60, 0, lambda stop: None)
    assert isinstance(values, list)
    plain = plan.read(values)
    schedule = Schedule(problem, query.chunks, plain.steps, plain.sends, plain.results)
    verdict = check(schedule)
    assert verdict.rounds <= query.rounds
    assert schedule.steps <= query.steps
    group = find_group(problem, query.chunks)
    assert group is not None
    assert maps_to_itself(schedule, group)
    whole = encode(problem, query, "trees" if variant.endswith("trees") else "full")
    assert plan.model.variables < whole.model.variables


def test_the_fold_counts_every_image() -> None:
    """On a star whose leaves turn, a leaf's link stands for all; one image of a chunk loads it."""
    problem = ask(star(4, 2), all_reduce(4))
    group = find_group(problem, 4)
    assert group is not None
    order = len(group.motions)
    fold = Orbits(group, 4).fold_links()
    for link, (first, weight) in enumerate(fold):
        orbit = {motion.links[link] for motion in group.motions}
        assert first == min(orbit)
        assert weight == sum(motion.links[link] == first for motion in group.motions)
        assert weight * len(orbit) == order


def test_symbols_that_change_places_alone_are_no_reason_to_fail() -> None:
    """Two symbols of one rank in one block: what moves the nodes does not tell them apart."""
    symbols = tuple(Symbol((r, i), r) for r in range(3) for i in range(2))
    wants = tuple(Want(r, (r,), tuple(range(6))) for r in range(3))
    problem = ask(ring(3), Collective("pairs", (), 3, (Block(symbols, wants),)))
    for group in list_groups(problem):
        assert all(keeps_everything(problem, motion) for motion in group.motions)


def test_variants_of_a_problem() -> None:
    query = Query(8, 2, Fraction(8))
    assert list_variants(ask(ring(4), all_reduce(4)), query) == (
        "symmetric-trees", "trees", "symmetric", "full",
    )  # fmt: skip
    many = list_variants(ask(ring(4), all_reduce(4)), Query(16, 2, Fraction(16)))
    assert many == ("symmetric-trees", "copied-trees", "trees", "symmetric", "full")
    assert list_variants(ask(ring(4), all_gather(4)), query) == ("symmetric", "full")
    assert list_variants(ask(ring(4), all_reduce(4), SUB), query) == ("trees", "full")
