"""Which operators an element can do, and which of them commute bit for bit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roundelay.codegen.elements import ELEMENTS, find_element, struct_element
from roundelay.codegen.operators import (
    UnsupportedOperatorError,
    commutes_bitwise,
    find_kind,
    require_problem,
    require_supported,
)
from roundelay.dsl.model import (
    Assignment,
    Body,
    Count,
    Expression,
    Field,
    Made,
    Operator,
    Struct,
    Variable,
    scalar_body,
)
from tests.algebra import (
    RECORDS,
    SUM,
    X,
    Y,
    average,
    call,
    element_of,
    matrix,
    number,
    partial,
    scaled,
)
from tests.schedules import all_gather, all_reduce, problem

PAIR = Struct("pair", (Field("v", "f32", 4, True), Field("w", "f32", 3, True), Field("n", "i32")))
V, W, N = (Variable(0, field) for field in range(3))
GOOD = (Assignment(0, V), Assignment(1, W), Assignment(2, N))


def on_pairs(*body: Assignment) -> Operator:
    return Operator("odd", body, struct=PAIR)


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_what_means_something_passes(name: str) -> None:
    require_supported(RECORDS[name], element_of(RECORDS[name]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ((Assignment(0, V), Assignment(1, W)), "does not make every field"),
        ((*GOOD, Assignment(0, V)), "does not make every field"),
        ((Assignment(0, call("add", V, W)), *GOOD[1:]), "vectors of different lengths"),
        ((*GOOD[:2], Assignment(2, call("lt", V, number(0)))), "vectors of different lengths"),
        ((Assignment(0, call("mul", V, N)), *GOOD[1:]), "odd: an expression mixes f32 and i32"),
        ((Assignment(0, N), *GOOD[1:]), "odd: a field of kind f32 is made of i32"),
        ((Assignment(0, Made(2)), *GOOD[1:]), "before it is made"),
        ((*GOOD[:2], Assignment(2, call("lt", N, number("1/2")))), "uses 1/2, which is no i32"),
        ((*GOOD[:2], Assignment(2, call("where", call("sqrt", N), N, N))), "uses sqrt, .* on i32"),
        ((Assignment(0, call("inv", V)), *GOOD[1:]), "uses inv, .* not defined on f32"),
    ],
)
def test_bodies_that_mean_nothing_are_refused(body: Body, message: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=message):
        require_supported(on_pairs(*body), struct_element(PAIR))
    require_supported(on_pairs(*GOOD), struct_element(PAIR))


def test_a_truth_value_and_a_condition_may_be_of_any_kind() -> None:
    both = call("and", call("gt", N, number(3)), call("not", N))
    for value in (call("where", both, V, number("1/2")), call("mul", V, both), both):
        require_supported(on_pairs(Assignment(0, value), *GOOD[1:]), struct_element(PAIR))


def test_a_half_and_a_float_are_computed_in_one_kind() -> None:
    struct = Struct("two", (Field("a", "f16"), Field("b", "f32"), Field("c", "bf16")))
    element = struct_element(struct)
    total: Expression = call("add", Variable(0, 0), call("add", Variable(0, 1), Variable(1, 2)))
    assert find_kind(total, element) == ELEMENTS["f32"]
    body = tuple(Assignment(n, total) for n in range(3))
    require_supported(Operator("total", body, struct=struct), element)


def test_prepare_and_finish_are_looked_at_too() -> None:
    for change in ({"prepare": scalar_body(call("div", X, number(2)))},
                   {"prepare": scalar_body(number("1/2"))},
                   {"finish": scalar_body(call("log", X))}):  # fmt: skip
        operator = replace(Operator("sum", SUM), **change)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedOperatorError, match="operator sum"):
            require_supported(operator, ELEMENTS["i32"])
        require_supported(operator, ELEMENTS["f32"])
    require_supported(average(), ELEMENTS["i32"])
    with pytest.raises(UnsupportedOperatorError, match="1/3, which is no i8"):
        require_supported(scaled("1/3"), ELEMENTS["i8"])


def test_a_count_that_an_integer_cannot_hold_is_refused() -> None:
    many = problem(all_reduce(200), average())
    with pytest.raises(UnsupportedOperatorError, match="counts 200 values, which is no i8"):
        require_problem(many, ELEMENTS["i8"])
    for name in ("u8", "i32", "bf16"):
        require_problem(many, ELEMENTS[name])
    require_problem(problem(all_reduce(127), average()), ELEMENTS["i8"])
    unused = replace(average(), finish=scalar_body(call("add", X, number(1))))
    require_problem(replace(many, operator=unused), ELEMENTS["i8"])


def test_structs_and_plain_numbers_are_not_taken_for_each_other() -> None:
    merge = RECORDS["attention"]
    for element in (ELEMENTS["f32"], struct_element(partial("f32", 32)), struct_element(matrix())):
        with pytest.raises(UnsupportedOperatorError, match="merge combines partial, not"):
            require_supported(merge, element)
    with pytest.raises(UnsupportedOperatorError, match="avg combines plain numbers, not partial"):
        require_supported(average(), struct_element(partial()))
    assert find_element(problem(all_reduce(2), merge)) == struct_element(partial())
    assert find_element(problem(all_gather(2), None)) == ELEMENTS["f32"]


def test_a_struct_lies_without_gaps() -> None:
    element = struct_element(partial())
    assert (element.bytes, element.align, element.exact) == (260, 1, False)
    assert (struct_element(matrix("i8")).align, struct_element(matrix("i8")).exact) == (4, True)
    assert element_of(RECORDS["odd"]).bytes == 1 + 4 + 3 * 2


def test_sums_products_and_bits_commute_to_the_last_bit() -> None:
    for function in ("add", "mul", "band", "bor", "bxor"):
        assert commutes_bitwise(Operator("op", scalar_body(call(function, Y, X))))
    for body in (call("min", X, Y), call("sub", X, Y), call("add", X, X), call("logaddexp", X, Y),
                 call("add", X, Count())):  # fmt: skip
        assert not commutes_bitwise(Operator("op", scalar_body(body)))
    fields = [call("add", Variable(0, n), Variable(1, n)) for n in range(3)]
    sums = tuple(Assignment(n, value) for n, value in enumerate(fields))
    assert commutes_bitwise(on_pairs(*sums))
    assert not commutes_bitwise(on_pairs(*sums[:2], Assignment(2, N)))
    crossed = call("add", Variable(0, 1), Variable(1, 0))
    assert not commutes_bitwise(on_pairs(Assignment(0, crossed), *sums[1:]))
    assert not commutes_bitwise(RECORDS["matrix"])
