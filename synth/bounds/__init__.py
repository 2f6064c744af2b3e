"""Lower limits on steps and rounds, each with a certificate that ``certificates`` can check."""

from .finder import bound
from .quickest import measure_quickest

__all__ = ["bound", "measure_quickest"]
