"""``roundelay run`` and ``codegen``: from a text to verified numbers and stable files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roundelay import pipeline
from roundelay.runtime import bench

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Problem
    from roundelay.runtime.bench import Plan, Row
    from roundelay.runtime.executor import Array, Executor, Launch

    from .conftest import Command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIRST = ("--chunks", "1", "--budget", "20s")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.rly")))
def test_every_example_runs_verified(roundelay: Command, name: str) -> None:
    done = roundelay("run", EXAMPLES / name, "-b", "4", "-e", "64K", "-f", "64", "-n", 2, "--json",
                     "--budget", "20s")  # fmt: skip
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["verified"]) == (0, "found", True)
    assert record["rows"]
    for row in record["rows"]:
        assert row.keys() >= {"size", "count", "type", "op", "time_us", "algbw", "busbw", "wrong"}
        assert row["wrong"] == 0


@pytest.mark.parametrize(("n", "total"), [(3, 6), (5, 15), (6, 21), (7, 28)])
@pytest.mark.parametrize("machine", ["ring", "switch"])
def test_odd_ranks_sum_to_the_triangle(
    roundelay: Command, machine: str, n: int, total: int
) -> None:
    words = ("run", f"{machine}({n})", *FIRST, "--fill", "rank", "-n", 1, "-d", "f32", "--json")
    for length in (0, 1, n - 1, n, n + 1, 1000003):
        done = roundelay(*words, "-b", 4 * length, "-e", 4 * length)
        (row,) = json.loads(done.out)["rows"]
        assert (done.status, row["count"], row["wrong"]) == (0, length, 0)
        assert row["value"] == (f"{total}.0" if length else None)


@pytest.mark.parametrize(
    "collective",
    ["all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter"],
)
@pytest.mark.parametrize("backend", ["numba-cpu", "interpreter"])
def test_every_collective_of_the_library(roundelay: Command, collective: str, backend: str) -> None:
    for element in ("f32", "bf16", "i8"):
        words = ("run", "line(3)", "--collective", collective, *FIRST, "--backend", backend)
        done = roundelay(*words, "-d", element, "-n", 1, "-b", 0, "-e", 999, "-f", 31, "--json")
        record = json.loads(done.out)
        assert (done.status, record["verified"]) == (0, True)
        assert {row["wrong"] for row in record["rows"]} == {0}
        in_place = record["rows"][-1]["in_place"]
        assert (in_place is None) == (collective == "all_to_all")


def test_a_root_is_honoured(roundelay: Command) -> None:
    done = roundelay("run", "line(3)", "--collective", "broadcast", "--root", 2, *FIRST,
                     "-b", 4, "-e", 4, "--fill", "rank", "--json")  # fmt: skip
    record = json.loads(done.out)
    assert (record["root"], record["rows"][0]["value"]) == (2, "3.0")


def test_rows_in_the_form_of_nccl_tests(roundelay: Command) -> None:
    done = roundelay("run", "ring(4)", *FIRST, "-b", "4K", "-e", "16K", "-n", 2)
    assert done.status == 0
    rows = [line.split() for line in done.out.splitlines() if len(line.split()) == 14]
    rows = [row for row in rows if row[0].isdigit()]
    assert [row[0] for row in rows] == ["4096", "8192", "16384"]
    for row in rows:
        assert row[1:5] == [str(int(row[0]) // 4), "float", "sum", "-1"]
        assert len(row) == 14
        assert (row[8], row[12]) == ("0", "0")
        assert 0 < float(row[13]) <= 100
    assert "%bound" in done.out
    assert "# Out of bounds values : 0 OK" in done.out
    assert "# Avg bus bandwidth    :" in done.out


class Spoiling:
    """An executor that does what another does, and then adds one to one element."""

    device = "a broken device"
    alike = True

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Launch:
        launch = self.executor.bind(inputs, outputs)

        class Spoiled:
            load, wait, __call__ = launch.load, launch.wait, launch.__call__

            def store(self) -> None:
                launch.store()
                outputs[1][5] += 1

        return Spoiled()


def test_wrong_data_is_named_and_gives_one(
    roundelay: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = bench.measure

    def spoiled(
        problem: Problem, element: Element, executor: Executor, plan: Plan
    ) -> Iterator[Row]:
        return honest(problem, element, Spoiling(executor), plan)

    monkeypatch.setattr(bench, "measure", spoiled)
    done = roundelay("run", "ring(3)", *FIRST, "-b", "4K", "-e", "4K", "--backend", "interpreter")
    assert done.status == 1
    assert "rank 1, index 5: got" in done.err
    assert "want" in done.err
    assert "FAILED" in done.out


@pytest.mark.parametrize("backend", ["numba-cpu", "cuda", "numba-cuda"])
def test_generated_files_are_stable(roundelay: Command, tmp_path: Path, backend: str) -> None:
    words = ("codegen", "ring(4)", *FIRST, "--backend", backend, "--solver", "cpsat", "-o")
    texts = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        done = roundelay(*words, folder)
        assert done.status == 0
        texts.append({path.name: path.read_text() for path in folder.iterdir()})
        assert all(text.isascii() for text in texts[-1].values())
    assert texts[0] == texts[1]
    assert texts[0]


def test_the_simulator_gives_the_right_bytes(roundelay: Command) -> None:
    done = roundelay("run", "ring(4)", "--backend", "numba-cuda-sim", "-b", "4K", "-e", "4K",
                     "-n", 1, *FIRST, "--json")  # fmt: skip
    record = json.loads(done.out)
    assert (done.status, record["verified"]) == (0, True)


def test_the_python_door() -> None:
    problem = pipeline.read(pipeline.Request("ring(3)", "all_reduce", "max"))
    problem = pipeline.refine(problem, chunks=(1, 1), element="i32")
    answer = pipeline.synthesize(problem)
    schedule = answer.outcome.schedule  # type: ignore[union-attr]
    execution = pipeline.execute(schedule, "interpreter", bench.Plan((400,), iterations=1))
    assert [row.wrong for row in execution.rows] == [0]
