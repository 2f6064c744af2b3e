"""The whole language through the command line: operators, groups, schedules, plan options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Command

MATRIX = """
element matrix { a: f32, b: f32, c: f32, d: f32 }
operator product(x: matrix, y: matrix) {
  a = x.a * y.a + x.b * y.c
  b = x.a * y.b + x.b * y.d
  c = x.c * y.a + x.d * y.c
  d = x.c * y.b + x.d * y.d
}
"""
SMALL = ("-b", "1K", "-e", "1K", "-n", 1)


def run(command: Command, path: Path, *words: object) -> dict[str, object]:
    done = command("run", path, *words, "--json")
    assert done.status == 0, done.err
    record: dict[str, object] = json.loads(done.out)
    assert record["verified"]
    return record


def written(folder: Path, text: str) -> Path:
    path = folder / "it.rly"
    path.write_text(text)
    return path


def test_a_matrix_product_keeps_the_order_of_the_ranks(roundelay: Command, tmp_path: Path) -> None:
    path = written(tmp_path, MATRIX + "plan { synthesize all_reduce(product) on ring(3) }")
    record = run(roundelay, path, "--chunks", 1, "--steps", 2, *SMALL)
    assert record["op"] == "product"
    rows = record["rows"]
    assert isinstance(rows, list)
    assert (rows[0]["type"], rows[0]["size"], rows[0]["count"]) == ("matrix", 1024, 64)


@pytest.mark.parametrize("op", ["avg", "premulsum(0.5)", "merge", "maxloc", "lor"])
def test_every_kind_of_operator_runs(roundelay: Command, op: str) -> None:
    done = roundelay("run", "ring(3)", "--op", op, "--chunks", 1, "--steps", 1, *SMALL, "--json")
    record = json.loads(done.out)
    assert (done.status, record["verified"], record["op"]) == (0, True, op)


def test_bits_run_on_integers(roundelay: Command) -> None:
    done = roundelay("run", "ring(3)", "--op", "bxor", "-d", "u8", "--chunks", 1, *SMALL, "--json")
    assert (done.status, json.loads(done.out)["verified"]) == (0, True)


def test_groups_share_a_machine(roundelay: Command) -> None:
    done = roundelay(
        "run", "dgx1", "--collective", "all_reduce(avg) within [[0..4], [4..8]]", "--chunks", 1,
        "--steps", 1, *SMALL,
    )  # fmt: skip
    assert done.status == 0
    assert "all_reduce(avg) within [[0, 1, 2, 3], [4, 5, 6, 7]]" in done.out
    assert "Out of bounds values : 0 OK" in done.out


def test_a_schedule_of_the_library_runs_on_a_machine(roundelay: Command) -> None:
    done = roundelay("run", "ring(5)", "--schedule", "bidirectional_ring", "--op", "max", *SMALL)
    assert done.status == 0
    assert "(by hand)" in done.out
    assert "bandwidth optimal" in done.out


def test_a_schedule_of_a_file_has_a_machine_of_its_own(roundelay: Command, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        topology star { ranks a, b, c  switch hub
          link a <-> hub at 10 GB/s, 1 us
          link b <-> hub at 10 GB/s, 1 us
          link c <-> hub at 10 GB/s, 1 us
        }
        schedule up of reduce(sum, 0) on star {
          chunks 1
          step: send c = 0 from b to a via hub reduce
          step: send c = 0 from c to a reduce
        }
        plan { run up sizes 1 KiB .. 2 KiB in place }
        """,
    )
    record = run(roundelay, path, "-n", 1)
    assert (record["steps"], record["engine"], record["collective"]) == (2, "by hand", "reduce")
    rows = record["rows"]
    assert isinstance(rows, list)
    assert [row["time_us"] for row in rows] == [None, None]
    assert all(row["in_place"]["wrong"] == 0 for row in rows)
    named = roundelay("synth", path, "--schedule", "up", "--json")
    assert json.loads(named.out)["sends"] == record["sends"]


def test_a_forbidden_link_carries_nothing(roundelay: Command, tmp_path: Path) -> None:
    plan = "plan { synthesize all_reduce(sum) on ring(4) forbid node[0] <-> node[1] chunks 1 }"
    record = run(roundelay, written(tmp_path, plan), *SMALL)
    sends = record["sends"]
    assert isinstance(sends, list)
    assert sends
    assert not [send for send in sends if {send["src"], send["dst"]} == {0, 1}]
    assert record["steps"] == 3


def test_check_says_what_is_proved(roundelay: Command, tmp_path: Path) -> None:
    path = written(tmp_path, MATRIX + "operator far(a, b) = abs(a) + abs(b) { commutative }")
    done = roundelay("check", path)
    assert done.status == 0
    assert "operator product: associative: proved" in done.out
    assert "operator far: associative: proved over the reals" in done.out
    assert "refuted over signed integers: for " in done.out
    record = json.loads(roundelay("check", path, "--json").out)
    assert record["declared"]["operator"] == ["product", "far"]
    assert record["declared"]["element"] == ["matrix"]
    assert len(record["laws"]) == 3


def test_fmt_writes_one_form_and_keeps_comments(roundelay: Command, tmp_path: Path) -> None:
    text = "# a ring\nplan{synthesize all_reduce( sum )on ring( 3 )# why\n}\n"
    path = written(tmp_path, text)
    done = roundelay("fmt", path, "--check")
    assert (done.status, path.read_text()) == (1, text)
    done = roundelay("fmt", path, "--diff")
    assert (done.status, path.read_text()) == (1, text)
    assert "+  synthesize all_reduce(sum) on ring(3)  # why" in done.out
    assert roundelay("fmt", path).status == 0
    formatted = "# a ring\nplan {\n  synthesize all_reduce(sum) on ring(3)  # why\n}\n"
    assert path.read_text() == formatted
    done = roundelay("fmt", path, "--json")
    assert json.loads(done.out) == {"files": [str(path)], "changed": [], "written": True}


def test_fmt_changes_nothing_where_one_file_is_wrong(roundelay: Command, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.rly", tmp_path / "bad.rly"
    good.write_text("plan{synthesize all_gather on ring(3)}")
    bad.write_text("plan{")
    assert roundelay("fmt", good, bad).status == 2
    assert good.read_text() == "plan{synthesize all_gather on ring(3)}"


def test_files_use_files(roundelay: Command, tmp_path: Path) -> None:
    (tmp_path / "boxes.rly").write_text(
        "topology box { ranks g[3] link g[i] <-> g[j] at 1 GB/s, 1 us"
        " for i in 0..3, j in 0..3 if i < j }"
    )
    path = written(tmp_path, 'use "boxes.rly"\nplan { synthesize all_gather on box }')
    record = run(roundelay, path, "--chunks", 1, *SMALL)
    assert (record["topology"], record["steps"]) == ("box", 1)
