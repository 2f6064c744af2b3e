"""Lower limits on steps and rounds, each with a certificate that ``certificates`` can check."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from roundelay.dsl.source import UnsupportedError

from .capacity import Machine
from .routes import measure_hops
from .schedule import Bound, Certificate
from .subsets import list_bits, partition_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.model import Block, Collective, Problem, Topology

_ALL_SUBSETS = 12  # Ranks up to which every set of ranks is tried as a side of a cut,
_ALL_PARTITIONS = 8  # and every partition of them.
_WORK = 1_000_000  # Pairs of a side and what a block asks for, looked at beyond that.


@dataclass(frozen=True, slots=True)
class _Demand:
    """A set of symbols wanted together: bits of symbols, of their holders, of wanting ranks."""

    symbols: int
    holders: tuple[tuple[int, int], ...]
    wanting: int

    @property
    def held(self) -> int:
        """Bits of the ranks that hold a symbol of it."""
        union = 0
        for _, rank in self.holders:
            union |= rank
        return union


Asked = tuple[_Demand, ...]
"""What a block asks for."""

Demands = Counter[Asked]
"""How many blocks ask for the same."""


def bound(problem: Problem) -> Bound:
    """The strongest limits found for every schedule of a problem, whatever its chunks.

    Raises ``UnsupportedError`` where no schedule exists because a rank that holds a value has no
    way to a rank that wants it.
    """
    topology = problem.topology
    farthest = _measure_farthest(problem)
    certificates = [] if farthest is None else [farthest]
    rounds = Fraction(0)
    if farthest is not None:
        demands = _gather_demands(problem.collective)
        machine = Machine(topology)
        strongest = _find_cut(machine, demands)
        if not any(switch.multicast or switch.reduce for switch in topology.switches):
            partition = _find_partition(machine, demands)
            if partition is not None and partition.value > strongest.value:
                strongest = partition
        rounds = strongest.value
        certificates.append(strongest)
    steps = 0 if farthest is None else int(farthest.value)
    per_byte = rounds / (topology.slowest * problem.collective.units) if rounds else rounds
    return Bound(steps, rounds, per_byte, tuple(certificates))


def _measure_farthest(problem: Problem) -> Certificate | None:
    """Data moves from rank to rank once a step, so it needs as many steps as its way has hops.

    True for merged data too: each symbol of a merge has come the whole way. None where every
    rank holds all it wants.
    """
    hops = measure_hops(problem.topology)
    name = problem.topology.node_name
    worst: tuple[int, int, int] | None = None
    for block in problem.collective.blocks:
        for want in block.wants:
            for position in want.symbols:
                source = block.symbols[position].rank
                steps = hops[source][want.rank]
                if steps is None:
                    raise UnsupportedError(
                        f"no way leads from {name(source)} to {name(want.rank)}, which wants "
                        f"{block.symbols[position]}"
                    )
                if worst is None or steps > worst[0]:
                    worst = (steps, source, want.rank)
    if worst is None or worst[0] == 0:
        return None
    steps, source, target = worst
    count = "1 step" if steps == 1 else f"{steps} steps"
    reason = f"data of {name(source)} needs {count} to {name(target)}"
    return Certificate("distance", Fraction(steps), (source, target), reason)


def _gather_demands(collective: Collective) -> Demands:
    return Counter(_demands_of(block) for block in collective.blocks)


def _demands_of(block: Block) -> Asked:
    wanting: dict[frozenset[int], int] = {}
    for want in block.wants:
        symbols = frozenset(want.symbols)
        wanting[symbols] = wanting.get(symbols, 0) | 1 << want.rank
    return tuple(
        _Demand(
            sum(1 << s for s in symbols),
            tuple((1 << s, 1 << block.symbols[s].rank) for s in sorted(symbols)),
            ranks,
        )
        for symbols, ranks in wanting.items()
    )


def _find_cut(machine: Machine, demands: Demands) -> Certificate:
    """The set of ranks whose leaving data takes its links longest.

    A want outside of S that is made of symbols A held in S needs a message over the cut that
    carries some of A and, of what S holds, nothing but A: all a message carries ends up in the
    value it is used for. Wants with disjoint A so need different messages, and each loads a
    link of every cut between S and the other ranks. That holds for idempotent operators, and for
    messages that switches copy or combine as well, since it counts what the cut's links carry.
    """
    best: tuple[Fraction, int, int, int, int] | None = None
    asked, counts = list(demands), list(demands.values())
    held, wanted = _index(asked, machine.ranks)
    for side in _sides(machine, max(len(demands), machine.ranks)):
        rest = (1 << machine.ranks) - 1 ^ side
        near = (held, side) if side.bit_count() <= rest.bit_count() else (wanted, rest)
        numbers = set[int]().union(*(near[0][rank] for rank in list_bits(near[1])))
        crossings = sum(counts[i] * _crossings(asked[i], side) for i in numbers)
        if crossings:
            capacity, nodes = machine.cut(side)
            value = machine.rounds(crossings, capacity)
            if best is None or value > best[0]:
                best = (value, side, nodes, crossings, capacity)
    assert best is not None  # Some data moves, so the set of its holder alone is crossed.
    value, side, nodes, crossings, capacity = best
    topology = machine.topology
    carried = Fraction(capacity, machine.scale) / topology.slowest
    whole = (1 << machine.ranks) - 1
    where = f"leave {_names(topology, side)}"
    if (whole ^ side).bit_count() < side.bit_count():
        where = f"reach {_names(topology, whole ^ side)}"
    what = "message" if crossings == 1 else "messages"
    reason = f"{crossings} {what} a chunk must {where} over links that carry {carried} a round"
    return Certificate("cut", value, tuple(list_bits(nodes)), reason)


def _index(asked: list[Asked], ranks: int) -> tuple[list[list[int]], list[list[int]]]:
    """Numbers of blocks by a rank that holds a symbol of theirs, and by one that wants a value."""
    held: list[list[int]] = [[] for _ in range(ranks)]
    wanted: list[list[int]] = [[] for _ in range(ranks)]
    for number, block in enumerate(asked):
        for rank in list_bits(reduce(or_, (demand.held for demand in block), 0)):
            held[rank].append(number)
        for rank in list_bits(reduce(or_, (demand.wanting for demand in block), 0)):
            wanted[rank].append(number)
    return held, wanted


def _crossings(block: Asked, side: int) -> int:
    """Messages of one chunk that must leave a side: wants outside with disjoint needs inside."""
    needs: set[int] = set()
    for demand in block:
        if demand.wanting & ~side:
            inside = 0
            for symbol, rank in demand.holders:
                if rank & side:
                    inside |= symbol
            needs.add(inside)
    needs.discard(0)
    taken = count = 0
    for need in sorted(needs, key=lambda bits: (bits.bit_count(), bits)):
        if not need & taken:
            taken |= need
            count += 1
    return count


def _sides(machine: Machine, work: int) -> Iterator[int]:
    """Sets of ranks worth a look: all if there are few; else one rank, all but one, ranks up to
    some number, and all within some distance of a rank.
    """
    ranks = machine.ranks
    whole = (1 << ranks) - 1
    if ranks <= _ALL_SUBSETS:
        yield from range(1, whole)
        return
    hops = measure_hops(machine.topology)
    half = (1 << ranks // 2) - 1
    sides: dict[int, None] = dict.fromkeys((half, whole ^ half))
    sides |= dict.fromkeys(1 << rank for rank in range(ranks))
    sides |= dict.fromkeys(whole ^ 1 << rank for rank in range(ranks))
    for rank in range(1, ranks):
        if len(sides) * work > _WORK:
            break
        sides[(1 << rank) - 1] = None
        sides[whole ^ ((1 << rank) - 1)] = None
    for near in hops:
        for radius in range(1, ranks):
            ball = sum(1 << v for v, steps in enumerate(near) if steps is not None
                       and steps <= radius)  # fmt: skip
            if ball == whole or len(sides) * work > _WORK:
                break
            sides[ball] = None
            sides[whole ^ ball] = None
    yield from (side for side in sides if 0 < side < whole)


def _find_partition(machine: Machine, demands: Demands) -> Certificate | None:
    """The partition of the ranks whose parts must exchange most for what joins them.

    Take the messages between parts one by one, those of a step in any order. Of a value whose
    symbols h parts hold and w parts want, let the first part that has all of it be complete: by
    then every other holding part has sent, and every other wanting part becomes complete by a
    later message into it. So h + w messages cross, less 2 where a part holds and wants, else
    less 1. The argument counts information, so it holds for idempotent operators; it fails where
    a switch makes several messages of one or one of several. Messages out of a part load its min
    cut, so all of them together the sum of these cuts; the same holds for messages into it.
    """
    parts = [1 << rank for rank in range(machine.ranks)]
    whole = (1 << machine.ranks) - 1
    partitions = partition_all(parts) if machine.ranks <= _ALL_PARTITIONS else iter([parts])
    best: tuple[Fraction, list[int], int, int] | None = None
    for partition in partitions:
        if len(partition) < 2:
            continue
        crossings = sum(n * _exchanges(block, partition) for block, n in demands.items())
        if crossings:
            capacity = min(
                sum(machine.cut(part)[0] for part in partition),
                sum(machine.cut(whole ^ part)[0] for part in partition),
            )
            value = machine.rounds(crossings, capacity)
            if best is None or (value, len(partition)) > (best[0], len(best[1])):
                best = (value, partition, crossings, capacity)
    if best is None:
        return None
    value, partition, crossings, capacity = best
    carried = Fraction(capacity, machine.scale) / machine.topology.slowest
    number = {rank: i for i, part in enumerate(partition) for rank in list_bits(part)}
    nodes = tuple(number[rank] for rank in range(machine.ranks))
    parts_named = "ranks" if len(partition) == machine.ranks else "parts of the machine"
    reason = (
        f"{crossings} messages a chunk must pass between the {len(partition)} {parts_named}, "
        f"whose links carry {carried} a round"
    )
    return Certificate("partition", value, nodes, reason)


def _exchanges(block: Asked, partition: list[int]) -> int:
    """Messages of one chunk between parts, for values that share no symbol."""
    counts: list[tuple[int, int]] = []
    alone = all(part.bit_count() == 1 for part in partition)
    for demand in block:
        held, wants = demand.held, demand.wanting
        if alone:  # Then a part is a bit, and counting bits counts parts.
            holding, wanting, both = held.bit_count(), wants.bit_count(), bool(held & wants)
        else:
            holding = sum(1 for part in partition if part & held)
            wanting = sum(1 for part in partition if part & wants)
            both = any(part & held and part & wants for part in partition)
        counts.append((holding + wanting - (2 if both else 1), demand.symbols))
    taken = total = 0
    for count, symbols in sorted(counts, reverse=True):
        if not symbols & taken:
            taken |= symbols
            total += count
    return total


def _names(topology: Topology, side: int) -> str:
    names = [topology.node_name(rank) for rank in list_bits(side)]
    return ", ".join(names) if len(names) <= 8 else f"{len(names)} ranks from {names[0]}"
