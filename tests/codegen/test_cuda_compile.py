"""The CUDA C++ through NVRTC, for architectures that need no device here."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from roundelay.codegen.artifact import Artifact
from roundelay.codegen.cuda_backend import emit
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.nvrtc import CompileError, compile_cuda
from tests.gpu_programs import (
    AVG,
    EXACT,
    SHIFTED,
    add_up,
    every_function,
    reduce_all,
    scatter_trees,
)
from tests.schedules import PROD, SUM

if TYPE_CHECKING:
    from roundelay.dsl.model import Function, Operator

pytest.importorskip("cuda.bindings.nvrtc")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("element", ["f16", "f32", "i8"])
def test_every_architecture(element: str, arch: str) -> None:
    code = compile_cuda(emit(reduce_all(8, SUM, 2), ELEMENTS[element]), arch)
    assert code[:4] == b"\x7fELF"
    assert b"rl_fused_0" in code


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 16, 17])
def test_vectors_are_moved_whole(ranks: int) -> None:
    ptx = compile_cuda(emit(reduce_all(ranks, SUM), ELEMENTS["f32"]), "sm_90", "ptx").decode()
    loads = len(re.findall(r"ld\.global\.v4\.u32", ptx))
    stores = len(re.findall(r"st\.global\.v4\.u32", ptx))
    # Two packs at once for few operands, then one; nothing through generic addresses.
    per_operand = 3 if ranks <= 8 else 1
    assert loads == per_operand * ranks
    assert stores == per_operand * ranks
    assert not re.search(r"\b(ld|st)\.(v\d\.)?[bfsu]\d", ptx)
    assert ".local" not in ptx


@pytest.mark.parametrize("operator", [PROD, every_function(divides=False)], ids=lambda o: o.name)
@pytest.mark.parametrize("element", ["f16", "f32", "f64", "u8", "i32", "u64"])
def test_nothing_is_contracted(operator: Operator, element: str) -> None:
    artifact = emit(reduce_all(3, operator), ELEMENTS[element])
    ptx = compile_cuda(artifact, "sm_80", "ptx").decode()
    assert "rl_fused_0" in ptx
    assert not re.search(r"\b(fma|mad)\.(rn|ftz|f32|f64)", ptx)
    assert ".ftz" not in ptx


@pytest.mark.parametrize(
    ("element", "arch"),
    [*((name, "sm_90") for name in ELEMENTS), *(("f32", arch) for arch in ("sm_80", "sm_100"))],
)
def test_all_functions_prepared_and_finished(element: str, arch: str) -> None:
    kind = ELEMENTS[element]
    more: tuple[Function, ...] = () if kind.exact else ("exp", "log", "logaddexp")
    operator = replace(add_up(EXACT[kind.exact] + more), prepare=SHIFTED.prepare, finish=AVG.finish)
    code = compile_cuda(emit(reduce_all(3, operator), kind), arch)
    assert b"rl_fused_0" in code


@pytest.mark.parametrize("element", ["f16", "f32", "f64"])
def test_quotients_and_roots_are_rounded_once(element: str) -> None:
    operator = add_up(EXACT[False])
    ptx = compile_cuda(emit(reduce_all(2, operator), ELEMENTS[element]), "sm_90", "ptx").decode()
    wide = "f64" if element == "f64" else "f32"
    assert f"sqrt.rn.{wide}" in ptx
    assert f"div.rn.{wide}" in ptx
    assert not re.search(r"\b(fma|mad)\.(rn|ftz|f32|f64)|\.approx|\.ftz", ptx)
    assert ".local" not in ptx


def test_one_function_within_another() -> None:
    deep = add_up(("lt", "sub") * 150)
    assert b"rl_fused_0" in compile_cuda(emit(reduce_all(2, deep), ELEMENTS["f32"]))


@pytest.mark.parametrize("element", ["bf16", "i8", "u32", "i64"])
def test_many_shapes(element: str) -> None:
    fused = scatter_trees(7, SUM, widest=40)
    code = compile_cuda(emit(fused, ELEMENTS[element]), "sm_100")
    for number in range(len(fused.shapes)):
        assert f"rl_fused_{number}".encode() in code


def test_refused_text_shows_the_log() -> None:
    artifact = Artifact("cuda", (("bad.cu", "int f( {"),), "f", "0")
    with pytest.raises(CompileError, match=r"(?s)NVRTC refuses bad\.cu for sm_90.*error"):
        compile_cuda(artifact)
