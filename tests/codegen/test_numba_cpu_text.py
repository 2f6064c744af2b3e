from __future__ import annotations

import ast
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import ELEMENTS
from roundelay.codegen.fused import Fused, Merge, Operand, Tree
from roundelay.codegen.lowering import lower
from roundelay.codegen.numba_cpu_backend import emit
from roundelay.codegen.numba_cpu_text import PAIRS, is_tiled
from roundelay.codegen.operators import UnsupportedOperatorError, require_supported
from roundelay.codegen.tiling import Node, cut, find_arrays
from roundelay.dsl.model import Apply, Number, Operator, Variable, scalar_body
from tests.schedules import PROD, SUM, problem, ring_all_reduce, two_shot_all_reduce

F32 = ELEMENTS["f32"]


@cache
def ring(n: int) -> Fused:
    return fuse(lower(ring_all_reduce(n, 2)))


@pytest.mark.parametrize("element", sorted(ELEMENTS))
@pytest.mark.parametrize("n", [1, 2, 8, 20])
def test_text_is_python_of_readable_width_and_the_same_every_time(element: str, n: int) -> None:
    fused = ring(n)
    artifact = emit(fused, ELEMENTS[element])
    assert artifact == emit(fused, ELEMENTS[element])
    ((name, text),) = artifact.files
    assert name.endswith(".py")
    ast.parse(text)
    code = [line for line in text.splitlines() if "((" not in line]
    assert max(map(len, code)) <= 100
    assert "range(low" not in text


def test_the_digest_follows_the_text() -> None:
    fused = fuse(lower(ring_all_reduce(2)))
    digests = {emit(fused, element).digest for element in ELEMENTS.values()}
    assert len(digests) == len(ELEMENTS)
    assert all(len(digest) == 64 for digest in digests)


def test_names_from_the_user_cannot_become_code() -> None:
    fused = fuse(lower(ring_all_reduce(2)))
    evil = '"""\nimport os\nraise SystemExit("\\N{bogus}")\n#\u2028x\r\ny'
    topology = replace(fused.problem.topology, name=evil)
    operator = replace(SUM, name=evil)
    collective = replace(fused.problem.collective, name=evil)
    changed = replace(fused.problem, topology=topology, operator=operator, collective=collective)
    ((name, text),) = emit(replace(fused, problem=changed), F32).files
    assert "/" not in name
    assert "\n" not in name
    plain = emit(fused, F32).files[0][1]
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(plain))


def divided() -> Operator:
    return Operator("halved", scalar_body(Apply("div", (Variable(0), Variable(1)))))


def test_integers_are_not_divided() -> None:
    fused = fuse(lower(two_shot_all_reduce(2, operator=replace(SUM, body=divided().body))))
    with pytest.raises(UnsupportedOperatorError, match="operator sum divides"):
        emit(fused, ELEMENTS["i32"])
    emit(fused, F32)


@pytest.mark.parametrize(("value", "element"), [("1/2", "i32"), ("256", "u8"), ("-1", "u64")])
def test_constants_that_an_integer_cannot_hold_are_refused(value: str, element: str) -> None:
    body = Apply("add", (Number(Fraction(value)), Apply("add", (Variable(0), Variable(1)))))
    with pytest.raises(UnsupportedOperatorError, match="which is no"):
        require_supported(Operator("odd", scalar_body(body)), ELEMENTS[element])
    require_supported(Operator("odd", scalar_body(body)), F32)


def test_shapes_that_fit_one_loop_are_not_tiled() -> None:
    assert not is_tiled(8, 0, 8)
    assert not is_tiled(16, 16, 0)
    assert is_tiled(17, 17, 0)
    assert is_tiled(16, 0, 16)
    assert not is_tiled(16, 0, 6)
    assert 16 * 6 + 15 <= PAIRS < 16 * 7 + 21
    assert is_tiled(1, 0, 17)


trees: st.SearchStrategy[Merge] = st.deferred(
    lambda: st.builds(Merge, st.just(Operand(0)) | trees, st.just(Operand(0)) | trees)
)


def numbered(tree: Tree, count: list[int]) -> Tree:
    if isinstance(tree, Operand):
        count[0] += 1
        return Operand(count[0] - 1)
    left = numbered(tree.left, count)
    return Merge(left, numbered(tree.right, count))


@settings(deadline=None)
@given(trees, st.integers(2, 9))
def test_cut_trees_compute_the_same_within_the_limit(tree: Merge, limit: int) -> None:
    count = [0]
    whole = numbered(tree, count)
    loops, rest, tiles = cut(whole, limit)
    held: dict[str, object] = {f"a{k}": f"a{k}" for k in range(count[0])}

    def value(node: Node) -> object:
        return held[node] if isinstance(node, str) else (value(node[0]), value(node[1]))

    for loop in loops:
        assert len(find_arrays(loop.node)) <= limit
        assert int(loop.target[1:]) < tiles
        held[loop.target] = value(loop.node)
    assert len(find_arrays(rest)) <= limit

    def original(part: Tree) -> object:
        if isinstance(part, Operand):
            return f"a{part.index}"
        return (original(part.left), original(part.right))

    assert value(rest) == original(whole)


def test_a_long_chain_needs_one_tile() -> None:
    tree: Tree = Operand(0)
    for k in range(1, 64):
        tree = Merge(tree, Operand(k))
    loops, _, tiles = cut(tree, 8)
    assert tiles == 1
    assert len(loops) == 8


def test_constants_are_rounded_to_the_accumulated_type() -> None:
    third = Number(Fraction(1, 3))
    body = Apply("mul", (third, Apply("mul", (Variable(0), Variable(1)))))
    operator = replace(PROD, body=scalar_body(body))
    fused = fuse(lower(two_shot_all_reduce(2, operator=operator)))
    text = emit(fused, F32).files[0][1]
    assert f"np.float32({float(np.float32(1 / 3))!r})" in text
    assert problem(fused.problem.collective, operator).operator is operator
