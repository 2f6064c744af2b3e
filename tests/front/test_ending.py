"""How the command leaves when its outputs are gone, full or closed, and when it is interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Command

FULL = Path("/dev/full")
ROUNDELAY = [sys.executable, "-m", "roundelay"]
GOOD = ["check", "good.rly"]
BAD = ["check", "bad.rly"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.rly").write_text("plan { synthesize all_gather on ring(3) }\n")
    (tmp_path / "bad.rly").write_text("plan { }\n")
    monkeypatch.chdir(tmp_path)


def test_a_reader_that_left_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*ROUNDELAY, *GOOD], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [GOOD, [*GOOD, "--json"]])
def test_a_full_disk_is_named(words: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*ROUNDELAY, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 74
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("words", "status"), [(GOOD, 0), (BAD, 2)])
def test_messages_that_cannot_be_written_change_no_status(words: list[str], status: int) -> None:
    with FULL.open("w") as full:
        done = subprocess.run([*ROUNDELAY, *words], stderr=full, capture_output=False, check=False,
                              stdout=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == status


@pytest.mark.parametrize(("words", "status"), [(GOOD, 0), (BAD, 2)])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_outputs_change_no_status(words: list[str], status: int, closed: str) -> None:
    line = f'exec "$0" "$@" {closed}'
    done = subprocess.run(["sh", "-c", line, *ROUNDELAY, *words], capture_output=True, check=False)
    assert done.returncode == status
    assert b"internal error" not in done.stdout + done.stderr


def test_an_interruption_is_said(roundelay: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from roundelay import pipeline

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "synthesize", stopped)
    done = roundelay("synth", "ring(3)", "--json")
    assert (done.status, done.out, done.err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("words", [("synth",), ("run",), ("codegen", "-o", "out")])
def test_json_is_one_object_where_nothing_was_found(
    roundelay: Command, words: tuple[str, ...]
) -> None:
    done = roundelay(*words, "dgx1", "--chunks", 1, "--steps", 1, "--json")
    assert (done.status, json.loads(done.out)["outcome"]) == (2, "impossible")
    assert done.out.count("\n") == 1
    assert not Path("out").exists()


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xfe.rly"
    Path(os.fsdecode(path)).write_text("topology a { ranks g }\n")
    strict = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run([*ROUNDELAY, "check", path], capture_output=True, env=strict, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udcfe.rly: no faults" in done.stdout
