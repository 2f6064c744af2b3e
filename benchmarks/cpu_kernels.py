"""How fast the processor's kernels are, beside NumPy, the interpreter and hand-written C.

Run from the root of the repository: ``python -m benchmarks.cpu_kernels [ranks] [element]``.
Candidates alternate within one process and the least of several times counts, so that ratios
hold on a busy machine. The C reference loads all ranks' values, adds them in a fixed order and
stores the sum to all of them, in place; it appears where ``gcc`` is installed.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.runtime import interpreter, numba_cpu
from roundelay.runtime.buffers import allocate, overlay
from tests.schedules import ring_all_reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roundelay.runtime.executor import Array

SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20)

_C = """
void all_reduce(T **p, long n) {{
    {loads}
    for (long i = 0; i < n; i++) {{
        T v = {total};
        {stores}
    }}
}}
"""


def reference(ranks: int, arrays: Sequence[Array]) -> Callable[[], None] | None:
    """The C reference bound to arrays of one element type; None without gcc or for 16 bits."""
    kind = {"float32": "float", "float64": "double", "int32": "int"}.get(arrays[0].dtype.name)
    if shutil.which("gcc") is None or kind is None:
        return None
    text = _C.format(
        loads=" ".join(f"T *p{r} = p[{r}];" for r in range(ranks)),
        total=" + ".join(f"p{r}[i]" for r in range(ranks)),
        stores=" ".join(f"p{r}[i] = v;" for r in range(ranks)),
    ).replace("for (long", '_Pragma("GCC ivdep") for (long')
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "reference.c", folder / "reference.so"
    source.write_text(f"typedef {kind} T;\n{text}", encoding="ascii")
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    function = ctypes.CDLL(str(library)).all_reduce
    shutil.rmtree(folder)
    pointers = (ctypes.c_void_p * ranks)(*(array.ctypes.data for array in arrays))
    length = ctypes.c_long(len(arrays[0]))
    return lambda: function(pointers, length)


def chain(inputs: Sequence[Array], outputs: Sequence[Array]) -> Callable[[], None]:
    """NumPy: one addition after the other into the first output, then copies of it."""

    def run() -> None:
        np.add(inputs[0], inputs[1], out=outputs[0])
        for given in inputs[2:]:
            np.add(outputs[0], given, out=outputs[0])
        for made in outputs[1:]:
            np.copyto(made, outputs[0])

    return run


def least(candidates: dict[str, Callable[[], None]], seconds: float) -> dict[str, float]:
    """The least time of a call of each candidate, in seconds; candidates take turns."""
    best = dict.fromkeys(candidates, float("inf"))
    for call in candidates.values():
        call()
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for name, call in candidates.items():
            started = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def main() -> None:
    """Measure and print; takes the number of ranks and the element type."""
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    element = ELEMENTS[sys.argv[2] if len(sys.argv) > 2 else "f32"]
    os.environ["ROUNDELAY_CACHE_DIR"] = tempfile.mkdtemp()
    started = time.perf_counter()
    program = lower(ring_all_reduce(ranks))
    lowered = time.perf_counter()
    artifact = emit(fuse(program), element)
    emitted = time.perf_counter()
    executor = numba_cpu.load(artifact, program, element)
    collective = program.problem.collective
    executor.bind(*allocate(collective, element, 16))
    compiled = time.perf_counter()
    print(f"{executor.device}; {ranks} ranks, {element.name}, ring of {program.chunks} chunks")
    print(
        f"lower and check {lowered - started:.2f} s, emit {emitted - lowered:.2f} s, "
        f"import numba and compile {compiled - emitted:.2f} s"
    )
    oracle = interpreter.load(None, program, element)
    for size in SIZES:
        count = size // element.bytes
        inputs, outputs = allocate(collective, element, count)
        placed = overlay(collective, element, count)
        assert placed is not None
        for array in (*inputs, *placed[0]):
            array[:] = 0  # Sums in place stay finite, however often they are made.
        plain = executor.bind(inputs, outputs)
        alone = numba_cpu.NumbaLaunch(plain.run, (_joined(executor, inputs, outputs),), ((), ()))
        candidates: dict[str, Callable[[], None]] = {
            "fused": plain,
            "fused, 1 thread": alone,
            "fused in place": executor.bind(*placed),
            "numpy": chain(inputs, outputs),
            "numpy in place": chain(*placed),
        }
        if size <= 1 << 20:
            candidates["interpreter"] = oracle.bind(inputs, outputs)
        by_hand = reference(ranks, placed[0])
        if by_hand:
            candidates["C in place"] = by_hand
        times = least(candidates, 2.0)
        print(f"{size >> 10} KiB a rank")
        for name, taken in times.items():
            moved = 2 * ranks * size / taken / 1e9
            print(
                f"  {name:16} {taken * 1e6:10.1f} us {moved:7.1f} GB/s "
                f"{times['numpy'] / taken:7.2f} x numpy"
            )


def _joined(
    executor: numba_cpu.NumbaCpu, inputs: Sequence[Array], outputs: Sequence[Array]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The table of a launch that leaves all work to one thread."""
    limit = numba_cpu.THREADED_BYTES
    numba_cpu.THREADED_BYTES = 1 << 62
    try:
        return executor.bind(inputs, outputs).words[0]
    finally:
        numba_cpu.THREADED_BYTES = limit


if __name__ == "__main__":
    main()
