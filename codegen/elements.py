"""Element types: what each is called in the plan, NumPy, C++ and nccl-tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from roundelay.dsl.model import Field, Problem, Struct


@dataclass(frozen=True, slots=True)
class Element:
    """A type of the values in the buffers.

    ``accumulate`` names the element type in which values are combined before the one rounding to
    this type: f32 for the 16-bit floats, the type itself for all others. Integers wrap.
    ``fields``: those of a struct, none for a plain number. Every field of a struct is combined
    in the accumulate type of its own element and rounded to it after every single merge.
    """

    name: str
    dtype: np.dtype[Any]
    nccl: str
    cuda: str
    accumulate: str
    fields: tuple[Field, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of one value."""
        return self.dtype.itemsize

    @property
    def align(self) -> int:
        """Elements to which the borders of chunks are rounded down: whole packs of 16 bytes, or
        single ones where they are larger.
        """
        return max(1, 16 // self.bytes)

    @property
    def exact(self) -> bool:
        """Whether every combination is exact (integers modulo their range)."""
        if self.fields:
            return all(ELEMENTS[field.element].exact for field in self.fields)
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


def struct_element(struct: Struct) -> Element:
    """The element of a struct: its fields without gaps, as NumPy's structured types lie."""
    parts: list[Any] = []
    for field in struct.fields:
        kind = ELEMENTS[field.element].dtype
        parts.append((field.name, kind, (field.length,)) if field.vector else (field.name, kind))
    name = struct.name
    return Element(name, np.dtype(parts), name, "rl_struct", name, struct.fields)


def find_element(problem: Problem) -> Element:
    """The element of a problem: its operator's struct, or the element type its limits name."""
    operator = problem.operator
    if operator is not None and operator.struct is not None:
        return struct_element(operator.struct)
    return ELEMENTS[problem.limits.element]
