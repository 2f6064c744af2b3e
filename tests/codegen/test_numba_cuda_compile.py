"""The Numba CUDA module compiled to PTX for devices that are not here."""

from __future__ import annotations

import importlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.numba_cuda_backend import emit
from tests.gpu_programs import SUM, every_function, reduce_all, scatter_trees

pytest.importorskip("numba_cuda")


def compile_ptx(
    text: str, entries: list[str], arch: tuple[int, int], patch: pytest.MonkeyPatch
) -> str:
    """PTX of the kernels. Numba asks the driver which device its functions are for."""
    cuda: Any = importlib.import_module("numba.cuda")
    types: Any = importlib.import_module("numba.types")
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    device = SimpleNamespace(compute_capability=arch)
    patch.setattr(dispatcher, "get_current_device", lambda: device)
    scope: dict[str, Any] = {}
    exec(compile(text, "kernels.py", "exec"), scope)
    signature = types.int64[::1], types.int64
    try:
        return "\n".join(
            cuda.compile_ptx(scope[entry].py_func, signature, cc=arch)[0] for entry in entries
        )
    except Exception as error:
        if type(error).__name__ in ("NvvmSupportError", "DynamicLibNotFoundError"):
            pytest.skip(f"no compiler: {error}")
        raise


@pytest.mark.parametrize(
    ("element", "arch"),
    [("f32", (8, 0)), ("f32", (9, 0)), ("f32", (10, 0)), ("f16", (9, 0)), ("i64", (10, 0))],
)
def test_vectors_are_moved_whole(
    element: str, arch: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = emit(reduce_all(4, SUM), ELEMENTS[element])
    ptx = compile_ptx(artifact.files[0][1], ["rl_fused_0"], arch, monkeypatch)
    assert f".target sm_{arch[0]}{arch[1]}" in ptx
    width = "v2.u64" if element == "i64" else "v4.u32"
    assert ptx.count(f"ld.global.{width}") >= 4
    assert ptx.count(f"st.global.{width}") >= 4
    assert not re.search(r"\bcall\b|\.func\b", ptx)


@pytest.mark.parametrize("name", ["bf16", "f64", "i8", "u64"])
def test_every_function(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    element = ELEMENTS[name]
    fused = scatter_trees(7, every_function(divides=not element.exact), widest=17)
    assert [shape.operands for shape in fused.shapes[:2]] == [17, 2]
    entries = [f"rl_fused_{n}" for n in range(2)]
    ptx = compile_ptx(emit(fused, element).files[0][1], entries, (9, 0), monkeypatch)
    for entry in entries:
        assert entry in ptx
    # Integers must not pass through floating point on their way: u64 with i64 would.
    if element.exact:
        assert not re.search(r"cvt\.rn\.f|\.f64|\.f32", ptx)
    else:
        assert not re.search(r"\b(fma|mad)\.rn", ptx)
