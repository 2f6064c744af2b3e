"""What the processor's kernels call: views of memory, conversions, and the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.dsl.model import Variable

from .elements import ELEMENTS
from .numba_cpu_expressions import Lines, Speller

if TYPE_CHECKING:
    from roundelay.dsl.model import Body, Made, Operator

    from .elements import Element

POINTER = '''
@intrinsic
def pointer(typing, address):
    """A pointer to elements from an address."""

    def build(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.{storage})(types.int64), build


@njit
def view(address, size):
    return carray(pointer(address), (size,))
'''

_HALF = '''
@intrinsic
def widen(typing, bits):
    """float32 from the bits of a float16; exact."""

    def build(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), build


@intrinsic
def narrow(typing, value):
    """The bits of the nearest float16, ties to even."""

    def build(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), build
'''

_BFLOAT = '''
@intrinsic
def widen(typing, bits):
    """float32 from the bits of a bfloat16; exact."""

    def build(context, builder, signature, arguments):
        word = builder.zext(arguments[0], ir.IntType(32))
        return builder.bitcast(builder.shl(word, ir.IntType(32)(16)), ir.FloatType())

    return types.float32(types.uint16), build


@intrinsic
def narrow(typing, value):
    """The bits of the nearest bfloat16, ties to even; a NaN becomes the quiet one of its sign."""

    def build(context, builder, signature, arguments):
        word = ir.IntType(32)
        bits = builder.bitcast(arguments[0], word)
        high = builder.lshr(bits, word(16))
        odd = builder.and_(high, word(1))
        near = builder.lshr(builder.add(builder.add(bits, word(0x7FFF)), odd), word(16))
        quiet = builder.or_(builder.and_(high, word(0x8000)), word(0x7FC0))
        nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        return builder.trunc(builder.select(nan, quiet, near), ir.IntType(16))

    return types.uint16(types.float32), build
'''


def spell_support(operator: Operator | None, element: Element) -> str:
    """What the kernels call on plain numbers: ``view``, the operator's ``op``, ``prepare`` and
    ``finish``, as far as there are any, and for 16-bit floats ``widen`` and ``narrow``.
    """
    storage = "uint16" if is_converted(element) else element.dtype.name
    parts = [POINTER.format(storage=storage)]
    if is_converted(element):
        parts.append(spell_conversions(element.name))
    if operator is not None:
        helpers: dict[str, str] = {}
        functions = [_function("op(x, y)", operator.body, element, helpers)]
        if operator.prepare is not None:
            functions.append(_function("prepare(x)", operator.prepare, element, helpers))
        if operator.finish is not None:
            functions.append(_function("finish(x, n)", operator.finish, element, helpers))
        parts += [*helpers.values(), *functions]
    return "\n".join(parts)


def spell_conversions(name: str, suffix: str = "") -> str:
    """``widen`` and ``narrow`` between a 16-bit float's bits and float32."""
    text = _HALF if name == "f16" else _BFLOAT
    for function in ("widen", "narrow"):
        text = text.replace(f"def {function}", f"def {function}{suffix}")
    return text


def is_converted(element: Element) -> bool:
    """Whether values are held in another type than the one they are combined in."""
    return element.accumulate != element.name


def _function(head: str, body: Body, element: Element, helpers: dict[str, str]) -> str:
    def load(part: Variable | Made) -> str:
        assert isinstance(part, Variable)  # A plain number has no field made before it.
        return "xy"[part.index]

    lines = Lines("e")
    speller = Speller(element, load, lines, helpers)
    value = speller.value(body[0].value, ELEMENTS[element.accumulate])
    *steps, last = [*lines.take(), f"return {value}"]
    if steps and steps[-1].startswith(f"{value} = "):
        last = f"return {steps.pop().partition(' = ')[2]}"
    text = "".join(f"    {line}\n" for line in (*steps, last))
    return f"\n@njit(error_model='numpy')\ndef {head}:\n{text}"
