"""The one place where the rooms meet: from a target to a problem, a schedule, kernels, numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.program import Program
    from roundelay.dsl.model import Limits, Objective, Problem
    from roundelay.dsl.source import Source
    from roundelay.runtime.bench import Plan, Row
    from roundelay.synth.schedule import Answer, Schedule


@dataclass(frozen=True, slots=True)
class Request:
    """What to read: a ``.rly`` file or a library machine, and for which collective.

    ``collective`` None takes the file's own plan, or all-reduce on a machine. ``op`` and ``root``
    fill the collective's parameters of these kinds; None leaves them to ``sum`` and 0.
    ``plan`` counts the plans of a file from 1.
    """

    target: str
    collective: str | None = None
    op: str | None = None
    root: int | None = None
    plan: int | None = None


def read(request: Request) -> Problem:
    """The problem of a request; raises ``InputError`` with every fault of the text."""
    from roundelay.dsl import loader

    if not request.target.strip():
        raise InputError(Fault("the target is empty", None, "a .rly file or a machine"))
    path, is_file = Path(request.target), _is_file(request.target)
    if request.plan is not None and (not is_file or request.collective is not None):
        raise InputError(
            Fault("--plan changes nothing here", None, "a file's own plan", "leave --plan out")
        )
    if not is_file:
        name, arguments = _collective(None, request)
        return loader.problem(request.target, name, arguments)
    source = loader.read_source(path)
    if request.collective is not None:
        name, arguments = _collective(source, request)
        return loader.on_file(source, name, arguments)
    if request.op is not None or request.root is not None:
        raise InputError(
            Fault(
                "--op and --root change nothing in a file's own plan",
                None,
                "--collective beside them",
                "write the operator into the plan, or name the collective on the command line",
            )
        )
    plans = loader.load(source).plans
    if not plans:
        raise InputError(
            Fault(
                f"{request.target} holds no plan",
                None,
                "a plan block, or --collective on the command line",
                "add 'plan { synthesize all_reduce(sum) on NAME }'",
            )
        )
    chosen = 1 if request.plan is None else request.plan
    if not 1 <= chosen <= len(plans):
        raise InputError(
            Fault(f"plan {chosen} does not exist", None, f"1 to {len(plans)}", "choose one of them")
        )
    return plans[chosen - 1]


def _is_file(target: str) -> bool:
    """A target is a file when it looks like a path or there is one; a machine otherwise."""
    if target.endswith(".rly") or "\0" in target:
        return True
    if "(" in target:
        return False
    try:
        return "/" in target or Path(target).exists()
    except OSError:  # No file can have such a name.
        return False


def _collective(source: Source | None, request: Request) -> tuple[str, tuple[str, ...]]:
    """The name and the arguments of the collective that the command line asks for."""
    from roundelay.dsl import loader

    name = "all_reduce" if request.collective is None else request.collective
    if "(" in name:
        if request.op is not None or request.root is not None:
            raise InputError(
                Fault(
                    f"--op and --root change nothing in {name[:40]!r}",
                    None,
                    "arguments in the collective or as options, not both",
                    "leave the options or the brackets out",
                )
            )
        return name, ()
    given = {
        "op": request.op,
        "root": None if request.root is None else str(request.root),
    }
    defaults = {"op": "sum", "root": "0"}
    arguments: list[str] = []
    for kind in loader.parameters(name, source):
        if kind not in defaults:
            raise InputError(
                Fault(
                    f"the collective {name} takes a parameter {kind}",
                    None,
                    "a value for it",
                    f"write its arguments: --collective '{name}(...)'",
                )
            )
        value = given.pop(kind)
        arguments.append(defaults[kind] if value is None else value)
    for kind, value in given.items():
        if value is not None:
            raise InputError(
                Fault(f"the collective {name} takes no {kind}", None, "", f"leave --{kind} out")
            )
    return name, tuple(arguments)


def refine(
    problem: Problem,
    *,
    chunks: tuple[int, int] | None = None,
    steps: tuple[int, int] | None = None,
    rounds: Fraction | None = None,
    budget: Fraction | None = None,
    element: str | None = None,
    sizes: tuple[int, int] | None = None,
    objective: Objective | None = None,
) -> Problem:
    """The problem with the limits that are given put in the place of its own."""
    limits: Limits = problem.limits
    changed = replace(
        limits,
        chunks=chunks or limits.chunks,
        steps=steps or limits.steps,
        rounds=limits.rounds if rounds is None else rounds,
        budget=limits.budget if budget is None else budget,
        element=element or limits.element,
        sizes=sizes or limits.sizes,
        objective=objective or limits.objective,
    )
    return replace(problem, limits=changed)


def synthesize(
    problem: Problem,
    *,
    seed: int = 0,
    solver: str = "race",
    on_progress: Callable[[str], None] | None = None,
) -> Answer:
    """Search for a schedule; every one returned has passed the checker."""
    from roundelay.synth.search import search

    return search(problem, seed=seed, solver=solver, on_progress=on_progress)


def generate(schedule: Schedule, backend: str, element: str) -> tuple[Program, Artifact]:
    """Lower a schedule and print its kernels for a backend."""
    from roundelay.codegen.backends import load_backend
    from roundelay.codegen.dataflow import fuse
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.lowering import lower

    program = lower(schedule)
    return program, load_backend(backend)(fuse(program), ELEMENTS[element])


def require_runnable(problem: Problem, runner: str | None = None) -> None:
    """Refuse, before a search, what could not be generated or run after it.

    Raises ``UnsupportedError`` for an operator without a meaning on the problem's element type,
    and for an executor (``runner``) that this machine lacks the device for.
    """
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.operators import require_supported
    from roundelay.runtime.executors import require_device

    if problem.collective.combines:
        require_supported(problem.operator, ELEMENTS[problem.limits.element])
    if runner is not None:
        require_device(runner)


@dataclass(frozen=True, slots=True)
class Execution:
    """A schedule at work: ``device`` in words, and one verified row a size, run as it is read.

    ``alike``: whether all ranks that want the same value merge it in one tree.
    """

    device: str
    alike: bool
    rows: Iterator[Row]


def execute(schedule: Schedule, runner: str, element: str, plan: Plan) -> Execution:
    """Generate the kernels of a schedule, load them, and run them over the plan's sizes.

    ``runner`` is a name of ``runtime.executors``; raises ``UnsupportedError`` where this machine
    lacks what it needs.
    """
    from roundelay.codegen.elements import ELEMENTS
    from roundelay.codegen.lowering import lower
    from roundelay.runtime.bench import measure
    from roundelay.runtime.executors import BACKEND, load_executor

    backend = BACKEND[runner]
    program, artifact = (
        (lower(schedule), None) if backend is None else generate(schedule, backend, element)
    )
    executor = load_executor(runner, artifact, program, ELEMENTS[element])
    rows = measure(schedule.problem, ELEMENTS[element], executor, plan)
    return Execution(executor.device, executor.alike, rows)


def write(artifact: Artifact, folder: Path) -> tuple[Path, ...]:
    """Write an artifact's files into a folder, each whole or not at all; their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, text in artifact.files:
            path = folder / name
            partial = path.with_name(f".{path.name}.partial")
            partial.write_text(text, encoding="utf-8", newline="\n")
            partial.replace(path)
            paths.append(path)
    except OSError as error:
        raise InputError(
            Fault(
                f"cannot write {error.filename}: {error.strerror}",
                None,
                "a folder to write into",
                "choose another with -o",
            )
        ) from error
    return tuple(paths)
