"""Schedules that differ from a right one in one thing: how the checker is tested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from roundelay.synth.schedule import Got, Own

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from roundelay.synth.schedule import Part, Schedule


def mutants(schedule: Schedule, chance: random.Random) -> Iterator[tuple[str, Schedule]]:
    """Schedules that differ from a right one in one thing, each with what that is."""
    sends, topology = schedule.sends, schedule.problem.topology
    ranks, links = len(topology.ranks), len(topology.links)

    def put(number: int, **changed: object) -> Schedule:
        mutant = replace(sends[number], **changed)  # type: ignore[arg-type]
        return replace(schedule, sends=(*sends[:number], mutant, *sends[number + 1 :]))

    for number, send in enumerate(sends):
        yield "dropped", _without(schedule, number)
        for step in range(-1, schedule.steps + 1):
            yield "step", put(number, step=step)
            yield "step, in its place", _sorted(put(number, step=step))
        yield "chunk", put(number, chunk=chance.randrange(-1, schedule.chunks * 4))
        yield "dst", put(number, dst=chance.randrange(ranks))
        yield "src", put(number, src=chance.randrange(ranks))
        yield "route", put(number, route=(*send.route, chance.randrange(links)))
        yield "route", put(number, route=send.route[:-1])
        yield "route", put(number, route=(chance.randrange(-1, links + 1), *send.route[1:]))
        for first, one in enumerate(topology.links):
            for second, two in enumerate(topology.links):
                if (one.src, one.dst, two.dst) == (send.src, two.src, send.dst):
                    yield "over another node", put(number, route=(first, second))
        yield "turned", put(number, src=send.dst, dst=send.src)
        for parts in _changed(send.parts, len(sends), chance):
            yield "parts", put(number, parts=parts)
        other = chance.randrange(len(sends))
        yield (
            "swapped parts",
            replace(
                put(number, parts=sends[other].parts),
                sends=tuple(
                    replace(one, parts=sends[{number: other, other: number}.get(i, i)].parts)
                    for i, one in enumerate(sends)
                ),
            ),
        )
        yield (
            "swapped steps",
            _sorted(
                replace(
                    schedule,
                    sends=tuple(
                        replace(one, step=sends[{number: other, other: number}.get(i, i)].step)
                        for i, one in enumerate(sends)
                    ),
                )
            ),
        )
        idle = replace(send, step=schedule.steps - 1)
        yield "twice", replace(schedule, sends=(*sends, idle))
        doubled = replace(idle, parts=send.parts * 2)
        yield "twice, and doubled", replace(schedule, sends=(*sends, doubled))
    yield from _other_results(schedule, chance)
    yield "fewer steps", replace(schedule, steps=schedule.steps - 1)
    yield "a step more", replace(schedule, steps=schedule.steps + 1)


def _other_results(schedule: Schedule, chance: random.Random) -> Iterator[tuple[str, Schedule]]:
    results = schedule.results
    for number, result in enumerate(results):
        around = results[:number], results[number + 1 :]
        yield "no result", replace(schedule, results=(*around[0], *around[1]))
        yield "result twice", replace(schedule, results=(*results, result))
        other = replace(result, parts=chance.choice(results).parts)
        yield "another's parts", replace(schedule, results=(*around[0], other, *around[1]))
        for parts in _changed(result.parts, len(schedule.sends), chance):
            mutant = replace(result, parts=parts)
            yield "result", replace(schedule, results=(*around[0], mutant, *around[1]))


def _changed(
    parts: tuple[Part, ...], sends: int, chance: random.Random
) -> Iterator[tuple[Part, ...]]:
    for position in range(len(parts)):
        yield (*parts[:position], *parts[position + 1 :])
        yield (*parts[:position], Got(chance.randrange(sends)), *parts[position + 1 :])
        yield (*parts[:position], Own(chance.randrange(4)), *parts[position + 1 :])
        yield (*parts, parts[position])
    yield (*parts, Own(chance.randrange(4)))
    yield (*parts, Got(chance.randrange(sends)))
    yield (Got(chance.randrange(sends)), *parts)
    yield parts[::-1]


def _without(schedule: Schedule, gone: int) -> Schedule:
    def kept(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(
            Got(p.send - (p.send > gone)) if isinstance(p, Got) else p
            for p in parts
            if p != Got(gone)
        )

    sends = [replace(s, parts=kept(s.parts)) for i, s in enumerate(schedule.sends) if i != gone]
    results = [replace(r, parts=kept(r.parts)) for r in schedule.results]
    return replace(schedule, sends=tuple(sends), results=tuple(results))


def _sorted(schedule: Schedule) -> Schedule:
    """The same messages, in the order of their steps."""
    order = sorted(range(len(schedule.sends)), key=lambda i: schedule.sends[i].step)
    place = {old: new for new, old in enumerate(order)}

    def moved(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(Got(place[p.send]) if isinstance(p, Got) else p for p in parts)

    sends = tuple(replace(schedule.sends[i], parts=moved(schedule.sends[i].parts)) for i in order)
    results = tuple(replace(r, parts=moved(r.parts)) for r in schedule.results)
    return replace(schedule, sends=sends, results=results)
