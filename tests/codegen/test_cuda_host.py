"""The very CUDA C++ text, run on the CPU against NumPy, bit for bit."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roundelay.codegen.cuda_backend import emit
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.operators import UnsupportedOperatorError
from roundelay.dsl.model import Apply, Number, Variable, scalar_body
from roundelay.runtime.gpu_launch import choose_grid, make_table, read_plan
from tests.arrays import evaluate
from tests.gpu_programs import (
    AVG,
    EXACT,
    PREMULSUM,
    SHIFTED,
    ZERO,
    apply_one,
    bare_numbers,
    every_function,
    fill_randomly,
    find_difference,
    gather_all,
    reduce_all,
    scatter_trees,
)
from tests.host_shim import Kernels, compile_host, needs_compiler
from tests.schedules import MAX, MIN, PROD, SUM

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Function, Operator

pytestmark = needs_compiler

LENGTHS = (0, 1, 7, 16, 61, 257, 1009)


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=lambda e: e.name)
def test_all_elements_lengths_and_offsets(element: Element) -> None:
    kernels = Kernels(scatter_trees(11, SUM), element)
    assert {shape.operands > 16 for shape in kernels.fused.shapes} == {True, False}
    for count in LENGTHS:
        kernels.check(count, (0,), 4, 3)
        kernels.check(count, (0, 1, 3), 5, 1)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u64"])
def test_every_function(element: str) -> None:
    kind = ELEMENTS[element]
    operator = every_function(divides=not kind.exact)
    kernels = Kernels(scatter_trees(12, operator, widest=5), kind)
    for count in (61, 640):
        kernels.check(count, (0,), 4, 2)


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "i8", "u8", "i32", "u32", "i64", "u64"])
def test_functions_one_by_one(name: str) -> None:
    element = ELEMENTS[name]
    for function in EXACT[element.exact]:
        kernels = Kernels(reduce_all(2, apply_one(function)), element)
        shifts = function in ("shl", "shr")
        for count in (61, 1009):
            inputs = [kernels.allocate(1, count, 0) for _ in range(2)]
            outputs = [kernels.allocate(1, count, 1) for _ in range(2)]
            fill_randomly(element, inputs, count)
            # Amounts around the width and below zero, and quotients that overflow.
            few = np.arange(count) % (16 * element.bytes + 5) - (0 if name[0] == "u" else 3)
            inputs[1][:] = few.astype(element.dtype) if shifts else inputs[1]
            wanted = evaluate(kernels.fused, element, inputs, count)
            kernels.run(inputs, outputs, count, 4, 2)
            assert not find_difference(element, outputs, wanted), function


def test_numbers_take_the_type_of_what_stands_beside_them() -> None:
    for name in ("f16", "f64", "i8", "u64"):
        kernels = Kernels(scatter_trees(13, bare_numbers(), widest=17), ELEMENTS[name])
        kernels.check(640, (0, 1), 4, 2)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "i8", "i64", "u32"])
@pytest.mark.parametrize("operator", [AVG, PREMULSUM, SHIFTED], ids=lambda op: op.name)
def test_prepared_and_finished(operator: Operator, name: str) -> None:
    element = ELEMENTS[name]
    if operator is PREMULSUM and element.exact:
        with pytest.raises(UnsupportedOperatorError, match=r"1/2, which is no"):
            emit(reduce_all(2, operator), element)
        return
    for fused in (scatter_trees(14, operator, widest=17), gather_all(2, 2, operator)):
        assert not any(map(fused.moves_bits, fused.shapes))
        kernels = Kernels(fused, element)
        for count in (61, 640):
            kernels.check(count, (0,), 4, 2)
            kernels.check(count, (0, 1), 4, 2)


def test_averages_of_integers_truncate() -> None:
    element = ELEMENTS["i8"]
    kernels = Kernels(reduce_all(3, AVG), element)
    values = np.array([-128, -5, -4, -1, 0, 1, 4, 5, 127], np.int8)
    arrays = [values, np.zeros_like(values), np.zeros_like(values)]
    outputs = [np.ones_like(values) for _ in arrays]
    kernels.run(arrays, outputs, len(values), 2, 1)
    assert outputs[2].tolist() == [-42, -1, -1, 0, 0, 0, 1, 1, 42]


def test_quotients_without_a_value() -> None:
    """The smallest integer by -1 wraps; by 0 anything is 0."""
    for name in ("i8", "i32", "i64"):
        element = ELEMENTS[name]
        least = int(np.iinfo(element.dtype).min)
        for divisor, wanted in ((Number(Fraction(-1)), least), (ZERO, 0)):
            finish = scalar_body(Apply("div", (Variable(0), divisor)))
            kernels = Kernels(gather_all(1, 1, replace(SUM, finish=finish)), element)
            array, output = np.full(3, least, element.dtype), np.ones(3, element.dtype)
            kernels.run([array], [output], 3, 1, 1)
            assert output.tolist() == [wanted] * 3


def test_more_values_than_the_element_counts() -> None:
    with pytest.raises(UnsupportedOperatorError, match="128"):
        emit(reduce_all(128, AVG), ELEMENTS["i8"])
    assert "rl_finish_all" in emit(reduce_all(127, AVG), ELEMENTS["i8"]).files[0][1]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("function", ["exp", "log", "logaddexp"])
def test_transcendental_functions(function: Function, name: str) -> None:
    """Any bits, infinities and NaN, and what meets what; within a few units of the last place."""
    element = ELEMENTS[name]
    kernels = Kernels(reduce_all(2, apply_one(function)), element, close=4)
    inf = float("inf")
    special = [0.0, -0.0, 1.0, -1.0, inf, -inf, float("nan"), 80.0, -80.0, 1e-5]
    pairs = np.array([(x, y) for x in special for y in special])
    count = len(pairs) + 5000
    inputs = [kernels.allocate(1, count, 0) for _ in range(2)]
    outputs = [kernels.allocate(1, count, 0) for _ in range(2)]
    fill_randomly(element, inputs, 3)
    for array, column in zip(inputs, pairs.T, strict=True):
        array[: len(pairs)] = column.astype(element.dtype)
    wanted = evaluate(kernels.fused, element, inputs, count)
    assert np.isinf(wanted[0].astype(np.float64)).any()
    kernels.run(inputs, outputs, count, 4, 2)
    assert not find_difference(element, outputs, wanted, kernels.close)


def test_logaddexp_is_stable() -> None:
    """Where neither overflow nor cancellation may show; infinities that are equal stay."""
    kernels = Kernels(reduce_all(2, apply_one("logaddexp")), ELEMENTS["f32"])
    inf = float("inf")
    rows = [
        (1000.0, 1000.0, 1000.0 + math.log(2)), (-1000.0, -1000.0, -1000.0 + math.log(2)),
        (0.0, -20.0, math.log1p(math.exp(-20))), (-inf, -inf, -inf), (inf, inf, inf),
        (inf, -inf, inf), (-inf, 3.0, 3.0), (1e30, -1e30, 1e30),
    ]  # fmt: skip
    inputs = [np.array([row[n] for row in rows], np.float32) for n in range(2)]
    outputs = [np.zeros_like(inputs[0]) for _ in range(2)]
    kernels.run(inputs, outputs, len(rows), 4, 2)
    wanted = np.array([row[2] for row in rows], np.float32)
    np.testing.assert_array_max_ulp(outputs[0], wanted, 2)


@pytest.mark.parametrize("element", ["f32", "bf16", "i8"])
@pytest.mark.parametrize("operator", [PROD, MIN, MAX], ids=lambda op: op.name)
def test_library_operators(operator: Operator, element: str) -> None:
    kernels = Kernels(reduce_all(4, operator, 2), ELEMENTS[element])
    for count in (61, 6400):
        kernels.check(count, (0,), 4, 2)


@pytest.mark.parametrize("element", ["f32", "bf16", "i64"])
@pytest.mark.parametrize("ranks", [2, 8, 17])
def test_in_place(element: str, ranks: int) -> None:
    # Optimised, so that a load moved behind a store would show.
    kernels = Kernels(reduce_all(ranks, SUM, 3), ELEMENTS[element], "-O2")
    for count in LENGTHS:
        for skip in (0, 1):
            kernels.check_in_place(count, skip)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_every_half_survives(element: str) -> None:
    """x + (-0) = x for all 65536 patterns."""
    kernels = Kernels(reduce_all(2, SUM), ELEMENTS[element])
    every = np.arange(1 << 16, dtype=np.uint16).view(ELEMENTS[element].dtype)
    zero = np.full(1 << 16, -0.0).astype(every.dtype)
    outputs = [np.zeros_like(every) for _ in range(2)]
    kernels.run([every, zero], outputs, 1 << 16, 64, 2)
    assert not find_difference(kernels.element, outputs, [every, every])


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("operator", [SUM, PROD], ids=["sum", "prod"])
def test_rounding_of_halves(element: str, operator: Operator) -> None:
    """Random pairs of all magnitudes: ties, subnormal results, overflow."""
    kernels = Kernels(reduce_all(2, operator), ELEMENTS[element])
    rng = np.random.default_rng(5)
    count = 1 << 19
    arrays = [
        rng.integers(0, 1 << 16, count, np.uint16).view(kernels.element.dtype) for _ in range(2)
    ]
    outputs = [np.zeros_like(arrays[0]) for _ in range(2)]
    wanted = evaluate(kernels.fused, kernels.element, arrays, count)
    size = np.abs(wanted[0].astype(np.float32))
    normal = {"f16": 2.0**-14, "bf16": 2.0**-126}[element]
    assert ((size > 0) & (size < normal)).sum() > 20
    assert np.isinf(size).sum() > 20
    kernels.run(arrays, outputs, count, 256, 4)
    assert not find_difference(kernels.element, outputs, wanted)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_any_float_is_narrowed(element: str) -> None:
    """Random floats and the NaN that devices make, whose bits all but carry into the sign."""
    kind = ELEMENTS[element]
    _, text = emit(reduce_all(2, SUM), kind).files[0]
    library = compile_host(
        text
        + 'extern "C" void narrow(const float* from, rl_bits* to, long long n)\n'
        + "{ for (long long i = 0; i < n; i++) to[i] = $narrow(from[i]); }\n".replace(
            "$narrow", f"rl_narrow_{element}"
        ),
        "-O1",
    )
    bits = np.random.default_rng(6).integers(0, 1 << 32, 1 << 20, np.uint32)
    bits[:4] = 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001
    bits[4:] >>= np.tile([0, 0, 3], len(bits))[: len(bits) - 4].astype(np.uint32)
    values = bits.view(np.float32)
    got = np.zeros(len(values), kind.dtype)
    library.narrow(
        ctypes.c_void_p(values.ctypes.data),
        ctypes.c_void_p(got.ctypes.data),
        ctypes.c_longlong(len(values)),
    )
    with np.errstate(all="ignore"):
        wanted = values.astype(kind.dtype)
    assert not find_difference(kind, [got], [wanted])
    assert (got[:4] != got[:4]).all()


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "i8", "f64"])
def test_copies_keep_every_bit(element: str) -> None:
    """Signalling NaNs too, through packs and through single elements."""
    kernels = Kernels(gather_all(3, 2), ELEMENTS[element])
    for count, skip in ((1000, 0), (1000, 1), (1001, 0)):
        inputs = [kernels.allocate(1, count, skip) for _ in range(3)]
        for rank, array in enumerate(inputs):
            raw = np.random.default_rng(rank).integers(0, 256, array.nbytes, np.uint8)
            array.view(np.uint8)[:] = raw
        outputs = [kernels.allocate(3, count, skip) for _ in range(3)]
        kernels.run(inputs, outputs, count, 8, 2)
        for output in outputs:
            assert output.tobytes() == b"".join(array.tobytes() for array in inputs)


def test_grid_fits_the_work() -> None:
    fused = reduce_all(2, SUM, 4)
    plan = read_plan(emit(fused, ELEMENTS["f32"]), "cuda", ELEMENTS["f32"])
    table = make_table(plan, plan.kernels[0], 1 << 20, [0, 1 << 30], [0, 1 << 30])
    assert choose_grid(plan, table, 256, 1056) == (256, 4)
    assert choose_grid(plan, table, 256, 100) == (25, 4)
    assert choose_grid(plan, table[:, :], 1 << 20, 1) == (1, 4)


def test_addresses_beyond_32_bits() -> None:
    """Units of more than 2^32 elements: chunks tile the unit and no product wraps."""
    fused = scatter_trees(1, SUM)
    element = ELEMENTS["f64"]
    plan = read_plan(emit(fused, element), "cuda", element)
    count = (1 << 33) + 5
    bases = [r << 44 for r in range(fused.problem.collective.ranks)]
    seen: dict[int, int] = {}
    for kernel, shape in zip(plan.kernels, fused.shapes, strict=True):
        table = make_table(plan, kernel, count, bases, bases)
        for row, line in zip(shape.rows, table.tolist(), strict=True):
            for place, address in zip((*row.sources, *row.targets), line[1:], strict=True):
                start = address - bases[place.rank] - place.unit * count * 8
                assert 0 <= start <= (count - line[0]) * 8
            for address in line[1 + shape.operands :]:
                assert address not in seen
                seen[address] = line[0]
    units = sum(len(fused.problem.collective.outputs(r)) for r in range(len(bases)))
    assert sum(seen.values()) == units * count
