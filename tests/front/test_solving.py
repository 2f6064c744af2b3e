"""The options that say how to search: ``--jobs``, ``--solver``, ``--prove`` and ``--export``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.processes import busy_factor

if TYPE_CHECKING:
    from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
NEVER = ("synth", "complete(4)", "--chunks", 2, "--steps", 1, "--rounds", 1)


def test_one_job_and_a_seed_give_the_same_object(roundelay: Command) -> None:
    words = ("synth", "ring(5)", "--chunks", "1..2", "--json", "--seed", 3, "-j", 1)
    said = []
    for _ in range(2):
        answer = json.loads(roundelay(*words).out)
        assert answer.pop("seconds") > 0
        for each in answer["log"]:
            assert each.pop("seconds") >= 0
        said.append(json.dumps(answer))
    assert said[0] == said[1]
    assert json.loads(said[0])["outcome"] == "found"


@pytest.mark.parametrize("solver", ["z3", "cpsat", "race"])
def test_either_solver_or_both(solver: str, roundelay: Command) -> None:
    done = roundelay("synth", "ring(4)", "--chunks", 2, "--steps", 2, "--rounds", 2, "--json",
                     "--solver", solver, "--jobs", 2)  # fmt: skip
    answer = json.loads(done.out)
    assert (done.status, answer["outcome"]) == (0, "found")
    if solver != "race":
        assert {"z3": "Z3", "cpsat": "CP-SAT"}[solver] in answer["engine"]


def test_a_proof_names_both_solvers(roundelay: Command) -> None:
    done = roundelay(*NEVER, "--prove")
    assert done.status == 2
    line = next(line for line in done.err.splitlines() if line.startswith("error:"))
    assert "CP-SAT" in line
    assert "Z3" in line
    assert "asked again: impossible" in done.err


def test_an_exported_query_is_written_and_named(roundelay: Command, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er"
    done = roundelay(*NEVER, "--export", folder)
    names = ["complete_4_-all_reduce-c2-s1-r1.opb", "complete_4_-all_reduce-c2-s1-r1.smt2"]
    names = [name.replace("complete_4_", _machine(folder)) for name in names]
    assert sorted(path.name for path in folder.iterdir()) == names
    lines = done.out.splitlines()
    assert [line for line in lines if line.startswith("exported")] == [
        f"exported  {folder / name}" for name in names
    ]
    last = next(i for i, line in enumerate(lines) if line.startswith("answer"))
    assert all(not line.startswith("exported") for line in lines[last:])
    again = roundelay("synth", "ring(4)", "--chunks", 1, "--json", "--export", folder)
    answer = json.loads(again.out)
    assert len(answer["exported"]) == 2
    assert all(Path(path).is_file() for path in answer["exported"])


def _machine(folder: Path) -> str:
    """What the machine is called in the files' names."""
    return next(folder.iterdir()).name.partition("-")[0]


def test_what_cannot_be_done_is_refused_before_the_search(
    roundelay: Command, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="ascii")
    done = roundelay(*NEVER, "--export", file / "folder")
    assert done.status == 2
    assert "cannot write into" in done.err
    assert "--export" in done.err
    for option in (("--prove",), ("--export", tmp_path)):
        done = roundelay("synth", "ring(4)", "--schedule", "ring", *option)
        assert done.status == 2
        assert f"{option[0]} changes nothing in a schedule by hand" in done.err
    done = roundelay("synth", "ring(4)", "-j", 0)
    assert done.status == 2
    assert "Traceback" not in done.err


def test_memory_that_is_no_amount_is_an_error(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDELAY_MEMORY", "plenty")
    done = roundelay("synth", "ring(4)")
    assert done.status == 2
    assert "ROUNDELAY_MEMORY='plenty' is no amount of memory" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "collective"),
    [
        ("torus(16, 16)", "all_gather"),
        ("pod(hgx_h100, 8)", "all_to_all"),
        ("hypercube(8)", "all_reduce"),
        ("complete(64)", "all_reduce"),
    ],
)
def test_a_second_is_a_second_whatever_is_asked(machine: str, collective: str) -> None:
    """All of it: the start, the reading, the bounds, the workers and their end."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "roundelay", "synth", machine, "--collective", collective,
         "--budget", "1s", "--json"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert time.monotonic() - began < 3 * busy_factor()
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["outcome"]) in ((0, "found"), (3, "gave-up"))
