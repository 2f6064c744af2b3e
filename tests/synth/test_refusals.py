"""What bounds refuse before any solver runs: nothing that exists, and with the right numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from roundelay.dsl import loader
from roundelay.dsl.model import Limits, Problem
from roundelay.dsl.source import Source
from roundelay.synth.bounds import bound
from roundelay.synth.exact import pool
from roundelay.synth.paths import build, build_rooted
from roundelay.synth.refusals import find_grain, refuse
from roundelay.synth.schedule import Impossible
from roundelay.synth.search import search
from roundelay.synth.timeline import price

from .brute import fewest_rounds
from .problems import (
    SUM,
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    broadcast,
    complete,
    dgx1,
    line,
    machine,
    reduce_scatter,
    ring,
)
from .test_paths import net


def faults(problem: Problem, limits: Limits) -> list[tuple[str, str, str]]:
    """What is wrong, expected and advised, of each refusal."""
    problem = replace(problem, limits=limits)
    found = [each.fault for each in refuse(problem, bound(problem))]
    return [(fault.message, fault.expected, fault.remedy) for fault in found]


def test_steps_name_the_two_ranks() -> None:
    ((message, expected, remedy),) = faults(ask(ring(9), all_gather(9)), Limits(steps=(1, 3)))
    assert message == "impossible: --steps 1..3: data of gpu[0] needs 4 steps to gpu[4]"
    assert expected == "at least 4 steps"
    assert remedy == "allow 4 steps (--steps)"
    assert faults(ask(ring(9), all_gather(9)), Limits(steps=(1, 4))) == []


def test_rounds_and_chunks_are_named_together() -> None:
    """A DGX-1 takes 7/24 rounds a chunk: 14/3 for 16, and steps last halves of a round."""
    problem = ask(dgx1(), all_reduce(8))
    ((message, expected, remedy),) = faults(
        problem, Limits(chunks=(16, 20), rounds=Fraction(19, 4))
    )
    assert message.startswith("impossible: --rounds 4.75 with --chunks 16..20: 14 messages a chunk")
    assert message.endswith("and every step lasts a multiple of 0.5 rounds")
    assert expected == "at least 5 rounds for 16 chunks"
    assert remedy == "allow 5 rounds (--rounds), or ask for at most 15 chunks (--chunks)"
    assert faults(problem, Limits(chunks=(15, 15), rounds=Fraction(9, 2))) == []
    assert faults(problem, Limits(chunks=(16, 16), rounds=Fraction(5))) == []


def test_a_cut_is_named_with_its_ranks() -> None:
    (refusal,) = faults(ask(dgx1(), all_to_all(8)), Limits(rounds=Fraction(5, 2)))
    assert "16 messages a chunk must leave gpu[0] to gpu[3] over links that carry 6" in refusal[0]
    assert refusal[1] == "at least 3 rounds for 1 chunk"  # 16/6, in halves.


def test_every_step_on_the_way_lasts() -> None:
    """Half the ring takes 4 steps; the only links carry one chunk a round."""
    problem = ask(ring(8), broadcast(8))
    ((message, expected, _),) = faults(problem, Limits(rounds=Fraction(7, 2)))
    assert "needs 4 steps to gpu[4], and a step in which anything is sent lasts at least" in message
    assert expected == "at least 4 rounds for 1 chunk"
    assert faults(problem, Limits(rounds=Fraction(4))) == []


def test_both_limits_are_refused_together() -> None:
    both = faults(ask(dgx1(), all_reduce(8)), Limits(steps=(1, 1), rounds=Fraction(1, 2)))
    assert [message.split(":")[1] for message, *_ in both] == [" --steps 1", " --rounds 0.5"]


def test_fewer_chunks_are_no_remedy_where_the_way_alone_is_too_long() -> None:
    """One chunk takes 4 rounds at least, as long as the way is; 20 take 10."""
    ((_, expected, remedy),) = faults(
        ask(ring(8), broadcast(8)), Limits(chunks=(20, 20), rounds=Fraction(3))
    )
    assert expected == "at least 10 rounds for 20 chunks"
    assert remedy == "allow 10 rounds (--rounds)"


def test_limits_of_a_plan_are_shown_where_they_stand() -> None:
    text = "plan { synthesize all_reduce(sum) on dgx1 chunks 4 * 4 steps 1 rounds 4 }"
    (problem,) = loader.load(Source("p.rly", text)).plans
    assert isinstance(problem, Problem)
    first, second = (each.fault for each in refuse(problem, bound(problem)))
    assert first.span is not None
    assert second.span is not None
    assert text[first.span.start : first.span.end] == "steps 1"
    assert text[second.span.start : second.span.end] == "rounds 4"
    assert second.message.startswith("impossible: rounds 4 with chunks 4 * 4 (1:43): ")
    assert second.remedy == "allow 5 rounds, or ask for at most 13 chunks"


def test_nothing_is_refused_where_nothing_moves() -> None:
    alone = ask(machine("one", 1, []), all_gather(1))
    assert faults(alone, Limits(steps=(0, 0), rounds=Fraction(0))) == []


def test_grains() -> None:
    assert find_grain(dgx1()) == Fraction(1, 2)
    assert find_grain(machine("alone", 1, [])) == 1
    uneven = machine("uneven", 3, [(0, 1, 1, 2), (1, 2, 1, 3)])  # 1 and 3/2 of the slowest.
    assert find_grain(uneven) == Fraction(1, 3)


@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_that_exists_is_refused(seed: int) -> None:
    ranks = 3 + seed % 5
    topology = net(seed, ranks, seed % 3)
    for collective in (all_reduce(ranks), reduce_scatter(ranks), all_to_all(ranks)):
        for chunks in (1, 4):
            problem = ask(topology, collective)
            for made in (build(problem, chunks), build_rooted(problem, chunks)):
                if made is not None:
                    limits = Limits(
                        chunks=(chunks, chunks),
                        steps=(made.steps, made.steps),
                        rounds=price(made).rounds,
                    )
                    assert faults(problem, limits) == []


@pytest.mark.parametrize(
    ("problem", "chunks", "steps"),
    [
        (ask(ring(4), all_gather(4)), 1, 2),
        (ask(line(3), all_reduce(3), SUM), 1, 2),
        (ask(line(3), broadcast(3)), 1, 2),
        (ask(complete(3), all_reduce(3)), 1, 1),
        (ask(machine("u", 3, [(0, 1, 1, 2), (1, 2, 1, 3), (0, 2, 1, 5)]), all_gather(3)), 1, 2),
    ],
)
def test_the_fewest_rounds_by_brute_force_are_not_refused(
    problem: Problem, chunks: int, steps: int
) -> None:
    fewest = fewest_rounds(problem, chunks, steps)
    assert fewest is not None
    assert faults(problem, Limits(chunks=(chunks, chunks), rounds=fewest)) == []


def test_no_worker_is_started_for_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a worker was started")

    monkeypatch.setattr(pool.Worker, "__init__", started)
    limits = Limits(chunks=(16, 16), rounds=Fraction(4))
    problem = ask(dgx1(), all_reduce(8), SUM, limits)
    answer = search(problem)
    assert isinstance(answer.outcome, Impossible)
    assert (answer.outcome.certificate.kind, answer.proved, answer.log) == ("partition", True, ())
    with pytest.raises(AssertionError, match="worker"):
        search(replace(problem, limits=Limits(chunks=(16, 16))))
