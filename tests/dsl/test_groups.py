"""Collectives within groups of ranks: which groups a text means, and what they make of it."""

from __future__ import annotations

from random import Random

import pytest

from roundelay.dsl import loops
from roundelay.dsl.loader import load, problem
from roundelay.dsl.model import Collective, Problem
from roundelay.dsl.source import InputError, Source


def within(groups: str, n: int = 6, collective: str = "all_reduce(sum)") -> Collective:
    text = f"plan {{ synthesize {collective} within {groups} on complete({n}) }}"
    (plan,) = load(Source("test", text)).plans
    assert isinstance(plan, Problem)
    return plan.collective


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("[[0, 1, 2], [3, 4, 5]]", ((0, 1, 2), (3, 4, 5))),
        ("[[5, 0, 3]]", ((5, 0, 3),)),
        ("[[0..3], [3..6]]", ((0, 1, 2), (3, 4, 5))),
        ("[[4, 0..2, 3]]", ((4, 0, 1, 3),)),
        ("[[r for r in ranks]]", (tuple(range(6)),)),
        ("[[r for r in ranks if r % 2 == 0], [1]]", ((0, 2, 4), (1,))),
        ("[[i, i + 3] for i in 0..3]", ((0, 3), (1, 4), (2, 5))),
        ("[[r for r in ranks if r % 3 == k] for k in 0..3 if k != 1]", ((0, 3), (2, 5))),
        ("[[i], [n - 1 - i] for i in 0..n // 2]", ((0,), (5,), (1,), (4,), (2,), (3,))),
        ("[[a, b] for (a, b) in [(0, 5), (1, 4)]]", ((0, 5), (1, 4))),
        ("[[2 * i..2 * i + 2] for i in 0..3]", ((0, 1), (2, 3), (4, 5))),
        ("[[n - 1]]", ((5,),)),
    ],
)
def test_groups(text: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert within(text).groups == groups


@pytest.mark.parametrize(
    "name",
    [
        "all_reduce(sum)",
        "all_gather",
        "reduce_scatter(sum)",
        "all_to_all",
        "broadcast(1)",
        "scan(sum)",
        "send_recv(1)",
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_a_group_is_a_machine_of_its_own(name: str, seed: int) -> None:
    """Each group's blocks are those of the collective on as many ranks, ranks renamed."""
    random = Random(seed)
    ranks = random.sample(range(9), 7)
    cut = random.randint(2, 5)
    groups = (tuple(ranks[:cut]), tuple(ranks[cut:]))
    text = f"[{', '.join(map(str, map(list, groups)))}]"
    blocks = iter(within(text, 9, name).blocks)
    for group in groups:
        call, _, rest = name.partition("(")
        arguments = (rest.rstrip(")"),) if rest else ()
        alone = problem(f"complete({len(group)})", call, arguments).collective
        for block in alone.blocks:
            found = next(blocks)
            assert [(s.indices, s.rank) for s in found.symbols] == [
                (s.indices, group[s.rank]) for s in block.symbols
            ]
            assert [(w.indices, w.rank, w.symbols) for w in found.wants] == [
                (w.indices, group[w.rank], w.symbols) for w in block.wants
            ]
    assert next(blocks, None) is None


def test_the_bus_factor_is_that_of_the_largest_group() -> None:
    assert (
        within("[[0], [1, 2, 3, 4], [5]]").busbw
        == problem("complete(4)", "all_reduce", ("sum",)).collective.busbw
    )


def test_a_root_counts_within_its_group() -> None:
    it = within("[[4, 5], [2, 0, 1]]", collective="broadcast(1)")
    assert [block.symbols[0].rank for block in it.blocks] == [5, 0]
    with pytest.raises(InputError, match="rank 2 does not exist"):
        within("[[0, 1, 2], [3, 4]]", collective="broadcast(2)")


def test_groups_on_a_command_line() -> None:
    it = problem("ring(4)", "all_gather within [[r, r + 2] for r in 0..2]", ())
    assert it.collective.groups == ((0, 2), (1, 3))
    it = problem("ring(4)", "reduce(sum) within [[0, 1]]", ("1",))
    assert it.collective.root == 1
    with pytest.raises(InputError, match="rank 4 does not exist"):
        problem("ring(4)", "all_gather within [[4]]", ())
    with pytest.raises(InputError, match="unknown name 'r'"):
        problem("ring(4)", "all_gather within [[r]]", ())


def test_groups_share_one_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[[r for r in ranks if r == k] for k in 0..4]"
    monkeypatch.setattr(loops, "TURNS", 4 + 4 * 4)
    assert len(within(text, 4, "all_gather").groups) == 4
    monkeypatch.setattr(loops, "TURNS", 4 + 4 * 4 - 1)
    with pytest.raises(InputError, match="too many turns"):
        within(text, 4, "all_gather")
