"""Asking after processes."""

from __future__ import annotations

import os
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process does anything any more: not gone, nor a zombie that waits to be reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def busy_factor() -> float:
    """How many times longer things take because this machine has other work, too; at least 1."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
    return max(1.0, waiting)
