from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay import quantities
from roundelay.dsl.source import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("4096", 4096), ("4K", 4096), ("4k", 4096), ("1.5M", 3 << 19), ("64M", 1 << 26),
        ("2G", 1 << 31), ("4KiB", 4096), ("4 KiB", 4096), ("4KB", 4000), ("3 GB", 3 * 10**9),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert quantities.parse_size(text, "-b") == size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", Fraction(60)),
        ("1.5s", Fraction(3, 2)),
        ("500ms", Fraction(1, 2)),
        ("2min", Fraction(120)),
    ],
)
def test_times(text: str, seconds: Fraction) -> None:
    assert quantities.parse_seconds(text, "--budget") == seconds


def test_ranges_and_rounds() -> None:
    assert quantities.parse_range("8", "--chunks") == (8, 8)
    assert quantities.parse_range("1..8", "--chunks") == (1, 8)
    assert quantities.parse_rounds("7/2", "--rounds") == Fraction(7, 2)
    assert quantities.parse_rounds("3.5", "--rounds") == Fraction(7, 2)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *[
            (quantities.parse_size, text)
            for text in ("", "-4", "K", "4Q", "1/2", "9" * 40, "9E9", "nan")
        ],
        *[(quantities.parse_seconds, text) for text in ("", "0", "-1", "5 GB", "inf", "1/0")],
        *[
            (quantities.parse_range, text)
            for text in ("", "0", "8..1", "1..2..3", "1..", "x", "0..3")
        ],
        *[(quantities.parse_rounds, text) for text in ("", "0", "-2", "4 s", "1/0")],
    ],
)
def test_nonsense_is_refused_by_name(parse: Callable[[str, str], object], text: str) -> None:
    with pytest.raises(InputError, match=r"--option .* is not understood"):
        parse(text, "--option")
