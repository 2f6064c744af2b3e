"""A frontier as a picture: one SVG text without scripts, fonts or anything else from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from .report import collective_text, count, show_number, show_rate

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.synth.frontier.chart import Chart, Point

_WIDTH, _HEIGHT = 640.0, 400.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 84.0, 52.0, 24.0, 52.0
_LINES = 5  # Of the scale.
_MARKS = 20  # Most numbers under the steps.


def draw_chart(chart: Chart) -> str:
    """Bandwidth over steps: a stair through the points, full where they are proved the best.

    The chart has at least one point. Hovering over one tells all of it.
    """
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
            "width": f"{_WIDTH:.0f}",
            "height": f"{_HEIGHT:.0f}",
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    title = f"{collective_text(chart.problem)} on {chart.problem.topology.name}"
    _text(root, "title", title, {})
    ElementTree.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    _text(root, "text", title, {"x": f"{_LEFT:.0f}", "y": "24", "font-size": "15"})
    moving = [point for point in chart.points if point.kept.cost.per_byte]
    if not moving:
        _text(root, "text", "nothing moves", {"x": f"{_LEFT:.0f}", "y": "60"})
    else:
        _draw(root, chart, moving)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _draw(root: ElementTree.Element, chart: Chart, points: list[Point]) -> None:
    first = chart.rows[0].steps
    last = min(chart.rows[-1].steps, max(points[-1].kept.schedule.steps + 2, first + 4))
    last = max(last, first + 1)
    per_byte = chart.bound.per_byte or points[-1].kept.cost.per_byte
    top = 1 / per_byte

    def across(steps: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (steps - first) / (last - first)

    def up(rate: Fraction) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * float(rate / top)

    right = {"x2": f"{_WIDTH - _RIGHT:.1f}"}
    for i in range(_LINES):
        rate = top * i / (_LINES - 1)
        y = f"{up(rate):.1f}"
        bound = i == _LINES - 1 and bool(chart.bound.per_byte)
        style = {"stroke": "#c4561a" if bound else "#dddddd", "stroke-width": "1.5"}
        ElementTree.SubElement(
            root, "line", {"x1": f"{_LEFT:.1f}", "y1": y, "y2": y} | right | style
        )
        label = {"x": f"{_LEFT - 8:.1f}", "y": f"{up(rate) + 4:.1f}", "text-anchor": "end"}
        _text(root, "text", show_rate(rate) if i else "0", label)
    if chart.bound.per_byte:
        at = {"x": f"{_WIDTH - _RIGHT:.1f}", "y": f"{_TOP - 6:.1f}", "text-anchor": "end"}
        _text(root, "text", "bound", at | {"fill": "#c4561a"})
    every = -(-(last - first + 1) // _MARKS)
    for steps in range(first, last + 1, every):
        at = {"x": f"{across(steps):.1f}", "y": f"{_HEIGHT - _BOTTOM + 18:.1f}"}
        _text(root, "text", str(steps), at | {"text-anchor": "middle"})
    middle = {"x": f"{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}", "y": f"{_HEIGHT - 12:.1f}"}
    _text(root, "text", "steps", middle | {"text-anchor": "middle"})
    path = ""
    for point in points:
        x, height = across(point.kept.schedule.steps), up(1 / point.kept.cost.per_byte)
        path += f"H{x:.1f} V{height:.1f} " if path else f"M{x:.1f} {height:.1f} "
    path += f"H{across(last):.1f}"
    stair = {"d": path, "fill": "none", "stroke": "#1f6fb4", "stroke-width": "2"}
    ElementTree.SubElement(root, "path", stair)
    for point in points:
        _draw_point(
            root, point, across(point.kept.schedule.steps), up(1 / point.kept.cost.per_byte)
        )


def _draw_point(root: ElementTree.Element, point: Point, x: float, y: float) -> None:
    proved = point.proof in ("bound", "counts")
    schedule, cost = point.kept.schedule, point.kept.cost
    circle = {
        "cx": f"{x:.1f}",
        "cy": f"{y:.1f}",
        "r": "5",
        "fill": "#1f6fb4" if proved else "#ffffff",
        "stroke": "#1f6fb4",
        "stroke-width": "2",
    }
    mark = ElementTree.SubElement(root, "circle", circle)
    told = (
        f"{count(schedule.steps, 'step')}, {count(schedule.chunks, 'chunk')}, "
        f"{count(cost.rounds, 'round')}: {show_rate(1 / cost.per_byte)}"
    )
    _text(mark, "title", told + (", proved the best" if proved else ""), {})
    label = f"{schedule.chunks}/{show_number(cost.rounds)}"
    _text(root, "text", label, {"x": f"{x + 8:.1f}", "y": f"{y + 16:.1f}", "font-size": "10"})


def _text(parent: ElementTree.Element, tag: str, text: str, attributes: dict[str, str]) -> None:
    ElementTree.SubElement(parent, tag, attributes).text = text
