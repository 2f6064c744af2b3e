"""Collectives of the library against sets written out here, and collectives of one's own."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl import collectives as collectives_module
from roundelay.dsl import loops
from roundelay.dsl.loader import collectives, load, problem
from roundelay.dsl.model import Problem, Spread, Want
from roundelay.dsl.source import InputError, Source

if TYPE_CHECKING:
    from roundelay.dsl.model import Collective

Values = dict[tuple[int, ...], tuple[tuple[int, ...], ...]]
SIZES = [1, 2, 3, 5]


def wanted(it: Collective) -> Values:
    """Every wanted value's indices, and the indices of the symbols it is made of."""
    return {
        want.indices: tuple(block.symbols[s].indices for s in want.symbols)
        for block in it.blocks
        for want in block.wants
    }


def given(it: Collective) -> set[tuple[int, ...]]:
    return {symbol.indices for block in it.blocks for symbol in block.symbols}


def expected(name: str, n: int, k: int) -> tuple[set[tuple[int, ...]], Values, int, Fraction]:
    """Given symbols, wanted values, number of blocks, bus-bandwidth factor."""
    one: set[tuple[int, ...]] = {(r,) for r in range(n)}
    pairs = [(r, s) for r in range(n) for s in range(n)]
    two: set[tuple[int, ...]] = set(pairs)
    everyone = tuple((s,) for s in range(n))
    part = Fraction(n - 1, n)
    match name:
        case "all_reduce":
            return one, {(r,): everyone for r in range(n)}, 1, 2 * part
        case "all_gather":
            return one, {(r, s): ((s,),) for r, s in pairs}, n, part
        case "reduce_scatter":
            return two, {(r,): tuple((s, r) for s in range(n)) for r in range(n)}, n, part
        case "all_to_all":
            return two, {(r, s): ((s, r),) for r, s in pairs}, n * n, part
        case "broadcast":
            return {(k,)}, {(r,): ((k,),) for r in range(n)}, 1, Fraction(1)
        case "reduce":
            return one, {(k,): everyone}, 1, Fraction(1)
        case "gather":
            return one, {(k, s): ((s,),) for s in range(n)}, n, part
        case "scatter":
            return {(k, s) for s in range(n)}, {(r,): ((k, r),) for r in range(n)}, n, part
        case "send_recv":
            return one, {(r,): (((r - k) % n,),) for r in range(n)}, n, Fraction(1)
        case "scan":
            return one, {(r,): everyone[: r + 1] for r in range(n)}, 1, Fraction(1)
        case _:
            raise AssertionError(name)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", collectives())
def test_collectives_of_the_library(name: str, n: int) -> None:
    k = n - 1
    operator = ("max",) if name in {"all_reduce", "reduce_scatter", "reduce", "scan"} else ()
    rooted = name in {"broadcast", "reduce", "gather", "scatter"}
    number = (str(k),) if rooted or name == "send_recv" else ()
    it = problem(f"complete({n})", name, (*operator, *number))
    collective = it.collective
    symbols, values, blocks, busbw = expected(name, n, k)
    assert given(collective) == symbols
    assert wanted(collective) == values
    assert len(collective.blocks) == blocks
    assert collective.busbw == busbw
    assert collective.root == (k if rooted else None)
    assert collective.arguments == (*operator, *number)
    assert (collective.name, collective.ranks) == (name, n)
    assert (it.operator and it.operator.name) == (operator[0] if operator else None)
    for block in collective.blocks:
        assert [s.indices for s in block.symbols] == sorted(s.indices for s in block.symbols)
        assert [w.indices for w in block.wants] == sorted(w.indices for w in block.wants)
        assert all(symbol.rank == symbol.indices[0] for symbol in block.symbols)
        assert all(want.rank == want.indices[0] for want in block.wants)
    firsts = [block.symbols[0].indices for block in collective.blocks]
    assert firsts == sorted(firsts)


def test_the_library_has_the_ten() -> None:
    assert len(collectives()) == 10


def own(text: str, call: str, n: int = 4) -> Collective:
    module = load(Source("test", f"{text}\nplan {{ synthesize {call} on ring({n}) }}"))
    (plan,) = module.plans
    assert isinstance(plan, Problem)
    return plan.collective


def test_blocks_are_the_symbols_that_meet() -> None:
    it = own(
        "collective halves(op) { given x[r, c] want y[r, c] = op(x[s, c] for s in ranks if"
        " s % 2 == r % 2) }",
        "halves(sum)",
        6,
    )
    assert [[s.rank for s in block.symbols] for block in it.blocks] == [[0, 2, 4], [1, 3, 5]]
    assert [[w.rank for w in block.wants] for block in it.blocks] == [[0, 2, 4], [1, 3, 5]]
    assert it.blocks[1].wants[2].symbols == (0, 1, 2)


def test_symbols_nobody_wants_have_blocks_without_wants() -> None:
    it = own("collective odd { given x[r, c] want y[0, c] = x[1, c] }", "odd", 3)
    assert [len(block.wants) for block in it.blocks] == [0, 1, 0]


def test_the_order_of_a_combination_is_that_of_its_loops() -> None:
    it = own(
        "collective back(op) { given x[r, c] want y[r, c] = op(x[n - 1 - s, c] for s in ranks) }",
        "back(sum)",
    )
    assert it.blocks[0].wants[0].symbols == (3, 2, 1, 0)


def test_overlapping_chains_are_one_block() -> None:
    it = own(
        "collective near(op) { given x[r, c] want y[r, c] = op(x[(r + k) % n, c] for k in 0..2) }",
        "near(sum)",
    )
    assert len(it.blocks) == 1
    assert wanted(it)[3,] == ((3,), (0,))


def test_parameters_by_name_with_defaults_and_factors() -> None:
    text = (
        "collective odd(op, by, root = 1) { given x[root, k, c] want y[r, c] = op(x[root, s, c]"
        " for s in ranks if s != by) busbw by / (n + 3) }"
    )
    it = own(text, "odd(by = 2, op = min)")
    assert it.arguments == ("min", "2", "1")
    assert it.root == 1
    assert it.busbw == Fraction(2, 7)
    assert wanted(it)[3,] == ((1, 0), (1, 1), (1, 3))


def test_a_collective_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="9000 \\*\\* 2 values"):
        problem("line(9000)", "all_gather", ())
    monkeypatch.setattr(loops, "TURNS", 400)
    assert problem("line(20)", "reduce_scatter", ("sum",)).collective.combines
    monkeypatch.setattr(loops, "TURNS", 399)
    with pytest.raises(InputError, match="too many turns"):
        problem("line(20)", "reduce_scatter", ("sum",))
    # All wanted values of an all-reduce are one sum, which is gone through once.
    monkeypatch.setattr(loops, "TURNS", 20)
    assert problem("line(20)", "all_reduce", ("sum",)).collective.combines


def test_two_operators_are_one_too_many() -> None:
    text = (
        "collective odd(op, po) { given x[r, c] want y[0, c] = op(x[s, c] for s in ranks)"
        " want y[1, c] = po(x[s, c] for s in ranks) }"
    )
    with pytest.raises(InputError, match="collective 'odd' has 2 operators"):
        own(text, "odd(sum, max)")
    with pytest.raises(InputError, match="collective 'odd' has 2 operators"):
        own(text, "odd(sum, sum)")
    assert own(text.replace("po", "op").replace("op, op", "op"), "odd(sum)").arguments == ("sum",)


def test_several_wants_are_one_family() -> None:
    it = own(
        "collective ends(op) { given x[r, c] want y[0, 0, c] = op(x[s, c] for s in ranks)"
        " want y[r, 1, c] = x[r - 1, c] for r in 1..n if r % 2 == 1 }",
        "ends(max)",
    )
    assert wanted(it) == {(0, 0): ((0,), (1,), (2,), (3,)), (1, 1): ((0,),), (3, 1): ((2,),)}
    assert len(it.blocks) == 1


def test_a_condition_is_no_index() -> None:
    text = "collective odd { given x[r, c] want y[r, c] = x[r == 0, c] }"
    with pytest.raises(InputError, match="an index is a condition"):
        own(text, "odd")


@pytest.mark.parametrize(
    ("collective", "arguments"),
    [
        ("all_gather", ()),
        ("all_reduce", ("sum",)),
        ("reduce_scatter", ("sum",)),
        ("broadcast", ("2",)),
        ("all_to_all", ()),
        ("scan", ("sum",)),
    ],
)
def test_what_all_ranks_want_alike_needs_no_entry_for_each(
    monkeypatch: pytest.MonkeyPatch, collective: str, arguments: tuple[str, ...]
) -> None:
    usual = problem("complete(5)", collective, arguments).collective
    monkeypatch.setattr(collectives_module, "_MANY", 0)
    short = problem("complete(5)", collective, arguments).collective
    shortened = collective in ("all_gather", "all_reduce", "broadcast")
    assert any(isinstance(block.wants, Spread) for block in short.blocks) == shortened
    for ours, theirs in zip(short.blocks, usual.blocks, strict=True):
        assert ours.symbols == theirs.symbols
        assert tuple(ours.wants) == tuple(theirs.wants)
        assert list(ours.families()) == list(theirs.families())
        assert ours.wants[1:3] == theirs.wants[1:3]
    assert (short.units, short.combines) == (usual.units, usual.combines)
    for rank in range(5):
        assert short.outputs(rank) == usual.outputs(rank)


def test_groups_of_many_are_spread_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectives_module, "_MANY", 0)
    it = problem("complete(4)", "all_gather within [[1, 3], [2, 0]]", ()).collective
    assert [[(w.rank, w.indices) for w in block.wants] for block in it.blocks] == [
        [(1, (0, 0)), (3, (1, 0))],
        [(1, (0, 1)), (3, (1, 1))],
        [(2, (0, 0)), (0, (1, 0))],
        [(2, (0, 1)), (0, (1, 1))],
    ]


def test_thousands_of_ranks_are_no_matter() -> None:
    it = problem("switch(3000)", "all_gather", ()).collective
    assert (len(it.blocks), it.units, len(it.blocks[7].wants)) == (3000, 3000, 3000)
    assert it.blocks[7].wants[2999] == Want(2999, (2999, 7), (0,))
