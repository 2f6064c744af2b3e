"""The only door to OR-tools' max-flow; numbers too large for it are left to exact arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .flow_fallback import Arcs, least_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ortools.graph.python import max_flow

_MOST = 2**62  # Sums of capacities up to this fit OR-tools' 64-bit integers with room to spare.


class Flows:
    """Arcs with whole capacities that may be changed between one min cut and the next."""

    def __init__(self, nodes: int, arcs: Sequence[tuple[int, int, int]]) -> None:
        """``arcs`` are (tail, head, capacity); they are numbered in this order."""
        self.nodes = nodes
        self.arcs: Arcs = [(tail, head) for tail, head, _ in arcs]
        self.capacities = [capacity for _, _, capacity in arcs]
        self.total = sum(self.capacities)
        self._solver: max_flow.SimpleMaxFlow | None = None

    def put(self, arcs: Iterable[int], capacities: Iterable[int]) -> None:
        """Give arcs new capacities."""
        for arc, capacity in zip(arcs, capacities, strict=True):
            self.total += capacity - self.capacities[arc]
            self.capacities[arc] = capacity
            if self._solver is not None and capacity < _MOST:
                self._solver.set_arc_capacity(arc, capacity)
        if self.total >= _MOST:
            self._solver = None

    def cut(self, source: int, sink: int, *, far: bool = False) -> tuple[int, list[int]]:
        """The least capacity that parts two nodes, and the nodes on the source's side.

        Of several least cuts the one nearest the source, or (``far``) nearest the sink.
        """
        if self.total >= _MOST:
            return least_cut(self.nodes, self.arcs, self.capacities, source, sink, far=far)
        solver = self._ready()
        if solver.solve(source, sink) != solver.OPTIMAL:  # Such as POSSIBLE_OVERFLOW.
            return least_cut(self.nodes, self.arcs, self.capacities, source, sink, far=far)
        value = int(solver.optimal_flow())
        if far:
            beyond = set(solver.get_sink_side_min_cut()) | {sink}
            return value, [node for node in range(self.nodes) if node not in beyond]
        return value, sorted({source, *solver.get_source_side_min_cut()})

    def _ready(self) -> max_flow.SimpleMaxFlow:
        """The solver with all arcs; it is loaded when the first is needed."""
        if self._solver is None:
            from ortools.graph.python import max_flow

            self._solver = max_flow.SimpleMaxFlow()
            for (tail, head), capacity in zip(self.arcs, self.capacities, strict=True):
                self._solver.add_arc_with_capacity(tail, head, capacity)
        return self._solver
