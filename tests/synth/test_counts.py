"""Numbers as the log of a search tells them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from roundelay.synth.counts import show_count

ODD = 10**9 + 7


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1, "1 round"),
        (4, "4 rounds"),
        (0, "0 rounds"),
        (Fraction(7, 2), "7/2 rounds"),
        (Fraction(21, 16), "21/16 rounds"),
        (Fraction(22, 17), "1.29412 rounds"),
        (1 - Fraction(1, ODD), "just under 1 round"),
        (1 + Fraction(1, ODD), "just over 1 round"),
        (21 - Fraction(1, ODD), "just under 21 rounds"),
        (Fraction(1, ODD), "1e-09 rounds"),
        (Fraction(1234567 * 17 + 5, 17), "1.23457e+06 rounds"),
    ],
)
def test_no_number_is_shown_as_one_that_it_is_not(number: Fraction | int, shown: str) -> None:
    assert show_count(number, "round") == shown
