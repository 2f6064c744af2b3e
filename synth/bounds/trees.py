"""What trees reach in an all-reduce: up a tree to its root, and down another one from it.

A linear program shares the capacity of links between the trees down and the trees up. Its rows,
one for each set of nodes, are made as they are needed. What it says is rounded and then checked
in whole numbers, so that what is reported is reached indeed.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from .flow_door import Flows
from .lp_door import LARGEST, Program
from .network import Cutter
from .sides import likely_partitions

if TYPE_CHECKING:
    from .clock import Clock
    from .network import Arc, Network

_TURNS = 40
_FINE = 10**9  # Floats are counted in parts of this many,
_SLACK = 10**-7  # and a row counts as broken by more than this share.
_GRAIN = 10_000  # Largest denominator of a share.
_WORK = 600_000  # Ranks times arcs up to which the program is tried.


def reach_by_trees(network: Network, clock: Clock) -> Fraction | None:
    """Messages for each unit of capacity that trees get an all-reduce done with.

    None where the time is short, the machine large, or what comes out cannot be rounded. Of the
    trees' shares as much leaves each switch as reaches it: then switches can be taken out, each
    way in joined to a way out, without a cut between ranks getting less (Bang-Jensen, Frank,
    Jackson), and trees of ranks alone fill what is left (Edmonds).
    """
    widest = max(capacity for _, _, capacity in network.arcs)
    if network.ranks * len(network.arcs) > _WORK or widest > LARGEST:
        return None
    model = _Model(network)
    for _ in range(_TURNS):
        found = model.program.solve(clock.left())
        if found is None or clock.out():
            return None
        if not model.tighten(found.point):
            return model.certify(found.point)
    return None


class _Model:
    """Columns: the roots' values by rank, then shares of arcs down, then shares up.

    On a machine with equal links both ways the trees up are the trees down the other way round.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.ranks, self.count = network.ranks, len(network.arcs)
        self.twofold = not network.symmetric
        columns = self.ranks + self.count * (2 if self.twofold else 1)
        self.program = Program([1] * self.ranks + [0] * (columns - self.ranks))
        self.down = [self.ranks + i for i in range(self.count)]
        number = {(u, v): i for i, (u, v, _) in enumerate(network.arcs)}
        if self.twofold:
            self.up = [self.ranks + self.count + i for i in range(self.count)]
        else:
            self.up = [self.down[number[v, u]] for u, v, _ in network.arcs]
        for i, (_, _, capacity) in enumerate(network.arcs):
            self.program.add([(self.down[i], 1), (self.up[i], 1)], capacity)
        self._balance()
        self.known: set[tuple[bool, frozenset[int]]] = set()
        nodes = frozenset(range(network.nodes))
        sides = [frozenset((rank,)) for rank in range(self.ranks)]
        cutter = Cutter(network)
        for groups in likely_partitions(network.topology):
            sides += [frozenset(cutter.around(group)) for group in groups]
        for side in sides:
            for up in self._ways():
                self._add_row(side, up=up)
                self._add_row(nodes - side, up=up)

    def _ways(self) -> tuple[bool, ...]:
        return (False, True) if self.twofold else (False,)

    def _balance(self) -> None:
        for node in range(self.ranks, self.network.nodes):
            for up in self._ways():
                shares = self.up if up else self.down
                row = [(shares[i], 1) for i, (u, _, _) in enumerate(self.network.arcs) if u == node]
                row += [
                    (shares[i], -1) for i, (_, v, _) in enumerate(self.network.arcs) if v == node
                ]
                self.program.add(row, 0)
                self.program.add([(column, -sign) for column, sign in row], 0)

    def _add_row(self, side: frozenset[int], *, up: bool) -> bool:
        """As much must leave a side (``up``: reach it) as its roots have; whether that is new."""
        if (up, side) in self.known:
            return False
        self.known.add((up, side))
        row = [(node, 1) for node in sorted(side) if node < self.ranks]
        shares = self.up if up else self.down
        for i, (u, v, _) in enumerate(self.network.arcs):
            tail, head = (v, u) if up else (u, v)
            if tail in side and head not in side:
                row.append((shares[i], -1))
        self.program.add(row, 0)
        return True

    def tighten(self, point: list[float]) -> bool:
        """Add rows that a point breaks; whether there were any."""
        fine = [max(0, round(value * _FINE)) for value in point]
        total = sum(fine[: self.ranks])
        added = False
        for up in self._ways():
            for value, side in self._cuts(fine, up=up):
                if value < total * (1 - _SLACK):
                    added = self._add_row(frozenset(side), up=up) or added
        return added

    def _cuts(self, values: list[int], *, up: bool) -> list[tuple[int, list[int]]]:
        """How much of the roots' values each rank gets, and the source's side of its cut."""
        source = self.network.nodes
        arcs: list[Arc] = [(source, rank, values[rank]) for rank in range(self.ranks)]
        shares = self.up if up else self.down
        for i, (u, v, _) in enumerate(self.network.arcs):
            tail, head = (v, u) if up else (u, v)
            arcs.append((tail, head, values[shares[i]]))
        flows = Flows(source + 1, arcs)
        found = []
        for rank in range(self.ranks):
            value, side = flows.cut(source, rank, far=True)
            found.append((value, [node for node in side if node != source]))
        return found

    def certify(self, point: list[float]) -> Fraction | None:
        """Round a point, and check every row exactly."""
        shares = [Fraction(value).limit_denominator(_GRAIN) for value in point]
        if any(share < 0 for share in shares):
            return None
        for i, (_, _, capacity) in enumerate(self.network.arcs):
            if shares[self.down[i]] + shares[self.up[i]] > capacity:
                return None
        scale = lcm(*(share.denominator for share in shares))
        whole = [int(share * scale) for share in shares]
        total = sum(whole[: self.ranks])
        if not total:
            return None
        for up in self._ways():
            if not self._is_even(whole, self.up if up else self.down):
                return None
            if any(value < total for value, _ in self._cuts(whole, up=up)):
                return None
        return Fraction(scale, total)

    def _is_even(self, whole: list[int], shares: list[int]) -> bool:
        surplus = [0] * self.network.nodes
        for i, (u, v, _) in enumerate(self.network.arcs):
            surplus[u] += whole[shares[i]]
            surplus[v] -= whole[shares[i]]
        return not any(surplus[self.ranks :])
