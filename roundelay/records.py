"""What programs read: answers and rows as JSON objects whose keys are only ever added to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roundelay.dsl.model import Handwritten
from roundelay.synth.certificate_forms import to_json
from roundelay.synth.schedule import ANY_ROUNDS, Found, GaveUp, Got, Impossible, Own

from .pipeline import problem_of
from .report import collective_text
from .table import bandwidths, percent_of_bound, reduction_name

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.codegen.elements import Element
    from roundelay.dsl.loader import Module
    from roundelay.dsl.model import Problem, Symbol
    from roundelay.runtime.bench import Half, Row
    from roundelay.synth.schedule import Answer, Bound, Cost, Part, Schedule


def module_json(file: str, module: Module) -> dict[str, Any]:
    """The object that ``check --json`` prints of a file without faults."""
    return {
        "file": file,
        "ok": True,
        "topologies": [
            {
                "name": topology.name,
                "ranks": len(topology.ranks),
                "switches": len(topology.switches),
                "links": sum(link.count for link in topology.links),
            }
            for topology in module.topologies
        ],
        "plans": [_plan_json(task) for task in module.plans],
        "declared": {kind: list(names) for kind, names in module.declared},
        "warnings": [warning.render("warning") for warning in module.warnings],
    }


def _plan_json(task: Problem | Handwritten) -> dict[str, Any]:
    problem = problem_of(task)
    record = {"topology": problem.topology.name, "collective": collective_text(problem)}
    return record | ({"by_hand": task.name} if isinstance(task, Handwritten) else {})


def answer_json(answer: Answer) -> dict[str, Any]:
    """The object that ``synth --json`` prints; keys are only ever added."""
    problem, outcome = answer.problem, answer.outcome
    schedule = outcome.schedule if isinstance(outcome, Found) else None
    limits = problem.limits
    wish = limits.chunks[0] if limits.chunks and limits.chunks[0] == limits.chunks[1] else None
    step_wish = limits.steps[1] if limits.steps else None
    rounds = outcome.cost.rounds if isinstance(outcome, Found) else limits.rounds
    operator = problem.operator
    return {
        "topology": problem.topology.name,
        "ranks": len(problem.topology.ranks),
        "collective": problem.collective.name,
        "op": str(operator) if operator else None,
        "root": problem.collective.root,
        "assumed": dict(problem.topology.assumed),
        "outcome": {Found: "found", Impossible: "impossible", GaveUp: "gave-up"}[type(outcome)],
        "reason": _reason(answer),
        "chunks": schedule.chunks if schedule else wish,
        "steps": schedule.steps if schedule else step_wish,
        "rounds": None if rounds is None else exact(rounds),
        "cost": _cost_json(outcome.cost) if isinstance(outcome, Found) else None,
        "bound": bound_json(answer.bound),
        "proved": answer.proved,
        "engine": outcome.engine,
        "seconds": round(answer.seconds, 6),
        "sends": sends_json(schedule) if schedule else [],
        "checked": schedule is not None,
        "interrupted": answer.interrupted,
        "log": [
            {
                "chunks": query.chunks,
                "steps": query.steps,
                "rounds": None if query.rounds >= ANY_ROUNDS else exact(query.rounds),
                "outcome": name,
                "seconds": round(seconds, 6),
            }
            for query, name, seconds in answer.log
        ],
    }


def _reason(answer: Answer) -> str | None:
    match answer.outcome:
        case Impossible(certificate, _):
            return certificate.reason
        case GaveUp(reason, _):
            return reason
        case _:
            return None


def exact(value: Fraction) -> int | str:
    """A whole number as a number, any other fraction as ``p/q``."""
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def ratio(value: Fraction) -> str:
    """``p/q``, of whole numbers too."""
    return f"{value.numerator}/{value.denominator}"


def _algbw(per_byte: Fraction) -> float | None:
    return float(1 / per_byte) / 1e9 if per_byte else None


def _cost_json(cost: Cost) -> dict[str, Any]:
    return {
        "latency_s": float(cost.latency),
        "per_byte": ratio(cost.per_byte),
        "algbw_GBps": _algbw(cost.per_byte),
    }


def bound_json(bound: Bound) -> dict[str, Any]:
    """A bound with its certificates."""
    return {
        "steps": bound.steps,
        "rounds_per_chunk": exact(bound.rounds),
        "per_byte": ratio(bound.per_byte),
        "algbw_GBps": _algbw(bound.per_byte),
        "tight": bound.tight,
        "bottleneck": bound.bottleneck,
        "certificates": [to_json(certificate) for certificate in bound.certificates],
    }


def sends_json(schedule: Schedule) -> list[dict[str, Any]]:
    """One object a message, steps and chunks counted from 0.

    ``carries`` names the given values that are combined in it, ``parts`` what the sender merges
    (its own inputs, or the messages it got, by number), ``action`` what the receiver does:
    ``reduce`` where it merges the message with something else, ``copy`` where it does not.
    """
    topology = schedule.problem.topology
    merged = schedule.merged
    carried: list[list[str]] = []
    sends = []
    for number, send in enumerate(schedule.sends):
        symbols = schedule.problem.collective.blocks[send.chunk // schedule.chunks].symbols
        names: dict[str, None] = {}
        for part in send.parts:
            got = [str(symbols[part.symbol])] if isinstance(part, Own) else carried[part.send]
            names |= dict.fromkeys(got)
        carried.append(list(names))
        inner = [topology.node_name(topology.links[link].dst) for link in send.route[:-1]]
        sends.append(
            {
                "id": number,
                "step": send.step,
                "chunk": send.chunk,
                "src": send.src,
                "dst": send.dst,
                "through": inner,
                "carries": carried[number],
                "parts": [_part_json(part, symbols) for part in send.parts],
                "action": "reduce" if number in merged else "copy",
            }
        )
    return sends


def _part_json(part: Part, symbols: tuple[Symbol, ...]) -> str | int:
    return part.send if isinstance(part, Got) else str(symbols[part.symbol])


def row_json(
    row: Row, problem: Problem, element: Element, bound: Bound, cost: Cost
) -> dict[str, Any]:
    """One size of ``run --json``: the out-of-place half flat, the in-place half nested."""
    first = row.first
    return {
        "size": row.size,
        "count": row.count,
        "type": element.nccl,
        "op": reduction_name(problem),
        "root": -1 if problem.collective.root is None else problem.collective.root,
        **(_half_json(row.out_of_place, row, problem) if row.out_of_place else _NO_HALF),
        "wrong": row.wrong,
        "in_place": _half_json(row.in_place, row, problem) if row.in_place else None,
        "model_us": float(cost.at(row.size)) * 1e6,
        "bound_percent": percent_of_bound(row, bound, cost),
        "value": row.value,
        "first_wrong": None
        if first is None
        else {"rank": first.rank, "index": first.index, "got": first.got, "want": first.want},
    }


_NO_HALF: dict[str, Any] = dict.fromkeys(("time_us", "algbw", "busbw", "wrong"))
"""The half that was not asked for."""


def _half_json(half: Half, row: Row, problem: Problem) -> dict[str, Any]:
    algbw, busbw = bandwidths(half, row, problem)
    return {
        "time_us": half.seconds * 1e6,
        "algbw": algbw,
        "busbw": busbw,
        "wrong": half.judgement.wrong if half.judgement else None,
    }
