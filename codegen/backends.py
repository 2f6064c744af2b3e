"""The table of backends: what turns a fused program into an artifact."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .artifact import Artifact
    from .elements import Element
    from .fused import Fused

BACKENDS: dict[str, str] = {
    "numba-cpu": "roundelay.codegen.numba_cpu_backend:emit",
    "cuda": "roundelay.codegen.cuda_backend:emit",
    "numba-cuda": "roundelay.codegen.numba_cuda_backend:emit",
}
"""Name -> ``module:function``; the function takes ``(fused, element)`` and returns the artifact."""


def load_backend(name: str) -> Callable[[Fused, Element], Artifact]:
    """The emitter of a backend. Raises ``KeyError`` for a name that the table lacks."""
    module, _, function = BACKENDS[name].partition(":")
    emitter: Callable[[Fused, Element], Artifact] = getattr(import_module(module), function)
    return emitter
