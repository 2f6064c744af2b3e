"""``roundelay frontier``: table, plots, JSON, the store, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from roundelay.synth.frontier import walk
from roundelay.tabulate import show_counts, show_size

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Command

LINE = ("frontier", "line(3)", "--chunks", "1..2", "--steps", "2..3")


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDELAY_STORE", str(tmp_path / "store"))


def test_programs_read_points_and_queries(roundelay: Command) -> None:
    """On a line of 3 with 50 GB/s: 2 rounds a chunk in 2 steps, 3/2 in 3 (see the tests of the
    walk); 1 us a step, so the second wins beyond 1 us / (2 - 3/2) * 50 GB/s = 100,000 bytes.
    """
    done = roundelay(*LINE, "--json")
    chart = json.loads(done.out)
    assert done.status == 0
    assert done.err == ""
    points = chart["points"]
    assert [(p["chunks"], p["steps"], p["rounds"]) for p in points] == [(1, 2, 2), (2, 3, 3)]
    assert [p["rounds_per_chunk"] for p in points] == [2, "3/2"]
    assert [p["algbw_GBps"] for p in points] == pytest.approx([25, 100 / 3])
    assert [p["bound_percent"] for p in points] == pytest.approx([50, 200 / 3])
    assert [p["wins"] for p in points] == [
        {"from": 1, "to": 100_000},
        {"from": 100_001, "to": None},
    ]
    assert [p["proof"] for p in points] == ["counts", "counts"]
    assert all(p["complete"] and p["engine"] for p in points)
    assert chart["settled"] is True
    assert chart["chunk_counts"] == [1, 2]
    assert [(s["steps"], s["verdict"]) for s in chart["steps"]] == [(2, "optimal"), (3, "optimal")]
    verdicts = {(q["chunks"], q["steps"], q["rounds"]): q["verdict"] for q in chart["queries"]}
    assert verdicts[2, 3, 2] == "impossible"
    assert verdicts[1, 3, 1] == "impossible"
    again = json.loads(roundelay(*LINE, "--json").out)
    assert (again["asked"], again["resumed"]) == (0, sum(v != "open" for v in verdicts.values()))
    assert again["points"] == points
    fresh = json.loads(roundelay(*LINE, "--json", "--fresh").out)
    assert fresh["asked"]
    assert fresh["resumed"] == 0


def test_people_read_a_table_and_a_plot(roundelay: Command, tmp_path: Path) -> None:
    picture = tmp_path / "new" / "line.svg"
    done = roundelay(*LINE, "--plot", picture, "--detail")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("machine   line(3)")
    assert "bound     2 steps, 50.00 GB/s algbw" in lines
    head = next(i for i, line in enumerate(lines) if line.startswith("steps  chunks"))
    first, second = (line.split() for line in lines[head + 1 : head + 3])
    assert first[:6] == ["2", "1", "2", "2", "25.00", "GB/s"]
    assert second[:6] == ["3", "2", "3", "1.5", "33.33", "GB/s"]
    assert "up to 97.7 KiB" in lines[head + 1]
    assert "optimal for 1, 2 chunks" in lines[head + 1]
    assert any(line.endswith("nothing is left to ask") for line in lines)
    plot = [line for line in lines if line[13:15] in (" |", " +")]
    assert len(plot) == 14
    assert all(len(line) <= 80 and line.isascii() for line in plot)
    assert "===" in plot[0]
    assert sum(line.count("*") for line in plot) == 2
    assert any(line.startswith("query     2 chunks, 3 steps, 2 rounds: imposs") for line in lines)
    root = ElementTree.fromstring(picture.read_text())
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 2
    assert f"wrote     {picture}" in lines


def test_steps_below_the_distance_are_bad_input(roundelay: Command) -> None:
    done = roundelay("frontier", "ring(8)", "--steps", 3)
    assert done.status == 2
    assert "impossible: data of" in done.err
    done = roundelay("frontier", "ring(8)", "--steps", 3, "--json")
    record = json.loads(done.out)
    assert (done.status, record["points"], record["refused"]["kind"]) == (2, [], "distance")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--chunks", "0"), "--chunks '0'"),
        (("--steps", "3..2"), "--steps '3..2'"),
        (("--budget", "never"), "--budget 'never'"),
        (("--solver", "z33"), "did you mean 'z3'"),
        (("--store", "/dev/null/x"), "cannot write into /dev/null/x"),
        (("--plot", "/dev/null/x.svg"), "cannot write into /dev/null"),
    ],
)
def test_bad_options_are_named(roundelay: Command, words: tuple[str, ...], message: str) -> None:
    done = roundelay("frontier", "ring(4)", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_nothing_found_in_the_budget_is_said(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "build", lambda *_: None)
    monkeypatch.setattr(walk, "build_rooted", lambda *_: None)
    done = roundelay("frontier", "torus(8, 8)", "--budget", "200ms", "--json")
    record = json.loads(done.out)
    assert (done.status, record["points"], record["settled"]) == (3, [], False)
    assert record["seconds"] < 10
    assert "gave up" in done.err


def test_a_broken_store_is_one_warning(roundelay: Command, tmp_path: Path) -> None:
    roundelay(*LINE, "--json")
    (file,) = (tmp_path / "store").iterdir()
    file.write_text(file.read_text()[:-9])
    done = roundelay(*LINE, "--json")
    assert done.status == 0
    assert done.err.count("\n") == 1
    assert done.err.startswith("warning: ")
    assert json.loads(done.out)["resumed"] == 0


def test_ctrl_c_prints_what_there_is_and_the_next_run_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "roundelay", "frontier", "dgx1", "--budget", "60",
             "--store", str(tmp_path)]  # fmt: skip
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stderr is not None
    heard = 0
    for line in process.stderr:
        heard += ": found" in line
        if heard == 3:
            break
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert process.returncode == 130, err
    assert "steps  chunks" in out
    assert "interrupted" in err
    assert "Traceback" not in err
    (file,) = tmp_path.iterdir()
    answered = [q for q in json.loads(file.read_text())["asked"] if q["verdict"] != "open"]
    assert len(answered) >= 3
    done = subprocess.run(
        [*words[:-3], "1", *words[-2:], "--json"], capture_output=True, text=True, check=False
    )
    record = json.loads(done.stdout)
    assert done.returncode == 0
    assert record["resumed"] == len(answered)


def test_counts_and_sizes_are_short() -> None:
    assert show_counts((1, 2, 3, 5, 6, 8)) == "1..3, 5, 6, 8"
    assert show_counts((4,)) == "4"
    assert [show_size(n) for n in (1, 999, 1000, 1 << 20, 35_000)] == [
        "1 B", "999 B", "0.977 KiB", "1 MiB", "34.2 KiB",
    ]  # fmt: skip
