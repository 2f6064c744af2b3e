"""The Numba CUDA module compiled to PTX for devices that are not here."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.numba_cuda_backend import emit
from roundelay.codegen.operators import UnsupportedOperatorError
from roundelay.dsl.model import Apply, Operator, scalar_body
from tests.gpu_programs import (
    AVG,
    EXACT,
    SHIFTED,
    ZERO,
    A,
    B,
    add_up,
    argmax,
    element_of,
    every_function,
    reduce_all,
    scatter_trees,
)
from tests.schedules import SUM

if TYPE_CHECKING:
    from roundelay.dsl.model import Function

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


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "i8", "u8", "i32", "u32", "i64", "u64"])
def test_all_functions_finished(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    element = ELEMENTS[name]
    more: tuple[Function, ...] = () if element.exact else ("exp", "log", "logaddexp")
    operator = replace(
        add_up(EXACT[element.exact] + more), finish=AVG.finish, prepare=SHIFTED.prepare
    )
    artifact = emit(reduce_all(3, operator), element)
    ptx = compile_ptx(artifact.files[0][1], ["rl_fused_0"], (9, 0), monkeypatch)
    assert not re.search(r"\bcall\b|\.func\b", ptx)
    if element.exact:
        assert not re.search(r"cvt\.rn\.f|\.f64|\.f32", ptx)
        assert re.search(r"\b(div|rem)\.", ptx)
    else:
        wide = "f64" if name == "f64" else "f32"
        assert f"sqrt.rn.{wide}" in ptx
        assert f"div.rn.{wide}" in ptx
        assert not re.search(r"\b(div\.(full|approx)|sqrt\.approx)", ptx)


def test_no_sum_is_taken_never_to_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign of twice a number is that of what wrapped around, not that of the number."""
    found = []
    for seen in (A, Apply("add", (A, A))):
        operator = Operator("negative", scalar_body(Apply("add", (Apply("lt", (seen, ZERO)), B))))
        artifact = emit(reduce_all(2, operator), ELEMENTS["i64"])
        ptx = compile_ptx(artifact.files[0][1], ["rl_fused_0"], (9, 0), monkeypatch)
        found.append(re.findall(r"^\t(\w[\w.]*) ", ptx, re.MULTILINE))
    assert found[0] != found[1]


def test_one_function_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them, one within the other, than Python allows brackets."""
    deep = add_up(("lt", "sub") * 150)
    ptx = compile_ptx(
        emit(reduce_all(2, deep), ELEMENTS["f32"]).files[0][1], ["rl_fused_0"], (9, 0), monkeypatch
    )
    assert "rl_fused_0" in ptx


def test_structs_are_refused() -> None:
    with pytest.raises(UnsupportedOperatorError, match="struct argmax") as refusal:
        emit(reduce_all(2, argmax()), element_of(argmax()))
    assert "cuda" in refusal.value.faults[0].remedy
