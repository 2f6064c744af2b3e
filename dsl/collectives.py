"""A collective's text over the ranks of one machine, made into the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING

from . import syntax
from .blocks import form_blocks
from .collective_checks import CHUNK, RANKS
from .faults import BlamedError
from .loops import Allowance, Loops
from .model import Block, Collective, Spread, Symbol, Want
from .names import names_in
from .values import condition, evaluate, number, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .faults import Report
    from .values import Scope

UNITS = 1_000_000
"""Most symbols, and most wanted values, of a collective over one machine."""
BUSBW = 1_000_000
_MANY = 10_000  # Wanted values that are still held one by one.
_ALL = 64_000_000

Indices = tuple[int, ...]


def build_collective(
    declaration: syntax.Collective,
    arguments: tuple[str, ...],
    scope: Scope,
    ranks: int,
    report: Report,
    groups: tuple[tuple[int, ...], ...] = (),
) -> Collective | None:
    """The collective over so many ranks, or within each of some groups of them; None and faults.

    ``arguments`` as written, ``scope`` the values of the parameters that are numbers. The
    declaration has passed ``check_collective``.
    """
    blocks: list[Block] = []
    busbw = Fraction(0)
    built: dict[int, tuple[tuple[Block, ...], Fraction]] = {}
    for group in groups or (tuple(range(ranks)),):
        size = len(group)
        if size not in built:
            build = _Build(declaration, {**scope, RANKS: size}, size)
            try:
                build.give()
                build.want()
                built[size] = build.blocks(), build.busbw()
            except BlamedError as error:
                report.add(error.fault)
                return None
        found, factor = built[size]
        blocks += [_moved(block, group) for block in found] if groups else found
        busbw = max(busbw, factor)
    root = scope.get("root")
    return Collective(
        declaration.name.text,
        arguments,
        ranks,
        tuple(blocks),
        busbw,
        root if isinstance(root, int) else None,
        groups,
    )


def _moved(block: Block, group: tuple[int, ...]) -> Block:
    """A block over the ranks of a group instead of ranks 0, 1, …; indices count as before."""
    wants = block.wants
    symbols = tuple(Symbol(symbol.indices, group[symbol.rank]) for symbol in block.symbols)
    if isinstance(wants, Spread):
        return Block(symbols, replace(wants, ranks=group))
    moved = (Want(group[want.rank], want.indices, want.symbols) for want in wants)
    return Block(symbols, tuple(moved))


@dataclass(slots=True)
class _Build:
    declaration: syntax.Collective
    scope: Scope
    ranks: int
    symbols: dict[Indices, int] = field(default_factory=dict)
    wants: list[tuple[Indices, Indices]] = field(default_factory=list)
    spreads: list[tuple[Indices, Indices]] = field(default_factory=list)
    allowance: Allowance = field(default_factory=Allowance)

    def give(self) -> None:
        """Number the given symbols in the order of their indices."""
        given = self._given()
        found = sorted(indices for indices, _ in self._family(given))
        self.symbols = {indices: i for i, indices in enumerate(found)}
        if len(self.symbols) < len(found):
            twice = next(a for a, b in pairwise(found) if a == b)
            raise BlamedError(
                f"{_shown(given.item, twice)} is given twice", given.item.span, "every symbol once"
            )

    def want(self) -> None:
        """Find the symbols of every wanted value."""
        known: set[Indices] = set()
        statements = [s for s in self.declaration.statements if isinstance(s, syntax.Want)]
        if len(statements) == 1 and self._spread(statements[0]):
            return
        for statement in statements:
            value = statement.value
            names = None if isinstance(value, syntax.Item) else _depends(value)
            folds: dict[tuple[object, ...], tuple[int, ...]] = {}
            for indices, scope in self._family(statement):
                if indices in known:
                    raise BlamedError(
                        f"{_shown(statement.item, indices)} is wanted twice",
                        statement.item.span,
                        "every wanted value once",
                    )
                known.add(indices)
                if names is None:
                    assert isinstance(value, syntax.Item)
                    parts: tuple[int, ...] = (self._symbol(value, scope, statement, indices),)
                else:
                    # Wanted values that differ in nothing a fold names share it.
                    key = tuple(scope.get(name) for name in names)
                    if key not in folds:
                        folds[key] = self._fold(statement, scope, indices)
                    parts = folds[key]
                self.wants.append((indices, parts))
        self.wants.sort()

    def _spread(self, statement: syntax.Want) -> bool:
        """Note what every rank alike wants without an entry for each; False where few want it, or
        where what a rank wants hangs on its number.
        """
        value, indices = statement.value, statement.item.indices[:-1]
        names = [index.text for index in indices if isinstance(index, syntax.Name)]
        total = self.ranks ** len(indices)
        if (
            statement.loops
            or statement.guard is not None
            or len(set(names)) < len(indices)
            or not self.scope.keys().isdisjoint(names)
            or names[0] in _depends(value)
            or total <= _MANY
        ):
            return False
        if total > _ALL or total // self.ranks > UNITS:
            raise BlamedError(
                f"{self.ranks} ** {len(indices)} values of {statement.item.name.text!r}",
                statement.item.span,
                f"at most {_ALL}",
            )
        for rest in product(range(self.ranks), repeat=len(names) - 1):
            scope = {**self.scope, **dict(zip(names[1:], rest, strict=True))}
            if isinstance(value, syntax.Fold):
                parts = self._fold(statement, scope, (0, *rest))
            else:
                parts = (self._symbol(value, scope, statement, (0, *rest)),)
            self.spreads.append((rest, parts))
        return True

    def _fold(self, statement: syntax.Want, scope: Scope, indices: Indices) -> tuple[int, ...]:
        value = statement.value
        assert isinstance(value, syntax.Fold)
        loops = Loops(value.loops, value.guard, self.allowance, self.ranks)
        parts = tuple(
            self._symbol(value.item, turn, statement, indices) for turn in loops.run(scope)
        )
        self._check_parts(statement, indices, parts)
        return parts

    def _check_parts(self, statement: syntax.Want, indices: Indices, parts: Indices) -> None:
        shown = _shown(statement.item, indices)
        if not parts:
            raise BlamedError(
                f"{shown} combines nothing", statement.value.span, "one symbol at least"
            )
        if len(set(parts)) < len(parts):
            twice = next(part for part, count in Counter(parts).items() if count > 1)
            symbol = _shown(self._given().item, list(self.symbols)[twice])
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
        return form_blocks(tuple(self.symbols), self.wants, self.spreads, self.ranks)

    # ------------------------------------------------------------------------------ pieces

    def _given(self) -> syntax.Given:
        statements = self.declaration.statements
        return next(each for each in statements if isinstance(each, syntax.Given))

    def _family(self, statement: syntax.Given | syntax.Want) -> Iterator[tuple[Indices, Scope]]:
        """Every value of a declared symbol's indices without the chunk, and its scope."""
        item = statement.item
        indices = item.indices[:-1]
        bound = {target.text for loop in statement.loops for target in loop.targets}
        free = [
            index.text
            for index in indices
            if isinstance(index, syntax.Name)
            and index.text not in self.scope
            and index.text not in bound
        ]
        if self.ranks ** len(free) > UNITS:
            raise BlamedError(
                f"{self.ranks} ** {len(free)} values of {item.name.text!r}",
                item.span,
                f"at most {UNITS}",
            )
        count = 0
        loops = Loops(statement.loops, None, self.allowance, self.ranks)
        for turn in loops.run(self.scope):
            for values in product(range(self.ranks), repeat=len(free)):
                scope = {**turn, **dict(zip(free, values, strict=True))}
                if statement.guard is not None and not condition(statement.guard, scope):
                    continue
                place = tuple(whole(index, scope, "an index") for index in indices)
                if not 0 <= place[0] < self.ranks:
                    raise BlamedError(
                        f"rank {place[0]} does not exist{loops.where(scope)}",
                        indices[0].span,
                        f"0 to {self.ranks - 1}",
                    )
                count += 1
                if count > UNITS:
                    raise BlamedError(
                        f"too many values of {item.name.text!r}", item.span, f"at most {UNITS}"
                    )
                yield place, scope

    def _symbol(self, item: syntax.Item, scope: Scope, want: syntax.Want, wanted: Indices) -> int:
        place = tuple(evaluate(index, scope) for index in item.indices[:-1])
        symbol = self.symbols.get(place)  # type: ignore[arg-type]
        # A condition is as good a key as 0 or 1, but no index.
        if symbol is None or bool in map(type, place):
            shown = _shown(item, tuple(whole(i, scope, "an index") for i in item.indices[:-1]))
            raise BlamedError(
                f"{_shown(want.item, wanted)} wants {shown}, which is not given",
                item.span,
                f"a symbol of 'given {_given(self._given().item)}', ranks 0 to {self.ranks - 1}",
            )
        return symbol


def _depends(value: syntax.Item | syntax.Fold) -> tuple[str, ...]:
    """The names that a value hangs on, a fold's own loops' aside."""
    own: set[str] = set()
    parts: list[syntax.Expression | syntax.Range | None] = []
    if isinstance(value, syntax.Fold):
        parts.append(value.guard)
        for loop in value.loops:
            own |= {target.text for target in loop.targets}
            domain = loop.domain
            if isinstance(domain, syntax.Range):
                parts.append(domain)
            elif isinstance(domain, syntax.Listing):
                parts += chain(*domain.rows)
        value = value.item
    return tuple(sorted(set[str]().union(*map(names_in, (*parts, *value.indices))) - own))


def _shown(item: syntax.Item, indices: Indices) -> str:
    return f"{item.name.text}[{', '.join(map(str, indices))}, {CHUNK}]"


def _given(item: syntax.Item) -> str:
    span = item.span
    return span.source.text[span.start : span.end]
