"""Real schedules, lowered and fused: GPU text gives the bytes of the interpreter's steps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from roundelay.codegen.backends import load_backend
from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.executors import BACKEND, load_executor
from tests import schedules
from tests.gpu_programs import fill_randomly, find_difference
from tests.host_shim import FakeCupy, needs_compiler

if TYPE_CHECKING:
    from roundelay.codegen.program import Program
    from roundelay.synth.schedule import Schedule

RANKS = 4
MADE: dict[str, Schedule] = {
    "ring": schedules.ring_all_reduce(RANKS),
    "max-ring": schedules.ring_all_reduce(RANKS, operator=schedules.MAX),
    "doubling": schedules.doubling_all_reduce(RANKS, 3),
    "two-shot": schedules.two_shot_all_reduce(RANKS),
    "ordered": schedules.one_shot_all_reduce(RANKS, 2, schedules.SCALED),
    **{
        name: schedules.random_schedule(getattr(schedules, name)(RANKS), schedules.SUM, 2, seed)
        for seed, name in enumerate(
            ("reduce", "all_gather", "reduce_scatter", "broadcast", "scatter", "all_to_all", "scan")
        )
    },
}


def run(name: str, program: Program, element: Any, count: int, *, in_place: bool) -> Any:
    backend = BACKEND[name]
    artifact = load_backend(backend)(fuse(program), element) if backend else None
    executor = load_executor(name, artifact, program, element)
    collective = program.problem.collective
    buffers = (overlay if in_place else allocate)(collective, element, count)
    if buffers is None:
        pytest.skip("this collective has no layout in place")
    inputs, outputs = buffers
    fill_randomly(element, inputs, 1)
    launch = executor.bind(inputs, outputs)
    launch.load()
    launch()
    launch.wait()
    launch.store()
    return outputs


@needs_compiler
@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in-place"])
@pytest.mark.parametrize("made", MADE)
def test_cuda(made: str, in_place: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
    program = lower(MADE[made])
    for element in (ELEMENTS["f32"], ELEMENTS["bf16"]):
        wanted = run("interpreter", program, element, 107, in_place=in_place)
        if made == "doubling":
            # Step by step every rank has a tree of its own; fused, all take the lowest rank's.
            wanted = wanted[:1] * RANKS
        got = run("cuda", program, element, 107, in_place=in_place)
        assert not find_difference(element, got, wanted)


@pytest.mark.parametrize("made", ["ring", "ordered", "reduce_scatter", "all_to_all"])
def test_numba_cuda(made: str) -> None:
    program = lower(MADE[made])
    element, in_place = ELEMENTS["f16"], made in ("ring", "reduce_scatter")
    wanted = run("interpreter", program, element, 107, in_place=in_place)
    got = run("numba-cuda-sim", program, element, 107, in_place=in_place)
    assert not find_difference(element, got, wanted)


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_simulator_against_cpu_kernels(element: str) -> None:
    program = lower(MADE["doubling"])
    runs = [
        run(name, program, ELEMENTS[element], 211, in_place=True)
        for name in ("numba-cpu", "numba-cuda-sim")
    ]
    assert not find_difference(ELEMENTS[element], *runs)
