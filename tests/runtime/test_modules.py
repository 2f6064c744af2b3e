from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.runtime import modules
from tests.schedules import (
    ring_all_reduce,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_generated_file_is_written_once_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDELAY_CACHE_DIR", str(tmp_path / "new"))
    first = modules.import_generated("X = 1\n", "a" * 64)
    assert first.X == 1
    assert modules.import_generated("X = 1\n", "a" * 64) is first
    (path,) = (tmp_path / "new").glob("*.py")
    assert path.read_text() == "X = 1\n"
    path.write_text("X = 2\n")
    del sys.modules[first.__name__]
    assert modules.import_generated("X = 1\n", "a" * 64).X == 1
    assert path.read_text() == "X = 1\n"
    assert not list((tmp_path / "new").glob(".*"))


def test_without_a_folder_to_write_to_a_private_one_serves_and_is_removed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "temporary").mkdir()
    code = (
        "from roundelay.runtime.modules import import_generated\n"
        "module = import_generated('X = 3\\n', 'b' * 64)\n"
        "print(module.X, module.__file__)\n"
    )
    folders = {
        "ROUNDELAY_CACHE_DIR": str(tmp_path / "file" / "below"),
        "TMPDIR": str(tmp_path / "temporary"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | folders,
        capture_output=True,
        text=True,
        check=True,
    )
    value, path = done.stdout.split()
    assert value == "3"
    assert path.startswith(str(tmp_path / "temporary"))
    assert not list((tmp_path / "temporary").iterdir())


def test_a_module_that_fails_is_not_left_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        modules.import_generated("1 / 0\n", "c" * 64)
    assert not any("c" * 32 in name for name in sys.modules)


_COUNT_HITS = """
import sys
from roundelay.runtime.modules import import_generated
import numpy as np
module = import_generated(open(sys.argv[1]).read(), "d" * 64)
module.run(np.zeros(len(module.KERNELS), np.int64))
print(sum(module.run.stats.cache_hits.values()), sum(module.run.stats.cache_misses.values()))
"""


def test_the_next_process_need_not_compile(tmp_path: Path) -> None:
    artifact = emit(fuse(lower(ring_all_reduce(2, 1))), ELEMENTS["f16"])
    text = tmp_path / "kernels.py"
    text.write_text(artifact.files[0][1], encoding="ascii")
    environment = {**os.environ, "ROUNDELAY_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", _COUNT_HITS, str(text)]
    outcomes = [
        subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        for _ in range(2)
    ]
    assert outcomes == ["0 1\n", "1 0\n"]
