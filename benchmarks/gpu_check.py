"""Check the GPU backends on a real device, then time them against a copy of as many bytes.

    python benchmarks/gpu_check.py [--seconds 300] [--out rows.json]

First every element type at odd sizes: the bytes must be those of the interpreter on the CPU. Then
operators of every kind, on records too (``cuda`` alone), and their time at the largest size; where
they call exp, log or logaddexp, whose last bits every library has its own, 64 epsilons are
allowed. Then all-reduce in place over N virtual ranks of S bytes. At least 2NS bytes must pass
through memory, so the honest figure is the time of a device-to-device copy of NS bytes (which
reads and writes as many) over the kernels' time: 1.00 means that nothing is lost. Exit status 1
when any byte is wrong. Rows that would start after ``--seconds`` are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roundelay import pipeline
from roundelay.codegen.backends import load_backend
from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS, struct_element
from roundelay.dsl.model import (
    Apply,
    Assignment,
    Count,
    Field,
    Made,
    Number,
    Operator,
    Struct,
    Variable,
    scalar_body,
)
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.executors import load_executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
MIB = 1 << 20

A, B = Variable(0), Variable(1)
SUM = scalar_body(Apply("add", (A, B)))


def _record(name: str, fields: str, **values: Any) -> Operator:
    """An operator on a struct: ``value:f32 out:f32x64``, made in the order of the arguments."""
    parts = []
    for field in fields.split():
        word, _, kind = field.partition(":")
        element, _, length = kind.partition("x")
        parts.append(Field(word, element, int(length or 1), bool(length)))
    places = {part.name: number for number, part in enumerate(parts)}
    body = tuple(Assignment(places[word], value) for word, value in values.items())
    return Operator(name, body, struct=Struct(name, tuple(parts)))


def _scaled(index: int) -> Apply:
    weight = Apply("exp", (Apply("sub", (Variable(index, 1), Made(1))),))
    return Apply("mul", (Variable(index, 0), weight))


def _entry(row: int, column: int) -> Apply:
    pairs = ((Variable(0, 2 * row + k), Variable(1, 2 * k + column)) for k in range(2))
    return Apply("add", tuple(Apply("mul", pair) for pair in pairs))


_FIRST = Apply("ge", (Variable(0, 0), Variable(1, 0)))
_ROOTS = Apply("add", (Apply("sqrt", (Apply("abs", (A,)),)), Apply("div", (A, B))))
_SHIFTS = Apply("bxor", (Apply("shl", (A, Apply("band", (B, A)))), Apply("shr", (A, B))))
OPERATORS: dict[str, tuple[Operator, str, int]] = {
    "avg-f32": (
        Operator("avg", SUM, finish=scalar_body(Apply("div", (A, Count())))), "f32", 0
    ),
    "avg-i32": (
        Operator("avg", SUM, finish=scalar_body(Apply("div", (A, Count())))), "i32", 0
    ),
    "premulsum-bf16": (
        Operator(
            "premulsum", SUM, prepare=scalar_body(Apply("mul", (A, Number(Fraction(1, 3)))))
        ),
        "bf16",
        0,
    ),
    "roots-f32": (
        Operator("roots", scalar_body(Apply("where", (Apply("lt", (A, B)), _ROOTS, A)))), "f32", 0
    ),
    "roots-f64": (
        Operator("roots", scalar_body(Apply("where", (Apply("lt", (A, B)), _ROOTS, A)))), "f64", 0
    ),
    "shifts-i8": (Operator("shifts", scalar_body(_SHIFTS)), "i8", 0),
    "shifts-u64": (Operator("shifts", scalar_body(_SHIFTS)), "u64", 0),
    "logaddexp-f32": (Operator("lse", scalar_body(Apply("logaddexp", (A, B)))), "f32", 64),
    "argmax": (
        _record(
            "argmax",
            "value:f32 index:i32",
            value=Apply("where", (_FIRST, Variable(0, 0), Variable(1, 0))),
            index=Apply("where", (_FIRST, Variable(0, 1), Variable(1, 1))),
        ),
        "",
        0,
    ),
    "matrix": (
        _record(
            "matrix", "p:f32 q:f32 r:f32 s:f32",
            p=_entry(0, 0), q=_entry(0, 1), r=_entry(1, 0), s=_entry(1, 1),
        ),
        "",
        0,
    ),
    "odd": (
        _record(
            "odd", "a:u8 b:f32 c:f16x3",
            **{
                name: Apply("add", (Variable(0, n), Variable(1, n)))
                for n, name in enumerate("abc")
            },
        ),
        "",
        0,
    ),
    "attention": (
        _record(
            "attention", "out:f32x64 lse:f32",
            lse=Apply("logaddexp", (Variable(0, 1), Variable(1, 1))),
            out=Apply("add", (_scaled(0), _scaled(1))),
        ),
        "",
        64,
    ),
}  # fmt: skip
"""Operators, the element of those on plain numbers, and how many epsilons they may be off."""


def main(arguments: list[str] | None = None) -> int:
    """Run the check; the exit status."""
    options = _options(arguments)
    limit = time.monotonic() + options.seconds
    programs = {ranks: _program(ranks) for ranks in options.ranks}
    rows = list(_check(programs[max(programs)], options, limit))
    rows += _check_operators(programs[max(programs)], options, limit)
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
    parser.add_argument("--operators", nargs="*", default=list(OPERATORS), choices=list(OPERATORS))
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
    return pipeline.generate(outcome.schedule, "cuda")[0]


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
    for name in options.elements:
        for backend in options.backends:
            if time.monotonic() > limit:
                return
            right = _agrees(backend, program, ELEMENTS[name])
            print(f"{backend:12} {name:14} {'right' if right else 'WRONG'}", flush=True)
            yield {"backend": backend, "element": name, "right": right}


def _check_operators(program: Any, options: argparse.Namespace, limit: float) -> Iterator[Row]:
    """One row a backend and operator: as the interpreter computes it, and its time."""
    for name in options.operators:
        operator, kind, close = OPERATORS[name]
        element = ELEMENTS[kind] if kind else struct_element(operator.struct)  # type: ignore[arg-type]
        own = replace(program, problem=replace(program.problem, operator=operator))
        for backend in options.backends:
            if backend != "cuda" and element.fields:
                continue  # The others refuse structs.
            if time.monotonic() > limit:
                return
            right = _agrees(backend, own, element, close)
            count = max(options.sizes) // element.bytes
            buffers = overlay(own.problem.collective, element, count)
            assert buffers is not None
            launch = _bind(backend, own, element, *buffers)
            _run(launch)
            seconds = _time(launch, launch.wait, 5)
            gbps = 2 * len(buffers[0]) * count * element.bytes / seconds / 1e9
            print(
                f"{backend:12} {name:14} {'right' if right else 'WRONG'} "
                f"{seconds * 1e6:9.1f} us {gbps:7.0f} GB/s",
                flush=True,
            )
            yield {
                "backend": backend, "operator": name, "right": right,
                "us": seconds * 1e6, "GBps": gbps,
            }  # fmt: skip


def _agrees(backend: str, program: Any, element: Any, close: int = 0) -> bool:
    collective = program.problem.collective
    right = True
    for count in (0, 1, 127, 100003 if element.bytes <= 16 else 5003):
        inputs, outputs = allocate(collective, element, count)
        _fill(element, inputs, any_bits=not close)
        wanted = allocate(collective, element, count)[1]
        _run(_bind(backend, program, element, inputs, outputs))
        _run(_bind("interpreter", program, element, inputs, wanted))
        # Step by step every rank merges in an order of its own; fused, all in that of rank 0.
        right &= all(_same(element, output, wanted[0], close) for output in outputs)
    return right


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


def _fill(element: Any, arrays: Any, *, any_bits: bool) -> None:
    """Moderate values, and half of them any bits if such may occur; field by field."""
    rng = np.random.default_rng(1)
    for array in arrays:
        for part in _parts(element, array):
            shape, kind = part.shape, part.dtype
            mild = rng.integers(0, 100, shape).astype(kind)
            bits = rng.integers(0, 256, (part.size, kind.itemsize), np.uint8)
            whole = bits.reshape(-1).view(kind).reshape(shape)
            part[:] = np.where(any_bits & (rng.random(shape) < 0.5), whole, mild)


def _parts(element: Any, array: Any) -> list[Any]:
    """The fields of records as views, or plain numbers as they are."""
    return [array[field.name] for field in element.fields] or [array]


def _same(element: Any, one: Any, other: Any, close: int) -> bool:
    """The same bits, or floats so many epsilons apart; of NaNs only that both are."""
    for a, b in zip(_parts(element, one), _parts(element, other), strict=True):
        x, y = np.ascontiguousarray(a), np.ascontiguousarray(b)
        unsigned = np.dtype(f"u{x.itemsize}")
        with np.errstate(invalid="ignore"):
            right = ((x != x) & (y != y)) | (x.view(unsigned) == y.view(unsigned))
            if close:
                size = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)
                right |= np.abs(x - y) <= close * float(np.finfo(x.dtype).eps) * size
        if not right.all():
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
