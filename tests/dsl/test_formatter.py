"""Formatting changes no meaning, loses no comment, and comes to rest after one time."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundelay import dsl
from roundelay.dsl.comments import Comments
from roundelay.dsl.formatter import format_file, format_text, rewrite
from roundelay.dsl.parser import parse
from roundelay.dsl.printer import render
from roundelay.dsl.source import InputError, Source
from tests.dsl.texts import documents, spelled

if TYPE_CHECKING:
    from roundelay.dsl import syntax

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    *sorted((Path(dsl.__file__).parent / "library").rglob("*.rly")),
    *sorted((ROOT / "examples").rglob("*.rly")),
]


def formatted(text: str) -> str:
    return format_text(Source("test", text))


def comments(text: str) -> Counter[str]:
    return Counter(each.text for each in Comments(text).all)


def check(text: str) -> str:
    """What formatting must do to any text."""
    once = formatted(text)
    assert parse(Source("once", once)) == parse(Source("text", text))
    assert comments(once) == comments(text)
    assert formatted(once) == once
    assert "\n\n\n" not in once
    assert not any(line != line.rstrip() for line in once.split("\n"))
    return once


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents)
def test_every_construct_prints_to_a_fixed_point(document: syntax.Document) -> None:
    text = render(document)
    again = parse(Source("printed", text))
    assert again == document
    assert render(again) == text
    assert formatted(text) == text


@settings(max_examples=200, deadline=None, derandomize=True)
@given(documents, st.integers(0, 2**32))
def test_any_spelling_with_comments(document: syntax.Document, seed: int) -> None:
    text = spelled(render(document), seed)
    assert parse(Source("spelled", text)) == document
    check(text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_texts_of_the_library_and_the_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    check(text)
    random = Random(path.name)
    for _ in range(5):
        check(spelled(text, random.randrange(2**32), 8))


EVERYWHERE = """\
# The file's own.

# Of the topology.


topology t(n,   # how many
    bw = 1 GB/s) {   # opens

  # Above ranks.
  ranks gpu[n]   # beside

  # Two apart,

  # then a link.
  link gpu[i] <-> gpu[j]  # a stray one
    at bw for i in 0..n, j in 0..n if i < j    # the end
  link   gpu[0] -> gpu[1] at 25 B/s   # short
  # Before the brace.

}   # closed
use "a" # first
use "b"
element p { a: f32, # one
  b: f32 }
operator f(a, b) = a + b { commutative # why
  ; identity 0 # zero
  ; # lone
}
schedule s of c on t { step: # one step
    # the send
    send x from 0 to 1 copy
  step: }
# The end.
"""

IN_ORDER = """\
# The file's own.

# Of the topology.

# how many
topology t(n, bw = 1 GB/s) {  # opens
  # Above ranks.
  ranks gpu[n]  # beside

  # Two apart,

  # then a link.
  # a stray one
  link gpu[i] <-> gpu[j] at bw for i in 0..n, j in 0..n if i < j  # the end
  link gpu[0] -> gpu[1] at 25 B/s                                 # short
  # Before the brace.
}  # closed

use "a"  # first
use "b"

element p {
  a: f32  # one
  b: f32
}

operator f(a, b) = a + b {
  commutative  # why
  identity 0   # zero
  # lone
}

schedule s of c on t {
  step:  # one step
    # the send
    send x from 0 to 1 copy
  step:
}
# The end.
"""


def test_where_comments_and_empty_lines_stay() -> None:
    assert check(EVERYWHERE) == IN_ORDER


def test_a_comment_sign_between_quotes_is_none() -> None:
    assert check('use "a#b" # c#d "e"\n') == 'use "a#b"  # c#d "e"\n'


def test_nothing_and_comments_alone() -> None:
    assert formatted("") == ""
    assert formatted(" \n\n") == ""
    assert formatted("\n\n  # a\n\n\n# b") == "# a\n\n# b\n"


def test_laws_between_assignments_take_their_comments_along() -> None:
    text = (
        "operator f(a: p, b: p) {\n  # law\n  commutative\n  # first\n  x = a.x # beside\n"
        "\n  y = b.y\n}\n"
    )
    assert check(text) == (
        "operator f(a: p, b: p) {\n  # first\n  x = a.x  # beside\n\n  y = b.y\n  # law\n"
        "  commutative\n}\n"
    )


def test_a_number_and_a_unit_of_two_statements_stay_apart() -> None:
    text = 'topology t from "a" as pcie {\n  x 2;\n  s 3\n  y 1 GB/s\n  B 4\n}\n'
    assert check(text) == text


def test_long_lines_are_broken_behind_outer_commas() -> None:
    rows = ", ".join(f"({i}, {i + 1})" for i in range(100, 140))
    text = check(f"topology t {{ link a[i] <-> a[j] at 1 GB/s for (i, j) in [{rows}] }}")
    lines = text.split("\n")
    assert all(len(line) <= 100 for line in lines)
    assert lines[1] == "  link a[i] <-> a[j] at 1 GB/s"
    assert lines[2].startswith("    for (i, j) in [(100, 101), ")
    assert lines[3].startswith("      (")
    assert all(line.endswith("),") for line in lines[2:5])


def test_a_long_send_is_broken_before_its_last_word() -> None:
    far = " + ".join(["r"] * 19)
    send = f"    send x from r to {far}\n      reduce for r in 0..9\n"
    text = f"schedule s of c on t {{\n  step:\n{send}}}\n"
    assert check(text) == text


def test_a_text_with_faults_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        formatted("topology t {\n  ranks\n}\nplan { stepps 3 }\n")
    assert len(caught.value.faults) == 2


# ----------------------------------------------------------------------------------- files

CANONICAL = "# One.\nplan {\n  steps 2\n}\n"


def test_a_file_is_rewritten_once(tmp_path: Path) -> None:
    path = tmp_path / "a.rly"
    path.write_bytes(b"\xef\xbb\xbf# One.\r\nplan { steps   2 }")
    path.chmod(0o640)
    formatted_file = format_file(path)
    assert formatted_file.changed
    assert formatted_file.difference()[-1] == "\\ No newline at end of file"
    assert "+  steps 2" in formatted_file.difference()
    assert rewrite(path)
    assert path.read_bytes() == CANONICAL.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    stamp = path.stat().st_mtime_ns
    assert not rewrite(path)
    assert path.stat().st_mtime_ns == stamp
    assert format_file(path).difference() == []
    assert [each.name for each in tmp_path.iterdir()] == ["a.rly"]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\r\n"])
def test_marks_and_line_ends_alone_are_a_change(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.rly"
    text = CANONICAL.encode()
    path.write_bytes(data + text if b"\xef" in data else text.replace(b"\n", data))
    assert format_file(path).difference()
    assert rewrite(path)
    assert path.read_bytes() == text


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    real, link = tmp_path / "inner" / "a.rly", tmp_path / "b.rly"
    real.write_text("plan{}")
    link.symlink_to(real)
    assert rewrite(link)
    assert link.is_symlink()
    assert real.read_text() == "plan {\n}\n"


def test_a_file_with_faults_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.rly"
    path.write_text("plan { stepps 2")
    with pytest.raises(InputError):
        rewrite(path)
    assert path.read_text() == "plan { stepps 2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_protected_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rly"
    path.write_text("plan{}")
    path.chmod(0o444)
    with pytest.raises(InputError, match="write-protected"):
        rewrite(path)
    assert path.read_text() == "plan{}"


def test_a_failed_write_leaves_the_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.rly"
    path.write_text("plan{}")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        rewrite(path)
    assert path.read_text() == "plan{}"
    assert [each.name for each in tmp_path.iterdir()] == ["a.rly"]


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a plain file"):
        rewrite(pipe)
