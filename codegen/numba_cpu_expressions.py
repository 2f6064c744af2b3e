"""Operators' expressions as lines of Python for Numba, one operation a line.

One line an operation: no expression nests deeper than Python's parser allows, and what occurs
twice is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.dsl.model import (
    COMPARISONS,
    CONDITIONS,
    LOGIC,
    Apply,
    Count,
    Made,
    Number,
    Variable,
)

from .operators import argument_kinds, is_wide

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Expression

    from .elements import Element

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "band": "&", "bor": "|", "bxor": "^",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|",
}  # fmt: skip

_NUMPY = ("exp", "log", "sqrt")

_HELPERS = {
    "min": '''
@njit
def smaller(x, y):
    """The smaller one; a NaN if there is one, the first of equals."""
    return x if x <= y or x != x else y
''',
    "max": '''
@njit
def larger(x, y):
    """The larger one; a NaN if there is one, the first of equals."""
    return x if x >= y or x != x else y
''',
    "logaddexp": '''
@njit(error_model='numpy')
def logaddexp_{name}(x, y):
    """log(exp(x) + exp(y)), without overflow, and right for infinities."""
    if x == y:
        return x + {kind}(0.6931471805599453)
    apart = x - y
    if apart > 0:
        return x + np.log1p(np.exp(-apart))
    return y + np.log1p(np.exp(apart)) if apart <= 0 else apart
''',
    "shl": '''
@njit
def shl_{name}(x, y):
    """Bits shifted up; by a negative amount, or by all bits and more, nothing is left."""
    return {kind}(x << y) if {inside} else {kind}(0)
''',
    "shr": '''
@njit
def shr_{name}(x, y):
    """Bits shifted down; by a negative amount, or by all bits and more, the sign is left."""
    return {kind}(x >> y) if {inside} else {kind}({sign})
''',
    "div": '''
@njit(error_model='numpy')
def div_{name}(x, y):
    """The quotient truncated toward zero; 0 where the divisor is 0; the smallest / -1 wraps."""
    if y == {kind}(0):
        return {kind}(0)
    if {minus_one}:
        return {kind}({kind}(0) - x)
    floor = {kind}(x // y)
    up = (x < {kind}(0)) != (y < {kind}(0)) and {kind}({product}) != x
    return {kind}(floor + {kind}(1)) if up else floor
''',
}


def spell_constant(value: float, kind: Element) -> str:
    """A number of a kind, rounded to it."""
    name = f"np.{kind.dtype.name}"
    if kind.exact:
        return f"{name}({int(value)})"
    number = float(kind.dtype.type(value))
    shown = repr(number) if np.isfinite(number) else f"np.float64({str(number)!r})"
    return f"{name}({shown})"


def _arithmetic(sign: str, x: str, y: str, kind: Element) -> str:
    """A sum, difference or product. Numba takes for granted that signed ones of 64 bits never
    overflow, and LLVM draws its conclusions: unsigned ones wrap, to the same bits.
    """
    if kind.name == "i64":
        x, y = f"np.uint64({x})", f"np.uint64({y})"
    return f"{x} {sign} {y}"


class Lines:
    """Assignments to names ``prefix0``, ``prefix1``, …, each text once."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.names: dict[str, str] = {}
        self.taken = 0

    def hold(self, text: str) -> str:
        """A name of the text's value."""
        return self.names.setdefault(text, f"{self.prefix}{len(self.names)}")

    def take(self) -> list[str]:
        """The assignments since the last time, in order; names stay known."""
        fresh = [f"{name} = {text}" for text, name in self.names.items()]
        taken, self.taken = self.taken, len(fresh)
        return fresh[taken:]


class Speller:
    """Spells expressions of one operator on an element.

    ``load`` gives the text of a field of a value or of the result. What is the same at every
    place of a vector goes to ``outer``, the rest to ``inner``. ``helpers`` collects the functions
    that the lines call, by name.
    """

    def __init__(
        self,
        element: Element,
        load: Callable[[Variable | Made], str],
        outer: Lines,
        helpers: dict[str, str],
    ) -> None:
        self.element, self.load, self.outer, self.helpers = element, load, outer, helpers
        self.inner = outer

    def value(self, expression: Expression, context: Element) -> str:
        """A name or constant of the expression's value, as its surroundings take it."""
        match expression:
            case Variable() | Made():
                return self.load(expression)
            case Number(value):
                return spell_constant(int(value) if context.exact else float(value), context)
            case Count():
                return self.outer.hold(f"np.{context.dtype.name}(n)")
            case Apply(function) if function in CONDITIONS:
                yes, no = spell_constant(1, context), spell_constant(0, context)
                truth = self.truth(expression, context)
                return self.lines(expression).hold(f"{yes} if {truth} else {no}")
            case Apply("where", (condition, *_)):
                truth_kind, kind, _ = argument_kinds(expression, self.element, context)
                truth = self.truth(condition, truth_kind)
                yes, no = (self.value(part, kind) for part in expression.arguments[1:])
                return self.lines(expression).hold(f"{yes} if {truth} else {no}")
            case Apply(function, arguments):
                kinds = argument_kinds(expression, self.element, context)
                parts = [self.value(p, k) for p, k in zip(arguments, kinds, strict=True)]
                return self.lines(expression).hold(self._applied(function, parts, kinds[0]))

    def truth(self, expression: Expression, context: Element) -> str:
        """A name of whether the expression is not 0."""
        match expression:
            case Apply(function, arguments) if function in COMPARISONS:
                kinds = argument_kinds(expression, self.element, context)
                parts = [self.value(p, k) for p, k in zip(arguments, kinds, strict=True)]
                text = f"{parts[0]} {_SIGNS[function]} {parts[1]}"
            case Apply(function, arguments) if function in LOGIC:
                kinds = argument_kinds(expression, self.element, context)
                parts = [self.truth(p, k) for p, k in zip(arguments, kinds, strict=True)]
                text = f"not {parts[0]}"
                if function != "not":
                    text = f"{parts[0]} {_SIGNS[function]} {parts[1]}"
            case _:
                text = f"{self.value(expression, context)} != {spell_constant(0, context)}"
        return self.lines(expression).hold(text)

    def lines(self, expression: Expression) -> Lines:
        """Where an expression's line belongs."""
        return self.inner if is_wide(expression, self.element) else self.outer

    def _applied(self, function: str, parts: list[str], kind: Element) -> str:
        """A function's text. Numba computes with small integers in 64 bits, so that every
        operation on integers is brought back to the kind's range at once.
        """
        name = f"np.{kind.dtype.name}"
        text = self._called(function, parts, kind)
        return f"{name}({text})" if kind.exact else text

    def _called(self, function: str, parts: list[str], kind: Element) -> str:
        listed = ", ".join(parts)
        match function:
            case "abs":
                return parts[0] if kind.dtype.kind == "u" else f"abs({parts[0]})"
            case "neg" if kind.exact:
                return _arithmetic("-", spell_constant(0, kind), parts[0], kind)
            case "neg":
                return f"-{parts[0]}"
            case "inv":
                return f"~{parts[0]}"
            case _ if function in _NUMPY:
                return f"np.{function}({listed})"
            case "div" if not kind.exact:
                return f"{parts[0]} / {parts[1]}"
            case _ if function in _HELPERS:
                return f"{self._helper(function, kind)}({listed})"
            case _:
                return _arithmetic(_SIGNS[function], parts[0], parts[1], kind)

    def _helper(self, function: str, kind: Element) -> str:
        bits = kind.bytes * 8
        name = f"np.{kind.dtype.name}"
        signed = kind.dtype.kind == "i"
        text = _HELPERS[function].format(
            name=kind.dtype.name,
            kind=name,
            inside=f"{name}(0) <= y and y < {name}({bits})" if signed else f"y < {name}({bits})",
            sign="-1 if x < 0 else 0" if signed else "0",
            minus_one=f"y == {name}(-1)" if signed else "False",
            product=_arithmetic("*", "floor", "y", kind),
        )
        called = text.partition("def ")[2].partition("(")[0]
        self.helpers[called] = text
        return called
