"""From the words of the command line to a problem, its limits and the sizes to run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from roundelay.dsl.source import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from roundelay.dsl.model import Handwritten, Objective, Problem


def limit(
    task: Problem | Handwritten,
    chunks: str | None,
    steps: str | None,
    rounds: str | None,
    budget: str | None,
    minimize: str | None,
    datatype: str | None = None,
) -> Problem | Handwritten:
    """The task with the limits that were given, each still as text."""
    from roundelay import pipeline, quantities

    return pipeline.refine(
        task,
        chunks=quantities.parse_range(chunks, "--chunks") if chunks is not None else None,
        steps=quantities.parse_range(steps, "--steps") if steps is not None else None,
        rounds=quantities.parse_rounds(rounds, "--rounds") if rounds is not None else None,
        budget=quantities.parse_seconds(budget, "--budget") if budget is not None else None,
        element=element_name(datatype) if datatype is not None else None,
        objective=_objective(minimize) if minimize is not None else None,
    )


def _objective(text: str) -> Objective:
    """``latency``, ``bandwidth``, or the time at a size."""
    from roundelay.dsl.model import Objective
    from roundelay.quantities import parse_size

    if text == "latency":
        return Objective("latency")
    if text == "bandwidth":
        return Objective("bandwidth")
    return Objective("time", parse_size(text, "--minimize"))


def element_name(name: str) -> str:
    """Our name of an element type, from ours or that of nccl-tests."""
    from roundelay.codegen.elements import ELEMENTS

    ours = {element.nccl: element.name for element in ELEMENTS.values()}
    chosen = name if name in ELEMENTS else ours.get(name)
    if chosen is None:
        _refuse("-d", name, [*ELEMENTS, *ours])
    return chosen


def require(option: str, value: str, names: Collection[str]) -> None:
    """Refuse a value that is none of the known names, suggesting the nearest."""
    if value not in names:
        _refuse(option, value, list(names))


def _refuse(option: str, value: str, names: list[str]) -> NoReturn:
    from difflib import get_close_matches

    near = get_close_matches(value, names, 1)
    remedy = f"did you mean {near[0]!r}?" if near else "choose one of them"
    raise InputError(Fault(f"{option} {value[:40]!r} is unknown", None, ", ".join(names), remedy))


def choose_sizes(
    problem: Problem, begin: str | None, end: str | None, factor: int
) -> tuple[tuple[int, ...], str]:
    """The sizes to run, and what to say where memory does not allow all of them."""
    from roundelay.quantities import parse_size
    from roundelay.runtime.bench import memory_available, memory_needed

    low, high = problem.limits.sizes or (1 << 10, 1 << 24)
    if begin is not None:
        low = parse_size(begin, "-b")
        high = max(low, high) if end is None else high
    if end is not None:
        high = parse_size(end, "-e")
        low = min(low, high) if begin is None else low
    if low > high or factor < 2:
        what = f"sizes from {low} to {high} by a factor of {factor}"
        raise InputError(
            Fault(what, None, "-b not above -e, and -f at least 2", "correct -b, -e or -f")
        )
    available = memory_available()
    sizes = [low]
    while sizes[-1] < high:
        sizes.append(min(high, max(1, sizes[-1]) * factor))
    fitting = list(sizes)
    while fitting and available and memory_needed(problem, fitting[-1]) >= available:
        fitting.pop()
    if not fitting:
        raise InputError(
            Fault(
                f"{low} bytes on {problem.collective.ranks} ranks do not fit into this machine",
                None,
                f"at most {available} bytes for all buffers together",
                "choose a smaller -b",
            )
        )
    cut = (
        ""
        if len(fitting) == len(sizes)
        else (f"# Reducing maxBytes to {fitting[-1]} due to memory limitation")
    )
    return tuple(fitting), cut


def require_search(task: Problem | Handwritten, **given: bool) -> None:
    """Refuse options of a search, by name and whether they were given, on a schedule by hand."""
    from roundelay.dsl.model import Handwritten

    for option in [option for option, value in given.items() if value]:
        if isinstance(task, Handwritten):
            raise InputError(
                Fault(f"{option} changes nothing in a schedule by hand", None, "a search",
                      f"leave {option} out")
            )  # fmt: skip


def require_folder(folder: Path, option: str = "-o") -> None:
    """Refuse before the search what could not be written after it."""
    existing = folder
    try:
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        writable = existing.is_dir() and os.access(existing, os.W_OK)
    except (OSError, ValueError):
        writable = False
    if not writable:
        raise InputError(
            Fault(f"cannot write into {folder}", None, "a folder", f"choose another with {option}")
        )
