from __future__ import annotations

import platform
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.runtime import interpreter, modules, numba_cpu
from roundelay.runtime.executors import BACKEND, EXECUTORS, load_executor
from tests.arrays import evaluate, expected, inputs_of, run, run_in_place
from tests.schedules import (
    COLLECTIVES,
    MAX,
    MIN,
    PROD,
    SCALED,
    SUM,
    all_gather,
    broadcast,
    doubling_all_reduce,
    problem,
    random_schedule,
    ring_all_reduce,
    two_shot_all_reduce,
)

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program
    from roundelay.dsl.model import Operator
    from roundelay.runtime.executor import Array
    from roundelay.synth.schedule import Schedule


def loaded(program: Program, element: Element) -> numba_cpu.NumbaCpu:
    return numba_cpu.load(emit(fuse(program), element), program, element)


def as_bytes(arrays: list[Array]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def verify(schedule: Schedule, element: Element, counts: tuple[int, ...], seed: int = 0) -> None:
    """Out of place and in place against the trees in NumPy; integers against the wants too."""
    program = lower(schedule)
    executor = loaded(program, element)
    for count in counts:
        given = inputs_of(schedule.problem, element, count, seed)
        right = as_bytes(evaluate(fuse(program), element, given, count))
        assert as_bytes(run(executor, schedule.problem, element, count, given)) == right
        placed = run_in_place(executor, schedule.problem, element, count, given)
        assert placed is None or as_bytes(placed) == right
        if element.exact:
            assert as_bytes(expected(schedule.problem, element, given, count)) == right


COUNTS = (0, 1, 2, 3, 4, 5, 31, 997)


@pytest.mark.parametrize("name", sorted(ELEMENTS))
def test_every_element_type_sums_right(name: str) -> None:
    verify(ring_all_reduce(3, 4), ELEMENTS[name], COUNTS)


@pytest.mark.parametrize(
    ("name", "operator"),
    [("f16", MIN), ("f16", SCALED), ("i8", PROD), ("i8", SCALED), ("u64", MAX), ("bf16", MAX)],
)
def test_every_operator_is_right(name: str, operator: Operator) -> None:
    verify(random_schedule(COLLECTIVES["all_reduce"](3), operator, 2, 1), ELEMENTS[name], (33,))


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_many_ranks_go_through_tiles(name: str) -> None:
    verify(ring_all_reduce(18, 2), ELEMENTS[name], (1, 4097, 9001))


def test_a_balanced_tree_of_many_ranks_goes_through_tiles() -> None:
    verify(doubling_all_reduce(32), ELEMENTS["f32"], (5000,))


def test_a_value_wanted_in_many_places_goes_there() -> None:
    schedule = random_schedule(broadcast(20), None, 2, 3)
    verify(schedule, ELEMENTS["f64"], (0, 1, 5001))


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_copies_keep_every_bit(element: str) -> None:
    """Signalling NaNs, subnormals and all: a copy does not pass through a conversion."""
    kind = ELEMENTS[element]
    schedule = random_schedule(all_gather(3), SUM, 2, 5)
    program = lower(schedule)
    count = 65536 // 3 + 1
    every = np.arange(3 * count, dtype=np.uint64).astype(f"u{kind.bytes}").view(kind.dtype)
    given = [every[r * count : (r + 1) * count] for r in range(3)]
    for executor in (loaded(program, kind), interpreter.load(None, program, kind)):
        for made in run(executor, schedule.problem, kind, count, given):
            assert made.tobytes() == every.tobytes()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_every_sixteen_bit_value_is_widened_and_rounded_as_numpy_does(name: str) -> None:
    """x + 0 over all x, and x + y for sums that fall between two values and on ties."""
    element = ELEMENTS[name]
    schedule = ring_all_reduce(2, 1)
    program = lower(schedule)
    executor = loaded(program, element)
    every = np.arange(65536, dtype=np.uint16).view(element.dtype)
    random = np.random.default_rng(1).permutation(65536).astype(np.uint16).view(element.dtype)
    for other in (np.zeros_like(every), random, np.roll(every, 1), np.roll(every, 1024)):
        made = run(executor, schedule.problem, element, 65536, [every, other])[0]
        with np.errstate(all="ignore"):
            right = (every.astype(np.float32) + other.astype(np.float32)).astype(element.dtype)
        nan = np.isnan(right.astype(np.float32))
        assert np.array_equal(np.isnan(made.astype(np.float32)), nan)
        assert made[~nan].tobytes() == right[~nan].tobytes()
        # A NaN stays one, and quiet, whatever its payload was.
        quiet = 0x0200 if name == "f16" else 0x0040
        assert np.all(made[nan].view(np.uint16) & quiet)


def test_sixteen_bits_are_accumulated_in_thirty_two_and_rounded_once() -> None:
    element = ELEMENTS["bf16"]
    schedule = ring_all_reduce(8, 1)
    given = inputs_of(schedule.problem, element, 4)
    for rank, array in enumerate(given):
        array[:] = 256 if rank == 0 else 1
    made = run(loaded(lower(schedule), element), schedule.problem, element, 4, given)
    assert {float(value) for array in made for value in array} == {264.0}


@pytest.mark.parametrize("operator", [MIN, MAX], ids=lambda op: op.name)
def test_a_nan_on_any_rank_is_a_nan_everywhere(operator: Operator) -> None:
    element = ELEMENTS["f32"]
    schedule = ring_all_reduce(4, 1, operator)
    program = lower(schedule)
    kernels, oracle = loaded(program, element), interpreter.load(None, program, element)
    given: list[Array] = [np.full(40, value, np.float32) for value in (1, 2, 3, 4)]
    for rank in range(4):
        given[rank][rank * 9 : rank * 9 + 9] = np.nan
    made = run(kernels, schedule.problem, element, 40, list(given))
    assert as_bytes(made) == as_bytes(run(oracle, schedule.problem, element, 40, list(given)))
    for array in made:
        assert np.isnan(array[:36]).all()
        assert list(array[36:]) == [1 if operator is MIN else 4] * 4


def test_zeros_of_both_signs_give_the_same_bytes_as_the_interpreter() -> None:
    element = ELEMENTS["f32"]
    zeros = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0] * 7, np.float32)
    for operator in (MIN, MAX):
        schedule = two_shot_all_reduce(3, 1, operator)
        program = lower(schedule)
        given = [zeros, np.roll(zeros, 1), np.roll(zeros, 3)]
        made = run(loaded(program, element), schedule.problem, element, 42, list(given))
        oracle = interpreter.load(None, program, element)
        right = run(oracle, schedule.problem, element, 42, list(given))
        assert as_bytes(made) == as_bytes(right)


def test_integers_wrap_and_subnormals_stay() -> None:
    for name, values, right in (
        ("i8", (120, 100), -36), ("u8", (250, 10), 4), ("f32", (1e-45, 1e-45), 2.8e-45),
    ):  # fmt: skip
        element = ELEMENTS[name]
        schedule = ring_all_reduce(2, 1)
        given = [np.full(3, value).astype(element.dtype) for value in values]
        made = run(loaded(lower(schedule), element), schedule.problem, element, 3, given)
        assert made[0].tobytes() == np.full(3, right).astype(element.dtype).tobytes()
    product = ring_all_reduce(2, 1, PROD)
    given = [np.full(3, 65536, np.int32)] * 2
    executor = loaded(lower(product), ELEMENTS["i32"])
    assert not run(executor, product.problem, ELEMENTS["i32"], 3, list(given))[0].any()


def test_a_prefix_does_not_depend_on_what_follows() -> None:
    element = ELEMENTS["f32"]
    schedule = two_shot_all_reduce(4, 1)
    executor = loaded(lower(schedule), element)
    long = inputs_of(schedule.problem, element, 5003)
    short = [array[:1000].copy() for array in long]
    whole = run(executor, schedule.problem, element, 5003, long)
    part = run(executor, schedule.problem, element, 1000, short)
    assert as_bytes(part) == [array[:1000].tobytes() for array in whole]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_any_size_without_a_gap(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba_cpu, "THREADED_BYTES", 0)
    monkeypatch.setattr(numba_cpu, "_threads", lambda: threads)
    verify(ring_all_reduce(3, 5), ELEMENTS["i32"], (0, 1, 4, 19, 20, 21, 1009))


def test_one_rank_in_place_and_another_not_is_right_too() -> None:
    element = ELEMENTS["i32"]
    schedule = ring_all_reduce(3, 2)
    given = inputs_of(schedule.problem, element, 100)
    right = expected(schedule.problem, element, given, 100)
    outputs = [given[0], np.zeros(100, np.int32), given[2]]
    loaded(lower(schedule), element).bind(given, outputs)()
    assert as_bytes(outputs) == as_bytes(right)


@pytest.mark.parametrize("element", ["f16", "f32", "i8"])
def test_buffers_need_no_more_alignment_than_their_elements(element: str) -> None:
    kind = ELEMENTS[element]
    schedule = ring_all_reduce(3, 2)
    executor = loaded(lower(schedule), kind)
    given = inputs_of(schedule.problem, kind, 4097)
    right = as_bytes(run(executor, schedule.problem, kind, 4097, given))
    for skip in (1, 3):
        inputs = [np.concatenate([array[:skip], array])[skip:] for array in given]
        outputs = [np.zeros(4097 + skip + rank, kind.dtype)[skip + rank :] for rank in range(3)]
        executor.bind(inputs, outputs)()
        assert as_bytes(outputs) == right


def test_a_launch_may_be_called_again_with_other_values() -> None:
    element = ELEMENTS["i64"]
    schedule = ring_all_reduce(3, 2)
    inputs = inputs_of(schedule.problem, element, 50)
    outputs = [np.zeros(50, np.int64) for _ in range(3)]
    launch = loaded(lower(schedule), element).bind(inputs, outputs)
    for seed in range(3):
        for array, value in zip(
            inputs, inputs_of(schedule.problem, element, 50, seed), strict=True
        ):
            array[:] = value
        launch()
        assert as_bytes(list(outputs)) == as_bytes(expected(schedule.problem, element, inputs, 50))


def test_wrong_artifacts_are_refused() -> None:
    program = lower(ring_all_reduce(2, 1))
    artifact = emit(fuse(program), ELEMENTS["f32"])
    with pytest.raises(ValueError, match="needs an artifact"):
        numba_cpu.load(None, program, ELEMENTS["f32"])
    with pytest.raises(ValueError, match="needs an artifact"):
        numba_cpu.load(replace(artifact, backend="cuda"), program, ELEMENTS["f32"])
    with pytest.raises(ValueError, match="is for f32, not for i32"):
        numba_cpu.load(artifact, program, ELEMENTS["i32"])


def test_the_table_loads_executors_by_name() -> None:
    program = lower(ring_all_reduce(2, 1))
    element = ELEMENTS["f32"]
    assert set(BACKEND) == set(EXECUTORS)
    assert "NumPy" in load_executor("interpreter", None, program, element).device
    artifact = emit(fuse(program), element)
    assert "threads" in load_executor("numba-cpu", artifact, program, element).device
    with pytest.raises(KeyError):
        load_executor("abacus", None, program, element)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
@pytest.mark.parametrize(
    ("schedule", "element", "instruction"),
    [
        (ring_all_reduce(8, 1), "f32", "addps"),
        (ring_all_reduce(8, 1), "bf16", "addps"),
        (ring_all_reduce(18, 1), "f32", "addps"),
        (ring_all_reduce(4, 1, MIN), "f32", "ps"),
        (ring_all_reduce(3, 1), "i8", "paddb"),
    ],
)
def test_loops_are_vectorised(schedule: Schedule, element: str, instruction: str) -> None:
    """Compiled without the cache, from which no assembly can be read."""
    text = emit(fuse(lower(schedule)), ELEMENTS[element]).files[0][1]
    module = modules.import_generated(text.replace(", cache=True", ""), f"asm{hash(text):x}" * 4)
    for kernel in {*module.KERNELS, *module.IN_PLACE_KERNELS}:
        function = getattr(module, f"kernel{kernel}")
        words = np.zeros(1, np.int64)
        function(words, 0)
        (assembly,) = function.inspect_asm().values()
        assert instruction in assembly, kernel


def test_problems_without_an_operator_have_no_kernels_that_merge() -> None:
    fused = fuse(lower(random_schedule(all_gather(3), None, 1, 2)))
    assert problem(all_gather(3), None).operator is None
    assert "def op" not in emit(fused, ELEMENTS["f32"]).files[0][1]
