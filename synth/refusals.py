"""What the bounds alone forbid: which limits make a request impossible, and what to do about it.

Nothing here asks a solver. What is claimed holds for every schedule there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault, InputError

from .bounds import bound
from .certificates import verify
from .exact.symmetry import list_fitting

if TYPE_CHECKING:
    from roundelay.dsl.model import Limits, Problem, Topology
    from roundelay.dsl.source import Span

    from .schedule import Bound, Certificate


@dataclass(frozen=True, slots=True)
class Refusal:
    """Limits that no schedule keeps: what is wrong, and the certificate that proves it."""

    fault: Fault
    certificate: Certificate


def bound_surely(problem: Problem, budget: float | None = None) -> Bound:
    """The bound of a problem, found in so many seconds, once all its certificates hold."""
    found = bound(problem, budget=budget)
    for certificate in found.certificates:
        verify(problem, certificate)
    return found


def concern(limits: Limits) -> bool:
    """Whether there is a limit that a bound could refuse."""
    return limits.steps is not None or limits.rounds is not None


def refuse(problem: Problem, limit: Bound) -> tuple[Refusal, ...]:
    """Every limit of a request that no schedule can keep, with those it contradicts."""
    found = [_refuse_steps(problem.limits, limit), _refuse_rounds(problem, limit)]
    return tuple(each for each in found if each is not None)


def refuse_symmetry(problem: Problem) -> None:
    """Raise ``InputError`` where symmetry is asked for and no symmetry moves the chunks."""
    limits = problem.limits
    if not limits.symmetric or list_fitting(problem, limits.chunks):
        return
    span = _span(limits, "symmetric")
    fitting = list_fitting(problem, None)
    if not fitting:
        fault = Fault(
            "symmetric: this machine and collective look different from every rank",
            span,
            "a symmetry for the schedule to keep to",
            "leave 'symmetric' out",
        )
    else:
        fault = Fault(
            f"symmetric with {_name(limits, 'chunks')}: every symmetry leaves a chunk in its place",
            span,
            f"a multiple of {' or '.join(map(str, _least(fitting)))} chunks",
            f"ask for {fitting[0]} chunks, or leave 'symmetric' out",
        )
    raise InputError(fault)


def _least(numbers: list[int]) -> list[int]:
    """Those that are no multiple of another."""
    return [n for n in numbers if not any(n % m == 0 for m in numbers if m < n)]


def find_grain(topology: Topology) -> Fraction:
    """All sums of loads over capacities, in rounds, are multiples of this; 1 without a link."""
    if not topology.links:
        return Fraction(1)
    slowest = topology.slowest
    return Fraction(1, lcm(*((link.capacity / slowest).numerator for link in topology.links)))


def _refuse_steps(limits: Limits, limit: Bound) -> Refusal | None:
    if limits.steps is None or limits.steps[1] >= limit.steps:
        return None
    certificate = next(each for each in limit.certificates if each.kind == "distance")
    fewest = _count(limit.steps, "step")
    fault = Fault(
        f"impossible: {_name(limits, 'steps')}: {certificate.reason}",
        _span(limits, "steps"),
        f"at least {fewest}",
        f"allow {fewest}{_option(limits, 'steps')}",
    )
    return Refusal(fault, certificate)


def _refuse_rounds(problem: Problem, limit: Bound) -> Refusal | None:
    limits, topology = problem.limits, problem.topology
    if limits.rounds is None or not limit.steps:
        return None
    fewest = 1 if limits.chunks is None else limits.chunks[0]
    grain = find_grain(topology)
    asked = floor(limits.rounds / grain) * grain
    carried = ceil(fewest * limit.rounds / grain) * grain
    step = topology.slowest / max(link.capacity for link in topology.links)
    walked = limit.steps * step
    if limits.rounds >= max(carried, walked):
        return None
    if carried >= walked:
        certificate = next(each for each in limit.certificates if each.kind != "distance")
        most = floor(asked / limit.rounds) if limits.rounds >= walked else 0
        reason = certificate.reason
        if fewest * limit.rounds != carried:
            reason += f", and every step lasts a multiple of {_count(grain, 'round')}"
    else:
        far = next(each for each in limit.certificates if each.kind == "distance")
        reason = (
            f"{far.reason}, and a step in which anything is sent lasts at least "
            f"{_count(step, 'round')}"
        )
        certificate, most = replace(far, reason=reason), 0
    chunks = limits.chunks is not None and carried >= walked
    named = _name(limits, "rounds") + (f" with {_name(limits, 'chunks')}" if chunks else "")
    least = _count(max(carried, walked), "round")
    remedy = f"allow {least}{_option(limits, 'rounds')}"
    if chunks and most:
        remedy += f", or ask for at most {_count(most, 'chunk')}{_option(limits, 'chunks')}"
    fault = Fault(
        f"impossible: {named}: {reason}",
        _span(limits, "rounds") or (_span(limits, "chunks") if chunks else None),
        f"at least {least} for {_count(fewest, 'chunk')}",
        remedy,
    )
    return Refusal(fault, certificate)


# ------------------------------------------------------------------------------------- in words


def _name(limits: Limits, option: str) -> str:
    """A limit as it was written: ``chunks 4..8`` in a plan, ``--chunks 4..8`` without one."""
    span = _span(limits, option)
    if span is not None:
        text = " ".join(span.source.text[span.start : span.end].split())
        beside = option == "chunks" and _span(limits, "rounds") is not None
        return f"{text} ({span.place})" if beside else text
    if option == "rounds":
        assert limits.rounds is not None
        return f"--rounds {_number(limits.rounds)}"
    ends = limits.chunks if option == "chunks" else limits.steps
    assert ends is not None
    low, high = ends
    return f"--{option} {low}" if low == high else f"--{option} {low}..{high}"


def _span(limits: Limits, option: str) -> Span | None:
    return dict(limits.spans).get(option)


def _option(limits: Limits, option: str) -> str:
    return "" if _span(limits, option) is not None else f" (--{option})"


def _count(number: Fraction | int, noun: str) -> str:
    return f"{_number(number)} {noun}" if number == 1 else f"{_number(number)} {noun}s"


def _number(number: Fraction | int) -> str:
    """A decimal where a short one is exact, else a fraction."""
    value = Fraction(number)
    decimal = Fraction(round(value * 10**4), 10**4)
    if decimal != value or value.denominator == 1:
        return str(value)
    return f"{float(value):.4f}".rstrip("0")
