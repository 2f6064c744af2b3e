"""What every way of executing a collective offers: bind buffers once, then call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = npt.NDArray[Any]
"""One rank's values; the element type is known only when a plan is read."""


class Launch(Protocol):
    """A collective bound to its buffers."""

    def load(self) -> None:
        """Bring the host's input arrays to where the collective computes."""

    def __call__(self) -> None:
        """Run the collective once; may return before it is done."""

    def wait(self) -> None:
        """Return when all calls are done."""

    def store(self) -> None:
        """Bring the results back into the host's output arrays."""


class Executor(Protocol):
    """A loaded artifact (or an interpreted program)."""

    @property
    def device(self) -> str:
        """The hardware, in words."""

    @property
    def alike(self) -> bool:
        """Whether ranks that want the same symbols get the same bytes, whatever the schedule."""

    def bind(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Launch:
        """Bind one input and one output array a rank, each one-dimensional and contiguous.

        Rank r's input holds ``len(collective.inputs(r))`` units of the same number of elements,
        its output ``len(collective.outputs(r))``. In place: an output may be, or lie inside, the
        same memory as the input exactly as ``overlay`` of ``runtime.buffers`` lays it out.
        Raises ``ValueError`` for arrays of a wrong type or length.
        """
