"""``roundelay bounds`` and ``certify``: limits in words and numbers, and their proofs again."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Command

KEYS = {
    "topology", "collective", "op", "steps", "algbw", "algbw_GBps", "rs_ag_algbw_GBps",
    "busbw_GBps", "proved", "bottleneck", "certificate",
}  # fmt: skip


def bounds(command: Command, *words: object) -> dict[str, Any]:
    done = command("bounds", *words, "--json")
    assert done.status == 0, done.err
    record: dict[str, Any] = json.loads(done.out)
    assert record.keys() >= KEYS
    return record


@pytest.mark.parametrize(
    ("words", "steps", "algbw"),
    [
        (("dgx1",), 2, "600/7"),
        (("dgx1", "--collective", "all_gather"), 2, "1200/7"),
        (("dgx1", "--collective", "reduce_scatter"), 2, "1200/7"),
        (("dgx1", "--collective", "all_to_all"), 2, "75/1"),
        (("dgx1", "--collective", "broadcast"), 2, "150/1"),
        (("mesh(8, 8, 1 GB/s)",), 14, "16/9"),
        (("line(4, 1 GB/s)", "--op", "max"), 3, "1/1"),
        (("hgx_h100",), 1, "450/1"),
        (("ring(1)",), 0, None),
    ],
)
def test_known_machines(
    roundelay: Command, words: tuple[str, ...], steps: int, algbw: str | None
) -> None:
    record = bounds(roundelay, *words)
    assert (record["steps"], record["algbw"], record["proved"]) == (steps, algbw, True)
    if algbw is not None:
        assert record["algbw_GBps"] == pytest.approx(float(Fraction(algbw)))


def test_what_two_collectives_in_a_row_would_reach(roundelay: Command) -> None:
    record = bounds(roundelay, "mesh(8, 8, 1 GB/s)")
    assert record["rs_ag_algbw_GBps"] == pytest.approx(64 / 63)
    done = roundelay("bounds", "mesh(8, 8)", "--size", "1MiB", "--size", "1K")
    assert "the bound is 75.0% above that" in done.out
    assert "proved    optimal" in done.out
    assert done.out.count("\ntime      at ") == 2


def test_switches_that_combine_change_the_limit(roundelay: Command) -> None:
    record = bounds(roundelay, "hgx_h100")
    assert record["forwarding_algbw_GBps"] == pytest.approx(1800 / 7)
    assert record["rs_ag_algbw_GBps"] == pytest.approx(1800 / 7)


def test_where_proof_and_construction_do_not_meet_nothing_is_called_optimal(
    roundelay: Command,
) -> None:
    done = roundelay("bounds", "pod(hgx_h100, 2)")
    assert done.status == 0
    assert "a gap of" in done.out
    assert "optimal" not in done.out


def test_the_time_at_a_size_is_that_of_steps_and_bytes(roundelay: Command) -> None:
    record = bounds(roundelay, "ring(4, 1 GB/s, 1 us)", "--size", 3000)
    (time,) = record["times"]
    assert time == {"size": 3000, "least_us": pytest.approx(2 + 3000 / (4 / 3) / 1000)}


@pytest.fixture
def proof(roundelay: Command, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    record = bounds(roundelay, "dgx1", "--collective", "all_to_all")
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(record))
    return path, record


def test_a_proof_is_checked_again(roundelay: Command, proof: tuple[Path, dict[str, Any]]) -> None:
    done = roundelay("certify", proof[0])
    assert done.status == 0
    assert "take 8/3 rounds at least" in done.out
    assert "2 certificates hold, checked without a solver" in done.out


def test_no_solver_is_loaded_to_check_one(proof: tuple[Path, dict[str, Any]]) -> None:
    program = (
        "import sys; sys.argv = ['roundelay', 'certify', sys.argv[1]]\n"
        "from roundelay.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted({'z3', 'ortools', 'highspy', 'numpy'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", program, str(proof[0])]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def changed(proof: tuple[Path, dict[str, Any]], **parts: Any) -> Path:
    path, record = proof
    path.write_text(json.dumps(record | parts))
    return path


def test_a_corrupted_proof_is_refused(
    roundelay: Command, proof: tuple[Path, dict[str, Any]]
) -> None:
    distance, cut = proof[1]["certificates"]
    for spoilt, said in (
        (cut | {"value": "3/1"}, "proves 8/3 rounds only, not 3"),
        (cut | {"nodes": [0, 1, 2, 99]}, "no node 99"),
        (cut | {"nodes": []}, "does not hold"),
        (cut | {"kind": "cat"}, "kind is one of"),
        (cut | {"value": "1/0"}, "none"),
    ):
        done = roundelay("certify", changed(proof, certificates=[distance, spoilt],
                                            certificate=spoilt))  # fmt: skip
        assert done.status == 2, spoilt
        assert said in done.err
    done = roundelay("certify", changed(proof, certificates=[distance | {"value": "3/1"}, cut]))
    assert done.status == 2


def test_a_file_may_not_say_more_than_it_proves(
    roundelay: Command, proof: tuple[Path, dict[str, Any]]
) -> None:
    distance, cut = proof[1]["certificates"]
    for parts, said in (
        ({"algbw": "70/1"}, "its certificates prove 75"),
        ({"steps": 3}, "its certificates prove 2"),
        ({"certificates": [distance], "certificate": None}, "no certificate proves a limit"),
        ({"certificates": [distance]}, "is none of its certificates"),
        ({"algbw": "x"}, "does not say what is proved"),
        ({"format": 99}, "no certificates of format 1"),
        ({"request": {"target": "dgx1", "steps": 3}}, "does not say what its certificates are for"),
    ):
        done = roundelay("certify", changed(proof, **parts))
        assert (done.status, said in done.err) == (2, True), (parts, done.err)
    assert cut["kind"] == "cut"


def test_a_proof_for_another_machine_is_none(
    roundelay: Command, proof: tuple[Path, dict[str, Any]]
) -> None:
    done = roundelay("certify", proof[0], "--target", "ring(8)")
    assert (done.status, "its certificates prove 150" in done.err) == (2, True)
    assert roundelay("certify", proof[0], "--target", "dgx1").status == 0


def test_a_budget_ends_the_search_for_better_bounds(roundelay: Command) -> None:
    words = ("mesh(12, 12)", "--collective", "all_to_all", "--budget", "500ms")
    record = bounds(roundelay, *words)
    assert record["algbw"] is not None
    assert record["certificate"] is not None
    assert record["hurried"] != record["proved"]
    done = roundelay("bounds", *words, "--show")
    assert ("budget    over" in done.out) != ("proved    optimal" in done.out)
    assert "distance: at least 22 steps\n  from, to: chip[" in done.out
    assert not bounds(roundelay, "ring(4)")["hurried"]
