"""Warnings: what they find, and what they leave alone."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from roundelay import dsl
from roundelay.dsl.model import Link, Rank, Switch, Topology
from roundelay.dsl.odd_machines import odd_machine
from roundelay.dsl.oddities import odd_text
from roundelay.dsl.parser import parse
from roundelay.dsl.source import Fault, Source, Span
from tests.machines import GB, US, boxes, complete, dgx1, grid, hypercube, ring, row, star

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    *sorted((Path(dsl.__file__).parent / "library").rglob("*.rly")),
    *sorted((ROOT / "examples").rglob("*.rly")),
]


def messages(faults: list[Fault]) -> list[str]:
    for fault in faults:
        assert fault.expected or fault.message.startswith("and ")
        assert fault.remedy or fault.message.startswith("and ")
    return [fault.message for fault in faults]


def with_links(base: Topology, *links: Link, less: tuple[tuple[int, int], ...] = ()) -> Topology:
    changed = {(link.src, link.dst) for link in links} | set(less)
    kept = [link for link in base.links if (link.src, link.dst) not in changed]
    return Topology(base.name, base.ranks, base.switches, (*kept, *links))


SOUND = [
    ring(8), ring(8, one_way=True), grid(20, 20), grid(3, 3, around=True), grid(1, 12), dgx1(),
    hypercube(4), complete(6), star(9), boxes(3, 4),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SOUND)))
def test_sound_machines_are_left_alone(number: int) -> None:
    assert odd_machine(SOUND[number]) == []


def test_a_missing_way_back() -> None:
    assert messages(odd_machine(with_links(ring(8), less=((3, 2),)))) == [
        "test: gpu[2] -> gpu[3] has no link back"
    ]


def test_a_slower_way_back_is_said_once() -> None:
    odd = with_links(ring(8), Link(3, 2, 2, Fraction(25, 10) * GB, US))
    assert messages(odd_machine(odd)) == [
        "test: gpu[2] -> gpu[3] is 1 GB/s, the way back x2 at 2.5 GB/s"
    ]


def test_links_of_one_statement_are_one_warning() -> None:
    span = Span(Source("a.rly", "link gpu[i] -> sw"), 0, 4)
    links = [Link(i, 20, 1, GB, US, span) for i in range(2)]
    odd = with_links(star(20), *links, less=((20, 0), (20, 1)))
    faults = [each for each in odd_machine(odd) if "back" in each.message]
    assert messages(faults) == ["gpu[0] -> sw[0] has no link back (nor have 1 more)"]
    assert faults[0].span == span


def test_where_no_link_is_alike_that_is_meant() -> None:
    down = [Link(link.src, link.dst, 4, GB, US) for link in star(6).links if link.src == 6]
    assert odd_machine(with_links(star(6), *down)) == []


def test_a_rank_with_one_link_where_others_have_six() -> None:
    odd = complete(7)
    weak = with_links(odd, less=tuple(p for i in range(5) for p in ((6, i), (i, 6))))
    assert messages(odd_machine(weak)) == ["test: gpu[6] sends 1 GB/s over all its links"]


def test_ranks_are_measured_against_their_own_group() -> None:
    slow = Fraction(1, 100) * GB
    names = [*row(8), "host"]
    links = [
        Link(*ends, 1, slow if 8 in ends else GB, US) for i in range(9) for ends in ((i, 9), (9, i))
    ]
    hub = Topology("t", tuple(map(Rank, names)), (Switch("sw"),), tuple(links))
    assert odd_machine(hub) == []


@pytest.mark.parametrize(
    ("bandwidth", "latency", "expected"),
    [
        (Fraction(25), US, "a link of 25 B/s"),
        (Fraction(101 * 10**12), US, "a link of 101 TB/s"),
        (GB, Fraction(2), "a link with a latency of 2 s"),
    ],
)
def test_speeds_that_no_hardware_has(bandwidth: Fraction, latency: Fraction, expected: str) -> None:
    span = Span(Source("a.rly", "link"), 0, 4)
    base = ring(4)
    links = tuple(Link(e.src, e.dst, 1, bandwidth, latency, span) for e in base.links)
    assert messages(odd_machine(Topology("t", base.ranks, (), links))) == [expected]


def test_limits_of_speeds_belong_to_them() -> None:
    base = ring(4)
    for bandwidth in (Fraction(10**6), Fraction(10**14)):
        links = tuple(Link(e.src, e.dst, 1, bandwidth, Fraction(1)) for e in base.links)
        assert odd_machine(Topology("t", base.ranks, (), links)) == []


def test_a_switch_with_one_neighbour() -> None:
    base = ring(5)
    links = (*base.links, Link(0, 5, 1, GB, US), Link(5, 0, 1, GB, US))
    odd = Topology("t", base.ranks, (Switch("a"), Switch("b")), links)
    assert messages(odd_machine(odd)) == [
        "t: switch a is joined to gpu[0] alone",
        "t: switch b is joined to nothing",
    ]


def test_no_more_than_twenty_of_a_kind() -> None:
    base = ring(3)
    switches = tuple(Switch(f"s[{i}]") for i in range(25))
    found = messages(odd_machine(Topology("t", base.ranks, switches, base.links)))
    assert len(found) == 21
    assert found[-1] == "and 5 warnings more of this kind"


# ----------------------------------------------------------------------------------- texts


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_the_library_and_the_examples_are_not_odd(path: Path) -> None:
    assert messages(odd_text(parse(Source(path.name, path.read_text(encoding="utf-8"))))) == []


def of(text: str) -> list[tuple[str, str]]:
    """Messages, and what they point at."""
    faults = odd_text(parse(Source("a.rly", text)))
    spans = [fault.span for fault in faults]
    assert all(spans)
    return [
        (message, text[span.start : span.end])
        for message, span in zip(messages(faults), spans, strict=True)
        if span is not None
    ]


def test_unused_parameters() -> None:
    text = "topology t(n, bw, lat = n * 1 us, _x) { ranks a[2] link a[0] <-> a[1] at bw }"
    assert of(text) == [("parameter 'lat' of 't' is never used", "lat = n * 1 us")]
    assert of("operator f(s)(a, b) = a") == [("parameter 's' of 'f' is never used", "s")]
    assert of("topology t(m) = m only a[0]") == []
    assert of("topology t(n) = u(n = 2)") == [("parameter 'n' of 't' is never used", "n")]
    assert of("collective c(op, root) { want y[root, c] = op(x[s, c] for s in ranks) }") == []
    assert of("schedule s(m, n) of c on m { chunks n }") == []


def test_unused_loop_names() -> None:
    say = "'{}' is never used: every turn of this loop is the same"
    link = "topology t {{ ranks a[9] link a[i] -> a[j] at 1 GB/s for {} }}"
    assert of(link.format("i in 0..3, j in 0..i")) == []
    assert of(link.format("(i, j, k) in [(1, 2, 3)]")) == [(say.format("k"), "k")]
    assert of(link.format("(i, j, _) in [(1, 2, 3)]")) == []
    assert of(link.format("i in 0..3, j in 0..3, k in 0..3 if k < i")) == []
    step = "schedule s of c on t { step for k in 0..3: send x from {} to 1 copy }"
    assert of(step.replace("{}", "k")) == []
    assert of(step.replace("{}", "0")) == [(say.format("k"), "k")]
    fold = "collective c(op) { want y[r, c] = op(x[s, c] for s in ranks, t in 0..2) }"
    assert of(fold) == [(say.format("t"), "t")]
    assert of("plan { synthesize c within [[b, 1] for b in 0..2] on t }") == []


def test_constant_conditions() -> None:
    text = "topology t { ranks a[9] link a[i] -> a[0] at 1 GB/s for i in 0..3 if {} }"
    say = "this condition is always the same: no name stands in it"
    assert of(text.replace("{}", "1 < min(2, 3)")) == [(say, "1 < min(2, 3)")]
    assert of(text.replace("{}", "1 < i")) == []


def test_unused_declarations() -> None:
    text = (
        "element p { a: f32 }\noperator f(a: p, b: p) { a = f.a }\noperator g(a, b) = a\n"
        "collective c(op) { want y[r, c] = op(x[s, c] for s in ranks) }\n"
        "schedule hand of c(g) on t { }\ntopology t { }\n"
    )
    assert of(text) == []  # Without a plan it is a library.
    plan = text + "plan { synthesize c(g) on t }"
    assert of(plan) == [
        ("operator 'f' is never used", "f"),
        ("schedule 'hand' is never used", "hand"),
    ]
    assert of(text + "plan { run hand element p }") == [("operator 'f' is never used", "f")]
