"""What links carry where switches copy and combine: derived by hand, and counted in two ways."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.loader import problem as read_problem
from roundelay.dsl.model import Handwritten, Move
from roundelay.dsl.source import Source, Span
from roundelay.synth.bounds import bound
from roundelay.synth.by_hand import arrange
from roundelay.synth.checker import check
from roundelay.synth.copies import replicate
from roundelay.synth.loads import count_loads
from roundelay.synth.routes import enumerate_routes
from roundelay.synth.schedule import Got, Own, Part, Result, Schedule, Send
from roundelay.synth.timeline import price
from roundelay.synth.traffic import measure_traffic

from .fabrics import draw, fabric, star, two_levels
from .problems import MAX, SUB, SUM, all_gather, all_reduce, ask, broadcast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Operator, Topology

SPAN = Span(Source("loads.rly", "schedule"), 0, 8)
Path = tuple[int, ...]
Message = tuple[Path, tuple[Part, ...]] | tuple[Path, tuple[Part, ...], int, int]
"""A path of nodes, parts, and where these are not 0, the step and the chunk."""


def send(topology: Topology, path: Path, parts: tuple[Part, ...], step: int, chunk: int) -> Send:
    number = {(link.src, link.dst): i for i, link in enumerate(topology.links)}
    route = tuple(number[pair] for pair in pairwise(path))
    return Send(step, chunk, path[0], path[-1], route, parts)


def carried(
    topology: Topology,
    messages: Iterable[Message],
    uses: Iterable[tuple[Part, ...]] = (),
    operator: Operator = SUM,
) -> dict[tuple[int, int], int]:
    """Loads by the ends of links, over all steps.

    ``uses``: the parts of results, whichever. Loads are counted without judging the schedule.
    """
    sends = tuple(send(topology, m[0], m[1], *(m[2:] or (0, 0))) for m in messages)
    steps = max(each.step for each in sends) + 1
    results = tuple(Result(0, 0, parts) for parts in uses)
    problem = ask(topology, all_reduce(len(topology.ranks)), operator)
    schedule = Schedule(problem, 3, steps, sends, results)
    loads = count_loads(schedule)
    traffic = measure_traffic(schedule)
    found: dict[tuple[int, int], int] = {}
    for step, counts in zip(loads, traffic, strict=True):
        assert {i: load for i, load in enumerate(step) if load} == counts
        for i, load in counts.items():
            ends = topology.links[i].src, topology.links[i].dst
            found[ends] = found.get(ends, 0) + load
    return found


OWN = (Own(0),)
SPREAD = [((0, 4, dst), OWN) for dst in (1, 2, 3)]
FAR = [((0, 4, 6, 5, dst), OWN) for dst in (2, 3)]


def test_a_switch_that_multicasts_is_sent_a_message_once() -> None:
    assert carried(star(4, "m"), SPREAD) == {(0, 4): 1, (4, 1): 1, (4, 2): 1, (4, 3): 1}
    assert carried(star(4, ""), SPREAD)[0, 4] == 3
    assert carried(star(4, "r"), SPREAD)[0, 4] == 3


def test_messages_that_differ_are_sent_apart() -> None:
    one, two, three = SPREAD
    other_parts = (three[0], (Own(1),))
    assert carried(star(4, "m"), [one, two, other_parts])[0, 4] == 2
    assert carried(star(4, "m"), [one, two, (*three, 1, 0)])[0, 4] == 2  # In another step.
    assert carried(star(4, "m"), [one, two, (*three, 0, 1)])[0, 4] == 2  # Of another chunk.
    other_sender = ((1, 4, 3), OWN)
    assert carried(star(4, "m"), [one, two, other_sender]) == {
        (0, 4): 1, (1, 4): 1, (4, 1): 1, (4, 2): 1, (4, 3): 1
    }  # fmt: skip


def test_of_two_levels_one_multicasts() -> None:
    assert carried(two_levels("", "", "m"), FAR) == {
        (0, 4): 1, (4, 6): 1, (6, 5): 2, (5, 2): 1, (5, 3): 1
    }  # fmt: skip
    assert carried(two_levels("", "m", ""), FAR) == {
        (0, 4): 1, (4, 6): 1, (6, 5): 1, (5, 2): 1, (5, 3): 1
    }  # fmt: skip
    near = ((0, 4, 1), OWN)  # Passes no switch that multicasts.
    assert carried(two_levels("", "m", ""), [*FAR, near])[0, 4] == 2
    below = carried(two_levels("m", "", ""), [*FAR, near])
    assert (below[0, 4], below[4, 6], below[6, 5]) == (1, 2, 2)


def test_other_ways_to_a_switch_are_other_loads() -> None:
    # Rank 0 reaches switch 5, which multicasts, through 3 and through 4.
    net = fabric(3, ["", "", "m"], [(0, 3), (0, 4), (3, 5), (4, 5), (5, 1), (5, 2)])
    apart = carried(net, [((0, 3, 5, 1), OWN), ((0, 4, 5, 2), OWN)])
    assert apart == {(0, 3): 1, (3, 5): 1, (5, 1): 1, (0, 4): 1, (4, 5): 1, (5, 2): 1}


COMING = [((src, 4, 3), (Own(src),)) for src in (0, 1, 2)]


def test_a_switch_that_reduces_sends_on_once() -> None:
    together = [(Got(0), Got(1), Got(2), Own(3))]
    assert carried(star(4, "r"), COMING, together) == {
        (0, 4): 1, (1, 4): 1, (2, 4): 1, (4, 3): 1
    }  # fmt: skip
    assert carried(star(4, "m"), COMING, together)[4, 3] == 3
    two_steps: list[Message] = [*COMING[:2], (*COMING[2], 1, 0)]
    assert carried(star(4, "r"), two_steps, together)[4, 3] == 2


def test_what_is_used_apart_is_not_combined() -> None:
    apart = [(Got(0), Got(1)), (Got(0), Got(1), Got(2))]
    assert carried(star(4, "r"), COMING, apart)[4, 3] == 2  # The third is used once without them.
    assert carried(star(4, "r"), COMING, [(Got(0),), (Got(1),), (Got(2),)])[4, 3] == 3
    assert carried(star(4, "r"), COMING, [])[4, 3] == 3  # Used by nothing.
    passed_on: list[Message] = [*COMING, ((3, 4, 0), (Got(1), Got(2), Own(3)), 1, 0)]
    assert carried(star(4, "r"), passed_on, [(Got(0), Got(1), Got(2))])[4, 3] == 2


def test_runs_alone_are_combined_where_order_counts() -> None:
    def down(*parts: Part) -> int:
        return carried(star(4, "r"), COMING, [parts], SUB)[4, 3]

    assert down(Got(0), Got(1), Got(2), Own(3)) == 1
    assert down(Got(2), Got(0), Got(1), Own(3)) == 1
    assert down(Got(0), Own(3), Got(1), Got(2)) == 2
    assert down(Got(0), Own(3), Got(1), Own(3), Got(2)) == 3
    swapped = [(Got(0), Got(1), Got(2)), (Got(1), Got(0), Got(2))]
    assert carried(star(4, "r"), COMING, swapped, SUB)[4, 3] == 3
    assert carried(star(4, "r"), COMING, swapped, SUM)[4, 3] == 1
    # 0 and 2 meet before 1 joins them, and do not stand side by side without it.
    net = fabric(4, ["r", "r"], [(0, 4), (2, 4), (4, 5), (1, 5), (5, 3)])
    coming = [((0, 4, 5, 3), (Own(0),)), ((1, 5, 3), (Own(1),)), ((2, 4, 5, 3), (Own(2),))]
    loads = carried(net, coming, [(Got(0), Got(1), Got(2))], SUB)
    assert (loads[4, 5], loads[5, 3]) == (2, 1)
    loads = carried(net, coming, [(Got(0), Got(2), Got(1))], SUB)
    assert (loads[4, 5], loads[5, 3]) == (1, 1)


CROSSING = [((src, 4, 6, 5, dst), (Own(src),)) for dst in (2, 3) for src in (0, 1)]
BOTH_TAKE_BOTH = [(Got(0), Got(1)), (Got(2), Got(3))]


def test_a_complete_grid_crosses_once() -> None:
    for abilities in (("mr", "mr", "mr"), ("r", "m", ""), ("r", "m", "mr"), ("r", "m", "m")):
        loads = carried(two_levels(*abilities), CROSSING, BOTH_TAKE_BOTH)
        assert set(loads.values()) == {1}, abilities
    copied_first = carried(two_levels("m", "r", ""), CROSSING, BOTH_TAKE_BOTH)
    assert copied_first == {
        (0, 4): 1, (1, 4): 1, (4, 6): 4, (6, 5): 4, (5, 2): 1, (5, 3): 1
    }  # fmt: skip


def test_an_incomplete_grid_crosses_once_for_each_sum() -> None:
    without = CROSSING[:3]  # Rank 3 does not get what rank 1 has.
    uses = [(Got(0), Got(1)), (Got(2),)]
    loads = carried(two_levels("mr", "mr", "mr"), without, uses)
    assert loads == {(0, 4): 1, (1, 4): 1, (4, 6): 2, (6, 5): 2, (5, 2): 1, (5, 3): 1}
    # A switch that reduces and does not multicast needs twice what it puts into two sums.
    loads = carried(two_levels("r", "m", ""), without, uses)
    assert loads == {(0, 4): 2, (1, 4): 1, (4, 6): 2, (6, 5): 2, (5, 2): 1, (5, 3): 1}
    # Where order counts, one sum is not the other way round.
    swapped = [(Got(0), Got(1)), (Got(3), Got(2))]
    loads = carried(two_levels("mr", "mr", "mr"), CROSSING, swapped, SUB)
    assert (loads[0, 4], loads[4, 6], loads[6, 5]) == (1, 2, 2)


# ------------------------------------------------------------------------ whole schedules


def one_shot(topology: Topology, operator: Operator = SUM, chunks: int = 1) -> Schedule:
    """Every rank reduces every chunk into every other one, at once."""
    ranks = len(topology.ranks)
    moves = tuple(
        Move(0, chunk, src, dst, True, via=(ranks + chunk % len(topology.switches),))
        for chunk in range(chunks)
        for dst in range(ranks)
        for src in range(ranks)
        if src != dst
    )
    given = Handwritten(
        "mine", ask(topology, all_reduce(ranks), operator), chunks, 1, moves, SPAN
    )  # fmt: skip
    return arrange(given)


@pytest.mark.parametrize("operator", [SUM, MAX])
@pytest.mark.parametrize(("ability", "rounds"), [("mr", 1), ("m", 3), ("r", 3), ("", 3)])
def test_all_reduce_in_one_step_by_hand(ability: str, rounds: int, operator: Operator) -> None:
    made = one_shot(star(4, ability), operator)
    assert check(made).rounds == price(made).rounds == rounds
    thrice = replicate(made, 3)
    assert check(thrice).rounds == price(thrice).rounds == 3 * rounds
    assert bound(made.problem).rounds == (1 if ability else Fraction(3, 2))


def test_eight_h100s_all_reduce_at_the_bound() -> None:
    asked = read_problem("hgx_h100", "all_reduce", ("sum",))
    made = one_shot(asked.topology, chunks=4)
    limit = bound(asked)
    cost = price(made)
    assert check(made).rounds == cost.rounds == 1  # Four chunks, each through its own switch.
    assert cost.per_byte == limit.per_byte == 1 / Fraction(450 * 10**9)


def test_all_gather_through_a_multicast_meets_its_bound() -> None:
    problem = ask(star(5, "m"), all_gather(5))
    sends = tuple(
        send(problem.topology, (src, 5, dst), OWN, 0, src)
        for src in range(5)
        for dst in range(5)
        if src != dst
    )
    made = Schedule(
        problem, 1, 1, sends,
        tuple(
            Result(src, dst, OWN if src == dst
                   else (Got(4 * src + dst - (dst > src)),))
            for src in range(5) for dst in range(5)
        ),
    )  # fmt: skip
    verdict = check(made)
    for i, link in enumerate(problem.topology.links):
        assert verdict.loads[0][i] == (1 if link.dst == 5 else 4)
    assert verdict.rounds == price(made).rounds == bound(problem).rounds == 4


# ------------------------------------------------------------------------ two ways to count


def invent(chance: random.Random, topology: Topology, operator: Operator) -> Schedule:
    """Messages and results of whatever: much alike, much used together, most of it no schedule."""
    paths = [route for route in enumerate_routes(topology).routes if len(route.links) > 1]
    steps = chance.randint(1, 2)
    sends: list[Send] = []
    for step in range(steps):
        before = len(sends)
        for _ in range(chance.randint(1, 12)):
            route = chance.choice(paths)
            earlier = [n for n in range(before) if sends[n].dst == route.src]
            parts: list[Part] = [Got(n) for n in earlier if chance.random() < 0.8]
            parts.append(Own(chance.random() < 0.1))
            chunk = int(chance.random() < 0.1)
            sends.append(Send(step, chunk, route.src, route.dst, route.links, tuple(parts)))
    results = []
    for rank in range(len(topology.ranks)):
        arrived: list[Part] = [Got(n) for n, each in enumerate(sends) if each.dst == rank]
        if chance.random() < 0.3:
            chance.shuffle(arrived)
        kept = tuple(part for part in arrived if chance.random() < 0.9)
        results += [Result(0, rank, kept)] * bool(kept)
    problem = ask(topology, all_reduce(len(topology.ranks)), operator)
    return Schedule(problem, 2, steps, tuple(sends), tuple(results))


def test_both_ways_to_count_agree_on_whatever() -> None:
    chance = random.Random(5)
    helped = 0
    for _ in range(1500):
        topology = draw(chance, chance.randint(2, 4), chance.randint(1, 4))
        made = invent(chance, topology, chance.choice((SUM, MAX, SUB)))
        loads, traffic = count_loads(made), measure_traffic(made)
        plain = [[0] * len(topology.links) for _ in range(made.steps)]
        for each in made.sends:
            for link in each.route:
                plain[each.step][link] += 1
        for step, counts in enumerate(traffic):
            assert {i: n for i, n in enumerate(loads[step]) if n} == counts
            assert all(1 <= n <= plain[step][i] for i, n in counts.items())
            assert counts.keys() == {i for i, n in enumerate(plain[step]) if n}
            helped += sum(plain[step]) > sum(counts.values())
    assert helped > 500


def test_a_broadcast_down_a_large_tree_is_quick_to_count() -> None:
    ranks = 72
    problem = ask(star(ranks, "mr"), broadcast(ranks))
    sends = tuple(send(problem.topology, (0, ranks, dst), OWN, 0, 0) for dst in range(1, ranks))
    results = (Result(0, 0, OWN), *(Result(0, dst, (Got(dst - 1),)) for dst in range(1, ranks)))
    made = Schedule(problem, 1, 1, sends, results)
    assert check(made).rounds == price(made).rounds == 1
