"""The CuPy executor: whole on the host shim, and its refusals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from roundelay.codegen import cuda_backend, numba_cuda_backend
from roundelay.codegen.elements import ELEMENTS
from roundelay.runtime import cuda
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.gpu_launch import UnavailableError, place_arrays
from tests.arrays import evaluate
from tests.gpu_programs import (
    argmax,
    as_program,
    attention,
    element_of,
    fill_randomly,
    find_difference,
    gather_all,
    odd,
    reduce_all,
    scatter_trees,
)
from tests.host_shim import FakeCupy, needs_compiler
from tests.schedules import SUM

if TYPE_CHECKING:
    from roundelay.dsl.model import Operator

F32 = ELEMENTS["f32"]


def load(monkeypatch: pytest.MonkeyPatch, fused: Any, element: Any) -> tuple[Any, FakeCupy]:
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return cuda.load(cuda_backend.emit(fused, element), as_program(fused), element), fake


@needs_compiler
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_runs_and_reruns(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = ELEMENTS[element]
    fused = scatter_trees(21, SUM)
    executor, fake = load(monkeypatch, fused, kind)
    assert executor.device == "host shim"
    assert "-fmad=false" in fake.options
    for count in (0, 1, 5, 103, 10007):
        inputs, outputs = allocate(fused.problem.collective, kind, count)
        launch = executor.bind(inputs, outputs)
        for seed in range(2):
            fill_randomly(kind, inputs, seed)
            launch.load()
            launch()
            launch.wait()
            launch.store()
            assert not find_difference(kind, outputs, evaluate(fused, kind, inputs, count))
    assert launch.measure_seconds(4) == pytest.approx(0.002)


@needs_compiler
def test_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for fused in (reduce_all(4, SUM, 3), gather_all(3, 2)):
        executor, fake = load(monkeypatch, fused, F32)
        for count in (1, 1000):
            buffers = overlay(fused.problem.collective, F32, count)
            assert buffers is not None
            inputs, outputs = buffers
            fill_randomly(F32, inputs, count)
            wanted = evaluate(fused, F32, inputs, count)
            launch = executor.bind(inputs, outputs)
            launch.load()
            launch()
            launch.store()
            assert not find_difference(F32, outputs, wanted)
        assert fake.launches[-1][1][1] == len(fused.shapes[0].rows)


@needs_compiler
@pytest.mark.parametrize("operator", [attention(5), argmax(), odd()], ids=lambda op: op.name)
def test_records(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = element_of(operator)
    close = 64 if operator.name == "attention" else 0
    for fused, lays in (
        (scatter_trees(22, operator), allocate),
        (reduce_all(4, operator), overlay),
    ):
        executor, _ = load(monkeypatch, fused, kind)
        for count in (0, 1, 103):
            buffers = lays(fused.problem.collective, kind, count)
            assert buffers is not None
            inputs, outputs = buffers
            fill_randomly(kind, inputs, count, mild=close > 0)
            wanted = evaluate(fused, kind, inputs, count)
            launch = executor.bind(inputs, outputs)
            launch.load()
            launch()
            launch.store()
            assert not find_difference(kind, outputs, wanted, close)


@needs_compiler
def test_other_arrays_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = reduce_all(2, SUM)
    executor, _ = load(monkeypatch, fused, F32)
    arrays = [np.zeros(4, np.float32) for _ in range(2)]
    with pytest.raises(ValueError, match="float64"):
        executor.bind([np.zeros(4), np.zeros(4)], arrays)
    with pytest.raises(ValueError, match="elements"):
        executor.bind(arrays, [np.zeros(4, np.float32), np.zeros(5, np.float32)])


def test_other_artifacts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
    fused = reduce_all(2, SUM)
    with pytest.raises(ValueError, match="numba-cuda"):
        cuda.load(numba_cuda_backend.emit(fused, F32), as_program(fused), F32)
    with pytest.raises(ValueError, match="f32"):
        cuda.load(cuda_backend.emit(fused, F32), as_program(fused), ELEMENTS["f16"])
    fused = reduce_all(2, odd())
    with pytest.raises(ValueError, match="itemsize 5, not 9"):
        cuda.load(
            cuda_backend.emit(fused, element_of(odd())), as_program(fused), element_of(odd("f64"))
        )


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (None, r"(?s)needs CuPy.*pip install .roundelay\[gpu\]"),
        (FakeCupy(0), "no CUDA device"),
        (FakeCupy(-1), "no CUDA device: integer .*division"),
    ],
)
def test_what_is_missing_is_named(
    module: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", module)
    fused = reduce_all(2, SUM)
    with pytest.raises(UnavailableError, match=message):
        cuda.load(cuda_backend.emit(fused, F32), as_program(fused), F32)


def test_overlaps_are_kept_on_the_device() -> None:
    shared = np.zeros(100, np.float32)
    apart = np.zeros(10, np.float32)
    memory = place_arrays([shared[20:30], apart], [shared[:40], shared[50:60]])
    regions = [region for region, _ in (*memory.inputs, *memory.outputs)]
    assert memory.inputs[0][0] == memory.outputs[0][0]
    assert memory.inputs[0][1] - memory.outputs[0][1] == 80
    assert len(set(regions)) == len(memory.sizes) == 3
    assert memory.sizes[memory.inputs[0][0]] >= 160
