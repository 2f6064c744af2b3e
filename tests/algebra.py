"""Operators of the whole algebra for tests: functions, structs, ``prepare`` and ``finish``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS, struct_element
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
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
    scalar_body,
)
from roundelay.runtime import interpreter, numba_cpu
from tests.arrays import run
from tests.schedules import two_shot_all_reduce

if TYPE_CHECKING:
    from roundelay.codegen.elements import Element
    from roundelay.dsl.model import Expression, Function
    from roundelay.runtime.executor import Array


def call(function: Function, *arguments: Expression) -> Apply:
    return Apply(function, arguments)


def number(value: int | str) -> Number:
    return Number(Fraction(value))


X, Y = Variable(0), Variable(1)
SUM = scalar_body(call("add", X, Y))


def average() -> Operator:
    finish = scalar_body(call("div", X, Count()))
    return Operator("avg", SUM, commutative=True, finish=finish)


def scaled(factor: int | str) -> Operator:
    """A sum of the values times a factor."""
    prepare = scalar_body(call("mul", X, number(factor)))
    arguments = (Fraction(factor),)
    return Operator("premulsum", SUM, commutative=True, prepare=prepare, arguments=arguments)


def norm() -> Operator:
    """The root of the sum of squares."""
    prepare, finish = scalar_body(call("mul", X, X)), scalar_body(call("sqrt", X))
    return Operator("norm", SUM, commutative=True, prepare=prepare, finish=finish)


def log_sum() -> Operator:
    return Operator("logsum", scalar_body(call("logaddexp", X, Y)), commutative=True)


# --------------------------------------------------------------------------------- structs


def partial(element: str = "f32", length: int = 64) -> Struct:
    """A part of an attention: a weighted mean, and the log of the sum of weights."""
    fields = (Field("out", element, length, True), Field("lse", "f32"))
    return Struct("partial", fields)


def attention(struct: Struct) -> Operator:
    a, b = Variable(0, 1), Variable(1, 1)

    def weighted(value: int, lse: Variable) -> Apply:
        return call("mul", Variable(value, 0), call("exp", call("sub", lse, Made(1))))

    body = (
        Assignment(1, call("logaddexp", a, b)),
        Assignment(0, call("add", weighted(0, a), weighted(1, b))),
    )
    return Operator("merge", body, commutative=True, struct=struct)


def matrix(element: str = "f32") -> Struct:
    return Struct("matrix", tuple(Field(name, element) for name in "abcd"))


def product(struct: Struct) -> Operator:
    """The product of two matrices of two rows and columns: associative, not commutative."""

    def entry(row: int, column: int) -> Assignment:
        terms = (
            call("mul", Variable(0, 2 * row + k), Variable(1, 2 * k + column)) for k in range(2)
        )
        return Assignment(2 * row + column, call("add", *terms))

    body = tuple(entry(row, column) for row in range(2) for column in range(2))
    return Operator("matmul", body, struct=struct)


def best(value: str = "f32", index: str = "i32") -> Struct:
    return Struct("best", (Field("value", value), Field("index", index)))


def argmax(struct: Struct) -> Operator:
    """The largest value, and where it is; of equal values the first."""
    keeps = call("ge", Variable(0, 0), Variable(1, 0))
    body = tuple(
        Assignment(field, call("where", keeps, Variable(0, field), Variable(1, field)))
        for field in (0, 1)
    )
    return Operator("argmax", body, struct=struct)


def odd() -> Struct:
    """Fields that lie at no multiple of their size."""
    return Struct("odd", (Field("a", "u8"), Field("b", "f32"), Field("c", "bf16", 3, True)))


def mixed(struct: Struct) -> Operator:
    """The largest b and the c that belongs to it, and the bits of every a."""
    keeps = call("ge", Variable(0, 1), Variable(1, 1))
    body = (
        Assignment(1, call("max", Variable(0, 1), Variable(1, 1))),
        Assignment(2, call("where", keeps, Variable(0, 2), Variable(1, 2))),
        Assignment(0, call("bxor", Variable(0, 0), Variable(1, 0))),
    )
    prepare = tuple(Assignment(n, call("add", Variable(0, n), number(n))) for n in range(3))
    finish = (
        Assignment(1, call("div", Variable(0, 1), Count())),
        Assignment(2, call("sub", Variable(0, 2), Made(1))),
        Assignment(0, call("where", call("gt", Made(1), number(0)), Variable(0, 0), Count())),
    )
    return Operator("mixed", body, commutative=True, struct=struct, prepare=prepare, finish=finish)


RECORDS: dict[str, Operator] = {
    "attention": attention(partial()),
    "attention-bf16": attention(partial("bf16", 5)),
    "matrix": product(matrix()),
    "matrix-f16": product(matrix("f16")),
    "matrix-i8": product(matrix("i8")),
    "argmax": argmax(best()),
    "argmax-wide": argmax(best("f64", "u8")),
    "odd": mixed(odd()),
}


def element_of(operator: Operator, name: str = "f32") -> Element:
    return ELEMENTS[name] if operator.struct is None else struct_element(operator.struct)


# --------------------------------------------------------------------------------- at work


def both(operator: Operator, element: Element, x: Array, y: Array) -> tuple[Array, Array]:
    """What the kernels and the interpreter make of two ranks' values."""
    schedule = two_shot_all_reduce(2, 1, operator)
    program = lower(schedule)
    kernels = numba_cpu.load(emit(fuse(program), element), program, element)
    oracle = interpreter.load(None, program, element)
    made = run(kernels, schedule.problem, element, len(x), [x, y])[0]
    return made, run(oracle, schedule.problem, element, len(x), [x, y])[0]


def same(one: Array, other: Array) -> bool:
    """Bit for bit, but for which NaN it is."""
    if one.dtype.kind in "iu":
        return bool((one == other).all())
    nan = np.isnan(one.astype(np.float64)) & np.isnan(other.astype(np.float64))
    return one[~nan].tobytes() == other[~nan].tobytes()
