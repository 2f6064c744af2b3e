"""What people read of a problem and its answer."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.dsl.model import Handwritten
from roundelay.synth.schedule import Found, GaveUp, Impossible

from .pipeline import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roundelay.dsl.loader import Module
    from roundelay.dsl.model import Problem, Topology
    from roundelay.synth.schedule import Answer, Bound, Cost, Schedule

# ------------------------------------------------------------------------------------ numbers


def show_number(value: Fraction) -> str:
    """A fraction as people write it: ``4``, ``3.5``, or ``7/3`` where no short decimal is exact."""
    if value.denominator == 1:
        return str(value.numerator)
    decimal = f"{float(value):.4f}".rstrip("0")
    return decimal if Fraction(decimal) == value else f"{value.numerator}/{value.denominator}"


def show_rate(rate: Fraction) -> str:
    """Bytes per second as GB/s with up to two decimals (three significant digits below 1)."""
    gb = float(rate) / 1e9
    return f"{gb:.2f} GB/s" if gb >= 1 else f"{gb:.3g} GB/s"


def show_time(seconds: Fraction) -> str:
    """Seconds in the unit that keeps the number readable."""
    value = float(seconds)
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def count(number: int | Fraction, noun: str) -> str:
    """``1 step``, ``4 steps``."""
    shown = show_number(Fraction(number))
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"


# ------------------------------------------------------------------------------------ names


def collective_text(problem: Problem) -> str:
    """The collective as the language writes it: ``broadcast(0)``, ``all_reduce(sum)``."""
    collective = problem.collective
    arguments = collective.arguments
    text = collective.name + (f"({', '.join(arguments)})" if arguments else "")
    if collective.groups:
        shown = [f"[{', '.join(map(str, group))}]" for group in collective.groups[:4]]
        more = ", ..." if len(collective.groups) > len(shown) else ""
        text += f" within [{', '.join(shown)}{more}]"
    return text


def _machine_lines(topology: Topology) -> Iterator[str]:
    ranks, switches = len(topology.ranks), len(topology.switches)
    links = sum(link.count for link in topology.links)
    parts = [count(ranks, "rank")]
    if switches:
        parts.append(f"{switches} switches" if switches != 1 else "1 switch")
    parts.append(count(links, "directed link"))
    if links:
        parts.append(f"a round is one chunk's time at {show_rate(topology.slowest)}")
    yield f"machine   {topology.name}: {', '.join(parts)}"
    if topology.assumed:
        yield "assumed   " + ", ".join(f"{name} = {value}" for name, value in topology.assumed)


def module_lines(file: str, module: Module, laws: Iterable[str]) -> Iterator[str]:
    """What a file declares, for ``check``; ``laws`` says what is known of its operators'."""
    for topology in module.topologies:
        yield from _machine_lines(topology)
    yield from laws
    for number, task in enumerate(module.plans, 1):
        yield f"plan {number}"
        for line in header_lines(problem_of(task)):
            yield f"  {line}"
        if isinstance(task, Handwritten):
            steps, sends = count(task.steps, "step"), count(len(task.moves), "send")
            yield f"  by hand   {task.name}: {count(task.chunks, 'chunk')}, {steps}, {sends}"
    yield f"{file}: no faults, {count(len(module.warnings), 'warning')}"


def header_lines(problem: Problem) -> list[str]:
    """What is asked of which machine, and what was assumed on the way."""
    lines = [*_machine_lines(problem.topology), f"asked     {collective_text(problem)}"]
    limits = problem.limits
    if limits.in_place:
        lines[-1] += " in place"
    wishes = []
    for noun, span in (("chunks", limits.chunks), ("steps", limits.steps)):
        if span:
            low, high = span
            wishes.append(f"{noun} {low}" if low == high else f"{noun} {low}..{high}")
    if limits.rounds is not None:
        wishes.append(f"at most {count(limits.rounds, 'round')}")
    if limits.channels is not None:
        wishes.append(f"at most {count(limits.channels, 'channel')} a link")
    if limits.symmetric:
        wishes.append("symmetric")
    if wishes:
        lines[-1] += f" with {', '.join(wishes)}"
    if limits.forbidden:
        lines.append("without   " + ", ".join(f"{a} -> {b}" for a, b in limits.forbidden))
    return lines


def bound_lines(bound: Bound) -> list[str]:
    """What no schedule can beat, and why."""
    rate = f"{show_rate(1 / bound.per_byte)} algbw" if bound.per_byte else "no transfer needed"
    lines = [f"bound     {count(bound.steps, 'step')}, {rate}"]
    return lines + [f"            {c.reason}" for c in bound.certificates if c.reason]


def answer_lines(answer: Answer) -> list[str]:
    """The bound, what was found in how long, and how the two compare."""
    bound, outcome = answer.bound, answer.outcome
    lines = bound_lines(bound)
    seconds = f"{answer.seconds:.2f} s"
    match outcome:
        case Found(schedule, cost, engine):
            lines.append(
                f"found     {count(schedule.chunks, 'chunk')}, {count(schedule.steps, 'step')}, "
                f"{count(cost.rounds, 'round')} in {seconds} ({engine}); "
                f"{count(len(schedule.sends), 'message')}, accepted by the checker"
            )
            lines += [_cost_line(cost), _comparison_line(answer, bound, schedule, cost)]
        case Impossible(certificate, engine):
            lines.append(f"answer    impossible, after {seconds} ({engine})")
            lines.append(f"            {certificate.reason}")
        case GaveUp(reason, engine):
            lines.append(f"answer    gave up after {seconds} ({engine}): {reason}")
    return lines


def _cost_line(cost: Cost) -> str:
    if not cost.per_byte:
        return "cost      nothing moves"
    return f"cost      {show_time(cost.latency)} + size / {show_rate(1 / cost.per_byte)}"


def _comparison_line(answer: Answer, bound: Bound, schedule: Schedule, cost: Cost) -> str:
    if schedule.steps == bound.steps:
        steps = "steps optimal"
    else:
        steps = f"{count(schedule.steps - bound.steps, 'step')} above the bound"
    if not cost.per_byte or answer.proved:
        rate = "bandwidth optimal (meets the bound)" if answer.proved else "nothing to compare"
    else:
        share = float(bound.per_byte / cost.per_byte) * 100
        rate = f"{share:.1f} % of the bandwidth bound"
    return f"compares  {steps}, {rate}"
