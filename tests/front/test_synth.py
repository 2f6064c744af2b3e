"""``roundelay synth``: what is found, what is impossible, and what the JSON says of it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Command

KEYS = {
    "topology", "ranks", "collective", "op", "outcome", "chunks", "steps", "rounds", "cost",
    "bound", "proved", "engine", "seconds", "sends", "checked",
}  # fmt: skip


def test_the_published_point_of_the_dgx1(roundelay: Command) -> None:
    done = roundelay("synth", "dgx1", "--collective", "all_reduce", "--chunks", 8, "--steps", 4,
                     "--rounds", 4, "--json")  # fmt: skip
    answer = json.loads(done.out)
    assert done.status == 0
    assert answer.keys() >= KEYS
    assert (answer["outcome"], answer["checked"]) == ("found", True)
    assert (answer["chunks"], answer["steps"], answer["rounds"]) == (8, 4, 4)
    assert answer["cost"]["per_byte"] == "1/50000000000"
    assert answer["cost"]["algbw_GBps"] == pytest.approx(50)
    assert answer["cost"]["latency_s"] == pytest.approx(2.8e-6)
    assert answer["bound"]["algbw_GBps"] == pytest.approx(600 / 7)
    assert not answer["proved"]
    double = {(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)}
    loads = Counter((s["step"], s["src"], s["dst"]) for s in answer["sends"])
    rounds = [0.0] * 4
    for (step, src, dst), load in loads.items():
        share = load / (2 if (min(src, dst), max(src, dst)) in double else 1)
        rounds[step] = max(rounds[step], share)
    assert sum(rounds) <= 4
    assert {"carries", "action"} <= answer["sends"][0].keys()


def test_two_steps_on_the_dgx1(roundelay: Command) -> None:
    words = ("synth", "dgx1", "--collective", "all_reduce", "--json")
    done = roundelay(*words, "--chunks", 2, "--steps", 2, "--rounds", 2)
    assert json.loads(done.out)["outcome"] == "found"
    done = roundelay(*words, "--chunks", 3, "--steps", 2, "--rounds", 3)
    answer = json.loads(done.out)
    assert (done.status, answer["outcome"], answer["proved"]) == (2, "impossible", True)
    assert answer.keys() >= KEYS
    assert answer["sends"] == []


@pytest.mark.parametrize(
    ("machine", "op", "steps"),
    [
        ("ring(5)", "max", 2),
        ("ring(5)", "sum", 2),
        ("ring(8)", "sum", 4),
        ("complete(8)", "sum", 1),
    ],
)
def test_fewest_steps(roundelay: Command, machine: str, op: str, steps: int) -> None:
    done = roundelay("synth", machine, "--op", op, "--chunks", 1, "--json")
    answer = json.loads(done.out)
    assert (done.status, answer["outcome"], answer["steps"]) == (0, "found", steps)
    assert answer["bound"]["steps"] == steps


def test_people_read_machine_bound_find_and_comparison(roundelay: Command) -> None:
    done = roundelay("synth", "ring(4)", "--collective", "all_gather", "--chunks", 1, "--show")
    assert done.status == 0
    for word in (
        "machine",
        "assumed",
        "bound",
        "found",
        "cost",
        "compares",
        "optimal",
        "m0: step 0",
    ):
        assert word in done.out
    assert "Traceback" not in done.err


def test_same_seed_same_bytes(roundelay: Command) -> None:
    words = ("synth", "ring(5)", "--chunks", 2, "--json", "--seed", 3, "--jobs", 1)
    first, second = (json.loads(roundelay(*words).out) for _ in range(2))
    assert first["sends"] == second["sends"]


def test_a_budget_that_is_too_small_says_so(roundelay: Command) -> None:
    done = roundelay("synth", "torus(6, 6)", "--chunks", 40, "--steps", 6, "--rounds", 39,
                     "--budget", "1s", "--json")  # fmt: skip
    answer = json.loads(done.out)
    assert (done.status, answer["outcome"]) == (3, "gave-up")
    assert answer["seconds"] < 10
