"""How long exact bounds take, and how that compares with networkx's max-flow.

Run from the root of the repository: ``python -m benchmarks.bounds [repetitions]``. Every
measurement is a process of its own, so that its peak memory is its own; the least of several
times counts. The last column is the time in which networkx finds as many max-flows on the same
machine as there are ranks, from one rank to all others, for each unit of ours; it is left out of
large machines and of the all-to-all, which takes other methods.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import networkx

from roundelay.dsl.loader import load
from roundelay.dsl.model import (
    Apply,
    Block,
    Collective,
    Operator,
    Problem,
    Symbol,
    Topology,
    Variable,
    Want,
    scalar_body,
)
from roundelay.dsl.source import Source
from roundelay.synth.bounds import bound
from roundelay.synth.certificates import verify

TASKS: tuple[tuple[str, str], ...] = (
    ("all_gather", "dgx1"),
    ("all_gather", "pod(hgx_h100, 8)"),
    ("all_gather", "pod(hgx_h100, 32)"),
    ("all_gather", "pod(hgx_h100, 128)"),
    ("all_gather", "pod(hgx_h100, 512)"),
    ("all_reduce", "mesh(8, 8)"),
    ("all_reduce", "pod(dgx1, 8)"),
    ("all_reduce", "mesh(16, 16)"),
    ("all_reduce", "pod(dgx_a100, 32)"),
    ("all_reduce", "pod(dgx_a100, 128)"),
    ("all_reduce", "torus(32, 32)"),
    ("all_reduce", "pod(dgx_a100, 512)"),
    ("all_to_all", "dgx1"),
    ("all_to_all", "mesh(8, 8)"),
    ("all_to_all", "dragonfly(9, 4, 2)"),
    ("all_to_all", "pod(hgx_h100, 32)"),
)
SUM = Operator("sum", scalar_body(Apply("add", (Variable(0), Variable(1)))), commutative=True)
_COMPARED = 64  # Ranks up to which networkx is asked.


def collective(name: str, ranks: int) -> Collective:
    """A collective whose equal parts are one object: a million wants would fill the memory."""
    everyone = tuple(Want(rank, (rank,), (0,)) for rank in range(ranks))
    given = tuple(Symbol((rank,), rank) for rank in range(ranks))
    if name == "all_gather":
        return Collective(name, (), ranks, tuple(Block((s,), everyone) for s in given))
    if name == "all_to_all":
        return Collective(
            name, (), ranks, tuple(Block((s,), (w,)) for s in given for w in everyone)
        )
    order = tuple(range(ranks))
    return Collective(
        name, (), ranks, (Block(given, tuple(Want(rank, (rank,), order) for rank in order)),)
    )


def measure(name: str, machine: str) -> None:
    """Print seconds to bound and to check, GB/s, whether that is known to be reached, and MiB."""
    topology = load(Source("benchmark", f"topology t = {machine}\n")).topologies[0]
    wanted = collective(name, len(topology.ranks))
    problem = Problem(topology, wanted, SUM if wanted.combines else None)
    start = time.perf_counter()
    found = bound(problem)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    for certificate in found.certificates:
        verify(problem, certificate)
    checked = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = float(1 / found.per_byte) / 1e9
    other = 0.0 if name == "all_to_all" else compare(topology)
    print(seconds, checked, rate, int(found.tight), peak, other)


def compare(topology: Topology) -> float:
    """Seconds of networkx for as many max-flows as there are ranks; 0 where that takes long."""
    ranks = len(topology.ranks)
    if ranks > _COMPARED:
        return 0.0
    graph = networkx.DiGraph()
    for link in topology.links:
        graph.add_edge(link.src, link.dst, capacity=int(link.capacity))
    start = time.perf_counter()
    for rank in range(1, ranks):
        networkx.maximum_flow_value(graph, 0, rank)
    return time.perf_counter() - start


def main() -> None:
    """Print one table."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], sys.argv[3])
        return
    repetitions = int(sys.argv[1]) if sys.argv[1:] else 3
    print(f"{'collective':<12}{'machine':<22}{'seconds':>9}{'check':>8}{'GB/s':>10}"
          f"{'tight':>7}{'MiB':>6}{'networkx':>10}")  # fmt: skip
    for name, machine in TASKS:
        rows = []
        for _ in range(repetitions):
            command = [sys.executable, "-m", "benchmarks.bounds", "--one", name, machine]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(tuple(map(float, done.stdout.split())))
        seconds, checked, rate, tight, peak, other = map(min, zip(*rows, strict=True))
        ratio = f"{other / seconds:>9.1f}x" if other else f"{'':>10}"
        print(f"{name:<12}{machine:<22}{seconds:>9.3f}{checked:>8.3f}{rate:>10.3f}"
              f"{'yes' if tight else 'no':>7}{peak:>6.0f}{ratio}")  # fmt: skip


if __name__ == "__main__":
    main()
