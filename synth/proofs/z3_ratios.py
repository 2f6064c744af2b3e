"""Quotients of Z3's real expressions, kept as a numerator and the factors of a denominator.

Z3 proves equations of polynomials well and those with divisions badly. Every factor of a
denominator is nonzero wherever the quotient is defined; the caller says where that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

Real = Any
"""A real expression of Z3, which has no types."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """``top`` over the product of ``factors``, which are in no order."""

    top: Real
    factors: tuple[Real, ...] = ()

    def __add__(self, other: Ratio) -> Ratio:
        tops, factors = _meet(self, other)
        return Ratio(tops[0] + tops[1], factors)

    def __sub__(self, other: Ratio) -> Ratio:
        tops, factors = _meet(self, other)
        return Ratio(tops[0] - tops[1], factors)

    def __neg__(self) -> Ratio:
        return Ratio(-self.top, self.factors)

    def __mul__(self, other: Ratio) -> Ratio:
        return _cancel(
            (self.top, other.top), _without(self.factors, ()) + _without(other.factors, ())
        )

    def __truediv__(self, other: Ratio) -> Ratio:
        return _cancel((self.top, *other.factors), (*self.factors, other.top))

    def below(self, other: Ratio) -> tuple[Real, Real]:
        """Two expressions that compare as the quotients do: ``x <= y`` as ``p <= q``."""
        difference = self - other
        if not difference.factors:
            return self.top, other.top
        # Times the square of the denominator: a positive number wherever it is defined.
        scaled = difference.top
        for factor in difference.factors:
            scaled = scaled * factor
        return scaled, z3.RealVal(0, difference.top.ctx)

    def gap(self, other: Ratio) -> Real:
        """An expression that is 0 where the quotients are equal, and only there."""
        return (self - other).top


def choose(condition: Any, yes: Ratio, no: Ratio) -> Ratio:
    """One of two quotients. Where one is chosen, the other need not be defined."""
    shared = _shared(yes.factors, no.factors)
    rests = [_product(_without(ratio.factors, shared)) for ratio in (yes, no)]
    top = z3.If(condition, yes.top, no.top)
    if rests[0] is None and rests[1] is None:
        return Ratio(top, shared)
    one = z3.RealVal(1, yes.top.ctx)
    rest = z3.If(condition, *(one if rest is None else rest for rest in rests))
    return Ratio(top, (*shared, rest))


def _meet(x: Ratio, y: Ratio) -> tuple[tuple[Real, Real], tuple[Real, ...]]:
    """Both tops over the least denominator that the factors' names give."""
    extra, missing = _without(y.factors, x.factors), _without(x.factors, y.factors)
    left, right = _product((x.top, *extra)), _product((y.top, *missing))
    return (left, right), x.factors + extra


def _cancel(tops: tuple[Real, ...], factors: tuple[Real, ...]) -> Ratio:
    shared = _shared(tops, factors)
    top = _product(_without(tops, shared))
    return Ratio(z3.RealVal(1, tops[0].ctx) if top is None else top, _without(factors, shared))


def _without(terms: tuple[Real, ...], fewer: tuple[Real, ...]) -> tuple[Real, ...]:
    """The terms less those, each as often as it occurs; and without ones."""
    left = [term for term in terms if not (z3.is_rational_value(term) and term.as_fraction() == 1)]
    for each in fewer:
        match = next((i for i, term in enumerate(left) if term.eq(each)), None)
        if match is not None:
            del left[match]
    return tuple(left)


def _shared(terms: tuple[Real, ...], others: tuple[Real, ...]) -> tuple[Real, ...]:
    rest = _without(terms, others)
    return _without(terms, rest)


def _product(terms: tuple[Real, ...]) -> Real:
    product = None
    for term in terms:
        product = term if product is None else product * term
    return product
