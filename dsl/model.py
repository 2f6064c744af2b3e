"""The checked model: what every other room takes from the language.

Nodes are numbered: ranks first, in the order of their declaration, then switches. All quantities
are exact: bandwidths in bytes per second, latencies in seconds, both as ``Fraction``.
This file is long because all nouns of the language stand here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, overload

from .units import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .source import Span

# --------------------------------------------------------------------------------- topology


@dataclass(frozen=True, slots=True)
class Rank:
    """A place that holds data and computes."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Switch:
    """A place that forwards what it is sent, without a buffer.

    ``multicast``: one message in, copies out on several links. ``reduce``: several messages in,
    their combination out (in-network reduction).
    """

    name: str
    multicast: bool = False
    reduce: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Link:
    """``count`` parallel links from node ``src`` to node ``dst``, one direction.

    ``bandwidth`` is that of **one** of them; together they carry ``capacity``.
    """

    src: int
    dst: int
    count: int
    bandwidth: Fraction
    latency: Fraction
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def capacity(self) -> Fraction:
        """Bytes per second over all the parallel links."""
        return self.count * self.bandwidth


@dataclass(frozen=True, slots=True)
class Topology:
    """Ranks, switches and directed links; at most one ``Link`` for an ordered pair of nodes.

    ``assumed`` lists what the user left to a default and the tool therefore prints, as pairs of
    a parameter's name and its value in the language's own units (``("bw", "50 GB/s")``); the
    name of a part and a dot stand before what that part assumes (``box.bw``).
    """

    name: str
    ranks: tuple[Rank, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]
    assumed: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        nodes = len(self.ranks) + len(self.switches)
        for link in self.links:
            pair = src, dst = link.src, link.dst
            if not (0 <= src < nodes and 0 <= dst < nodes) or src == dst:
                raise ValueError(f"link {pair} does not join two of the {nodes} nodes")
            # A fraction has the sign of its numerator, and that is much quicker to compare.
            if link.count < 1 or link.bandwidth.numerator <= 0 or link.latency.numerator < 0:
                raise ValueError(f"link {pair} needs a positive count and bandwidth")
        pairs = Counter((link.src, link.dst) for link in self.links)
        if len(pairs) < len(self.links):
            pair, _ = pairs.most_common(1)[0]
            raise ValueError(f"link {pair} appears twice")

    def node_name(self, node: int) -> str:
        """The name of a node as the user wrote it (``gpu[3]``)."""
        ranks = len(self.ranks)
        return self.ranks[node].name if node < ranks else self.switches[node - ranks].name

    @property
    def slowest(self) -> Fraction:
        """Bytes per second of the slowest single link: a round is one chunk's time on it."""
        return min(link.bandwidth for link in self.links)


# --------------------------------------------------------------------------------- operators

ELEMENT_NAMES: tuple[str, ...] = (
    "f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64",
)  # fmt: skip
"""Element types a plan may name, and the types of a struct's fields."""


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a struct: ``length`` values of an element type, side by side.

    ``vector`` tells ``f32[1]`` from ``f32``.
    """

    name: str
    element: str
    length: int = 1
    vector: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """An element made of named fields, which lie behind one another without gaps."""

    name: str
    fields: tuple[Field, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Function = Literal[
    "add", "sub", "mul", "div", "neg", "min", "max", "abs", "exp", "log", "logaddexp", "sqrt",
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "where",
    "band", "bor", "bxor", "inv", "shl", "shr",
]  # fmt: skip
"""Comparisons, ``and``, ``or`` and ``not`` give 1 or 0; a number counts as true if it is not 0.
``where`` takes a condition and two values. Bit operations exist on integers alone, ``div``,
``exp``, ``log``, ``logaddexp`` and ``sqrt`` on floats alone."""

COMPARISONS: tuple[Function, ...] = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC: tuple[Function, ...] = ("and", "or", "not")
"""Functions of truth values: each argument may be of another type."""
CONDITIONS = (*COMPARISONS, *LOGIC)
"""Functions that give 1 or 0, of whatever type is wanted."""
ON_INTEGERS: tuple[Function, ...] = ("band", "bor", "bxor", "inv", "shl", "shr")
ON_FLOATS: tuple[Function, ...] = ("exp", "log", "logaddexp", "sqrt")


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of an operator's expression."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Variable:
    """A field of one of the operator's two values, both by position; scalars have field 0."""

    index: int
    field: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """A field of the result, made by an earlier assignment of the same body."""

    field: int


@dataclass(frozen=True, slots=True)
class Count:
    """In ``finish``: how many values the result combines."""


@dataclass(frozen=True, slots=True)
class Apply:
    """A function applied to expressions."""

    function: Function
    arguments: tuple[Expression, ...]


Expression = Number | Variable | Made | Count | Apply


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a field of the result is worth.

    A vector field is computed value by value: fields of its own length are taken at the same
    place, those of length 1 everywhere. A field of length 1 is made of such fields alone.
    """

    field: int
    value: Expression


Body = tuple[Assignment, ...]
"""One assignment a field, in the order of evaluation; one of field 0 for a scalar operator."""


def scalar_body(value: Expression) -> Body:
    """The body of an operator on plain numbers."""
    return (Assignment(0, value),)


@dataclass(frozen=True, slots=True)
class Operator:
    """A binary associative function and the further laws it was declared to obey.

    ``arguments`` are the numbers it was called with (``premulsum(0.5)``), ``struct`` the element
    it combines (None: any plain number). ``prepare`` maps every input before anything is
    combined (``Variable(0)``), ``finish`` every wanted value after (``Variable(0)`` and
    ``Count``); None leaves it as it is. Laws speak of ``body`` alone.
    """

    name: str
    body: Body
    identity: Fraction | None = None
    commutative: bool = False
    idempotent: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    struct: Struct | None = None
    prepare: Body | None = None
    finish: Body | None = None
    arguments: tuple[Fraction, ...] = ()

    @property
    def scalar(self) -> Expression:
        """The body of an operator on plain numbers."""
        if self.struct is not None:
            raise ValueError(f"operator {self.name} combines structs")
        return self.body[0].value

    def __str__(self) -> str:
        """As a call: ``sum``, ``premulsum(0.5)``."""
        shown = ", ".join(map(show, self.arguments))
        return f"{self.name}({shown})" if shown else self.name


# --------------------------------------------------------------------------------- collectives


@dataclass(frozen=True, slots=True)
class Symbol:
    """A given value ``x[rank, …]`` without its chunk index; ``rank`` holds it at the start."""

    indices: tuple[int, ...]
    rank: int

    def __str__(self) -> str:
        return f"x[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class Want:
    """A wanted value ``y[rank, …]``: the combination of symbols of one block, in this order.

    ``symbols`` are positions in ``Block.symbols``. One symbol alone is a copy.
    """

    rank: int
    indices: tuple[int, ...]
    symbols: tuple[int, ...]

    def __str__(self) -> str:
        return f"y[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class Spread(Sequence[Want]):
    """One value that many ranks want: ``y[i, *rest]`` at rank ``ranks[i]``.

    It stands for its wants where there are too many to hold, as in an all-gather over thousands
    of ranks, and makes each when it is asked for.
    """

    ranks: tuple[int, ...]
    rest: tuple[int, ...]
    symbols: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ranks)

    @overload
    def __getitem__(self, index: int) -> Want: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Want, ...]: ...
    def __getitem__(self, index: int | slice) -> Want | tuple[Want, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self.ranks))[index])
        place = range(len(self.ranks))[index]
        return Want(self.ranks[place], (place, *self.rest), self.symbols)


@dataclass(frozen=True, slots=True)
class Block:
    """A family of symbols that can meet in one result, and the results wanted of them.

    All-reduce has one block of N symbols, all-gather N blocks of one symbol, reduce-scatter N
    blocks of N symbols, all-to-all N·N blocks of one. Every block is cut into the same number of
    chunks; chunk ``c`` of block ``b`` is numbered ``b * chunks + c`` in a schedule.
    """

    symbols: tuple[Symbol, ...]
    wants: Sequence[Want]

    def families(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The symbols that are wanted together and the ranks that want them, in order."""
        if isinstance(self.wants, Spread):
            yield self.wants.symbols, self.wants.ranks
            return
        found: dict[tuple[int, ...], list[int]] = {}
        for want in self.wants:
            found.setdefault(want.symbols, []).append(want.rank)
        yield from ((symbols, tuple(ranks)) for symbols, ranks in found.items())


@dataclass(frozen=True, slots=True)
class Collective:
    """What is given and what is wanted, over the ranks of one topology.

    ``arguments`` are those of the collective as written, operator first (``("sum", "0")``).
    ``busbw`` is the factor from algorithm to bus bandwidth. With ``groups`` the collective takes
    place within each of these lists of ranks at once, and indices count within a group.
    """

    name: str
    arguments: tuple[str, ...]
    ranks: int
    blocks: tuple[Block, ...]
    busbw: Fraction = Fraction(1)
    root: int | None = None
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def combines(self) -> bool:
        """Whether any wanted value is made of more than one symbol."""
        return any(len(symbols) > 1 for block in self.blocks for symbols, _ in block.families())

    def inputs(self, rank: int) -> tuple[tuple[int, int], ...]:
        """(block, symbol) of every unit of a rank's input buffer, in the order of the buffer."""
        held = [
            (symbol.indices, b, s)
            for b, block in enumerate(self.blocks)
            for s, symbol in enumerate(block.symbols)
            if symbol.rank == rank
        ]
        return tuple((b, s) for _, b, s in sorted(held))

    def outputs(self, rank: int) -> tuple[tuple[int, int], ...]:
        """(block, want) of every unit of a rank's output buffer, in the order of the buffer."""
        wanted = [
            (want.indices, b, w)
            for b, block in enumerate(self.blocks)
            for w, want in enumerate(block.wants)
            if want.rank == rank
        ]
        return tuple((b, w) for _, b, w in sorted(wanted))

    @property
    def units(self) -> int:
        """Units in the largest buffer of any rank: the size of a collective is so many units.

        A unit is one symbol's elements. All-reduce 1, all-gather and all-to-all N.
        """
        given = Counter(symbol.rank for block in self.blocks for symbol in block.symbols)
        # Many blocks are wanted by the same ranks: those are counted together.
        alike = Counter(ranks for block in self.blocks for _, ranks in block.families())
        wanted: Counter[int] = Counter()
        for ranks, times in alike.items():
            for rank in ranks:
                wanted[rank] += times
        sizes = (max(given[rank], wanted[rank]) for rank in range(self.ranks))
        return max(sizes, default=1)


# --------------------------------------------------------------------------------- the problem


@dataclass(frozen=True, slots=True)
class Objective:
    """What the synthesiser minimises: ``latency`` (steps first), ``bandwidth`` (seconds a byte
    first), or ``time`` at a message size in bytes.
    """

    kind: Literal["latency", "bandwidth", "time"] = "latency"
    size: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan or a command line asks for; None leaves it to the synthesiser.

    ``chunks`` and ``steps`` are inclusive ranges; ``rounds`` an inclusive upper limit, in rounds
    of the whole schedule; ``sizes`` an inclusive range of bytes; ``budget`` is in seconds.
    ``element`` is an element type or the name of the operator's struct. ``in_place``: outputs lie
    in their inputs. ``channels``: most channels from one rank to another. ``symmetric``: every
    automorphism of the machine that the search looks at maps the schedule to itself.
    ``forbidden``: directed links (by their nodes' names) that the plan took out of the topology.
    ``spans``: where a plan says what it asks for, by the names of the options (``at most`` for the
    channels); none for what stands on a command line.
    """

    chunks: tuple[int, int] | None = None
    steps: tuple[int, int] | None = None
    rounds: Fraction | None = None
    sizes: tuple[int, int] | None = None
    element: str = "f32"
    budget: Fraction | None = None
    objective: Objective | None = None
    in_place: bool = False
    channels: int | None = None
    symmetric: bool = False
    forbidden: tuple[tuple[str, str], ...] = ()
    spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """One question for the synthesiser: a collective, its operator, a machine, and limits."""

    topology: Topology
    collective: Collective
    operator: Operator | None
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.collective.ranks != len(self.topology.ranks):
            raise ValueError("the collective and the topology differ in their number of ranks")
        if self.collective.combines and self.operator is None:
            raise ValueError("a collective that combines values needs an operator")


# --------------------------------------------------------------------------------- by hand


@dataclass(frozen=True, slots=True)
class Move:
    """One ``send`` of a schedule by hand.

    Rank ``src`` sends what it holds of chunk ``chunk`` (``block * chunks + c``) before the step.
    With ``reduce`` the receiver merges that into what it holds, else it takes its place.
    ``via`` are the switches to pass, as node numbers in order; None leaves them to the tool.
    """

    step: int
    chunk: int
    src: int
    dst: int
    reduce: bool
    via: tuple[int, ...] | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Handwritten:
    """A schedule as its author wrote it; steps are counted from 0."""

    name: str
    problem: Problem
    chunks: int
    steps: int
    moves: tuple[Move, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
