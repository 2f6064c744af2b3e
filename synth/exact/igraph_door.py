"""The one place that talks to igraph: generators of a graph's automorphisms (by BLISS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import igraph

if TYPE_CHECKING:
    from collections.abc import Sequence


def generate_automorphisms(
    colours: Sequence[int], edges: Sequence[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """Permutations of the vertices that generate all those which keep colours and edges.

    Vertices are numbered from 0, one for each colour; edges have no direction.
    """
    graph = igraph.Graph(n=len(colours), edges=list(edges))
    return [tuple(each) for each in graph.automorphism_group(color=list(colours))]
