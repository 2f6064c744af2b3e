"""What maps a machine and a collective to themselves.

Both are drawn as one graph with coloured vertices: a vertex for every rank and switch, two for a
link (where it leaves and where it arrives), one for every block, symbol and wanted value, and one
for each set of symbols that are wanted together. A graph library finds its automorphisms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem

Permutation = tuple[int, ...]
"""Where every position goes."""

_MOST = 60_000
"""Vertices and edges of a graph that is still looked at."""


@dataclass(frozen=True, slots=True)
class Motion:
    """An automorphism: where nodes, links, blocks, symbols and wants go.

    ``symbols[b][s]`` is a position in the symbols of block ``blocks[b]``; wants alike.
    """

    nodes: Permutation
    links: Permutation
    blocks: Permutation
    symbols: tuple[Permutation, ...]
    wants: tuple[Permutation, ...]

    def after(self, first: Motion) -> Motion:
        """This one applied to what ``first`` makes."""
        return Motion(
            tuple(self.nodes[i] for i in first.nodes),
            tuple(self.links[i] for i in first.links),
            tuple(self.blocks[b] for b in first.blocks),
            tuple(
                tuple(self.symbols[b][i] for i in row)
                for b, row in zip(first.blocks, first.symbols, strict=True)
            ),
            tuple(
                tuple(self.wants[b][i] for i in row)
                for b, row in zip(first.blocks, first.wants, strict=True)
            ),
        )


def rest(problem: Problem) -> Motion:
    """The automorphism that moves nothing."""
    topology, blocks = problem.topology, problem.collective.blocks
    return Motion(
        tuple(range(len(topology.ranks) + len(topology.switches))),
        tuple(range(len(topology.links))),
        tuple(range(len(blocks))),
        tuple(tuple(range(len(block.symbols))) for block in blocks),
        tuple(tuple(range(len(block.wants))) for block in blocks),
    )


class _Drawing:
    """The graph in the making."""

    def __init__(self) -> None:
        self.colours: list[object] = []
        self.edges: list[tuple[int, int]] = []

    def add(self, colour: object, *neighbours: int) -> int:
        vertex = len(self.colours)
        self.colours.append(colour)
        self.edges += [(vertex, other) for other in neighbours]
        return vertex

    def numbered(self) -> list[int]:
        """Colours as numbers, in the order in which they come up."""
        numbers: dict[object, int] = {}
        return [numbers.setdefault(colour, len(numbers)) for colour in self.colours]


def generate_motions(problem: Problem) -> list[Motion]:
    """Automorphisms that generate all those of a problem, in a fixed order.

    None are given where the order of the symbols in a merge counts, and for a problem whose graph
    is too large to look at.
    """
    operator, topology = problem.operator, problem.topology
    blocks = problem.collective.blocks
    size = len(topology.links) * 5 + sum(3 * len(b.symbols) + 3 * len(b.wants) for b in blocks)
    ordered = operator is not None and not operator.commutative and problem.collective.combines
    if ordered or size > _MOST:
        return []
    drawing = _Drawing()
    nodes = [drawing.add("rank") for _ in topology.ranks]
    nodes += [drawing.add(("switch", s.multicast, s.reduce)) for s in topology.switches]
    tails: list[int] = []
    for link in topology.links:
        kind = link.capacity, link.latency
        tails.append(drawing.add(("leaves", kind), nodes[link.src]))
        drawing.add("arrives", tails[-1], nodes[link.dst])
    own: list[int] = []
    symbols: list[list[int]] = []
    wants: list[list[int]] = []
    for block in blocks:
        own.append(drawing.add("block"))
        symbols.append([drawing.add("symbol", own[-1], nodes[s.rank]) for s in block.symbols])
        families: dict[tuple[int, ...], int] = {}
        wants.append([])
        for want in block.wants:
            family = families.get(want.symbols)
            if family is None:
                made = [symbols[-1][s] for s in want.symbols]
                family = families[want.symbols] = drawing.add("family", own[-1], *made)
            wants[-1].append(drawing.add("want", family, nodes[want.rank]))
    from .igraph_door import generate_automorphisms

    place = {vertex: i for row in (tails, own, *symbols, *wants) for i, vertex in enumerate(row)}
    motions = []
    for moved in generate_automorphisms(drawing.numbered(), drawing.edges):
        motions.append(
            Motion(
                tuple(moved[v] for v in nodes),
                tuple(place[moved[v]] for v in tails),
                tuple(place[moved[v]] for v in own),
                tuple(tuple(place[moved[v]] for v in row) for row in symbols),
                tuple(tuple(place[moved[v]] for v in row) for row in wants),
            )
        )
    return motions
