"""Schedules on machines that no catalogue has, and on 16 ranks: how near to the bound they come."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from math import lcm

from roundelay.dsl import loader
from roundelay.dsl.model import Limits, Objective, Problem
from roundelay.dsl.source import Source
from roundelay.synth.checker import check
from roundelay.synth.exact.engine import solve
from roundelay.synth.schedule import Answer, Found, GaveUp, Impossible, Query
from roundelay.synth.search import search

BOXES = {
    "five GPUs of a DGX-1": """
topology box = dgx1 only gpu[0..4, 7]
""",
    "a DGX-1 less a link": """
topology box = dgx1 without gpu[0] <-> gpu[4]
""",
    "two NVLink pairs, one socket link": """
topology box {
  ranks gpu[4]
  switch root[2]
  link gpu[2 * p] <-> gpu[2 * p + 1] x4 at 25 GB/s, 0.7 us for p in 0..2
  link gpu[g] <-> root[g // 2] at 24 GB/s, 1 us for g in 0..4
  link root[0] <-> root[1] at 16 GB/s, 1 us
}
""",
    "three GPUs, one NVLink pair": """
topology box {
  ranks gpu[3]
  switch root
  link gpu[0] <-> gpu[1] x4 at 25 GB/s, 0.7 us
  link gpu[g] <-> root at 24 GB/s, 1 us for g in 0..3
}
""",
}
SIXTEEN = ("torus(4, 4)", "hypercube(4)", "dgx2")
_NEAR = Fraction(105, 100)  # What counts as near to the bound.


def _plan(text: str, collective: str) -> Problem:
    plan = f"{text}plan {{ synthesize {collective} on box }}\n"
    problem = loader.load(Source("benchmark", plan)).plans[0]
    assert isinstance(problem, Problem)
    return problem


def _best(problem: Problem, kind: str, budget: float) -> Answer:
    objective = Objective("latency" if kind == "steps" else "bandwidth")
    limits = replace(problem.limits, objective=objective, budget=Fraction(budget))
    answer = search(replace(problem, limits=limits))
    if isinstance(answer.outcome, Found):
        check(answer.outcome.schedule)
    return answer


def _settle(found: Found, answer: Answer, budget: float) -> str:
    """Whether fewer rounds are proved impossible for the same chunks and steps."""
    problem, schedule = replace(answer.problem, limits=Limits()), found.schedule
    # All sums of loads over capacities are multiples of this.
    slowest = problem.topology.slowest
    grain = Fraction(1, lcm(*((x.capacity / slowest).numerator for x in problem.topology.links)))
    asked = Query(schedule.chunks, schedule.steps, found.cost.rounds - grain)
    outcome = solve(problem, asked, budget=budget, limit=answer.bound)
    if not isinstance(outcome, Impossible):
        return f"fewer rounds with {schedule.chunks} chunks in {schedule.steps} steps: open"
    told = "all schedules" if outcome.certificate.complete else "a smaller class"
    return f"{schedule.chunks} chunks in {schedule.steps} steps: proved least over {told}"


def _line(name: str, collective: str, kind: str, problem: Problem, budget: float) -> bool:
    """Print one search; whether it came near to the bound, or its gap was proved."""
    began = time.perf_counter()
    answer = _best(problem, kind, budget)
    seconds = time.perf_counter() - began
    outcome = answer.outcome
    if not isinstance(outcome, Found):
        why = outcome.reason if isinstance(outcome, GaveUp) else outcome.certificate.reason
        print(f"{name:<34}{collective:<17}{kind:<10}nothing in {seconds:.1f} s: {why}", flush=True)
        return False
    schedule, cost = outcome.schedule, outcome.cost
    rate, limit = (float(1 / each / 10**9) for each in (cost.per_byte, answer.bound.per_byte))
    ratio = cost.per_byte / answer.bound.per_byte
    near = ratio <= _NEAR if kind == "bandwidth" else schedule.steps == answer.bound.steps
    told = ""
    if kind == "bandwidth" and not near:
        told = _settle(outcome, answer, budget / 2)
        near = told.endswith("proved least over all schedules")
    size = f"{schedule.chunks:>3} chunks {schedule.steps:>2} steps (bound {answer.bound.steps})"
    speed = f"{rate:>8.2f} of {limit:>8.2f} GB/s {float(ratio - 1):>7.1%} gap"
    verdict = f"{seconds:>6.1f} s  {'yes' if near else 'NO'}  {told}"
    print(f"{name:<34}{collective:<17}{kind:<10}{size} {speed} {verdict}".rstrip(), flush=True)
    return near


def report_odd(budget: float) -> None:
    """Print, for each machine and collective, achieved, bound and gap."""
    print(
        f"Within {budget:g} s each: bandwidth within 5 % of the bound, or the gap proved for these"
    )
    print("chunks; for 'steps', as few as the bound says. All found were judged by the checker.\n")
    good = total = 0
    for name, text in BOXES.items():
        for collective in ("all_reduce(sum)", "all_gather"):
            total += 1
            good += _line(name, collective, "bandwidth", _plan(text, collective), budget)
    for machine in SIXTEEN:
        for collective in ("all_gather", "all_reduce(sum)"):
            for kind in ("steps", "bandwidth"):
                total += 1
                problem = _plan(f"topology box = {machine}\n", collective)
                good += _line(machine, collective, kind, problem, budget)
    print(f"\n{good} of {total} as near as asked")
