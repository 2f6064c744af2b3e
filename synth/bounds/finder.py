"""The strongest lower limits on steps and rounds, each with a certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from roundelay.synth.schedule import Bound, Certificate

from .clock import Clock
from .cuts import CutSearch
from .demands import gather_all, read_demands, scatter_all
from .lengths import LengthSearch
from .network import Network
from .partitions import PartitionSearch
from .quickest import measure_quickest
from .steps import measure_farthest
from .trees import reach_by_trees
from .words import describe_cut, describe_lengths, describe_partition

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem, Topology

    from .cuts import Cut
    from .demands import Demands
    from .lengths import Lengths
    from .partitions import Partition


def bound(problem: Problem, *, budget: float | None = None) -> Bound:
    """The strongest limits found for every schedule of a problem, whatever its chunks.

    Quick ones come first; better ones are looked for while ``budget`` seconds are not over (None:
    to the end). Raises ``UnsupportedError`` where no schedule exists because a rank that holds a
    value has no way to a rank that wants it.
    """
    clock = Clock(budget)
    demands = read_demands(problem.collective)
    farthest = measure_farthest(problem, demands)
    if farthest is None:
        return Bound(0, Fraction(0), Fraction(0), ())
    finder = _Finder(problem, demands, clock)
    found = finder.find(farthest)
    topology = problem.topology
    quickest = measure_quickest(topology)
    found = replace(found, latency=found.steps * quickest, hurried=not found.tight and clock.out())
    if finder.offloads and (finder.joined or demands.mixed):
        plain = replace(
            topology,
            switches=tuple(replace(s, multicast=False, reduce=False) for s in topology.switches),
        )
        only = _Finder(replace(problem, topology=plain), demands, clock).find(farthest)
        found = replace(found, forwarding=only)
        if found.reachable is None or (only.reachable and only.reachable < found.reachable):
            found = replace(found, reachable=only.reachable)
    return found


@dataclass(frozen=True, slots=True)
class _Limit:
    """Messages for each unit of capacity, what proves it, and the bottleneck in words."""

    ratio: Fraction
    certificate: Certificate
    bottleneck: str


class _Finder:
    """One problem's bounds."""

    def __init__(self, problem: Problem, demands: Demands, clock: Clock) -> None:
        self.problem = problem
        self.demands = demands
        self.clock = clock
        self.network = Network(problem.topology)
        self.ranks = self.network.ranks
        self.whole = (1 << self.ranks) - 1
        self.offloads = any(s.multicast or s.reduce for s in problem.topology.switches)
        self.joined = any(h & (h - 1) and w & (w - 1) for h, w in demands.simple)
        operator = problem.operator
        self.free = not problem.collective.combines or (
            operator is not None and operator.commutative
        )
        """Whether partial results may be merged in any order, as in a tree."""
        self.thinnest = False
        """Whether no partition proves more of an all-reduce than the best one found."""
        self.all_reduce = not demands.pairs and not demands.mixed and (
            list(demands.simple) == [(self.whole, self.whole)]
        )  # fmt: skip

    def find(self, farthest: Certificate) -> Bound:
        """The bounds, with the certificate of the steps first."""
        cuts = CutSearch(self.network, self.demands, self.clock)
        partition = None
        if not self.offloads and (self.joined or self.demands.mixed):
            parts = PartitionSearch(self.network, self.demands, self.clock)
            partition = parts.run()
            self.thinnest = parts.exact
            if partition is not None and self.network.symmetric and parts.exact:
                cuts.take(partition.sides)  # A cut is a partition in two.
        best = self._from_cut(cuts.run())
        reached = self._reached_by_cuts(cuts)
        if partition is not None and partition.ratio > best.ratio:
            best = self._from_partition(partition)
        if not cuts.exact:
            search = LengthSearch(self.network, self.demands, self.clock)
            lengths = search.run(best.ratio)
            if lengths is not None and lengths.ratio > best.ratio:
                best = self._from_lengths(lengths)
            reached = search.reached
        gathered = self._gather_twice() if self.all_reduce else None
        if self.all_reduce and self.free:
            reached = self._reached_by_trees(best.ratio, gathered)
        unit = self.network.unit * self.problem.collective.units
        rounds = best.ratio * self.network.per_round
        return Bound(
            int(farthest.value),
            rounds,
            best.ratio / unit,
            (farthest, best.certificate),
            best.bottleneck,
            None if reached is None else reached / unit,
            None if gathered is None else gathered / unit,
        )

    # ------------------------------------------------------------------------ certificates

    def _from_cut(self, cut: Cut) -> _Limit:
        topology = self.problem.topology
        nodes = self.network.expand(cut.side)
        reason, bottleneck = describe_cut(
            topology, nodes, cut.messages, cut.capacity * self.network.unit
        )
        value = cut.ratio * self.network.per_round
        return _Limit(cut.ratio, Certificate("cut", value, nodes, reason), bottleneck)

    def _from_partition(self, partition: Partition) -> _Limit:
        topology = self.problem.topology
        part_of = [0] * self.ranks
        sides = []
        for number, side in enumerate(partition.sides):
            nodes = self.network.expand(side)
            for node in nodes:
                if node < self.ranks:
                    part_of[node] = number
            sides.append(tuple(node for node in nodes if node >= self.ranks))
        reason, bottleneck = describe_partition(
            topology, part_of, partition.messages, partition.capacity * self.network.unit
        )
        certificate = Certificate(
            "partition",
            partition.ratio * self.network.per_round,
            tuple(part_of),
            reason,
            sides=tuple(sides) if any(sides) else (),
            inward=partition.inward,
        )
        return _Limit(partition.ratio, certificate, bottleneck)

    def _from_lengths(self, lengths: Lengths) -> _Limit:
        topology = self.problem.topology
        place = list(range(self.ranks)) + [0] * len(topology.switches)
        for number, switches in enumerate(self.network.members):
            for switch in switches:
                place[switch] = self.ranks + number
        of_arc = {
            (u, v): length
            for (u, v, _), length in zip(self.network.arcs, lengths.lengths, strict=True)
        }
        each = tuple(of_arc[place[link.src], place[link.dst]] for link in topology.links)
        reason, bottleneck = describe_lengths(
            topology, each, lengths.travel, lengths.carried * self.network.unit
        )
        value = lengths.ratio * self.network.per_round
        return _Limit(
            lengths.ratio, Certificate("lengths", value, (), reason, lengths=each), bottleneck
        )

    # --------------------------------------------------------------------------- what is reached

    def _reached_by_cuts(self, cuts: CutSearch) -> Fraction | None:
        """Where trees that spread values (or gather them) fill the steepest cut.

        Values of one holder that all ranks want: trees from their holders (Edmonds), around
        switches that let out what they let in (Bang-Jensen, Frank, Jackson). Values that go to
        one rank or come from one, each on its own: a flow.
        """
        assert cuts.best is not None
        if not cuts.exact or not self.free:
            return None
        if self.demands.pairs:
            return cuts.best.ratio
        spread = all(w == self.whole and not h & (h - 1) for h, w in self.demands.simple)
        collected = all(h == self.whole and not w & (w - 1) for h, w in self.demands.simple)
        return cuts.best.ratio if (spread or collected) and self.network.balanced else None

    def _gather_twice(self) -> Fraction | None:
        """An optimal reduce-scatter and an optimal all-gather, for a chunk of the whole buffer."""
        if self.ranks < 2 or not self.network.balanced:
            return None
        gather = CutSearch(self.network, gather_all(self.ranks), self.clock)
        total = gather.run().ratio
        exact = gather.exact
        if self.network.symmetric:
            total *= 2
        else:
            scatter = CutSearch(self.network, scatter_all(self.ranks), self.clock)
            total += scatter.run().ratio
            exact = exact and scatter.exact
        return self._blocks() * total / self.ranks if exact else None

    def _blocks(self) -> int:
        """How many values are all combined by all ranks."""
        return self.demands.simple[self.whole, self.whole]

    def _reached_by_trees(self, least: Fraction, gathered: Fraction | None) -> Fraction | None:
        """The best way known to do an all-reduce of all ranks."""
        if self._one_hub():
            return least
        if gathered == least:
            return gathered
        switches = self.network.nodes > self.ranks
        if self.network.symmetric and not switches and self.thinnest:
            return least  # Spanning trees fill the thinnest partition (Tutte, Nash-Williams).
        if self.offloads:
            return gathered  # What only forwarding reaches is seen to apart.
        trees = reach_by_trees(self.network, self.clock)
        if trees is None:
            return gathered
        trees *= self._blocks()
        return trees if gathered is None else min(trees, gathered)

    def _one_hub(self) -> bool:
        """Whether all links join all ranks alike to switches that combine and copy.

        Each switch then makes and spreads the results of its share of the data.
        """
        topology = self.problem.topology
        if not self.offloads or not all(s.multicast and s.reduce for s in topology.switches):
            return False
        return _is_star(topology)


def _is_star(topology: Topology) -> bool:
    """Whether every link joins a rank and a switch, as wide as all others of that switch."""
    ranks = len(topology.ranks)
    widths: dict[int, list[Fraction]] = {
        s: [] for s in range(ranks, ranks + len(topology.switches))
    }
    for link in topology.links:
        ends = [node for node in (link.src, link.dst) if node >= ranks]
        if len(ends) != 1:
            return False
        widths[ends[0]].append(link.capacity)
    return all(len(each) == 2 * ranks and len(set(each)) == 1 for each in widths.values())
