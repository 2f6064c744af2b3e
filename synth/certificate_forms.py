"""Certificates as JSON, as text, and in a sentence; no solver is needed for any of it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .certificates import CertificateError, verify, weigh
from .schedule import Certificate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundelay.dsl.model import Problem, Topology

_KINDS = ("distance", "cut", "partition", "lengths", "search")
_DIGITS = 4000  # Of a number in a file; Python refuses longer ones.
_NAMED = 12  # Names written out in a sentence.


# ------------------------------------------------------------------------------------- JSON


def to_json(certificate: Certificate) -> dict[str, Any]:
    """A plain dictionary: numbers of nodes and links, ``value`` as ``p/q``.

    Entries that say nothing are left out.
    """
    value = certificate.value
    form: dict[str, Any] = {
        "kind": certificate.kind,
        "value": f"{value.numerator}/{value.denominator}",
    }
    if certificate.nodes:
        form["nodes"] = list(certificate.nodes)
    if certificate.sides:
        form["sides"] = [list(side) for side in certificate.sides]
    if certificate.inward:
        form["inward"] = True
    if certificate.lengths:
        form["lengths"] = list(certificate.lengths)
    if certificate.reason:
        form["reason"] = certificate.reason
    if not certificate.complete:
        form["complete"] = False
    return form


def from_json(form: object) -> Certificate:
    """The certificate of a dictionary as ``to_json`` makes it; raises ``CertificateError``.

    Nothing is checked but the form: ``verify`` sees to the rest.
    """
    if not isinstance(form, dict):
        raise CertificateError("a certificate is an object with a kind and a value")
    known = {"kind", "value", "nodes", "sides", "inward", "lengths", "reason", "complete"}
    for key in form:
        if key not in known:
            raise CertificateError(f"a certificate has no entry {str(key)[:40]!r}")
    kind = form.get("kind")
    if kind not in _KINDS:
        raise CertificateError(f"kind is one of {', '.join(_KINDS)}")
    sides = form.get("sides", [])
    if not isinstance(sides, list):
        raise CertificateError("sides is a list of lists of numbers")
    reason = form.get("reason", "")
    if not isinstance(reason, str):
        raise CertificateError("reason is a text")
    return Certificate(
        kind,
        _value(form.get("value")),
        _numbers(form.get("nodes", []), "nodes"),
        reason,
        _flag(form.get("complete", True), "complete"),
        tuple(_numbers(side, "sides") for side in sides),
        _flag(form.get("inward", False), "inward"),
        _numbers(form.get("lengths", []), "lengths"),
    )


def _value(form: object) -> Fraction:
    if isinstance(form, str) and len(form) <= _DIGITS:
        match = re.fullmatch(r"([0-9]+)/([0-9]+)", form, re.ASCII)
        if match and int(match[2]):
            return Fraction(int(match[1]), int(match[2]))
    raise CertificateError('value is a fraction written "p/q"')


def _numbers(form: object, name: str) -> tuple[int, ...]:
    if not isinstance(form, list) or any(type(number) is not int for number in form):
        raise CertificateError(f"{name} is a list of whole numbers")
    return tuple(form)


def _flag(form: object, name: str) -> bool:
    if not isinstance(form, bool):
        raise CertificateError(f"{name} is true or false")
    return form


# ------------------------------------------------------------------------------------- words


def explain(problem: Problem, certificate: Certificate) -> str:
    """One sentence that says why a certificate proves its bound.

    The certificate is checked first; raises ``CertificateError``.
    """
    verify(problem, certificate)
    topology = problem.topology
    if certificate.kind == "distance":
        source, target = (topology.node_name(node) for node in certificate.nodes)
        return (
            f"Data of {source} is wanted at {target}, a step takes data from one rank to the next, "
            f"and no way between the two has fewer than {_count(certificate.value, 'step')}."
        )
    messages, carried = weigh(problem, certificate)
    each = carried / topology.slowest
    rounds = f"take {_count(messages / each, 'round')} at least"
    if certificate.kind == "cut":
        side = _names(topology, certificate.nodes)
        return (
            f"Of every chunk {_count(messages, 'message')} must leave {side}, and the links out "
            f"of there carry {each} a round, so they {rounds}."
        )
    if certificate.kind == "partition":
        parts = len(set(certificate.nodes)) or len(topology.ranks)
        way = "into" if certificate.inward else "out of"
        return (
            f"Of every chunk {_count(messages, 'message')} must pass between {parts} parts of the "
            f"machine, because the first part that has all of a value needs one out of every other "
            f"part that holds some of it, and every other part that wants it a later one into it; "
            f"the links {way} the parts carry {each} a round together, so they {rounds}."
        )
    return (
        f"With the lengths given the messages of a chunk travel {messages} together along their "
        f"shortest ways, and all links carry {each} a round together, so they {rounds}."
    )


def to_text(problem: Problem, certificate: Certificate) -> str:
    """A few lines that show all of a certificate with the names of nodes.

    Raises ``CertificateError`` where it names nodes or links that do not exist.
    """
    topology = problem.topology
    name = topology.node_name
    what = "steps" if certificate.kind == "distance" else "rounds a chunk"
    lines = [f"{certificate.kind}: at least {certificate.value} {what}"]
    count = len(topology.ranks) + len(topology.switches)
    parts = certificate.kind == "partition"
    named = [node for side in certificate.sides for node in side]
    named += [] if parts else certificate.nodes
    if any(not 0 <= node < count for node in named):
        raise CertificateError("there is no such node")
    if certificate.kind == "distance":
        lines.append(f"  from, to: {' '.join(name(node) for node in certificate.nodes)}")
    elif certificate.kind == "cut":
        lines.append(f"  side: {' '.join(name(node) for node in certificate.nodes)}")
    elif parts:
        lines += _part_lines(topology, certificate)
    elif certificate.kind == "lengths":
        if len(certificate.lengths) != len(topology.links):
            raise CertificateError("there is one length for each link")
        pairs = zip(topology.links, certificate.lengths, strict=True)
        lines += [f"  {name(k.src)} -> {name(k.dst)}: {length}" for k, length in pairs if length]
    if certificate.reason:
        lines.append(f"  reason: {certificate.reason}")
    return "\n".join(lines)


def _part_lines(topology: Topology, certificate: Certificate) -> list[str]:
    name = topology.node_name
    part_of = certificate.nodes or tuple(range(len(topology.ranks)))
    if len(part_of) != len(topology.ranks):
        raise CertificateError("a partition gives the part of every rank")
    members: dict[int, list[str]] = {part: [] for part in sorted(set(part_of))}
    for rank, part in enumerate(part_of):
        members[part].append(name(rank))
    for names, switches in zip(members.values(), certificate.sides, strict=False):
        names += [name(node) for node in switches]
    way = "into" if certificate.inward else "out of"
    return [f"  {way} each of:", *(f"    {' '.join(names)}" for names in members.values())]


def _names(topology: Topology, nodes: Sequence[int]) -> str:
    names = [topology.node_name(node) for node in nodes]
    shown = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return f"{{{shown}{f' and {more} more' if more > 0 else ''}}}"


def _count(number: Fraction | int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
