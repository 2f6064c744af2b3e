"""How much memory a worker may take, so that a model too large is given up and nothing swaps."""

from __future__ import annotations

import os
import re
from pathlib import Path

from roundelay.dsl.source import Fault, InputError

VARIABLE = "ROUNDELAY_MEMORY"
"""Of the environment: bytes for all workers together, with units where one likes (``6 GiB``)."""

_SHARE = 0.8  # Of the memory that is available goes to workers.
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # Powers of 2, as memory is sold.
_LEAST = 1 << 20
_MOST = 1 << 62  # More is no number of bytes that a system knows.


def share_memory(jobs: int) -> int | None:
    """Bytes of address space for each of ``jobs`` workers; None where nobody knows.

    Raises ``InputError`` for a variable that is no amount of memory.
    """
    text = os.environ.get(VARIABLE, "")
    if text:
        return parse_memory(text) // jobs
    available = _measure_available()
    return None if available is None else int(available * _SHARE) // jobs


def parse_memory(text: str) -> int:
    """``6G``, ``500 MiB`` or ``123456`` in bytes; raises ``InputError``."""
    found = re.fullmatch(r"\s*(\d{1,18})\s*([KMGT]?)(I?B)?\s*", text.upper())
    amount = int(found[1]) << _UNITS[found[2]] if found else 0
    if amount < _LEAST:
        raise InputError(
            Fault(
                f"{VARIABLE}={text[:40]!r} is no amount of memory",
                None,
                "bytes, at least 1 MiB: 6 GiB, 500M",
                "correct it, or leave it out",
            )
        )
    return min(amount, _MOST)


def _measure_available() -> int | None:
    """Bytes that can be used without swapping."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) << 10
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def limit_memory(most: int) -> bool:
    """Let this process have no more address space; whether the platform does that.

    What then cannot go on leaves no core file, which would take seconds to write.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, OverflowError, ValueError):
        return False
    return True


def show_memory(amount: int) -> str:
    """Bytes as people read them."""
    if amount >= 1 << 30:
        return f"{amount / (1 << 30):.1f} GiB"
    return f"{amount / (1 << 20):.0f} MiB"
