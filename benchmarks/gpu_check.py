"""Check the GPU backends on a real device, then time them against a copy of as many bytes.

    python benchmarks/gpu_check.py [--seconds 300] [--out rows.json]

First every element type at odd sizes: the bytes must be those of the interpreter on the CPU.
Then all-reduce in place over N virtual ranks of S bytes. At least 2NS bytes must pass through
memory, so the honest figure is the time of a device-to-device copy of NS bytes (which reads and
writes as many) over the kernels' time: 1.00 means that nothing is lost. Exit status 1 when any
byte is wrong. Rows that would start after ``--seconds`` are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roundelay import pipeline
from roundelay.codegen.backends import load_backend
from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.executors import load_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
MIB = 1 << 20


def main(arguments: list[str] | None = None) -> int:
    """Run the check; the exit status."""
    options = _options(arguments)
    limit = time.monotonic() + options.seconds
    programs = {ranks: _program(ranks) for ranks in options.ranks}
    rows = list(_check(programs[max(programs)], options, limit))
    rows += _measure(programs, options, limit)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    wrong = sum(not row["right"] for row in rows)
    print(f"{len(rows)} rows, {wrong} wrong")
    return 1 if wrong else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", nargs="+", default=["cuda", "numba-cuda"])
    parser.add_argument("--elements", nargs="+", default=list(ELEMENTS))
    parser.add_argument("--timed", nargs="*", default=["f32", "f16", "bf16"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--sizes", nargs="+", type=int, default=[MIB, 16 * MIB, 256 * MIB])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--out", type=Path)
    return parser.parse_args(arguments)


def _program(ranks: int) -> Any:
    """All-reduce in one step: every rank's chunk goes to all others at once."""
    problem = pipeline.read(pipeline.Request(f"complete({ranks})", "all_reduce", op="sum"))
    outcome: Any = pipeline.synthesize(problem).outcome
    return pipeline.generate(outcome.schedule, "cuda", "f32")[0]


def _bind(name: str, program: Any, element: Any, inputs: Any, outputs: Any) -> Any:
    artifact = None if name == "interpreter" else load_backend(name)(fuse(program), element)
    return load_executor(name, artifact, program, element).bind(inputs, outputs)


def _run(launch: Any) -> None:
    launch.load()
    launch()
    launch.wait()
    launch.store()


def _check(program: Any, options: argparse.Namespace, limit: float) -> Iterator[Row]:
    """One row a backend and element: the same bytes as the interpreter's, at odd sizes."""
    collective = program.problem.collective
    for name in options.elements:
        element = ELEMENTS[name]
        for backend in options.backends:
            if time.monotonic() > limit:
                return
            right = True
            for count in (0, 1, 127, 100003):
                inputs, outputs = allocate(collective, element, count)
                _fill(element, inputs)
                wanted = allocate(collective, element, count)[1]
                _run(_bind(backend, program, element, inputs, outputs))
                _run(_bind("interpreter", program, element, inputs, wanted))
                right &= all(map(_same, outputs, wanted))
            print(f"{backend:12} {name:5} {'right' if right else 'WRONG'}", flush=True)
            yield {"backend": backend, "element": name, "right": right}


def _measure(programs: dict[int, Any], options: argparse.Namespace, limit: float) -> Iterator[Row]:
    """One row a backend, element, N and S: microseconds, GB/s and the part of a copy's speed."""
    import cupy

    print(f"{'backend':12} {'type':5} {'N':>2} {'S':>10} {'us':>9} {'GB/s':>7} {'of copy':>7}")
    for ranks, program in programs.items():
        for size in options.sizes:
            source, target = (cupy.zeros(ranks * size, cupy.uint8) for _ in range(2))
            stream = cupy.cuda.get_current_stream()
            copied = _time(partial(cupy.copyto, target, source), stream.synchronize)
            del source, target
            for name in options.timed:
                element = ELEMENTS[name]
                for backend in options.backends:
                    if time.monotonic() > limit:
                        return
                    count = size // element.bytes
                    buffers = overlay(program.problem.collective, element, count)
                    assert buffers is not None
                    for rank, array in enumerate(buffers[0]):
                        array[:] = rank + 1
                    launch = _bind(backend, program, element, *buffers)
                    _run(launch)
                    total = ranks * (ranks + 1) // 2
                    right = all(bool((array == total).all()) for array in buffers[1])
                    seconds = _time(launch, launch.wait)
                    gbps, part = 2 * ranks * size / seconds / 1e9, copied / seconds
                    print(
                        f"{backend:12} {name:5} {ranks:2} {size:10} {seconds * 1e6:9.1f} "
                        f"{gbps:7.0f} {part:7.2f} {'' if right else 'WRONG'}",
                        flush=True,
                    )
                    yield {
                        "backend": backend, "element": name, "ranks": ranks, "bytes": size,
                        "us": seconds * 1e6, "GBps": gbps, "of_copy": part, "right": right,
                    }  # fmt: skip


def _time(call: Callable[[], Any], wait: Callable[[], Any], calls: int = 20) -> float:
    """Seconds a call: the least of five batches, each ended by a wait, after one to warm up."""
    batches = []
    for _ in range(6):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        batches.append((time.perf_counter() - start) / calls)
    return min(batches[1:])


def _fill(element: Any, arrays: Any) -> None:
    """Half of the values moderate, half of them any bits."""
    rng = np.random.default_rng(1)
    for array in arrays:
        bits = rng.integers(0, 256, array.nbytes, np.uint8).view(element.dtype)
        mild = rng.integers(0, 100, array.size).astype(element.dtype)
        array[:] = np.where(rng.random(array.size) < 0.5, bits, mild)


def _same(one: Any, other: Any) -> bool:
    """The same bits; of NaNs only that both are."""
    unsigned = np.dtype(f"u{one.itemsize}")
    with np.errstate(invalid="ignore"):
        nan = (one != one) & (other != other)
    return bool(((one.view(unsigned) == other.view(unsigned)) | nan).all())


if __name__ == "__main__":
    sys.exit(main())
