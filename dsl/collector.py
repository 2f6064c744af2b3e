"""Rest for Python's cycle collector while many objects are made that all stay."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def at_rest() -> Iterator[None]:
    """Keep the collector from running; also a decorator.

    A syntax tree or a large machine is a million objects without a cycle: looking through them
    again and again, as they grow, takes longer than making them.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
