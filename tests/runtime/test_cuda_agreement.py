"""Real schedules, lowered and fused: GPU text gives the bytes of the interpreter's steps."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from roundelay.codegen.backends import load_backend
from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.runtime.buffers import allocate, overlay
from roundelay.runtime.executors import BACKEND, load_executor
from tests import schedules
from tests.gpu_programs import (
    AVG,
    PREMULSUM,
    SHIFTED,
    argmax,
    attention,
    element_of,
    fill_randomly,
    find_difference,
    halves,
    matrix,
    odd,
)
from tests.host_shim import FakeCupy, needs_compiler

if TYPE_CHECKING:
    from roundelay.codegen.program import Program
    from roundelay.dsl.model import Operator
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


def run(
    name: str, program: Program, element: Any, count: int, *, in_place: bool, mild: bool = False
) -> Any:
    backend = BACKEND[name]
    artifact = load_backend(backend)(fuse(program), element) if backend else None
    executor = load_executor(name, artifact, program, element)
    collective = program.problem.collective
    buffers = (overlay if in_place else allocate)(collective, element, count)
    if buffers is None:
        pytest.skip("this collective has no layout in place")
    inputs, outputs = buffers
    fill_randomly(element, inputs, 1, mild=mild)
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


def with_operator(program: Program, operator: Operator) -> Program:
    """The program with another operator, which merges in the same order."""
    return replace(program, problem=replace(program.problem, operator=operator))


@needs_compiler
@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in-place"])
@pytest.mark.parametrize("made", ["ring", "two-shot", "reduce", "reduce_scatter", "scan"])
def test_records_finished_and_prepared(
    made: str, in_place: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interpreter and kernels agree on averages, and on records of all kinds."""
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
    lowered = lower(MADE[made])
    for operator in (AVG, PREMULSUM, SHIFTED, argmax(), matrix(), odd(), halves()):
        element = element_of(operator) if operator.struct else ELEMENTS["bf16"]
        program = with_operator(lowered, operator)
        wanted = run("interpreter", program, element, 53, in_place=in_place)
        got = run("cuda", program, element, 53, in_place=in_place)
        assert not find_difference(element, got, wanted), operator.name


@needs_compiler
def test_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
    element = element_of(attention())
    program = with_operator(lower(MADE["ring"]), attention())
    runs = [
        run(name, program, element, 53, in_place=True, mild=True)
        for name in ("interpreter", "cuda")
    ]
    assert not find_difference(element, runs[1], runs[0], 64)


@pytest.mark.parametrize("made", ["ring", "ordered", "reduce_scatter", "all_to_all"])
def test_numba_cuda(made: str) -> None:
    program = lower(MADE[made])
    element, in_place = ELEMENTS["f16"], made in ("ring", "reduce_scatter")
    wanted = run("interpreter", program, element, 107, in_place=in_place)
    got = run("numba-cuda-sim", program, element, 107, in_place=in_place)
    assert not find_difference(element, got, wanted)


@pytest.mark.parametrize(
    ("made", "operator", "name"), [("ring", SHIFTED, "f16"), ("scan", AVG, "i32")]
)
def test_numba_cuda_prepares_and_finishes(made: str, operator: Operator, name: str) -> None:
    program, element = with_operator(lower(MADE[made]), operator), ELEMENTS[name]
    wanted = run("interpreter", program, element, 53, in_place=False)
    got = run("numba-cuda-sim", program, element, 53, in_place=False)
    assert not find_difference(element, got, wanted)


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_simulator_against_cpu_kernels(element: str) -> None:
    program = lower(MADE["doubling"])
    runs = [
        run(name, program, ELEMENTS[element], 211, in_place=True)
        for name in ("numba-cpu", "numba-cuda-sim")
    ]
    assert not find_difference(ELEMENTS[element], *runs)
