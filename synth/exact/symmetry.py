"""Groups of automorphisms that a search can use, and which of them it picks.

A group acts on the chunks as well: those of blocks that it moves go along, and where it leaves a
block in its place, it moves that block's chunks among themselves, so that only the motion at rest
keeps a chunk where it is. Then one chunk stands for as many as the group has motions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING

from .automorphisms import generate_motions, rest

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem

    from .automorphisms import Motion, Permutation

_LARGEST = 64  # Motions of a group: more say little more, and want more chunks.
_DRAWN = 1500  # Motions drawn from all automorphisms,
_ALIKE = 3  # Groups of one size that are handed on.
_WORD = 24  # products of so many generators,
_GROWN = 3000  # and so many times one of them is tried on a group.

Word = tuple[int, ...]
"""Positions of generators, the first to be applied first."""


@dataclass(frozen=True, slots=True)
class Group:
    """Automorphisms closed under composition; the first one is at rest."""

    motions: tuple[Motion, ...]

    def stabilizer(self, block: int) -> int:
        """How many motions leave a block in its place."""
        return sum(motion.blocks[block] == block for motion in self.motions)

    def fits(self, problem: Problem, chunks: int) -> bool:
        """Whether so many chunks a block can be moved without any staying in its place."""
        blocks = range(len(problem.collective.blocks))
        return all(chunks % self.stabilizer(block) == 0 for block in blocks)


def find_group(problem: Problem, chunks: int) -> Group | None:
    """The largest group found that fits so many chunks, or None; the same each time."""
    groups = list_groups(problem)
    return next((group for group in groups if group.fits(problem, chunks)), None)


def list_fitting(problem: Problem, chunks: tuple[int, int] | None) -> list[int]:
    """The numbers of chunks, of an inclusive range, that some group fits (of a large one, or of
    none, those near its lower end).
    """
    low, high = chunks or (1, _LARGEST)
    return [c for c in range(low, min(high, low + _LARGEST) + 1) if find_group(problem, c)]


@lru_cache(maxsize=4)
def list_groups(problem: Problem) -> tuple[Group, ...]:
    """Groups worth looking at, the largest first; of equals those that keep fewer ranks in place.

    All automorphisms of a machine may be very many (40,320 of eight ranks joined each to each),
    so groups are grown from random ones, drawn from a fixed seed. A group is worth looking at if
    each of its motions moves every rank that any of them moves: its orbits share all work alike.
    """
    generators = generate_motions(problem)
    if not generators:
        return ()
    ranks = len(problem.topology.ranks)
    drawn = [each for each in _draw([m.nodes for m in generators]) if _is_even(each[0], ranks)]
    found: dict[frozenset[Permutation], tuple[Word, ...]] = {}
    left = _GROWN
    for number, (motion, word) in enumerate(drawn):
        group = _close([motion], ranks)
        words: tuple[Word, ...] = (word,)
        if group is None or frozenset(group) in found:
            continue
        found[frozenset(group)] = words
        for other, longer in drawn[:number]:
            if len(group) == min(ranks, _LARGEST) or left <= 0:
                break
            if other in group:
                continue
            left -= 1
            grown = _close([*group, other], ranks)
            if grown is not None:
                group, words = grown, (*words, longer)
                found.setdefault(frozenset(group), words)
    groups: list[Group] = []
    for members, words in sorted(found.items(), key=lambda item: _rank(item[0], ranks)):
        alike = sum(len(group.motions) == len(members) for group in groups)
        made = _spell(problem, generators, words, len(members)) if alike < _ALIKE else None
        if made is not None:
            groups.append(made)
    return tuple(groups)


def _draw(generators: list[Permutation]) -> list[tuple[Permutation, Word]]:
    """Random products of generators and their powers, each once, in a fixed order."""
    dice = random.Random(0)
    drawn: dict[Permutation, Word] = {}
    unmoved = tuple(range(len(generators[0])))
    for attempt in range(_DRAWN):
        word = tuple(dice.choices(range(len(generators)), k=dice.randint(1, _WORD)))
        if attempt % 2:  # Of transpositions, say, this is one cycle through all.
            word = tuple(dice.sample(range(len(generators)), len(generators)))
        at = unmoved
        for number in word:
            at = _compose(generators[number], at)
        order = lcm(*_cycles(at))
        for divisor in range(1, min(order, _WORD)):
            if order % divisor == 0:
                power = unmoved
                for _ in range(divisor):
                    power = _compose(at, power)
                drawn.setdefault(power, word * divisor)
    drawn.pop(unmoved, None)
    return sorted(drawn.items(), key=lambda item: (-lcm(*_cycles(item[0])), item))


def _compose(second: Permutation, first: Permutation) -> Permutation:
    return tuple(second[i] for i in first)


def _cycles(motion: Permutation) -> list[int]:
    """The lengths of a permutation's cycles."""
    seen: set[int] = set()
    lengths = []
    for start in range(len(motion)):
        at, length = start, 0
        while at not in seen:
            seen.add(at)
            at, length = motion[at], length + 1
        if length:
            lengths.append(length)
    return lengths


def _is_even(motion: Permutation, ranks: int) -> bool:
    """Whether the ranks that a motion moves go round in cycles of one length."""
    return len({length for length in _cycles(motion[:ranks]) if length > 1}) == 1


def _close(generators: list[Permutation], ranks: int) -> list[Permutation] | None:
    """All products of motions; None for too many, or where one keeps a rank that another moves."""
    unmoved = tuple(range(len(generators[0])))
    moved = [r for r in range(ranks) if any(motion[r] != r for motion in generators)]
    known = {unmoved: None}
    waiting = [unmoved]
    while waiting:
        at = waiting.pop()
        for generator in generators:
            made = _compose(generator, at)
            if made not in known:
                if len(known) == _LARGEST or any(made[r] == r for r in moved):
                    return None
                known[made] = None
                waiting.append(made)
    return list(known)


def _rank(group: frozenset[Permutation], ranks: int) -> tuple[int, int, list[Permutation]]:
    kept = sum(motion[r] == r for motion in group for r in range(ranks))
    return -len(group), kept, sorted(group)


def _spell(
    problem: Problem, generators: list[Motion], words: tuple[Word, ...], order: int
) -> Group | None:
    """The group that words generate; None where its motions are more than what they do to nodes:
    a rank may hold two symbols of a block that can change places.
    """
    start = rest(problem)
    made = []
    for word in words:
        at = start
        for number in word:
            at = generators[number].after(at)
        made.append(at)
    known = {start: None}
    waiting = [start]
    while waiting:
        at = waiting.pop()
        for motion in made:
            further = motion.after(at)
            if further not in known:
                known[further] = None
                waiting.append(further)
                if len(known) > order:
                    return None
    return Group(tuple(known))
