"""What is legal in a text but odd, and so perhaps not what was meant: warnings, never faults."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from . import syntax
from .source import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST = 20


def odd_text(document: syntax.Document) -> list[Fault]:
    """What is odd about a text: parameters and loop names that nothing uses, conditions that are
    always the same, and, in a text with plans, declarations that nothing mentions.

    A name that begins with ``_`` is meant to be unused.
    """
    kinds = (
        _unused_parameters(document),
        _unused_loops(document),
        _constant_guards(document),
        _unused_declarations(document),
    )
    return [fault for kind in kinds for fault in few(kind)]


def unfinished(document: syntax.Document) -> frozenset[str]:
    """Machines that others are made of, which may link more to them, and those that are what was
    left of another.
    """
    found: set[str] = set()
    for node in _nodes(document):
        if isinstance(node, syntax.Part):
            found.update(_mentioned(node.machine))
        elif isinstance(node, syntax.Argument):
            found.update(_mentioned(node.value))
        elif isinstance(node, syntax.Derived):
            found.add(node.name.text)
    return frozenset(found)


def few(faults: Iterable[Fault]) -> list[Fault]:
    """No more than 20 warnings of a kind, and how many others there are."""
    found = list(faults)
    if len(found) <= _MOST:
        return found
    more = Fault(f"and {len(found) - _MOST} warnings more of this kind", found[_MOST].span)
    return [*found[:_MOST], more]


def _unused_parameters(document: syntax.Document) -> Iterator[Fault]:
    for each in document.declarations:
        match each:
            case syntax.Topology() | syntax.Derived() | syntax.Collective() | syntax.Schedule():
                parameters = each.parameters
            case syntax.Operator():
                parameters = each.numbers  # Its two values may well be ignored: f(a, b) = a.
            case _:
                continue
        used = set(_mentioned(each))
        for parameter in parameters:
            name = parameter.name.text
            if name not in used and not name.startswith("_"):
                yield Fault(
                    f"parameter {name!r} of {each.name.text!r} is never used",
                    parameter.span,
                    "every parameter has an effect",
                    "use it, leave it out, or call it _" + name,
                )


def _unused_loops(document: syntax.Document) -> Iterator[Fault]:
    for node in _nodes(document):
        loops = getattr(node, "loops", ())
        if not loops:
            continue
        used = set(_mentioned(node))
        for loop in loops:
            for target in loop.targets:
                if target.text not in used and not target.text.startswith("_"):
                    yield Fault(
                        f"{target.text!r} is never used: every turn of this loop is the same",
                        target.span,
                        "every name of a loop has an effect",
                        f"use it, or call it _{target.text} if only the number of turns counts",
                    )


def _constant_guards(document: syntax.Document) -> Iterator[Fault]:
    for node in _nodes(document):
        guard: syntax.Expression | None = getattr(node, "guard", None)
        if guard is not None and not any(_mentioned(guard)):
            yield Fault(
                "this condition is always the same: no name stands in it",
                guard.span,
                "a condition on loop names or parameters",
                "leave it out, or name what it depends on",
            )


def _unused_declarations(document: syntax.Document) -> Iterator[Fault]:
    """Topologies are left out: the command line can name them, and ``check`` looks at all."""
    declarations = document.declarations
    if not any(isinstance(each, syntax.Plan) for each in declarations):
        return
    mentioned = [Counter(_mentioned(each)) for each in declarations]
    total = sum(mentioned, Counter[str]())
    for each, own in zip(declarations, mentioned, strict=True):
        if not isinstance(
            each, syntax.Operator | syntax.Collective | syntax.Schedule | syntax.Struct
        ):
            continue
        name, kind = each.name.text, syntax.KINDS[type(each)]
        if total[name] == own[name] and not name.startswith("_"):
            yield Fault(
                f"{kind} {name!r} is never used",
                each.name.span,
                "something that a plan leads to",
                "name it in a plan, or leave it out",
            )


_BOUND = {
    syntax.Parameter: "name",
    syntax.Loop: "targets",
    syntax.Argument: "name",
    syntax.Field: "name",
    syntax.Assignment: "target",
    syntax.Choice: "name",
    syntax.Apply: "function",
}
"""Fields that hold names which are given a meaning, or have one of their own."""


def _mentioned(node: object) -> Iterator[str]:
    """The names that a node uses; a declaration does not use its own."""
    if isinstance(node, syntax.Name):
        yield node.text
        return
    skipped = "name" if isinstance(node, syntax.Declaration) else _BOUND.get(type(node), "")
    for name, value in _parts(node):
        if name != skipped:
            for each in value:
                yield from _mentioned(each)


def _nodes(node: object) -> Iterator[object]:
    """A node and all beneath it."""
    yield node
    for _, value in _parts(node):
        for each in value:
            yield from _nodes(each)


def _parts(node: object) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The fields of a node with the nodes in them."""
    if isinstance(node, tuple):
        yield "", node
    elif is_dataclass(node) and not isinstance(node, type):
        for each in fields(node):
            if each.name != "span":
                value = getattr(node, each.name)
                yield each.name, value if isinstance(value, tuple) else (value,)
