"""What the encodings of one query share: the routes, the steps, and who loads which link when."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import lcm
from typing import TYPE_CHECKING

from .families import family
from .helping import list_help

if TYPE_CHECKING:
    from collections.abc import Hashable
    from fractions import Fraction

    from roundelay.dsl.model import Topology
    from roundelay.synth.routes import Route

    from .helping import Help
    from .model import Model, Term

Hops = tuple[tuple[int | None, ...], ...]
FAR = 1 << 30
"""A number of steps larger than any: between ranks that no way joins."""


Sharers = list[tuple[int, "Hashable"]]
"""Literals of messages that load a link as one, each with what it is a copy of there (or None)."""


@dataclass(frozen=True, slots=True)
class Board:
    """Routes as (src, dst) pairs, distances, and the literals that load each link in each step.

    ``loads``: what loads a link in a step, as weights (chunks) and literals. ``fold``: for every
    link the one that stands for its orbit under a symmetry, and how many chunks load that for
    each that is modelled (None: every link for itself). A ``mirrored`` board shows the machine
    with every route turned round and time running backwards: what is broadcast on it is reduced
    in truth. ``helps``: for every route where switches copy and combine what takes it (empty:
    nowhere); ``shared``: the literals of messages that load a link as one, by link, step and what
    they have in common.
    """

    routes: tuple[Route, ...]
    hops: tuple[tuple[int, ...], ...]
    ranks: int
    steps: int
    loads: dict[tuple[int, int], list[Term]] = field(default_factory=dict)
    mirrored: bool = False
    fold: tuple[tuple[int, int], ...] | None = None
    helps: tuple[Help, ...] = ()
    shared: dict[tuple[int, int, Hashable], Sharers] = field(default_factory=dict)

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Source and destination of every route, as this board shows it."""
        if self.mirrored:
            return [(route.dst, route.src) for route in self.routes]
        return [(route.src, route.dst) for route in self.routes]

    def mirror(self) -> Board:
        """The same machine, seen backwards; both boards gather the loads in one place."""
        turned = tuple(zip(*self.hops, strict=True))
        return replace(self, hops=turned, mirrored=not self.mirrored)

    def true_step(self, step: int) -> int:
        """The step of the schedule that a step of this board stands for."""
        return self.steps - 1 - step if self.mirrored else step

    def load(
        self,
        literal: int,
        route: int,
        step: int,
        *,
        sent: Hashable = None,
        taken: Hashable = None,
        sure: bool = False,
    ) -> None:
        """Count a message on every link of its route, or with others that load a link as one.

        ``sent``: messages of a step with the same are copies of one that one rank sends.
        ``taken``: messages of a step with the same are always used together by the one rank they
        go to. One with ``sent`` alone is never used together with another. ``sure``: with the same
        ``taken`` and literals that are true, all are sent and used, or none is. (On a mirrored
        board it is the other way round: what is taken together is sent as one.)
        """
        if self.mirrored:
            sent, taken = taken, sent
        for place, link in enumerate(self.routes[route].links):
            common = self.helps[route].share(place, sent, taken) if self.helps else None
            if common is None:
                self.count(literal, link, step)
            else:
                key = link, self.true_step(step), common.shared
                copy = common.copy if sure else None
                self.shared.setdefault(key, []).append((literal, copy))

    def settle(self, model: Model) -> None:
        """Count what is shared: once if any of the messages that share it is sent.

        Where it is shared as what others share, copies of the same, it is counted for the first.
        """
        assert not self.mirrored
        before: dict[tuple[int, int], list[Sharers]] = {}
        for (link, step, _), sharers in self.shared.items():
            others = before.setdefault((link, step), [])
            copies = {copy for _, copy in sharers if copy is not None}
            alike = [
                _match(model, sharers, other)
                for other in others
                if any(copy in copies for _, copy in other)
            ]
            if copies:
                others.append(sharers)
            each = list(dict.fromkeys(literal for literal, _ in sharers))
            literal = each[0]
            if len(each) > 1 or alike:
                literal = model.new()
                for one in each:
                    model.clause(-one, literal, *alike)
            self.count(literal, link, step)
        self.shared.clear()

    def count(self, literal: int, link: int, step: int) -> None:
        """Count a message on one link, or on the one that stands for all of its orbit."""
        weight = 1
        if self.fold is not None:
            link, weight = self.fold[link]
        self.loads.setdefault((link, self.true_step(step)), []).append((weight, literal))


def _match(model: Model, ours: Sharers, theirs: Sharers) -> int:
    """A literal that is true only if both are copies of the same, as far as they are sent."""
    same = model.new()
    for some, others in ((ours, theirs), (theirs, ours)):
        for literal, copy in some:
            like = (other for other, its in others if its == copy and copy is not None)
            model.clause(-same, -literal, *like)
    return same


def lay_out(
    routes: tuple[Route, ...],
    hops: Hops,
    steps: int,
    *,
    near: bool = True,
    topology: Topology | None = None,
) -> Board:
    """An empty board; without ``near`` every rank seems next to every other that it reaches.

    ``topology``: whose switches help (None: none does).
    """
    steps_of = tuple(tuple(FAR if h is None else h if near else 0 for h in row) for row in hops)
    helps = () if topology is None else list_help(routes, topology)
    return Board(routes, steps_of, len(hops), steps, helps=helps)


@family("rounds")
def limit_rounds(model: Model, board: Board, topology: Topology, rounds: Fraction) -> None:
    """Let the busiest links' loads, in rounds, add up to ``rounds`` at most over the steps.

    A step can last only load / capacity for some link's possible load, so its length is held in
    unary over these candidates D_1 < D_2 < …: u[t, j] says that step t may last D_j. A link of
    capacity k a round then carries floor(k * D) messages.
    """
    board.settle(model)
    slowest = topology.slowest
    speed = [link.capacity / slowest for link in topology.links]
    most = {key: sum(weight for weight, _ in terms) for key, terms in board.loads.items()}
    longest = [max((load / speed[link] for (link, t), load in most.items() if t == step),
                   default=0 * rounds) for step in range(board.steps)]  # fmt: skip
    if sum(longest) <= rounds:
        return
    lengths = sorted(
        {
            load / speed[link]
            for (link, _), total in most.items()
            for load in range(1, min(total, int(speed[link] * rounds)) + 1)
        }
    )
    increments = [b - a for a, b in zip([0 * rounds, *lengths], lengths, strict=False)]
    scale = lcm(rounds.denominator, *(increment.denominator for increment in increments))
    total_terms: list[Term] = []
    for step in range(board.steps):
        lasts: list[int] = []
        for length, increment in zip(lengths, increments, strict=True):
            if length > longest[step]:
                break
            lasts.append(model.new())
            total_terms.append((int(increment * scale), lasts[-1]))
            if len(lasts) > 1:
                model.clause(-lasts[-1], lasts[-2])
        for link, k in enumerate(speed):
            terms = board.loads.get((link, step))
            if terms:
                _limit_load(model, terms, k, lengths, lasts)
    model.at_most(total_terms, int(rounds * scale))


def _limit_load(
    model: Model, terms: list[Term], speed: Fraction, lengths: list[Fraction], lasts: list[int]
) -> None:
    most = sum(weight for weight, _ in terms)
    allowed = [min(int(speed * length), most) for length in lengths[: len(lasts)]]
    row = list(terms)
    for before, now, last in zip([0, *allowed], allowed, lasts, strict=False):
        if now > before:
            row.append((before - now, last))
    model.at_most(row, 0)
