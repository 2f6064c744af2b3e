"""Arithmetic on elements as Python text, for Numba's CUDA compiler and for its simulator.

On a device floats are combined by PTX instructions of one rounding, which are never contracted.
Small integers are computed in 64 bits there and without limit in the simulator, so every result
is wrapped at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .elements import ELEMENTS

if TYPE_CHECKING:
    from .elements import Element


def _intrinsic(name: str, arguments: str, text: str, results: str, registers: str) -> str:
    return (
        f"@intrinsic\ndef {name}(typing, {arguments}):\n"
        f'    return rl_machine("{text}", "{results}", "{registers}")\n'
    )


def _function(name: str, arguments: str, value: str) -> str:
    return f"def {name}({arguments}):\n    return {value}\n"


def spell_arithmetic(element: Element) -> tuple[str, str, str]:
    """Definitions of ``rl_add``, ``rl_value`` and the like: the simulator's, the device's, and
    those that both share.
    """
    acc = ELEMENTS[element.accumulate]
    device = "@cuda.jit(device=True)\n"
    both = [
        device + _function("rl_min", "a, b", "a if a <= b or a != a else b"),
        device + _function("rl_max", "a, b", "a if a >= b or a != a else b"),
    ]
    if acc.exact:
        simulated, real = _integer(element)
        wrapped = {"add": "a + b", "sub": "a - b", "mul": "a * b"}
        both += [
            device + _function(f"rl_{f}", "a, b", f"rl_wrap({value})")
            for f, value in wrapped.items()
        ]
        both.append(device + _function("rl_neg", "a", "rl_wrap(-a)"))
        signed = element.dtype.kind == "i"
        both.append(
            device + _function("rl_abs", "a", "rl_neg(a) if a < 0 else a" if signed else "a")
        )
    else:
        simulated, real = _floating(element, acc)
    return simulated.rstrip(), real.rstrip(), "\n\n".join(both).rstrip()


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
    device = "@cuda.jit(device=True)\n"
    unsigned = f"types.uint{bits}(a)"
    real = [
        device + _function("rl_wrap", "a", kind),
        device + _function("rl_value", "a", kind),
        device + _function("rl_bits", "a", unsigned),
    ]
    return "\n".join(simulated), "\n".join(real)


def _floating(element: Element, acc: Element) -> tuple[str, str]:
    bits = 8 * acc.bytes
    d, r = ("f", "r") if bits == 32 else ("d", "l")
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    simulated = [_function(f"rl_{f}", "a, b", f"a {sign} b") for f, sign in signs.items()]
    simulated += [
        _function("rl_neg", "a", "-a"),
        _function("rl_abs", "a", "abs(a)"),
        _function("rl_from_bits", "a", f"np.uint{bits}(a).view(np.float{bits})"),
        _function("rl_to_bits", "a", f"int(a.view(np.uint{bits}))"),
    ]
    real = [_intrinsic(f"rl_{f}", "a, b", f"{f}.rn.f{bits} $0, $1, $2;", d, d + d) for f in signs]
    real += [
        _intrinsic("rl_neg", "a", f"neg.f{bits} $0, $1;", d, d),
        _intrinsic("rl_abs", "a", f"abs.f{bits} $0, $1;", d, d),
        _intrinsic("rl_from_bits", "a", f"mov.b{bits} $0, $1;", d, r),
        _intrinsic("rl_to_bits", "a", f"mov.b{bits} $0, $1;", r, d),
    ]
    device = "@cuda.jit(device=True)\n"
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
            real += [device + value, device + rounded]
        case _:
            value = _function("rl_value", "a", "rl_from_bits(a)")
            back = _function("rl_bits", "a", "rl_to_bits(a)")
            simulated += [value, back]
            real += [device + value, device + back]
    return "\n".join(simulated), "\n".join(real)
