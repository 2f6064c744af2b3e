"""What the processor's kernels call: views of memory, conversions, and the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roundelay.dsl.model import Apply, Number, Variable

from .elements import ELEMENTS

if TYPE_CHECKING:
    from roundelay.dsl.model import Expression, Operator

    from .elements import Element

_POINTER = '''
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

_HELPERS = {
    "min": '''
@njit
def smaller(x, y):
    """The smaller one; a NaN if there is one, the first of equals."""
    return x if x <= y or x != x else y
''',
    "max": '''
@njit
def larger(x, y):
    """The larger one; a NaN if there is one, the first of equals."""
    return x if x >= y or x != x else y
''',
}


def spell_support(operator: Operator | None, element: Element) -> str:
    """What the kernels call: ``view``, ``op`` and, for 16-bit floats, ``widen`` and ``narrow``."""
    storage = "uint16" if is_converted(element) else element.dtype.name
    parts = [_POINTER.format(storage=storage)]
    if is_converted(element):
        parts.append(_HALF if element.name == "f16" else _BFLOAT)
    if operator is not None:
        accumulate = ELEMENTS[element.accumulate]
        used = _functions(operator.body)
        parts += [text for name, text in _HELPERS.items() if name in used]
        parts.append(
            f"\n@njit(error_model='numpy')\ndef op(x, y):\n"
            f"    return {_bare(_spelled(operator.body, accumulate))}\n"
        )
    return "\n".join(parts)


def is_converted(element: Element) -> bool:
    """Whether values are held in another type than the one they are combined in."""
    return element.accumulate != element.name


def _functions(expression: Expression) -> set[str]:
    if not isinstance(expression, Apply):
        return set()
    return {expression.function}.union(*map(_functions, expression.arguments))


def _spelled(expression: Expression, element: Element) -> str:
    """The expression in Python. Numba computes with small integers in 64 bits, so that every
    operation on integers is brought back to the element's range at once.
    """
    kind = f"np.{element.dtype.name}"
    match expression:
        case Variable(index):
            return "xy"[index]
        case Number(value):
            if element.exact:
                return f"{kind}({value})"
            number = float(element.dtype.type(float(value)))
            return f"{kind}({_literal(number)})"
        case Apply(function, arguments):
            parts = [_spelled(argument, element) for argument in arguments]
            text = _applied(function, parts, element)
            return f"{kind}({text})" if element.exact else text


def _bare(text: str) -> str:
    """Without parentheses around the whole; sums and the like are spelled with them."""
    return text[1:-1] if text.startswith("(") else text


def _literal(number: float) -> str:
    return repr(number) if np.isfinite(number) else f"np.float64({str(number)!r})"


def _applied(function: str, parts: list[str], element: Element) -> str:
    match function:
        case "min":
            return f"smaller({', '.join(parts)})"
        case "max":
            return f"larger({', '.join(parts)})"
        case "abs":
            return parts[0] if element.dtype.kind == "u" else f"abs({parts[0]})"
        case "neg":
            zero = f"np.{element.dtype.name}(0) " if element.exact else ""
            return f"({zero}-{' ' if zero else ''}{parts[0]})"
        case _:
            sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[function]
            return f"({parts[0]} {sign} {parts[1]})"
