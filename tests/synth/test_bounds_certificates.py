"""Certificates: their forms, what they say, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from roundelay.synth.bounds import bound
from roundelay.synth.certificate_forms import explain, from_json, to_json, to_text
from roundelay.synth.certificates import CertificateError, verify
from roundelay.synth.schedule import Certificate

from .nets import boxes, grid
from .problems import (
    all_gather,
    all_reduce,
    all_to_all,
    ask,
    copies,
    dgx1,
    line,
    machine,
    ring,
    switched,
)

if TYPE_CHECKING:
    from roundelay.dsl.model import Problem

PROBLEMS: dict[str, Problem] = {
    "cut": ask(boxes(4, 4, 300, 25), all_gather(16)),
    "partition": ask(grid(3, 4), all_reduce(12)),
    "partition with switches": ask(boxes(3, 2, 300, 25), all_reduce(6)),
    "lengths": ask(
        machine("two by three", 5, [(i, j, 1) for i in (0, 1) for j in (2, 3, 4)]), all_to_all(5)
    ),
}


def certificates() -> list[tuple[Problem, Certificate]]:
    found = [(p, c) for p in PROBLEMS.values() for c in bound(p).certificates]
    assert {c.kind for _, c in found} == {"distance", "cut", "partition", "lengths"}
    assert any(c.sides for _, c in found)
    return found


def test_forms() -> None:
    for problem, certificate in certificates():
        form = json.loads(json.dumps(to_json(certificate)))
        assert from_json(form) == certificate
        assert form["value"] == f"{certificate.value.numerator}/{certificate.value.denominator}"
        text = to_text(problem, certificate)
        assert text.startswith(f"{certificate.kind}: at least {certificate.value} ")
        assert certificate.reason in text


def test_a_search_keeps_its_form() -> None:
    certificate = Certificate("search", Fraction(1, 3), reason="said so", complete=False)
    assert from_json(to_json(certificate)) == certificate
    with pytest.raises(CertificateError, match="another search"):
        explain(PROBLEMS["cut"], certificate)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "guess"}, "kind is one of"),
        ({"value": 1.5}, "p/q"),
        ({"value": "1/0"}, "p/q"),
        ({"value": "-1/2"}, "p/q"),
        ({"value": "1/2\n"}, "p/q"),
        ({"value": "1" * 5000 + "/1"}, "p/q"),
        ({"nodes": "all"}, "nodes is a list"),
        ({"nodes": [1.0]}, "nodes is a list"),
        ({"nodes": [True]}, "nodes is a list"),
        ({"sides": [1]}, "sides is a list"),
        ({"sides": 3}, "sides is a list"),
        ({"lengths": [None]}, "lengths is a list"),
        ({"inward": 1}, "inward is true or false"),
        ({"complete": "yes"}, "complete is true or false"),
        ({"reason": 4}, "reason is a text"),
        ({"colour": "red"}, "no entry 'colour'"),
    ],
)
def test_broken_forms(change: dict[str, object], said: str) -> None:
    _, certificate = certificates()[1]
    with pytest.raises(CertificateError, match=said):
        from_json({**to_json(certificate), **change})


def test_no_form_at_all() -> None:
    forms: tuple[object, ...] = (None, [], "cut", 3)
    for form in forms:
        with pytest.raises(CertificateError, match="an object"):
            from_json(form)


def test_what_is_refused() -> None:
    cut, partition, lengths = (bound(PROBLEMS[n]).certificates[1] for n in
                               ("cut", "partition with switches", "lengths"))  # fmt: skip
    sides = partition.sides
    assert len(sides) == 3
    for name, certificate, said in (
        ("cut", replace(cut, value=cut.value * Fraction(1001, 1000)), "rounds only"),
        ("cut", replace(cut, value=Fraction(0)), "no rounds"),
        ("cut", replace(cut, value=Fraction(-1)), "no rounds"),
        ("cut", replace(cut, nodes=cut.nodes[:-1]), "rounds only"),
        ("cut", replace(cut, nodes=(*cut.nodes, 21)), "no node 21"),
        ("cut", replace(cut, nodes=(*cut.nodes, -1)), "no node -1"),
        ("cut", replace(cut, nodes=()), "nothing has to cross"),
        ("cut", replace(cut, kind="distance"), "between two ranks"),
        ("partition with switches", replace(partition, sides=()), "rounds only"),
        ("partition with switches", replace(partition, sides=sides[:2]), "every part, or of none"),
        ("partition with switches", replace(partition, sides=(*sides[:2], (0,))), "only switches"),
        ("partition with switches", replace(partition, sides=(*sides[:2], (10,))), "no node 10"),
        ("partition with switches", replace(partition, nodes=partition.nodes[1:]), "every rank"),
        ("partition with switches", replace(partition, nodes=(0,) * 6, sides=()), "nothing has"),
        ("lengths", replace(lengths, lengths=lengths.lengths[1:]), "one length for each link"),
        ("lengths", replace(lengths, lengths=(0,) * 12), "some link"),
        ("lengths", replace(lengths, lengths=(-1, *lengths.lengths[1:])), "below 0"),
        ("lengths", replace(lengths, lengths=(9, *lengths.lengths[1:])), "rounds only"),
    ):  # fmt: skip
        with pytest.raises(CertificateError, match=said):
            verify(PROBLEMS[name], certificate)


def test_parts_whose_sides_share_a_switch() -> None:
    """Sides are counted one by one, so that any choice of switches is an upper limit."""
    problem = PROBLEMS["partition with switches"]
    weak = Certificate("partition", Fraction(1, 100), (0, 0, 1, 1, 2, 2), sides=((6,), (6,), (6,)))
    verify(problem, weak)
    with pytest.raises(CertificateError, match="rounds only"):
        verify(problem, replace(weak, value=bound(problem).rounds))


def test_inward() -> None:
    """What reaches the parts counts in place of what leaves them."""
    thin = ask(ring(4), all_reduce(4))
    uneven = replace(
        thin, topology=replace(thin.topology, links=tuple(
            replace(link, count=5) if link.dst == 0 else link for link in thin.topology.links
        )),
    )  # fmt: skip
    certificate = Certificate("partition", Fraction(6, 16))
    verify(uneven, certificate)
    verify(uneven, replace(certificate, inward=True))
    two = Certificate("partition", Fraction(2, 12), (0, 1, 1, 1))
    verify(uneven, replace(two, inward=True))
    with pytest.raises(CertificateError, match="rounds only"):
        verify(uneven, replace(two, value=Fraction(2, 11), inward=True))


def test_lengths_count_what_shares_no_symbol() -> None:
    """Of a value for several ranks only the longest way counts."""
    problem = ask(line(4), copies("one to all", 4, {0: (1, 2, 3)}))
    certificate = Certificate("lengths", Fraction(1, 2), lengths=(1,) * 6)
    verify(problem, certificate)
    with pytest.raises(CertificateError, match="proves 1/2"):
        verify(problem, replace(certificate, value=Fraction(51, 100)))


def test_sentences() -> None:
    dgx = ask(dgx1(), all_gather(8))
    distance, cut = bound(dgx).certificates
    assert explain(dgx, distance) == (
        "Data of gpu[0] is wanted at gpu[5], a step takes data from one rank to the next, and no "
        "way between the two has fewer than 2 steps."
    )
    assert explain(dgx, cut) == (
        "Of every chunk 7 messages must leave {gpu[1], gpu[2], gpu[3], gpu[4], gpu[5], gpu[6], "
        "gpu[7]}, and the links out of there carry 6 a round, so they take 7/6 rounds at least."
    )
    mesh = PROBLEMS["partition"]
    said = explain(mesh, bound(mesh).certificates[1])
    assert "22 messages must pass between 12 parts" in said
    assert "take 11/17 rounds at least" in said
    narrow = PROBLEMS["lengths"]
    assert "travel 14 together" in explain(narrow, bound(narrow).certificates[1])
    with pytest.raises(CertificateError):
        explain(dgx, replace(cut, value=Fraction(2)))


def test_switches_that_combine_have_no_partition() -> None:
    certificate = Certificate("partition", Fraction(7, 16))
    with pytest.raises(CertificateError, match="copies or combines"):
        explain(ask(switched(8, 4, flags=True), all_reduce(8)), certificate)


def test_no_solver_is_needed() -> None:
    code = (
        "import sys, roundelay.synth.certificates, roundelay.synth.certificate_forms\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "rooms = [name for name in sys.modules if name.startswith('roundelay.synth')]\n"
        "print(sorted(names & {'z3', 'ortools', 'numpy', 'networkx', 'numba'}), sorted(rooms))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = ["certificate_forms", "certificates", "schedule"]
    expected = ["roundelay.synth", *(f"roundelay.synth.{name}" for name in modules)]
    assert done.stdout == f"[] {expected}\n"
