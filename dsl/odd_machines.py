"""What is legal in a machine but odd, and so perhaps not what was meant: warnings."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from .oddities import few
from .source import Fault
from .units import BANDWIDTH, TIME, Quantity, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .model import Link, Topology
    from .source import Span

_SLOWEST, _FASTEST = Fraction(10**6), Fraction(10**14)  # Bytes a second.
_LONGEST = Fraction(1)  # Seconds.
_BOTH = "write '<->', or give the other direction the same speed, if that was meant"
_PEERS = 4  # Ranks; fewer have no common measure.


def odd_machine(topology: Topology, unfinished: bool = False) -> list[Fault]:
    """What is odd about a machine; places are those of its statements.

    Links that have no equal way back in a machine where most have; ranks with less than half of
    what three quarters of their group have; speeds that no hardware has; switches with one
    neighbour, unless the machine is ``unfinished``: then that may well be meant.
    """
    kinds = (
        _one_sided(topology),
        _weak_ranks(topology),
        _odd_speeds(topology),
        () if unfinished else _dead_ends(topology),
    )
    return [fault for kind in kinds for fault in few(kind)]


def _one_sided(topology: Topology) -> Iterator[Fault]:
    links = {(link.src, link.dst): link for link in topology.links}
    odd = [link for link in topology.links if not _alike(link, links.get((link.dst, link.src)))]
    # Where that is the rule, it is meant: a ring in one direction, a faster way down than up.
    pairs = {(min(pair), max(pair)) for pair in links}
    lopsided = {(min(link.src, link.dst), max(link.src, link.dst)) for link in odd}
    if 2 * len(lopsided) >= len(pairs):
        return
    lonely = [link for link in odd if (link.dst, link.src) not in links]
    for (first, *others), span in _by_statement(lonely):
        more = f" (nor have {len(others)} more)" if others else ""
        message = f"{_ends(topology, first)} has no link back{more}"
        yield _fault(topology, message, span, "links in both directions, as most are", _BOTH)
    # Of two directions that differ, one is enough to say it.
    uneven = [e for e in odd if e.src < e.dst and (e.dst, e.src) in links]
    for (first, *others), span in _by_statement(uneven):
        back = _capacity(links[first.dst, first.src])
        more = f" (and {len(others)} more such)" if others else ""
        message = f"{_ends(topology, first)} is {_capacity(first)}, the way back {back}{more}"
        yield _fault(topology, message, span, "the same in both directions, as for most", _BOTH)


def _ends(topology: Topology, link: Link) -> str:
    return f"{topology.node_name(link.src)} -> {topology.node_name(link.dst)}"


def _alike(link: Link, back: Link | None) -> bool:
    return back is not None and (link.count, link.bandwidth) == (back.count, back.bandwidth)


def _capacity(link: Link) -> str:
    times = f"x{link.count} at " if link.count > 1 else ""
    return times + _rate(link.bandwidth)


def _by_statement(links: Iterable[Link]) -> Iterator[tuple[list[Link], Span | None]]:
    """Links in the order of the statements that they come from."""
    groups: dict[object, list[Link]] = {}
    for link in links:
        key = (link.src, link.dst) if link.span is None else (link.span.start, link.span.end)
        groups.setdefault(key, []).append(link)
    for group in groups.values():
        yield group, group[0].span


def _weak_ranks(topology: Topology) -> Iterator[Fault]:
    """Less than half: in a mesh or a line, the corners have half of what the inner ranks have."""
    out, into = [Fraction(0)] * len(topology.ranks), [Fraction(0)] * len(topology.ranks)
    for link in topology.links:
        if link.src < len(out):
            out[link.src] += link.capacity
        if link.dst < len(into):
            into[link.dst] += link.capacity
    groups: dict[str, list[int]] = {}
    for number, each in enumerate(topology.ranks):
        # Without its indices a name is that of a group, the same in all instances of a part.
        groups.setdefault(re.sub(r"\[[^]]*\]", "", each.name), []).append(number)
    for members in groups.values():
        if len(members) < _PEERS:
            continue
        seen: set[int] = set()
        for word, rates in (("sends", out), ("gets", into)):
            usual = sorted(rates[rank] for rank in members)[len(members) // 4]
            alike = sum(1 for rank in members if rates[rank] >= usual)
            for rank in members:
                if 2 * rates[rank] < usual and rank not in seen:
                    seen.add(rank)
                    weak = topology.ranks[rank]
                    yield _fault(
                        topology,
                        f"{weak.name} {word} {_rate(rates[rank])} over all its links",
                        weak.span,
                        f"{_rate(usual)} or more, as {alike} of {len(members)} ranks like it",
                        "look for links that are missing",
                    )


def _rate(rate: Fraction) -> str:
    return show(Quantity(rate, BANDWIDTH))


def _odd_speeds(topology: Topology) -> Iterator[Fault]:
    slow_or_fast = (link for link in topology.links if not _SLOWEST <= link.bandwidth <= _FASTEST)
    for (first, *_), span in _by_statement(slow_or_fast):
        message = f"a link of {_rate(first.bandwidth)}"
        expected = "a bandwidth between 1 MB/s and 100 TB/s"
        yield _fault(topology, message, span, expected, "check the unit")
    late = (link for link in topology.links if link.latency > _LONGEST)
    for (first, *_), span in _by_statement(late):
        shown = show(Quantity(first.latency, TIME))
        yield _fault(
            topology, f"a link with a latency of {shown}", span, "at most 1 s", "check the unit"
        )


def _dead_ends(topology: Topology) -> Iterator[Fault]:
    ranks = len(topology.ranks)
    neighbours: list[set[int]] = [set() for _ in topology.switches]
    for link in topology.links:
        for one, other in ((link.src, link.dst), (link.dst, link.src)):
            if one >= ranks:
                neighbours[one - ranks].add(other)
    for switch, joined in zip(topology.switches, neighbours, strict=True):
        if len(joined) < 2:
            to = f"to {topology.node_name(min(joined))} alone" if joined else "to nothing"
            yield _fault(
                topology,
                f"switch {switch.name} is joined {to}",
                switch.span,
                "two neighbours or more, as it only passes on",
                "leave the switch out, or add its links",
            )


def _fault(
    topology: Topology, message: str, span: Span | None, expected: str, remedy: str
) -> Fault:
    return Fault(message if span else f"{topology.name}: {message}", span, expected, remedy)
