"""An operator in Z3's terms: reals as reals, integers as bit-vectors.

``exp``, ``log`` and ``logaddexp`` have no exact counterpart in Z3. A real term therefore carries
its value, its exponential, or both: ``exp(u + v)`` is ``exp(u) * exp(v)``, ``exp(logaddexp(u, v))``
is ``exp(u) + exp(v)``, and so on, and two terms are equal, or ordered, as their exponentials are.
A variable's value and its exponential count as two independent numbers, of which the second is
positive: more points than there are, so that what holds at all of them holds. A point at which
a law fails there need not exist; whoever asks has to check it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import TYPE_CHECKING, Any

import z3

from roundelay.dsl.model import COMPARISONS, CONDITIONS, LOGIC

from .reading import REAL, Call, Constant, Done, Input
from .z3_ratios import Ratio, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .reading import Kind, Node, Reading

_POWERS = ("exp", "log", "logaddexp")


class UnknownError(Exception):
    """A term has neither the value nor the exponential that is needed."""


@dataclass(frozen=True, slots=True)
class Term:
    """A number where ``defined``. Reals have a value, an exponential (``power``) or both."""

    defined: Any
    value: Ratio | None = None
    power: Ratio | None = None
    bits: Any = None


Inputs = tuple["Sequence[Term]", "Sequence[Term]"]
"""The operator's left and right value, a term a field."""


class Terms:
    """Makes the terms of one operator, and gathers the facts that hold of them."""

    def __init__(self, reading: Reading, context: Any) -> None:
        self.reading = reading
        self.context = context
        self.true = z3.BoolVal(True, context)
        self.facts: list[Any] = []
        self.fresh = 0
        self.exponential = any(f in _POWERS for _, node in reading.body for f in _functions(node))
        self.powers: dict[Fraction, Ratio] = {}

    def merge(self, left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
        """The operator's result on two records of terms."""
        kinds = self.reading.kinds
        made = [Term(self.true)] * len(kinds)
        for field, node in self.reading.body:
            made[field] = self.term(node, kinds[field], (left, right), made)
        return made

    def variable(self, kind: Kind, name: str) -> Term:
        """Any number of a kind."""
        if kind.width:
            return Term(self.true, bits=z3.BitVec(name, kind.width, self.context))
        power = self.positive() if self.exponential else None
        return Term(self.true, Ratio(z3.Real(name, self.context)), power)

    def positive(self) -> Ratio:
        """A positive number that nothing else is known about."""
        self.fresh += 1
        number = z3.Real(f"p{self.fresh}", self.context)
        self.facts.append(number > 0)
        return Ratio(number)

    def number(self, value: Fraction, kind: Kind) -> Term:
        """A constant."""
        if kind.width:
            return Term(self.true, bits=z3.BitVecVal(int(value), kind.width, self.context))
        exact = Ratio(z3.RealVal(f"{value.numerator}/{value.denominator}", self.context))
        if not self.exponential:
            return Term(self.true, exact)
        if value not in self.powers:
            self.powers[value] = self.positive() if value else Ratio(z3.RealVal(1, self.context))
        return Term(self.true, exact, self.powers[value])

    def term(self, node: Node, kind: Kind, inputs: Inputs, made: Sequence[Term]) -> Term:
        """An expression, as a number of this kind. Raises ``UnknownError``, as all below."""
        match node:
            case Constant(value):
                return self.number(value, kind)
            case Input(index, field):
                return inputs[index][field]
            case Done(field):
                return made[field]
            case Call():
                return self.call(node, kind, inputs, made)

    def call(self, node: Call, kind: Kind, inputs: Inputs, made: Sequence[Term]) -> Term:
        """A function's value, as a number of this kind."""
        if node.function in CONDITIONS:
            truth, defined = self.truth(node, inputs, made)
            one, zero = (self.number(Fraction(n), kind) for n in (1, 0))
            return replace(self.choose(truth, one, zero), defined=defined)
        if node.function == "where":
            truth, defined = self.truth(node.arguments[0], inputs, made)
            yes, no = (self.term(each, node.kind, inputs, made) for each in node.arguments[1:])
            term = self.choose(truth, yes, no)
            return replace(term, defined=_all(defined, term.defined))
        parts = [self.term(each, node.kind, inputs, made) for each in node.arguments]
        defined = _all(*(part.defined for part in parts))
        x, y = parts[0], parts[-1]
        if node.function in ("min", "max"):
            first = self.compare("le" if node.function == "min" else "ge", node.kind, x, y)
            return replace(self.choose(first, x, y), defined=defined)
        if node.kind.width:
            bits = self.combine_bits(node.function, x.bits, y.bits, signed=node.kind.signed)
            return Term(defined, bits=bits)
        return self.combine_reals(node.function, x, y)

    def choose(self, condition: Any, yes: Term, no: Term) -> Term:
        """One of two terms, of which the other need not be defined."""
        return Term(
            z3.If(condition, yes.defined, no.defined),
            _both(lambda x, y: choose(condition, x, y), yes.value, no.value),
            _both(lambda x, y: choose(condition, x, y), yes.power, no.power),
            None if yes.bits is None else z3.If(condition, yes.bits, no.bits),
        )

    def truth(self, node: Node, inputs: Inputs, made: Sequence[Term]) -> tuple[Any, Any]:
        """Whether an expression is not 0, and whether it is defined."""
        if isinstance(node, Call) and node.function in COMPARISONS:
            x, y = (self.term(each, node.kind, inputs, made) for each in node.arguments)
            return self.compare(node.function, node.kind, x, y), _all(x.defined, y.defined)
        if isinstance(node, Call) and node.function in LOGIC:
            found = [self.truth(each, inputs, made) for each in node.arguments]
            return _logic(node.function, *zip(*found, strict=True))
        term = self.term(node, self.kind(node), inputs, made)
        if term.bits is not None:
            return term.bits != 0, term.defined
        if term.value is None:
            raise UnknownError
        return term.value.top != 0, term.defined

    def kind(self, node: Node) -> Kind:
        """The kind of what is neither a comparison nor logic."""
        if isinstance(node, Input | Done):
            return self.reading.kinds[node.field]
        return node.kind

    def compare(self, function: str, kind: Kind, x: Term, y: Term) -> Any:
        """Whether a comparison holds."""
        if kind.width:
            return _compare(function, x.bits, y.bits, unsigned=not kind.signed)
        found = [
            _compare(function, *p.below(q))
            for p, q in ((x.value, y.value), (x.power, y.power))
            if p is not None and q is not None
        ]
        if not found:
            raise UnknownError
        if len(found) == 2:  # Of values and exponentials alike, but only where both are defined.
            both = _all(x.defined, y.defined)
            self.facts.append(z3.Implies(both, found[0] == found[1]))
        return found[0]

    def combine_bits(self, function: str, x: Any, y: Any, *, signed: bool) -> Any:
        """Arithmetic that wraps. Z3 shifts by too much, or by less than 0, as the language does."""
        match function:
            case "add":
                return x + y
            case "sub":
                return x - y
            case "mul":
                return x * y
            case "neg":
                return -x
            case "abs":
                return z3.If(x < 0, -x, x) if signed else x
            case "band":
                return x & y
            case "bor":
                return x | y
            case "bxor":
                return x ^ y
            case "inv":
                return ~x
            case "shl":
                return x << y
            case "shr":
                return x >> y if signed else z3.LShR(x, y)
            case _:
                raise AssertionError(function)

    def combine_reals(self, function: str, x: Term, y: Term) -> Term:
        """Exact arithmetic on values and exponentials; ``y`` is ``x`` where that is all."""
        defined = _all(x.defined, y.defined)
        match function:
            case "add":
                return Term(defined, _both(add, x.value, y.value), _both(mul, x.power, y.power))
            case "sub":
                power = _both(truediv, x.power, y.power)
                return Term(defined, _both(sub, x.value, y.value), power)
            case "mul":
                return Term(defined, _both(mul, x.value, y.value))
            case "div":
                value = _both(truediv, x.value, y.value)
                if y.value is None:
                    raise UnknownError
                return Term(_all(defined, y.value.top != 0), value)
            case "neg":
                return self.combine_reals("sub", self.number(Fraction(0), REAL), x)
            case "abs":
                positive = self.compare("ge", REAL, x, self.number(Fraction(0), REAL))
                return self.choose(positive, x, self.combine_reals("neg", x, x))
            case "exp":
                return Term(defined, x.power)
            case "log":
                if x.value is None:
                    raise UnknownError
                positive = _compare("gt", *x.value.below(Ratio(z3.RealVal(0, self.context))))
                return Term(_all(defined, positive), None, x.value)
            case "logaddexp":
                return Term(defined, None, _both(add, x.power, y.power))
            case "sqrt":
                return self.root(x)
            case _:
                raise AssertionError(function)

    def root(self, x: Term) -> Term:
        """A number that is not negative and has the right square, where there is one."""
        if x.value is None:
            raise UnknownError
        positive = _compare("ge", *x.value.below(Ratio(z3.RealVal(0, self.context))))
        defined = _all(x.defined, positive)
        self.fresh += 1
        number = z3.Real(f"r{self.fresh}", self.context)
        square = Ratio(number * number).gap(x.value) == 0
        self.facts.append(z3.And(number >= 0, z3.Implies(defined, square)))
        return Term(defined, Ratio(number))


def _all(*claims: Any) -> Any:
    """All claims at once, the trivial ones left out."""
    rest = [claim for claim in claims if not z3.is_true(claim)]
    return claims[0] if not rest else rest[0] if len(rest) == 1 else z3.And(rest)


def _both(
    function: Callable[[Ratio, Ratio], Ratio], x: Ratio | None, y: Ratio | None
) -> Ratio | None:
    return None if x is None or y is None else function(x, y)


def _logic(function: str, truths: Sequence[Any], defined: Sequence[Any]) -> tuple[Any, Any]:
    """Whether it is true and whether it is defined: one part may decide for both."""
    x, y, known = truths[0], truths[-1], _all(*defined)
    match function:
        case "not":
            return z3.Not(x), known
        case "and":
            truth, decides = z3.And(x, y), (z3.Not(x), z3.Not(y))
        case _:
            truth, decides = z3.Or(x, y), (x, y)
    if z3.is_true(known):
        return truth, known
    return truth, z3.Or(known, *map(z3.And, defined, decides))


def _compare(function: str, x: Any, y: Any, *, unsigned: bool = False) -> Any:
    match function:
        case "eq":
            return x == y
        case "ne":
            return x != y
        case "lt":
            return z3.ULT(x, y) if unsigned else x < y
        case "le":
            return z3.ULE(x, y) if unsigned else x <= y
        case "gt":
            return z3.UGT(x, y) if unsigned else x > y
        case _:
            return z3.UGE(x, y) if unsigned else x >= y


def _functions(node: Node) -> Iterator[str]:
    if isinstance(node, Call):
        yield node.function
        for argument in node.arguments:
            yield from _functions(argument)
