"""Bounds in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Topology

_NAMED = 8  # Names written out; of more only the first and the last.


def describe_cut(
    topology: Topology, nodes: tuple[int, ...], messages: int, capacity: Fraction
) -> tuple[str, str]:
    """Why a cut proves what it proves, and what is thin there."""
    ranks = len(topology.ranks)
    inside = [node for node in nodes if node < ranks]
    kept = set(inside)
    outside = [rank for rank in range(ranks) if rank not in kept]
    carried = capacity / topology.slowest
    what = "message" if messages == 1 else "messages"
    if len(outside) < len(inside):
        where, who, way, rest = "reach", outside, "receive", f"from {_others(len(inside))}"
    else:
        where, who, way, rest = "leave", inside, "send", f"to {_others(len(outside))}"
    names = name_ranks(topology, who)
    reason = (
        f"{messages} {what} a chunk must {where} {names} over links that carry {carried} a round"
    )
    return reason, f"{names} can {way} only {show_rate(capacity)} {rest}"


def describe_partition(
    topology: Topology, part_of: Sequence[int], messages: int, capacity: Fraction
) -> tuple[str, str]:
    """Why a partition proves what it proves, and what is thin there."""
    count = max(part_of) + 1
    carried = capacity / topology.slowest
    parts = "ranks" if count == len(part_of) else "parts of the machine"
    reason = (
        f"{messages} messages a chunk must pass between the {count} {parts}, "
        f"whose links carry {carried} a round"
    )
    named = f"the {count} ranks"
    if count < len(part_of):
        groups: dict[int, list[int]] = {}
        for rank, part in enumerate(part_of):
            groups.setdefault(part, []).append(rank)
        shown = [f"{{{name_ranks(topology, group)}}}" for group in list(groups.values())[:4]]
        named = f"the {count} parts {', '.join(shown)}{', ...' if count > 4 else ''}"
    return reason, f"{named} can pass only {show_rate(capacity)} between them, all together"


def describe_lengths(
    topology: Topology, lengths: Sequence[int], travel: int, carried: Fraction
) -> tuple[str, str]:
    """Why lengths prove what they prove, and what is thin there."""
    each_round = carried / topology.slowest
    reason = (
        f"the messages of a chunk travel {travel} lengths of links together, "
        f"and all links carry {each_round} a round"
    )
    longest = max(lengths)
    most = [link for link, length in zip(topology.links, lengths, strict=True) if length == longest]
    name = topology.node_name
    shown = [f"{name(link.src)} -> {name(link.dst)}" for link in most[:_NAMED]]
    more = f" and {len(most) - len(shown)} more" if len(most) > len(shown) else ""
    if len(most) == len(topology.links):
        return reason, "all links are full: the values' shortest ways together load every one"
    return reason, f"the links that must be full are {', '.join(shown)}{more}"


def name_ranks(topology: Topology, ranks: Sequence[int]) -> str:
    """Ranks by name: ``gpu[0]``, ``gpu[0] to gpu[3]``, a few in a list, or how many from which."""
    names = [topology.node_name(rank) for rank in ranks]
    if len(names) > 2 and list(ranks) == list(range(ranks[0], ranks[-1] + 1)):
        stems = {re.sub(r"\d+", "", name) for name in names}
        if len(stems) == 1:
            return f"{names[0]} to {names[-1]}"
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} ranks from {names[0]}"


def _others(count: int) -> str:
    return "the other rank" if count == 1 else f"the other {count} ranks"


def show_rate(rate: Fraction) -> str:
    """Bytes a second in the largest unit that leaves at least 1: ``100 GB/s``."""
    for unit, size in (("GB/s", 10**9), ("MB/s", 10**6), ("kB/s", 10**3)):
        if rate >= size:
            return f"{float(rate / size):.6g} {unit}"
    return f"{float(rate):.6g} B/s"
