"""Where on a route switches help: those that copy one message, those that combine several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Hashable

    from roundelay.dsl.model import Block, Problem, Topology
    from roundelay.synth.routes import Route


Kind = Literal["copy", "reduce", "all", "mixed"]


@dataclass(frozen=True, slots=True)
class Help:
    """For every link of one route: what a message must share to load it together with others.

    ``copied``: the links from the route's start to the first switch that multicasts at or after
    the link's end; ``combined``: those from the last switch that reduces at or before its start to
    the route's end; None where no such switch stands. ``early``: whether none that reduces stands
    before the one that multicasts; ``clear``: whether none stands between it and the link.
    """

    copied: tuple[tuple[int, ...] | None, ...]
    combined: tuple[tuple[int, ...] | None, ...]
    early: tuple[bool, ...]
    clear: tuple[bool, ...]

    def share(self, place: int, sent: Hashable, taken: Hashable) -> Common | None:
        """What messages that load the link at ``place`` together have in common; None: nothing.

        ``sent`` and ``taken`` as in ``Board.load``. Where both count, messages are put together by
        ``taken``, and what is put together is told from others by what it is copied from.
        """
        copied, combined = self.copied[place], self.combined[place]
        if taken is not None and combined is not None:
            copies = sent is not None and copied is not None and self.clear[place]
            return Common(("taken", taken, combined), ("sent", sent, copied) if copies else None)
        if sent is not None and copied is not None and (taken is None or self.early[place]):
            return Common(("sent", sent, copied))
        return None


@dataclass(frozen=True, slots=True)
class Common:
    """What messages share that load a link as one, and what one of them is a copy of, if any.

    Those that share different things are one load, too, if they are copies of the same ones.
    """

    shared: Hashable
    copy: Hashable = None


ONE_MESSAGE = "with at most one message a chunk, pair of ranks and step"
"""What some encodings are limited to, in words."""


def helps(topology: Topology) -> bool:
    """Whether any switch multicasts or reduces."""
    return any(switch.multicast or switch.reduce for switch in topology.switches)


def list_help(routes: tuple[Route, ...], topology: Topology) -> tuple[Help, ...]:
    """The help along each route; empty where no switch gives any."""
    if not any(switch.multicast or switch.reduce for switch in topology.switches):
        return ()
    ranks = len(topology.ranks)
    copies = [False] * ranks + [switch.multicast for switch in topology.switches]
    combines = [False] * ranks + [switch.reduce for switch in topology.switches]
    helps: list[Help] = []
    for route in routes:
        links = route.links
        copied: list[tuple[int, ...] | None] = []
        combined: list[tuple[int, ...] | None] = []
        early: list[bool] = []
        clear: list[bool] = []
        for place in range(len(links)):
            ends = [i for i in range(place, len(links)) if copies[topology.links[links[i]].dst]]
            starts = [i for i in range(place + 1) if combines[topology.links[links[i]].src]]
            between = links[: ends[0] + 1] if ends else ()
            copied.append(between or None)
            combined.append(links[starts[-1] :] if starts else None)
            early.append(not any(combines[topology.links[link].src] for link in between))
            beyond = between[place + 1 :]
            clear.append(not any(combines[topology.links[link].src] for link in beyond))
        helps.append(Help(tuple(copied), tuple(combined), tuple(early), tuple(clear)))
    return tuple(helps)


def copies_somewhere(help_: Help) -> bool:
    """Whether a switch on the route multicasts."""
    return any(each is not None for each in help_.copied)


def combines_somewhere(help_: Help) -> bool:
    """Whether a switch on the route reduces."""
    return any(each is not None for each in help_.combined)


def crosses(help_: Help, *, cleanly: bool = True) -> bool:
    """Whether one switch on the route reduces, and later another one multicasts.

    Not ``cleanly``: whether a switch that only reduces stands between a link and the first one
    after it that multicasts, so that ``share`` may count more on the link than is loaded.
    """
    return any(
        copied is not None and ((combined is not None and cleanly) or not clear)
        for copied, combined, clear in zip(help_.copied, help_.combined, help_.clear, strict=True)
    )


def name_unhelped(
    problem: Problem, routes: tuple[Route, ...], kinds: dict[Kind, list[Block]], steps: int
) -> list[str]:
    """What switches could do in schedules of so many steps that the encodings leave out, in words.

    ``kinds``: the problem's blocks by what is asked of them.
    """
    topology, operator = problem.topology, problem.operator
    named: list[str] = []
    ranks = len(topology.ranks)
    if len({(switch.multicast, switch.reduce) for switch in topology.switches}) > 1 and any(
        link.src >= ranks and link.dst >= ranks for link in topology.links
    ):
        named.append("over routes that pass no switch twice")  # To get to one that can do more.
    helps = list_help(routes, topology)
    copies, combines = any(map(copies_somewhere, helps)), any(map(combines_somewhere, helps))
    if not (copies or combines):
        return named
    in_order = operator is not None and not operator.commutative
    idempotent = operator is not None and operator.idempotent
    merged = [*kinds.get("mixed", ()), *([] if idempotent else kinds.get("all", ()))]
    if in_order:
        merged = [block for kind, blocks in kinds.items() if kind != "copy" for block in blocks]
        if merged and combines:
            named.append("without reduction in switches")
        if merged and copies and (steps > 1 or not all(map(_has_one_each, merged))):
            named.append("without multicast in switches after the first step")
    elif merged and (steps > 1 or not all(map(_has_one_each, merged))):
        named.append(f"{ONE_MESSAGE}, and a chunk, rank and step with one that switches copy and "
                     "one that they combine")  # fmt: skip
    apart = any(crosses(each, cleanly=steps > 1) for each in helps)
    if apart and (merged or kinds.get("all")) and not in_order:
        named.append("with what goes to each rank counted by itself where switches combine it and "
                     "then copy it")  # fmt: skip
    return named


def _has_one_each(block: Block) -> bool:
    """Whether every rank holds one symbol of a block and wants one value of it at most."""
    holders = {symbol.rank for symbol in block.symbols}
    wanting = {want.rank for want in block.wants}
    return len(holders) == len(block.symbols) and len(wanting) == len(block.wants)
