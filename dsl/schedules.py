"""A schedule by hand: its text over one machine, made into the moves of a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import syntax
from .collective_checks import CHUNK, RANKS
from .faults import BlamedError, LimitError, unknown_error
from .indices import arity_fault
from .loops import Allowance, Loops
from .model import Handwritten, Move
from .names import check_expression, check_loops, check_parameters
from .values import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .faults import Report
    from .model import Problem
    from .source import Span
    from .values import Scope

CHUNKS = 1_000_000
"""Most chunks of a schedule by hand."""
MOVES = 1_000_000
"""Most sends, and most steps, of a schedule by hand."""


def check_schedule(declaration: syntax.Schedule, numbers: list[str], report: Report) -> None:
    """Blame what is wrong in a schedule's text whatever the machine.

    ``numbers`` are its parameters less those that stand for an operator or a machine.
    """
    check_parameters(_numeric(declaration, numbers), report)
    names = [*numbers, *([] if RANKS in numbers else [RANKS])]
    for call, known in ((declaration.collective, names), (declaration.topology, numbers)):
        for argument in call.arguments:
            _check_argument(argument.value, known, report)
    found = [each for each in declaration.statements if isinstance(each, syntax.Chunks)]
    if len(found) != 1:
        report.blame(
            f"schedule {declaration.name.text!r} says "
            f"{'twice' if found else 'nowhere'} how many chunks there are",
            found[1].span if found else declaration.name.span,
            "'chunks' once, as in: chunks n",
        )
    for statement in declaration.statements:
        if isinstance(statement, syntax.Chunks):
            check_expression(statement.number, names, report)
        else:
            _check_step(statement, names, report)


def _numeric(declaration: syntax.Schedule, numbers: list[str]) -> tuple[syntax.Parameter, ...]:
    """The parameters; the default of one that is no number stands for itself."""
    return tuple(
        replace(each, default=syntax.Number("0", "", each.span))
        if each.default is not None and each.name.text not in numbers
        else each
        for each in declaration.parameters
    )


def _check_argument(value: syntax.Expression, numbers: Collection[str], report: Report) -> None:
    """Arguments may name operators and machines, which their own declarations judge."""
    if not isinstance(value, syntax.Name | syntax.Apply):
        check_expression(value, numbers, report)


def _check_step(step: syntax.Step, names: list[str], report: Report) -> None:
    outer = check_loops(step.loops, step.guard, names, report, ranks=True)
    if not step.sends:
        report.blame("a step without a send", step.span, "at least one 'send' behind ':'")
    for send in step.sends:
        inner = check_loops(send.loops, send.guard, outer, report, ranks=True)
        if isinstance(send.chunk, syntax.Choice):
            if send.chunk.name.text != CHUNK:
                report.blame(
                    f"{send.chunk.name.text!r} is chosen",
                    send.chunk.name.span,
                    f"{CHUNK!r}, the chunk, or a value by its name: x[s, c]",
                )
            check_expression(send.chunk.value, inner, report)
        else:
            for index in send.chunk.indices:
                check_expression(index, inner, report)
        for end in (send.src, send.dst):
            # A bare word may be a rank's own name, which only the machine knows.
            if not isinstance(end, syntax.Reference | syntax.Name):
                check_expression(end, inner, report)


def build_handwritten(
    declaration: syntax.Schedule,
    collective: syntax.Collective,
    problem: Problem,
    scope: Scope,
    node: Callable[[syntax.Expression, Scope], int],
    report: Report,
) -> Handwritten | None:
    """The moves of a schedule, or None and faults.

    ``scope`` holds the values of the parameters that are numbers; ``node`` finds a node of the
    machine by its name, and raises ``BlamedError``.
    """
    ranks = problem.collective.ranks
    build = _Build(declaration, collective, problem, {RANKS: ranks, **scope}, node, report)
    before = len(report.faults)
    try:
        build.run()
    except BlamedError as error:
        report.add(error.fault)
    if len(report.faults) > before:
        return None
    return Handwritten(
        declaration.name.text,
        problem,
        build.chunks,
        build.steps,
        tuple(build.moves),
        declaration.name.span,
    )


@dataclass(slots=True)
class _Build:
    declaration: syntax.Schedule
    collective: syntax.Collective
    problem: Problem
    scope: Scope
    node: Callable[[syntax.Expression, Scope], int]
    report: Report
    chunks: int = 0
    steps: int = 0
    moves: list[Move] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)
    _blocks: dict[tuple[str, int, tuple[int, ...]], int] = field(default_factory=dict)
    _group: dict[int, int] = field(default_factory=dict)
    _blocks_in: Counter[int] = field(default_factory=Counter)
    _first_in: dict[int, int] = field(default_factory=dict)
    _blamed: set[Span | None] = field(default_factory=set)

    def run(self) -> None:
        """Every step in order."""
        for place, group in enumerate(self.problem.collective.groups):
            self._group |= dict.fromkeys(group, place)
        self._index()
        statements = self.declaration.statements
        number = next(each.number for each in statements if isinstance(each, syntax.Chunks))
        self.chunks = whole(number, self.scope, "the number of chunks")
        if not 1 <= self.chunks <= CHUNKS:
            raise BlamedError(f"{self.chunks} chunks", number.span, f"1 to {CHUNKS}")
        for statement in statements:
            if isinstance(statement, syntax.Step):
                self._repeat(statement)

    def _index(self) -> None:
        """Note which block every given and every wanted value belongs to."""
        given, want = _names(self.collective)
        for number, block in enumerate(self.problem.collective.blocks):
            group = self._group.get(block.symbols[0].rank, 0)
            self._blocks_in[group] += 1
            self._first_in.setdefault(group, number)
            for symbol in block.symbols:
                self._blocks[given, group, symbol.indices] = number
            for wanted in block.wants:
                self._blocks[want, group, wanted.indices] = number

    def _repeat(self, step: syntax.Step) -> None:
        ranks = self.problem.collective.ranks
        loops = Loops(step.loops, step.guard, self.allowance, ranks)
        for scope in loops.run(self.scope):
            if self.steps >= MOVES:
                raise LimitError("too many steps", step.span, f"at most {MOVES}")
            for send in step.sends:
                self._send(send, scope)
            self.steps += 1

    def _send(self, send: syntax.Send, outer: Scope) -> None:
        loops = Loops(send.loops, send.guard, self.allowance, self.problem.collective.ranks)
        for scope in loops.run(outer):
            if len(self.moves) >= MOVES:
                raise LimitError("too many sends", send.span, f"at most {MOVES}")
            try:
                self.moves.append(self._move(send, scope))
            except LimitError:
                raise
            except BlamedError as error:
                fault = error.fault
                known = [name for name in scope if name not in self.scope]
                where = ", ".join(f"{name} = {scope[name]}" for name in known)
                # One message a place: the loops would say the same of every turn.
                if fault.span not in self._blamed:
                    self._blamed.add(fault.span)
                    message = fault.message + (f" for {where}" if where else "")
                    self.report.blame(
                        message, fault.span or send.span, fault.expected, fault.remedy
                    )

    def _move(self, send: syntax.Send, scope: Scope) -> Move:
        src, dst = self._rank(send.src, scope), self._rank(send.dst, scope)
        group = self._group_of(send, src, dst)
        if isinstance(send.chunk, syntax.Choice):
            if self._blocks_in[group] != 1:
                given, want = _names(self.collective)
                raise BlamedError(
                    f"{self._blocks_in[group]} values have a chunk c each",
                    send.chunk.span,
                    f"the value that is sent, by its name: {given}[…, c] or {want}[…, c]",
                )
            block = self._first_in[group]
            index: syntax.Expression | syntax.Range = send.chunk.value
        else:
            index, block = _last(send.chunk), self._named(send.chunk, group, scope)
        chunk = whole(index, scope, "the chunk")
        if not 0 <= chunk < self.chunks:
            raise BlamedError(
                f"chunk {chunk} does not exist", index.span, f"0 to {self.chunks - 1}"
            )
        via = tuple(self._switch(place, scope) for place in send.via)
        return Move(
            self.steps,
            block * self.chunks + chunk,
            src,
            dst,
            send.action == "reduce",
            via or None,
            send.span,
        )

    def _group_of(self, send: syntax.Send, src: int, dst: int) -> int:
        """Whose value is sent: that of the sender's group, or else of the receiver's."""
        group = self._group.get(src, self._group.get(dst))
        if group is None and len(self.problem.collective.groups) > 1:
            raise BlamedError(
                f"ranks {src} and {dst} are in no group, so this may be the value of any",
                send.src.span.to(send.dst.span),
                "a sender or a receiver that is in a group",
            )
        return group or 0

    def _named(self, item: syntax.Item, group: int, scope: Scope) -> int:
        given, want = _names(self.collective)
        name = item.name.text
        if name not in (given, want):
            raise unknown_error("value", name, item.name.span, (given, want))
        known = (len(indices) for value, _, indices in self._blocks if value == name)
        arity = 1 + next(known, len(item.indices) - 1)
        if len(item.indices) != arity:
            message, span, _ = arity_fault(item, arity)
            example = f"{name}[{', '.join('0' * arity)}]"
            raise BlamedError(message, span, f"{arity}, the chunk as the last: {example}")
        place = tuple(whole(index, scope, "an index") for index in item.indices[:-1])
        block = self._blocks.get((name, group, place))
        if block is None:
            shown = ", ".join(map(str, (*place, CHUNK)))
            raise BlamedError(
                f"there is no {name}[{shown}]", item.span, f"a value of the collective's {name!r}"
            )
        return block

    def _rank(self, end: syntax.Expression, scope: Scope) -> int:
        ranks = self.problem.collective.ranks
        named = isinstance(end, syntax.Reference)
        if isinstance(end, syntax.Name):
            named = end.text not in scope
        if named:
            node = self.node(end, scope)
            if node >= ranks:
                raise BlamedError("a switch holds nothing", end.span, "a rank", "write: via …")
            return node
        rank = whole(end, scope, "a rank")
        if not 0 <= rank < ranks:
            raise BlamedError(f"rank {rank} does not exist", end.span, f"0 to {ranks - 1}")
        return rank

    def _switch(self, place: syntax.Expression, scope: Scope) -> int:
        node = self.node(place, scope)
        if node < self.problem.collective.ranks:
            raise BlamedError("a rank on the way", place.span, "switches", "send it in two steps")
        return node


def _last(item: syntax.Item) -> syntax.Expression | syntax.Range:
    if not item.indices:
        raise BlamedError(
            f"{item.name.text!r} without indices", item.span, f"as in {item.name.text}[0, {CHUNK}]"
        )
    return item.indices[-1]


def _names(collective: syntax.Collective) -> tuple[str, str]:
    """What the collective calls its given and its wanted values."""
    given = next(s for s in collective.statements if isinstance(s, syntax.Given))
    want = next(s for s in collective.statements if isinstance(s, syntax.Want))
    return given.item.name.text, want.item.name.text
