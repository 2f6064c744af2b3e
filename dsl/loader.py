"""Where texts come from: files, and what stands on a command line."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from . import syntax
from .collectives import operators_of
from .model import Limits, Problem
from .parser import parse_call, recover
from .resolver import Resolver
from .source import Fault, InputError, Source
from .standard import names

if TYPE_CHECKING:
    from pathlib import Path

    from .model import Topology

BYTES = 4 * 1024 * 1024
"""Largest text."""


@dataclass(frozen=True, slots=True)
class Module:
    """What a text means.

    ``topologies`` are those that need no arguments. ``declared`` are the names of all topologies,
    operators and collectives of the text, by kind, in their order.
    """

    plans: tuple[Problem, ...]
    topologies: tuple[Topology, ...]
    warnings: tuple[Fault, ...]
    topology_names: tuple[str, ...]
    operator_names: tuple[str, ...]
    collective_names: tuple[str, ...]


def read_source(path: Path) -> Source:
    """The text of a file; raises ``InputError`` for what is not a text of bounded size."""
    name = str(path)
    try:
        if path.is_dir():
            raise InputError(Fault(f"{name} is a folder", None, "a .rly file"))
        with path.open("rb") as file:
            data = file.read(BYTES + 1)
    except FileNotFoundError:
        raise InputError(Fault(f"{name} does not exist", None, remedy=_similar(path))) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Fault(f"{name} cannot be read: {reason}", None)) from None
    if len(data) > BYTES:
        raise InputError(Fault(f"{name} is too large", None, f"at most {BYTES >> 20} MiB"))
    text_file = "a text file in UTF-8"
    if b"\0" in data:
        raise InputError(Fault(f"{name} is not a text file: it has zero bytes", None, text_file))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start}"
        raise InputError(Fault(f"{name} is not a text file: {place}", None, text_file)) from None
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _similar(path: Path) -> str:
    try:
        known = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return ""
    near = get_close_matches(path.name, sorted(known), 1)
    return f"did you mean {path.with_name(near[0])}" if near else ""


def load(source: Source) -> Module:
    """What a text means; raises ``InputError`` with all its faults."""
    return _module(_resolved(source))


def on_file(source: Source, collective: str, arguments: tuple[str, ...]) -> Problem:
    """A collective from the command line on the last topology of a text that needs no arguments.

    A text without such a topology lends that of its last plan. ``arguments`` are texts such as
    ``sum``, ``0`` or ``root = 0``. Raises ``InputError``.
    """
    resolver = _resolved(source)
    module = _module(resolver)
    if module.topologies:
        topology = module.topologies[-1]
    elif module.plans:
        topology = module.plans[-1].topology
    else:
        raise InputError(
            Fault(f"{source.name} has no topology to run on", None, "a topology without arguments")
        )
    return _asked(resolver, topology, collective, arguments)


def problem(machine: str, collective: str, arguments: tuple[str, ...]) -> Problem:
    """A collective on a machine of the library, both as on a command line: ``torus(4, 4)``.

    Raises ``InputError``, whose places are in the text given.
    """
    resolver = Resolver(syntax.Document(()))
    call = parse_call(Source("command line", machine))
    topology = resolver.topology(call)
    return _asked(resolver, topology, collective, arguments)


def parameters(collective: str, source: Source | None = None) -> tuple[str, ...]:
    """What a collective takes, in order: ``op`` for an operator, else the parameter's name.

    Looks into the text first, where there is one, then into the library. Raises ``InputError``.
    """
    resolver = Resolver(syntax.Document(())) if source is None else _resolved(source)
    call = parse_call(Source("command line", collective))
    declaration = resolver.find("collective", syntax.Collective, call.name)
    if declaration is None:
        raise InputError(*resolver.report.faults)
    operators = operators_of(declaration)
    names = [each.name.text for each in declaration.parameters]
    return tuple("op" if name in operators else name for name in names)


def machines() -> tuple[str, ...]:
    """The machines of the library."""
    return names("topology")


def collectives() -> tuple[str, ...]:
    """The collectives of the library."""
    return names("collective")


def _asked(
    resolver: Resolver, topology: Topology | None, collective: str, arguments: tuple[str, ...]
) -> Problem:
    text = f"{collective}({', '.join(arguments)})" if arguments else collective
    call = parse_call(Source("command line", text))
    ranks = None if topology is None else len(topology.ranks)
    found, operator = resolver.collective(call, ranks)
    if resolver.report.faults or topology is None or found is None:
        raise InputError(*resolver.report.faults)
    return Problem(topology, found, operator, Limits())


def _resolved(source: Source) -> Resolver:
    recovered = recover(source)
    resolver = Resolver(recovered.document, recovered.broken, recovered.partial)
    resolver.report.faults += recovered.faults
    resolver.declare()
    return resolver


def _module(resolver: Resolver) -> Module:
    topologies = resolver.topologies()
    plans = resolver.plans()
    if resolver.report.faults:
        raise InputError(*resolver.report.faults)
    return Module(
        plans,
        tuple(each for each in topologies.values() if each is not None),
        tuple(resolver.warnings),
        resolver.names("topology"),
        resolver.names("operator"),
        resolver.names("collective"),
    )
