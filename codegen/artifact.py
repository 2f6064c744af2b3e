"""The artifact: generated files, how to enter them, and a digest that names their content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a backend made of a program.

    ``files`` are pairs of name and text, the main one first; ``entry`` is the function to call or
    the kernels' common prefix; ``digest`` is the hex SHA-256 of names and texts.
    """

    backend: str
    files: tuple[tuple[str, str], ...]
    entry: str
    digest: str
