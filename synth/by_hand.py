"""A schedule by hand, made into a schedule: who holds what, step by step, and what is wrong in it.

Every rank has one accumulator for each chunk, at first its own symbols of the chunk's block. All
sends of a step read what was there before the step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from roundelay.dsl.source import Fault, InputError

from .bounds import bound
from .certificates import verify
from .checker import ScheduleError, check
from .holding import Held, Orders
from .schedule import Answer, Found, Got, Own, Result, Schedule, Send
from .subsets import list_bits
from .timeline import price
from .ways import Ways

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roundelay.dsl.model import Block, Handwritten, Move, Want

    from .holding import Merged
    from .schedule import Part

_BOUNDING = 10.0  # Seconds for bounds to hold a schedule against, where they take so long.
_SHOWN = 8  # Symbols of a value that a message names.
_UNMADE = 20  # Messages of values that are not made: one missing send may cost them all.
_LARGEST = 4_000_000  # Given and wanted values over all chunks: seconds to follow.


def judge(handwritten: Handwritten) -> Answer:
    """The answer of a search that found this schedule; raises ``InputError`` as ``arrange``."""
    began = time.monotonic()
    problem = handwritten.problem
    schedule = arrange(handwritten)
    try:
        verdict = check(schedule)
    except ScheduleError as error:
        faults = [Fault(text, handwritten.span) for text in error.violations]
        raise InputError(*faults) from error
    cost = price(schedule)
    if cost.rounds != verdict.rounds:
        raise RuntimeError(f"a schedule of {verdict.rounds} rounds is priced at {cost.rounds}")
    limit = bound(problem, budget=_BOUNDING)
    for certificate in limit.certificates:
        verify(problem, certificate)
    found = Found(schedule, cost, "by hand")
    seconds = time.monotonic() - began
    return Answer(problem, found, limit, cost.per_byte == limit.per_byte, seconds)


def arrange(handwritten: Handwritten) -> Schedule:
    """The schedule that the moves of a handwritten one describe (see ``Move``).

    With an operator that is not commutative the parts of a message are put in the order of a
    want of which they make a run; the receiver's own wants come first. Where no way is written,
    the shortest one through switches is taken that is least loaded in its step. Raises
    ``InputError``: all faults of the moves at once and, where none of these changes what the
    ranks hold, all wanted values that are not made.
    """
    hand = _Hand(handwritten)
    hand.refuse_excess()
    moves = sorted(handwritten.moves, key=lambda move: move.step)
    for _, together in groupby(moves, key=lambda move: move.step):
        hand.take_step(list(together))
    results = hand.finish()
    if hand.faults:
        raise InputError(*hand.faults)
    return Schedule(
        handwritten.problem, handwritten.chunks, handwritten.steps, tuple(hand.sends), results
    )


@dataclass(slots=True)
class _Hand:
    """A schedule by hand at work; ``broken``: the ranks do not hold what its author thinks."""

    given: Handwritten
    sends: list[Send] = field(default_factory=list)
    faults: dict[Fault, None] = field(default_factory=dict)
    broken: bool = False
    held: dict[tuple[int, int], Held] = field(default_factory=dict)
    ways: Ways = field(init=False)
    orders: Orders = field(init=False)

    def __post_init__(self) -> None:
        problem = self.given.problem
        self.ways = Ways(problem.topology)
        self.orders = Orders(problem.collective.blocks, problem.operator)

    def refuse_excess(self) -> None:
        """Raise ``InputError`` for numbers of chunks and steps that make no sense, or no end."""
        blocks = self.given.problem.collective.blocks
        values = sum(len(block.symbols) + len(block.wants) for block in blocks)
        if self.given.chunks < 1 or self.given.steps < 0:
            what = f"{self.given.chunks} chunks and {self.given.steps} steps"
            raise InputError(Fault(what, self.given.span, "1 chunk, 0 steps or more"))
        if self.given.chunks * values > _LARGEST:
            what = f"{self.given.chunks} chunks are too many for this collective"
            raise InputError(Fault(what, self.given.span, f"at most {max(1, _LARGEST // values)}"))

    # ------------------------------------------------------------------ a step

    def take_step(self, moves: list[Move]) -> None:
        """All moves of one step, which read what was held before it."""
        self.ways.begin_step()
        arriving: list[tuple[Move, Merged, Got]] = []
        for move in moves:
            if self._stands(move) and (message := self._send(move)) is not None:
                arriving.append((move, message, Got(len(self.sends) - 1)))
        copied: set[tuple[int, int]] = set()
        for move, message, got in arriving:
            place = move.dst, move.chunk
            if not move.reduce and place in copied:
                self._blame_overlap(move, "two copies")
            elif not move.reduce:
                copied.add(place)
                self.held[place] = Held([(message.content, got)], message.symbols)
        for move, message, got in arriving:
            if move.reduce and (move.dst, move.chunk) in copied:
                self._blame_overlap(move, "a copy and a reduction")
            elif move.reduce:
                self._reduce(move, message, got)

    def _stands(self, move: Move) -> bool:
        """Whether a move's numbers name things that exist; else it is blamed and left out."""
        given, ranks = self.given, len(self.given.problem.topology.ranks)
        chunks = given.chunks * len(given.problem.collective.blocks)
        missing = [rank for rank in (move.src, move.dst) if not 0 <= rank < ranks]
        if not 0 <= move.step < given.steps:
            self._blame(move, f"step {move.step} does not exist", _range("steps", given.steps))
        elif not 0 <= move.chunk < chunks:
            self._blame(move, f"chunk {move.chunk} does not exist", _range("chunks", chunks))
        elif missing:
            self._blame(move, f"rank {missing[0]} does not exist", _range("ranks", ranks))
        elif move.src == move.dst:
            self._blame(move, f"{self._name(move.src)} sends to itself", "another rank")
        else:
            return True
        return False

    def _send(self, move: Move) -> Merged | None:
        """Add a move's message and say what it carries; None where its sender holds nothing."""
        source = self._at(move.src, move.chunk)
        route = self._find_way(move)
        if not source.parts:
            self._blame(
                move,
                f"{self._when(move)}: {self._name(move.src)} holds nothing of it to send",
                "a rank that holds some of the chunk before the step",
                "send it there in an earlier step",
            )
            return None
        self.ways.load(route)
        message = source.merge(self.orders.list(move.chunk // self.given.chunks, move.dst))
        send = Send(move.step, move.chunk, move.src, move.dst, route, message.parts)
        self.sends.append(send)
        return message

    def _find_way(self, move: Move) -> tuple[int, ...]:
        """The numbers of the links to take; a fault, and nothing, where there is no such way."""
        start, end = self._name(move.src), self._name(move.dst)
        if move.via is None:
            route = self.ways.choose(move.src, move.dst)
            if not route:
                self._add(
                    move,
                    f"{start} has no link to {end}",
                    "a link, or a way through switches alone",
                    "send it in several steps, by ranks that lie between",
                )
            return route
        way = self.ways.follow((move.src, *move.via, move.dst))
        if isinstance(way, str):
            self._add(move, way, f"a path of links from {start} to {end} through switches")
            return ()
        return way

    def _reduce(self, move: Move, message: Merged, got: Got) -> None:
        """Merge a message into what its receiver holds."""
        problem = self.given.problem
        operator = problem.operator
        if operator is None:
            what = f"{problem.collective.name} has no operator to reduce with"
            self._blame(move, what, "copies alone", "send a copy")
            return
        target = self._at(move.dst, move.chunk)
        again = target.symbols & message.symbols
        if again and not (operator.idempotent and operator.commutative):
            law = "idempotent" if not operator.idempotent else "commutative"
            names = self._list(self._block(move.chunk), list_bits(again))
            self._blame(
                move,
                f"{self._when(move)}: {self._name(move.dst)} merges {names} twice",
                f"every value once, for operator {operator} is not {law}",
                "reduce what the receiver lacks, or send a copy",
            )
            return
        target.add(message.content, message.symbols, got)

    # ------------------------------------------------------------------ the end

    def finish(self) -> tuple[Result, ...]:
        """Every wanted value as its rank holds it; faults where it does not."""
        results: list[Result] = []
        unmade = 0
        for chunk in range(len(self.given.problem.collective.blocks) * self.given.chunks):
            for number, want in enumerate(self._block(chunk).wants):
                parts = self._make(chunk, want, unmade < _UNMADE)
                unmade += parts is None
                if parts is not None:
                    results.append(Result(chunk, number, parts))
        if unmade > _UNMADE and not self.broken:
            what = f"and {unmade - _UNMADE} values more are not made"
            self.faults[Fault(what, self.given.span)] = None
        return tuple(results)

    def _make(self, chunk: int, want: Want, blame: bool) -> tuple[Part, ...] | None:
        held = self._at(want.rank, chunk)
        made = held.merge(() if self.orders.any else (want.symbols,))
        if self.orders.any:
            fits = held.symbols == sum(1 << symbol for symbol in set(want.symbols))
        else:
            fits = made.content == want.symbols
        if not fits and blame and not self.broken:
            self._blame_want(chunk, want, made)
        return made.parts if fits and made.parts else None

    def _blame_want(self, chunk: int, want: Want, made: Merged) -> None:
        block = self._block(chunk)
        has, wanted = set(made.content), set(want.symbols)
        missing = [symbol for symbol in want.symbols if symbol not in has]
        needless = [symbol for symbol in made.content if symbol not in wanted]
        remedy = "merge neighbours alone: the operator is not commutative, so order counts"
        if needless:
            remedy = f"keep {self._list(block, needless)} out of it"
        if missing:
            remedy = f"send it what is missing: {self._list(block, missing)}"
        holds = self._list(block, made.content) or "nothing"
        where = f"{self._name(want.rank)}, which holds {holds}"
        what = f"{want} of chunk {chunk % self.given.chunks} is not made at {where}"
        expected = self._list(block, want.symbols)
        if not self.orders.any and len(want.symbols) > 1:
            expected += ", in this order"
        self.faults[Fault(what, self.given.span, expected, remedy)] = None

    # ------------------------------------------------------------------ words and places

    def _at(self, rank: int, chunk: int) -> Held:
        if (rank, chunk) not in self.held:
            held = self.held[rank, chunk] = Held()
            for position, symbol in enumerate(self._block(chunk).symbols):
                if symbol.rank == rank:
                    held.add((position,), 1 << position, Own(position))
        return self.held[rank, chunk]

    def _block(self, chunk: int) -> Block:
        return self.given.problem.collective.blocks[chunk // self.given.chunks]

    def _name(self, rank: int) -> str:
        return self.given.problem.topology.node_name(rank)

    def _list(self, block: Block, symbols: Iterable[int]) -> str:
        names = [str(block.symbols[symbol]) for symbol in symbols]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return ", ".join(names[:_SHOWN]) + more

    def _when(self, move: Move) -> str:
        block, where = self._block(move.chunk), ""
        if len(self.given.problem.collective.blocks) > 1 and block.symbols:
            where = f" of {block.symbols[0]}"
        return f"step {move.step}, chunk {move.chunk % self.given.chunks}{where}"

    def _blame_overlap(self, move: Move, what: str) -> None:
        self._blame(
            move,
            f"{self._when(move)}: {self._name(move.dst)} takes {what}",
            "one copy, or reductions alone, of a chunk into a rank in a step",
            "move one of them into another step",
        )

    def _blame(self, move: Move, message: str, expected: str, remedy: str = "") -> None:
        """A fault after which the ranks do not hold what they should."""
        self.broken = True
        self._add(move, message, expected, remedy)

    def _add(self, move: Move, message: str, expected: str, remedy: str = "") -> None:
        self.faults[Fault(message, move.span, expected, remedy)] = None


def _range(things: str, count: int) -> str:
    return f"{things} 0 to {count - 1}" if count else f"no {things} at all"
