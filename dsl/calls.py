"""Arguments of a call, matched to parameters and evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, nearest
from .printer import render_call, render_expression
from .units import describe, dimension_of, show
from .values import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .faults import Report
    from .units import Value
    from .values import Scope


def match_arguments(
    parameters: tuple[syntax.Parameter, ...], call: syntax.Call, kind: str, report: Report
) -> dict[str, syntax.Argument] | None:
    """Arguments by the names of their parameters, or None and faults."""
    before = len(report.faults)
    names = [parameter.name.text for parameter in parameters]
    shown = f"{kind} {call.name.text!r}"
    signature = f"{call.name.text}({', '.join(map(_signature, parameters))})"
    bound: dict[str, syntax.Argument] = {}
    positional = 0
    for argument in call.arguments:
        if argument.name is None:
            positional += 1
            if positional > len(names):
                report.blame(f"too many arguments for {shown}", argument.span, signature)
                break
            name = names[positional - 1]
        else:
            name = argument.name.text
            if name not in names:
                report.blame(
                    f"{shown} has no parameter {name!r}",
                    argument.name.span,
                    signature,
                    nearest(name, names),
                )
                continue
        if name in bound:
            report.blame(f"two values for parameter {name!r}", argument.span, "one")
        bound.setdefault(name, argument)
    missing = [
        each.name.text
        for each in parameters
        if each.default is None and each.name.text not in bound
    ]
    if missing and len(report.faults) == before:
        report.blame(f"{shown} lacks {', '.join(map(repr, missing))}", call.span, signature)
    return bound if len(report.faults) == before else None


def parameter_values(
    parameters: Iterable[syntax.Parameter],
    bound: dict[str, syntax.Argument],
    report: Report,
    inner: Report,
    outer: Mapping[str, Value] | None = None,
) -> tuple[Scope, tuple[tuple[str, str], ...]]:
    """Values of all parameters, and which of them were assumed, with how these print.

    Faults of arguments go to ``report``, those of defaults to ``inner``. ``outer`` is what names
    in arguments mean.
    """
    scope: Scope = {}
    assumed: list[tuple[str, str]] = []
    for parameter in parameters:
        name, default = parameter.name.text, parameter.default
        argument = bound.get(name)
        usual = None
        if default is not None:
            try:
                usual = evaluate(default, scope)
            except BlamedError as error:
                inner.add(error.fault)
                continue
        value = usual
        if argument is not None:
            try:
                value = evaluate(argument.value, outer or {})
            except BlamedError as error:
                report.add(error.fault)
                continue
            if usual is not None and dimension_of(value) != dimension_of(usual):
                report.blame(
                    f"{name!r} is {describe(dimension_of(value))}",
                    argument.value.span,
                    f"{describe(dimension_of(usual))}, as its default {show(usual)}",
                )
        elif default is not None and usual is not None:
            literal = isinstance(default, syntax.Number)
            assumed.append((name, render_expression(default) if literal else show(usual)))
        if value is not None:
            scope[name] = value
    return scope, tuple(assumed)


def pass_on(inner: Report, call: syntax.Call, report: Report) -> None:
    """Blame the call for what came of its arguments; a file's own fault where it stands."""
    own = call.span.source
    for fault in inner.faults:
        span = fault.span
        # The library has no path: nobody can mend it.
        if span is None or (
            span.source is not own and (call.arguments or span.source.path is None)
        ):
            message = f"{render_call(call)}: {fault.message}"
            report.blame(message, call.span, fault.expected, fault.remedy)
        elif call.arguments:
            message = f"{fault.message}, in {render_call(call)}"
            report.blame(message, span, fault.expected, fault.remedy)
        else:
            report.add(fault)


def _signature(parameter: syntax.Parameter) -> str:
    if parameter.default is None:
        return parameter.name.text
    return f"{parameter.name.text} = {render_expression(parameter.default)}"
