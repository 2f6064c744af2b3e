"""A plan's options, made into limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, unknown
from .model import ELEMENT_NAMES, Limits, Objective
from .units import DATA, TIME
from .values import number, quantity, whole

if TYPE_CHECKING:
    from fractions import Fraction

    from .faults import Report

_LEAST = {"chunks": 1, "steps": 0, "sizes": 0}
_MOST = {"chunks": 10**9, "steps": 10**9, "sizes": 1 << 62}
_ROUNDS = 10**18
_SECONDS = 10**12


def build_limits(
    plan: syntax.Plan, report: Report, partial: bool = False
) -> tuple[syntax.Synthesize | None, Limits]:
    """What a plan asks for and within which limits; faults go to the report.

    A partial plan lost options to syntax faults, perhaps its ``synthesize``.
    """
    first: dict[str, syntax.Option] = {}
    for option in plan.options:
        name = _name(option)
        if name in first:
            line, column = option.span.source.place(first[name].span.start)
            report.blame(
                f"option {name!r} twice", option.span, f"once; it stands at {line}:{column}"
            )
        first.setdefault(name, option)
    what = first.get("synthesize")
    if what is None and not partial:
        head = plan.span
        head = type(head)(head.source, head.start, head.start + len("plan"))
        report.blame(
            "a plan without 'synthesize'" if plan.options else "an empty plan",
            head,
            "what to synthesize, as in: synthesize all_reduce(sum) on dgx1",
        )
    limits = Limits(
        chunks=_interval(first.get("chunks"), report),
        steps=_interval(first.get("steps"), report),
        rounds=_rounds(first.get("rounds"), report),
        sizes=_interval(first.get("sizes"), report),
        element=_element(first.get("element"), report),
        budget=_budget(first.get("budget"), report),
        objective=_objective(first.get("minimize"), report),
    )
    return what if isinstance(what, syntax.Synthesize) else None, limits


def _name(option: syntax.Option) -> str:
    return option.kind if isinstance(option, syntax.Interval) else type(option).__name__.lower()


def _interval(option: syntax.Option | None, report: Report) -> tuple[int, int] | None:
    if not isinstance(option, syntax.Interval):
        return None
    ends: list[int] = []
    for end in (option.low, option.high):
        if end is None:
            continue
        try:
            value = _size(end) if option.kind == "sizes" else whole(end, {}, option.kind)
            if value < _LEAST[option.kind]:
                raise BlamedError(
                    f"{option.kind} {value}", end.span, f"{_LEAST[option.kind]} or more"
                )
            message = "a size too large" if option.kind == "sizes" else f"too many {option.kind}"
            _limit(value, _MOST[option.kind], message, end)
        except BlamedError as error:
            report.add(error.fault)
            continue
        ends.append(value)
    if len(ends) < (1 if option.high is None else 2):
        return None
    if ends[0] > ends[-1]:
        report.blame(
            f"{option.kind} from {ends[0]} to {ends[1]}: a range over nothing",
            option.span,
            "the smaller end first; both ends belong to the range",
        )
        return None
    return ends[0], ends[-1]


def _limit(value: Fraction | int, most: int, message: str, expression: syntax.Expression) -> None:
    if value > most:
        raise BlamedError(message, expression.span, f"at most {most}")


def _size(expression: syntax.Expression) -> int:
    value = quantity(expression, {}, DATA, "the size")
    if value.denominator != 1:
        raise BlamedError(f"the size is {value} bytes", expression.span, "whole bytes")
    return value.numerator


def _rounds(option: syntax.Option | None, report: Report) -> Fraction | None:
    if not isinstance(option, syntax.Rounds):
        return None
    try:
        value = number(option.limit, {}, "rounds")
        if value < 0:
            raise BlamedError(f"{value} rounds", option.limit.span, "0 or more")
        _limit(value, _ROUNDS, "too many rounds", option.limit)
    except BlamedError as error:
        report.add(error.fault)
        return None
    return value


def _element(option: syntax.Option | None, report: Report) -> str:
    if not isinstance(option, syntax.Element):
        return Limits().element
    if option.name.text not in ELEMENT_NAMES:
        report.add(unknown("element", option.name.text, option.name.span, ELEMENT_NAMES))
    return option.name.text


def _budget(option: syntax.Option | None, report: Report) -> Fraction | None:
    if not isinstance(option, syntax.Budget):
        return None
    try:
        value = quantity(option.time, {}, TIME, "the budget")
        if value <= 0:
            raise BlamedError("no budget", option.time.span, "more than 0 s")
        _limit(value, _SECONDS, "too long a budget", option.time)
    except BlamedError as error:
        report.add(error.fault)
        return None
    return value


def _objective(option: syntax.Option | None, report: Report) -> Objective | None:
    if not isinstance(option, syntax.Minimize):
        return None
    if option.kind == "latency":
        return Objective("latency")
    if option.kind == "bandwidth" or option.size is None:
        return Objective("bandwidth")
    try:
        size = _size(option.size)
        _limit(size, _MOST["sizes"], "a size too large", option.size)
        return Objective("time", size)
    except BlamedError as error:
        report.add(error.fault)
        return None
