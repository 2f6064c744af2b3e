"""The table of executors: what runs an artifact, or a program step by step."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.codegen.artifact import Artifact
    from roundelay.codegen.elements import Element
    from roundelay.codegen.program import Program

    from .executor import Executor

EXECUTORS: dict[str, str] = {
    "interpreter": "roundelay.runtime.interpreter:load",
    "numba-cpu": "roundelay.runtime.numba_cpu:load",
    "cuda": "roundelay.runtime.cuda:load",
    "numba-cuda": "roundelay.runtime.numba_cuda:load",
    "numba-cuda-sim": "roundelay.runtime.numba_cuda:load_simulator",
}
"""Name -> ``module:function``; the function takes ``(artifact, program, element)``."""

BACKEND: dict[str, str | None] = {
    "interpreter": None,
    "numba-cpu": "numba-cpu",
    "cuda": "cuda",
    "numba-cuda": "numba-cuda",
    "numba-cuda-sim": "numba-cuda",
}
"""Which backend's artifact an executor runs; None: it runs the program itself."""


DEVICES: dict[str, str] = {
    "cuda": "roundelay.runtime.cuda:require_device",
    "numba-cuda": "roundelay.runtime.numba_cuda:require_device",
}
"""Executors that need a device -> what raises ``UnavailableError`` where there is none."""


def require_device(name: str) -> None:
    """Raise ``UnavailableError`` where an executor could not be loaded on this machine."""
    if name in DEVICES:
        module, _, function = DEVICES[name].partition(":")
        getattr(import_module(module), function)()


def load_executor(
    name: str, artifact: Artifact | None, program: Program, element: Element
) -> Executor:
    """Make an executor ready to bind buffers. Raises ``KeyError`` for an unknown name."""
    module, _, function = EXECUTORS[name].partition(":")
    loader: Callable[[Artifact | None, Program, Element], Executor] = getattr(
        import_module(module), function
    )
    return loader(artifact, program, element)
