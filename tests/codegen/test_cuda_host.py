"""The very CUDA C++ text, run on the CPU against NumPy, bit for bit."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from roundelay.codegen.cuda_backend import emit
from roundelay.codegen.elements import ELEMENTS
from roundelay.runtime.gpu_launch import choose_grid, make_table, read_plan
from tests.gpu_programs import (
    MAX,
    MIN,
    PROD,
    SUM,
    compute,
    every_function,
    fill_randomly,
    find_difference,
    gather_all,
    reduce_all,
    scatter_trees,
)
from tests.host_shim import compile_host, launch_host, needs_compiler

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.codegen.fused import Fused
    from roundelay.dsl.model import Operator

pytestmark = needs_compiler

LENGTHS = (0, 1, 7, 16, 61, 257, 1009)


class Kernels:
    """The text of a fused program compiled for the host; runs on buffers at any offset."""

    def __init__(self, fused: Fused, element: Element, *options: str) -> None:
        artifact = emit(fused, element)
        self.fused, self.element = fused, element
        self.plan = read_plan(artifact, "cuda", element)
        self.library = compile_host(self.plan.text, *options)

    def allocate(self, units: int, count: int, skip: int) -> Any:
        """An array whose first element is ``skip`` elements after an address divisible by 16."""
        raw = np.zeros((units * count + skip) * self.element.bytes + 16, np.uint8)
        start = -raw.ctypes.data % 16 + skip * self.element.bytes
        return raw[start : start + units * count * self.element.bytes].view(self.element.dtype)

    def run(
        self, inputs: list[Any], outputs: list[Any], count: int, threads: int, tiles: int
    ) -> None:
        addresses = [[array.ctypes.data for array in arrays] for arrays in (inputs, outputs)]
        for kernel in self.plan.kernels:
            table = make_table(self.plan, kernel, count, *addresses)
            if len(table):
                grid = tiles, min(len(table), 2)
                launch_host(self.library, kernel.entry, grid, threads, table)

    def check(self, count: int, skips: tuple[int, ...], threads: int, tiles: int) -> None:
        collective = self.fused.problem.collective
        ranks = range(collective.ranks)
        inputs = [
            self.allocate(len(collective.inputs(r)), count, skips[r % len(skips)]) for r in ranks
        ]
        outputs = [
            self.allocate(len(collective.outputs(r)), count, skips[-1 - r % len(skips)])
            for r in ranks
        ]
        fill_randomly(self.element, inputs, count)
        before = [array.copy() for array in inputs]
        wanted = compute(self.fused, self.element, inputs, count)
        self.run(inputs, outputs, count, threads, tiles)
        assert not find_difference(self.element, outputs, wanted)
        for array, old in zip(inputs, before, strict=True):
            assert array.tobytes() == old.tobytes()


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
            arrays = [kernels.allocate(1, count, skip) for _ in range(ranks)]
            fill_randomly(kernels.element, arrays, count)
            wanted = compute(kernels.fused, kernels.element, arrays, count)
            kernels.run(arrays, arrays, count, 3, 5)
            assert not find_difference(kernels.element, arrays, wanted)


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
    wanted = compute(kernels.fused, kernels.element, arrays, count)
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
        + "{ for (long long i = 0; i < n; i++) to[i] = rl_narrow(from[i]); }\n",
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
