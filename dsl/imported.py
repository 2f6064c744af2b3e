"""A topology that another tool describes, read from its file and given the speeds it lacks."""

from __future__ import annotations

import re
from fractions import Fraction
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING

from . import drafts
from .drafts import Draft
from .faults import BlamedError, unknown
from .files import read_named, resolve_path
from .indices import flat
from .layout import Group, Layout
from .model import Link, Rank, Switch
from .readers.table import READERS, Speed
from .speeds import read_bandwidth, read_latency

if TYPE_CHECKING:
    from . import syntax
    from .faults import Report
    from .layout import Instances
    from .readers.table import Drawn
    from .source import Fault

_NAME = re.compile(r"(\w+)(?:\[(\d+(?:, \d+)*)\])?")


def draw_imported(
    declaration: syntax.Imported, warnings: list[Fault], report: Report
) -> Draft | None:
    """The machine in the file that a declaration names, or None and faults: their places are in
    the declaration or in that file.
    """
    before = len(report.faults)
    path = resolve_path(declaration.path, report)
    name = declaration.format
    if name.text not in READERS:
        report.add(unknown("format", name.text, name.span, READERS))
    speeds = _speeds(declaration, report)
    if path is None or len(report.faults) > before:
        return None
    source = read_named(path, declaration.path, report)
    if source is None:
        return None
    module, function = READERS[name.text].split(":")
    drawn: Drawn | None = getattr(import_module(module), function)(source, speeds, report)
    if drawn is None:
        return None
    warnings += drawn.warnings
    return _draft(declaration, drawn, speeds, report)


def _speeds(declaration: syntax.Imported, report: Report) -> dict[str, Speed]:
    speeds: dict[str, Speed] = {}
    for said in declaration.speeds:
        try:
            bandwidth = read_bandwidth(said.bandwidth, {})
            latency = Fraction(0) if said.latency is None else read_latency(said.latency, {})
        except BlamedError as error:
            report.add(error.fault)
            continue
        speeds[said.kind.text] = Speed(bandwidth, latency, said.span)
    return speeds


def _draft(
    declaration: syntax.Imported, drawn: Drawn, speeds: dict[str, Speed], report: Report
) -> Draft | None:
    span = declaration.name.span
    nodes = len(drawn.ranks) + len(drawn.switches)
    for count, what, most in (
        (nodes, "ranks and switches", drafts.NODES),
        (len(drawn.links), "links", drafts.LINKS),
    ):
        if count > most:
            report.blame(f"{count} {what}", declaration.path.span, f"at most {most}")
            return None
    called = [*drawn.ranks, *(name for name, _, _ in drawn.switches)]
    numbers = {name: number for number, name in enumerate(called)}
    links: dict[tuple[int, int], Link] = {}
    for src, dst, count, kind in drawn.links:
        pair, speed = (numbers[src], numbers[dst]), speeds[kind]
        links[pair] = Link(*pair, count, speed.bandwidth, speed.latency, speed.span)
    silent = {said.kind.text for said in declaration.speeds if said.latency is None}
    used = {kind for *_, kind in drawn.links}
    return Draft(
        tuple(Rank(name, span) for name in drawn.ranks),
        tuple(Switch(name, many, sums, span) for name, many, sums in drawn.switches),
        links,
        Layout(_members(called), len(drawn.ranks), len(drawn.switches)),
        (("latency", "0 s"),) if silent & used else (),
    )


def _members(called: list[str]) -> dict[str, Group | Instances]:
    """The groups that nodes with such names form; a place that no node has is empty (-1)."""
    places: dict[str, dict[tuple[int, ...], int]] = {}
    for number, name in enumerate(called):
        match = _NAME.fullmatch(name)
        assert match is not None
        place = tuple(map(int, match[2].split(", "))) if match[2] else ()
        places.setdefault(match[1], {})[place] = number
    members: dict[str, Group | Instances] = {}
    for name, at in places.items():
        shape = tuple(max(axis) + 1 for axis in zip(*at, strict=True))
        members[name] = Group(shape, _numbers(shape, at))
    return members


def _numbers(shape: tuple[int, ...], at: dict[tuple[int, ...], int]) -> list[int]:
    numbers = [-1] * prod(shape)
    for place, number in at.items():
        numbers[flat(place, shape)] = number
    return numbers
