"""Operators: expressions, elements, and laws that are tested before they are believed."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl import syntax
from roundelay.dsl.evaluation import compile_body
from roundelay.dsl.faults import Report
from roundelay.dsl.intervals import Interval, UndefinedError, known
from roundelay.dsl.laws import tested as how_tested
from roundelay.dsl.model import (
    Apply,
    Assignment,
    Count,
    Field,
    Made,
    Number,
    Operator,
    Struct,
    Variable,
)
from roundelay.dsl.operators import build_operator, check_operator
from roundelay.dsl.parser import parse
from roundelay.dsl.source import InputError, Source
from roundelay.dsl.standard import names, standard
from roundelay.dsl.structs import build_struct

if TYPE_CHECKING:
    from roundelay.dsl.evaluation import Record

PAIR = "element pair { left: f32[4], right: f32 }\n"
MIXED = "element mixed { x: f32, i: i32, u: u8, h: f16 }\n"


def build(text: str, **arguments: Fraction) -> Operator:
    """The one operator of a text that may declare elements, too; elements of the library else."""
    report, structs = Report(), {}
    declarations = parse(Source("test", text)).declarations
    for each in declarations:
        if isinstance(each, syntax.Struct):
            structs[each.name.text] = build_struct(each, report)

    def find(name: syntax.Name) -> Struct | None:
        declared = standard("element", name.text)
        if isinstance(declared, syntax.Struct):
            structs.setdefault(name.text, build_struct(declared, report))
        return structs[name.text]

    (declaration,) = (each for each in declarations if isinstance(each, syntax.Operator))
    if declaration.numbers and not arguments:
        check_operator(declaration, find, report)
    made = build_operator(declaration, arguments, find, report)
    if made is None or report.faults:
        raise InputError(*report.faults)
    return made


def library(name: str, **arguments: Fraction) -> Operator:
    declaration = standard("operator", name)
    assert isinstance(declaration, syntax.Operator)
    return build(declaration.span.source.text, **arguments)


def blamed(text: str) -> str:
    with pytest.raises(InputError) as caught:
        build(text)
    return str(caught.value)


def apply_operator(operator: Operator, left: Record, right: Record, element: str = "f64") -> Record:
    """The operator's value, floats taken as reals; plain numbers are of type ``element``."""
    struct = operator.struct
    fields = (element,) if struct is None else tuple(field.element for field in struct.fields)
    return compile_body(operator.body, fields)((left, right))


def value(operator: Operator, left: int, right: int, element: str = "f64") -> object:
    convert = Fraction if element == "f64" else int
    return apply_operator(operator, (convert(left),), (convert(right),), element)[0]


# ---------------------------------------------------------------------------------- library


@pytest.mark.parametrize(
    ("name", "identity", "idempotent", "result"),
    [
        ("sum", 0, False, 4),
        ("prod", 1, False, -24),
        ("min", None, True, -3),
        ("max", None, True, 4),
        ("avg", 0, False, 4),
    ],
)
def test_the_library(name: str, identity: int | None, idempotent: bool, result: int) -> None:
    it = library(name)
    assert (it.commutative, it.idempotent) == (True, idempotent)
    assert it.identity == identity
    values: list[Record] = [(Fraction(each),) for each in (4, -3, 2, 1)]
    assert reduce(lambda a, b: apply_operator(it, a, b), values) == (result,)


def test_every_operator_of_the_library_holds() -> None:
    wanted = "avg band bor bxor land lor max maxloc merge min minloc premulsum prod sum"
    assert set(wanted.split()) <= set(names("operator"))
    for name in names("operator"):
        declaration = standard("operator", name)
        assert isinstance(declaration, syntax.Operator)
        numbers = {each.name.text: Fraction(1, 2) for each in declaration.numbers}
        for law, _, samples in how_tested(library(name, **numbers)):
            assert samples > 100, (name, law)


def test_the_mean_divides_by_how_many_it_is_of() -> None:
    it = library("avg")
    assert it.prepare is None
    assert it.finish == (Assignment(0, Apply("div", (Variable(0), Count()))),)
    assert compile_body(it.finish, ["f64"])(((Fraction(12),),), 8) == (Fraction(3, 2),)
    # Integers are divided toward zero at the end, as in C.
    assert compile_body(it.finish, ["i32"])(((-7,),), 2) == (-3,)


def test_a_scaled_sum_takes_its_scale() -> None:
    it = library("premulsum", scalar=Fraction(1, 4))
    assert (str(it), it.arguments, it.finish) == ("premulsum(0.25)", (Fraction(1, 4),), None)
    scale = Number(Fraction(1, 4))
    assert it.prepare == (Assignment(0, Apply("mul", (Variable(0), scale))),)


@pytest.mark.parametrize(
    ("name", "element", "left", "right", "result"),
    [
        ("band", "i8", -4, 7, 4),
        ("bor", "i8", -128, 7, -121),
        ("bxor", "u8", 255, 7, 248),
    ],
)
def test_operators_on_bits(name: str, element: str, left: int, right: int, result: int) -> None:
    assert value(library(name), left, right, element) == result


@pytest.mark.parametrize(("name", "results"), [("land", [0, 0, 0, 1]), ("lor", [0, 1, 1, 1])])
def test_logic_prepares_ones_and_zeros(name: str, results: list[int]) -> None:
    it = library(name)
    assert it.prepare is not None
    prepare = compile_body(it.prepare, ["f64"])
    pairs = [(0, 0), (0, -7), (3, 0), (2, 5)]
    made = []
    for x, y in pairs:
        left, right = (prepare(((Fraction(each),),)) for each in (x, y))
        made.append(apply_operator(it, left, right)[0])
    assert made == results


def test_attention_merges_exactly() -> None:
    it = library("merge")
    assert it.struct == Struct(
        "partial", (Field("out", "f32", 64, vector=True), Field("lse", "f32"))
    )
    assert [each.field for each in it.body] == [1, 0]
    assert it.body[1].value == Apply(
        "add",
        tuple(
            Apply("mul", (Variable(i, 0), Apply("exp", (Apply("sub", (Variable(i, 1), Made(1))),))))
            for i in (0, 1)
        ),
    )
    # Weights of 1 and 1: the mean of the two outputs, and log 2.
    out, lse = apply_operator(it, (Fraction(6), Fraction(0)), (Fraction(2), Fraction(0)))
    assert isinstance(out, Interval)
    assert isinstance(lse, Interval)
    assert out.low < 4 < out.high
    assert known(out)
    assert float(lse.low) == pytest.approx(0.6931471805599453, rel=1e-14)


@pytest.mark.parametrize(("name", "winner"), [("maxloc", (5, 2)), ("minloc", (1, 4))])
def test_places_of_extremes(name: str, winner: tuple[int, int]) -> None:
    it = library(name)
    records: list[Record] = [(Fraction(v), i) for v, i in [(5, 3), (1, 7), (5, 2), (1, 4), (3, 0)]]
    assert reduce(lambda a, b: apply_operator(it, a, b), records) == winner


# ---------------------------------------------------------------------------------- bodies


def test_a_body_in_full() -> None:
    it = build("operator f(p, q) = p + (q - 0) * 1 / 1 + max(0, min(-abs(0), 0)) { identity 0 }")
    zero, one = Number(Fraction(0)), Number(Fraction(1))
    right = Apply("div", (Apply("mul", (Apply("sub", (Variable(1), zero)), one)), one))
    rest = Apply("max", (zero, Apply("min", (Apply("neg", (Apply("abs", (zero,)),)), zero))))
    assert it.scalar == Apply("add", (Apply("add", (Variable(0), right)), rest))
    assert (it.commutative, it.idempotent) == (False, False)
    assert it.identity == 0


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("a & b", "band"), ("a | b", "bor"), ("a ^ b", "bxor"), ("a and b", "and"),
        ("a or b", "or"), ("min(a, b)", "min"), ("logaddexp(a, b)", "logaddexp"),
        ("a + b", "add"), ("a * b", "mul"),
    ],
)  # fmt: skip
def test_functions_of_two_values(text: str, function: str) -> None:
    it = build(f"operator f(a, b) = {text}")
    assert it.scalar == Apply(function, (Variable(0), Variable(1)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("-", "neg"), ("not ", "not"), ("~", "inv"), ("abs", "abs"), ("exp", "exp"), ("log", "log"),
        ("sqrt", "sqrt"),
    ],
)  # fmt: skip
def test_functions_of_one_value(text: str, function: str) -> None:
    it = build(f"operator f(a, b) = a {{ prepare (v) = {text}(v) }}")
    assert it.prepare == (Assignment(0, Apply(function, (Variable(0),))),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sign", "function"),
    [("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge"), ("==", "eq"), ("!=", "ne"),
     ("<<", "shl"), (">>", "shr"), ("-", "sub"), ("/", "div")],
)  # fmt: skip
def test_functions_that_are_not_associative(sign: str, function: str) -> None:
    it = build(f"operator f(a, b) = a {{ prepare (v) = where(v {sign} 1, v, 2) }}")
    condition = Apply(function, (Variable(0), Number(Fraction(1))))  # type: ignore[arg-type]
    assert it.prepare == (
        Assignment(0, Apply("where", (condition, Variable(0), Number(Fraction(2))))),
    )
    assert "not associative" in blamed(f"operator f(a, b) = a {sign} b")


def test_a_negative_number_is_one_number() -> None:
    # 128 is no i8: taken apart, the operator would exist on fewer types than it says.
    it = build("operator f(a, b) = a ^ b ^ -128")
    assert it.scalar == Apply(
        "bxor", (Apply("bxor", (Variable(0), Variable(1))), Number(Fraction(-128)))
    )


def test_fields_in_any_order_and_results_made_before() -> None:
    it = build(
        PAIR + "operator f(a: pair, b: pair) {\n"
        "  right = a.right + b.right\n"
        "  left = a.left + b.left + 0 * right\n"
        "  commutative\n"
        "  prepare (v) { left = v.left * 2 right = v.right }\n"
        "  finish (v, n) { right = v.right / n left = v.left / right }\n"
        "}"
    )
    assert it.body[0] == Assignment(1, Apply("add", (Variable(0, 1), Variable(1, 1))))
    assert Made(1) in _parts(it.body[1].value)
    assert it.finish is not None
    assert it.finish[1] == Assignment(0, Apply("div", (Variable(0, 0), Made(1))))
    assert it.commutative


def _parts(node: object) -> list[object]:
    inner = (
        [part for each in node.arguments for part in _parts(each)]
        if isinstance(node, Apply)
        else []
    )
    return [node, *inner]


def test_16_bit_floats_are_computed_as_f32() -> None:
    body = "{ x = a.x * b.h  i = a.i  u = a.u  h = a.h * b.h }"
    assert build(MIXED + f"operator f(a: mixed, b: mixed) {body}").struct is not None


def test_conditions_may_be_of_another_type() -> None:
    build(
        MIXED + "operator f(a: mixed, b: mixed) {\n"
        "  x = max(a.x, b.x)\n"
        "  i = where(a.x > b.x and 1 < 2 or a.x == b.x and a.i < b.i, a.i, b.i)\n"
        "  u = where(a.x > b.x or a.x == b.x and a.i < b.i, a.u, b.u)\n"
        "  h = min(a.h, b.h) }"
    )


@pytest.mark.parametrize(
    "assignment",
    [
        "x = a.x + b.i", "x = a.i", "i = a.x", "x = where(a.x > 0, a.x, a.i)", "u = a.u + a.i",
        "x = a.x & b.x", "i = exp(a.i)", "i = sqrt(2)", "i = a.i / b.i", "x = ~a.x",
        "x = where(a.x > b.i, a.x, b.x)", "x = where(1 & 2, a.x, b.x)", "i = a.i * 0.5",
        "u = a.u * -1", "i = where(a.x > 0, 1 / 2, 0)", "h = a.h | 1",
    ],
)  # fmt: skip
def test_types_that_do_not_fit(assignment: str) -> None:
    name = assignment.split()[0]
    rest = " ".join(f"{each} = a.{each}" for each in "xiuh" if each != name)
    # One fault, at the place: all else is well.
    with pytest.raises(InputError) as caught:
        build(MIXED + f"operator f(a: mixed, b: mixed) {{ {assignment} {rest} }}")
    (fault,) = caught.value.faults
    assert any(word in fault.message for word in ("mixes", "of", "is no"))
    assert "associative" not in fault.message


def test_a_body_is_bounded() -> None:
    with pytest.raises(InputError, match="body too large"):
        build(f"operator f(a, b) = {' + '.join(f'({a})' for a in ['a * b'] * 50)}")


def test_the_fields_together_are_bounded() -> None:
    fields = ", ".join(f"f{i}: f64" for i in range(20))
    body = " ".join(f"f{i} = {' + '.join(['a.f0'] * 20)}" for i in range(20))
    text = f"element s {{ {fields} }} operator f(a: s, b: s) {{ {body} }}"
    assert "too large: 780 parts" in blamed(text)


def test_repeated_squaring_fills_no_memory() -> None:
    fields = ", ".join(f"f{i}: f64" for i in range(32))
    steps = " ".join(f"f{i} = f{i - 1} * f{i - 1}" for i in range(1, 32))
    text = f"element s {{ {fields} }} operator f(a: s, b: s) {{ f0 = a.f0 + b.f0 {steps} }}"
    # All fields depend on the sum alone: the operator is associative, however large they grow.
    assert len(build(text).body) == 32


def test_shifts_are_bounded() -> None:
    it = build("operator f(a, b) = b { prepare (v) = 1 << v }")
    assert it.prepare is not None
    shift = compile_body(it.prepare, ["i64"])
    assert [shift(((v,),)) for v in (62, 63, 64, 2**62, -1)] == [
        (2**62,), (-(2**63),), (0,), (0,), (0,),
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- numbers


def test_numbers_of_an_operator() -> None:
    text = "operator f(k, m = k / 4)(a, b) = a + b + k * m { identity -k * m }"
    it = build(text, k=Fraction(2))
    assert it.arguments == (Fraction(2), Fraction(1, 2))
    assert it.identity == -1
    assert build(text, k=Fraction(3), m=Fraction(0)).identity == 0


def test_laws_must_hold_for_every_number() -> None:
    text = "operator f(k)(a, b) = a + k * b"
    assert "operator 'f(2)' is not associative" in blamed(text)
    assert build(text, k=Fraction(1)).arguments == (Fraction(1),)


def test_numbers_that_mean_nothing_are_passed_over() -> None:
    report = Report()
    for text in ("a & b & k", "a + b + sqrt(k)", "a * b / (k - 2)"):
        (declaration,) = parse(Source("test", f"operator f(k)(a, b) = {text}")).declarations
        assert isinstance(declaration, syntax.Operator)
        check_operator(declaration, lambda _: None, report)
    assert not report.faults


def test_a_number_that_no_type_holds() -> None:
    with pytest.raises(InputError, match="the number 1000000"):
        build("operator f(k)(a, b) = a + b + k", k=Fraction(10**400))


# ---------------------------------------------------------------------------------- laws


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
        "where(a == 0, b, a) { identity 0; idempotent }",
        "a != 0 and b != 0 { commutative }",
        "a & b | 3 { commutative }",
        "a + b & 127 { commutative }",
        "a + b ^ 0 { commutative; identity 0 }",
        "~(a ^ b) { commutative }",
        "logaddexp(a, b) { commutative }",
        "log(exp(a) + exp(b)) { commutative }",
        "log(exp(a) + exp(b) - 1) { commutative; identity 0 }",
        "sqrt(a * a + b * b) { commutative }",
        "exp(log(abs(a)) + log(abs(b))) { commutative }",
        "max(a, b) + 0 * exp(a + b) { commutative; idempotent }",
    ],
)
def test_laws_that_hold(body: str) -> None:
    build(f"operator f(a, b) = {body}")


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
        ("a * b / (a + b) { identity 0 }", "identity"),
        ("a != 0 and b != 0 { idempotent }", "idempotent"),
        ("a & b { identity -1 }", "identity"),
        ("a & b { identity 255 }", "identity"),
        ("a | b { identity 1 }", "identity"),
        ("a ^ b { idempotent }", "idempotent"),
        ("a + b & 126", "associative"),
        ("a ^ b >> 7", "associative"),
        ("logaddexp(a, b) { idempotent }", "idempotent"),
        ("logaddexp(a, b) + 0.000000000000001", "associative"),
        ("sqrt(a * a + b * b + 1) - 0.0000000001", "associative"),
        ("log(exp(a) + exp(2 * b))", "associative"),
        ("where(a + b > 45, 45, a + b)", "associative"),
        ("where(exp(a) > exp(b), a, b) { identity 0 }", "identity"),
    ],
)
def test_laws_that_do_not(body: str, law: str) -> None:
    with pytest.raises(InputError) as caught:
        build(f"operator f(a, b) = {body}")
    assert any(law in fault.message for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("body", "law"),
    [
        ("lse = logaddexp(a.lse, b.lse) out = a.out + b.out * exp(lse)", "associative"),
        ("lse = max(a.lse, b.lse) out = a.out * exp(a.lse - lse) + b.out", "associative"),
        ("lse = a.lse + b.lse out = a.out - b.out", "associative"),
        ("lse = a.lse out = b.out commutative", "commutative"),
        ("lse = max(a.lse, b.lse) out = a.out + b.out idempotent", "idempotent"),
    ],
)
def test_laws_of_fields_that_do_not_hold(body: str, law: str) -> None:
    text = f"element s {{ out: f32[8], lse: f32 }} operator f(a: s, b: s) {{ {body} }}"
    assert f"is not {law}" in blamed(text)


@pytest.mark.parametrize(
    "body",
    [
        # Chan's merge of counts, means and sums of squares: undefined where the counts cancel.
        "n = a.n + b.n  mean = (a.mean * a.n + b.mean * b.n) / n  "
        "m = a.m + b.m + (a.mean - b.mean) * (a.mean - b.mean) * a.n * b.n / n  commutative",
        # Softmax with its greatest value kept apart.
        "m = max(a.m, b.m)  n = a.n * exp(a.m - m) + b.n * exp(b.m - m)  "
        "mean = a.mean + b.mean  commutative",
        # Products of matrices ((n, m), (0, 1)), which do not commute.
        "n = a.n * b.n  m = a.n * b.m + a.m  mean = a.mean",
    ],
)
def test_laws_of_fields_that_hold(body: str) -> None:
    text = "element s { n: f64, mean: f64, m: f64 }"
    it = build(f"{text} operator f(a: s, b: s) {{ {body} }}")
    assert all(samples > 50 for _, _, samples in how_tested(it))


def test_integer_fields_wrap_around() -> None:
    def text(element: str, value: str) -> str:
        return f"element s {{ c: {element} }} operator f(a: s, b: s) {{ c = {value} }}"

    # A mask of low bits stays a sum however it wraps; a limit of signed ones does not.
    build(text("u8", "a.c + b.c & 127"))
    assert "is not associative" in blamed(text("i8", "min(a.c + b.c, 100)"))


def test_a_counterexample_is_true() -> None:
    with pytest.raises(InputError) as caught:
        build("operator f(a, b) = a - b")
    (fault,) = caught.value.faults
    assert fault.message.endswith("f(f(0, 0), 1) = -1, f(0, f(0, 1)) = 1")


def test_how_laws_were_tested() -> None:
    exact = how_tested(build("operator f(a, b) = a + b { commutative; identity 0 }"))
    assert [each[:2] for each in exact] == [
        ("associative", "exactly"), ("commutative", "exactly"), ("identity", "exactly"),
    ]  # fmt: skip
    ((law, how, samples),) = how_tested(build("operator f(a, b) = logaddexp(a, b)"))
    assert (law, how) == ("associative", "within rounding")
    assert samples > 100


def test_an_undefined_operator() -> None:
    with pytest.raises(UndefinedError, match="division by zero"):
        value(build("operator f(a, b) = a * b / (a + b)"), 1, -1)
    assert "it has no value anywhere (a division by zero)" in blamed("operator f(a, b) = a / 0 + b")


def test_what_is_not_chosen_need_not_be_defined() -> None:
    it = build("operator f(a, b) = where(a == 0, b, where(b == 0, a, 1 / (1 / a + 1 / b)))")
    assert value(it, 0, 0) == 0
    assert value(it, 2, 2) == 1


# ---------------------------------------------------------------------------------- structs


def test_an_element_in_full() -> None:
    declared = parse(Source("test", "element s { x: bf16, v: f32[1], w: i64[2 * 3] }")).declarations
    assert isinstance(declared[0], syntax.Struct)
    assert build_struct(declared[0], Report()) == Struct(
        "s",
        (Field("x", "bf16"), Field("v", "f32", 1, vector=True), Field("w", "i64", 6, vector=True)),
    )
