"""A plan's options, made into limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, unknown
from .model import ELEMENT_NAMES, Limits, Objective
from .source import Span
from .units import DATA, TIME
from .values import number, quantity, whole

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from .faults import Report
    from .model import Struct

_LEAST = {"chunks": 1, "steps": 0, "sizes": 0}
_MOST = {"chunks": 10**9, "steps": 10**9, "sizes": 1 << 62}
_ROUNDS = 10**18
_SECONDS = 10**12


def build_limits(
    plan: syntax.Plan, report: Report, partial: bool = False
) -> tuple[syntax.Synthesize | syntax.Run | None, Limits]:
    """What a plan asks for and within which limits; faults go to the report.

    A partial plan lost options to syntax faults, perhaps its ``synthesize``. What it forbids is
    not among the limits: that takes the machine.
    """
    first: dict[str, syntax.Option] = {}
    for option in plan.options:
        name = _name(option)
        if name in first and name != "forbid":
            place = first[name].span.place
            report.blame(f"option {name!r} twice", option.span, f"once; it stands at {place}")
        first.setdefault(name, option)
    what = first.get("synthesize") or first.get("run")
    if what is None and not partial:
        start = plan.span.start
        head = Span(plan.span.source, start, start + len("plan"))
        report.blame(
            "a plan without 'synthesize' or 'run'" if plan.options else "an empty plan",
            head,
            "what to synthesize, as in: synthesize all_reduce(sum) on dgx1",
        )
    run = first.get("run")
    if run is not None:
        if "synthesize" in first:
            report.blame(
                "'run' beside 'synthesize'", run.span, "one of them: a schedule by hand or a search"
            )
        for name in _SEARCHING:
            if name in first:
                report.blame(
                    f"{name!r} beside 'run'",
                    first[name].span,
                    "no limits on a search: the schedule is there already",
                    f"leave {name!r} out, or write 'synthesize' for 'run'",
                )
    limits = Limits(
        chunks=_interval(first.get("chunks"), report),
        steps=_interval(first.get("steps"), report),
        rounds=_rounds(first.get("rounds"), report),
        sizes=_interval(first.get("sizes"), report),
        element=_element(first.get("element")),
        budget=_budget(first.get("budget"), report),
        objective=_objective(first.get("minimize"), report),
        in_place="in place" in first,
        channels=_channels(first.get("at most"), report),
        symmetric="symmetric" in first,
        spans=tuple((name, option.span) for name, option in first.items() if name in _LIMITING),
    )
    return what if isinstance(what, syntax.Synthesize | syntax.Run) else None, limits


_NAMES = {
    syntax.InPlace: "in place",
    syntax.Channels: "at most",
}
_LIMITING = ("chunks", "steps", "rounds", "in place", "at most", "symmetric")
_SEARCHING = ("chunks", "steps", "rounds", "budget", "minimize", "symmetric")


def _name(option: syntax.Option) -> str:
    if isinstance(option, syntax.Interval):
        return option.kind
    return _NAMES.get(type(option), type(option).__name__.lower())


def _channels(option: syntax.Option | None, report: Report) -> int | None:
    if not isinstance(option, syntax.Channels):
        return None
    try:
        most = whole(option.most, {}, "the number of channels")
        if most < 1:
            raise BlamedError(f"at most {most} channels", option.most.span, "1 or more")
    except BlamedError as error:
        report.add(error.fault)
        return None
    return most


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


def _element(option: syntax.Option | None) -> str:
    return option.name.text if isinstance(option, syntax.Element) else ""


def settle_element(
    plan: syntax.Plan,
    limits: Limits,
    struct: Struct | None,
    structs: Collection[str],
    report: Report,
) -> Limits:
    """The limits with the element that values are of: the plan's, or what the operator combines.

    ``structs`` are the names of the elements that the plan could mean.
    """
    option = next((each for each in plan.options if isinstance(each, syntax.Element)), None)
    if option is None:
        return replace(limits, element=struct.name if struct else Limits().element)
    name = option.name
    if struct is not None and name.text != struct.name:
        report.blame(
            f"element {name.text} with an operator on {struct.name}",
            name.span,
            struct.name,
            "leave the element out: the operator says it",
        )
    elif struct is None and name.text in structs and name.text not in ELEMENT_NAMES:
        report.blame(
            f"element {name.text} with an operator that does not combine it",
            name.span,
            f"one of {', '.join(ELEMENT_NAMES)}",
        )
    elif struct is None and name.text not in ELEMENT_NAMES:
        report.add(unknown("element", name.text, name.span, ELEMENT_NAMES))
    return limits


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
