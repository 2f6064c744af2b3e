"""The script for a machine with a GPU, run whole on the host shim."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.host_shim import FakeCupy, needs_compiler

if TYPE_CHECKING:
    import pytest

pytestmark = needs_compiler

SMALL = "--backends cuda --elements bf16 --operators argmax --timed f32 --ranks 2 --sizes 4096"


class IdleCupy(FakeCupy):
    """Launches that do nothing."""

    def RawModule(self, **_: object) -> Any:  # noqa: N802
        return SimpleNamespace(get_function=lambda _entry: lambda *_arguments: None)


def run_check(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    path = Path(__file__).parents[2] / "benchmarks" / "gpu_check.py"
    spec = importlib.util.spec_from_file_location("gpu_check", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return int(module.main([*SMALL.split(), *options]))


def test_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    assert run_check(FakeCupy(), monkeypatch, "--out", str(out)) == 0
    rows = json.loads(out.read_text())
    assert [row["right"] for row in rows] == [True] * 3
    assert rows[-1]["bytes"] == 4096
    assert rows[-1]["of_copy"] > 0


def test_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_check(IdleCupy(), monkeypatch) == 1
    assert "3 rows, 3 wrong" in capsys.readouterr().out


def test_every_operator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["roots-f64", "odd", "attention"]
    assert run_check(FakeCupy(), monkeypatch, "--timed", "--operators", *names) == 0
    shown = capsys.readouterr().out
    assert [name for name in names if f" {name} " not in shown] == []
