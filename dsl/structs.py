"""An element's text, made into the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .faults import BlamedError, unknown
from .kinds import width
from .model import ELEMENT_NAMES, Field, Struct
from .values import whole

if TYPE_CHECKING:
    from . import syntax
    from .faults import Report

FIELDS = 32
"""Most fields of an element."""
LENGTH = 65536
"""Most values of a field."""
BYTES = 1 << 20
"""Most bytes of an element."""


def build_struct(declaration: syntax.Struct, report: Report) -> Struct | None:
    """The element that a declaration describes, or None and faults."""
    before = len(report.faults)
    _check_names(declaration, report)
    fields = [field for each in declaration.fields if (field := _field(each, report)) is not None]
    if len(report.faults) > before:
        return None
    name = declaration.name
    size = sum(width(field.element) // 8 * field.length for field in fields)
    if size > BYTES:
        report.blame(f"element {name.text!r} has {size} bytes", name.span, f"at most {BYTES}")
        return None
    return Struct(name.text, tuple(fields), declaration.span)


def _check_names(declaration: syntax.Struct, report: Report) -> None:
    name, fields = declaration.name, declaration.fields
    if name.text in ELEMENT_NAMES:
        report.blame(
            f"element {name.text!r} bears the name of a plain number",
            name.span,
            f"any name but {', '.join(sorted(ELEMENT_NAMES))}",
        )
    if not fields:
        report.blame(
            f"element {name.text!r} has no fields", name.span, "one or more, as in value: f32"
        )
    elif len(fields) > FIELDS:
        report.blame(
            f"an element of {len(fields)} fields", fields[FIELDS].span, f"at most {FIELDS}"
        )
    known: set[str] = set()
    for field in fields:
        if field.name.text in known:
            report.blame(
                f"two fields are called {field.name.text!r}", field.name.span, "names that differ"
            )
        known.add(field.name.text)


def _field(declaration: syntax.Field, report: Report) -> Field | None:
    element = declaration.element
    if element.text not in ELEMENT_NAMES:
        report.add(unknown("element type", element.text, element.span, ELEMENT_NAMES))
        return None
    if declaration.length is None:
        return Field(declaration.name.text, element.text)
    try:
        length = whole(declaration.length, {}, "the length of a field")
    except BlamedError as error:
        report.add(error.fault)
        return None
    if not 1 <= length <= LENGTH:
        report.blame(
            f"a field of {length} values", declaration.length.span, f"a length from 1 to {LENGTH}"
        )
        return None
    return Field(declaration.name.text, element.text, length, vector=True)
