"""A collective's text over the ranks of one machine, made into the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from . import syntax
from .faults import BlamedError, unknown
from .loops import Allowance, Loops
from .model import Block, Collective, Symbol, Want
from .names import check_expression, check_loops, check_parameters
from .values import evaluate, number, whole

if TYPE_CHECKING:
    from .faults import Report
    from .values import Scope

UNITS = 1_000_000
"""Most symbols, and most wanted values, of a collective over one machine."""
BUSBW = 1_000_000

CHUNK = "c"
RANKS = "n"
_RESERVED = (CHUNK, RANKS)
Indices = tuple[int, ...]
S = TypeVar("S", syntax.Given, syntax.Want)


def operators_of(declaration: syntax.Collective) -> set[str]:
    """The parameters that stand for an operator: those that combine symbols."""
    return {
        statement.value.operator.text
        for statement in declaration.statements
        if isinstance(statement, syntax.Want) and isinstance(statement.value, syntax.Fold)
    }


def check_collective(declaration: syntax.Collective, report: Report) -> None:
    """Blame what is wrong in a collective whatever the machine."""
    parameters = check_parameters(declaration.parameters, report, _RESERVED)
    operators = operators_of(declaration)
    numbers = [name for name in parameters if name not in operators]
    for parameter in declaration.parameters:
        if parameter.default is not None and parameter.name.text in operators:
            report.blame(
                "an operator has a default", parameter.span, "an operator named at the call"
            )
    kinds = {syntax.Given: "given", syntax.Want: "want", syntax.Busbw: "busbw"}
    first: dict[str, syntax.Given | syntax.Want | syntax.Busbw] = {}
    for statement in declaration.statements:
        kind = kinds[type(statement)]
        if kind in first:
            line, column = statement.span.source.place(first[kind].span.start)
            report.blame(
                f"a second {kind!r}", statement.span, f"one; the first stands at {line}:{column}"
            )
        first.setdefault(kind, statement)
    for kind in ("given", "want"):
        if kind not in first:
            report.blame(
                f"collective {declaration.name.text!r} has no {kind!r}",
                declaration.name.span,
                "one 'given' and one 'want'",
            )
    given, want, busbw = (first.get(kind) for kind in ("given", "want", "busbw"))
    if isinstance(busbw, syntax.Busbw):
        check_expression(busbw.factor, [*numbers, RANKS], report)
    if isinstance(given, syntax.Given):
        _check_free(given.item, numbers, report)
    if isinstance(want, syntax.Want):
        names = [*numbers, RANKS, *_check_free(want.item, numbers, report)]
        value = want.value
        if isinstance(value, syntax.Fold):
            if value.operator.text not in parameters:
                report.add(
                    unknown(
                        "operator parameter", value.operator.text, value.operator.span, parameters
                    )
                )
            names = check_loops(
                value.loops, value.guard, names, report, ranks=True, reserved=_RESERVED
            )
            value = value.item
        _check_chunk(value, report)
        for index in value.indices[:-1]:
            check_expression(index, names, report)
        if isinstance(given, syntax.Given):
            _check_use(value, given.item, report)


def _check_free(item: syntax.Item, numbers: list[str], report: Report) -> list[str]:
    """Check the indices of a declared symbol; the names that range over the ranks."""
    _check_chunk(item, report)
    free: list[str] = []
    for index in item.indices[:-1]:
        if isinstance(index, syntax.Name) and index.text not in (*numbers, *_RESERVED):
            if index.text in free:
                report.blame(
                    f"index {index.text!r} twice", index.span, "a name of its own for each index"
                )
            free.append(index.text)
        else:
            check_expression(index, [*numbers, RANKS], report)
    return free


def _check_chunk(item: syntax.Item, report: Report) -> None:
    last = item.indices[-1]
    if not (isinstance(last, syntax.Name) and last.text == CHUNK):
        report.blame(
            f"the last index of {item.name.text!r} is not the chunk",
            last.span,
            "'c' as the last index: the tool chooses how many chunks there are",
        )
    elif len(item.indices) < 2:
        report.blame(
            f"{item.name.text!r} has no rank", item.span, "a rank first and the chunk last: x[r, c]"
        )


def _check_use(value: syntax.Item, given: syntax.Item, report: Report) -> None:
    if value.name.text != given.name.text:
        report.add(unknown("symbol", value.name.text, value.name.span, [given.name.text]))
    elif len(value.indices) != len(given.indices):
        report.blame(
            f"{value.name.text!r} with {len(value.indices)} indices",
            value.span,
            f"{len(given.indices)}, as it is given",
        )


def build_collective(
    declaration: syntax.Collective,
    arguments: tuple[str, ...],
    scope: Scope,
    ranks: int,
    report: Report,
) -> Collective | None:
    """The collective over so many ranks, or None and faults.

    ``arguments`` as written, ``scope`` the values of the parameters that are numbers. The
    declaration has passed ``check_collective``.
    """
    build = _Build(declaration, {**scope, RANKS: ranks}, ranks)
    try:
        build.give()
        build.want()
        busbw = build.busbw()
    except BlamedError as error:
        report.add(error.fault)
        return None
    root = scope.get("root")
    return Collective(
        declaration.name.text,
        arguments,
        ranks,
        build.blocks(),
        busbw,
        root if isinstance(root, int) else None,
    )


@dataclass(slots=True)
class _Build:
    declaration: syntax.Collective
    scope: Scope
    ranks: int
    symbols: dict[Indices, int] = field(default_factory=dict)
    wants: list[tuple[Indices, Indices]] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)

    def give(self) -> None:
        """Number the given symbols in the order of their indices."""
        given = self._only(syntax.Given)
        found = sorted(indices for indices, _ in self._family(given.item))
        self.symbols = {indices: i for i, indices in enumerate(found)}

    def want(self) -> None:
        """Find the symbols of every wanted value."""
        statement = self._only(syntax.Want)
        value = statement.value
        for indices, scope in self._family(statement.item):
            if isinstance(value, syntax.Item):
                parts = [self._symbol(value, scope, statement, indices)]
            else:
                loops = Loops(value.loops, value.guard, self.allowance, self.ranks)
                parts = [
                    self._symbol(value.item, turn, statement, indices) for turn in loops.run(scope)
                ]
                self._check_parts(statement, indices, parts)
            self.wants.append((indices, tuple(parts)))
        self.wants.sort()

    def _check_parts(self, statement: syntax.Want, indices: Indices, parts: list[int]) -> None:
        shown = _shown(statement.item, indices)
        if not parts:
            raise BlamedError(
                f"{shown} combines nothing", statement.value.span, "one symbol at least"
            )
        if len(set(parts)) < len(parts):
            twice = next(part for part in parts if parts.count(part) > 1)
            symbol = _shown(self._only(syntax.Given).item, list(self.symbols)[twice])
            raise BlamedError(
                f"{shown} combines {symbol} twice", statement.value.span, "every symbol once"
            )

    def busbw(self) -> Fraction:
        """The factor from algorithm to bus bandwidth."""
        for statement in self.declaration.statements:
            if isinstance(statement, syntax.Busbw):
                factor = number(statement.factor, self.scope, "the factor")
                if not 0 <= factor <= BUSBW:
                    what = f"the factor is {factor}" if factor < 0 else "the factor is too large"
                    raise BlamedError(what, statement.factor.span, f"0 to {BUSBW}")
                return factor
        return Fraction(1)

    def blocks(self) -> tuple[Block, ...]:
        """Symbols that meet in a wanted value, and those values, together."""
        parent = list(range(len(self.symbols)))

        def top(symbol: int) -> int:
            while parent[symbol] != symbol:
                parent[symbol] = parent[parent[symbol]]
                symbol = parent[symbol]
            return symbol

        for _, parts in self.wants:
            for part in parts[1:]:
                a, b = top(parts[0]), top(part)
                parent[max(a, b)] = min(a, b)
        names = list(self.symbols)
        members: dict[int, list[int]] = {}
        for symbol in range(len(names)):
            members.setdefault(top(symbol), []).append(symbol)
        wants: dict[int, list[Want]] = {block: [] for block in members}
        position = {s: i for block in members.values() for i, s in enumerate(block)}
        for indices, parts in self.wants:
            places = tuple(position[part] for part in parts)
            wants[top(parts[0])].append(Want(indices[0], indices, places))
        return tuple(
            Block(tuple(Symbol(names[s], names[s][0]) for s in block), tuple(wants[first]))
            for first, block in members.items()
        )

    # ------------------------------------------------------------------------------ pieces

    def _only(self, kind: type[S]) -> S:
        return next(each for each in self.declaration.statements if isinstance(each, kind))

    def _family(self, item: syntax.Item) -> list[tuple[Indices, Scope]]:
        """Every value of a declared symbol's indices without the chunk, and its scope."""
        indices = item.indices[:-1]
        free = [
            index.text
            for index in indices
            if isinstance(index, syntax.Name) and index.text not in self.scope
        ]
        if self.ranks ** len(free) > UNITS:
            raise BlamedError(
                f"{self.ranks} ** {len(free)} values of {item.name.text!r}",
                item.span,
                f"at most {UNITS}",
            )
        family = []
        for values in product(range(self.ranks), repeat=len(free)):
            scope = {**self.scope, **dict(zip(free, values, strict=True))}
            place = tuple(whole(index, scope, "an index") for index in indices)
            if not 0 <= place[0] < self.ranks:
                raise BlamedError(
                    f"rank {place[0]} does not exist", indices[0].span, f"0 to {self.ranks - 1}"
                )
            family.append((place, scope))
        return family

    def _symbol(self, item: syntax.Item, scope: Scope, want: syntax.Want, wanted: Indices) -> int:
        place = tuple(evaluate(index, scope) for index in item.indices[:-1])
        symbol = self.symbols.get(place)  # type: ignore[arg-type]
        if symbol is None:
            shown = _shown(item, tuple(whole(i, scope, "an index") for i in item.indices[:-1]))
            raise BlamedError(
                f"{_shown(want.item, wanted)} wants {shown}, which is not given",
                item.span,
                f"a symbol of 'given {_given(self._only(syntax.Given).item)}', "
                f"ranks 0 to {self.ranks - 1}",
            )
        return symbol


def _shown(item: syntax.Item, indices: Indices) -> str:
    return f"{item.name.text}[{', '.join(map(str, indices))}, {CHUNK}]"


def _given(item: syntax.Item) -> str:
    span = item.span
    return span.source.text[span.start : span.end]
