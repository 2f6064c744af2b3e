"""The neutral pseudo-Boolean model every encoding is written in and every solver door reads.

Variables are numbered from 1; a literal is a variable's number, negative for its negation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Term = tuple[int, int]
"""A positive integer weight and a literal."""


LARGEST = 6_000_000
"""Literals a model may have in all: about a gigabyte in a worker, its solver's copy included."""


class TooLargeError(Exception):
    """The model outgrew ``LARGEST``."""


@dataclass(slots=True)
class Model:
    """Booleans, clauses, at-most-one groups and rows ``sum of weights of true literals <= k``.

    ``without`` names the families of constraints that are left out (see ``families``).
    """

    variables: int = 0
    clauses: list[tuple[int, ...]] = field(default_factory=list)
    groups: list[tuple[int, ...]] = field(default_factory=list)
    rows: list[tuple[tuple[Term, ...], int]] = field(default_factory=list)
    size: int = 0
    without: frozenset[str] = frozenset()

    def new(self) -> int:
        """A fresh variable, as its positive literal."""
        self.variables += 1
        return self.variables

    def clause(self, *literals: int) -> None:
        """At least one literal is true; with none the model has no solution."""
        self.clauses.append(literals)
        self._grow(len(literals))

    def at_most_one(self, literals: Iterable[int]) -> None:
        """No two of the literals are true."""
        group = tuple(literals)
        if len(group) > 1:
            self.groups.append(group)
            self._grow(len(group))

    def exactly_one(self, literals: Sequence[int]) -> None:
        """One of the literals is true and no other."""
        self.clause(*literals)
        self.at_most_one(literals)

    def at_most(self, terms: Iterable[Term], limit: int) -> None:
        """The weights of the true literals add up to ``limit`` at most.

        Negative weights are turned into positive ones of the negated literal.
        """
        normal: list[Term] = []
        for weight, literal in terms:
            if weight < 0:
                normal.append((-weight, -literal))
                limit -= weight
            elif weight > 0:
                normal.append((weight, literal))
        if sum(weight for weight, _ in normal) > limit:
            if limit < 0:
                self.clause()
            else:
                self.rows.append((tuple(normal), limit))
                self._grow(2 * len(normal))

    def _grow(self, literals: int) -> None:
        self.size += literals + 1
        if self.size > LARGEST:
            raise TooLargeError(f"the model has more than {LARGEST} literals")

    def holds(self, value: Callable[[int], bool]) -> bool:
        """Whether an assignment of literals satisfies every clause, group and row."""
        return (
            all(any(map(value, clause)) for clause in self.clauses)
            and all(sum(map(value, group)) <= 1 for group in self.groups)
            and all(sum(w for w, lit in row if value(lit)) <= limit for row, limit in self.rows)
        )
