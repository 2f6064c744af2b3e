"""Every message of the command line about bad input, word for word.

ROUNDELAY_UPDATE_GOLDEN=1 renews the expected texts.
"""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Command

HERE = Path(__file__).parent / "errors"
COMMANDS = {
    "no-such-file": "synth nowhere.rly",
    "no-such-machine": "synth dgx7",
    "not-a-text-file": "check binary.rly",
    "a-folder": "check folder.rly",
    "no-plan": "run bare.rly",
    "empty-plan": "run empty.rly",
    "no-such-plan": "run ring.rly --plan 2",
    "op-without-collective": "synth ring.rly --op max",
    "bad-size-of-a-machine": "synth 'ring(0)'",
    "missing-size-of-a-machine": "synth torus(4)",
    "bandwidth-of-zero": "synth 'ring(4, 0 GB/s)'",
    "unit-mismatch": "synth 'ring(4, 5 us)'",
    "broken-machine": "synth 'ring(4'",
    "unknown-collective": "synth dgx1 --collective all_redcue",
    "unknown-operator": "synth dgx1 --op summ",
    "operator-where-none-is": "synth dgx1 --collective all_gather --op sum",
    "root-out-of-range": "synth dgx1 --collective broadcast --root 8",
    "root-where-none-is": "synth dgx1 --root 3",
    "bad-chunks": "synth dgx1 --chunks 0",
    "bad-range": "synth dgx1 --steps 6..2",
    "bad-rounds": "synth dgx1 --rounds four",
    "bad-budget": "synth dgx1 --budget 0",
    "bad-bytes": "run dgx1 -b 4Q",
    "crossed-bytes": "run dgx1 -b 8K -e 4K",
    "bad-factor": "run dgx1 -f 1",
    "unknown-type": "run dgx1 -d floaty",
    "unknown-backend": "run dgx1 --backend cudda",
    "unknown-fill": "run dgx1 --fill ones",
    "unknown-solver": "synth dgx1 --solver z4",
    "too-many-chunks": "synth 'ring(3)' --chunks 999999999",
    "too-many-steps": "synth 'ring(3)' --chunks 1 --steps 100000",
    "too-few-steps": "synth dgx1 --chunks 1 --steps 1",
    "too-few-rounds": "synth dgx1 --chunks 8 --steps 4 --rounds 2",
    "steps-of-none": "synth dgx1 --steps 0",
    "steps-below-the-diameter": "synth 'ring(8)' --steps 1..3",
    "rounds-below-the-chunks": "synth dgx1 --chunks 16 --rounds 4",
    "rounds-below-a-range-of-chunks": "synth dgx1 --chunks 4..8 --rounds 1",
    "rounds-below-a-cut": "run dgx1 --collective all_to_all --rounds 5/2",
    "rounds-below-the-way": "synth 'ring(8)' --collective broadcast --rounds 3",
    "limits-below-two-bounds": "codegen dgx1 -o out --chunks 3 --steps 1 --rounds 1/2",
    "plan-against-itself": "run crossed.rly",
    "plan-against-an-option": "synth crossed.rly --steps 2 --rounds 3",
    "plan-that-forbids-the-way": "synth parted.rly",
    "output-is-a-file": "codegen dgx1 -o bare.rly",
    "frontier-below-the-diameter": "frontier 'ring(8)' --steps 1..3",
    "frontier-below-two-bounds": "frontier crossed.rly",
    "store-is-a-file": "frontier dgx1 --store bare.rly",
    "plot-in-a-file": "frontier dgx1 --plot bare.rly/x.svg",
    "plot-is-a-folder": "frontier dgx1 --plot folder.rly",
    "plot-without-a-name": "frontier dgx1 --plot ''",
    "plot-of-another-form": "frontier dgx1 --plot frontier.png",
    "picture-of-another-form": "show dgx1 --svg dgx1.pdf",
    "unknown-option": "synth dgx1 --stpes 2",
    "missing-target": "synth",
    "name-too-long": f"synth {'x' * 5000}",
    "folder-name-too-long": f"codegen dgx1 -o {'x' * 300}",
    "plan-zero": "synth ring.rly --plan 0",
    "plan-of-a-machine": "synth dgx1 --plan 2",
    "plan-beside-a-collective": "synth ring.rly --plan 1 --collective all_gather",
    "argument-twice": "synth dgx1 --collective 'broadcast(1)' --root 2",
    "unclosed-argument": "synth dgx1 --collective 'broadcast(1'",
    "empty-collective": "synth dgx1 --collective ''",
    "empty-operator": "synth dgx1 --op ''",
    "empty-chunks": "synth dgx1 --chunks ''",
    "empty-budget": "synth dgx1 --budget ''",
    "empty-type": "run dgx1 -d ''",
    "schedule-beside-a-collective": "synth ring.rly --schedule ring --collective all_gather",
    "schedule-with-a-limit": "synth 'ring(4)' --schedule ring --chunks 2",
    "schedule-unknown": "synth 'ring(4)' --schedule rnig",
    "schedule-without-a-link": "synth 'line(3)' --schedule ring",
    "schedule-operator-twice": "synth 'ring(4)' --schedule 'ring(op = max)' --op sum",
    "schedule-without-operator": "synth 'ring(4)' --schedule ring_all_gather --op sum",
    "schedule-on-two-machines": "synth 'ring(4)' --schedule 'ring(ring(4))'",
    "groups-that-overlap": "synth dgx1 --collective 'all_reduce(sum) within [[0, 1], [1, 2]]'",
    "type-beside-a-struct": "run 'ring(3)' --op merge -d f32",
    "type-without-bits": "run 'ring(3)' --op bxor",
    "operator-without-its-number": "synth 'ring(3)' --op premulsum",
    "laws-refuted-on-the-type": "run wraps.rly",
    "laws-refuted-everywhere": "check unlawful.rly",
    "symmetric": "synth symmetric.rly",
    "nothing-in-place": "run shifted.rly",
    "format-of-a-fault": "fmt empty.rly broken.rly",
    "show-of-nothing": "show bare_.rly",
    "show-unknown": "show dgx7",
    "digits-of-another-script": "synth dgx1 --chunks \N{ARABIC-INDIC DIGIT THREE}",
}

RING = """topology ring3 {
  ranks a[3]
  link a[i] <-> a[(i + 1) % 3] at 1 GB/s, 1 us for i in 0..3
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "folder.rly").mkdir()
    (tmp_path / "binary.rly").write_bytes(bytes(range(256)))
    (tmp_path / "bare.rly").write_text(RING)
    (tmp_path / "empty.rly").write_text(RING + "plan {\n}\n")
    (tmp_path / "wraps.rly").write_text(
        "operator size(a, b) = abs(a) + abs(b) { commutative }\n"
        "plan { synthesize all_reduce(size) on ring(3) element i32 }\n"
    )
    (tmp_path / "unlawful.rly").write_text("operator odd(a, b) = a - b\n")
    (tmp_path / "symmetric.rly").write_text(
        "plan { synthesize all_reduce(sum) on ring(6) chunks 1 symmetric }\n"
    )
    (tmp_path / "shifted.rly").write_text("plan { synthesize send_recv(1) on ring(3) in place }\n")
    (tmp_path / "crossed.rly").write_text(
        "plan {\n  synthesize all_reduce(sum) on dgx1\n"
        "  chunks 12..16\n  steps 1\n  rounds 5 / 2\n}\n"
    )
    (tmp_path / "parted.rly").write_text(
        "plan {\n  synthesize all_reduce(sum) on line(3)\n  forbid node[0] -> node[1]\n}\n"
    )
    (tmp_path / "broken.rly").write_text("topology {\n}\n")
    (tmp_path / "ring.rly").write_text(RING + "plan { synthesize all_reduce(sum) on ring3 }\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_message(roundelay: Command, name: str) -> None:
    done = roundelay(*shlex.split(COMMANDS[name]))
    lines = [line for line in done.err.splitlines() if not line.startswith("search ")]
    text = f"$ roundelay {COMMANDS[name]}\n" + "\n".join(lines) + f"\n[exit status {done.status}]\n"
    path = HERE / f"{name}.expect"
    if os.environ.get("ROUNDELAY_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()
    assert done.status == 2
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [name for name in COMMANDS if "-below-" in name])
def test_what_a_bound_refuses_starts_no_process(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from roundelay.synth.exact import pool

    def started(*_: object, **__: object) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr(pool.Worker, "__init__", started)
    done = roundelay(*shlex.split(COMMANDS[name]))
    assert (done.status, "search " in done.err) == (2, False)
    assert "error: impossible: " in done.err


@pytest.mark.usefixtures("folder")
def test_a_refusal_in_json(roundelay: Command) -> None:
    done = roundelay("synth", "dgx1", "--chunks", 16, "--rounds", 4, "--json")
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["proved"]) == (2, "impossible", True)


@pytest.mark.usefixtures("folder")
def test_bad_input_leaves_standard_output_to_json_alone(roundelay: Command) -> None:
    done = roundelay("synth", "dgx7", "--json")
    assert (done.status, done.out) == (2, "")


def test_our_own_fault_asks_for_a_report(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roundelay import pipeline

    def broken(*_: object, **__: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(pipeline, "synthesize", broken)
    done = roundelay("synth", "ring(3)")
    assert done.status == 70
    assert "internal error: KeyError" in done.err
    assert "report" in done.err
    assert "Traceback" not in done.err


def test_an_interrupted_search_says_what_it_has_and_runs_nothing(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roundelay.synth import search

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_improve", stopped)
    done = roundelay("run", "dgx1", "--chunks", 2, "--steps", 2, "--json")
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["interrupted"]) == (130, "found", True)
    assert record["rows"] == []
    assert "interrupted" in done.err


def test_an_interruption_is_quiet(roundelay: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from roundelay import pipeline

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "synthesize", stopped)
    done = roundelay("synth", "ring(3)")
    assert done.status == 130
    assert "Traceback" not in done.err
