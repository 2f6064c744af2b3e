"""Which node of a machine a name with indices means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .faults import BlamedError, unknown_error
from .indices import check_last, items_of, over, position, positions, whole_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence, Set

    from . import syntax
    from .units import Value

RANKS = "ranks"
"""Behind an instance of a part, counts the ranks of that instance."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that share a name: how many along each index, and their numbers, the last index
    running fastest.
    """

    shape: tuple[int, ...]
    numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Instances:
    """Equal machines that share a name: how many along each index, and what one is like.

    ``ranks`` is the number of the first rank of the first instance, ``switches`` that of its
    first switch; those of the next instance follow.
    """

    shape: tuple[int, ...]
    inner: Layout
    ranks: int
    switches: int

    def number(self, instance: int, node: int) -> int:
        """The number out here of a node of one instance, which is numbered as in ``inner``."""
        inner = self.inner
        if node < inner.ranks:
            return self.ranks + instance * inner.ranks + node
        return self.switches + instance * inner.switches + node - inner.ranks


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of a machine's nodes: ``ranks`` ranks, then ``switches`` switches.

    ``kept`` tells the number of a node that once had another, -1 where it is gone: names outlive
    what is taken out of a machine. ``gone`` are numbers out of use while it is being changed.
    Everything raises ``BlamedError``.
    """

    members: Mapping[str, Group | Instances]
    ranks: int
    switches: int
    kept: tuple[int, ...] | None = None
    gone: Set[int] = frozenset()

    @property
    def parts(self) -> dict[str, int]:
        """How many ranks one instance of each part has, for loops over them."""
        return {
            name: member.inner.ranks
            for name, member in self.members.items()
            if isinstance(member, Instances)
        }

    def renumbered(self, numbers: tuple[int, ...], ranks: int, switches: int) -> Layout:
        """The same names once every node has the number at its old one's place, or is gone (-1)."""
        kept = numbers
        if self.kept is not None:
            kept = tuple(-1 if number < 0 else numbers[number] for number in self.kept)
        return replace(self, ranks=ranks, switches=switches, kept=kept)

    def node(self, place: syntax.Expression, scope: Mapping[str, Value]) -> int:
        """The one node that ``gpu[3]`` or ``box[2].gpu[3]`` means."""
        return self._one(items_of(place), scope)

    def nodes(
        self, place: syntax.Expression, scope: Mapping[str, Value], entire: bool = False
    ) -> tuple[int, ...]:
        """All nodes that a selection means, in its order: ``gpu``, ``gpu[0, 1, 7]``,
        ``chip[0..2, 1]``, ``box[0]`` (its ranks; with ``entire`` its switches too).
        """
        return tuple(self._many(items_of(place), scope, entire)[0])

    # -------------------------------------------------------------------------- one node

    def _one(self, items: tuple[syntax.Item, ...], scope: Mapping[str, Value]) -> int:
        item = items[0]
        member = self._member(item)
        at = position(item, member.shape, scope)
        if isinstance(member, Group):
            check_last(items)
            number = member.numbers[at]
        else:
            if len(items) == 1:
                raise BlamedError(*whole_part(item))
            rest, inner = items[1:], member.inner
            if rest[0].name.text == RANKS:
                check_last(rest)
                node = position(rest[0], (inner.ranks,), scope)
            else:
                node = inner._one(rest, scope)
            number = member.number(at, node)
        return self._now(number, items)

    def _member(self, item: syntax.Item) -> Group | Instances:
        member = self.members.get(item.name.text)
        if member is None:
            raise unknown_error("node", item.name.text, item.name.span, self.members)
        return member

    def _now(self, number: int, items: tuple[syntax.Item, ...]) -> int:
        if number >= 0 and self.kept is not None:
            number = self.kept[number]
        if number < 0 or number in self.gone:
            raise BlamedError(
                "a node that is no longer there", over(items), "a node that was left in"
            )
        return number

    # ------------------------------------------------------------------------- many nodes

    def _many(
        self, items: tuple[syntax.Item, ...], scope: Mapping[str, Value], entire: bool
    ) -> tuple[list[int], bool]:
        """The numbers, and whether each was named: not by a whole group's or part's name."""
        item = items[0]
        member = self._member(item)
        chosen = positions(item, member.shape, scope)
        named = bool(item.indices or not member.shape)
        if isinstance(member, Group):
            check_last(items)
            found = [member.numbers[at] for at in chosen]
        else:
            inner, all_named = self._within(items[1:], member, scope, entire)
            found = [member.number(at, node) for at in chosen for node in inner]
            named = named and all_named
        if named:
            return [self._now(number, items) for number in found], True
        kept, gone = self.kept, self.gone
        there = [number for number in found if number >= 0]
        now = there if kept is None else [kept[number] for number in there]
        left = [number for number in now if number >= 0 and number not in gone]
        if not left:
            self._now(-1, items)
        return left, False

    def _within(
        self,
        rest: tuple[syntax.Item, ...],
        member: Instances,
        scope: Mapping[str, Value],
        entire: bool,
    ) -> tuple[Sequence[int], bool]:
        """The nodes of one instance that a selection means, numbered as in there."""
        inner = member.inner
        if not rest:
            return range(inner.ranks + (inner.switches if entire else 0)), False
        if rest[0].name.text == RANKS:
            check_last(rest)
            return list(positions(rest[0], (inner.ranks,), scope)), True
        return inner._many(rest, scope, entire)
