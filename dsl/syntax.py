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


@dataclass(frozen=True, slots=True)
class Range:
    """``low..high``; whether ``high`` belongs to it depends on where it stands."""

    low: Expression
    high: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """A name with indices: nodes of a topology, a symbol of a collective.

    A range as an index means many nodes, and stands only where many may be named. The name
    ``ranks`` behind a part counts that part's ranks.
    """

    name: Name
    indices: tuple[Expression | Range, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """``box[b].gpu[g]`` names a node, ``a.out`` a field; a bare word alone is a ``Name``."""

    items: tuple[Item, ...]
    span: Span = field(compare=False, repr=False)


Expression = Number | Name | Unary | Binary | Apply | Reference


# ------------------------------------------------------------------------------------- loops


@dataclass(frozen=True, slots=True)
class Listing:
    """``[(0, 1), (2, 3)]``: rows of one or more values."""

    rows: tuple[tuple[Expression, ...], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Everyone:
    """``ranks`` as what a loop runs over, or ``ranks of box``: those of one instance of a part."""

    part: Name | None
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
    """A parameter, its struct (of an operator's values), and its default, if it has one."""

    name: Name
    kind: Name | None
    default: Expression | None
    span: Span = field(compare=False, repr=False)


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
class Part:
    """``part box[boxes] = hgx_h100``: whole machines inside this one."""

    group: Item
    machine: Call
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Link:
    """``link a <-> b x2 at bandwidth, latency for … if …``; ``changes``: ``with`` instead, which
    gives a link that is there another speed.
    """

    changes: bool
    src: Expression
    dst: Expression
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
    statements: tuple[Ranks | Switches | Part | Link, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Only:
    """``only gpu[0, 1, 2, 3, 7]``: these ranks, and what joins them."""

    nodes: tuple[Expression, ...]
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Connection:
    """``a <-> b`` or ``a -> b``: the links between two nodes; without ``dst`` a node alone."""

    src: Expression
    dst: Expression | None
    both: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Without:
    """``without gpu[0] <-> gpu[3], gpu[7]``: these links and nodes are gone."""

    removals: tuple[Connection, ...]
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Derived:
    """A machine made from another: ``topology partial = dgx1 only gpu[0, 1]``."""

    name: Name
    parameters: tuple[Parameter, ...]
    base: Call
    changes: tuple[Only | Without | Link, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Speed:
    """``nvlink 25 GB/s, 0.7 us``: what one kind of link of an imported machine carries."""

    kind: Name
    bandwidth: Expression
    latency: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Imported:
    """``topology mine from "topo.txt" as nvidia-smi { … }``."""

    name: Name
    path: Text
    format: Name
    speeds: tuple[Speed, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """What stands between quotes: the path of a file."""

    text: str
    span: Span = field(compare=False, repr=False)


# --------------------------------------------------------------------------------- operators


@dataclass(frozen=True, slots=True)
class Field:
    """``out: f32[64]``."""

    name: Name
    element: Name
    length: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Struct:
    """``element partial { out: f32[64], lse: f32 }``."""

    name: Name
    fields: tuple[Field, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """``lse = logaddexp(a.lse, b.lse)``: a field of the result."""

    target: Name
    value: Expression
    span: Span = field(compare=False, repr=False)


Body = Expression | tuple[Assignment, ...]
"""One expression for plain numbers, one assignment a field for structs."""


@dataclass(frozen=True, slots=True)
class Law:
    """``identity 0``, ``commutative`` or ``idempotent``."""

    kind: str
    value: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mapping:
    """``finish (a, n) = a / n`` or ``prepare (a) = a * scalar``."""

    kind: str
    parameters: tuple[Name, ...]
    body: Body
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of two values and the laws it is declared to obey.

    ``numbers`` are what it is called with: ``operator premulsum(scalar)(a, b) = …``.
    """

    name: Name
    numbers: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    body: Body
    laws: tuple[Law | Mapping, ...]
    span: Span = field(compare=False, repr=False)


# ------------------------------------------------------------------------------- collectives


@dataclass(frozen=True, slots=True)
class Given:
    """``given x[r, c] for … if …``."""

    item: Item
    loops: tuple[Loop, ...]
    guard: Expression | None
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
    """``want y[r, c] = … for … if …``."""

    item: Item
    value: Item | Fold
    loops: tuple[Loop, ...]
    guard: Expression | None
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


@dataclass(frozen=True, slots=True)
class Group:
    """``[0, 1, 2]``, ``[0..4]`` or ``[b + 4 * g for g in 0..2]``: ranks by number."""

    ranks: tuple[Expression | Range, ...]
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Groups:
    """``within [[0, 1], [2, 3]]``, with loops that repeat every group."""

    groups: tuple[Group, ...]
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A collective as a command line names it: ``all_reduce(sum) within [[0, 1], [2, 3]]``."""

    collective: Call
    groups: Groups | None
    span: Span = field(compare=False, repr=False)


# ---------------------------------------------------------------------------------- schedules


@dataclass(frozen=True, slots=True)
class Choice:
    """``c = (r - k) % n``: the chunk to send, where a collective has one block."""

    name: Name
    value: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Send:
    """``send c = … from … to … via … reduce for … if …``; ``action`` is ``copy`` or ``reduce``."""

    chunk: Item | Choice
    src: Expression
    dst: Expression
    via: tuple[Expression, ...]
    action: str
    loops: tuple[Loop, ...]
    guard: Expression | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Chunks:
    """``chunks n``."""

    number: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """``step for k in 0..n - 1: send …``; one step a turn of the loops."""

    loops: tuple[Loop, ...]
    guard: Expression | None
    sends: tuple[Send, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Schedule:
    """``schedule ring(n) of all_reduce(sum) on ring(n) { … }``."""

    name: Name
    parameters: tuple[Parameter, ...]
    collective: Call
    groups: Groups | None
    topology: Call
    statements: tuple[Chunks | Step, ...]
    span: Span = field(compare=False, repr=False)


# -------------------------------------------------------------------------------------- plans


@dataclass(frozen=True, slots=True)
class Synthesize:
    """``synthesize all_reduce(sum) within … on dgx1``."""

    collective: Call
    groups: Groups | None
    topology: Call
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """``run ring(8)``: a schedule by hand."""

    schedule: Call
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InPlace:
    """``in place``."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Forbid:
    """``forbid gpu[0] -> gpu[1]``."""

    connections: tuple[Connection, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Channels:
    """``at most 2 channels a link``."""

    most: Expression
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Symmetric:
    """``symmetric``."""

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


Option = (
    Synthesize
    | Run
    | Interval
    | Rounds
    | Element
    | Budget
    | Minimize
    | InPlace
    | Forbid
    | Channels
    | Symmetric
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to synthesise or run, and within which limits."""

    options: tuple[Option, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Use:
    """``use "file.rly"``."""

    path: Text
    span: Span = field(compare=False, repr=False)


Machine = Topology | Derived | Imported
Named = Machine | Struct | Operator | Collective | Schedule
Declaration = Named | Plan | Use

KINDS: dict[type, str] = {
    Topology: "topology",
    Derived: "topology",
    Imported: "topology",
    Struct: "element",
    Operator: "operator",
    Collective: "collective",
    Schedule: "schedule",
}
"""The namespaces, by what declares a name in them."""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text: its declarations in their order."""

    declarations: tuple[Declaration, ...]
