"""Schedules and queries as JSON, and back with every number looked at."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from roundelay.dsl.model import Spread
from roundelay.synth.checker import ScheduleError, check
from roundelay.synth.schedule import Found, Got, Own, Query, Result, Schedule, Send
from roundelay.synth.timeline import price

from .chart import Asked, Kept

if TYPE_CHECKING:
    from roundelay.dsl.model import Block, Problem
    from roundelay.synth.schedule import Part

CLASS = 1
"""The version of the classes of schedules that impossibilities quantify over.

It goes up whenever an encoding that is called ``full`` covers less, or other, schedules than it
did: what was refuted before is forgotten then.
"""

_MOST = 1 << 16  # Steps, and chunks of all blocks together, of a stored schedule.
_LONGEST = 400  # Digits of a stored fraction.


class DamageError(Exception):
    """A stored text is not what was written."""


# ------------------------------------------------------------------------------- the problem


def canonical(problem: Problem) -> str:
    """A text that two problems share if their schedules are the same, with the same costs.

    Names do not matter, nor do an operator's formula or the sizes asked for: what an engine can
    find depends on the operator's laws alone. Forbidden links are not in the topology any more.
    Wishes for chunks, steps and rounds are left out: queries name theirs.
    """
    topology, operator, limits = problem.topology, problem.operator, problem.limits
    return json.dumps(
        {
            "class": CLASS,
            "ranks": len(topology.ranks),
            "switches": [[switch.multicast, switch.reduce] for switch in topology.switches],
            "links": [
                [link.src, link.dst, link.count, ratio(link.bandwidth), ratio(link.latency)]
                for link in topology.links
            ],
            "blocks": [_block(block) for block in problem.collective.blocks],
            "operator": None if operator is None else [operator.commutative, operator.idempotent],
            "in_place": limits.in_place,
            "channels": limits.channels,
            "symmetric": limits.symmetric,
        },
        separators=(",", ":"),
    )


def _block(block: Block) -> list[Any]:
    given = [symbol.rank for symbol in block.symbols]
    if isinstance(block.wants, Spread):
        return [given, [[rank, list(block.wants.symbols)] for rank in block.wants.ranks]]
    return [given, [[want.rank, list(want.symbols)] for want in block.wants]]


def key_of(problem: Problem) -> str:
    """The SHA-256 of a problem's canonical text, in hexadecimal digits."""
    return hashlib.sha256(canonical(problem).encode()).hexdigest()


def ratio(value: Fraction) -> str:
    """``p/q``, of whole numbers too."""
    return f"{value.numerator}/{value.denominator}"


# ------------------------------------------------------------------------------- writing


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """Lists of numbers; parts of a merge are messages from 0 up and own inputs from -1 down."""
    return {
        "chunks": schedule.chunks,
        "steps": schedule.steps,
        "sends": [
            [send.step, send.chunk, send.src, send.dst, list(send.route), _parts(send.parts)]
            for send in schedule.sends
        ],
        "results": [[made.chunk, made.want, _parts(made.parts)] for made in schedule.results],
    }


def _parts(parts: tuple[Part, ...]) -> list[int]:
    return [part.send if isinstance(part, Got) else -1 - part.symbol for part in parts]


def kept_to_json(kept: Kept) -> dict[str, Any]:
    """A schedule with its price, who found it, and in how long."""
    return {
        "engine": kept.found.engine,
        "seconds": round(kept.seconds, 3),
        "rounds": ratio(kept.cost.rounds),
        "per_byte": ratio(kept.cost.per_byte),
        "latency": ratio(kept.cost.latency),
        "schedule": schedule_to_json(kept.schedule),
    }


def asked_to_json(entry: Asked) -> dict[str, Any]:
    """A query and what is known of it."""
    return {
        "chunks": entry.query.chunks,
        "steps": entry.query.steps,
        "rounds": ratio(entry.query.rounds),
        "verdict": entry.verdict,
        "seconds": round(entry.seconds, 3),
        "engine": entry.engine,
        "reason": entry.reason,
        "complete": entry.complete,
        "limit": round(entry.limit, 3),
        "glance": round(entry.glance, 3),
    }


# ------------------------------------------------------------------------------- reading


def kept_from_json(problem: Problem, form: object) -> Kept:
    """A stored schedule, judged and priced anew; raises ``DamageError``."""
    record = _record(form, {"engine", "seconds", "rounds", "per_byte", "latency", "schedule"})
    schedule = _schedule(problem, record["schedule"])
    try:
        check(schedule)
    except ScheduleError as error:
        raise DamageError(f"a schedule of it is wrong: {error.violations[0]}") from None
    cost = price(schedule)
    said = tuple(_fraction(record[name]) for name in ("rounds", "per_byte", "latency"))
    if said != (cost.rounds, cost.per_byte, cost.latency):
        raise DamageError("a schedule of it does not cost what it says")
    return Kept(Found(schedule, cost, _text(record["engine"])), _seconds(record["seconds"]))


def asked_from_json(form: object) -> Asked:
    """A stored query; raises ``DamageError``."""
    names = {"chunks", "steps", "rounds", "verdict", "seconds", "engine", "reason", "complete",
             "limit", "glance"}  # fmt: skip
    record = _record(form, names)
    verdict = record["verdict"]
    if verdict not in ("found", "impossible", "open") or not isinstance(record["complete"], bool):
        raise DamageError("a query of it has no verdict")
    query = Query(
        _number(record["chunks"], 1), _number(record["steps"], 0), _fraction(record["rounds"])
    )
    if verdict != "open" and not record["engine"]:
        raise DamageError("a verdict of it is nobody's")
    return Asked(
        query, verdict, _seconds(record["seconds"]), _text(record["engine"]),
        _text(record["reason"]), record["complete"], _seconds(record["limit"]),
        _seconds(record["glance"]),
    )  # fmt: skip


def _schedule(problem: Problem, form: object) -> Schedule:
    record = _record(form, {"chunks", "steps", "sends", "results"})
    chunks, steps = _number(record["chunks"], 1), _number(record["steps"], 0)
    if max(chunks * len(problem.collective.blocks), steps) > _MOST:
        raise DamageError("a schedule of it is too large")
    sends = []
    for item in _list(record["sends"]):
        step, chunk, src, dst, route, parts = _list(item, 6)
        sends.append(
            Send(
                _number(step, 0), _number(chunk, 0), _number(src, 0), _number(dst, 0),
                tuple(_number(link, 0) for link in _list(route)), _read_parts(parts),
            )
        )  # fmt: skip
    results = []
    for item in _list(record["results"]):
        chunk, want, parts = _list(item, 3)
        results.append(Result(_number(chunk, 0), _number(want, 0), _read_parts(parts)))
    return Schedule(problem, chunks, steps, tuple(sends), tuple(results))


def _read_parts(form: object) -> tuple[Part, ...]:
    numbers = (_number(item, -_MOST) for item in _list(form))
    return tuple(Got(number) if number >= 0 else Own(-1 - number) for number in numbers)


def _record(form: object, names: set[str]) -> dict[str, Any]:
    if not isinstance(form, dict) or form.keys() != names:
        raise DamageError(f"an entry of it has not the names {', '.join(sorted(names))}")
    return form


def _list(form: object, length: int | None = None) -> list[Any]:
    if not isinstance(form, list) or (length is not None and len(form) != length):
        raise DamageError("an entry of it is not a list as it should be")
    return form


def _number(form: object, least: int) -> int:
    if type(form) is not int or not least <= form < 1 << 31:
        raise DamageError("a number of it is none, or out of range")
    return form


def _seconds(form: object) -> float:
    if type(form) not in (int, float) or not 0 <= form < 1e12:  # type: ignore[operator]
        raise DamageError("a time of it is none")
    return float(form)  # type: ignore[arg-type]


def _text(form: object) -> str:
    if not isinstance(form, str):
        raise DamageError("a text of it is none")
    return form


def _fraction(form: object) -> Fraction:
    if isinstance(form, str) and len(form) <= _LONGEST:
        above, slash, below = form.partition("/")
        if slash and above.isdecimal() and below.isdecimal() and form.isascii() and int(below):
            return Fraction(int(above), int(below))
    raise DamageError("a fraction of it is none")
