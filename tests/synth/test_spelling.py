"""Rows too heavy for a solver: spelt out they mean the same, and no query fails for them."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from roundelay.dsl.model import Link, Rank, Topology
from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.model import Model, TooLargeError
from roundelay.synth.exact.pool import Pool
from roundelay.synth.exact.spelling import spell_out
from roundelay.synth.schedule import Found, Impossible, Query

from .problems import SUM, all_gather, ask


@pytest.mark.parametrize("heavy", [30, 10**12])
def test_a_spelt_row_means_the_same(heavy: int) -> None:
    chance = random.Random(7)
    answers = set()
    for _ in range(25):
        model = Model()
        names = [model.new() for _ in range(4)]
        terms = [(chance.randint(1, heavy), name * chance.choice((1, -1))) for name in names]
        limit = chance.choice((chance.randint(0, 2 * heavy), sum(w for w, _ in terms[:2])))
        model.at_most(terms, limit)
        spelt = spell_out(model, 20)
        assert all(sum(weight for weight, _ in row) <= 20 for row, _ in spelt.rows)
        for row in itertools.product((False, True), repeat=4):
            total = sum(w for w, literal in terms if row[abs(literal) - 1] == (literal > 0))
            fixed = Model(spelt.variables, list(spelt.clauses), spelt.groups, spelt.rows)
            for name, value in zip(names, row, strict=True):
                fixed.clause(name if value else -name)
            answer = cpsat_door.decide(fixed, 10, 0, lambda _: None)
            assert isinstance(answer, list) == (total <= limit)
            answers.add(total <= limit)
    assert answers == {True, False}


def test_light_rows_stay_and_a_common_divisor_is_enough() -> None:
    model = Model()
    names = [model.new() for _ in range(3)]
    model.at_most([(1, name) for name in names], 2)
    assert spell_out(model, 10) is model
    model.at_most([(10**9, name) for name in names], 2 * 10**9 + 5)
    assert spell_out(model, 10).rows == [model.rows[0], (model.rows[0][0], 2)]


def test_what_is_spelt_out_counts_as_part_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    model.at_most([(10**9 + i, model.new()) for i in range(9)], 10**9)
    monkeypatch.setattr("roundelay.synth.exact.model.LARGEST", 200)
    with pytest.raises(TooLargeError):
        spell_out(model, 10)


@pytest.mark.parametrize("solver", ["cpsat", "cpsat-lp", "z3", "z3-fd"])
def test_bandwidths_without_a_common_measure(solver: str) -> None:
    """Their loads in rounds have a common denominator of a hundred bits."""
    speeds = [2**31 - 1, 10**9 + 7, 998244353, 1000003 * 1009, 999999937, 777777777]
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    links = tuple(
        Link(a, b, 1, Fraction(speed), Fraction(0))
        for (a, b), speed in zip(pairs, speeds, strict=True)
    )
    machine = Topology("odd", tuple(Rank(f"r[{r}]") for r in range(3)), (), links)
    problem = ask(machine, all_gather(3), SUM)
    with Pool() as pool:
        most = solve(problem, Query(2, 2, Fraction(9, 5)), budget=20, solver=solver, pool=pool)
        less = solve(problem, Query(2, 2, Fraction(17, 10)), budget=20, solver=solver, pool=pool)
    assert isinstance(most, Found)
    assert isinstance(less, Impossible)
    assert less.certificate.kind == "search"  # The bound is 1.557 rounds: a solver said so.
