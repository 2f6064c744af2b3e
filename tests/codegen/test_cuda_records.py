"""Structs in CUDA C++: the very text, run on the CPU against NumPy, and compiled for devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roundelay.codegen import cuda_backend
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Merge, Operand
from roundelay.codegen.nvrtc import compile_cuda
from roundelay.codegen.operators import UnsupportedOperatorError
from roundelay.dsl.model import Apply, Variable
from tests.gpu_programs import (
    argmax,
    attention,
    element_of,
    fill_randomly,
    gather_all,
    halves,
    make_struct,
    matrix,
    odd,
    reduce_all,
    scatter_trees,
)
from tests.host_shim import Kernels, needs_compiler
from tests.schedules import SUM

if TYPE_CHECKING:
    from roundelay.dsl.model import Operator

EXACT = {
    "matrix": matrix(),
    "matrix-f64": matrix("f64"),
    "matrix-i8": matrix("i8"),
    "argmax": argmax(),
    "odd": odd(),
    "odd-i64": odd("i64"),
    "halves": halves(),
}


@needs_compiler
@pytest.mark.parametrize("name", EXACT)
def test_records(name: str) -> None:
    """Trees of all shapes at offsets of whole records and of any number of bytes."""
    element = element_of(EXACT[name])
    kernels = Kernels(scatter_trees(31, EXACT[name], widest=19), element)
    for count in (0, 1, 7, 130):
        kernels.check(count, (0,), 4, 3)
        kernels.check(count, (0, 1, 3), 5, 1)
        kernels.check(count, (0, 2), 3, 2, shift=1)


@needs_compiler
@pytest.mark.parametrize(("length", "element"), [(64, "f32"), (3, "f64"), (5, "bf16")])
def test_attention(length: int, element: str) -> None:
    operator = attention(length, element)
    kernels = Kernels(
        scatter_trees(32, operator, widest=9), element_of(operator), close=64, mild=True
    )
    for count in (1, 50):
        kernels.check(count, (0,), 4, 3)
        kernels.check(count, (0, 1), 3, 2, shift=2)


@needs_compiler
@pytest.mark.parametrize("name", ["matrix", "argmax", "odd", "halves"])
def test_in_place(name: str) -> None:
    """Optimised, so that a load moved behind a store would show."""
    element = element_of(EXACT[name])
    for ranks in (2, 18):
        kernels = Kernels(reduce_all(ranks, EXACT[name], 3), element, "-O2")
        for count in (1, 61):
            kernels.check_in_place(count, 0)
            kernels.check_in_place(count, 1, 1)


@needs_compiler
@pytest.mark.parametrize("operator", [attention(), argmax(), matrix("i8"), odd("f64")])
def test_copies_keep_every_bit(operator: Operator) -> None:
    if operator.finish:
        operator = make_struct("odd", ("u8", "f64"), *(part.value for part in operator.body))
    element = element_of(operator)
    fused = gather_all(3, 2, operator)
    assert all(map(fused.moves_bits, fused.shapes))
    kernels = Kernels(fused, element)
    for count, shift in ((100, 0), (101, 4), (101, 1)):
        inputs = [kernels.allocate(1, count, 0, shift) for _ in range(3)]
        for rank, array in enumerate(inputs):
            raw = np.random.default_rng(rank).integers(0, 256, array.nbytes, np.uint8)
            array.view(np.uint8)[:] = raw
        outputs = [kernels.allocate(3, count, 1, shift) for _ in range(3)]
        kernels.run(inputs, outputs, count, 8, 2)
        for output in outputs:
            assert output.tobytes() == b"".join(array.tobytes() for array in inputs)


@needs_compiler
def test_a_vector_is_chosen_by_a_condition_computed_once() -> None:
    nearer = Apply("lt", (Variable(0, 1), Variable(1, 1)))
    values = (Apply("where", (nearer, Variable(0, n), Variable(1, n))) for n in range(2))
    operator = make_struct("nearest", (("f32", 20), "f64"), *values)
    element = element_of(operator)
    text = cuda_backend.emit(reduce_all(2, operator), element).files[0][1]
    assert "rl_where(rl_true(h0), a.f0[k], b.f0[k])" in text
    Kernels(scatter_trees(35, operator, widest=5), element).check(61, (0, 1), 4, 2)


def test_neighbours_are_left_alone() -> None:
    """What lies before and after the targets keeps its bytes."""
    operator = odd()
    element = element_of(operator)
    kernels = Kernels(reduce_all(2, operator), element)
    inputs = [kernels.allocate(1, 7, 0) for _ in range(2)]
    fill_randomly(element, inputs, 1)
    around = [kernels.allocate(1, 21, 0, shift) for shift in (0, 3)]
    for array in around:
        array.view(np.uint8)[:] = 0xA5
    kernels.run(inputs, [array[7:14] for array in around], 7, 4, 1)
    for array in around:
        assert set(array[:7].tobytes()) == set(array[14:].tobytes()) == {0xA5}
        assert set(array[7:14].tobytes()) != {0xA5}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("operator", [attention(), *EXACT.values()], ids=lambda op: op.name)
def test_every_architecture(operator: Operator, arch: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    fused = scatter_trees(33, operator, widest=18)
    code = compile_cuda(cuda_backend.emit(fused, element_of(operator)), arch)
    for number in range(len(fused.shapes)):
        assert f"rl_fused_{number}".encode() in code


def test_small_records_stay_in_registers() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    for operator in (matrix(), argmax(), odd()):
        artifact = cuda_backend.emit(reduce_all(4, operator), element_of(operator))
        ptx = compile_cuda(artifact, "sm_90", "ptx").decode()
        assert ".local" not in ptx
        assert not re.search(r"\b(fma|mad)\.(rn|ftz|f32|f64)", ptx)


def test_long_chains_of_large_records_reuse_their_places() -> None:
    """Each thread's memory for records does not grow with the number of operands."""
    operator = attention()
    _, text = cuda_backend.emit(reduce_all(64, operator), element_of(operator)).files[0]
    assert len(re.findall(r"^ +rl_record s\d+;", text, re.MULTILINE)) == 3


def test_a_shared_subtree_is_merged_once() -> None:
    operator = matrix()
    fused = scatter_trees(31, operator)
    shared = Merge(Operand(0), Operand(1))
    shape = fused.shapes[0]
    for _ in range(40):
        shared = Merge(shared, shared)
    rows = tuple(type(row)(row.chunk, row.sources[:2], row.targets) for row in shape.rows)
    fused = type(fused)(fused.problem, fused.chunks, (type(shape)(shared, 2, 1, rows),))
    _, text = cuda_backend.emit(fused, element_of(operator)).files[0]
    assert text.count("        rl_op(") == 41
    assert text.count("        rl_take(") == 2


def test_names_of_users_stay_in_comments() -> None:
    operator = make_struct("x\n#error", ("f32",), *(part.value for part in SUM.body))
    object.__setattr__(operator.struct, "fields", (type(operator.struct.fields[0])('"\n}', "f32"),))  # type: ignore[union-attr]
    _, text = cuda_backend.emit(reduce_all(2, operator), element_of(operator)).files[0]
    assert text.isascii()
    assert "\n#error" not in text
    for line in text.splitlines():
        assert len(line) <= 100
        assert "u{a}" not in line or line.startswith("//")


def test_other_structs_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="combines"):
        cuda_backend.emit(reduce_all(2, argmax()), ELEMENTS["f32"])
    with pytest.raises(UnsupportedOperatorError, match="combines"):
        cuda_backend.emit(reduce_all(2, argmax()), element_of(matrix()))


def test_records_too_large_for_a_thread_are_refused() -> None:
    for length, element in ((1023, "f32"), (1023, "bf16"), (511, "i64")):
        operator = attention(length, "f32") if element == "f32" else _sums(length, element)
        assert cuda_backend.emit(reduce_all(2, operator), element_of(operator)).backend == "cuda"
        larger = _sums(length + 2, element)
        with pytest.raises(UnsupportedOperatorError, match=r"sums takes 41\d\d bytes") as refusal:
            cuda_backend.emit(reduce_all(2, larger), element_of(larger))
        assert "numba-cpu" in refusal.value.faults[0].remedy


def _sums(length: int, element: str) -> Operator:
    value = Apply("add", (Variable(0), Variable(1)))
    return make_struct("sums", ((element, length),), value)


def test_sixteen_fields_of_long_expressions() -> None:
    pytest.importorskip("cuda.bindings.nvrtc")
    entries = []
    for row in range(4):
        for column in range(4):
            products = [
                Apply("mul", (Variable(0, 4 * row + k), Variable(1, 4 * k + column)))
                for k in range(4)
            ]
            total = products[0]
            for product in products[1:]:
                total = Apply("add", (total, product))
            entries.append(total)
    operator = make_struct("matrix_4", ("f16",) * 16, *entries)
    fused = scatter_trees(34, operator, widest=18)
    artifact = cuda_backend.emit(fused, element_of(operator))
    assert b"rl_fused_0" in compile_cuda(artifact)
    assert max(map(len, artifact.files[0][1].splitlines())) <= 100
