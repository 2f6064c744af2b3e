"""Describe a machine and a collective; get a proven schedule, its kernels, and checked numbers.

The package's functions load what they need when they are first used: importing it costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundelay.pipeline import Request, execute, generate, read, refine, synthesize, write

__version__ = "0.1.0"

__all__ = ["Request", "execute", "generate", "read", "refine", "synthesize", "write"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("roundelay.pipeline"), name)
    raise AttributeError(f"module 'roundelay' has no attribute {name!r}")
