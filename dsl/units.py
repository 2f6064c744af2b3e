"""Units, and numbers that carry a dimension. Everything is exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Dimension = tuple[int, int]
"""Powers of byte and second."""

PLAIN: Dimension = (0, 0)
DATA: Dimension = (1, 0)
TIME: Dimension = (0, 1)
BANDWIDTH: Dimension = (1, -1)

_NAMES = {
    PLAIN: "a plain number",
    DATA: "a size in bytes",
    TIME: "a time",
    BANDWIDTH: "a bandwidth",
}
EXAMPLES = {PLAIN: "8", DATA: "4 KiB", TIME: "1 us", BANDWIDTH: "25 GB/s"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in bytes and seconds with its dimension, which is never that of a plain number."""

    value: Fraction
    dimension: Dimension


Value = int | Fraction | Quantity
"""What an expression is worth; conditions are ``bool``."""


def _units() -> dict[str, tuple[Fraction, Dimension]]:
    units: dict[str, tuple[Fraction, Dimension]] = {"B": (Fraction(1), DATA)}
    for power, prefix in enumerate("KMGT", start=1):
        units[f"{prefix}B"] = (Fraction(1000**power), DATA)
        units[f"{prefix}iB"] = (Fraction(1024**power), DATA)
    for name, (size, _) in list(units.items()):
        units[f"{name}/s"] = (size, BANDWIDTH)
    for power, prefix in enumerate(("", "K", "M", "G", "T")):
        for bit in ("b", "bit"):
            units[f"{prefix}{bit}/s"] = (Fraction(1000**power, 8), BANDWIDTH)
    for power, prefix in enumerate(("", "m", "u", "n")):
        units[f"{prefix}s"] = (Fraction(1, 1000**power), TIME)
    return units


UNITS: dict[str, tuple[Fraction, Dimension]] = _units()
"""Every unit: its size in bytes and seconds, and its dimension."""


def describe(dimension: Dimension) -> str:
    """A dimension in words: ``a bandwidth``."""
    if dimension in _NAMES:
        return _NAMES[dimension]
    parts = [
        unit if power == 1 else f"{unit}^{power}"
        for unit, power in zip(("B", "s"), dimension, strict=True)
        if power
    ]
    return f"a quantity in {' '.join(parts)}"


def dimension_of(value: Value) -> Dimension:
    """The dimension of a value; ``PLAIN`` for bare numbers."""
    return value.dimension if isinstance(value, Quantity) else PLAIN


_SCALES = {
    DATA: ("TB", "GB", "MB", "KB", "B"),
    BANDWIDTH: ("TB/s", "GB/s", "MB/s", "KB/s", "B/s"),
    TIME: ("s", "ms", "us", "ns"),
}


def show(value: Value) -> str:
    """A value in the language's own words, in the largest unit that it fills."""
    if not isinstance(value, Quantity):
        return _digits(Fraction(value))
    scale = _SCALES.get(value.dimension)
    if scale is None:
        return f"{_digits(value.value)} ({describe(value.dimension)})"
    if value.value == 0:
        return f"0 {scale[0] if value.dimension == TIME else scale[-1]}"
    unit = next((u for u in scale if abs(value.value) >= UNITS[u][0]), scale[-1])
    return f"{_digits(value.value / UNITS[unit][0])} {unit}"


def _digits(value: Fraction) -> str:
    """Exact decimal digits where they exist and are few, a quotient where not."""
    for places in range(13):
        scaled = value * 10**places
        if scaled.denominator == 1:
            whole = str(abs(scaled.numerator)).rjust(places + 1, "0")
            text = whole if not places else f"{whole[:-places]}.{whole[-places:]}"
            return f"-{text}" if value < 0 else text
    return f"{value.numerator} / {value.denominator}"
