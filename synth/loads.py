"""What every link carries, for the checker alone, with the help of switches that copy or combine.

A switch that multicasts sends one message out on several links, and one that reduces sends out
what comes in as one. Which messages they help is implicit in a schedule. The law, for the messages
of one chunk in one step:

* Messages to one rank are **used together** if every merge and result that takes one of them takes
  all, side by side and in one order where the operator does not commute. Those of them that share
  a switch that reduces and all links from there on are one **heap** on these links, and one load.
* Two heaps are **alike** on a link if they are made of like messages (of one sender and the same
  parts) that came the same ways. Heaps that are alike on a link, and on every further one up to a
  switch that multicasts, the first on their common way, are one load on it.

Anything else loads every link of its route. So nothing combined ever has to be taken apart again, a
switch uses an input twice only if it multicasts, and joins two only if it reduces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .schedule import Got

if TYPE_CHECKING:
    from .schedule import Part, Schedule


def count_loads(schedule: Schedule) -> tuple[tuple[int, ...], ...]:
    """For every step the number of chunks on each link (position in ``topology.links``)."""
    topology = schedule.problem.topology
    loads = [[0] * len(topology.links) for _ in range(schedule.steps)]
    if not any(switch.multicast or switch.reduce for switch in topology.switches):
        for send in schedule.sends:
            for link in send.route:
                loads[send.step][link] += 1
        return tuple(map(tuple, loads))
    users = _users(schedule)
    alike: dict[tuple[int, int], list[int]] = {}
    for number, send in enumerate(schedule.sends):
        alike.setdefault((send.step, send.chunk), []).append(number)
    for (step, _), numbers in alike.items():
        for link, load in _share(schedule, numbers, users).items():
            loads[step][link] += load
    return tuple(map(tuple, loads))


def _users(schedule: Schedule) -> list[list[tuple[int, int]]]:
    """For every message where it is used: the number of the merge, and the place among its parts.

    Results are numbered on from the messages.
    """
    users: list[list[tuple[int, int]]] = [[] for _ in schedule.sends]
    made = [send.parts for send in schedule.sends] + [each.parts for each in schedule.results]
    for number, parts in enumerate(made):
        for place, part in enumerate(parts):
            if isinstance(part, Got):
                users[part.send].append((number, place))
    return users


def _share(
    schedule: Schedule, numbers: list[int], users: list[list[tuple[int, int]]]
) -> dict[int, int]:
    """What the messages ``numbers``, those of one chunk and step, load every link with."""
    sends, topology = schedule.sends, schedule.problem.topology
    operator = schedule.problem.operator
    in_order = operator is not None and not operator.commutative
    ranks = len(topology.ranks)
    combines = [False] * ranks + [switch.reduce for switch in topology.switches]
    copies = [False] * ranks + [switch.multicast for switch in topology.switches]
    first: dict[tuple[int, tuple[Part, ...]], int] = {}
    for m in numbers:
        first.setdefault((sends[m].src, sends[m].parts), m)
    heaps: dict[tuple[int, int], tuple[int, ...]] = {}
    members: dict[tuple[int, tuple[object, ...]], list[int]] = {}
    for m in numbers:
        route = sends[m].route
        use = () if in_order else tuple(number for number, _ in users[m])
        for place, link in enumerate(route):
            before = [i for i in range(place + 1) if combines[topology.links[route[i]].src]]
            if before and users[m]:
                way = route[before[-1] :]
                members.setdefault((link, (sends[m].dst, use, way)), []).append(m)
            else:
                heaps[m, link] = (m,)
    for (link, _), together in members.items():
        for heap in _runs(together, users) if in_order else [together]:
            heaps.update({(m, link): tuple(heap) for m in heap})

    def show(m: int, link: int) -> tuple[object, ...]:
        """What a message's heap on a link is made of, and the ways it came."""
        shown = []
        for other in heaps[m, link]:
            route = sends[other].route
            like = first[sends[other].src, sends[other].parts]
            shown.append((like, route[: route.index(link) + 1]))
        return tuple(shown if in_order else sorted(shown))

    different: dict[int, set[tuple[object, ...]]] = {}
    for m in numbers:
        route = sends[m].route
        for place, link in enumerate(route):
            after = [last for last in route[place:] if copies[topology.links[last].dst]]
            if after:
                seen: tuple[object, ...] = ("copied", show(m, link), show(m, after[0]))
            else:
                seen = ("apart", heaps[m, link])
            different.setdefault(link, set()).add(seen)
    return {link: len(seen) for link, seen in different.items()}


def _runs(together: list[int], users: list[list[tuple[int, int]]]) -> list[list[int]]:
    """Messages in runs that stand side by side, in one order, wherever one of a run is used."""
    follower = {
        m: n
        for m in together
        for n in together
        if m != n and [(number, place + 1) for number, place in users[m]] == users[n]
    }
    runs: list[list[int]] = []
    for first in sorted(set(together) - set(follower.values())):
        runs.append([first])
        while runs[-1][-1] in follower:
            runs[-1].append(follower[runs[-1][-1]])
    return runs
