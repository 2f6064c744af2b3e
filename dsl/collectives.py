"""A collective's text over the ranks of one machine, made into the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from typing import TYPE_CHECKING

from . import syntax
from .collective_checks import CHUNK, RANKS
from .faults import BlamedError
from .loops import Allowance, Loops
from .model import Block, Collective, Symbol, Want
from .values import condition, evaluate, number, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .faults import Report
    from .values import Scope

UNITS = 1_000_000
"""Most symbols, and most wanted values, of a collective over one machine."""
BUSBW = 1_000_000

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
    return Block(
        tuple(Symbol(symbol.indices, group[symbol.rank]) for symbol in block.symbols),
        tuple(Want(group[want.rank], want.indices, want.symbols) for want in block.wants),
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
        for statement in self.declaration.statements:
            if not isinstance(statement, syntax.Want):
                continue
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
        parent = list(range(len(self.symbols)))

        def top(symbol: int) -> int:
            while parent[symbol] != symbol:
                parent[symbol] = parent[parent[symbol]]
                symbol = parent[symbol]
            return symbol

        # Wants that share a fold share its tuple: all-reduce has one of them, not one a rank.
        folds = {id(parts): parts for _, parts in self.wants}
        for parts in folds.values():
            for part in parts[1:]:
                a, b = top(parts[0]), top(part)
                parent[max(a, b)] = min(a, b)
        names = list(self.symbols)
        members: dict[int, list[int]] = {}
        for symbol in range(len(names)):
            members.setdefault(top(symbol), []).append(symbol)
        wants: dict[int, list[Want]] = {block: [] for block in members}
        position = {s: i for block in members.values() for i, s in enumerate(block)}
        places = {key: tuple(position[part] for part in parts) for key, parts in folds.items()}
        for indices, parts in self.wants:
            wants[top(parts[0])].append(Want(indices[0], indices, places[id(parts)]))
        return tuple(
            Block(tuple(Symbol(names[s], names[s][0]) for s in block), tuple(wants[first]))
            for first, block in members.items()
        )

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


def _depends(fold: syntax.Fold) -> tuple[str, ...]:
    """The names that a fold's value hangs on, its own loops' aside."""
    names: dict[str, None] = {}
    todo: list[object] = [fold.item.indices, fold.loops, fold.guard]
    while todo:
        node = todo.pop()
        if isinstance(node, syntax.Name):
            names[node.text] = None
        elif isinstance(node, tuple):
            todo += node
        elif isinstance(node, syntax.Loop):
            todo.append(node.domain)
        elif isinstance(node, syntax.Range):
            todo += [node.low, node.high]
        elif isinstance(node, syntax.Listing):
            todo.append(node.rows)
        elif isinstance(node, syntax.Unary):
            todo.append(node.operand)
        elif isinstance(node, syntax.Binary):
            todo += [node.left, node.right]
        elif isinstance(node, syntax.Apply):
            todo.append(node.arguments)
    own = {target.text for loop in fold.loops for target in loop.targets}
    return tuple(sorted(set(names) - own))


def _shown(item: syntax.Item, indices: Indices) -> str:
    return f"{item.name.text}[{', '.join(map(str, indices))}, {CHUNK}]"


def _given(item: syntax.Item) -> str:
    span = item.span
    return span.source.text[span.start : span.end]
