from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay.codegen.dataflow import find_operands, fuse
from roundelay.codegen.fused import Fused, Merge, Operand, Place, Row
from roundelay.codegen.inplace import find_offsets
from roundelay.codegen.lowering import lower
from roundelay.codegen.operators import commutes_bitwise
from roundelay.synth.schedule import Got, Own
from tests.schedules import (
    COLLECTIVES,
    LEFT,
    MAX,
    PROD,
    SCALED,
    SUM,
    Builder,
    all_gather,
    all_reduce,
    broadcast,
    doubling_all_reduce,
    one_shot_all_reduce,
    problem,
    random_schedule,
    ring_all_reduce,
)

A, B, C, D = map(Operand, range(4))


def test_all_chunks_of_a_ring_share_one_shape() -> None:
    (shape,) = fuse(lower(ring_all_reduce(4))).shapes
    assert shape.tree == Merge(Merge(Merge(A, B), C), D)
    assert (shape.operands, shape.targets) == (4, 4)
    assert [row.chunk for row in shape.rows] == [0, 1, 2, 3]
    everywhere = tuple(Place(rank, 0) for rank in range(4))
    assert shape.rows[0] == Row(0, everywhere, everywhere)
    # The ring for chunk 1 starts at rank 1.
    assert shape.rows[1] == Row(1, everywhere[1:] + everywhere[:1], everywhere)


def test_the_tree_is_that_of_the_lowest_rank() -> None:
    b = Builder(problem(all_reduce(2), SCALED), 1)
    there, back = b.send(0, 0, 0, 1, [Own(0)]), b.send(0, 0, 1, 0, [Own(1)])
    b.result(0, 0, [Own(0), back])
    b.result(0, 1, [there, Own(1)])
    (shape,) = fuse(lower(b.finish())).shapes
    assert shape.tree == Merge(A, B)
    assert shape.rows[0].sources == (Place(0, 0), Place(1, 0))


def test_doubling_gives_a_balanced_tree() -> None:
    (shape,) = fuse(lower(doubling_all_reduce(4))).shapes
    assert shape.tree == Merge(Merge(A, B), Merge(C, D))


def test_only_what_commutes_bit_for_bit_is_reordered() -> None:
    assert commutes_bitwise(SUM)
    assert commutes_bitwise(PROD)
    assert not commutes_bitwise(MAX)
    assert not commutes_bitwise(LEFT)
    assert not commutes_bitwise(None)
    right = Merge(A, Merge(B, C))
    for operator, tree in ((SUM, Merge(Merge(A, B), C)), (MAX, right)):
        b = Builder(problem(all_reduce(3), operator), 1)
        for dst in range(3):
            relay = (dst + 1) % 3
            far = (dst + 2) % 3
            first = b.send(0, 0, far, relay, [Own(far)])
            b.result(0, dst, [Own(dst), b.send(1, 0, relay, dst, [Own(relay), first])])
        (shape,) = fuse(lower(b.finish())).shapes
        assert shape.tree == tree
        assert len(shape.rows) == 1


def test_copies_are_grouped_by_their_number_of_targets() -> None:
    b = Builder(problem(broadcast(3, 1), None), 2)
    for c in range(2):
        for r in range(3):
            b.result(c, r, [Own(0)] if r == 1 else [b.send(0, c, 1, r, [Own(0)])])
    (shape,) = fuse(lower(b.finish())).shapes
    assert shape.tree == A
    assert shape.targets == 3
    assert shape.rows[1] == Row(1, (Place(1, 0),), tuple(Place(r, 0) for r in range(3)))


def test_an_idempotent_operator_takes_every_value_once() -> None:
    b = Builder(problem(all_reduce(2), MAX), 1)
    parts: list[list[Own | Got]] = [[Own(0)], [Own(1)]]
    for step in range(60):  # Unless repeats are dropped, this makes trees of 2**60 leaves.
        got = [b.send(step, 0, 1 - r, r, parts[1 - r]) for r in range(2)]
        parts = [[*parts[r][:1], got[r]] for r in range(2)]
    for r in range(2):
        b.result(0, r, parts[r])
    (shape,) = fuse(lower(b.finish())).shapes
    assert shape.tree == Merge(A, B)


def test_all_gather_numbers_units_as_the_buffers_do() -> None:
    fused = fuse(lower(random_schedule(all_gather(3), None, 1, 0)))
    rows = [row for shape in fused.shapes for row in shape.rows]
    assert [row.sources for row in rows] == [(Place(r, 0),) for r in range(3)]
    for unit, row in enumerate(rows):
        assert row.targets == tuple(Place(r, unit) for r in range(3))


def cells(fused: Fused) -> list[tuple[int, set[Place], set[Place]]]:
    return [
        (row.chunk, set(row.sources), set(row.targets))
        for shape in fused.shapes
        for row in shape.rows
    ]


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(sorted(COLLECTIVES)),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([SUM, MAX, SCALED]),
    st.integers(0, 10**6),
)
def test_rows_write_every_wanted_chunk_once_and_are_independent_in_place(
    name: str, n: int, chunks: int, operator: object, seed: int
) -> None:
    collective = COLLECTIVES[name](n)
    fused = fuse(lower(random_schedule(collective, operator, chunks, seed)))  # type: ignore[arg-type]
    written = [(chunk, target) for chunk, _, targets in cells(fused) for target in targets]
    assert len(written) == len(set(written))
    assert set(written) == {
        (chunk, Place(rank, unit))
        for chunk in range(chunks)
        for rank in range(n)
        for unit in range(len(collective.outputs(rank)))
    }
    for shape in fused.shapes:
        assert sorted(set(find_operands(shape.tree))) == list(range(shape.operands))
        assert list(dict.fromkeys(find_operands(shape.tree))) == list(range(shape.operands))
        assert all(len(row.sources) == shape.operands for row in shape.rows)
        assert all(len(row.targets) == shape.targets for row in shape.rows)
    offsets = find_offsets(collective)
    if offsets is None:
        return
    for i, (chunk, _, targets) in enumerate(cells(fused)):
        under = {Place(t.rank, t.unit + offsets[t.rank]) for t in targets}
        for j, (other, sources, _) in enumerate(cells(fused)):
            assert i == j or chunk != other or not under & sources


def test_the_in_place_layouts_are_those_of_the_standard_collectives() -> None:
    offsets = {name: find_offsets(make(4)) for name, make in COLLECTIVES.items()}
    assert offsets == {
        "all_reduce": (0, 0, 0, 0),
        "reduce": (0, 0, 0, 0),
        "all_gather": (0, -1, -2, -3),
        "reduce_scatter": (0, 1, 2, 3),
        "broadcast": (0, 0, 0, 0),
        "gather": (0, 0, 0, 0),
        "scatter": (0, 0, 0, 0),
        "all_to_all": None,
        "scan": None,
        "shift": None,
    }


def test_fusing_is_deterministic() -> None:
    assert fuse(lower(one_shot_all_reduce(4, 3))) == fuse(lower(one_shot_all_reduce(4, 3)))
