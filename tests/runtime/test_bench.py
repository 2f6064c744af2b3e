"""Measuring: every row is verified, and a wrong execution cannot pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Operator,
    Problem,
    Rank,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from roundelay.dsl.source import UnsupportedError
from roundelay.runtime.bench import Plan, Row, measure
from roundelay.runtime.executor import Array

Action = Callable[[Sequence[Array], Sequence[Array]], None]


def problem(n: int = 3) -> Problem:
    ranks = tuple(range(n))
    topology = Topology("bare", tuple(Rank(f"r[{r}]") for r in ranks), (), ())
    block = Block(tuple(Symbol((r,), r) for r in ranks), tuple(Want(r, (r,), ranks) for r in ranks))
    operator = Operator("sum", scalar_body(Apply("add", (Variable(0), Variable(1)))), None, True)
    return Problem(topology, Collective("all_reduce", ("sum",), n, (block,)), operator)


@dataclass
class Launch:
    action: Action
    inputs: Sequence[Array]
    outputs: Sequence[Array]

    def load(self) -> None: ...

    def __call__(self) -> None:
        self.action(self.inputs, self.outputs)

    def wait(self) -> None: ...

    def store(self) -> None: ...


@dataclass
class Executor:
    action: Action
    device: str = "a test"
    alike: bool = True
    bound: list[int] = field(default_factory=list)

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Launch:
        self.bound.append(len(inputs[0]))
        return Launch(self.action, inputs, outputs)


def right(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
    total = sum(array.copy() for array in inputs)
    for output in outputs:
        output[:] = total


def rows(action: Action, *sizes: int, **options: object) -> list[Row]:
    plan = Plan(sizes, iterations=1, **options)  # type: ignore[arg-type]
    return list(measure(problem(), ELEMENTS["f32"], Executor(action), plan))


def test_right_rows() -> None:
    found = rows(right, 0, 4, 8, 4004)
    assert [row.count for row in found] == [0, 1, 2, 1001]
    assert [row.size for row in found] == [0, 4, 8, 4004]
    assert all(row.wrong == 0 and row.first is None and row.in_place for row in found)


def test_sizes_that_round_to_one_count_are_one_row() -> None:
    assert [row.size for row in rows(right, 4, 5, 7, 8)] == [4, 8]


def test_the_common_value_of_ranks() -> None:
    assert [row.value for row in rows(right, 40, fill="rank")] == ["6.0"]
    assert [row.value for row in rows(right, 40)] == [None]


def spoil(rank: int, index: int) -> Action:
    def action(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        right(inputs, outputs)
        outputs[rank][index] += 1

    return action


@pytest.mark.parametrize(("rank", "index"), [(0, 0), (1, 7), (2, 999)])
def test_the_first_wrong_element_is_named(rank: int, index: int) -> None:
    (row,) = rows(spoil(rank, index), 4000)
    assert row.first is not None
    assert (row.first.rank, row.first.index) == (rank, index)
    assert row.wrong == 2  # One out of place, one in place.


def test_an_element_that_is_never_written_is_wrong() -> None:
    def lazy(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        total = np.sum(inputs, axis=0)
        for output in outputs:
            output[:-1] = total[:-1]

    (row,) = rows(lazy, 400)
    assert row.first is not None
    assert row.first.index == 99


def test_changing_an_input_is_wrong_out_of_place_only() -> None:
    def rude(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        right(inputs, outputs)
        if not np.shares_memory(inputs[1], outputs[1]):
            inputs[1][3] = 0

    (row,) = rows(rude, 400)
    assert row.first is not None
    assert "input" in row.first.why
    assert row.in_place is not None
    assert row.in_place.judgement is not None
    assert row.in_place.judgement.wrong == 0


def test_without_validation_nothing_is_claimed() -> None:
    (row,) = rows(spoil(0, 0), 400, check=False)
    assert row.out_of_place is not None
    assert row.out_of_place.judgement is None
    assert row.wrong == 0


def test_ranks_need_the_same_bytes_where_the_executor_promises_them() -> None:
    def drift(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        right(inputs, outputs)
        outputs[1][:] = np.nextafter(outputs[1], np.float32(100))

    for alike, wrong in ((True, 200), (False, 0)):
        executor = Executor(drift, alike=alike)
        (row,) = measure(
            problem(), ELEMENTS["f32"], executor, Plan((400,), iterations=1, fill="rank")
        )
        assert row.wrong == wrong


def test_in_place_alone_is_measured_where_the_plan_says_so() -> None:
    for wrong, action in ((0, right), (1, spoil(1, 7))):
        (row,) = rows(action, 4000, in_place=True)
        assert row.out_of_place is None
        assert row.in_place is not None
        assert row.wrong == wrong
    (row,) = rows(right, 40, in_place=True, fill="rank")
    assert row.value == "6.0"  # Of the first call, though every later one adds up results.


def test_a_collective_without_an_in_place_form_is_not_measured_in_place() -> None:
    block = Block((Symbol((0,), 0),), (Want(1, (1,), (0,)),))
    back = Block((Symbol((1,), 1),), (Want(0, (0,), (0,)),))
    swap = Collective("swap", (), 2, (block, back))
    swapped = Problem(problem(2).topology, swap, None)
    plan = Plan((4,), in_place=True)
    with pytest.raises(UnsupportedError, match="swap has no in-place form"):
        list(measure(swapped, ELEMENTS["f32"], Executor(right), plan))
