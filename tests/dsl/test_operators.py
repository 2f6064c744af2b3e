"""Operators: their expressions, and laws that are tested before they are believed."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import pytest

from roundelay.dsl.laws import apply_operator
from roundelay.dsl.loader import load, problem
from roundelay.dsl.model import Apply, Number, Operator, Variable
from roundelay.dsl.source import InputError, Source


def operator(text: str) -> Operator:
    source = Source("test", f"{text}\nplan {{ synthesize all_reduce(f) on ring(2) }}")
    (plan,) = load(source).plans
    assert plan.operator is not None
    return plan.operator


@pytest.mark.parametrize(
    ("name", "identity", "idempotent", "result"),
    [
        ("sum", 0, False, 4),
        ("prod", 1, False, -24),
        ("min", None, True, -3),
        ("max", None, True, 4),
    ],
)
def test_the_library(name: str, identity: int | None, idempotent: bool, result: int) -> None:
    it = problem("ring(2)", "all_reduce", (name,)).operator
    assert it is not None
    assert (it.commutative, it.idempotent) == (True, idempotent)
    assert it.identity == identity
    values = [Fraction(4), Fraction(-3), Fraction(2), Fraction(1)]
    assert reduce(lambda a, b: apply_operator(it, a, b), values) == result


def test_a_body_in_full() -> None:
    it = operator("operator f(p, q) = p + (q - 0) * 1 / 1 + max(0, min(-abs(0), 0)) { identity 0 }")
    zero, one = Number(Fraction(0)), Number(Fraction(1))
    right = Apply("div", (Apply("mul", (Apply("sub", (Variable(1), zero)), one)), one))
    rest = Apply("max", (zero, Apply("min", (Apply("neg", (Apply("abs", (zero,)),)), zero))))
    assert it.body == Apply("add", (Apply("add", (Variable(0), right)), rest))
    assert (it.commutative, it.idempotent) == (False, False)
    assert it.identity == 0


@pytest.mark.parametrize(
    "body",
    [
        "a { }",
        "b",
        "a + b + a * b { commutative; identity 0 }",
        "min(a, b) { idempotent; commutative }",
        "a * b / 2 { identity 2; commutative }",
        "a * b / (a + b) { commutative }",
        "a + b - 1 / 3 { identity 1 / 3 }",
    ],
)
def test_laws_that_hold(body: str) -> None:
    operator(f"operator f(a, b) = {body}")


@pytest.mark.parametrize(
    ("body", "law"),
    [
        ("a - b", "associative"),
        ("a / b", "associative"),
        ("abs(a - b)", "associative"),
        ("min(a, b) + max(0, a - 999999999)", "associative"),
        ("max(a, min(b, 999999999)) { commutative }", "commutative"),
        ("min(a, b) { identity 99999999999999999999999999999 }", "identity"),
        ("a * b + 1", "associative"),
        ("(a + b) / 2", "associative"),
        ("max(a, b) + min(a, 0)", "associative"),
        ("a { commutative }", "commutative"),
        ("b { commutative }", "commutative"),
        ("a + b { idempotent }", "idempotent"),
        ("a * b { idempotent }", "idempotent"),
        ("a + b { identity 1 }", "identity"),
        ("a { identity 0 }", "identity"),
        ("b { identity 0 }", "identity"),
        ("max(a, b) { identity 0 }", "identity"),
        ("min(a, b) { identity 1000 }", "identity"),
        ("max(a, b) + 0 * a / (a - 501) { idempotent; identity -999 }", "identity"),
    ],
)
def test_laws_that_do_not(body: str, law: str) -> None:
    with pytest.raises(InputError) as caught:
        operator(f"operator f(a, b) = {body}")
    assert any(law in fault.message for fault in caught.value.faults)


def test_a_counterexample_is_true() -> None:
    with pytest.raises(InputError) as caught:
        operator("operator f(a, b) = a - b")
    (fault,) = caught.value.faults
    assert fault.message.endswith("f(f(0, 0), 1) = -1, f(0, f(0, 1)) = 1")


def test_a_body_is_bounded() -> None:
    with pytest.raises(InputError, match="body too large"):
        operator(f"operator f(a, b) = {' + '.join(f'({a})' for a in ['a * b'] * 50)}")
