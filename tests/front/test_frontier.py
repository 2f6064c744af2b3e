"""``roundelay frontier``: table, plots, JSON, the store, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn
from xml.etree import ElementTree

import pytest

from roundelay import pipeline, tabulate
from roundelay.dsl.source import Fault, InputError
from roundelay.synth import search
from roundelay.synth.exact import engine
from roundelay.synth.frontier import explorer, walk
from roundelay.synth.schedule import GaveUp, Impossible
from roundelay.tabulate import show_counts, show_size

if TYPE_CHECKING:
    from pathlib import Path

    from roundelay.dsl.model import Handwritten, Problem
    from roundelay.synth.schedule import Outcome, Query

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
    assert done.err == roundelay("synth", "ring(8)", "--steps", 3).err
    assert done.err.startswith("error: impossible: --steps 3: data of node[4] needs 4 steps")
    assert "remedy: allow 4 steps" in done.err
    assert "steps  chunks" not in done.out
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
        (("--store", "/dev/null/x"), "choose another with --store"),
        (("--plot", "/dev/null/x.svg"), "cannot write into /dev/null"),
        (("--plot", "/dev/null/x.svg"), "choose another with --plot"),
    ],
)
def test_bad_options_are_named(roundelay: Command, words: tuple[str, ...], message: str) -> None:
    done = roundelay("frontier", "ring(4)", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_rounds_below_a_range_of_chunks_are_bad_input(roundelay: Command, tmp_path: Path) -> None:
    """6 messages a chunk over 8 links: 3/4 of a round each, 2 whole rounds for 2 chunks."""
    path = tmp_path / "few.rly"
    path.write_text("plan {\n  synthesize all_reduce(sum) on ring(4)\n  chunks 2..3 rounds 1\n}\n")
    done = roundelay("frontier", path)
    assert done.status == 2
    assert done.err == roundelay("synth", path).err
    assert f"{path}:3:15: error: impossible: rounds 1 with chunks 2..3" in done.err
    assert "remedy: allow 2 rounds" in done.err


def test_want_of_memory_is_said(roundelay: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if workers had so little: the next run, with more, asks what was given up for it again."""
    solve = engine.solve

    def starve(problem: Problem, query: Query, **how: Any) -> Outcome:
        if (query.chunks, query.steps) == (2, 3):
            return GaveUp("out of memory: Z3 had 50 MiB", "exact")
        return solve(problem, query, **how)

    monkeypatch.setattr(walk, "solve", starve)
    done = roundelay(*LINE, "--budget", 5, "--detail")
    assert done.status == 0
    starved = [line for line in done.out.splitlines() if "open, 0.0" in line]
    assert starved
    assert all(line.endswith("s, out of memory: Z3 had 50 MiB") for line in starved)
    (warning,) = (line for line in done.err.splitlines() if line.startswith("warning"))
    assert re.fullmatch(r"warning: (1 query|\d queries) ran out of memory", warning)
    assert "remedy: more memory" in done.err
    assert "more memory goes on from here" in done.out
    assert "--budget" not in done.out
    monkeypatch.setattr(walk, "solve", solve)
    again = roundelay(*LINE, "--budget", 5)
    assert "out of memory" not in again.err
    assert "nothing is left to ask" in again.out


def test_a_footnote_stands_where_something_bears_its_mark(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the solvers refute is refuted over two smaller classes in turn."""
    solve, number = engine.solve, count()

    def narrow(problem: Problem, query: Query, **how: Any) -> Outcome:
        outcome = solve(problem, query, **how)
        if not isinstance(outcome, Impossible):
            return outcome
        reason = f"none exists, says Z3, over class {'AB'[next(number) % 2]}"
        return replace(
            outcome, certificate=replace(outcome.certificate, complete=False, reason=reason)
        )

    monkeypatch.setattr(walk, "solve", narrow)
    words = ("frontier", "line(3)", "--chunks", "1..3", "--steps", "2..3", "--budget", 5)
    done = roundelay(*words)
    head, _, foot = done.out.partition("(*) proved over a smaller class of schedules: ")
    assert "(*)" in head
    assert foot.startswith("class A; class B\n")
    # In a narrower frame the same is known; rows that are open bear no mark.
    monkeypatch.setattr(tabulate, "verdict", lambda *_: "open")
    monkeypatch.setattr(tabulate, "_lack", lambda *_: "open")
    assert "(*)" not in roundelay(*words).out


def test_the_budget_begins_with_the_command(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[float] = []

    def start(_seconds: float, _jobs: int, at: float) -> NoReturn:
        heard.append(at)
        raise InputError(Fault("heard", None))

    read = pipeline.read

    def read_slowly(request: pipeline.Request) -> Problem | Handwritten:
        time.sleep(0.3)
        return read(request)

    monkeypatch.setattr(pipeline, "read", read_slowly)
    monkeypatch.setattr(explorer, "start_clock", start)
    monkeypatch.setattr(search, "start_clock", start)
    for verb in ("frontier", "synth"):
        assert roundelay(verb, "ring(4)").status == 2
        assert heard.pop() < time.monotonic() - 0.3


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
        if heard == 2:
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
    assert len(answered) >= 2
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
