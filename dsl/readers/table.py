"""The readers by name, and what each is given and gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from roundelay.dsl.source import Fault, Span

READERS: dict[str, str] = {
    "nvidia-smi": "roundelay.dsl.readers.nvidia_smi:read_nvidia_smi",
}
"""The name after ``as``, and the module and function that reads such a text.

A reader takes a ``Source``, a mapping from names of speeds to ``Speed``, and a ``Report``. It
returns a ``Drawn``, or None after it has put at least one fault into the report.
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a user said of one kind of link: bytes per second of one of them, and seconds.

    ``span`` is where it was said.
    """

    bandwidth: Fraction
    latency: Fraction
    span: Span


@dataclass(frozen=True, slots=True)
class Drawn:
    """A machine as a reader understood it; the caller puts the speeds in.

    ``ranks`` are names (``gpu[0]``). A switch is its name, whether it multicasts, and whether it
    reduces. A link is the names of its source and target, how many lie side by side, and the
    name of its speed; both directions are listed, and no ordered pair of nodes twice.
    ``warnings`` say what the text left open and the reader therefore assumed.
    """

    ranks: tuple[str, ...]
    switches: tuple[tuple[str, bool, bool], ...]
    links: tuple[tuple[str, str, int, str], ...]
    warnings: tuple[Fault, ...] = ()
