"""``check`` follows the schedules by hand that a file's plans run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Command

AROUND = """\
schedule around(machine, last) of all_gather on machine {
  chunks 1
  step for k in 0..last:
    send x[(r - k) % n, 0] from r to (r + 1) % n copy for r in ranks
}
"""


def test_a_schedule_that_falls_short_is_no_sound_file(roundelay: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.rly"
    plans = "plan { run around(ring(4), 2) }\nplan { run around(ring(3), 2) }\n"
    file.write_text(f"{AROUND}{plans}", encoding="utf-8")
    done = roundelay("check", file)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("is not made at") == 4
    assert "y[0, 1] of chunk 0 is not made at node[0], which holds nothing" in done.err
    file.write_text(f"{AROUND}{plans}".replace("4), 2", "4), 3"), encoding="utf-8")
    assert roundelay("check", file).status == 0
    assert json.loads(roundelay("check", file, "--json").out)["ok"] is True


def test_of_many_values_that_are_missing_some_are_named(roundelay: Command, tmp_path: Path) -> None:
    file = tmp_path / "a.rly"
    file.write_text(f"{AROUND} plan {{ run around(ring(16), 1) }}", encoding="utf-8")
    done = roundelay("check", file)
    assert done.status == 2
    assert done.err.count("is not made at") == 20
    # Each of 16 lacks 14 of 16 values.
    assert "and 204 values more are not made" in done.err
