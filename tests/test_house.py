"""The laws of the house: the layout, the links, the wheel, and what an import may load."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("dsl", "synth", "codegen", "runtime")

needs_tree = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout")


def tracked_files(pattern: str) -> list[str]:
    command = ["git", "ls-files", pattern]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).exists()]


@needs_tree
@pytest.mark.parametrize("room", ROOMS)
def test_each_room_has_its_link(room: str) -> None:
    link = ROOT / "roundelay" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..") / room
    assert (link / "__init__.py").is_file()


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that a fresh interpreter has after the code."""
    command = f"{code}\nimport sys\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


def test_the_front_door_is_light() -> None:
    heavy = {"z3", "numba", "ortools", "numpy", "cupy", "lark", "rich", "matplotlib"}
    assert not loaded("import roundelay") & heavy
    assert not loaded("import roundelay.cli") & heavy


def test_the_language_needs_no_solver_and_no_compiler() -> None:
    heavy = {"z3", "numba", "ortools", "numpy", "cupy"}
    assert not loaded("import roundelay.dsl.loader") & heavy


def test_judging_a_schedule_needs_no_solver() -> None:
    code = "import roundelay.synth.checker, roundelay.synth.certificates, roundelay.synth.timeline"
    assert not loaded(code) & {"z3", "ortools", "numba"}


def test_the_runtime_needs_no_solver() -> None:
    assert not loaded("import roundelay.runtime.bench") & {"z3", "ortools", "lark"}


@needs_tree
@pytest.mark.slow
def test_the_wheel_holds_the_tracked_files_of_the_rooms_and_no_others(tmp_path: Path) -> None:
    tracked = tracked_files(".")
    tree = tmp_path / "tree"  # A build in the checkout would leave, and find, old files there.
    for name in tracked:
        copy = tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        str(tmp_path),
        ".",
    ]
    subprocess.run(command, cwd=tree, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if name.startswith("roundelay/")}
    rooms = {
        f"roundelay/{name}" for name in tracked if name.startswith(tuple(f"{r}/" for r in ROOMS))
    }
    door = {name for name in tracked if name.startswith("roundelay/")}
    links = {f"roundelay/{room}" for room in ROOMS}
    assert packed == (rooms | door) - links


@needs_tree
def test_no_python_file_is_too_long_without_a_reason() -> None:
    for name in tracked_files("*.py"):
        path = ROOT / name
        if path.is_symlink() or not path.exists() or name.startswith(("tests/", "benchmarks/")):
            continue
        lines = path.read_text().splitlines()
        assert len(lines) <= 300 or any(" long" in line for line in lines[:25]), name
