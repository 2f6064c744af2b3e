"""Structs in CUDA C++: how records are loaded, merged and stored, and the trees of merges.

A record is held as one array a field, ``f0``, ``f1``, …, in the type in which the field is
combined; its fields' values are rounded to their own type whenever they are made.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from roundelay.dsl.model import Apply, Made

from .cuda_arithmetic import BITS, Cpp, conversions, functions, silence
from .elements import ELEMENTS
from .fused import Operand
from .gpu_text import Spelling, field_offsets, fill, fold_line, merges
from .operators import (
    UnsupportedOperatorError,
    argument_kinds,
    field_elements,
    field_kind,
    is_wide,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Body, Expression, Field, Operator, Variable

    from .elements import Element
    from .fused import Fused, Shape

_SMALL = 8
"""Up to so many values of a record are kept in registers, and everything is unrolled."""

_LARGEST = 4096
"""Bytes of a held record. A thread holds about four, and a device reserves as much for each of
some 270,000 threads.
"""

_PARAMETERS = {
    "rl_op": "const rl_record& a, const rl_record& b, rl_record& to",
    "rl_prepare": "const rl_record& a, rl_record& to",
    "rl_finish": "const rl_record& a, long long count, rl_record& to",
}


def require_room(element: Element) -> None:
    """Raise ``UnsupportedOperatorError`` for a struct too large to be held by a thread."""
    held = sum(
        field.length * field_kind(number, element).bytes
        for number, field in enumerate(element.fields)
    )
    if held > _LARGEST:
        raise UnsupportedOperatorError(
            f"the cuda backend holds whole records in a thread; {element.name} takes {held} bytes",
            f"at most {_LARGEST} bytes, where f16 and bf16 are held as f32",
            "make its vectors shorter, or use --backend numba-cpu",
        )


def spell_records(operator: Operator | None, element: Element) -> str:
    """Conversions, functions, the record, and the operator's bodies."""
    bodies = ""
    for name, body in _bodies(operator).items():
        head = f"{_call(element)} void {name}({_PARAMETERS[name]})"
        lines = silence(_PARAMETERS[name], _assignments(element, body))
        bodies += "\n".join(["", head, "{", *lines, "}"])
    members = (
        f"    {field_kind(number, element).cuda} f{number}[{field.length}];"
        for number, field in enumerate(element.fields)
    )
    record = "\n".join(["struct rl_record {", *members, "};"])
    own = dict.fromkeys(field_elements(element))
    kinds = dict.fromkeys(ELEMENTS[kind.accumulate] for kind in own)
    parts = (conversions(own), functions(kinds, bodies), record + bodies)
    return "\n".join(part for part in parts if part)


def spell_movement(operator: Operator | None, element: Element) -> str:
    """What loads and stores records, and runs through the rows."""
    prepares = operator is not None and operator.prepare is not None
    raw = "raw" if prepares else "to"
    take = [
        *(["    rl_record raw;"] if prepares else []),
        f"    if (from.whole) rl_load_record<true>(at, {raw});",
        f"    else rl_load_record<false>(at, {raw});",
        *(["    rl_prepare(raw, to);"] if prepares else []),
    ]
    naturals = (
        ELEMENTS[field.element].bytes
        for field, offset in field_offsets(element)
        if _is_natural(element, field, offset)
    )
    return fill(
        "records.h",
        bytes=element.bytes,
        grain=max(naturals, default=1),
        load="\n".join(_accesses(element, "to.{} = rl_widen_{}(rl_get<{}>(at{}));")),
        store="\n".join(_accesses(element, "rl_put<{2}>(at{3}, rl_narrow_{1}(from.{0}));")),
        call=_call(element),
        take="\n".join(take),
    )


def record_words(element: Element) -> set[int]:
    """Sizes in bytes of all words by which records are moved."""
    return {1, 4, *(ELEMENTS[field.element].bytes for field in element.fields)}


def spell_shape(number: int, shape: Shape, fused: Fused) -> tuple[str, str]:
    """The tree of a shape, and what its kernel calls."""
    name = f"rl_shape_{number}"
    lines = [
        f"struct {name} {{",
        f"    enum {{ operands = {shape.operands}, targets = {shape.targets} }};",
    ]
    copies = fused.moves_bits(shape)
    if not copies:
        operator = fused.problem.operator
        finishes = operator is not None and operator.finish is not None
        lines += [
            "    static RL_METHOD void make(const rl_place& place, rl_record& to)",
            "    {",
            *(f"        {line}" for line in _tree(shape, finishes=finishes)),
            "    }",
        ]
    return "\n".join([*lines, "};"]), f"rl_{'copy' if copies else 'run'}<{name}>"


def _tree(shape: Shape, *, finishes: bool) -> list[str]:
    """Statements that make the record ``to``. Records are kept in as few places as will do:
    large ones lie in memory that every thread of the device has of its own.
    """
    root, steps = merges(shape.tree, "x{}")
    uses = Counter(name for _, *pair in steps for name in pair)
    places = _Places()
    lines = []
    for made, *pair in steps:
        names = [places.find(name) or places.take(name) for name in pair]
        for name, place in zip(pair, names, strict=True):
            if name.startswith("x") and not places.is_loaded(name):
                lines.append(f"rl_take(place, {name[1:]}, {place});")
                places.load(name)
        last = made == root and not finishes
        lines.append(f"rl_op({', '.join(names)}, {'to' if last else places.take(made)});")
        uses.subtract(pair)
        for name in dict.fromkeys(pair):
            # An operand is loaded again at its next use: holding it would cost a place.
            if name.startswith("x") or not uses[name]:
                places.give(name)
    if isinstance(shape.tree, Operand):
        target = places.take(root) if finishes else "to"
        lines.append(f"rl_take(place, {root[1:]}, {target});")
    if finishes:
        lines.append(f"rl_finish({places.find(root)}, {shape.count}, to);")
    return [*(f"rl_record s{n};" for n in range(places.most)), *lines]


class _Places:
    """Records of a thread, by the names of what they hold."""

    def __init__(self) -> None:
        self.most = 0
        self._free: list[int] = []
        self._held: dict[str, int] = {}
        self._loaded: set[str] = set()

    def find(self, name: str) -> str:
        return f"s{self._held[name]}" if name in self._held else ""

    def take(self, name: str) -> str:
        if not self._free:
            self._free.append(self.most)
            self.most += 1
        self._held[name] = heappop(self._free)
        return f"s{self._held[name]}"

    def give(self, name: str) -> None:
        heappush(self._free, self._held.pop(name))
        self._loaded.discard(name)

    def is_loaded(self, name: str) -> bool:
        return name in self._loaded

    def load(self, name: str) -> None:
        self._loaded.add(name)


def _bodies(operator: Operator | None) -> dict[str, Body]:
    if operator is None:
        return {}
    found = {
        "rl_op": operator.body, "rl_prepare": operator.prepare, "rl_finish": operator.finish
    }  # fmt: skip
    return {name: body for name, body in found.items() if body is not None}


def _call(element: Element) -> str:
    return "RL_DEVICE" if _is_small(element) else "RL_CALL"


def _is_small(element: Element) -> bool:
    return sum(field.length for field in element.fields) <= _SMALL


def _is_natural(element: Element, field: Field, offset: int) -> bool:
    """Whether a field's words can lie at multiples of their size in all records of an array."""
    size = ELEMENTS[field.element].bytes
    return offset % size == 0 and element.bytes % size == 0


def _each(length: int) -> str:
    return f"{'RL_UNROLL' if length <= _SMALL else 'RL_LOOP'} for (int k = 0; k < {length}; k++)"


def _accesses(element: Element, form: str) -> Iterator[str]:
    """A statement a field: its name with the index, its element, type of access, and offset."""
    for number, (field, offset) in enumerate(field_offsets(element)):
        size = ELEMENTS[field.element].bytes
        whole = "true" if size == 1 else "WHOLE" if _is_natural(element, field, offset) else "false"
        many = field.length > 1
        place = f" + {offset}" if offset else ""
        place += (f" + {size} * k" if size > 1 else " + k") if many else ""
        name = f"f{number}[{'k' if many else '0'}]"
        text = form.format(name, field.element, f"{BITS[size]}, {whole}", place)
        yield f"    {_each(field.length)}\n        {text}" if many else f"    {text}"


def _assignments(element: Element, body: Body) -> list[str]:
    lines: list[str] = []
    for assignment in body:
        field, kind = element.fields[assignment.field], field_kind(assignment.field, element)
        many = field.length > 1
        cpp = Cpp(partial(_name, element, many=many))
        known: dict[tuple[Expression, str], str] = {}
        held = []
        if many:
            # What is the same for all values of a vector is computed before the loop.
            for part, own in dict.fromkeys(_constants(assignment.value, element, kind)):
                text = Spelling(element, cpp).value(part, own)
                held.append(f"const {own.cuda} h{len(known)} = {text};")
                known[part, own.name] = f"h{len(known)}"
        text = Spelling(element, cpp, known).value(assignment.value, kind)
        if field.element != kind.name:
            text = f"rl_widen_{field.element}(rl_narrow_{field.element}({text}))"
        text = f"to.f{assignment.field}[{'k' if many else '0'}] = {text};"
        if many:
            lines += ["    {", *(f"        {line}" for line in held)]
            lines += [f"        {_each(field.length)}", f"            {text}", "    }"]
        else:
            lines.append(f"    {text}")
    return [part for line in lines for part in fold_line(line)]


def _name(element: Element, leaf: Variable | Made, *, many: bool) -> str:
    record = "to" if isinstance(leaf, Made) else "ab"[leaf.index]
    return f"{record}.f{leaf.field}[{'k' if many and is_wide(leaf, element) else '0'}]"


def _constants(
    expression: Expression, element: Element, context: Element
) -> Iterator[tuple[Expression, Element]]:
    """The largest parts of an expression that no vector's value takes part in, and their types."""
    if not isinstance(expression, Apply):
        return
    if not is_wide(expression, element):
        yield expression, context
        return
    kinds = argument_kinds(expression, element, context)
    for part, kind in zip(expression.arguments, kinds, strict=True):
        yield from _constants(part, element, kind)
