from __future__ import annotations

import numpy as np
import pytest

from roundelay.codegen.elements import ELEMENTS
from roundelay.runtime.buffers import allocate, measure_units, overlay
from tests.schedules import (
    COLLECTIVES,
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    reduce_scatter,
)

F32 = ELEMENTS["f32"]


@pytest.mark.parametrize("name", sorted(COLLECTIVES))
@pytest.mark.parametrize("count", [0, 1, 7, 4096])
def test_buffers_have_their_sizes_and_no_common_offset_within_a_page(name: str, count: int) -> None:
    collective = COLLECTIVES[name](5)
    inputs, outputs = allocate(collective, F32, count)
    assert [len(array) for array in inputs] == [
        count * len(collective.inputs(rank)) for rank in range(5)
    ]
    assert [len(array) for array in outputs] == [
        count * len(collective.outputs(rank)) for rank in range(5)
    ]
    addresses = [array.ctypes.data for array in (*inputs, *outputs) if array.size]
    assert all(address % 64 == 0 for address in addresses)
    assert len({address % 4096 for address in addresses}) == len(addresses)
    assert measure_units(collective, F32, inputs, outputs) == (count, False)


@pytest.mark.parametrize("name", sorted(COLLECTIVES))
@pytest.mark.parametrize("count", [1, 5])
def test_in_place_buffers_are_recognised(name: str, count: int) -> None:
    collective = COLLECTIVES[name](4)
    placed = overlay(collective, F32, count)
    if placed is None:
        assert name in ("all_to_all", "scan", "shift")
        return
    assert measure_units(collective, F32, *placed) == (count, True)


def test_in_place_all_gather_has_its_input_where_it_gathers() -> None:
    placed = overlay(all_gather(3), F32, 4)
    assert placed is not None
    inputs, outputs = placed
    for rank in range(3):
        inputs[rank][:] = rank + 1
        assert list(outputs[rank]) == [rank + 1 if i // 4 == rank else 0 for i in range(12)]


def test_in_place_reduce_scatter_leaves_its_result_in_its_own_part() -> None:
    placed = overlay(reduce_scatter(3), F32, 2)
    assert placed is not None
    inputs, outputs = placed
    outputs[2][:] = 9
    assert list(inputs[2]) == [0, 0, 0, 0, 9, 9]


def test_without_an_in_place_layout_there_is_none() -> None:
    assert overlay(all_to_all(3), F32, 4) is None
    assert overlay(all_to_all(1), F32, 4) is not None


def f32(count: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.zeros(count, np.float32)


def test_wrong_arrays_are_refused_by_name() -> None:
    two = all_reduce(2)
    good = (f32(4), f32(4))
    with pytest.raises(ValueError, match="1 inputs were given for 2 ranks"):
        measure_units(two, F32, good[:1], good)
    with pytest.raises(ValueError, match="output of rank 1 is of type float64, not float32"):
        measure_units(two, F32, good, (f32(4), np.zeros(4)))
    with pytest.raises(ValueError, match="input of rank 0 is not one-dimensional and contiguous"):
        measure_units(two, F32, (f32(8)[::2], f32(4)), good)
    with pytest.raises(ValueError, match="input of rank 1 is not one-dimensional"):
        measure_units(two, F32, (f32(4), f32(4).reshape(2, 2)), good)
    with pytest.raises(ValueError, match="output of rank 0 has 5 elements a unit, others have 4"):
        measure_units(two, F32, (f32(4), f32(4)), (f32(5), f32(4)))
    frozen = f32(4)
    frozen.flags.writeable = False
    measure_units(two, F32, (frozen, f32(4)), good)
    with pytest.raises(ValueError, match="output of rank 0 is read-only"):
        measure_units(two, F32, good, (frozen, f32(4)))
    skewed = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="not aligned to its elements"):
        measure_units(two, F32, (skewed, f32(4)), good)
    with pytest.raises(ValueError, match="13 elements, does not hold 3 equal units"):
        measure_units(reduce_scatter(3), F32, (f32(13), f32(13), f32(13)), (f32(4), f32(4), f32(4)))
    with pytest.raises(ValueError, match="rank 1 has no input, but 4 elements given"):
        measure_units(broadcast(2), F32, good, (f32(4), f32(4)))


def test_memory_shared_in_any_other_way_is_refused() -> None:
    two = all_reduce(2)
    shared = f32(8)
    with pytest.raises(ValueError, match="rank 0 overlaps its input in another way"):
        measure_units(two, F32, (shared[:4], f32(4)), (shared[2:6], f32(4)))
    with pytest.raises(ValueError, match="output of rank 0 overlaps the input of rank 1"):
        measure_units(two, F32, (f32(4), shared[:4]), (shared[:4], f32(4)))
    with pytest.raises(ValueError, match="output of rank 1 overlaps the output of rank 0"):
        measure_units(two, F32, (f32(4), f32(4)), (shared[:4], shared[3:7]))
    # Two ranks may be given the same input.
    assert measure_units(two, F32, (shared[:4], shared[:4]), (f32(4), f32(4))) == (4, False)
    # All-to-all has no in-place form, so that even the same memory is refused.
    both = (f32(4), f32(4))
    with pytest.raises(ValueError, match="another way than in place"):
        measure_units(all_to_all(2), F32, both, both)
    # One rank in place and the other not is right, but not the in-place layout.
    assert measure_units(two, F32, both, (both[0], f32(4))) == (4, False)
