"""Schedules without a solver: valid, of the fewest steps, and what closed forms say of them."""

from __future__ import annotations

import random
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl import loader
from roundelay.dsl.model import (
    Block,
    Collective,
    Limits,
    Link,
    Rank,
    Switch,
    Symbol,
    Topology,
    Want,
)
from roundelay.dsl.source import UnsupportedError
from roundelay.synth.bounds import bound
from roundelay.synth.checker import check
from roundelay.synth.paths import build, build_rooted, within
from roundelay.synth.schedule import Own
from roundelay.synth.timeline import price

from .nets import cube, grid
from .problems import (
    GB,
    MAX,
    SUB,
    SUM,
    US,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    copies,
    dgx1,
    gather,
    line,
    machine,
    pcie_box,
    reduce,
    reduce_scatter,
    ring,
    scan,
    scatter,
    stencil,
    switched,
    to_and_fro,
)
from .problems import (
    within as in_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Operator, Problem
    from roundelay.synth.schedule import Schedule

COLLECTIVES: dict[str, Callable[[int], Collective]] = {
    "all_gather": all_gather,
    "all_to_all": all_to_all,
    "broadcast": lambda n: broadcast(n, n - 1),
    "scatter": scatter,
    "gather": lambda n: gather(n, n // 2),
    "reduce": lambda n: reduce(n, n - 1),
    "reduce_scatter": reduce_scatter,
    "all_reduce": all_reduce,
    "scan": scan,
    "stencil": stencil,
    "to_and_fro": to_and_fro,
}


def judged(problem: Problem, chunks: int = 1) -> Schedule:
    """What ``build`` makes, accepted by the checker and of as few steps as the bound."""
    made = build(problem, chunks)
    assert made is not None
    verdict = check(made)
    limit = bound(problem)
    assert made.chunks == chunks
    assert made.steps == limit.steps
    assert verdict.rounds >= chunks * limit.rounds
    assert verdict.unused == ()
    return made


def net(seed: int, ranks: int, switches: int) -> Topology:
    """Any machine in which every rank reaches every other, some links one way and all uneven."""
    dice = random.Random(seed)
    nodes = ranks + switches
    order = list(range(nodes))
    dice.shuffle(order)
    pairs = {(order[i], order[(i + 1) % nodes]) for i in range(nodes)}
    while len(pairs) < min(2 * nodes + seed % 4, nodes * (nodes - 1)):
        a, b = dice.sample(range(nodes), 2)
        pairs.add((a, b))
    links = tuple(
        Link(a, b, dice.randint(1, 2), Fraction(dice.choice((1, 2, 3, 5))) * GB, US)
        for a, b in sorted(pairs)
    )
    return Topology(
        f"net {seed}",
        tuple(Rank(f"r[{i}]") for i in range(ranks)),
        tuple(Switch(f"s[{i}]") for i in range(switches)),
        links,
    )


@pytest.mark.parametrize("operator", [SUM, MAX, SUB], ids=lambda operator: operator.name)
@pytest.mark.parametrize("name", COLLECTIVES)
def test_every_collective_on_random_nets(name: str, operator: Operator) -> None:
    for seed in range(12):
        ranks = 3 + seed % 5
        collective = COLLECTIVES[name](ranks)
        if not collective.combines and operator is not SUM:
            return
        problem = ask(net(seed, ranks, seed % 3), collective, operator)
        for chunks in (1, 3):
            judged(problem, chunks)
            rooted = build_rooted(problem, chunks)
            if rooted is not None:
                check(rooted)
                assert rooted.steps <= 2 * bound(problem).steps + ranks


@pytest.mark.parametrize("seed", range(30))
def test_custom_wants_on_random_nets(seed: int) -> None:
    dice = random.Random(1000 + seed)
    ranks = dice.randint(3, 6)
    blocks = []
    for b in range(dice.randint(1, 3)):
        symbols = tuple(
            Symbol((b, s), dice.randrange(ranks)) for s in range(dice.randint(1, ranks + 1))
        )
        wants = tuple(
            Want(
                dice.randrange(ranks),
                (b, w),
                tuple(dice.sample(range(len(symbols)), dice.randint(1, len(symbols)))),
            )
            for w in range(dice.randint(1, 4))
        )
        blocks.append(Block(symbols, wants))
    collective = Collective("custom", (), ranks, tuple(blocks))
    for operator in (SUM, MAX, SUB):
        problem = ask(net(seed, ranks, seed % 2), collective, operator)
        judged(problem, 2)
        rooted = build_rooted(problem, 2)
        if rooted is not None:
            check(rooted)


def test_groups_take_their_ways_through_other_ranks() -> None:
    """Ranks 0 and 2 of a line meet across rank 1, which takes no part."""
    made = judged(ask(line(4), in_groups(all_reduce, ((0, 2), (1, 3)), 4)), 2)
    assert made.steps == 2
    judged(ask(dgx1(), in_groups(reduce_scatter, ((0, 5), (2, 3)), 8)))
    judged(ask(dgx1(), in_groups(all_gather, ((0, 5, 6), (1, 2, 3)), 8)))


@pytest.mark.parametrize(
    ("topology", "collective", "chunks", "rounds"),
    [
        (ring(8), all_gather(8), 1, 4),  # Both ways round: ceil(7 / 2).
        (ring(7), all_gather(7), 1, 3),
        (complete(8), all_to_all(8), 1, 1),
        (complete(8), all_gather(8), 3, 3),
        (switched(6), all_gather(6), 1, 5),
        (line(6), scatter(6), 1, 5),  # The farthest first: what is nearer waits without a loss.
        (line(6), gather(6), 1, 5),
        (line(6), all_gather(6), 1, 5),
        (cube(3), all_reduce(8), 3, 3),  # Exchanges along the dimensions, a chunk on each.
        (cube(4), all_reduce(16), 1, 4),
        (dgx1(), all_gather(8), 1, 2),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_known_rounds(topology: Topology, collective: Collective, chunks: int, rounds: int) -> None:
    assert price(judged(ask(topology, collective), chunks)).rounds == rounds


@pytest.mark.parametrize(
    "topology",
    [grid(4, 4, wrap=True), grid(5, 5, wrap=True), cube(4), cube(5), grid(4, 4)],
    ids=lambda topology: f"{topology.name}-{len(topology.ranks)}",
)
def test_an_all_gather_comes_near_to_the_bound(topology: Topology) -> None:
    """Greedily: within 40 % of what any schedule of any number of steps takes."""
    problem = ask(topology, all_gather(len(topology.ranks)))
    assert price(judged(problem)).rounds <= Fraction(7, 5) * bound(problem).rounds


def test_equal_combinations_are_sent_once() -> None:
    """On a line every rank passes on what it has of one side: 2 (n - 1) messages in all."""
    made = judged(ask(line(6), all_reduce(6)))
    assert len(made.sends) == 10
    assert len(judged(ask(line(6), scan(6))).sends) == 5


def test_an_operator_that_keeps_order_gets_its_values_apart() -> None:
    made = judged(ask(ring(5), to_and_fro(5), SUB))
    assert made.steps == 2
    assert all(len(send.parts) == 1 for send in made.sends)
    assert all(len(result.parts) == 5 for result in made.results)


def test_a_rank_that_holds_what_it_wants_hears_nothing() -> None:
    block = Block((Symbol((0,), 1),), (Want(1, (0,), (0,)),))
    made = judged(ask(ring(3), Collective("stay", (), 3, (block,))), 2)
    assert (made.steps, made.sends) == (0, ())
    assert [result.parts for result in made.results] == [(Own(0),)] * 2


def test_a_symbol_that_counts_twice_is_given_up() -> None:
    block = Block((Symbol((0,), 0), Symbol((1,), 1)), (Want(0, (0,), (0, 1, 1)),))
    collective = Collective("twice", (), 3, (block,))
    assert build(ask(ring(3), collective, SUM)) is None
    judged(ask(ring(3), collective, MAX))


def test_ranks_without_a_way_are_given_up() -> None:
    one_way = machine("one way", 3, [(0, 1, 1), (1, 2, 1)], two_way=False)
    for collective in (all_reduce(3), all_gather(3), gather(3)):
        problem = ask(one_way, collective)
        with pytest.raises(UnsupportedError):
            bound(problem)
        assert build(problem) is None
        assert build_rooted(problem) is None
    assert judged(ask(one_way, scan(3))).steps == 2
    assert judged(ask(one_way, broadcast(3, 0))).steps == 2


# ------------------------------------------------------------------------------------- by a root


def test_a_root_takes_two_trees_a_chunk() -> None:
    for topology in (ring(8), dgx1(), grid(3, 3), line(7)):
        ranks = len(topology.ranks)
        problem = ask(topology, all_reduce(ranks))
        made = build_rooted(problem, 4)
        assert made is not None
        check(made)
        assert len(made.sends) == 4 * 2 * (ranks - 1)


def test_roots_stand_in_the_middle_and_apart() -> None:
    made = build_rooted(ask(line(7), all_reduce(7)))
    assert made is not None
    assert made.steps == 6  # To rank 3 and back.
    chunks = build_rooted(ask(ring(8), all_reduce(8)), 8)
    assert chunks is not None
    check(chunks)
    assert chunks.steps == 8
    roots = {next(r.want for r in chunks.results if r.chunk == c and len(r.parts) > 1)
             for c in range(8)}  # fmt: skip
    assert len(roots) == 8
    assert price(chunks).rounds < 8 * price(judged(ask(ring(8), all_reduce(8)))).rounds


def test_no_root_where_nothing_is_combined_in_any_order() -> None:
    assert build_rooted(ask(ring(4), all_gather(4))) is None
    assert build_rooted(ask(ring(4), reduce_scatter(4))) is None
    assert build_rooted(ask(ring(4), all_reduce(4), SUB)) is None


# ---------------------------------------------------------------------------------- loads, limits


def test_fast_links_are_preferred() -> None:
    """Two ways of two steps from 0 to 3, one of them four times as fast."""
    topology = machine("diamond", 4, [(0, 1, 1, 1), (1, 3, 1, 1), (0, 2, 1, 4), (2, 3, 1, 4)])
    made = judged(ask(topology, copies("one", 4, {0: (3,)})), 5)
    by_fast = [send for send in made.sends if send.step == 0 and send.dst == 2]
    assert len(by_fast) == 4
    assert price(made).rounds == 2


def test_routes_through_several_switches_share_the_load() -> None:
    made = judged(ask(switched(4, 3), all_gather(4)))
    assert price(made).rounds == 1  # 3 messages into and out of each rank, over 3 switches.
    judged(ask(pcie_box(), all_reduce(4)), 2)


def test_the_same_every_time() -> None:
    problem = ask(dgx1(), all_reduce(8))
    assert str(build(problem, 3)) == str(build(problem, 3))
    assert str(build_rooted(problem, 3)) == str(build_rooted(problem, 3))


def test_a_deadline_that_has_passed() -> None:
    problem = ask(grid(8, 8), all_gather(64))
    assert build(problem, deadline=time.monotonic()) is None
    assert build(problem, deadline=time.monotonic() + 60) is not None


def test_within() -> None:
    made = judged(ask(ring(4), all_reduce(4)), 2)
    rounds = price(made).rounds
    assert within(made, Limits())
    assert within(made, Limits(chunks=(1, 2), steps=(2, 2), rounds=rounds))
    assert within(made, Limits(steps=(3, 5)))
    assert not within(made, Limits(chunks=(3, 4)))
    assert not within(made, Limits(chunks=(1, 1)))
    assert not within(made, Limits(steps=(1, 1)))
    assert not within(made, Limits(rounds=rounds - Fraction(1, 10)))
    assert not within(made, Limits(symmetric=True))


# ------------------------------------------------------------------------------- the library's


@pytest.mark.parametrize(
    ("target", "collective", "arguments", "chunks", "messages"),
    [
        ("torus(16, 16)", "all_reduce", ("sum",), 1, 16 * 512),  # At most one a link and step.
        ("hypercube(8)", "all_reduce", ("max",), 1, 8 * 256),
        ("pod(hgx_h100, 8)", "all_gather", (), 1, 64 * 63),
        ("complete(64)", "all_reduce", ("sum",), 1, 64 * 63),
        ("dgx2", "all_to_all", (), 1, 16 * 15),
        ("fat_tree(4)", "reduce_scatter", ("sum",), 2, 2 * 16 * 15),
        ("dgx1", "all_reduce", ("merge",), 3, None),
        ("torus(4, 4)", "all_reduce", ("maxloc",), 2, None),
        ("mi250", "scan", ("sum",), 1, None),
        ("dragonfly(4, 2, 2)", "send_recv", ("5",), 1, None),
        ("pcie_box", "gather", ("1",), 2, None),
        ("torus(32, 32)", "broadcast", ("0",), 1, 1023),
    ],
)
def test_machines_of_the_library(
    target: str, collective: str, arguments: tuple[str, ...], chunks: int, messages: int | None
) -> None:
    problem = loader.problem(target, collective, arguments)
    made = build(problem, chunks)
    assert made is not None
    check(made)
    assert made.steps == bound(problem, budget=0.5).steps
    if messages is not None:
        assert len(made.sends) <= messages


def test_a_tree_pair_for_a_thousand_ranks() -> None:
    problem = loader.problem("torus(32, 32)", "all_reduce", ("sum",))
    made = build_rooted(problem)
    assert made is not None
    check(made)
    assert (made.steps, len(made.sends)) == (64, 2 * 1023)
