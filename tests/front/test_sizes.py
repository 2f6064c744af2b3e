"""Which sizes a run takes: those that fit, decided without delay on large machines too."""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING

from roundelay import options, pipeline
from roundelay.runtime import bench

if TYPE_CHECKING:
    import pytest


def test_large_machines_are_sized_at_once() -> None:
    problem = pipeline.problem_of(pipeline.read(pipeline.Request("torus(8, 8)", "all_to_all")))
    start = process_time()
    sizes, cut = options.choose_sizes(problem, "4K", "64K", 2)
    assert (sizes, cut) == ((4096, 8192, 16384, 32768, 65536), "")
    assert process_time() - start < 3


def test_what_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = pipeline.problem_of(pipeline.read(pipeline.Request("ring(3)")))
    needed = bench.memory_needed(problem, 4096)
    monkeypatch.setattr(bench, "memory_available", lambda: needed + 1)
    sizes, cut = options.choose_sizes(problem, "1K", "16K", 2)
    assert sizes == (1024, 2048, 4096)
    assert cut == "# Reducing maxBytes to 4096 due to memory limitation"
