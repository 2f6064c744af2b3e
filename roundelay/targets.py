"""From a target to what is asked: a problem to search, or a schedule by hand to judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault, InputError

if TYPE_CHECKING:
    from roundelay.dsl.model import Handwritten, Problem
    from roundelay.dsl.source import Source


@dataclass(frozen=True, slots=True)
class Request:
    """What to read: a ``.rly`` file or a library machine, and for which collective.

    ``collective`` None takes the file's own plan, or all-reduce on a machine. ``op`` and ``root``
    fill the collective's parameters of these kinds; None leaves them to ``sum`` and 0.
    ``plan`` counts the plans of a file from 1. ``schedule`` names a schedule by hand, of the file
    or of the library, to judge and run instead of a search.
    """

    target: str
    collective: str | None = None
    op: str | None = None
    root: int | None = None
    plan: int | None = None
    schedule: str | None = None


def read(request: Request) -> Problem | Handwritten:
    """What a request asks for; raises ``InputError`` with every fault of the text."""
    from roundelay.dsl import loader

    if not request.target.strip():
        raise InputError(Fault("the target is empty", None, "a .rly file or a machine"))
    path, named = Path(request.target), is_file(request.target)
    if request.plan is not None and (not named or request.collective is not None):
        raise InputError(
            Fault("--plan changes nothing here", None, "a file's own plan", "leave --plan out")
        )
    if request.schedule is not None:
        return _by_hand(request, path if named else None)
    if not named:
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
                "a plan block, or --collective or --schedule on the command line",
                "add 'plan { synthesize all_reduce(sum) on NAME }'",
            )
        )
    chosen = 1 if request.plan is None else request.plan
    if not 1 <= chosen <= len(plans):
        raise InputError(
            Fault(f"plan {chosen} does not exist", None, f"1 to {len(plans)}", "choose one of them")
        )
    return plans[chosen - 1]


def is_file(target: str) -> bool:
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


def _by_hand(request: Request, path: Path | None) -> Handwritten:
    from roundelay.dsl import loader

    for option, value in (("--collective", request.collective), ("--root", request.root)):
        if value is not None:
            raise InputError(
                Fault(
                    f"{option} beside --schedule",
                    None,
                    "one of them: a schedule is of a collective",
                    f"leave {option} out",
                )
            )
    assert request.schedule is not None
    if path is None:
        return loader.by_hand(request.schedule, machine=request.target, op=request.op)
    return loader.by_hand(request.schedule, source=loader.read_source(path), op=request.op)
