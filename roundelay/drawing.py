"""A machine as a picture: one SVG text without scripts, fonts or anything else from outside."""

from __future__ import annotations

import re
from math import cos, hypot, pi, sin, sqrt
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from roundelay.dsl.source import UnsupportedError

from .show import rate, time

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.model import Link, Topology

NODES = 300
"""Most nodes of a picture."""
LINKS = 4000
"""Most joined pairs of a picture."""

_STEP = 90.0  # Between neighbours, and their distance from the edge of the picture.
_EDGE = 70.0
_RADIUS = 17.0
_COLOURS = ("#1f6fb4", "#c4561a", "#2b8a3e", "#8a3b9c", "#a8871a", "#4a4a4a")
_PLACE = re.compile(r"(.*)\[(\d+), (\d+)\]\Z")

Place = tuple[float, float]


def draw_svg(topology: Topology) -> str:
    """The picture: ranks in a grid if their names have two indices, else on a circle.

    Switches stand inside or beneath. Links are as wide as they carry much, one colour a speed,
    those in one direction alone with an arrow. Raises ``UnsupportedError`` for a machine too
    large to be seen.
    """
    nodes = len(topology.ranks) + len(topology.switches)
    pairs = _pairs(topology)
    if nodes > NODES or len(pairs) > LINKS:
        raise UnsupportedError(
            f"{topology.name} has {nodes:,} nodes and {len(pairs):,} joined pairs, too many for a "
            "picture",
            f"at most {NODES} nodes and {LINKS:,} pairs",
            "leave the picture out, or draw a smaller machine of its kind",
        )
    places = _in_grid(topology) or _on_circle(topology)
    width = max(x for x, _ in places) + _EDGE
    height = max(y for _, y in places) + _EDGE
    rates = sorted({link.bandwidth for link in topology.links}, reverse=True)
    height += 22.0 * len(rates[: len(_COLOURS)])
    root = _root(topology, width, height)
    widest = max((link.capacity for link in topology.links), default=None)
    for link, both in pairs:
        _draw_link(root, topology, places, link, both, rates, widest)
    for node, place in enumerate(places):
        _draw_node(root, topology, node, place)
    _draw_legend(root, rates, height)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _pairs(topology: Topology) -> list[tuple[Link, bool]]:
    """What to draw: one line for a link and its equal back, else one for each."""
    known = {(link.src, link.dst): link for link in topology.links}
    drawn: list[tuple[Link, bool]] = []
    for link in topology.links:
        back = known.get((link.dst, link.src))
        both = back is not None and (back.count, back.bandwidth, back.latency) == (
            link.count,
            link.bandwidth,
            link.latency,
        )
        if not both or link.src < link.dst:
            drawn.append((link, both))
    return drawn


# ----------------------------------------------------------------------------------- places


def _in_grid(topology: Topology) -> list[Place] | None:
    """Ranks where their two indices say, switches in rows beneath; None for other names."""
    found = [_PLACE.match(rank.name) for rank in topology.ranks]
    places: list[Place] = []
    for match in found:
        if match is None or match[1] != (found[0] or match)[1]:
            return None
        places.append((_EDGE + _STEP * int(match[3]), _EDGE + _STEP * int(match[2])))
    columns = max(1, round((max(x for x, _ in places) - _EDGE) / _STEP) + 1)
    below = max(y for _, y in places) + _STEP
    for i in range(len(topology.switches)):
        places.append((_EDGE + _STEP * (i % columns), below + _STEP * (i // columns)))
    return places


def _on_circle(topology: Topology) -> list[Place]:
    """Ranks on a circle from the top on, switches on a smaller one, each near its neighbours."""
    ranks, switches = len(topology.ranks), len(topology.switches)
    least = 2 * _STEP if switches > 1 else 1.3 * _STEP
    outer = max(least, ranks * _STEP * 0.6 / (2 * pi), switches * _STEP * 0.75 / pi)
    centre = _EDGE + outer
    around = [2 * pi * rank / ranks - pi / 2 for rank in range(ranks)]
    places = [(centre + outer * cos(angle), centre + outer * sin(angle)) for angle in around]
    if switches == 1:
        return [*places, (centre, centre)]
    order = sorted(range(switches), key=lambda switch: (_middle(topology, switch), switch))
    inner = 0.4 * outer
    turns = {switch: 2 * pi * (i + 0.5) / switches - pi / 2 for i, switch in enumerate(order)}
    for switch in range(switches):
        angle = turns[switch]
        places.append((centre + inner * cos(angle), centre + inner * sin(angle)))
    return places


def _middle(topology: Topology, switch: int) -> float:
    """The mean number of the ranks a switch is joined to; last come those without."""
    ranks = len(topology.ranks)
    node = ranks + switch
    joined = [link.dst for link in topology.links if link.src == node and link.dst < ranks]
    return sum(joined) / len(joined) if joined else float(ranks)


# ---------------------------------------------------------------------------------- drawing


def _root(topology: Topology, width: float, height: float) -> ElementTree.Element:
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:.1f} {height:.1f}",
            "width": f"{width:.0f}",
            "height": f"{height:.0f}",
            "font-family": "sans-serif",
            "font-size": "11",
        },
    )
    _text_of(root, "title", topology.name, {})
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    defs = ElementTree.SubElement(root, "defs")
    arrow = {
        "id": "arrow", "viewBox": "0 0 8 8", "refX": "8", "refY": "4", "markerWidth": "9",
        "markerHeight": "9", "markerUnits": "userSpaceOnUse", "orient": "auto",
    }  # fmt: skip
    marker = ElementTree.SubElement(defs, "marker", arrow)
    ElementTree.SubElement(marker, "path", {"d": "M0 0 L8 4 L0 8 z", "fill": "#333333"})
    _text_of(root, "text", topology.name, {"x": "12", "y": "20", "font-size": "14"})
    return root


def _text_of(parent: ElementTree.Element, tag: str, text: str, attributes: dict[str, str]) -> None:
    ElementTree.SubElement(parent, tag, attributes).text = text


def _draw_link(
    root: ElementTree.Element,
    topology: Topology,
    places: list[Place],
    link: Link,
    both: bool,
    rates: list[Fraction],
    widest: Fraction | None,
) -> None:
    """A line between the rims of two nodes, bent around nodes that stand in its way."""
    (x1, y1), (x2, y2) = places[link.src], places[link.dst]
    length = hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bend = 0.0 if both else 8.0
    if _is_blocked(places, link.src, link.dst):
        bend = max(24.0, 0.16 * length)
    # A curve leaves towards its middle, so both ends are moved there a little.
    mx, my = (x1 + x2) / 2 - uy * 2 * bend, (y1 + y2) / 2 + ux * 2 * bend
    start, end = _rim((x1, y1), (mx, my)), _rim((x2, y2), (mx, my))
    share = sqrt(link.capacity / widest) if widest else 1.0
    attributes = {
        "d": f"M{start[0]:.1f} {start[1]:.1f} Q{mx:.1f} {my:.1f} {end[0]:.1f} {end[1]:.1f}",
        "fill": "none",
        "stroke": _colour(rates, link.bandwidth),
        "stroke-width": f"{max(0.8, 4 * share):.1f}",
        "stroke-opacity": "0.75",
    }
    if not both:
        attributes["marker-end"] = "url(#arrow)"
    path = ElementTree.SubElement(root, "path", attributes)
    arrow = "<->" if both else "->"
    ends = f"{topology.node_name(link.src)} {arrow} {topology.node_name(link.dst)}"
    times = f" x{link.count}" if link.count > 1 else ""
    _text_of(path, "title", f"{ends}{times} at {rate(link.bandwidth)}, {time(link.latency)}", {})


def _is_blocked(places: list[Place], src: int, dst: int) -> bool:
    """Whether the straight line between two nodes passes over a third."""
    (x1, y1), (x2, y2) = places[src], places[dst]
    length = hypot(x2 - x1, y2 - y1)
    for node, (x, y) in enumerate(places):
        along = ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length
        across = abs((x - x1) * (y2 - y1) - (y - y1) * (x2 - x1)) / length
        if node not in (src, dst) and 0 < along < length and across < _RADIUS:
            return True
    return False


def _rim(node: Place, towards: Place) -> Place:
    dx, dy = towards[0] - node[0], towards[1] - node[1]
    length = hypot(dx, dy) or 1.0
    return node[0] + dx / length * (_RADIUS + 2), node[1] + dy / length * (_RADIUS + 2)


def _colour(rates: list[Fraction], bandwidth: Fraction) -> str:
    return _COLOURS[min(rates.index(bandwidth), len(_COLOURS) - 1)]


def _draw_node(root: ElementTree.Element, topology: Topology, node: int, place: Place) -> None:
    x, y = place
    style = {"fill": "#eef4fb", "stroke": "#22507a", "stroke-width": "1.4"}
    group = ElementTree.SubElement(root, "g")
    name = topology.node_name(node)
    _text_of(group, "title", name, {})
    if node < len(topology.ranks):
        shape = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{_RADIUS:.1f}"}
        ElementTree.SubElement(group, "circle", shape | style)
        label = str(node)
    else:
        style["fill"] = "#f5f0e1"
        corner = {"x": f"{x - _RADIUS:.1f}", "y": f"{y - 12:.1f}", "rx": "3"}
        size = {"width": f"{2 * _RADIUS:.1f}", "height": "24"}
        ElementTree.SubElement(group, "rect", corner | size | style)
        label = "sw"
    middle = {"text-anchor": "middle", "fill": "#1a1a1a"}
    _text_of(group, "text", label, {"x": f"{x:.1f}", "y": f"{y + 4:.1f}"} | middle)
    shown = name if len(name) <= 16 else f"{name[:7]}…{name[-8:]}"
    below = {"x": f"{x:.1f}", "y": f"{y + _RADIUS + 12:.1f}", "font-size": "9"}
    _text_of(group, "text", shown, below | middle)


def _draw_legend(root: ElementTree.Element, rates: list[Fraction], height: float) -> None:
    shown = rates[: len(_COLOURS)]
    for i, bandwidth in enumerate(shown):
        y = height - 22.0 * (len(shown) - i) + 4
        line = {"x1": "12", "x2": "44", "y1": f"{y:.1f}", "y2": f"{y:.1f}", "stroke-width": "3"}
        ElementTree.SubElement(root, "line", line | {"stroke": _COLOURS[i]})
        less = " and less" if i == len(_COLOURS) - 1 and len(rates) > len(shown) else ""
        _text_of(root, "text", f"{rate(bandwidth)} a link{less}", {"x": "52", "y": f"{y + 4:.1f}"})
