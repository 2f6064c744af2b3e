"""The text of the processor's kernels on records: functions on addresses, tile by tile.

Fields lie behind one another without gaps, so that they need not be aligned; they are loaded and
stored one by one through addresses. Every merge makes whole records in a tile of its own before
any of them is stored: a target may be a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.dsl.model import Variable

from .fused import Operand
from .gpu_text import field_offsets
from .numba_cpu_expressions import Lines, Speller
from .numba_cpu_support import POINTER, is_converted, spell_conversions
from .numba_cpu_text import TILE_BYTES
from .operators import field_elements, field_kind

if TYPE_CHECKING:
    from roundelay.dsl.model import Body, Made, Operator

    from .elements import Element
    from .fused import Tree
    from .numba_cpu_text import Kernel

_ACCESS = '''
@intrinsic
def load_{name}(typing, address):
    """A value at an address that need not be aligned to it."""

    def build(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.PointerType({ir}))
        return builder.load(place, align=1)

    return types.{storage}(types.int64), build


@intrinsic
def store_{name}(typing, address, value):
    """Puts a value to an address that need not be aligned to it."""

    def build(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.PointerType({ir}))
        builder.store(arguments[1], place, align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.{storage}), build
'''

_COPY = '''
@njit
def copy(source, target, size):
    """Moves bytes between places that are the same or do not overlap."""
    given = view(source, size)
    made = view(target, size)
    for i in range(made.size):
        made[i] = given[i]
'''


def spell_record_support(operator: Operator | None, element: Element) -> str:
    """What the kernels call: ``copy``, and on whole tiles of records ``op(x, y, made, count)``,
    ``prepare(x, made, count)`` and ``finish(x, n, made, count)``, as far as there are any.
    """
    parts = [POINTER.format(storage="uint8"), _COPY]
    kinds = {own.name: own for own in field_elements(element)}
    for own in kinds.values():
        if is_converted(own):
            parts.append(spell_conversions(own.name, f"_{own.name}"))
        parts.append(_spell_access(own))
    if operator is not None:
        helpers: dict[str, str] = {}
        functions = [_function("op", "x, y", operator.body, element, helpers)]
        if operator.prepare is not None:
            functions.append(_function("prepare", "x", operator.prepare, element, helpers))
        if operator.finish is not None:
            functions.append(_function("finish", "x, n", operator.finish, element, helpers))
        parts += [*helpers.values(), *functions]
    return "\n".join(parts)


def _spell_access(own: Element) -> str:
    bits = own.bytes * 8
    floats = {"f32": "ir.FloatType()", "f64": "ir.DoubleType()"}
    storage = "uint16" if is_converted(own) else own.dtype.name
    kind = floats.get(own.name, f"ir.IntType({bits})")
    return _ACCESS.format(name=own.name, ir=kind, storage=storage)


# --------------------------------------------------------------------------------- functions


def _function(name: str, values: str, body: Body, element: Element, helpers: dict[str, str]) -> str:
    offsets = [offset for _, offset in field_offsets(element)]
    own = field_elements(element)

    def at(base: str, field: int) -> str:
        place = f"{base} + {offsets[field]}"
        wide = element.fields[field].length > 1
        return f"{place} + {own[field].bytes} * j" if wide else place

    def load(part: Variable | Made) -> str:
        base = "xy"[part.index] if isinstance(part, Variable) else "made"
        text = f"load_{own[part.field].name}({at(base, part.field)})"
        if is_converted(own[part.field]):
            text = f"widen_{own[part.field].name}({text})"
        return speller.lines(part).hold(text)

    outer = Lines("e")
    speller = Speller(element, load, outer, helpers)
    lines: list[str] = []
    for assignment in body:
        field = assignment.field
        wide = element.fields[field].length > 1
        speller.inner = Lines(f"w{field}_") if wide else outer
        value = speller.value(assignment.value, field_kind(field, element))
        if is_converted(own[field]):
            value = f"narrow_{own[field].name}({value})"
        store = f"store_{own[field].name}({at('made', field)}, {value})"
        lines += outer.take()
        if wide:
            lines.append(f"for j in range({element.fields[field].length}):")
            lines += [f"    {line}" for line in (*speller.inner.take(), store)]
        else:
            lines.append(store)
    moved = [base for base in ("x", "y", "made") if base in (*values.split(", "), "made")]
    lines += [f"{base} += {element.bytes}" for base in moved]
    text = "".join(f"        {line}\n" for line in lines)
    return (
        f"\n@njit(error_model='numpy')\ndef {name}({values}, made, count):\n"
        f"    for _ in range(count):\n{text}"
    )


# --------------------------------------------------------------------------------- kernels


def spell_record_kernel(number: int, kernel: Kernel, element: Element) -> str:
    """The function ``kernelN(words, at)``, which carries out its pieces and returns their end."""
    calls = _Calls(kernel, element)
    value = calls.made()
    size = max(1, TILE_BYTES // element.bytes)
    first = 1 + kernel.operands
    tiles = range(calls.tiles)
    lines = [
        "pieces = words[at]",
        "at += 1",
        *(f"tile{k} = np.empty({size * element.bytes}, np.uint8)" for k in tiles),
        *(f"t{k} = np.int64(tile{k}.ctypes.data)" for k in tiles),
        "for _ in range(pieces):",
        "    size = words[at]",
        f"    for low in range(0, size, {size}):",
        f"        count = min({size}, size - low)",
        f"        shift = low * {element.bytes}",
        *(f"        {line}" for line in calls.lines),
        f"        for k in range({first}, {first + kernel.targets}):",
        f"            copy({value}, words[at + k] + shift, count * {element.bytes})",
        f"    at += {first + kernel.targets}",
        # Numba frees an array after the last line that names it.
        *(f"tile{k}[0] = 0" for k in tiles),
        "return at",
    ]
    return "\n".join(
        [
            "",
            "@njit(error_model='numpy')",
            f"def kernel{number}(words, at):",
            f"    # {kernel.operands} sources; {kernel.targets} targets.",
            *(f"    {line}" for line in lines),
            "",
        ]
    )


class _Calls:
    """The calls that make a kernel's value, and the tiles that they use."""

    def __init__(self, kernel: Kernel, element: Element) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.free: list[str] = []
        self.tiles = 0

    def made(self) -> str:
        """The address of the finished records."""
        value = self._visit(self.kernel.tree)
        if self.kernel.finishes:
            value = self._call(f"finish({value}, {self.kernel.combined}, ", (value,))
        return value

    def _visit(self, tree: Tree) -> str:
        if isinstance(tree, Operand):
            place = f"words[at + {1 + tree.index}] + shift"
            return self._call(f"prepare({place}, ", ()) if self.kernel.prepares else place
        left, right = self._visit(tree.left), self._visit(tree.right)
        return self._call(f"op({left}, {right}, ", (left, right))

    def _call(self, start: str, read: tuple[str, ...]) -> str:
        """A call that makes records in a tile that it does not read."""
        if not self.free:
            self.free.append(f"t{self.tiles}")
            self.tiles += 1
        target = self.free.pop()
        self.lines.append(f"{start}{target}, count)")
        self.free += sorted(name for name in set(read) if name.startswith("t"))
        return target
