"""Text to syntax: what is accepted, what a word means where, and going on after a fault."""

from __future__ import annotations

import pytest

from roundelay.dsl import syntax
from roundelay.dsl.parser import parse, parse_call, recover
from roundelay.dsl.source import InputError, Source, Span

NOWHERE = Span(Source("none", ""), 0, 0)


def declaration(text: str) -> syntax.Declaration:
    (only,) = parse(Source("test", text)).declarations
    return only


def link(text: str) -> syntax.Link:
    topology = declaration(f"topology t {{ {text} }}")
    assert isinstance(topology, syntax.Topology)
    (only,) = topology.statements
    assert isinstance(only, syntax.Link)
    return only


def number(digits: str, unit: str = "") -> syntax.Number:
    return syntax.Number(digits, unit, NOWHERE)


def name(text: str) -> syntax.Name:
    return syntax.Name(text, NOWHERE)


def test_a_link_in_full() -> None:
    it = link("link a[i, 0] -> b x2 at 25GB/s, 0.7 us for (i, j) in [(0, 1)], k in 0..n if i < k")
    place = syntax.Item(name("a"), (name("i"), number("0")), NOWHERE)
    assert it.src == syntax.Reference((place,), NOWHERE)
    assert it.dst == name("b")
    assert not it.both
    assert it.count == number("2")
    assert it.bandwidth == number("25", "GB/s")
    assert it.latency == number("0.7", "us")
    pair, k = it.loops
    assert pair.targets == (name("i"), name("j"))
    assert pair.domain == syntax.Listing(((number("0"), number("1")),), NOWHERE)
    assert k.domain == syntax.Range(number("0"), name("n"), NOWHERE)
    assert it.guard == syntax.Binary("<", name("i"), name("k"), NOWHERE)


def test_a_link_without_anything_optional() -> None:
    it = link("link a <-> b at bw")
    assert it.both
    assert (it.count, it.latency, it.loops, it.guard) == (None, None, (), None)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x12", number("12")),
        ("x 12", number("12")),
        ("x n", name("n")),
        ("x x", name("x")),
        ("x(n - 1)", syntax.Binary("-", name("n"), number("1"), NOWHERE)),
    ],
)
def test_parallel_links(text: str, count: syntax.Expression) -> None:
    assert link(f"link a <-> x2 {text} at 1 GB/s").count == count
    assert link(f"link a <-> b[x2] {text} at 1 GB/s").count == count


def test_parallel_links_between_ranks_of_parts() -> None:
    it = link("link a[0].ranks[i] <-> a[1].ranks[i] x 2 at 1 GB/s for i in ranks of a")
    assert it.count == number("2")
    assert link("link a.ranks[0] <-> a.ranks[x2] x2 at 1 GB/s").count == number("2")


@pytest.mark.parametrize(
    "rest",
    [
        "a -> b at ]", "a -> b at 1 B/s for ]", "a -> b at 1 B/s for i in ]",
        "a -> b at 1 B/s for i in ranks of ]", "a.ranks[0] -> ]",
    ],
)  # fmt: skip
def test_words_inside_a_statement_begin_none(rest: str) -> None:
    text = f"topology t {{ ranks a link {rest} link a -> b at 1 B/s }}"
    recovered = recover(Source("test", text))
    assert [fault.message for fault in recovered.faults] == ["unexpected ']'"]
    (topology,) = recovered.document.declarations
    assert isinstance(topology, syntax.Topology)
    assert [type(each).__name__ for each in topology.statements][:1] == ["Ranks"]
    assert topology.statements[-1] == link("link a -> b at 1 B/s")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("-2 ** 2", "(-(2 ** 2))"),
        ("2 ** -3 ** 2", "(2 ** (-(3 ** 2)))"),
        ("a // b % c / d", "(((a // b) % c) / d)"),
        ("not a < b and c or d", "(((not(a < b)) and c) or d)"),
        ("(1 + 2) * 3", "((1 + 2) * 3)"),
        ("min(a, b + 1)", "min(a, (b + 1))"),
    ],
)
def test_precedence(text: str, tree: str) -> None:
    guard = link(f"link a -> b at 1 GB/s if {text}").guard
    assert guard is not None
    assert bracketed(guard) == tree


def bracketed(node: syntax.Expression) -> str:
    match node:
        case syntax.Number():
            return node.digits
        case syntax.Name():
            return node.text
        case syntax.Unary():
            return f"({node.operation}{bracketed(node.operand)})"
        case syntax.Binary():
            return f"({bracketed(node.left)} {node.operation} {bracketed(node.right)})"
        case syntax.Apply():
            return f"{node.function.text}({', '.join(map(bracketed, node.arguments))})"
        case syntax.Reference():
            raise AssertionError("no number")


def test_a_rate_needs_no_spaces_and_a_quotient_has_them() -> None:
    assert link("link a -> b at 8 B/s").bandwidth == number("8", "B/s")
    quotient = link("link a -> b at 8 B / s").bandwidth
    assert quotient == syntax.Binary("/", number("8", "B"), name("s"), NOWHERE)


def test_words_that_mean_something_elsewhere_are_names() -> None:
    it = declaration(
        "topology switch(steps, chunks = 4, time = 1 us) {\n"
        "  ranks element[steps], on\n"
        "  switch reduce multicast\n"
        "  link element[budget] -> reduce at rounds, time for budget in 0..steps\n}"
    )
    assert isinstance(it, syntax.Topology)
    assert [each.name.text for each in it.parameters] == ["steps", "chunks", "time"]
    switches = it.statements[1]
    assert isinstance(switches, syntax.Switches)
    assert switches.groups[0].name.text == "reduce"
    assert [ability.text for ability in switches.abilities] == ["multicast"]


def test_options_may_share_a_line_or_not() -> None:
    one = declaration("plan { synthesize a(b) on c chunks 1..8 steps 2 sizes 4 KiB .. 1 MiB }")
    two = declaration("plan {\nsynthesize a(b)\non c\nchunks 1 .. 8\nsteps 2\nsizes 4KiB..1MiB\n}")
    assert one == two


def test_spans_are_the_text_of_their_node() -> None:
    text = "topology t {\n  link a[i] <-> b x2 at 25 GB/s, 0.7 us for i in 0..(n + 1) if (i) < 3\n}"
    (topology,) = parse(Source("test", text)).declarations
    assert isinstance(topology, syntax.Topology)
    (it,) = topology.statements
    assert isinstance(it, syntax.Link)

    def said(span: Span) -> str:
        return text[span.start : span.end]

    assert said(topology.span) == text
    assert said(it.span) == text[15:-2]
    assert said(it.bandwidth.span) == "25 GB/s"
    assert said(it.src.span) == "a[i]"
    assert it.latency is not None
    assert said(it.latency.span) == "0.7 us"
    assert said(it.loops[0].span).startswith("i in 0..(n + 1")


def test_an_empty_text_is_an_empty_document() -> None:
    assert parse(Source("test", "")) == syntax.Document(())
    assert parse(Source("test", " # nothing\n\n")) == syntax.Document(())


def test_a_fault_costs_its_statement_alone() -> None:
    recovered = recover(
        Source(
            "test",
            "topology a { ranks g[2] link g[0] <-> at 3 GB/s link g[0] <-> g[1] at 1 GB/s }\n"
            "topology b { ranks g[2 }\n"
            "operator f(a b) = a\n"
            "plan { chunks 2 stepz 4 synthesize x on a }\n"
            "collective c { given x[r, c] want y[r, c] = x[r, c] }\n",
        )
    )
    assert [fault.span.start if fault.span else -1 for fault in recovered.faults] == [
        38, 102, 117, 140,
    ]  # fmt: skip
    kinds = [type(each).__name__ for each in recovered.document.declarations]
    assert kinds == ["Topology", "Plan", "Collective"]
    a, plan, _ = recovered.document.declarations
    assert isinstance(a, syntax.Topology)
    assert len(a.statements) == 2
    assert isinstance(plan, syntax.Plan)
    assert len(plan.options) == 2
    assert recovered.broken == {
        ("topology", "a"), ("topology", "b"), ("operator", "f"), ("plan", ""),
    }  # fmt: skip
    assert recovered.partial == {a.span.start, plan.span.start}


def test_a_missing_brace_does_not_swallow_what_follows() -> None:
    recovered = recover(Source("test", "topology a { ranks g\ntopology b { ranks g }\nplan { }"))
    assert len(recovered.faults) == 1
    names = [type(each).__name__ for each in recovered.document.declarations]
    assert names == ["Topology", "Plan"]


@pytest.mark.parametrize(
    "whole",
    [
        "plan { chunks 2 }",
        "operator f(a, b) = a",
        "operator f(a, b) = a { commutative }",
        "topology t { ranks a }",
    ],
)
@pytest.mark.parametrize("rubbish", ["foo bar", "} }", "4", "; link a -> b at 1 GB/s", "? !"])
def test_rubbish_between_declarations_costs_none(whole: str, rubbish: str) -> None:
    recovered = recover(Source("test", f"{whole}\n{rubbish}\n{whole.replace('t {', 'u {')}"))
    assert recovered.faults
    assert len(recovered.document.declarations) == 2
    assert recovered.broken == frozenset()


def test_a_whole_statement_before_a_fault_stays() -> None:
    recovered = recover(Source("test", "plan { chunks 2 ; steps 3 rounds rounds 4 }"))
    (plan,) = recovered.document.declarations
    assert isinstance(plan, syntax.Plan)
    kinds = [option.kind for option in plan.options if isinstance(option, syntax.Interval)]
    assert kinds == ["chunks", "steps"]


def test_a_word_that_may_have_meant_ranks_spoils_a_topology() -> None:
    recovered = recover(Source("test", "topology t { ranks a lnk b link a -> b at 1 GB/s }"))
    assert recovered.broken == {("topology", "t")}
    assert recovered.document.declarations == ()


def test_a_text_of_rubbish_has_a_bounded_report() -> None:
    with pytest.raises(InputError) as caught:
        parse(Source("test", "topology ! " * 3000))
    assert len(caught.value.faults) == 51
    assert caught.value.faults[-1].message.startswith("too many faults")


@pytest.mark.parametrize(
    "rest", ["", "foo", "{ commutative }", "{", "}", "; x", "\noperator g(a, b) = a"]
)
def test_an_expression_too_deep_where_anything_follows(rest: str) -> None:
    for text in ("1" + " + 1" * 101, "-" * 101 + "1"):
        for around in (f"operator f(a, b) = {text} {rest}", f"plan {{ rounds {text} {rest}"):
            messages = [fault.message for fault in recover(Source("test", around)).faults]
            assert messages
    assert not recover(Source("test", "plan { rounds 1" + " + 1" * 100 + "}")).faults


@pytest.mark.parametrize("depth", [60, 5000])
def test_chains_of_every_kind_are_bounded(depth: int) -> None:
    texts = ["-" * depth + "1", "not " * depth + "1", "1" + " ** 1" * depth, "1" + " + 1" * depth]
    texts.append("abs(" * depth + "1" + ")" * depth)
    for text in texts:
        source = Source("test", f"topology t {{ link a -> b at 1 GB/s if {text} }}")
        assert bool(recover(source).faults) is (depth > 100), text[:20]


def test_a_call_alone() -> None:
    call = parse_call(Source("command line", "mesh(8, 8, bw = 1 GB/s)"))
    assert call.name.text == "mesh"
    assert [argument.name and argument.name.text for argument in call.arguments] == [
        None, None, "bw",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "ring(", "ring(4) 5", "4", "ring(4))", "ring é", "plan { }"])
def test_a_call_that_is_none(text: str) -> None:
    with pytest.raises(InputError):
        parse_call(Source("command line", text))
