"""A schedule in the making: messages under provisional numbers, tidied into sends and results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roundelay.synth.schedule import Got, Own, Part, Result, Send

if TYPE_CHECKING:
    from roundelay.synth.routes import Route


@dataclass(frozen=True, slots=True)
class Plain:
    """A decoded schedule without its problem: what a worker sends back."""

    steps: int
    sends: tuple[Send, ...]
    results: tuple[Result, ...]


@dataclass(slots=True)
class Draft:
    """Messages in any order of steps; a message names earlier ones by the number it was given.

    ``keeps_order``: the order of a merge's parts counts, so it is left as it is.
    """

    keeps_order: bool = False
    messages: list[tuple[int, int, Route, tuple[Part, ...]]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def send(self, step: int, chunk: int, route: Route, parts: tuple[Part, ...]) -> int:
        """Add a message and return its number."""
        self.messages.append((step, chunk, route, parts))
        return len(self.messages) - 1

    def copy(self, times: int) -> Draft:
        """The same with ``times`` as many chunks, so many of them alike."""
        copies = Draft(self.keeps_order)
        for number in range(times):
            start = len(copies.messages)

            def move(parts: tuple[Part, ...], start: int = start) -> tuple[Part, ...]:
                return tuple(Got(p.send + start) if isinstance(p, Got) else p for p in parts)

            for step, chunk, route, parts in self.messages:
                copies.send(step, chunk * times + number, route, move(parts))
            for made in self.results:
                copies.results.append(
                    Result(made.chunk * times + number, made.want, move(made.parts))
                )
        return copies

    def finish(self) -> Plain:
        """Drop what no result uses and empty steps; sort and number the rest."""
        used = self._used()
        key = {i: (m[0], m[1], m[2].src, m[2].dst, m[2].links, i)
               for i, m in enumerate(self.messages) if i in used}  # fmt: skip
        order = sorted(key, key=key.__getitem__)
        number = {old: new for new, old in enumerate(order)}
        busy = sorted({self.messages[i][0] for i in order})
        step_of = {old: new for new, old in enumerate(busy)}

        def renumber(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            if self.keeps_order:
                return tuple(Got(number[p.send]) if isinstance(p, Got) else p for p in parts)
            own = sorted((p for p in parts if isinstance(p, Own)), key=lambda p: p.symbol)
            got = sorted(number[p.send] for p in parts if isinstance(p, Got))
            return (*own, *map(Got, got))

        sends = []
        for i in order:
            step, chunk, route, parts = self.messages[i]
            sends.append(
                Send(step_of[step], chunk, route.src, route.dst, route.links, renumber(parts))
            )
        results = sorted(
            (Result(r.chunk, r.want, renumber(r.parts)) for r in self.results),
            key=lambda r: (r.chunk, r.want),
        )
        return Plain(len(busy), tuple(sends), tuple(results))

    def _used(self) -> set[int]:
        stack = [p.send for r in self.results for p in r.parts if isinstance(p, Got)]
        used = set(stack)
        while stack:
            for part in self.messages[stack.pop()][3]:
                if isinstance(part, Got) and part.send not in used:
                    used.add(part.send)
                    stack.append(part.send)
        return used
