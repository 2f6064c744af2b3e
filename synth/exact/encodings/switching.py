"""Which of the messages that are merges switches may copy or combine.

In every step the messages that a rank sends may be copies of one, whatever that is, and those that
a rank receives may be combined, if all that takes one of them takes all. That is a choice of the
solver, one set of each for a chunk, rank and step, except where it goes without saying: in the
first step a rank that has one symbol can send nothing else, and what comes in the last step to a
rank that wants one value is for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.exact.families import family
from roundelay.synth.exact.helping import combines_somewhere, copies_somewhere, crosses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roundelay.dsl.model import Block
    from roundelay.synth.exact.board import Board
    from roundelay.synth.exact.model import Model

Key = tuple[int, int, int, int]
"""A message: step, source, destination, and which of those between them in that step."""


Uses = dict["int | Key", int]
"""Literals that say what is taken (symbols, messages), or who takes it (results, messages)."""


@dataclass(frozen=True, slots=True)
class Merge:
    """How something is made: literals of its own symbols, and of earlier messages."""

    own: dict[int, int]
    got: dict[Key, int]


class Switching:
    """The help of switches for one chunk; ``free``: merges may take their parts in any order."""

    def __init__(self, model: Model, board: Board, block: Block, chunk: int, *, free: bool) -> None:
        self.model = model
        self.board = board
        self.chunk = chunk
        self.free = free
        self.copying = [copies_somewhere(each) for each in board.helps]
        self.combining = [combines_somewhere(each) for each in board.helps]
        self.copies = any(self.copying)
        self.inputs = [0] * board.ranks
        self.wants = [0] * board.ranks
        for symbol in block.symbols:
            self.inputs[symbol.rank] += 1
        for want in block.wants:
            self.wants[want.rank] += 1
        self.copied: dict[Key, int] = {}
        """Literals: the message is made of the same as others of its sender in the step."""
        self.combined: dict[Key, int] = {}
        """Literals: whatever takes it takes all of these that its receiver gets in the step."""
        self.sure: dict[Key, list[int]] = {}
        """Ways of messages in the last step, taken only by messages that are sent and used."""
        self.ways: dict[Key, list[int]] = {}
        """All ways of a message, of which a schedule takes one."""

    def load(self, key: Key, route: int) -> list[int]:
        """Literals of the ways in which a message may go over a route, each with its loads."""
        step, u, v, _ = key
        sent, taken = (self.chunk, u), (self.chunk, v)
        alone = ("apart", self.chunk, *key)
        copies = self.copies and self.copying[route]
        combines = self.free and any(self.combining) and self.combining[route]
        all_same = step == 0 and self.inputs[u] == 1
        all_taken = step == self.board.steps - 1 and self.wants[v] == 1
        literals: list[int] = []
        for copied in [True] if copies and all_same else [False, True][: 1 + copies * self.free]:
            for combined in [True] if combines and all_taken else [False, True][: 1 + combines]:
                literal = self.model.new()
                literals.append(literal)
                self.board.load(
                    literal, route, step,
                    sent=sent if copied else None, taken=taken if combined else alone,
                    sure=combined and all_taken,
                )  # fmt: skip
                if combined and all_taken and crosses(self.board.helps[route]):
                    self.sure.setdefault(key, []).append(literal)
                if copied and not all_same:
                    self._choose(self.copied, key, literal)
                if combined and not all_taken:
                    self._choose(self.combined, key, literal)
        self.ways.setdefault(key, []).extend(literals)
        return literals

    def _choose(self, chosen: dict[Key, int], key: Key, literal: int) -> None:
        if key not in chosen:
            chosen[key] = self.model.new()
        self.model.clause(-literal, chosen[key])

    def tie(
        self,
        merges: Mapping[Key, Merge],
        results: Sequence[Merge],
        holds: Mapping[Key, Mapping[int, int]],
    ) -> None:
        """What is copied is made alike, and what is combined taken alike."""
        for key, ways in self.sure.items():
            takers = [result.got[key] for result in results if key in result.got]
            _use(self.model, self.ways[key], ways, holds[key].values(), takers)
        made: dict[Key, Uses] = {key: {} for key in self.copied}
        for key, parts in made.items():
            own: Iterable[tuple[int | Key, int]] = merges[key].own.items()
            parts.update(own)
            got: Iterable[tuple[int | Key, int]] = merges[key].got.items()
            parts.update(got)
        uses: dict[Key, Uses] = {key: {} for key in self.combined}
        users: list[tuple[int | Key, Merge]] = [*merges.items(), *enumerate(results)]
        for maker, merge in users:
            for key in [each for each in merge.got if each in uses]:
                uses[key][maker] = merge.got[key]
        for place, chosen, ties, tie in (
            (1, self.copied, made, _make_same),
            (2, self.combined, uses, _take_together),
        ):
            groups: dict[tuple[int, int], list[Key]] = {}
            for key in chosen:
                groups.setdefault((key[0], key[place]), []).append(key)
            for keys in groups.values():
                every = dict.fromkeys(use for key in keys for use in ties[key])
                pattern = {use: self.model.new() for use in every}
                for key in keys:
                    tie(self.model, chosen[key], ties[key], pattern)


@family("together")
def _use(
    model: Model, ways: list[int], sure: list[int], bits: Iterable[int], takers: list[int]
) -> None:
    """What goes one of the sure ways goes no other of all, holds something, and is taken."""
    model.at_most_one(ways)
    for way in sure:
        model.clause(-way, *bits)
        model.clause(-way, *takers)


@family("same")
def _make_same(model: Model, chosen: int, made: Uses, pattern: Uses) -> None:
    """A message that is a copy takes the parts that all copies take."""
    _equal(model, chosen, made, pattern)


@family("together")
def _take_together(model: Model, chosen: int, uses: Uses, pattern: Uses) -> None:
    """A message that is combined is taken where all are that are combined."""
    _equal(model, chosen, uses, pattern)


def _equal(model: Model, chosen: int, ours: Uses, pattern: Uses) -> None:
    for what, literal in pattern.items():
        if what in ours:
            model.clause(-chosen, -ours[what], literal)
            model.clause(-chosen, ours[what], -literal)
        else:
            model.clause(-chosen, -literal)
