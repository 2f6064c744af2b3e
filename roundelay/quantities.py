"""Quantities as the command line writes them: ``1..8``, ``64M``, ``60s``."""

from __future__ import annotations

import re
from fractions import Fraction

from roundelay.dsl.source import Fault, InputError

_LIMIT = 1 << 62
_NUMBER = re.compile(r"\d{1,18}/\d{1,18}|\d{1,18}(\.\d{1,18})?", re.ASCII)
_SIZES = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZES |= {"KB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZES |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_TIMES = {"": Fraction(1), "s": Fraction(1), "ms": Fraction(1, 1000), "m": Fraction(60)}
_TIMES |= {"min": Fraction(60), "h": Fraction(3600)}


def parse_size(text: str, option: str) -> int:
    """Bytes of ``4096``, ``4K`` (1024-based, as in nccl-tests), ``1.5M``, ``4KiB``, ``4KB``."""
    number, unit = _split(text)
    factor = _SIZES.get(unit.upper())
    if number is None or factor is None or "/" in text:
        raise _fault(option, text, "a size such as 4096, 4K, 1.5M or 64MiB")
    size = int(number * factor)
    if size > _LIMIT:
        raise _fault(option, text, f"at most {_LIMIT} bytes")
    return size


def parse_seconds(text: str, option: str) -> Fraction:
    """Seconds of ``60``, ``60s``, ``500ms``, ``2min``."""
    number, unit = _split(text)
    factor = _TIMES.get(unit)
    if number is None or factor is None or number <= 0:
        raise _fault(option, text, "a positive time such as 60, 60s or 500ms")
    return number * factor


def parse_range(text: str, option: str) -> tuple[int, int]:
    """Both ends, inclusive, of ``8`` or ``1..8``; counts are at least 1."""
    ends = [end.strip() for end in text.split("..")]
    if not 1 <= len(ends) <= 2 or not all(re.fullmatch(r"[0-9]{1,9}", end) for end in ends):
        raise _fault(option, text, "a count such as 8, or a range such as 1..8")
    low, high = int(ends[0]), int(ends[-1])
    if low < 1 or high < low:
        raise _fault(option, text, "at least 1, and the lower end first")
    return low, high


def parse_rounds(text: str, option: str) -> Fraction:
    """A positive number of rounds: ``4``, ``7/2`` or ``3.5``."""
    number = _split(text)[0]
    if number is None or number <= 0 or _split(text)[1]:
        raise _fault(option, text, "a positive number such as 4, 7/2 or 3.5")
    return number


def _split(text: str) -> tuple[Fraction | None, str]:
    text = text.strip()
    match = _NUMBER.match(text)
    if match is None:
        return None, text
    try:
        return Fraction(match[0]), text[match.end() :].strip()
    except ZeroDivisionError:
        return None, text


def _fault(option: str, text: str, expected: str) -> InputError:
    shown = text if len(text) <= 40 else text[:40] + "..."
    return InputError(Fault(f"{option} {shown!r} is not understood", None, expected, "correct it"))
