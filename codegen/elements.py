"""Element types: what each is called in the plan, NumPy, C++ and nccl-tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True)
class Element:
    """A type of the values in the buffers.

    ``accumulate`` names the element type in which values are combined before the one rounding to
    this type: f32 for the 16-bit floats, the type itself for all others. Integers wrap.
    """

    name: str
    dtype: np.dtype[Any]
    nccl: str
    cuda: str
    accumulate: str

    @property
    def bytes(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        """Elements to which the borders of chunks are rounded down: whole packs of 16 bytes."""
        return 16 // self.bytes

    @property
    def exact(self) -> bool:
        """Whether every combination is exact (integers modulo their range)."""
        return self.dtype.kind in "iu"


def _element(name: str, dtype: Any, nccl: str, cuda: str, accumulate: str = "") -> Element:
    return Element(name, np.dtype(dtype), nccl, cuda, accumulate or name)


ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (
        _element("f16", np.float16, "half", "__half", "f32"),
        _element("bf16", ml_dtypes.bfloat16, "bfloat16", "__nv_bfloat16", "f32"),
        _element("f32", np.float32, "float", "float"),
        _element("f64", np.float64, "double", "double"),
        _element("i8", np.int8, "int8", "signed char"),
        _element("u8", np.uint8, "uint8", "unsigned char"),
        _element("i32", np.int32, "int32", "int"),
        _element("u32", np.uint32, "uint32", "unsigned int"),
        _element("i64", np.int64, "int64", "long long"),
        _element("u64", np.uint64, "uint64", "unsigned long long"),
    )
}
