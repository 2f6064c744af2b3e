"""What people read of a machine: its links, its distances, the cuts that limit it."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from roundelay.dsl.units import BANDWIDTH, TIME, Quantity, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Link, Topology
    from roundelay.synth.bisection import Bisection
    from roundelay.synth.profile import Cut, Distance, Profile

_MATRIX = 16  # Ranks up to which every pair is shown.
_NAMES = 6  # Names in a row, unless they follow on one another.
_MARGIN = 10
_NARROWEST = 40


def show_lines(topology: Topology, profile: Profile, width: int = 100) -> list[str]:
    """What a terminal of so many columns shows of a machine."""
    width = max(width, _NARROWEST)
    lines = _said("machine", f"{topology.name}: {_counts(profile)}", width)
    if topology.assumed:
        shown = ", ".join(f"{name} = {value}" for name, value in topology.assumed)
        lines += _said("assumed", shown, width)
    lines += _table("links", _link_rows(topology), width)
    lines += _table("ranks", _rank_rows(topology, profile), width)
    for label, text in (
        *_distances(topology, profile),
        *_cuts(topology, profile),
        *(("left out", reason) for reason in profile.skipped),
    ):
        lines += _said(label, text, width)
    if 1 < len(topology.ranks) <= _MATRIX:
        lines += _matrix(topology, width)
    return lines


def _counts(profile: Profile) -> str:
    parts = [_count(profile.ranks, "rank")]
    if profile.switches:
        parts.append(f"{profile.switches} switch{'es' * (profile.switches > 1)}")
    parts.append(_count(profile.links, "directed link"))
    if profile.links:
        alike = (
            "the same in both directions" if profile.symmetric else "not alike in both directions"
        )
        parts.append(alike)
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def rate(value: Fraction) -> str:
    """Bytes a second in the language's own words: ``25 GB/s``; no decimal exact: ``about …``."""
    text = show(Quantity(value, BANDWIDTH))
    return text if " / " not in text else f"about {float(value) / 1e9:.4g} GB/s"


def time(value: Fraction) -> str:
    """Seconds in the language's own words: ``1.4 us``; where no decimal is exact, ``about …``."""
    text = show(Quantity(value, TIME))
    return text if " / " not in text else f"about {float(value) * 1e6:.4g} us"


# ------------------------------------------------------------------------------------- text


def _said(label: str, text: str, width: int) -> list[str]:
    """A label, and a text that goes on under itself."""
    pieces = wrap(text, max(width - _MARGIN, 1), break_long_words=False, break_on_hyphens=False)
    first, rest = pieces[0] if pieces else "", pieces[1:]
    return [f"{label:<{_MARGIN}}{first}".rstrip(), *(" " * _MARGIN + each for each in rest)]


def _table(label: str, rows: list[list[str]], width: int) -> list[str]:
    """Columns under their heads, the last of which goes on under itself."""
    if len(rows) < 2:
        return []
    widths = [max(map(len, column)) + 2 for column in zip(*(row[:-1] for row in rows), strict=True)]
    left = _MARGIN + sum(widths)
    lines: list[str] = []
    for number, row in enumerate(rows):
        cells = "".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=False))
        room = max(width - left, 12)
        last = wrap(row[-1], room, break_long_words=False, break_on_hyphens=False) or [""]
        lines.append(f"{label if not number else '':<{_MARGIN}}{cells}{last[0]}".rstrip())
        lines += [" " * left + each for each in last[1:]]
    return lines


def _named(topology: Topology, nodes: Sequence[int]) -> str:
    """``gpu[0] to gpu[7]`` for nodes that follow on one another, else the first few of them."""
    names = [topology.node_name(node) for node in nodes]
    if len(nodes) > 2 and nodes[-1] - nodes[0] == len(nodes) - 1 and list(nodes) == sorted(nodes):
        return f"{names[0]} to {names[-1]}"
    if len(names) <= _NAMES:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES])} and {len(names) - _NAMES:,} more"


def _link_rows(topology: Topology) -> list[list[str]]:
    groups: dict[tuple[int, Fraction, Fraction], list[Link]] = {}
    for link in topology.links:
        groups.setdefault((link.count, link.bandwidth, link.latency), []).append(link)
    rows = [["each", "latency", "pairs", "such as"]]
    for (number, bandwidth, latency), links in groups.items():
        first = links[0]
        each = rate(bandwidth) if number == 1 else f"x{number} at {rate(bandwidth)}"
        ends = f"{topology.node_name(first.src)} -> {topology.node_name(first.dst)}"
        rows.append([each, time(latency), f"{len(links):,}", ends])
    return rows


def _rank_rows(topology: Topology, profile: Profile) -> list[list[str]]:
    rows = [["links out", "in", "sends", "gets", "ranks"]]
    for each in profile.ends:
        who = _named(topology, each.ranks)
        who = who if len(each.ranks) == 1 else f"{len(each.ranks):,}: {who}"
        rows.append([str(each.links_out), str(each.links_in), rate(each.out), rate(each.into), who])
    return rows if profile.links else []


def _distances(topology: Topology, profile: Profile) -> Iterator[tuple[str, str]]:
    if profile.steps is not None and profile.ranks > 1:
        steps = _count(int(profile.steps.length), "step")
        yield "diameter", f"{steps}, {_way(topology, profile.steps)}"
    if profile.latency is not None and profile.ranks > 1:
        yield "", f"{time(profile.latency.length)} of latency, {_way(topology, profile.latency)}"


def _way(topology: Topology, distance: Distance) -> str:
    src, dst = topology.node_name(distance.src), topology.node_name(distance.dst)
    return f"as from {src} to {dst}"


def _cuts(topology: Topology, profile: Profile) -> Iterator[tuple[str, str]]:
    ranks = len(topology.ranks)
    if profile.isolating is not None:
        cut = profile.isolating
        inside = [node for node in cut.side if node < ranks]
        sends = len(inside) == 1
        alone = inside[0] if sends else next(r for r in range(ranks) if r not in set(inside))
        verb, others = ("send", "to") if sends else ("get", "from")
        yield (
            "cuts",
            f"{topology.node_name(alone)} can {verb} {rate(cut.capacity)} {others} all others "
            "together; no rank less",
        )
    if profile.weakest is not None:
        yield "", _weakest(topology, profile.weakest)
    if profile.bisection is not None:
        yield "", _halves(topology, profile.bisection)


def _weakest(topology: Topology, cut: Cut) -> str:
    ranks = len(topology.ranks)
    inside = [node for node in cut.side if node < ranks]
    outside = [rank for rank in range(ranks) if rank not in set(inside)]
    few, verb, others = (inside, "send", "to")
    if len(outside) < len(inside):
        few, verb, others = (outside, "get", "from")
    return (
        f"between any two ranks at least {rate(cut.capacity)}; that is what "
        f"{_named(topology, few)} can {verb} {others} the rest"
    )


def _halves(topology: Topology, halves: Bisection) -> str:
    if halves.exact:
        known = rate(halves.high)
    elif halves.low:
        known = f"at least {rate(halves.low)} and at most {rate(halves.high)}"
    else:
        known = f"at most {rate(halves.high)}"
    way = "into" if halves.inward else "out of"
    return (
        f"between two halves of the ranks {known} ({halves.method}); the narrowest is "
        f"{way} {_named(topology, halves.side)}"
    )


# ----------------------------------------------------------------------------------- matrix


def _matrix(topology: Topology, width: int) -> list[str]:
    """Row sends to column, as ``nvidia-smi topo -m`` shows it."""
    ranks = range(len(topology.ranks))
    direct = {(link.src, link.dst): link.count for link in topology.links}
    through = [_through_switches(topology, rank) for rank in ranks]
    cells = [
        [
            "X" if a == b
            else f"x{direct[a, b]}" if (a, b) in direct
            else "sw" if b in through[a]
            else "."
            for b in ranks
        ]
        for a in ranks
    ]  # fmt: skip
    names = [rank.name for rank in topology.ranks]
    heads, sides = names, names
    if max(map(len, names)) + 2 + sum(len(name) + 2 for name in names) > width:
        heads = [str(rank) for rank in ranks]
        sides = [f"{name} ({rank})" for rank, name in enumerate(names)]
    sizes = [max(len(heads[b]), *(len(row[b]) for row in cells)) for b in ranks]
    side = max(map(len, sides))
    lines = [" " * side + "".join(f"  {heads[b]:>{sizes[b]}}" for b in ranks)]
    for name, row in zip(sides, cells, strict=True):
        lines.append(f"{name:<{side}}" + "".join(f"  {row[b]:>{sizes[b]}}" for b in ranks))
    legend = ["xN: N links side by side", "sw: through switches alone", ".: no way in one step"]
    present = {cell for row in cells for cell in row}
    said = [each for each in legend if each[0] == "x" or each.split(":")[0] in present]
    return ["", *lines, "", *_said("", "row sends to column; " + ", ".join(said), width)]


def _through_switches(topology: Topology, rank: int) -> set[int]:
    """The ranks that one passage through switches reaches."""
    ranks = len(topology.ranks)
    leaving: dict[int, list[int]] = {}
    for link in topology.links:
        leaving.setdefault(link.src, []).append(link.dst)
    todo = [node for node in leaving.get(rank, ()) if node >= ranks]
    seen = set(todo)
    for switch in todo:
        new = [node for node in leaving.get(switch, ()) if node not in seen]
        seen.update(new)
        todo += [node for node in new if node >= ranks]
    return {node for node in seen if node < ranks}
