"""What the encodings of one query share: the routes, the steps, and who loads which link when."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.model import Topology
    from roundelay.synth.routes import Route

    from .model import Model

Hops = tuple[tuple[int | None, ...], ...]
FAR = 1 << 30
"""A number of steps larger than any: between ranks that no way joins."""


@dataclass(frozen=True, slots=True)
class Board:
    """Routes as (src, dst) pairs, distances, and the literals that load each link in each step.

    A ``mirrored`` board shows the machine with every route turned round and time running
    backwards: what is broadcast on it is reduced in truth.
    """

    routes: tuple[Route, ...]
    hops: tuple[tuple[int, ...], ...]
    ranks: int
    steps: int
    loads: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    mirrored: bool = False

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

    def load(self, literal: int, route: int, step: int) -> None:
        """Count a message on every link of its route."""
        for link in self.routes[route].links:
            self.loads.setdefault((link, self.true_step(step)), []).append(literal)


def lay_out(routes: tuple[Route, ...], hops: Hops, steps: int) -> Board:
    """An empty board."""
    near = tuple(tuple(FAR if h is None else h for h in row) for row in hops)
    return Board(routes, near, len(hops), steps)


def limit_rounds(model: Model, board: Board, topology: Topology, rounds: Fraction) -> None:
    """Let the busiest links' loads, in rounds, add up to ``rounds`` at most over the steps.

    A step can last only load / capacity for some link's possible load, so its length is held in
    unary over these candidates D_1 < D_2 < …: u[t, j] says that step t may last D_j. A link of
    capacity k a round then carries floor(k * D) messages.
    """
    speed = [link.capacity / topology.slowest for link in topology.links]
    longest = [max((len(lits) / speed[link] for (link, t), lits in board.loads.items()
                    if t == step), default=0 * rounds) for step in range(board.steps)]  # fmt: skip
    if sum(longest) <= rounds:
        return
    lengths = sorted(
        {
            load / speed[link]
            for (link, _), literals in board.loads.items()
            for load in range(1, min(len(literals), int(speed[link] * rounds)) + 1)
        }
    )
    increments = [b - a for a, b in zip([0 * rounds, *lengths], lengths, strict=False)]
    scale = lcm(rounds.denominator, *(increment.denominator for increment in increments))
    total: list[tuple[int, int]] = []
    for step in range(board.steps):
        lasts: list[int] = []
        for length, increment in zip(lengths, increments, strict=True):
            if length > longest[step]:
                break
            lasts.append(model.new())
            total.append((int(increment * scale), lasts[-1]))
            if len(lasts) > 1:
                model.clause(-lasts[-1], lasts[-2])
        for link, k in enumerate(speed):
            literals = board.loads.get((link, step))
            if literals:
                _limit_load(model, literals, k, lengths, lasts)
    model.at_most(total, int(rounds * scale))


def _limit_load(
    model: Model, literals: list[int], speed: Fraction, lengths: list[Fraction], lasts: list[int]
) -> None:
    allowed = [min(int(speed * length), len(literals)) for length in lengths[: len(lasts)]]
    terms = [(1, literal) for literal in literals]
    for before, now, last in zip([0, *allowed], allowed, lasts, strict=False):
        if now > before:
            terms.append((before - now, last))
    model.at_most(terms, 0)
