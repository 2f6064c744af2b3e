"""Arithmetic on elements as CUDA C++: conversions, functions, and an operator's expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from .elements import ELEMENTS
from .gpu_text import calls, choose_definitions, constant_bits, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from fractions import Fraction

    from roundelay.dsl.model import Made, Variable

    from .elements import Element

BITS = {
    1: "unsigned char",
    2: "unsigned short",
    4: "unsigned int",
    8: "unsigned long long",
}
"""The unsigned type of so many bytes."""

_STARTS = r"^RL_DEVICE .*?\b(rl_\w+)\("


def conversions(elements: Iterable[Element]) -> str:
    """``rl_widen_f16`` and ``rl_narrow_f16``, and so on: from a value's bits in memory to the
    type in which it is combined, and back, rounded once.
    """
    parts = []
    for element in elements:
        special = element.name if element.name in ("f16", "bf16") else "plain"
        kind, bits = ELEMENTS[element.accumulate].cuda, BITS[element.bytes]
        parts.append(fill(f"{special}.h", name=element.name, type=kind, bits=bits))
    return "\n".join(parts)


def functions(kinds: Iterable[Element], text: str) -> str:
    """What a text calls, on values of these types, and what that calls in turn."""
    definitions = "\n".join([fill("logic.h"), *map(_definitions, kinds)]) + "\n"
    return choose_definitions(definitions, _STARTS, calls(text)).rstrip()


def _definitions(kind: Element) -> str:
    compare = fill("compare.h", type=kind.cuda)
    width = 8 * kind.bytes
    word = BITS[max(4, kind.bytes)]
    if not kind.exact:
        single = width == 32
        own = fill(
            "float.h",
            type=kind.cuda,
            word=word,
            sign="0x80000000u" if single else "0x8000000000000000ull",
            d="f" if single else "d",
            f="f" if single else "",
            log2=f"{log(2)!r}{'f' if single else ''}",
        )
        return f"{own}\n{compare}"
    signed = kind.dtype.kind == "i"
    own = fill(
        "integer.h",
        type=kind.cuda,
        word=word,
        abs="a < 0 ? rl_neg(a) : a" if signed else "a",
        quotient=f"b == -1 ? rl_neg(a) : ({kind.cuda})(a / b)" if signed else "a / b",
        width=width,
        fill=f"({kind.cuda})(a >> {width - 1})" if signed else f"({kind.cuda})0",
    )
    return f"{own}\n{compare}"


@dataclass(frozen=True, slots=True)
class Cpp:
    """How C++ spells what is special to it; ``named`` gives the values' names."""

    named: Callable[[Variable | Made], str]

    def number(self, value: Fraction, kind: Element) -> str:
        """By its bits, so that nothing is left to the compiler's reading of digits."""
        suffix = "ull" if kind.bytes == 8 else "u"
        if kind.exact:
            return f"({kind.cuda}){int(value) % (1 << 8 * kind.bytes)}{suffix}"
        bits = f"0x{constant_bits(value, kind):x}{suffix}"
        return f"rl_cast<{kind.cuda}>({bits} /* {_shown(value)} */)"

    def count(self, kind: Element) -> str:
        """A parameter of the function."""
        return f"({kind.cuda})count"

    def truth(self, condition: str, kind: Element) -> str:
        """A cast of a condition is 1 or 0."""
        return f"({kind.cuda}){condition}"

    def name(self, leaf: Variable | Made) -> str:
        """A parameter or a field of one."""
        return self.named(leaf)


def _shown(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{float(value)!r}"


def silence(parameters: str, lines: Sequence[str]) -> list[str]:
    """The lines of a function, after which no compiler warns of parameters it does not use."""
    text = "\n".join(lines)
    names = re.findall(r"(\w+)(?:,|$)", parameters)
    unused = [name for name in names if not re.search(rf"\b{name}\b", text)]
    return [*(f"    (void){name};" for name in unused), *lines]
