"""The one place where the rooms meet: from a target to a problem, a schedule, kernels, numbers.

This file is long because no other calls from one room into another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from roundelay.dsl.model import Handwritten
from roundelay.dsl.source import Fault, InputError, UnsupportedError

from .targets import Request, is_file, read
from .writing import Written, write_files, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.program import Program
    from roundelay.dsl.model import Objective, Operator, Problem, Topology
    from roundelay.runtime.bench import Plan, Row
    from roundelay.synth.frontier.chart import Chart
    from roundelay.synth.profile import Profile
    from roundelay.synth.schedule import Answer, Bound, Schedule

    from .limits import Claims


__all__ = [
    "Execution", "Request", "certify", "chart", "examine", "execute", "export", "follow",
    "generate", "limit", "look", "problem_of", "read", "refine", "require_lawful",
    "require_runnable", "synthesize", "write",
]  # fmt: skip


def problem_of(task: Problem | Handwritten) -> Problem:
    """The question itself, whether it is to be searched or was answered by hand."""
    return task.problem if isinstance(task, Handwritten) else task


def refine(
    task: Problem | Handwritten,
    *,
    chunks: tuple[int, int] | None = None,
    steps: tuple[int, int] | None = None,
    rounds: Fraction | None = None,
    budget: Fraction | None = None,
    element: str | None = None,
    sizes: tuple[int, int] | None = None,
    objective: Objective | None = None,
) -> Problem | Handwritten:
    """The task with the limits that are given put in the place of its own.

    Raises ``InputError`` for limits of a search on a schedule by hand, and for an element that
    the operator does not combine.
    """
    problem = problem_of(task)
    limits = problem.limits
    searching = {"chunks": chunks, "steps": steps, "rounds": rounds, "budget": budget}
    given = [f"--{name}" for name, value in (*searching.items(), ("minimize", objective)) if value]
    if given and isinstance(task, Handwritten):
        raise InputError(
            Fault(
                f"{given[0]} changes nothing in a schedule by hand",
                None,
                "a search",
                f"leave {', '.join(given)} out",
            )
        )
    struct = problem.operator.struct if problem.operator else None
    if element is not None and struct is not None and element != struct.name:
        raise InputError(
            Fault(f"-d {element} with an operator on {struct.name}", None, "", "leave -d out")
        )
    changed = replace(
        limits,
        chunks=chunks or limits.chunks,
        steps=steps or limits.steps,
        rounds=limits.rounds if rounds is None else rounds,
        budget=limits.budget if budget is None else budget,
        element=element or limits.element,
        sizes=sizes or limits.sizes,
        objective=objective or limits.objective,
        # What a command line says stands in no plan.
        spans=tuple(each for each in limits.spans if searching.get(each[0]) is None),
    )
    problem = replace(problem, limits=changed)
    return replace(task, problem=problem) if isinstance(task, Handwritten) else problem


def examine(operator: Operator) -> tuple[str, ...]:
    """What is proved, refuted and open of an operator's laws, a line each.

    Raises ``InputError`` for an operator that obeys them over no kind of number.
    """
    from roundelay.synth import laws

    findings = laws.examine(operator)
    if faults := laws.conclude(operator, findings):
        raise InputError(*faults)
    return laws.describe(operator, findings)


def follow(tasks: Iterable[Problem | Handwritten]) -> None:
    """Follow what every schedule by hand moves, to the end.

    Raises ``InputError`` with all that is wrong in those that do not make what is wanted.
    """
    by_hand = [task for task in tasks if isinstance(task, Handwritten)]
    if not by_hand:
        return
    from roundelay.synth.by_hand import arrange

    faults: list[Fault] = []
    for task in by_hand:
        try:
            arrange(task)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(*dict.fromkeys(faults))


def look(target: str) -> tuple[Topology, Profile]:
    """The machine that a target names, and what its links make of it.

    A target is a machine of the library or a file: its last topology without parameters, or that
    of its last plan. Raises ``InputError``.
    """
    from roundelay.dsl import loader
    from roundelay.synth.profile import profile

    if is_file(target):
        topology = loader.on_source(loader.read_source(Path(target)))
    else:
        topology = loader.show(target)
    return topology, profile(topology)


def limit(problem: Problem, budget: float | None = None) -> Bound:
    """What no schedule of a problem can beat; every certificate has passed its check.

    ``budget`` is in seconds: the best bound until then (None: to the end). Raises
    ``UnsupportedError`` where a rank that wants a value cannot be reached.
    """
    from roundelay.synth.bounds import bound
    from roundelay.synth.certificates import verify

    found = bound(problem, budget=budget)
    for certificate in found.certificates:
        verify(problem, certificate)
    return found


def spell(problem: Problem, found: Bound) -> str:
    """The certificates of a bound in full, with the names of the machine."""
    from roundelay.synth.certificate_forms import to_text

    return "\n".join(to_text(problem, certificate) for certificate in found.certificates)


def certify(claims: Claims) -> tuple[Problem, tuple[str, ...]]:
    """Check certificates against what they are for, without a solver; why each proves its bound.

    Raises ``InputError`` for one that does not hold.
    """
    from roundelay.synth.certificate_forms import explain
    from roundelay.synth.certificates import CertificateError, verify

    from .limits import overstates

    problem = problem_of(read(claims.request))
    reasons = []
    for number, certificate in enumerate(claims.certificates, 1):
        try:
            verify(problem, certificate)
        except CertificateError as error:
            raise InputError(
                Fault(
                    f"certificate {number} ({certificate.kind}) does not hold: {error}",
                    None,
                    f"one for {claims.request.target}",
                    "print the bounds again",
                )
            ) from None
        reasons.append(explain(problem, certificate))
    if excess := overstates(claims, problem):
        raise InputError(
            Fault(f"the file says more than it proves: {excess}", None, "no more than that")
        )
    return problem, tuple(reasons)


def require_lawful(problem: Problem) -> None:
    """Refuse a user's operator whose laws are refuted on the problem's element.

    The library's own are proved in its tests. Raises ``InputError``.
    """
    from roundelay.dsl.standard import belongs
    from roundelay.synth import laws

    operator = problem.operator
    if operator is None or belongs(operator.span):
        return
    findings = laws.examine(operator)
    if faults := laws.conclude(operator, findings):
        raise InputError(*faults)
    example = laws.unsound_elements(findings).get(problem.limits.element)
    if example:
        raise UnsupportedError(
            f"operator {operator.name} on {problem.limits.element} is {example}",
            "an element on which the laws hold",
            "choose another element (-d)",
        )


def synthesize(
    task: Problem | Handwritten,
    *,
    seed: int = 0,
    solver: str = "race",
    jobs: int | None = None,
    prove: bool = False,
    began: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Answer:
    """Search for a schedule, or judge one by hand; every one returned has passed the checker.

    ``solver``, ``jobs``, ``prove`` and ``began`` are those of ``roundelay.synth.search.search``.
    """
    require_lawful(problem_of(task))
    if isinstance(task, Handwritten):
        from roundelay.synth.by_hand import judge

        return judge(task)
    from roundelay.synth.search import search

    return search(
        task, seed=seed, solver=solver, jobs=jobs, prove=prove, began=began,
        on_progress=on_progress,
    )  # fmt: skip


def export(answer: Answer, folder: Path, tell: Callable[[str], None]) -> Written:
    """Write the query that decided an answer as files for other solvers.

    What is too large to write is told, and nothing is written.
    """
    from roundelay.synth.exact.exports import export as to_files
    from roundelay.synth.exact.model import TooLargeError

    if answer.decisive is None:
        tell("nothing exported: no query was asked")
        return Written()
    try:
        files = to_files(answer.problem, answer.decisive, answer.outcome)
    except TooLargeError as error:
        tell(f"nothing exported: {error}")
        return Written()
    return write_files((folder / name, text) for name, text in files)


def chart(
    problem: Problem,
    *,
    seed: int = 0,
    solver: str = "race",
    jobs: int | None = None,
    folder: Path | None = None,
    fresh: bool = False,
    began: float | None = None,
    on_progress: Callable[[str], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
) -> Chart:
    """Walk along a problem's frontier of steps and bandwidth, going on where the last run ended.

    ``folder`` keeps what is found (None: among the user's caches); ``fresh`` begins anew;
    ``began`` is that of ``roundelay.synth.frontier.explorer.explore``.
    """
    require_lawful(problem)
    from roundelay.synth.frontier.explorer import explore
    from roundelay.synth.frontier.store import Store, default_folder

    place = default_folder() if folder is None else folder
    store = Store(place, problem, on_warning or (lambda _: None), fresh=fresh)
    return explore(
        problem, seed=seed, solver=solver, jobs=jobs, store=store, began=began,
        on_progress=on_progress,
    )  # fmt: skip


def generate(schedule: Schedule, backend: str) -> tuple[Program, Artifact]:
    """Lower a schedule and print its kernels for a backend."""
    from roundelay.codegen.backends import load_backend
    from roundelay.codegen.dataflow import fuse
    from roundelay.codegen.elements import find_element
    from roundelay.codegen.lowering import lower

    program = lower(schedule)
    return program, load_backend(backend)(fuse(program), find_element(schedule.problem))


def require_runnable(problem: Problem, runner: str | None = None) -> None:
    """Refuse, before a search, what could not be generated or run after it.

    Raises ``UnsupportedError`` for an operator without a meaning on the problem's element type,
    and for an executor (``runner``) that this machine lacks the device for.
    """
    from roundelay.codegen.elements import find_element
    from roundelay.codegen.inplace import find_offsets
    from roundelay.codegen.operators import require_problem
    from roundelay.runtime.executors import require_device

    require_problem(problem, find_element(problem))
    if problem.limits.in_place and find_offsets(problem.collective) is None:
        raise InputError(
            Fault(
                f"{problem.collective.name} has no in-place form",
                dict(problem.limits.spans).get("in place"),
                "a collective whose results can lie where its inputs were",
                "leave 'in place' out",
            )
        )
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


def execute(schedule: Schedule, runner: str, plan: Plan) -> Execution:
    """Generate the kernels of a schedule, load them, and run them over the plan's sizes.

    ``runner`` is a name of ``runtime.executors``; raises ``UnsupportedError`` where this machine
    lacks what it needs.
    """
    from roundelay.codegen.elements import find_element
    from roundelay.codegen.lowering import lower
    from roundelay.runtime.bench import measure
    from roundelay.runtime.executors import BACKEND, load_executor

    backend = BACKEND[runner]
    program, artifact = (lower(schedule), None) if backend is None else generate(schedule, backend)
    element = find_element(schedule.problem)
    executor = load_executor(runner, artifact, program, element)
    rows = measure(schedule.problem, element, executor, plan)
    return Execution(executor.device, executor.alike, rows)


def write(artifact: Artifact, folder: Path) -> tuple[Path, ...]:
    """Write an artifact's files into a folder, each whole or not at all; their paths."""
    return tuple(write_text(folder / name, text) for name, text in artifact.files)
