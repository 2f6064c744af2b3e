"""The CUDA C++ through NVRTC, for architectures that need no device here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from roundelay.codegen.artifact import Artifact
from roundelay.codegen.cuda_backend import emit
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.nvrtc import CompileError, compile_cuda
from tests.gpu_programs import PROD, SUM, every_function, reduce_all, scatter_trees

if TYPE_CHECKING:
    from roundelay.dsl.model import Operator

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
