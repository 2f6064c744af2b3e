"""One schedule along shortest ways: what of it goes in which trees, and all of it put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from .growing import Grove
from .schedule import Got, Own, Result, Schedule, Send
from .sharing import gather_in_trees, gossip, group_alike, list_gaps, list_joint, prune

if TYPE_CHECKING:
    from roundelay.dsl.model import Block, Problem, Want

    from .fabric import Fabric, Loads
    from .growing import Hop, Tree
    from .routes import Route
    from .schedule import Part
    from .sharing import Numbered, Traffic

Style = Literal["apart", "shared", "gossip", "rooted"]
"""How what several ranks want is combined: by each of them, from values that come apart; on the
way, in trees that share messages; from all that anybody knows; or at a root."""

SMALL = 20_000
"""Values times ranks that want them, up to which more than one way to do it is tried."""


@dataclass(slots=True)
class _Job:
    """What is to be done about one chunk of a block.

    ``apart``: wants whose symbols come each on its own; ``single``: wants that get a tree each;
    ``shared``: wants whose trees share messages; ``rooted``: families that get a root each.
    ``reach``: the steps from the farthest symbol to where it is wanted.
    """

    chunk: int
    block: Block
    apart: list[tuple[int, Want]]
    single: list[tuple[int, Want]]
    shared: list[tuple[int, Want]]
    rooted: list[Numbered]
    reach: int = 0
    spreading: list[tuple[int, Tree]] = field(default_factory=list)
    gathering: list[Tree] = field(default_factory=list)


@dataclass(slots=True)
class _Pass:
    """Wants of a job that are alike, the root they pass by, and the steps to it and from it."""

    job: _Job
    family: Numbered
    root: int
    into: int
    out: int
    trees: list[Tree] = field(default_factory=list)


class Maker:
    """One schedule in the making."""

    def __init__(self, problem: Problem, chunks: int, fabric: Fabric, style: Style) -> None:
        self.problem, self.chunks, self.fabric, self.style = problem, chunks, fabric, style
        operator = problem.operator
        self.ordered = operator is not None and not operator.commutative
        self.idempotent = operator is not None and operator.idempotent and operator.commutative
        self.messages: list[tuple[int, int, Route, tuple[Part, ...]]] = []
        self.results: list[Result] = []
        self.steps = 0
        self.grove = Grove(fabric, 0)
        self.hops: dict[int, list[Hop]] = {}
        self.known: dict[tuple[int, int], Traffic] = {}
        self.gaps = 0

    def run(self) -> Schedule | None:
        """The schedule; None where the style cannot make what is wanted."""
        jobs: list[_Job] = []
        for number, block in enumerate(self.problem.collective.blocks):
            self.fabric.watch()
            first = self._plan(number * self.chunks, block)
            if first is None:
                return None
            jobs += [
                replace(first, chunk=first.chunk + c, spreading=[], gathering=[])
                for c in range(self.chunks)
            ]
        passed = self._find_roots(jobs)
        self.steps = max([0, *(job.reach for job in jobs), *(p.into + p.out for p in passed)])
        self.grove = Grove(self.fabric, self.steps)
        # What cannot wait comes first, then what has the longest way.
        for job in jobs:
            if job.shared:
                self._share(job)
        jobs.sort(key=lambda job: -job.reach)
        for each in passed:
            self._grow_both(each)
        for job in jobs:
            self._grow(job)
        self.grove.refine()
        self.hops = self.grove.settle()
        for each in passed:
            self._settle_both(each)
        for job in jobs:
            self._settle(job)
        return self._finish()

    def _finish(self) -> Schedule:
        """The messages in the order of their steps, without empty steps."""
        order = sorted(
            (step, chunk, route.src, route.dst, i)
            for i, (step, chunk, route, _) in enumerate(self.messages)
        )
        number = [0] * len(order)
        for new, (*_, old) in enumerate(order):
            number[old] = new
        step_of = {old: new for new, old in enumerate(dict.fromkeys(each[0] for each in order))}

        def renumber(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(Got(number[p.send]) if isinstance(p, Got) else p for p in parts)

        sends = []
        for step, chunk, src, dst, old in order:
            _, _, route, parts = self.messages[old]
            sends.append(Send(step_of[step], chunk, src, dst, route.links, renumber(parts)))
        results = sorted(self.results, key=lambda made: (made.chunk, made.want))
        made = (Result(r.chunk, r.want, renumber(r.parts)) for r in results)
        return Schedule(self.problem, self.chunks, len(step_of), tuple(sends), tuple(made))

    def _plan(self, chunk: int, block: Block) -> _Job | None:
        joint = list_joint(block)
        families = group_alike(joint) if self.style == "rooted" else []
        if self.style == "gossip" and len({frozenset(want.symbols) for _, want in joint}) > 1:
            return None
        passed = {position for family in families for position, _ in family}
        job = _Job(chunk, block, [], [], [], families)
        for position, want in enumerate(block.wants):
            different = set(want.symbols)
            if len(different) < len(want.symbols) and not self.idempotent:
                return None
            if position in passed:
                continue
            if len(different) == 1 or self.ordered or (joint and self.style == "apart"):
                job.apart.append((position, want))
            elif not joint or self.style == "rooted":
                job.single.append((position, want))
            else:
                job.shared.append((position, want))
        for symbol, ranks in _takers(job.apart).items():
            holder = block.symbols[symbol].rank
            job.reach = max(job.reach, self.fabric.measure(holder, ranks, False))
        for each in (*job.single, *job.shared):
            givers = _givers(block, each[1].symbols)
            job.reach = max(job.reach, self.fabric.measure(each[1].rank, givers, True))
        return job

    def _send(self, step: int, chunk: int, route: Route, parts: tuple[Part, ...]) -> Got:
        self.messages.append((step, chunk, route, parts))
        return Got(len(self.messages) - 1)

    def _keep(self, job: _Job, position: int, parts: tuple[Part, ...]) -> None:
        self.results.append(Result(job.chunk, position, parts))

    # ----------------------------------------------------------------------------- by trees

    def _grow(self, job: _Job) -> None:
        """Trees from each symbol to the ranks that want it apart, and to each single want."""
        for symbol, ranks in _takers(job.apart).items():
            holder = job.block.symbols[symbol].rank
            job.spreading.append((symbol, self.grove.grow(holder, ranks, 0, self.steps)))
        for _, want in job.single:
            givers = _givers(job.block, want.symbols)
            tree = self.grove.grow(want.rank, givers, 0, self.steps, backwards=True)
            job.gathering.append(tree)

    def _settle(self, job: _Job) -> None:
        """The messages of these trees, and what is made of them."""
        brought: dict[int, dict[int, tuple[Part, ...]]] = {}
        for symbol, tree in job.spreading:
            brought[symbol] = self._copy(job, (Own(symbol),), tree)
        for position, want in job.apart:
            symbols = dict.fromkeys(want.symbols)
            parts = tuple(part for symbol in symbols for part in brought[symbol][want.rank])
            self._keep(job, position, parts)
        for (position, want), tree in zip(job.single, job.gathering, strict=True):
            self._keep(job, position, self._combine(job, want.symbols, tree))

    def _copy(self, job: _Job, what: tuple[Part, ...], tree: Tree) -> dict[int, tuple[Part, ...]]:
        """Send something down a tree; what each rank of it has it as."""
        held = {tree.root: what}
        for hop in self.hops[tree.number]:
            held[hop.child] = (self._send(hop.step, job.chunk, hop.route, held[hop.parent]),)
        return held

    def _combine(self, job: _Job, symbols: tuple[int, ...], tree: Tree) -> tuple[Part, ...]:
        """Combine symbols on the way down a tree: the parts of them all at its root."""
        parts: dict[int, list[Part]] = {tree.root: []}
        for symbol in sorted(set(symbols)):
            parts.setdefault(job.block.symbols[symbol].rank, []).append(Own(symbol))
        for hop in reversed(self.hops[tree.number]):
            got = self._send(hop.step, job.chunk, hop.route, tuple(parts[hop.child]))
            parts.setdefault(hop.parent, []).append(got)
        return tuple(parts[tree.root])

    # ----------------------------------------------------------------------------- by a root

    def _find_roots(self, jobs: list[_Job]) -> list[_Pass]:
        """A root for each family of each chunk, in the middle and far from one another."""
        found = []
        centres: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        families = [(job, family) for job in jobs for family in job.rooted]
        for i, (job, family) in enumerate(families):
            key = job.chunk // self.chunks, family[0][0]
            if key not in centres:
                givers = _givers(job.block, family[0][1].symbols)
                centres[key] = self.fabric.find_centre(givers, [want.rank for _, want in family])
            some = centres[key]
            found.append(_Pass(job, family, *some[i * len(some) // len(families)]))
        return found

    def _grow_both(self, each: _Pass) -> None:
        """A tree to a root and one from there."""
        givers = _givers(each.job.block, each.family[0][1].symbols)
        takers = [want.rank for _, want in each.family]
        turn = self.steps - each.out
        each.trees.append(self.grove.grow(each.root, givers, 0, turn, backwards=True))
        each.trees.append(self.grove.grow(each.root, takers, turn, each.out))

    def _settle_both(self, each: _Pass) -> None:
        inward, outward = each.trees
        parts = self._combine(each.job, each.family[0][1].symbols, inward)
        held = self._copy(each.job, parts, outward)
        for position, want in each.family:
            self._keep(each.job, position, held[want.rank])

    # --------------------------------------------------------------------------- all together

    def _share(self, job: _Job) -> None:
        """All wants of a chunk together, in the order of ways that costs least beside the rest."""
        best: tuple[int, Loads, Traffic, list[Route]] | None = None
        for turn in self._turns(job):
            traffic = self._traffic(job, turn)
            loads = self.grove.loads.copy()
            routes = [
                loads.place(self.fabric.routes(src, dst), (step,))[1]
                for step, src, dst, _ in traffic.messages
            ]
            self.fabric.watch()
            cost = sum(loads.peaks)
            if best is None or cost < best[0]:
                best = cost, loads, traffic, routes
        assert best is not None
        _, self.grove.loads, traffic, routes = best
        first = len(self.messages)

        def renumber(parts: tuple[Part, ...]) -> tuple[Part, ...]:
            return tuple(Got(first + p.send) if isinstance(p, Got) else p for p in parts)

        for route, (step, _, _, parts) in zip(routes, traffic.messages, strict=True):
            self._send(step, job.chunk, route, renumber(parts))
            self.grove.plan.put(route, step)
        for position, parts in traffic.results:
            self._keep(job, position, renumber(parts))

    def _turns(self, job: _Job) -> list[int]:
        """Orders of ways to try: the next one for each chunk, and where that is quick others."""
        if self.style == "gossip":
            return [0]
        if not self.gaps:
            self.gaps = max(1, len(list_gaps(self.fabric)))
        turn = job.chunk % self.gaps
        some = [turn, -1 - turn, 0, -1]
        quick = len(job.shared) * len(job.block.symbols) <= SMALL
        return list(dict.fromkeys(some if quick else some[:1]))

    def _traffic(self, job: _Job, turn: int) -> Traffic:
        key = job.chunk // self.chunks, turn
        if key not in self.known:
            if self.style == "gossip":
                made = prune(gossip(self.fabric, job.block, job.shared, job.reach))
            else:
                made = gather_in_trees(self.fabric, job.block, job.shared, turn)
            self.known[key] = made
        return self.known[key]


def _takers(wants: Numbered) -> dict[int, list[int]]:
    """The ranks that want each symbol, in the order of the wants."""
    takers: dict[int, list[int]] = {}
    for _, want in wants:
        for symbol in dict.fromkeys(want.symbols):
            takers.setdefault(symbol, []).append(want.rank)
    return takers


def _givers(block: Block, symbols: tuple[int, ...]) -> list[int]:
    """The ranks that hold symbols."""
    return sorted({block.symbols[symbol].rank for symbol in symbols})
