"""How long the language takes on large machines and long texts, and whether that is linear.

Run from the root of the repository: ``python -m benchmarks.language [repetitions]``. Every
measurement is a process of its own, so that its peak memory is its own; the least of several
times counts.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from random import Random
from typing import TYPE_CHECKING

from roundelay.dsl.loader import load
from roundelay.dsl.parser import parse
from roundelay.dsl.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

BOXES = (512, 1024, 2048)
LINES = (2500, 5000, 10_000)


def pod(boxes: int) -> str:
    """A pod of eight-GPU boxes around one switch."""
    return f"topology cluster = pod(hgx_h100, {boxes})\n"


def lines(count: int) -> str:
    """A text of so many lines, most of them a link between two nodes named by their indices."""
    random = Random(count)
    nodes = 1000
    pairs = {(i, (i + 1) % nodes) for i in range(nodes)}
    while len(pairs) < count - 3:
        a, b = random.sample(range(nodes), 2)
        if (b, a) not in pairs:
            pairs.add((a, b))
    links = [
        f"  link gpu[{a}] <-> gpu[{b}] x{1 + a % 3} at {10 + b % 90}.5 GB/s, 0.7 us"
        for a, b in sorted(pairs)
    ]
    return "\n".join(["topology written {", f"  ranks gpu[{nodes}]", *links, "}"])


TASKS: dict[str, tuple[Callable[[int], str], Callable[[Source], object]]] = {
    "pod": (pod, load),
    "parse": (lines, parse),
    "load": (lines, load),
}


def measure(task: str, size: int) -> None:
    """Print seconds and peak MiB of one task."""
    write, act = TASKS[task]
    source = Source("benchmark", write(size))
    act(Source("warm-up", write(16) if task == "pod" else "topology t { ranks a }"))
    start = time.perf_counter()
    act(source)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{seconds} {peak}")


def least(task: str, size: int, repetitions: int) -> tuple[float, float]:
    """The least seconds and MiB of some repetitions."""
    found = []
    for _ in range(repetitions):
        command = [sys.executable, "-m", "benchmarks.language", "--one", task, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, peak = map(float, done.stdout.split())
        found.append((seconds, peak))
    return min(seconds for seconds, _ in found), min(peak for _, peak in found)


def main() -> None:
    """Print one table: what, how large, seconds, MiB, and the ratio to half the size."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], int(sys.argv[3]))
        return
    repetitions = int(sys.argv[1]) if sys.argv[1:] else 3
    print(f"{'task':<8}{'size':>8}{'seconds':>10}{'MiB':>8}{'doubling':>10}")
    for task in TASKS:
        before = None
        for size in BOXES if task == "pod" else LINES:
            seconds, peak = least(task, size, repetitions)
            ratio = f"{seconds / before:>10.2f}" if before else ""
            print(f"{task:<8}{size:>8}{seconds:>10.2f}{peak:>8.0f}{ratio}")
            before = seconds


if __name__ == "__main__":
    main()
