"""What SCCL answers, and in how many seconds: figures to set ours beside, as data.

Measured on 2 cores with z3 5.4.1, one run a row, by SCCL's own encoding. A row is what SCCL is
asked for: chunks (of the whole buffer for an all-reduce, of a rank's part for the others, of a
pair's part for an all-to-all), steps, rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SOURCE = "SCCL, measured on 2 cores with z3 5.4.1"


@dataclass(frozen=True, slots=True)
class Row:
    """A query to SCCL and its answer.

    ``machine`` is a key of ``TEXTS`` or a call of the library. ``verdict`` None: no answer
    within ``seconds``. ``seconds`` None: a point published without a time on this machine.
    """

    machine: str
    collective: str
    chunks: int
    steps: int
    rounds: int
    verdict: Literal["found", "impossible"] | None
    seconds: float | None


TEXTS = {
    "dgx1": """
topology dgx1_of_sccl {  # The numbering of its ranks is SCCL's, which matters for roots.
  ranks gpu[8]
  link gpu[i] <-> gpu[j] x2 at 25 GB/s, 0.7 us
    for (i, j) in [(0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7)]
  link gpu[i] <-> gpu[j] at 25 GB/s, 0.7 us
    for (i, j) in [(0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6)]
}
""",
    "amd4": """
topology square {
  ranks gpu[4]
  link gpu[i] <-> gpu[j] at 25 GB/s, 1 us for (i, j) in [(0, 1), (0, 2), (1, 3), (2, 3)]
}
""",
    "amd8": """
topology five_or_six {
  ranks gpu[8]
  link gpu[i] <-> gpu[j] x5 at 10 GB/s, 1 us for (i, j) in [
    (0, 1), (0, 4), (0, 6), (0, 7), (1, 2), (1, 3), (1, 5), (2, 4), (2, 6), (2, 7), (3, 4),
    (3, 6), (3, 7), (4, 5), (5, 6), (5, 7)
  ]
  link gpu[i] <-> gpu[j] x6 at 10 GB/s, 1 us for (i, j) in [
    (0, 2), (0, 3), (0, 5), (1, 4), (1, 6), (1, 7), (2, 3), (2, 5), (3, 5), (4, 6), (4, 7), (6, 7)
  ]
}
""",
}
"""Machines that the library lacks, or numbers otherwise."""

ROWS: tuple[Row, ...] = (
    Row("dgx1", "all_gather", 1, 1, 1, "impossible", 0.17),
    Row("dgx1", "all_gather", 1, 2, 2, "found", 0.31),
    Row("dgx1", "all_gather", 2, 2, 3, "found", 0.82),
    Row("dgx1", "all_gather", 2, 3, 3, "found", 0.4),
    Row("dgx1", "all_gather", 3, 2, 4, "impossible", 1.1),
    Row("dgx1", "all_gather", 3, 3, 4, "found", 2.86),
    Row("dgx1", "all_gather", 3, 4, 4, "found", 1.38),
    Row("dgx1", "all_gather", 4, 3, 5, "found", 7.95),
    Row("dgx1", "all_gather", 4, 5, 5, "found", 4.48),
    Row("dgx1", "all_gather", 5, 3, 6, "found", 18.43),
    Row("dgx1", "all_gather", 5, 6, 6, "found", 21.35),
    Row("dgx1", "all_gather", 6, 3, 7, "found", 79.7),
    Row("dgx1", "all_gather", 6, 7, 7, "found", 152.41),
    Row("dgx1", "all_gather", 6, 2, 7, "impossible", 13.48),
    Row("dgx1", "all_gather", 4, 2, 5, "impossible", 3.31),
    Row("dgx1", "reduce_scatter", 1, 2, 2, "found", 0.38),
    Row("dgx1", "reduce_scatter", 2, 2, 3, "found", 1.03),
    Row("dgx1", "reduce_scatter", 6, 3, 7, "found", 75.78),
    Row("dgx1", "broadcast", 2, 2, 2, "found", 0.13),
    Row("dgx1", "broadcast", 6, 3, 3, "found", 0.57),
    Row("dgx1", "broadcast", 6, 2, 3, "impossible", 0.44),
    Row("dgx1", "broadcast", 6, 3, 5, "found", 0.68),
    Row("dgx1", "broadcast", 12, 4, 4, "found", 3.98),
    Row("dgx1", "broadcast", 18, 5, 5, "found", 51.16),
    Row("dgx1", "gather", 1, 2, 2, "found", 0.92),
    Row("dgx1", "gather", 2, 2, 3, "found", 1.39),
    Row("dgx1", "gather", 6, 3, 7, "found", 14.85),
    Row("dgx1", "gather", 6, 2, 7, "found", 19.11),
    Row("dgx1", "gather", 6, 7, 7, "found", 19.51),
    Row("dgx1", "scatter", 1, 2, 2, "found", 0.25),
    Row("dgx1", "scatter", 6, 3, 7, "found", 452.45),
    Row("dgx1", "reduce", 2, 2, 2, "found", 0.12),
    Row("dgx1", "reduce", 6, 3, 3, "found", 0.39),
    Row("dgx1", "all_to_all", 1, 2, 3, "found", 7.69),
    Row("dgx1", "all_to_all", 1, 3, 3, "found", 13.75),
    Row("dgx1", "all_to_all", 3, 3, 8, None, 600),
    Row("dgx1", "all_to_all", 3, 2, 8, "found", 243.74),
    Row("dgx1", "all_to_all", 3, 8, 8, None, 600),
    Row("dgx1", "all_reduce", 1, 2, 2, "found", 0.68),
    Row("dgx1", "all_reduce", 1, 1, 1, "impossible", 0.37),
    Row("dgx1", "all_reduce", 1, 3, 3, "found", 1.04),
    Row("dgx1", "all_reduce", 2, 2, 3, "found", 1.93),
    Row("dgx1", "all_reduce", 2, 3, 3, "found", 1.86),
    Row("ring(4)", "all_gather", 1, 2, 2, "found", 0.03),
    Row("ring(4)", "all_gather", 2, 2, 3, "found", 0.07),
    Row("ring(4)", "all_gather", 2, 3, 3, "found", 0.04),
    Row("ring(4)", "all_reduce", 1, 2, 2, "found", 0.04),
    Row("ring(4)", "all_reduce", 1, 2, 3, "found", 0.04),
    Row("ring(8)", "all_gather", 1, 4, 4, "found", 0.09),
    Row("ring(8)", "all_gather", 2, 4, 7, "found", 0.26),
    Row("ring(8)", "all_gather", 2, 7, 7, "found", 0.28),
    Row("ring(8)", "broadcast", 2, 4, 4, "found", 0.03),
    Row("ring(8)", "broadcast", 4, 5, 5, "found", 0.07),
    Row("ring(8)", "broadcast", 6, 6, 6, "found", 0.09),
    Row("ring(8)", "broadcast", 8, 7, 7, "found", 0.13),
    Row("ring(8)", "gather", 1, 4, 4, "found", 0.09),
    Row("ring(8)", "gather", 2, 4, 7, "found", 0.26),
    Row("ring(8)", "all_to_all", 1, 4, 8, "found", 3.12),
    Row("ring(8)", "reduce_scatter", 2, 4, 7, "found", 0.24),
    Row("ring(8)", "all_reduce", 1, 4, 4, "impossible", 0.24),
    Row("complete(4)", "all_gather", 1, 1, 1, "found", 0.03),
    Row("complete(4)", "all_reduce", 1, 1, 1, "found", 0.05),
    Row("complete(8)", "all_gather", 1, 1, 1, "found", 0.21),
    Row("complete(8)", "all_reduce", 1, 1, 1, "found", 0.92),
    Row("complete(8)", "all_to_all", 1, 1, 1, "found", 4.04),
    Row("amd4", "all_gather", 1, 2, 2, "found", 0.02),
    Row("amd4", "all_gather", 2, 2, 3, "found", 0.04),
    Row("amd4", "all_to_all", 1, 2, 2, "found", 0.06),
    Row("amd8", "all_gather", 1, 1, 1, "found", 0.24),
    Row("amd8", "all_gather", 5, 1, 1, "found", 1.72),
    Row("amd8", "all_to_all", 1, 1, 1, "found", 5.1),
    Row("switch(8)", "all_gather", 1, 7, 7, "found", 2.97),
    Row("switch(8)", "all_gather", 1, 3, 7, "found", 3.06),
    Row("switch(16)", "all_gather", 1, 4, 15, None, 600),
    Row("star(8)", "all_gather", 1, 2, 7, "found", 0.45),
    Row("line(8)", "all_gather", 1, 7, 7, "found", 0.3),
    Row("ring(5)", "all_reduce", 1, 2, 2, "impossible", 0.15),
    Row("ring(5)", "all_reduce", 1, 8, 8, "impossible", 0.16),
    Row("ring(5)", "all_reduce", 1, 20, 20, "impossible", 0.13),
    Row("ring(8)", "all_reduce", 1, 14, 14, "impossible", 0.51),
    Row("ring(8)", "all_reduce", 1, 7, 7, "impossible", 0.36),
    Row("ring(3)", "all_reduce", 1, 1, 1, "found", 0.02),
    Row("complete(3)", "all_reduce", 1, 1, 1, "found", 0.02),
    Row("complete(4)", "all_reduce", 4, 2, 2, "impossible", 0.37),
    Row("complete(4)", "all_gather", 2, 1, 2, "found", 0.04),
    Row("complete(4)", "all_to_all", 1, 1, 1, "found", 0.06),
    Row("ring(6)", "all_reduce", 1, 3, 3, "impossible", 0.13),
    Row("ring(4)", "reduce_scatter", 2, 2, 3, "found", 0.09),
    Row("line(4)", "all_reduce", 1, 3, 3, "impossible", 0.07),
    Row("line(4)", "all_reduce", 1, 6, 6, "impossible", 0.11),
    Row("star(4)", "all_reduce", 1, 2, 2, "impossible", 0.09),
    Row("amd8", "reduce_scatter", 1, 1, 1, "found", 0.57),
    Row("amd8", "all_reduce", 1, 1, 1, "found", 3.0),
    Row("ring(16)", "all_gather", 1, 8, 8, "found", 1.99),
    Row("ring(16)", "all_gather", 2, 8, 15, "found", 7.34),
    # Published points of the frontier, timed nowhere that compares.
    Row("dgx1", "all_reduce", 8, 4, 4, "found", None),
    Row("dgx1", "all_reduce", 48, 14, 14, "found", None),
)
