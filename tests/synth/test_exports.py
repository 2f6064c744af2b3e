"""Queries exported as OPB and SMT-LIB, read by others: Z3's command and a small reader."""

from __future__ import annotations

import itertools
import random
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ortools.sat.python import cp_model

from roundelay.synth.exact import cpsat_door
from roundelay.synth.exact.engine import solve
from roundelay.synth.exact.exports import export, to_opb, to_smt
from roundelay.synth.exact.model import Model
from roundelay.synth.exact.plan import encode
from roundelay.synth.exact.pool import Pool
from roundelay.synth.schedule import Certificate, Found, GaveUp, Impossible, Query

from .problems import (
    MAX,
    SUB,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    dgx1,
    line,
    machine,
    pcie_box,
    reduce,
    ring,
    scan,
    switched,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from roundelay.dsl.model import Problem

Rows = list[tuple[dict[int, int], int]]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1) as shared:
        yield shared


def z3_says(path: Path) -> str:
    """``sat`` or ``unsat``, from the command that comes with the solver."""
    beside = Path(sys.executable).with_name("z3")
    binary = str(beside) if beside.exists() else shutil.which("z3")
    if binary is None:
        pytest.skip("no z3 command here")
    done = subprocess.run([binary, "-T:60", str(path)], capture_output=True, text=True, check=False)
    words = [line for line in done.stdout.splitlines() if line in ("sat", "unsat", "unknown")]
    assert done.returncode == 0, done.stdout
    assert len(words) == 1, done.stdout
    return words[0]


def read_opb(text: str) -> tuple[int, Rows]:
    """The variables and rows of a file in the competition's format, read by its rules alone."""
    first, *lines = text.splitlines()
    head = re.fullmatch(r"\* #variable= (\d+) #constraint= (\d+)", first)
    assert head
    rows: Rows = []
    for each in lines:
        if each.startswith("*"):
            continue
        parts = re.fullmatch(r"((?:[+-]\d+ x[1-9]\d* )+)>= (-?\d+) ;", each)
        assert parts, each
        terms = re.findall(r"([+-]\d+) x(\d+)", parts[1])
        assert len({variable for _, variable in terms}) == len(terms)
        assert all(int(variable) <= int(head[1]) for _, variable in terms)
        rows.append(({int(variable): int(weight) for weight, variable in terms}, int(parts[2])))
    assert len(rows) == int(head[2])
    return int(head[1]), rows


def holds(rows: Rows, values: Sequence[bool]) -> bool:
    return all(
        sum(weight for variable, weight in row.items() if values[variable - 1]) >= least
        for row, least in rows
    )


def decide(variables: int, rows: Rows) -> bool:
    """Whether CP-SAT finds a solution of rows that were read from a file."""
    model = cp_model.CpModel()
    names = [model.new_bool_var("") for _ in range(variables)]
    for row, least in rows:
        model.add(sum(weight * names[variable - 1] for variable, weight in row.items()) >= least)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE)
    return bool(status != cp_model.INFEASIBLE)


def query(chunks: int, steps: int, rounds: int | Fraction) -> Query:
    return Query(chunks, steps, Fraction(rounds))


UNEVEN = machine(
    "uneven", 3, [(0, 1, 1, Fraction(1)), (1, 2, 2, Fraction(3, 2)), (2, 0, 1, Fraction(2))]
)
SMALL: list[tuple[Problem, Query, bool]] = [
    (ask(ring(4), all_gather(4)), query(1, 2, 2), True),
    (ask(ring(4), all_gather(4)), query(2, 2, 3), True),
    (ask(ring(5), all_reduce(5)), query(1, 2, 2), True),
    (ask(ring(5), all_reduce(5), MAX), query(1, 2, 2), True),
    (ask(ring(4), all_reduce(4)), query(1, 2, Fraction(3, 2)), False),
    (ask(complete(4), all_reduce(4)), query(2, 1, 1), False),
    (ask(complete(4), all_reduce(4), MAX), query(2, 1, 1), False),
    (ask(complete(4), all_to_all(4)), query(1, 1, 1), True),
    (ask(dgx1(), all_reduce(8)), query(2, 2, 2), True),
    (ask(dgx1(), all_gather(8)), query(3, 2, 4), False),
    (ask(line(4), reduce(4, 1)), query(2, 3, 3), True),
    (ask(line(4), broadcast(4)), query(2, 3, 3), False),
    (ask(ring(4), scan(4), SUB), query(1, 2, 1), False),
    (ask(ring(4), scan(4), SUB), query(1, 3, 3), True),
    (ask(pcie_box(), all_reduce(4)), query(1, 1, 4), True),
    (ask(switched(4), all_reduce(4)), query(1, 1, 2), False),
    (ask(UNEVEN, all_gather(3)), query(2, 2, 4), True),
]


@pytest.mark.parametrize(("problem", "asked", "possible"), SMALL)
def test_others_say_what_we_say(
    problem: Problem, asked: Query, possible: bool, pool: Pool, tmp_path: Path
) -> None:
    outcome = solve(problem, asked, budget=60, pool=pool, jobs=1)
    assert isinstance(outcome, Found if possible else Impossible)
    (opb, opb_text), (smt, smt_text) = export(problem, asked, outcome)
    for name, text in ((opb, opb_text), (smt, smt_text)):
        path = tmp_path / name
        path.write_text(text, encoding="ascii")
        assert z3_says(path) == ("sat" if possible else "unsat")
    assert decide(*read_opb(opb_text)) == possible


@pytest.mark.parametrize(("problem", "asked"), [row[:2] for row in SMALL if row[2]][:6])
def test_every_row_of_a_query_is_in_its_file(problem: Problem, asked: Query) -> None:
    """A solution of ours solves the file, and near it both refuse the same assignments."""
    model = encode(problem, asked, "full").model
    _, rows = read_opb(to_opb(model))
    values = cpsat_door.decide(model, 60, 0, lambda _: None)
    assert isinstance(values, list)
    assert holds(rows, values)
    chance = random.Random(5)
    refused = 0
    for _ in range(200):
        other = list(values)
        for place in chance.sample(range(len(other)), chance.randint(1, 3)):
            other[place] = not other[place]
        ours = model.holds(_reader(other))
        refused += not ours
        assert holds(rows, other) == ours
    assert refused > 20


def _reader(values: Sequence[bool]) -> Callable[[int], bool]:
    return lambda literal: values[abs(literal) - 1] == (literal > 0)


def _random_model(chance: random.Random) -> Model:
    model = Model()
    names = [model.new() for _ in range(5)]
    for _ in range(4):
        literals = [name * chance.choice((1, -1)) for name in chance.sample(names, 3)]
        if chance.random() < 0.2:
            literals[0] = -literals[1]  # A variable may stand in a row twice.
        kind = chance.randrange(3)
        if kind == 0:
            model.clause(*literals)
        elif kind == 1:
            model.at_most_one(literals)
        else:
            model.at_most([(chance.randint(-3, 3), x) for x in literals], chance.randint(-3, 3))
    return model


def _solutions(
    variables: int, accepts: Callable[[tuple[bool, ...]], bool]
) -> set[tuple[bool, ...]]:
    every = itertools.product((False, True), repeat=variables)
    return {values for values in every if accepts(values)}


def test_a_file_has_the_solutions_of_its_model_and_a_broken_one_has_not() -> None:
    chance = random.Random(8)
    broken = 0
    for _ in range(150):
        model = _random_model(chance)
        truth = _solutions(5, lambda values, m=model: m.holds(_reader(values)))  # type: ignore[misc]
        variables, rows = read_opb(to_opb(model))
        assert variables == 5
        assert _solutions(5, lambda values, r=rows: holds(r, values)) == truth  # type: ignore[misc]
        for number in range(len(rows)):
            row = rows[number][0]
            dropped = rows[:number] + rows[number + 1 :]
            # A row matters where some values break it alone: then its loss must show.
            alone = _solutions(
                5,
                lambda v, d=dropped, r=rows: holds(d, v) and not holds(r, v),  # type: ignore[misc]
            )
            seen = _solutions(5, lambda v, d=dropped: holds(d, v)) != truth  # type: ignore[misc]
            assert seen == bool(alone)
            broken += seen
            changed = [*dropped, (row, 1 + sum(max(0, weight) for weight in row.values()))]
            if truth:
                assert not _solutions(5, lambda v, c=changed: holds(c, v))  # type: ignore[misc]
    assert broken > 100


def test_both_files_of_a_random_model_agree_with_a_truth_table(tmp_path: Path) -> None:
    chance = random.Random(21)
    verdicts = set()
    for number in range(12):
        model = _random_model(chance)
        if number % 3 == 0:
            model.clause(1)
            model.at_most([(2, 1), (1, 2)], 1)  # Not 1, then.
        possible = any(
            model.holds(_reader(values)) for values in itertools.product((False, True), repeat=5)
        )
        verdicts.add(possible)
        for name, text in (("m.opb", to_opb(model)), ("m.smt2", to_smt(model))):
            path = tmp_path / name
            path.write_text(text, encoding="ascii")
            assert z3_says(path) == ("sat" if possible else "unsat")
    assert verdicts == {True, False}


def test_an_empty_clause_is_false_and_an_empty_model_true(tmp_path: Path) -> None:
    never, always = Model(), Model()
    never.clause()
    assert not decide(*read_opb(to_opb(never)))
    assert decide(*read_opb(to_opb(always)))
    for model, word in ((never, "unsat"), (always, "sat")):
        for name, text in (("m.opb", to_opb(model)), ("m.smt2", to_smt(model))):
            (tmp_path / name).write_text(text, encoding="ascii")
            assert z3_says(tmp_path / name) == word


def test_headers_say_what_it_is_and_nothing_of_a_user_leaves_its_line() -> None:
    problem = ask(machine("evil\n* #x= 1\n(exit)\u2028\x1b[31m", 2, [(0, 1, 1)]), all_reduce(2))
    outcome = Impossible(Certificate("search", Fraction(1), (), "because\nof\tthis"), "exact (Z3)")
    files = export(problem, query(1, 1, Fraction(1, 2)), outcome)
    for name, text in files:
        assert re.fullmatch(r"[A-Za-z0-9_-]+\.(opb|smt2)", name)
        assert text.isascii()
        assert all(c >= " " or c == "\n" for c in text)
        comments = [each for each in text.splitlines() if each.startswith(("*", ";"))]
        said = "\n".join(comments)
        assert "evil?* #x= 1?(exit)" in said
        assert "because?of?this" in said
        assert "1 chunks, 1 steps, at most 1/2 rounds" in said
        assert "all schedules of messages from rank to rank" in said
    assert sum(text.count("\n(exit)") for _, text in files) == 0
    read_opb(files[0][1])


def test_the_status_is_what_is_known() -> None:
    problem, asked, _ = SMALL[0]
    unknown = GaveUp("no time", "exact")
    assert "(set-info :status unknown)" in export(problem, asked, unknown)[1][1]
    never = Impossible(Certificate("cut", Fraction(1)), "bound")
    assert "(set-info :status unsat)" in export(problem, asked, never)[1][1]
