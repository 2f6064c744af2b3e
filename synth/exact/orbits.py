"""One chunk for all of its orbit: loads folded together, and a schedule unfolded from a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roundelay.synth.routes import Route
from roundelay.synth.schedule import Got, Own, Result

from .draft import Draft

if TYPE_CHECKING:
    from roundelay.synth.schedule import Part

    from .automorphisms import Motion
    from .symmetry import Group


@dataclass(frozen=True, slots=True)
class Orbits:
    """A group at work on ``chunks`` chunks a block, a number that fits it.

    Chunks that are modelled stand for as many as the group has motions. They are those numbered
    ``0 .. chunks / stabilizer - 1`` of the first block of each orbit of blocks.
    """

    group: Group
    chunks: int

    def fold_links(self) -> tuple[tuple[int, int], ...]:
        """For every link the first of its orbit, and how many of a chunk's images load that one.

        A message of a modelled chunk on link l loads link g(l) for every motion g, so the first
        of the orbit as often as motions take l there: order of the group / size of the orbit.
        """
        motions = self.group.motions
        links = range(len(motions[0].links))
        orbits = [{motion.links[link] for motion in motions} for link in links]
        return tuple((min(orbit), len(motions) // len(orbit)) for orbit in orbits)

    def count_modelled(self, block: int) -> int:
        """How many chunks of a block are modelled."""
        first = min(motion.blocks[block] for motion in self.group.motions)
        return self.chunks // self.group.stabilizer(block) if block == first else 0

    def unfold(self, part: Draft) -> Draft:
        """All chunks' messages and results, from those of the modelled ones."""
        whole = Draft(part.keeps_order)
        seen: dict[tuple[int, int], int] = {}  # By block and target: motions that led there so far.
        blocks = range(len(self.group.motions[0].blocks))
        modelled = [block for block in blocks if self.count_modelled(block)]
        for motion in self.group.motions:
            place = {}
            for block in modelled:
                key = block, motion.blocks[block]
                place[block] = seen.get(key, 0)
                seen[key] = place[block] + 1
            self._move(part, whole, motion, place)
        return whole

    def _move(self, part: Draft, whole: Draft, motion: Motion, place: dict[int, int]) -> None:
        start = len(whole.messages)

        def move_chunk(chunk: int) -> int:
            block, number = divmod(chunk, self.chunks)
            images = self.group.stabilizer(block)
            return motion.blocks[block] * self.chunks + number * images + place[block]

        def move_part(part: Part, block: int) -> Part:
            if isinstance(part, Own):
                return Own(motion.symbols[block][part.symbol])
            return Got(part.send + start)

        for step, chunk, route, parts in part.messages:
            block = chunk // self.chunks
            moved = Route(
                motion.nodes[route.src],
                motion.nodes[route.dst],
                tuple(motion.links[link] for link in route.links),
            )
            whole.send(
                step, move_chunk(chunk), moved, tuple(move_part(each, block) for each in parts)
            )
        for result in part.results:
            block = result.chunk // self.chunks
            whole.results.append(
                Result(
                    move_chunk(result.chunk),
                    motion.wants[block][result.want],
                    tuple(move_part(each, block) for each in result.parts),
                )
            )
