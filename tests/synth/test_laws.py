"""Laws of operators: proved, refuted by exact counterexamples, or open; never wrong."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.model import (
    Apply,
    Assignment,
    Field,
    Made,
    Number,
    Operator,
    Struct,
    Variable,
    scalar_body,
)
from roundelay.synth.laws import conclude, describe, examine, unsound_elements
from roundelay.synth.proofs import worker, z3_door
from roundelay.synth.proofs.probes import LETTERS, fails, probe, shrink
from roundelay.synth.proofs.reading import REAL, Kind, Question, SenselessError, read
from roundelay.synth.proofs.values import evaluate

if TYPE_CHECKING:
    from roundelay.dsl.model import Expression, Function
    from roundelay.synth.laws import Finding
    from roundelay.synth.proofs.reading import Law

A, B = Variable(0), Variable(1)
SIGNED = [f"{width}-bit signed integers" for width in (8, 32, 64)]
UNSIGNED = [f"{width}-bit unsigned integers" for width in (8, 32, 64)]


def f(function: Function, *arguments: Expression | int) -> Apply:
    parts = (Number(Fraction(a)) if isinstance(a, int) else a for a in arguments)
    return Apply(function, tuple(parts))


def plain(
    body: Expression, name: str = "op", *, identity: int | None = None, idempotent: bool = False
) -> Operator:
    unit = None if identity is None else Fraction(identity)
    return Operator(name, scalar_body(body), unit, commutative=True, idempotent=idempotent)


def on_struct(
    fields: list[Field], body: list[tuple[int, Expression]], *, commutative: bool = False
) -> Operator:
    assignments = tuple(Assignment(field, value) for field, value in body)
    struct = Struct("thing", tuple(fields))
    return Operator("op", assignments, commutative=commutative, struct=struct)


def verdicts(findings: tuple[Finding, ...]) -> dict[tuple[str, str], str]:
    return {(finding.law, finding.domain): finding.verdict for finding in findings}


STAR = f("add", f("add", A, B), f("mul", A, B))
EITHER = f("or", f("ne", A, 0), f("ne", B, 0))


@pytest.mark.parametrize(
    ("operator", "domains"),
    [
        (plain(f("add", A, B), identity=0), 7),
        (plain(f("mul", A, B), identity=1), 7),
        (plain(f("min", A, B), idempotent=True), 7),
        (plain(f("max", A, B), idempotent=True), 7),
        (plain(STAR, identity=0), 7),
        (plain(f("max", f("abs", A), f("abs", B))), 7),
        (plain(f("and", f("ne", A, 0), f("ne", B, 0))), 7),
        (plain(EITHER), 7),
        (plain(f("band", A, B), idempotent=True), 6),
        (plain(f("bor", A, B), idempotent=True, identity=0), 6),
        (plain(f("bxor", A, B), identity=0), 6),
        (plain(f("div", f("mul", A, B), f("add", A, B))), 1),
        (plain(f("div", f("add", A, B), f("add", 1, f("mul", A, B))), identity=0), 1),
        (plain(f("sqrt", f("add", f("mul", A, A), f("mul", B, B)))), 1),
        (plain(f("logaddexp", A, B)), 1),
        (plain(f("log", f("add", f("exp", A), f("exp", B)))), 1),
    ],
)
def test_a_sound_operator_is_proved_wherever_it_means_something(
    operator: Operator, domains: int
) -> None:
    findings = examine(operator, budget=60)
    assert {finding.verdict for finding in findings} == {"proved"}
    laws = 2 + operator.idempotent + (operator.identity is not None)
    assert len(findings) == laws * domains
    assert not conclude(operator, findings)
    assert not unsound_elements(findings)


@pytest.mark.parametrize(
    ("body", "example"),
    [
        (
            f("div", f("add", A, B), 2),
            "for a = 0, b = 0, c = 1: mid(mid(a, b), c) = 1/2, mid(a, mid(b, c)) = 1/4",
        ),
        (
            f("min", f("add", A, B), 100),
            "for a = -1, b = 1, c = 100: mid(mid(a, b), c) = 100, mid(a, mid(b, c)) = 99",
        ),
    ],
)
def test_an_operator_that_is_not_associative_is_a_fault(body: Expression, example: str) -> None:
    operator = plain(body, "mid")
    findings = examine(operator)
    assert ("associative", "refuted", example) in [
        (finding.law, finding.verdict, finding.example) for finding in findings
    ]
    faults = conclude(operator, findings)
    assert [fault.message for fault in faults] == [f"operator 'mid' is not associative: {example}"]


def test_a_saturating_sum_fails_by_wrapping_around() -> None:
    found = verdicts(examine(plain(f("min", f("add", A, B), 100))))
    assert {found["associative", domain] for domain in SIGNED + UNSIGNED} == {"refuted"}
    assert {found["commutative", domain] for domain in SIGNED + UNSIGNED} == {"proved"}


def test_a_law_that_fails_about_the_least_integer_spoils_signed_types_alone() -> None:
    operator = plain(f("add", f("abs", A), f("abs", B)), "norm")
    findings = examine(operator)
    found = verdicts(findings)
    assert {found["associative", domain] for domain in SIGNED} == {"refuted"}
    assert {found["associative", domain] for domain in ("the reals", *UNSIGNED)} == {"proved"}
    assert not conclude(operator, findings)
    unsound = unsound_elements(findings)
    assert list(unsound) == ["i8", "i32", "i64"]
    assert unsound["i8"].startswith("not associative: for a = ")


def test_a_law_may_fail_at_the_least_integer_and_nowhere_else() -> None:
    # Every other integer has an absolute value that is not negative.
    positive = f("where", f("lt", f("abs", A), 0), f("add", B, 1), f("max", A, B))
    broken = plain(positive, "spoilt", idempotent=True)
    found = {f.domain: f for f in examine(broken) if f.law == "idempotent"}
    assert found["the reals"].verdict == "proved"
    assert found["32-bit signed integers"].example == (
        "for a = -2147483648: spoilt(a, a) = -2147483647"
    )


def test_an_identity_is_asked_of_domains_that_hold_it() -> None:
    found = verdicts(examine(plain(f("band", A, B), identity=-1)))
    assert [domain for law, domain in found if law == "identity"] == SIGNED
    operator = plain(f("max", A, B), "most", identity=0)
    findings = examine(operator)
    found = verdicts(findings)
    assert {found["identity", domain] for domain in UNSIGNED} == {"proved"}
    assert {found["identity", domain] for domain in ("the reals", *SIGNED)} == {"refuted"}
    assert not conclude(operator, findings)
    assert unsound_elements(findings)["f32"] == "no identity: for a = -1: most(a, 0) = 0"


def matrix(element: str, *, commutative: bool = False) -> Operator:
    body: list[tuple[int, Expression]] = []
    for i, j in itertools.product(range(2), repeat=2):
        products = [f("mul", Variable(0, 2 * i + k), Variable(1, 2 * k + j)) for k in range(2)]
        body.append((2 * i + j, f("add", *products)))
    return on_struct([Field(name, element) for name in "pqrs"], body, commutative=commutative)


@pytest.mark.parametrize("element", ["f32", "i32", "u8"])
def test_the_product_of_matrices_is_associative(element: str) -> None:
    findings = examine(matrix(element))
    assert verdicts(findings) == {("associative", "its own fields"): "proved"}


def test_the_product_of_matrices_does_not_commute() -> None:
    operator = matrix("f32", commutative=True)
    findings = examine(operator)
    assert verdicts(findings) == {
        ("associative", "its own fields"): "proved",
        ("commutative", "its own fields"): "refuted",
    }
    (fault,) = conclude(operator, findings)
    assert "op(a, b) = {p: " in fault.message
    assert unsound_elements(findings) == {}


def best(*, ties: bool) -> Operator:
    values, places = (Variable(0, 0), Variable(1, 0)), (Variable(0, 1), Variable(1, 1))
    place = f("where", f("ge", *values), *places)
    if ties:
        place = f("where", f("eq", *values), f("min", *places), place)
    fields = [Field("value", "f32"), Field("index", "i32")]
    return on_struct(fields, [(0, f("max", *values)), (1, place)], commutative=True)


def test_the_place_of_the_greatest_commutes_if_ties_are_decided() -> None:
    assert {finding.verdict for finding in examine(best(ties=True))} == {"proved"}
    found = {finding.law: finding for finding in examine(best(ties=False))}
    assert found["associative"].verdict == "proved"
    assert found["commutative"].example == (
        "for a = {value: 0, index: 0}, b = {value: 0, index: 1}: "
        "op(a, b) = {value: 0, index: 0}, op(b, a) = {value: 0, index: 1}"
    )


def weighted(field: int, scale: Expression, *, wrong: bool) -> Expression:
    weights = [f("exp", f("sub", Variable(i, 1), scale)) for i in (0, 1)]
    if wrong:
        weights[1] = f("exp", f("sub", Variable(1, 1), Variable(0, 1)))
    return f("add", *(f("mul", Variable(i, field), w) for i, w in enumerate(weights)))


@pytest.mark.parametrize("wrong", [False, True])
def test_the_merge_of_partial_attentions(wrong: bool) -> None:
    fields = [Field("out", "f32", 64, vector=True), Field("lse", "f32")]
    total = f("logaddexp", Variable(0, 1), Variable(1, 1))
    body = [(1, total), (0, weighted(0, Made(1), wrong=wrong))]
    findings = examine(on_struct(fields, body, commutative=True))
    assert {f.verdict for f in findings} == ({"open"} if wrong else {"proved"})


def test_the_running_softmax() -> None:
    fields = [Field("out", "f16", 8, vector=True), Field("top", "f32"), Field("sum", "f32")]
    body: list[tuple[int, Expression]] = [(1, f("max", Variable(0, 1), Variable(1, 1)))]
    body += [(field, weighted(field, Made(1), wrong=False)) for field in (0, 2)]
    findings = examine(on_struct(fields, body, commutative=True))
    assert {f.verdict for f in findings} == {"proved"}


def test_fields_of_different_types_keep_their_own_arithmetic() -> None:
    fields = [Field("low", "u8"), Field("high", "i64"), Field("count", "f16")]
    pairs = [(Variable(0, i), Variable(1, i)) for i in range(3)]
    body: list[tuple[int, Expression]] = [
        (0, f("add", f("abs", pairs[0][0]), f("abs", pairs[0][1]))),
        (1, f("max", *pairs[1])),
        (2, f("add", *pairs[2])),
    ]
    assert {f.verdict for f in examine(on_struct(fields, body))} == {"proved"}
    fields[0] = Field("low", "i8")
    assert {f.verdict for f in examine(on_struct(fields, body))} == {"refuted"}
    body[0] = (0, f("add", pairs[0][0], pairs[1][1]))
    assert {f.verdict for f in examine(on_struct(fields, body))} == {"open"}


def test_what_is_defined_nowhere_and_what_is_irrational_stay_open() -> None:
    nowhere = plain(f("div", A, f("sub", B, B)))
    assert {finding.verdict for finding in examine(nowhere)} == {"open"}
    # Fails, but at no point whose values are rational.
    odd = plain(f("exp", f("add", A, B)))
    assert verdicts(examine(odd))["associative", "the reals"] == "open"


def test_a_point_counts_where_only_what_is_not_chosen_is_undefined() -> None:
    guarded = Operator("g", scalar_body(f("where", f("eq", B, 0), A, f("div", A, B))))
    (finding,) = examine(guarded)
    assert finding.verdict == "refuted"
    safe = f("where", f("eq", f("add", A, B), 0), 0, f("div", f("mul", A, B), f("add", A, B)))
    (finding, _) = examine(plain(safe))
    assert finding.verdict == "refuted"
    assert " b = " in finding.example


def test_an_operator_without_any_domain_is_a_fault() -> None:
    operator = plain(f("band", f("exp", A), B))
    findings = examine(operator)
    assert findings == ()
    (fault,) = conclude(operator, findings)
    assert fault.message == "operator 'op' has a meaning on no element type"


def test_a_line_a_law() -> None:
    operator = plain(f("add", f("abs", A), f("abs", B)), "norm")
    first, second = describe(operator, examine(operator))
    proved = "proved over the reals (floats: within rounding) and unsigned integers; "
    assert first.startswith(f"operator norm: associative: {proved}refuted over signed integers: ")
    assert second == (
        "operator norm: commutative: proved over the reals (floats: within rounding) and integers"
    )


# ------------------------------------------------------------------------------- the engine room

_BOTH: tuple[Function, ...] = (
    "add", "sub", "mul", "neg", "min", "max", "abs", "lt", "le", "gt", "ge", "eq", "ne",
    "and", "or", "not", "where",
)  # fmt: skip
_BITS: tuple[Function, ...] = ("band", "bor", "bxor", "inv", "shl", "shr")
_ARITY = {"neg": 1, "abs": 1, "not": 1, "inv": 1, "sqrt": 1, "where": 3}
_LAWS: tuple[Law, ...] = ("associative", "commutative", "idempotent", "identity")


def some(chance: random.Random, functions: tuple[Function, ...], depth: int) -> Expression:
    if depth == 0 or chance.random() < 0.15:
        leaves = (A, B, A, B, Number(Fraction(chance.randint(0, 3))))
        return chance.choice(leaves)
    function = chance.choice(functions)
    count = _ARITY.get(function, 2)
    return Apply(function, tuple(some(chance, functions, depth - 1) for _ in range(count)))


def questions(seed: int, functions: tuple[Function, ...], kind: Kind) -> list[Question]:
    chance = random.Random(seed)
    made: list[Question] = []
    while len(made) < 150:
        operator = plain(some(chance, functions, chance.randint(1, 3)))
        unit = (Fraction(chance.randint(0, 1)),)
        try:
            made.append(Question(chance.choice(_LAWS), read(operator, kind), unit))
        except SenselessError:
            continue
    return made


@pytest.mark.parametrize("signed", [False, True])
def test_on_small_integers_every_verdict_is_that_of_looking_at_all_values(signed: bool) -> None:
    kind = Kind(3, signed)
    values = [(Fraction(value),) for value in range(kind.low, kind.high + 1)]
    seen = set()
    for question in questions(11 + signed, _BOTH + _BITS, kind):
        points = itertools.product(values, repeat=LETTERS[question.law])
        broken = any(fails(question, point) for point in points)
        answer = z3_door.decide(question, 30)
        assert answer is not False
        assert (answer is True) != broken, question
        if answer is not True:
            assert fails(question, answer), question
        seen.add(broken)
    assert seen == {False, True}


def test_on_reals_nothing_is_proved_that_a_point_refutes() -> None:
    count = {True: 0, False: 0}
    for question in questions(5, (*_BOTH, "div", "sqrt"), REAL):
        proved, point = z3_door.decide(question, 30) is True, probe(question)
        assert not (proved and point), question
        count[proved] += 1
    assert min(count.values()) > 10


@pytest.mark.parametrize(
    ("function", "x", "y", "signed", "unsigned"),
    [
        ("shl", 1, 7, -128, 128),
        ("shl", 1, 8, 0, 0),
        ("shr", 96, 5, 3, 3),
        ("shr", 96, 8, 0, 0),
        ("add", 127, 1, -128, 128),
        ("sub", 0, 1, -1, 255),
        ("mul", 100, 3, 44, 44),
        ("inv", 5, 5, -6, 250),
    ],
)
def test_integers_wrap_and_shifts_saturate(
    function: Function, x: int, y: int, signed: int, unsigned: int
) -> None:
    body = f(function, A) if function == "inv" else f(function, A, B)
    for kind, expected in ((Kind(8, True), signed), (Kind(8, False), unsigned)):
        reading = read(plain(body), kind)
        assert evaluate(reading, (Fraction(x),), (Fraction(y),)) == (Fraction(expected),)
    assert evaluate(read(plain(f("shr", A, B)), Kind(8)), (Fraction(-3),), (Fraction(-1),)) == (
        Fraction(-1),
    )
    assert evaluate(read(plain(f("shl", A, B)), Kind(8)), (Fraction(-3),), (Fraction(-1),)) == (
        Fraction(0),
    )


def test_a_counterexample_shrinks_and_stays_one() -> None:
    question = Question("commutative", read(plain(f("sub", A, B))))
    point = ((Fraction(355, 113),), (Fraction(-7919),))
    assert shrink(question, point) == ((Fraction(0),), (Fraction(1),))


class Sleeper:
    """As a question, puts the process to sleep that reads it."""

    def __reduce__(self) -> tuple[object, tuple[float]]:
        return time.sleep, (120.0,)


def test_the_budget_holds_when_the_process_hears_nothing() -> None:
    before = time.monotonic()
    sleepers: list[Question] = [Sleeper(), Sleeper()]  # type: ignore[list-item]
    assert worker.decide_all(sleepers, 0.5) == [False, False]
    assert time.monotonic() - before < 60


def test_a_question_that_takes_too_long_does_not_spoil_the_others() -> None:
    hard = f("mul", f("bor", A, 1), f("bor", B, 1))
    found = verdicts(examine(plain(hard), budget=2))
    assert {found["commutative", domain] for domain in SIGNED + UNSIGNED} == {"proved"}
    assert "refuted" not in found.values()


def test_the_process_ends_itself_when_z3_does_not_listen() -> None:
    code = (
        "import time; from roundelay.synth.proofs.worker import _Watch; "
        "watch = _Watch(); watch.limit = time.monotonic(); time.sleep(100)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 1


def test_without_time_everything_that_needs_a_proof_is_open() -> None:
    findings = examine(plain(f("add", A, B)), budget=0)
    assert {finding.verdict for finding in findings} == {"open"}


def test_the_same_question_gets_the_same_findings() -> None:
    assert examine(best(ties=False)) == examine(best(ties=False))
