"""Printing: parsing what was printed gives the same tree, and prints the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay import dsl
from roundelay.dsl import syntax
from roundelay.dsl.parser import parse
from roundelay.dsl.printer import render, render_expression
from roundelay.dsl.source import Source, Span

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    *sorted((Path(dsl.__file__).parent / "library").rglob("*.rly")),
    *sorted((ROOT / "examples").glob("*.rly")),
]
NOWHERE = Span(Source("none", ""), 0, 0)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_texts_of_the_library_and_the_examples(path: Path) -> None:
    document = parse(Source(path.name, path.read_text(encoding="utf-8")))
    text = render(document)
    again = parse(Source("printed", text))
    assert again == document
    assert render(again) == text


EVERYTHING = """\
topology t(n, bw = 50 GB/s, lat = n * 1 us) {
  ranks gpu[n, 2 * n], host
  switch a[2], b multicast reduce
  link gpu[i, 0] -> a[i % 2] x2 at bw / 2, lat for i in 0..n, (j, k) in [(0, 1), (2, 3)] if i != j
  link host <-> b x(n - 1) at 1.5 GiB/s
}

operator f(a, b) = max(a, b) { commutative; idempotent }

operator g(a, b) = a * b + -1 / 2 { identity 1 }

collective c(op, root) {
  given x[r, s, c]
  want y[root, c] = op(x[s, (s + 1) % n, c] for s in ranks, t in 0..1 if s <= root)
  busbw 2 * (n - 1) / n
}

collective d {
  given x[r, c]
  want y[r, c] = x[r, c]
}

plan {
  synthesize c(f, root = 1) on t(4, lat = 1 ms)
  chunks 1..8
  steps 2
  rounds 7 / 2
  sizes 4 KiB .. 256 MiB
  element bf16
  budget 90 s
  minimize time at 1 MiB
}

plan {
  synthesize d on ring(3)
  minimize bandwidth
}

use "other.rly"
"""


def test_canonical_text_is_left_alone() -> None:
    assert render(parse(Source("test", EVERYTHING))) == EVERYTHING


def test_a_long_link_is_broken_before_its_loops() -> None:
    rows = ", ".join(f"({i}, {i + 1})" for i in range(9))
    text = f"topology t {{\n  link a[i, 0] <-> a[j, 1] at 1 GB/s\n    for (i, j) in [{rows}]\n}}\n"
    assert render(parse(Source("test", text.replace("\n    for", " for")))) == text


_NAMES = st.sampled_from(["n", "i", "x", "s", "B", "steps", "time", "x2", "reduce", "element"])
_NUMBERS = st.builds(
    syntax.Number,
    st.sampled_from(["0", "1", "25", "0.7", "112.50"]),
    st.sampled_from(["", "", "GB/s", "us", "KiB", "Gb/s", "s"]),
    st.just(NOWHERE),
)
_LEAVES = st.one_of(_NUMBERS, st.builds(syntax.Name, _NAMES, st.just(NOWHERE)))


def _bigger(inner: st.SearchStrategy[syntax.Expression]) -> st.SearchStrategy[syntax.Expression]:
    operations = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "and", "or"]
    return st.one_of(
        st.builds(syntax.Unary, st.sampled_from(["-", "not"]), inner, st.just(NOWHERE)),
        st.builds(syntax.Binary, st.sampled_from(operations), inner, inner, st.just(NOWHERE)),
        st.builds(
            syntax.Apply,
            st.builds(syntax.Name, _NAMES, st.just(NOWHERE)),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
            st.just(NOWHERE),
        ),
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.recursive(_LEAVES, _bigger, max_leaves=12))
def test_any_expression_comes_back(expression: syntax.Expression) -> None:
    text = f"topology t {{ link a[{render_expression(expression)}] -> b at 1 GB/s }}"
    (topology,) = parse(Source("test", text)).declarations
    assert isinstance(topology, syntax.Topology)
    (link,) = topology.statements
    assert isinstance(link, syntax.Link)
    assert isinstance(link.src, syntax.Reference)
    assert link.src.items[0].indices == (expression,)
