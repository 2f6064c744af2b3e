"""The checked model: what every other room takes from the language.

Nodes are numbered: ranks first, in the order of their declaration, then switches. All quantities
are exact: bandwidths in bytes per second, latencies in seconds, both as ``Fraction``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
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
    a parameter's name and its value in the language's own units (``("bw", "50 GB/s")``).
    """

    name: str
    ranks: tuple[Rank, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]
    assumed: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        nodes = len(self.ranks) + len(self.switches)
        seen: set[tuple[int, int]] = set()
        for link in self.links:
            pair = (link.src, link.dst)
            if not (0 <= link.src < nodes and 0 <= link.dst < nodes) or link.src == link.dst:
                raise ValueError(f"link {pair} does not join two of the {nodes} nodes")
            if link.count < 1 or link.bandwidth <= 0 or link.latency < 0:
                raise ValueError(f"link {pair} needs a positive count and bandwidth")
            if pair in seen:
                raise ValueError(f"link {pair} appears twice")
            seen.add(pair)

    def node_name(self, node: int) -> str:
        """The name of a node as the user wrote it (``gpu[3]``)."""
        ranks = len(self.ranks)
        return self.ranks[node].name if node < ranks else self.switches[node - ranks].name

    @property
    def slowest(self) -> Fraction:
        """Bytes per second of the slowest single link: a round is one chunk's time on it."""
        return min(link.bandwidth for link in self.links)


# --------------------------------------------------------------------------------- operators

Function = Literal["add", "sub", "mul", "div", "neg", "min", "max", "abs"]


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of an operator's expression."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Variable:
    """One of the operator's two parameters, by position: 0 or 1."""

    index: int


@dataclass(frozen=True, slots=True)
class Apply:
    """A function applied to expressions: ``neg`` and ``abs`` take one, all others two."""

    function: Function
    arguments: tuple[Expression, ...]


Expression = Number | Variable | Apply


@dataclass(frozen=True, slots=True)
class Operator:
    """A binary associative function and the further laws it was declared to obey."""

    name: str
    body: Expression
    identity: Fraction | None = None
    commutative: bool = False
    idempotent: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


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
class Block:
    """A family of symbols that can meet in one result, and the results wanted of them.

    All-reduce has one block of N symbols, all-gather N blocks of one symbol, reduce-scatter N
    blocks of N symbols, all-to-all N·N blocks of one. Every block is cut into the same number of
    chunks; chunk ``c`` of block ``b`` is numbered ``b * chunks + c`` in a schedule.
    """

    symbols: tuple[Symbol, ...]
    wants: tuple[Want, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """What is given and what is wanted, over the ranks of one topology.

    ``arguments`` are those of the collective as written, operator first (``("sum", "0")``).
    ``busbw`` is the factor from algorithm to bus bandwidth.
    """

    name: str
    arguments: tuple[str, ...]
    ranks: int
    blocks: tuple[Block, ...]
    busbw: Fraction = Fraction(1)
    root: int | None = None

    @property
    def combines(self) -> bool:
        """Whether any wanted value is made of more than one symbol."""
        return any(len(want.symbols) > 1 for block in self.blocks for want in block.wants)

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
        wanted = Counter(want.rank for block in self.blocks for want in block.wants)
        sizes = (max(given[rank], wanted[rank]) for rank in range(self.ranks))
        return max(sizes, default=1)


# --------------------------------------------------------------------------------- the problem

ELEMENT_NAMES: tuple[str, ...] = (
    "f16", "bf16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "u64",
)  # fmt: skip
"""Element types a plan may name."""


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
    """

    chunks: tuple[int, int] | None = None
    steps: tuple[int, int] | None = None
    rounds: Fraction | None = None
    sizes: tuple[int, int] | None = None
    element: str = "f32"
    budget: Fraction | None = None
    objective: Objective | None = None


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
