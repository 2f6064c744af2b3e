"""Numba's CUDA simulator in its own process: right bytes, clean ends."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import pytest

from roundelay.codegen import cuda_backend
from roundelay.codegen.artifact import Artifact
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.numba_cuda_backend import emit
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.gpu_launch import UnavailableError
from roundelay.runtime.numba_cuda import load, load_simulator
from tests.arrays import evaluate
from tests.gpu_programs import (
    as_program,
    every_function,
    fill_randomly,
    find_difference,
    gather_all,
    reduce_all,
    scatter_trees,
)
from tests.processes import is_running
from tests.schedules import MAX, MIN, SUM

F32 = ELEMENTS["f32"]


def has_device() -> bool:
    cuda: Any = importlib.import_module("numba.cuda")
    return bool(cuda.is_available())


def start(fused: Any, element: Any) -> Any:
    return load_simulator(emit(fused, element), as_program(fused), element)


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=lambda e: e.name)
def test_every_element_and_function(element: Any) -> None:
    fused = scatter_trees(11, every_function(divides=not element.exact), widest=17)
    executor = start(fused, element)
    for count in (0, 1, 70):
        inputs, outputs = allocate(fused.problem.collective, element, count)
        fill_randomly(element, inputs, count)
        launch = executor.bind(inputs, outputs)
        launch.load()
        launch()
        launch.wait()
        launch.store()
        assert not find_difference(element, outputs, evaluate(fused, element, inputs, count))
    executor.close()


@pytest.mark.parametrize(
    ("fused", "name"),
    [
        (reduce_all(3, SUM, 2), "f16"),
        (reduce_all(17, SUM, 2), "f16"),
        (reduce_all(3, MIN), "f32"),
        (reduce_all(3, MAX), "bf16"),
        (gather_all(3, 2), "f32"),
    ],
    ids=["sum", "wide", "min", "max", "gather"],
)
def test_in_place_and_again(fused: Any, name: str) -> None:
    element = ELEMENTS[name]
    executor = start(fused, element)
    assert executor.device == "Numba CUDA simulator"
    for count in (1, 64, 201):
        buffers = overlay(fused.problem.collective, element, count)
        assert buffers is not None
        inputs, outputs = buffers
        launch = executor.bind(inputs, outputs)
        for seed in range(2):
            fill_randomly(element, inputs, seed)
            wanted = evaluate(fused, element, inputs, count)
            launch.load()
            launch()
            launch.store()
            assert not find_difference(element, outputs, wanted)
    executor.close()


def test_several_launches_live_side_by_side() -> None:
    fused = reduce_all(2, SUM)
    executor = start(fused, F32)
    bound = []
    for count in (3, 40):
        inputs, outputs = allocate(fused.problem.collective, F32, count)
        fill_randomly(F32, inputs, count)
        bound.append((inputs, outputs, executor.bind(inputs, outputs), count))
    for inputs, outputs, launch, count in reversed(bound):
        launch.load()
        launch()
        launch.store()
        assert not find_difference(F32, outputs, evaluate(fused, F32, inputs, count))
    del bound, launch
    gc.collect()
    assert sorted(executor._dropped) == [1, 2]
    executor.bind(inputs, outputs)()
    assert executor._dropped in ([], [3])
    executor.close()


def test_ends_with_its_owner() -> None:
    fused = reduce_all(2, SUM)
    executor = start(fused, F32)
    child = executor._process.pid
    assert is_running(child)
    del executor
    gc.collect()
    assert not is_running(child)


def test_closed_says_so() -> None:
    fused = reduce_all(2, SUM)
    executor = start(fused, F32)
    launch = executor.bind(*allocate(fused.problem.collective, F32, 4))
    executor.close()
    executor.close()
    with pytest.raises(RuntimeError, match="has been closed"):
        launch()


def test_killed_says_so() -> None:
    fused = reduce_all(2, SUM)
    executor = start(fused, F32)
    launch = executor.bind(*allocate(fused.problem.collective, F32, 4))
    os.kill(executor._process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="ended with status -9"):
        launch()
    with pytest.raises(RuntimeError, match="has been closed"):
        launch()


def test_failure_inside_a_kernel_is_told() -> None:
    fused = reduce_all(2, SUM)
    artifact = emit(fused, F32)
    (name, text), launch_file = artifact.files
    broken = text.replace("offset = 16 * i", "offset = missing")
    assert broken != text
    executor = load_simulator(
        Artifact(artifact.backend, ((name, broken), launch_file), artifact.entry, "0" * 64),
        as_program(fused),
        F32,
    )
    launch = executor.bind(*allocate(fused.problem.collective, F32, 64))
    with pytest.raises(RuntimeError, match=r"(?s)offset = missing.*NameError"):
        launch()
    executor.close()


ORPHAN = """
    import sys
    sys.path[:] = {path!r}
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.numba_cuda_backend import emit
    from roundelay.runtime.numba_cuda import load_simulator
    from roundelay.runtime.buffers import allocate
    from tests.gpu_programs import (
        as_program,
        reduce_all,
    )
    from tests.schedules import SUM

    fused, f32 = reduce_all(2, SUM), ELEMENTS["f32"]
    executor = load_simulator(emit(fused, f32), as_program(fused), f32)
    launch = executor.bind(*allocate(fused.problem.collective, f32, 10**6))
    print(executor._process.pid, flush=True)
    {end}
"""


@pytest.mark.parametrize("end", ["launch()", "sys.exit()"])
def test_never_outlives_its_owner(end: str) -> None:
    """Even when the owner is killed in the middle of a kernel that takes a minute."""
    source = textwrap.dedent(ORPHAN).format(path=sys.path, end=end)
    owner = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    child = int(owner.stdout.readline())
    if end == "launch()":
        time.sleep(0.3)
        assert is_running(child)
        owner.kill()
    owner.wait(10)
    owner.stdout.close()
    limit = time.monotonic() + 10
    while is_running(child) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not is_running(child)


PLAIN = """
    import sys
    sys.path[:] = {path!r}
    assert "_numba_cuda_redirector" not in sys.modules
    import numpy as np
    from numba import cuda
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.numba_cuda_backend import emit
    from roundelay.runtime.numba_cuda import load
    from roundelay.runtime.buffers import allocate
    from tests.arrays import evaluate
    from tests.gpu_programs import *

    from roundelay.runtime import gpu_launch

    assert "numba_cuda" not in cuda.__file__, cuda.__file__
    gpu_launch._ROWS = 2  # so that a block has to go on with the next row
    for name in ("bf16", "f32", "i32", "u64"):
        fused, element = scatter_trees(2, SUM, widest=17), ELEMENTS[name]
        if name == "f32":
            fused = reduce_all(3, SUM, 5)
        executor = load(emit(fused, element), as_program(fused), element)
        if name == "bf16":
            for bits in (0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001):  # the NaNs that devices make
                narrow = executor._module["rl_bits"](np.uint32(bits).view(np.float32))
                assert narrow & 0x7FFF > 0x7F80, hex(bits)
        inputs, outputs = allocate(fused.problem.collective, element, 50)
        fill_randomly(element, inputs, 1)
        launch = executor.bind(inputs, outputs)
        launch.load(); launch(); launch.wait(); launch.store()
        assert not find_difference(element, outputs, evaluate(fused, element, inputs, 50))
    print("right")
"""


def test_plain_numba_will_do() -> None:
    """Without numba-cuda: -S leaves out the .pth file that puts it in the place of numba.cuda."""
    done = subprocess.run(
        [sys.executable, "-S", "-W", "ignore", "-c", textwrap.dedent(PLAIN).format(path=sys.path)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "right\n", done.stderr[-2000:]


FUNCTIONS = """
    import sys
    sys.path[:] = {path!r}
    import numpy as np
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.numba_cuda_backend import emit
    from roundelay.runtime.numba_cuda import load
    from roundelay.runtime.buffers import allocate
    from tests.arrays import evaluate
    from tests.gpu_programs import *

    def check(fused, element, close=0):
        executor = load(emit(fused, element), as_program(fused), element)
        inputs, outputs = allocate(fused.problem.collective, element, 61)
        fill_randomly(element, inputs, 1)
        function = fused.problem.operator.name
        if function in ("shl", "shr"):  # amounts around the width and below zero
            few = np.arange(61) % (16 * element.bytes + 5) - (element.dtype.kind != "u") * 3
            inputs[1][:] = few.astype(element.dtype)
        launch = executor.bind(inputs, outputs)
        launch.load(); launch(); launch.wait(); launch.store()
        wanted = evaluate(fused, element, inputs, 61)
        difference = find_difference(element, outputs, wanted, close)
        assert not difference, (element.name, function, difference)

    for name in {names!r}:
        element = ELEMENTS[name]
        for function in EXACT[element.exact]:
            check(reduce_all(2, apply_one(function)), element)
        for function in () if element.exact else ("exp", "log", "logaddexp"):
            check(reduce_all(2, apply_one(function)), element, 4)
        check(scatter_trees(13, bare_numbers(), widest=17), element)
        for operator in (AVG, SHIFTED) if element.exact else (AVG, SHIFTED, PREMULSUM):
            for fused in (scatter_trees(14, operator, widest=17), gather_all(2, 2, operator)):
                check(fused, element)
    print("right")
"""


@pytest.mark.parametrize(
    "names", [("f16", "f32", "f64"), ("i8", "u8", "i32"), ("u32", "i64", "u64")]
)
def test_every_function_prepared_and_finished(names: tuple[str, ...]) -> None:
    """In the simulator, which this process becomes: one of its own for each would take long."""
    done = subprocess.run(
        [
            sys.executable,
            *("-W", "ignore", "-c"),
            textwrap.dedent(FUNCTIONS).format(path=sys.path, names=names),
        ],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "right\n", done.stderr[-2000:]


def test_no_device_is_told() -> None:
    if has_device():
        pytest.skip("there is a device")
    fused = reduce_all(2, SUM)
    with pytest.raises(UnavailableError, match=r"(?s)finds no CUDA device.*numba-cuda-sim"):
        load(emit(fused, F32), as_program(fused), F32)


def test_other_artifacts_are_refused() -> None:
    fused = reduce_all(2, SUM)
    with pytest.raises(ValueError, match="for backend cuda"):
        load_simulator(cuda_backend.emit(fused, F32), as_program(fused), F32)
    with pytest.raises(ValueError, match="for element f32"):
        load_simulator(emit(fused, F32), as_program(fused), ELEMENTS["i8"])


def test_bad_arrays_are_refused_here() -> None:
    fused = reduce_all(2, SUM)
    executor = start(fused, F32)
    with pytest.raises(ValueError, match="float64"):
        executor.bind([np.zeros(2)] * 2, [np.zeros(2)] * 2)
    executor.close()


@pytest.mark.gpu
def test_on_a_device() -> None:
    if not has_device():
        pytest.skip("there is no device")
    for element in ELEMENTS.values():
        fused = scatter_trees(11, every_function(divides=not element.exact), widest=17)
        executor = load(emit(fused, element), as_program(fused), element)
        inputs, outputs = allocate(fused.problem.collective, element, 1009)
        fill_randomly(element, inputs, 1)
        launch = executor.bind(inputs, outputs)
        launch.load()
        launch()
        launch.wait()
        launch.store()
        assert not find_difference(element, outputs, evaluate(fused, element, inputs, 1009))
