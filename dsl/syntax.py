"""The syntax tree of a ``.rly`` text: frozen nodes that remember their place.

Nodes compare by what they say, never by where they stand, so that printing and parsing again
gives an equal tree. One class a construct makes this file long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import Span

# ------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, with the unit behind it (``""`` without one): ``25 GB/s``."""

    digits: str
    unit: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A word the user chose: a parameter, an index, a declared thing."""

    text: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``-`` or ``not`` before an operand. ``height`` counts the levels of nesting beneath."""

    operation: str
    operand: Expression
    span: Span = field(compare=False, repr=False)
    height: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands around arithmetic, a comparison, ``and`` or ``or``."""

    operation: str
    left: Expression
    right: Expression
    span: Span = field(compare=False, repr=False)
    height: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """A function applied to arguments: ``min(a, b)``."""

    function: Name
    arguments: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)
    height: int = field(default=0, compare=False, repr=False)


Expression = Number | Name | Unary | Binary | Apply


# ------------------------------------------------------------------------------------- loops


@dataclass(frozen=True, slots=True)
class Range:
    """``low..high``; whether ``high`` belongs to it depends on where it stands."""

    low: Expression
    high: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """``[(0, 1), (2, 3)]``: rows of one or more values."""

    rows: tuple[tuple[Expression, ...], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Everyone:
    """``ranks`` as what a loop runs over."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """``(i, j) in …``: names and what they run over."""

    targets: tuple[Name, ...]
    domain: Range | Listing | Everyone
    span: Span = field(compare=False, repr=False)


# -------------------------------------------------------------------------------- topologies


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter and its default, if it has one."""

    name: Name
    default: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A name with indices: a node of a topology, a symbol of a collective."""

    name: Name
    indices: tuple[Expression, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ranks:
    """``ranks gpu[8]``; the indices of a group are its shape."""

    groups: tuple[Item, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Switches:
    """``switch nvs[4] multicast reduce``."""

    groups: tuple[Item, ...]
    abilities: tuple[Name, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Link:
    """``link a <-> b x2 at bandwidth, latency for … if …``."""

    src: Item
    dst: Item
    both: bool
    count: Expression | None
    bandwidth: Expression
    latency: Expression | None
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Topology:
    """A machine, or a family of machines if it has parameters."""

    name: Name
    parameters: tuple[Parameter, ...]
    statements: tuple[Ranks | Switches | Link, ...]
    span: Span = field(compare=False, repr=False)


# --------------------------------------------------------------------------------- operators


@dataclass(frozen=True, slots=True)
class Law:
    """``identity 0``, ``commutative`` or ``idempotent``."""

    kind: str
    value: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of two values and the laws it is declared to obey."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Expression
    laws: tuple[Law, ...]
    span: Span = field(compare=False, repr=False)


# ------------------------------------------------------------------------------- collectives


@dataclass(frozen=True, slots=True)
class Given:
    """``given x[r, c]``."""

    item: Item
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fold:
    """``op(x[s, c] for s in ranks if …)``: many symbols combined in the order of the loops."""

    operator: Name
    item: Item
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Want:
    """``want y[r, c] = …``."""

    item: Item
    value: Item | Fold
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Busbw:
    """``busbw 2 * (n - 1) / n``: the factor from algorithm to bus bandwidth."""

    factor: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Collective:
    """What is given and what is wanted."""

    name: Name
    parameters: tuple[Parameter, ...]
    statements: tuple[Given | Want | Busbw, ...]
    span: Span = field(compare=False, repr=False)


# -------------------------------------------------------------------------------------- plans


@dataclass(frozen=True, slots=True)
class Argument:
    """A value for a parameter, by position or by name."""

    name: Name | None
    value: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A declared thing with its arguments: ``torus(4, 4)``."""

    name: Name
    arguments: tuple[Argument, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Synthesize:
    """``synthesize all_reduce(sum) on dgx1``."""

    collective: Call
    topology: Call
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Interval:
    """``chunks``, ``steps`` or ``sizes`` with an inclusive range or one value."""

    kind: str
    low: Expression
    high: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rounds:
    """``rounds 6``."""

    limit: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Element:
    """``element f32``."""

    name: Name
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Budget:
    """``budget 60 s``."""

    time: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Minimize:
    """``minimize latency | bandwidth | time at 1 MiB``."""

    kind: str
    size: Expression | None
    span: Span = field(compare=False, repr=False)


Option = Synthesize | Interval | Rounds | Element | Budget | Minimize


@dataclass(frozen=True, slots=True)
class Plan:
    """What to synthesise, and within which limits."""

    options: tuple[Option, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Use:
    """``use "file.rly"``."""

    path: str
    span: Span = field(compare=False, repr=False)


Declaration = Topology | Operator | Collective | Plan | Use


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text: its declarations in their order."""

    declarations: tuple[Declaration, ...]
