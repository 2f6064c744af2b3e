"""Arithmetic on elements as Python text, for Numba's CUDA compiler and for its simulator.

On a device floats are combined by PTX instructions of one rounding, which are never contracted.
Small integers are computed in 64 bits there and without limit in the simulator, so every result
is wrapped at once.
"""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import TYPE_CHECKING

from roundelay.dsl.model import Apply, Made, Variable

from .elements import ELEMENTS
from .gpu_text import Spelling, calls, choose_definitions, constant_bits, fold_line
from .operators import argument_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Body, Expression

    from .elements import Element

_DEVICE = "@cuda.jit(device=True)\n"
_STARTS = r"^(?:@.*\n)?def (rl_\w+)\("
_DEEPEST = 20
"""Calls within each other in one line; Python's own parser ends at 200 brackets."""


class Python:
    """How Python spells what is special to it."""

    def number(self, value: Fraction, kind: Element) -> str:
        """By its bits; Python's own numbers have other types."""
        if kind.exact:
            return f"rl_wrap({int(value)})"
        return f"rl_from_bits(0x{constant_bits(value, kind):x})"

    def count(self, kind: Element) -> str:
        """A parameter, of the right type already."""
        return "count"

    def truth(self, condition: str, kind: Element) -> str:
        """1 or 0 of the only type that there is."""
        return f"rl_one({condition})"

    def name(self, leaf: Variable | Made) -> str:
        """A parameter."""
        return "ab"[leaf.index] if isinstance(leaf, Variable) else "made"


def spell_body(name: str, parameters: str, body: Body, element: Element) -> str:
    """A body of an operator on plain numbers, as a device function."""
    acc = ELEMENTS[element.accumulate]
    known: dict[tuple[Expression, str], str] = {}
    lines: list[str] = []
    spelling = Spelling(element, Python(), known)

    def hold(expression: Expression, context: Element) -> int:
        """The depth of an expression's text; deep parts become lines of their own."""
        if not isinstance(expression, Apply):
            return 0
        if (expression, context.name) in known:
            return 0
        kinds = argument_kinds(expression, element, context)
        depth = 1 + max(map(hold, expression.arguments, kinds))
        if depth < _DEEPEST:
            return depth
        held = f"h{len(known)}"
        lines.extend(fold_line(f"    {held} = {spelling.value(expression, context)}"))
        known[expression, context.name] = held
        return 0

    hold(body[0].value, acc)
    lines += fold_line(f"    return {spelling.value(body[0].value, acc)}")
    return _DEVICE + "\n".join([f"def {name}({parameters}):", *lines])


def _intrinsic(name: str, arguments: str, text: str, results: str, registers: str) -> str:
    return (
        f"@intrinsic\ndef {name}(typing, {arguments}):\n"
        f'    return rl_machine("{text}", "{results}", "{registers}")\n'
    )


def _function(name: str, arguments: str, value: str) -> str:
    return f"def {name}({arguments}):\n    return {value}\n"


def spell_arithmetic(element: Element, used: Iterable[str]) -> tuple[str, str, str]:
    """Definitions of the functions in use, and of ``rl_value`` and ``rl_bits``: the simulator's,
    the device's, and those that both share.
    """
    acc = ELEMENTS[element.accumulate]
    both = dict(_COMPARED)
    if acc.exact:
        simulated, real = _integer(element)
        both |= _integer_functions(element)
        one = "rl_wrap(1 if condition else 0)"
    else:
        simulated, real = _floating(element, acc)
        bits = (constant_bits(Fraction(n), acc) for n in (1, 0))
        one = "rl_from_bits(0x{:x} if condition else 0x{:x})".format(*bits)
        both["rl_logaddexp"] = _LOGADDEXP.format(constant_bits(Fraction(log(2)), acc))
    both["rl_one"] = _function("rl_one", "condition", one)
    text = "\n\n".join(_DEVICE + definition for definition in both.values())
    shared = choose_definitions(text, _STARTS, used)
    needed = {*used, *calls(shared), "rl_value", "rl_bits"}
    simulated = choose_definitions(simulated, _STARTS, needed)
    real = choose_definitions(real, _STARTS, needed)
    return simulated.rstrip(), real.rstrip(), shared.rstrip()


_COMPARED = {
    "rl_min": _function("rl_min", "a, b", "a if a <= b or a != a else b"),
    "rl_max": _function("rl_max", "a, b", "a if a >= b or a != a else b"),
    **{
        f"rl_{name}": _function(f"rl_{name}", "a, b", f"a {sign} b")
        for name, sign in {
            "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
            "and": "and", "or": "or",
        }.items()
    },
    "rl_not": _function("rl_not", "a", "not a"),
    "rl_true": _function("rl_true", "a", "a != 0"),
    "rl_where": _function("rl_where", "choose, a, b", "a if choose else b"),
}  # fmt: skip

_LOGADDEXP = """\
def rl_logaddexp(a, b):  # equal infinities have no difference
    if a == b:
        return rl_add(a, rl_from_bits(0x{:x}))
    apart = rl_sub(a, b)
    if apart > 0:
        return rl_add(a, rl_log1p(rl_exp(rl_neg(apart))))
    return rl_add(b, rl_log1p(rl_exp(apart)))
"""

_QUOTIENT = """\
def rl_div(a, b):  # toward zero; by zero 0
    if b == 0:
        return rl_wrap(0)
    if b == -1:
        return rl_neg(a)
    down = rl_wrap(a // b)
    short = (a < 0) != (b < 0) and rl_mul(down, b) != a
    return rl_wrap(down + 1) if short else down
"""


def _integer_functions(element: Element) -> dict[str, str]:
    bits, signed = 8 * element.bytes, element.dtype.kind == "i"
    inside = f"0 <= b < {bits}" if signed else f"b < {bits}"
    wrapped = {"add": "+", "sub": "-", "mul": "*", "band": "&", "bor": "|", "bxor": "^"}
    # Numba takes for granted that signed 64 bits never overflow; unsigned ones wrap.
    a, b, zero = ("rl_bits(a)", "rl_bits(b)", "rl_bits(0)") if bits == 64 else ("a", "b", "0")
    made = {
        f"rl_{name}": _function(f"rl_{name}", "a, b", f"rl_wrap({a} {sign} {b})")
        for name, sign in wrapped.items()
    }
    made["rl_neg"] = _function("rl_neg", "a", f"rl_wrap({zero} - {a})")
    made["rl_inv"] = _function("rl_inv", "a", "rl_wrap(~a)")
    made["rl_abs"] = _function("rl_abs", "a", "rl_neg(a) if a < 0 else a" if signed else "a")
    left = f"rl_wrap(a << b) if {inside} else rl_wrap(0)"
    made["rl_shl"] = _function("rl_shl", "a, b", left)
    fill = f"a >> {bits - 1}" if signed else "0"
    right = f"rl_wrap(a >> b) if {inside} else rl_wrap({fill})"
    made["rl_shr"] = _function("rl_shr", "a, b", right)
    unsigned = _function("rl_div", "a, b", "rl_wrap(a // b) if b != 0 else rl_wrap(0)")
    made["rl_div"] = _QUOTIENT if signed else unsigned
    return made


_LIBRARY = ("exp", "log", "log1p")
"""Functions that a library approximates, each library in its own way."""


def _integer(element: Element) -> tuple[str, str]:
    bits, mask = 8 * element.bytes, f"0x{(1 << 8 * element.bytes) - 1:x}"
    half = f"0x{1 << bits - 1:x}"
    wrap = f"((a + {half}) & {mask}) - {half}" if element.dtype.kind == "i" else f"a & {mask}"
    kind = f"types.{element.dtype.name}(a)"
    simulated = [
        _function("rl_wrap", "a", wrap),
        _function("rl_value", "a", "rl_wrap(a)"),
        _function("rl_bits", "a", f"a & {mask}"),
    ]
    unsigned = f"types.uint{bits}(a)"
    real = [
        _DEVICE + _function("rl_wrap", "a", kind),
        _DEVICE + _function("rl_value", "a", kind),
        _DEVICE + _function("rl_bits", "a", unsigned),
    ]
    return "\n".join(simulated), "\n".join(real)


def _floating(element: Element, acc: Element) -> tuple[str, str]:
    bits = 8 * acc.bytes
    d, r = ("f", "r") if bits == 32 else ("d", "l")
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    simulated = [_function(f"rl_{f}", "a, b", f"a {sign} b") for f, sign in signs.items()]
    simulated += [_function(f"rl_{f}", "a", f"np.{f}(a)") for f in _LIBRARY]
    simulated += [
        _function("rl_sqrt", "a", "np.sqrt(a)"),
        _function("rl_neg", "a", "-a"),
        _function("rl_abs", "a", "abs(a)"),
        _function("rl_from_bits", "a", f"np.uint{bits}(a).view(np.float{bits})"),
        _function("rl_to_bits", "a", f"int(a.view(np.uint{bits}))"),
    ]
    real = [_intrinsic(f"rl_{f}", "a, b", f"{f}.rn.f{bits} $0, $1, $2;", d, d + d) for f in signs]
    real += [_DEVICE + _function(f"rl_{f}", "a", f"math.{f}(a)") for f in _LIBRARY]
    real += [
        _intrinsic("rl_sqrt", "a", f"sqrt.rn.f{bits} $0, $1;", d, d),
        _intrinsic("rl_neg", "a", f"neg.f{bits} $0, $1;", d, d),
        _intrinsic("rl_abs", "a", f"abs.f{bits} $0, $1;", d, d),
        _intrinsic("rl_from_bits", "a", f"mov.b{bits} $0, $1;", d, r),
        _intrinsic("rl_to_bits", "a", f"mov.b{bits} $0, $1;", r, d),
    ]
    match element.name:
        case "f16":
            half = "np.uint16(a).view(np.float16).astype(np.float32)"
            simulated.append(_function("rl_value", "a", half))
            half = "int(a.astype(np.float16).view(np.uint16))"
            simulated.append(_function("rl_bits", "a", half))
            real.append(_intrinsic("rl_value", "a", "cvt.f32.f16 $0, $1;", "f", "h"))
            real.append(_intrinsic("rl_bits", "a", "cvt.rn.f16.f32 $0, $1;", "h", "f"))
        case "bf16":
            value = _function("rl_value", "a", "rl_from_bits(a << 16)")
            rounded = (
                "def rl_bits(a):  # to nearest, ties to even\n"
                "    x = rl_to_bits(a)\n"
                "    if a != a:\n"
                "        return ((x >> 16) & 0x8000) | 0x7FC0\n"
                "    return (x + 0x7FFF + ((x >> 16) & 1)) >> 16\n"
            )
            simulated += [value, rounded]
            real += [_DEVICE + value, _DEVICE + rounded]
        case _:
            value = _function("rl_value", "a", "rl_from_bits(a)")
            back = _function("rl_bits", "a", "rl_to_bits(a)")
            simulated += [value, back]
            real += [_DEVICE + value, _DEVICE + back]
    return "\n".join(simulated), "\n".join(real)
