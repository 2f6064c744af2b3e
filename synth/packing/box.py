"""A box of steps: what every link can carry in each, what it carries, and what more would cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from operator import add
from random import Random
from typing import TYPE_CHECKING

from .growth import NEVER, Dates, grow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Topology
    from roundelay.synth.routes import Route

    from .growth import Arcs, Dated, Order, Rows
    from .jobs import Job

_HARD = 64  # What a message too many costs, times the weight of its link and step,
_LEVELS = 17  # against less than this for a link that is much used anyway,
_NOISE = 4  # and less than this at random.
_TRIES = 2  # New pairs of trees for every one taken out, with one root,
_FIRST = 12  # and for one that was not there before, with several.
_LONG = 4096  # Random numbers made in advance.


@dataclass(frozen=True, slots=True)
class Placed:
    """One chunk's trees and the times of their messages; ``up`` is a tree in reversed time."""

    job: Job
    root: int
    up: Order
    down: Order
    turn: int
    rising: Dated
    falling: Dated

    def shifted(self, shift: int) -> Placed:
        """The same so many steps later."""
        rising = [(route, step + shift) for route, step in self.rising]
        falling = [(route, step + shift) for route, step in self.falling]
        return replace(self, turn=self.turn + shift, rising=rising, falling=falling)


class Box:
    """Chunks in ``steps`` steps of ``length`` rounds.

    A link carries as many messages a step as fit. More may be put there; ``crowded`` holds the
    links and steps where that is so, and each time one is looked at its weight grows. A chunk
    that is put back goes to one of ``window`` steps in a row: the work does not grow with the box.
    """

    def __init__(
        self,
        topology: Topology,
        routes: Sequence[Route],
        steps: int,
        length: Fraction,
        window: int,
        seed: int,
    ) -> None:
        self.steps = steps
        self.window = min(steps, window)
        slowest = topology.slowest
        self.room = [floor(link.capacity / slowest * length) for link in topology.links]
        self.routes = [route.links for route in routes]
        self.ends = [(route.src, route.dst) for route in routes]
        self.ranks = len(topology.ranks)
        self.placed: list[Placed] = []
        self.crowded: dict[tuple[int, int], None] = {}
        self._random = Random(seed)
        noise = [self._random.randrange(_NOISE) for _ in range(_LONG + steps)]
        self._noise = [[level + each for each in noise] for level in range(_LEVELS)]
        self._load = [[0] * steps for _ in self.room]
        self._weight = [[1] * steps for _ in self.room]
        self._price = [[_HARD * (not room)] * steps for room in self.room]
        self._total = [0] * len(self.room)
        self._users: list[list[dict[int, int]]] = [[{} for _ in range(steps)] for _ in self.room]
        self._arcs: dict[frozenset[int], tuple[Arcs, Arcs]] = {}

    def add(self, job: Job) -> bool:
        """Put one more chunk where it costs least; False: no way was found in the steps."""
        placed = self._place(job, None, 0, self.steps)
        if placed is None:
            return False
        self.placed.append(placed)
        self._put(len(self.placed) - 1, placed, 1)
        return True

    def take(self, others: Sequence[Placed], steps: int) -> None:
        """Put chunks that fit in a box of so many steps side by side as often as there is room."""
        for shift in range(0, self.steps - steps + 1, steps):
            for placed in others:
                self.placed.append(placed.shifted(shift))
                self._put(len(self.placed) - 1, self.placed[-1], 1)

    @property
    def messages(self) -> int:
        """All that is sent, each counted on every link of its route."""
        return sum(self._total)

    def mend(self) -> None:
        """Take a chunk out of a crowded place, and put it back where it costs least now."""
        link, step = self._random.choice(list(self.crowded))
        self._weight[link][step] += 1
        chunk = self._random.choice(list(self._users[link][step]))
        old = self.placed[chunk]
        self._put(chunk, old, -1)
        self._set_price(link, step)
        first = self._choose_window(old)
        new = self._place(old.job, old.shifted(-first), first, first + self.window)
        self.placed[chunk] = new = old if new is None else new.shifted(first)
        self._put(chunk, new, 1)

    def _choose_window(self, old: Placed) -> int:
        """The first step of a window that all of a chunk is in."""
        steps = [at for _, at in (*old.rising, *old.falling)]
        most, width = self.steps - self.window, self.window
        low, high = max(0, max(steps) + 1 - width), min(most, min(steps))
        return self._random.randint(min(low, high), high)

    def _put(self, chunk: int, placed: Placed, sign: int) -> None:
        for route, step in (*placed.rising, *placed.falling):
            for link in self.routes[route]:
                load, users = self._load[link], self._users[link][step]
                load[step] += sign
                self._total[link] += sign
                users[chunk] = users.get(chunk, 0) + sign
                if not users[chunk]:
                    del users[chunk]
                if load[step] > self.room[link]:
                    self.crowded[link, step] = None
                else:
                    self.crowded.pop((link, step), None)
                self._set_price(link, step)

    def _set_price(self, link: int, step: int) -> None:
        full = self._load[link][step] >= self.room[link]
        self._price[link][step] = _HARD * self._weight[link][step] if full else 0

    def _rows(self, begin: int, end: int) -> Rows:
        """What a message more costs on every route and in every step of a window."""
        steps, top = self.steps, _LEVELS - 1
        priced: Rows = []
        offset = self._random.randrange(_LONG)
        for link, row in enumerate(self._price):
            used = min(top, self._total[link] * top // max(1, self.room[link] * steps))
            offset = (7 * offset + 13 * link + 1) % _LONG
            noise = self._noise[used * used // top][offset : offset + end - begin]
            priced.append(list(map(add, row[begin:end], noise)))
        rows: Rows = []
        for links in self.routes:
            row = priced[links[0]]
            for link in links[1:]:
                row = list(map(add, row, priced[link]))
            rows.append(row)
        return rows

    def _ways(self, passing: frozenset[int]) -> tuple[Arcs, Arcs]:
        """The routes out of and into every rank that messages may go through."""
        if passing not in self._arcs:
            leaving: list[list[tuple[int, int]]] = [[] for _ in range(self.ranks)]
            entering: list[list[tuple[int, int]]] = [[] for _ in range(self.ranks)]
            for route, (src, dst) in enumerate(self.ends):
                if src in passing and dst in passing:
                    leaving[src].append((route, dst))
                    entering[dst].append((route, src))
            self._arcs[passing] = leaving, entering
        return self._arcs[passing]

    def _place(self, job: Job, old: Placed | None, begin: int, end: int) -> Placed | None:
        """The cheapest of the old trees with new times and some new trees, within a window.

        Steps are counted from the window's first.
        """
        rows, steps = self._rows(begin, end), end - begin
        back = [row[::-1] for row in rows]
        leaving, entering = self._ways(job.passing)
        tried: dict[int, tuple[list[Dates], list[Dates]]] = {}
        if old is not None:
            rising = Dates(old.root, old.up, back, steps)
            tried[old.root] = [rising], [Dates(old.root, old.down, rows, steps)]
        root = self._choose_root(job, old)
        for number in range(_FIRST if old is None else _TRIES):
            if old is None and number:
                root = self._choose_root(job, old)
            turn = self._choose_turn(job, old, steps)
            timed = self._random.randrange(4) > 0
            ups, downs = tried.setdefault(root, ([], []))
            up = grow(root, steps - turn, back, entering, job.up, timed=timed)
            if up is not None:
                ups.append(Dates(root, up, back, steps))
            down = grow(root, turn, rows, leaving, job.down, timed=timed)
            if down is not None:
                downs.append(Dates(root, down, rows, steps))
        return _choose_best(job, tried, steps)

    def _choose_root(self, job: Job, old: Placed | None) -> int:
        if job.root is not None:
            return job.root
        if old is not None and self._random.randrange(2):
            return old.root
        return self._random.choice(sorted(job.passing))

    def _choose_turn(self, job: Job, old: Placed | None, steps: int) -> int:
        """The step before which all has come up, and with which the way down begins."""
        if not job.up:
            return 0
        if not job.down:
            return steps
        if old is not None and 0 < old.turn < steps and self._random.randrange(2):
            return old.turn
        return self._random.randrange(1, max(2, steps))


def _choose_best(
    job: Job, tried: dict[int, tuple[list[Dates], list[Dates]]], steps: int
) -> Placed | None:
    """The cheapest pair of a tree up and a tree down with one root; None: all take too long."""
    least, best = NEVER, None
    for root, (ups, downs) in tried.items():
        for rising in ups:
            met = rising.from_step[::-1]
            for falling in downs:
                prices = list(map(add, falling.from_step, met))
                price = min(prices)
                if price < least:
                    least, best = price, (root, rising, falling, prices.index(price))
    if best is None:
        return None
    root, rising, falling, turn = best
    risen = [(route, steps - 1 - step) for route, step in rising.choose(steps - turn)]
    return Placed(job, root, rising.order, falling.order, turn, risen, falling.choose(turn))
