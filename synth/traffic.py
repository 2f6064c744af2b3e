"""What a schedule puts on every link, for its price: parcels that switches combine and copy.

Seen from where messages go: all that come to a rank by the same last links are a tree of parcels
with the rank at its root, in which a switch that reduces makes one parcel of those that are used
together. Two parcels that were put together alike are one up to the first switch that multicasts,
if that gets them alike, too. ``loads`` counts the same in another way, for the checker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from .schedule import Got

if TYPE_CHECKING:
    from .schedule import Schedule

Uses = tuple[tuple[int, int], ...]
"""Where a message is used: merges by number, and places in them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Parcel:
    """What travels on ``link``: the message or messages between ``first`` and ``last`` in order.

    ``label``: a number for how it was put together, from what and over which links.
    """

    link: int
    first: int
    last: int
    label: int
    inside: tuple[_Parcel, ...] = ()


@dataclass(slots=True)
class _Step:
    """The messages of one chunk in one step."""

    schedule: Schedule
    uses: dict[int, Uses]
    labels: dict[object, int] = field(default_factory=dict)
    seen: dict[int, set[object]] = field(default_factory=dict)

    def number(self, made: object) -> int:
        return self.labels.setdefault(made, len(self.labels))

    def arrive(self, messages: list[int], way: tuple[int, ...]) -> list[_Parcel]:
        """The parcels on the first link of a way to a rank, of the messages that end with it."""
        sends, topology = self.schedule.sends, self.schedule.problem.topology
        link = way[0]
        node = topology.links[link].src
        if node < len(topology.ranks):
            likes = [(m, self.number((sends[m].src, sends[m].parts))) for m in messages]
            return [_Parcel(link, m, m, self.number((link, like))) for m, like in likes]
        turn = -len(way) - 1
        messages = sorted(messages, key=lambda m: sends[m].route[turn])
        parcels = [
            parcel
            for before, those in groupby(messages, key=lambda m: sends[m].route[turn])
            for parcel in self.arrive(list(those), (before, *way))
        ]
        reduces = topology.switches[node - len(topology.ranks)].reduce
        heaps = self._combine(parcels) if reduces else [[parcel] for parcel in parcels]
        return [
            _Parcel(link, heap[0].first, heap[-1].last,
                    self.number((link, *self._names(heap))), tuple(heap))
            for heap in heaps
        ]  # fmt: skip

    def _in_order(self) -> bool:
        operator = self.schedule.problem.operator
        return operator is not None and not operator.commutative

    def _names(self, heap: list[_Parcel]) -> list[int]:
        names = [parcel.label for parcel in heap]
        return names if self._in_order() else sorted(names)

    def _combine(self, parcels: list[_Parcel]) -> list[list[_Parcel]]:
        """Which of them a switch makes one of."""
        if self._in_order():
            return self._line_up(parcels)
        heaps: dict[object, list[_Parcel]] = {}
        for parcel in parcels:
            use = tuple(merge for merge, _ in self.uses.get(parcel.first, ()))
            heaps.setdefault(use or parcel, []).append(parcel)
        return list(heaps.values())

    def _line_up(self, parcels: list[_Parcel]) -> list[list[_Parcel]]:
        """Runs of parcels each of which is used right behind the one before it."""
        begins = {
            self.uses[parcel.first]: parcel for parcel in parcels if parcel.first in self.uses
        }
        behind: dict[_Parcel, _Parcel] = {}
        for parcel in parcels:
            ends = self.uses.get(parcel.last, ())
            follower = begins.get(tuple((merge, place + 1) for merge, place in ends))
            if ends and follower is not None:
                behind[parcel] = follower
        followers = set(behind.values())
        runs = [[parcel] for parcel in parcels if parcel not in followers]
        for run in runs:
            while run[-1] in behind:
                run.append(behind[run[-1]])
        return runs

    def load(self, parcel: _Parcel, copy: object) -> None:
        """Count a parcel and those in it; ``copy`` names it at the next multicast, if any."""
        topology = self.schedule.problem.topology
        node = topology.links[parcel.link].dst - len(topology.ranks)
        if node >= 0 and topology.switches[node].multicast:
            copy = parcel.label
        self.seen.setdefault(parcel.link, set()).add(
            parcel if copy is None else (parcel.label, copy)
        )
        for each in parcel.inside:
            self.load(each, copy)


def measure_traffic(schedule: Schedule) -> list[dict[int, int]]:
    """For every step the links in use, by number, each with the chunks that it carries."""
    traffic: list[dict[int, int]] = [{} for _ in range(schedule.steps)]
    switches = schedule.problem.topology.switches
    helped = any(switch.multicast or switch.reduce for switch in switches)
    uses = _note_uses(schedule) if helped else {}
    chunks: dict[tuple[int, int], dict[tuple[int, int], list[int]]] = {}
    for number, send in enumerate(schedule.sends):
        if helped:
            ends = chunks.setdefault((send.step, send.chunk), {})
            ends.setdefault((send.dst, send.route[-1]), []).append(number)
            continue
        for link in send.route:
            traffic[send.step][link] = traffic[send.step].get(link, 0) + 1
    for (step, _), ends in chunks.items():
        together = _Step(schedule, uses)
        for (_, last), messages in ends.items():
            for parcel in together.arrive(messages, (last,)):
                together.load(parcel, None)
        for link, seen in together.seen.items():
            traffic[step][link] = traffic[step].get(link, 0) + len(seen)
    return traffic


def _note_uses(schedule: Schedule) -> dict[int, Uses]:
    uses: dict[int, Uses] = {}
    made = [send.parts for send in schedule.sends] + [each.parts for each in schedule.results]
    for number, parts in enumerate(made):
        for place, part in enumerate(parts):
            if isinstance(part, Got):
                uses[part.send] = (*uses.get(part.send, ()), (number, place))
    return uses
