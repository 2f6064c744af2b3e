"""Inputs made to do harm: each has one clear answer, in bounded time and memory.

So many ways to do harm make this file long.
"""

from __future__ import annotations

import ast
import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roundelay.codegen.backends import BACKENDS, load_backend
from roundelay.codegen.dataflow import fuse
from roundelay.codegen.elements import find_element
from roundelay.codegen.lowering import lower
from roundelay.dsl import files
from roundelay.dsl.loader import by_hand, load, problem, read_source
from roundelay.dsl.source import InputError, Source
from roundelay.synth.by_hand import judge
from roundelay.synth.schedule import Found
from tests.dsl.fuzzing import limited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.codegen.artifact import Artifact

SECONDS = 20.0
"""Processor time for a text that drives some limit of the language to its end."""
MEMORY = 1 << 30

MANY = 100_000
DEEP = 10_000


def machine(body: str) -> str:
    return f"topology t {{ {body} }}"


def linked(rest: str) -> str:
    return machine(f"ranks a[2] link a[0] <-> a[1] {rest}")


def by(steps: str, chunks: str = "1") -> str:
    return (
        f"schedule s of all_reduce(sum) on ring(4) {{ chunks {chunks} {steps} }}\nplan {{ run s }}"
    )


TEXTS = {
    "a billion ranks": (machine("ranks gpu[1000000000]"), "1000000000 ranks and switches"),
    "ranks of many indices": (machine("ranks gpu[65536, 65536]"), "4294967296 ranks"),
    "parentheses": (machine(f"ranks a[{'(' * DEEP}1{')' * DEEP}]"), "brackets nested too deep"),
    "open parentheses": (machine("ranks a[" + "(" * DEEP), "brackets nested too deep"),
    "brackets": (machine("ranks " + "a[" * DEEP + "1" + "]" * DEEP), "brackets nested too deep"),
    "closing brackets": (machine("ranks a[1" + "]" * MANY), "unexpected ']'"),
    "braces": ("topology t " + "{" * DEEP + "}" * DEEP, "unexpected '{'"),
    "calls": (machine("ranks a[" + "min(1, " * DEEP + "1" + ")" * DEEP + "]"), "nested too deep"),
    "sums": (machine("ranks a[1" + " + 1" * MANY + "]"), "an expression nested too deep"),
    "signs": (machine("ranks a[1" + " +" * MANY + "]"), "unexpected '+'"),
    "negations": (machine("ranks a[" + "-" * MANY + "1]"), "an expression nested too deep"),
    "open negations": ("operator f(a, b) = " + "~" * MANY, "the text ends too early"),
    "powers": (machine("ranks a[" + "2 ** " * MANY + "2]"), "an expression nested too deep"),
    "dots": (machine("ranks a link a" + ".b" * MANY + " -> a at 1 GB/s"), "'a'"),
    "a long name": (machine("ranks " + "x" * 1_000_000), "a name of 1000000 characters"),
    "a long number": (machine("ranks a[" + "9" * 1_000_000 + "]"), "a number of 1000000 digits"),
    "a long fraction": (machine("ranks a[1." + "9" * 999_998 + "]"), "a number of 1000000 digits"),
    "many links": (linked("x" + "9" * 1_000_000 + " at 1 GB/s"), "a number of 1000000 digits"),
    "a long unit": (linked("at 1 " + "x" * 1_000_000), "a unit of 1000000 characters"),
    "a long file name": (f'use "{"x" * 1_000_000}"', "a file is named where no file is read"),
    "a long text in quotes": (machine('"' + "x" * 1_000_000 + '"'), "unexpected"),
    "nothing readable": ("\x01" * 1_000_000, "unreadable"),
    "little readable": ("\x01 a " * 200_000, "unreadable"),
    "every character": ("".join(map(chr, range(0x3000))), "unreadable"),
    "a zero": ("topology t\0 { ranks a }", "unreadable '\\x00'"),
    "a lone surrogate": ("topology \ud800 { ranks a }", "unreadable '\\ud800'"),
    "a mark inside": (machine("ranks a \ufeff"), "unreadable '\\ufeff'"),
    "itself": (machine("part a = t"), "topology 't' is made of itself"),
    "each other": (
        "topology a { part x = b } topology b { part x = a }",
        "topology 'a' is made of itself",
    ),
    "itself by a parameter": (
        "topology a(n) { part x = b(n + 1) } topology b(n) { part x = a(n + 1) }\n"
        "topology c { part x = a(1) }",
        "topology 'a' is made of itself",
    ),
    "itself in many branches": (
        "topology a(n, k) { part x = a(n + 1, 2 * k) part y = a(n + 1, 2 * k + 1) }\n"
        "topology c { part x = a(1, 0) }",
        "topology 'a' is made of itself",
    ),
    "itself by deriving": ("topology a = b only g topology b = a only g", "is made of itself"),
    "a million machines": (
        machine("part box[1000000] = pod(hgx_h100, 1000)"),
        "ranks and switches",
    ),
    "a trillion turns": (linked("at 1 GB/s for i in 0..10 ** 12"), "too many turns of loops"),
    "loops in loops": (
        linked("at 1 GB/s for i in 0..10000, j in 0..10000 if i > 10 ** 5"),
        "too many turns of loops",
    ),
    "loops in loops over nothing": (
        linked("at 1 GB/s for i in 0..10000, j in 0..10000, k in 0..0"),
        "too many turns of loops",
    ),
    "many loops": (
        linked("at 1 GB/s for " + ", ".join(f"i{k} in 0..2" for k in range(60))),
        "60 loops in one statement",
    ),
    "a tower of powers": (machine("ranks a[9 ** 9 ** 9 ** 9]"), "a number too large"),
    "a shift": (machine("ranks a[1 << 10 ** 20]"), "a number too large"),
    "a product": (machine(f"ranks a[{' * '.join(['2 ** 4000'] * 9)}]"), "a number too large"),
    "a group": (
        "plan { synthesize all_gather within [[r for r in 0..10 ** 9]] on ring(4) }",
        "too many turns of loops",
    ),
    "a range of ranks": (
        "plan { synthesize all_gather within [[0..10 ** 12]] on ring(4) }",
        "ranks 0..1000000000000 do not all exist",
    ),
    "groups": (
        "plan { synthesize all_gather within [[0, 1] for r in 0..10 ** 10] on ring(4) }",
        "too many turns of loops",
    ),
    "chunks": (by("step: send c = 0 from 0 to 1 copy", "10 ** 12"), "1000000000000 chunks"),
    "steps": (by("step for k in 0..10 ** 9: send c = 0 from 0 to 1 copy"), "too many turns"),
    "steps in steps": (
        by("step for k in 0..10000, j in 0..10000: send c = 0 from 0 to 1 copy"),
        "too many",
    ),
    "sends": (
        by("step: send c = 0 from 0 to 1 copy for k in 0..10000, j in 0..10000"),
        "too many sends",
    ),
    "wrong sends": (by("step: " + "send c = 1 from r to 9 copy for r in ranks " * DEEP), "rank 9"),
    "symbols": (
        "collective t { given x[a, b, d, e, f, g, c] want y[a, c] = x[a, a, a, a, a, a, c] }\n"
        "plan { synthesize t on ring(30) }",
        "30 ** 6 values of 'x'",
    ),
    "a value combined again and again": (
        "collective t(op) { given x[r, c]"
        " want y[0, c] = op(x[s // 999999, c] for s in 0..10 ** 6) }\n"
        "plan { synthesize t(sum) on ring(4) }",
        "combines x[0, c] twice",
    ),
    "fields": ("element e { a: f32[10 ** 12] }", "a field of 1000000000000 values"),
    "one name again and again": ("topology a { ranks a }\n" * 20_000, "declared twice"),
    "a rank again and again": (machine("ranks a" + ", a" * MANY), "declared twice"),
    "names that nobody knows": (
        "".join(f"plan {{ synthesize xx{i} on ring(3) }}\n" for i in range(2000))
        + "".join(
            f"collective yy{i} {{ given x[r, c] want y[r, c] = x[r, c] }}\n" for i in range(2000)
        ),
        "unknown collective 'xx0'",
    ),
    "a library machine": ("plan { synthesize all_gather on complete(10 ** 6) }", "ranks"),
}


@contextmanager
def frugal() -> Iterator[None]:
    """Bound the memory that may come on top of what this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    text, message = TEXTS[name]
    with frugal(), limited(SECONDS), pytest.raises(InputError) as caught:
        load(Source("hostile.rly", text))
    assert message in caught.value.faults[0].message
    assert len(str(caught.value)) < 50_000
    for fault in caught.value.faults:
        assert fault.span is not None
        assert 0 <= fault.span.start <= fault.span.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "# " + "x" * 1_000_000 + "\n" + machine("ranks a"),
        machine("ranks a" + " " * 1_000_000),
        "plan { synthesize all_gather on ring(3) }\n" * 3000,
        machine("ranks a[2] link a[0] <-> a[1] at 1 GB/s" + " " * 1_000_000 + ", 1 us"),
        "".join(f"topology o{i} {{ ranks a }}\n" for i in range(5000)),
    ],
    ids=["comment", "spaces", "plans", "gap", "topologies"],
)
def test_large_texts_that_are_right(text: str) -> None:
    with frugal(), limited(SECONDS):
        load(Source("large.rly", text))


# ------------------------------------------------------------------------------------ files


def check(
    path: Path, *, patience: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What the command line says of a file."""
    return subprocess.run(
        [sys.executable, "-m", "roundelay", "check", path],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=patience,
        cwd=path.parent,
        env={**os.environ, **environment},
    )


def test_a_file_of_a_hundred_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "large.rly"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    done = check(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {path} is too large\n  expected: at most 4 MiB\n"


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", 2, "it has zero bytes"),
        (bytes(range(1, 256)), 2, "is not a text file: byte 127"),
        (b"topology t { ranks \xed\xa0\x80 }", 2, "is not a text file: byte 19"),
        (b"topology t { ranks a } # \xc0\xaf", 2, "is not a text file: byte 25"),
        (b"\xff\xfet\x00o\x00p\x00", 2, "it has zero bytes"),
        (b"\xef\xbb\xbftopology t {\r\n  ranks a\r\n}\r\n", 0, ""),
        (b"topology t {\r  ranks a\r}\r", 0, ""),
        (b"topology t {\r\n  rank a\r\n}\r\n", 2, ":2:3: error: unexpected 'rank'"),
        (b"\xef\xbb\xbf\xef\xbb\xbftopology t { ranks a }", 2, "unreadable '\\ufeff'"),
        (b"topology t { ranks a }\x1a", 2, "unreadable '\\x1a'"),
        (b"", 0, ""),
    ],
)
def test_bytes(tmp_path: Path, data: bytes, status: int, message: str) -> None:
    path = tmp_path / "bytes.rly"
    path.write_bytes(data)
    done = check(path)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_deep_texts_end_with_status_two(tmp_path: Path) -> None:
    path = tmp_path / "deep.rly"
    path.write_text(TEXTS["parentheses"][0])
    done = check(path)
    assert done.returncode == 2
    assert "brackets nested too deep" in done.stderr


WAYS = {
    "pipe.rly": "is not a plain file",
    "zeros.rly": "is not a plain file",
    "loop.rly": "does not exist",
    "out.rly": "lies outside the project",
    "way/secret.rly": "lies outside the project",
    "../secret.rly": "lies outside the project",
    "inner/../../secret.rly": "lies outside the project",
    "/dev/zero": "an absolute path",
    "inner": "is a folder",
    ".": "is a folder",
    "..": "is a folder",
    "~/secret.rly": "does not exist",
    "x" * 300: "does not exist",
    "x" * 1001: "the name of a file has 1001 characters",
    "a\tb": "empty or unreadable",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "secret.rly").write_text(machine("ranks secret"))
    folder = tmp_path / "project"
    (folder / "inner").mkdir(parents=True)
    os.mkfifo(folder / "pipe.rly")
    (folder / "zeros.rly").symlink_to("/dev/zero")
    (folder / "loop.rly").symlink_to("loop.rly")
    (folder / "out.rly").symlink_to("../secret.rly")
    (folder / "way").symlink_to("..")
    (folder / "inner/fine.rly").write_text(machine("ranks fine"))
    (folder / "within.rly").symlink_to("inner/fine.rly")
    return folder


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("form", ["use {}", "topology t from {} as nvidia-smi {{ NV 1 GB/s }}"])
def test_ways_out_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, form: str, name: str
) -> None:
    monkeypatch.delenv(files.SEARCH_PATH, raising=False)
    path = project / "main.rly"
    path.write_text(form.format(f'"{name}"'))
    with limited(SECONDS), pytest.raises(InputError) as caught:
        load(read_source(path))
    assert WAYS[name] in caught.value.faults[0].message
    assert "secret" not in str(caught.value).replace(repr(name), "").replace(f'"{name}"', "")


def test_ways_that_stay_inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "main.rly"
    path.write_text('use "within.rly"\nplan { synthesize all_gather on t }')
    assert len(load(read_source(path)).plans) == 1
    path.write_text('use "secret.rly"')
    with pytest.raises(InputError, match="does not exist"):
        load(read_source(path))
    monkeypatch.setenv(files.SEARCH_PATH, str(project.parent))
    load(read_source(path))


def test_nothing_blocks_on_a_command_line(project: Path) -> None:
    path = project / "main.rly"
    path.write_text("".join(f'use "{name}"\n' for name in ("pipe.rly", "zeros.rly", "loop.rly")))
    done = check(path)
    assert done.returncode == 2
    assert done.stderr.count("is not a plain file") == 2


# -------------------------------------------------------------------------------- generated

# Words of Python, of C++ and of the generated texts themselves.
WORDS = (
    "__import__", "None", "lambda", "def", "import", "exec", "int", "float", "while", "return",
    "asm", "__global__", "template", "main", "run", "np", "numba", "cuda", "rl_fused_0", "words",
    "operator_", "rl_merge", "self", "_", "__class__", "threadIdx", "NULL",
)  # fmt: skip


STEPS = """
  chunks n
  step for k in 0..n - 1:
    send c = (r - k) % n from r to (r + 1) % n reduce for r in ranks
  step for k in 0..n - 1:
    send c = (r + 1 - k) % n from r to (r + 1) % n copy for r in ranks
"""


def named(word: str, records: bool) -> str:
    """A text all of whose names are one word, which the schedule of twice that word runs."""
    body = f"({word}, {word}x) = {word} + {word}x {{ commutative prepare ({word}) = -{word} }}"
    if records:
        body = (
            f"({word}p: {word}e, {word}q: {word}e) {{\n"
            f"  {word} = {word}p.{word} + {word}q.{word}\n"
            f"  {word}v = {word}p.{word}v + {word}q.{word}v\n"
            f"  commutative prepare ({word}p) {{\n"
            f"    {word} = -{word}p.{word} {word}v = {word}p.{word}v }} }}"
        )
    return (
        f"topology {word}({word} = 3) {{ ranks {word}[{word}]\n"
        f"  link {word}[i] -> {word}[(i + 1) % {word}] at 1 GB/s, 1 us for i in 0..{word} }}\n"
        f"element {word}e {{ {word}: f32, {word}v: i32[3] }}\n"
        f"operator {word}{body}\n"
        f"collective {word}({word}) {{ given {word}x[r, c] want {word}[r, c] ="
        f" {word}({word}x[s, c] for s in ranks) }}\n"
        f"schedule {word}({word}) of {word}({word}) on {word} {{ {STEPS} }}\n"
        f"schedule {word}{word} of {word}({word}) on {word} {{ {STEPS} }}\n"
    )


def text_of(artifact: Artifact) -> str:
    return "\n".join(text for _, text in artifact.files)


def code_of(text: str, backend: str) -> str:
    """A generated text without its comments and its strings."""
    if backend != "cuda":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        return ast.dump(tree)
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(\\.|[^\"\\])*\"", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("word", WORDS)
def test_names_never_reach_generated_code(word: str, records: bool) -> None:
    backends = [each for each in BACKENDS if not (records and each == "numba-cuda")]
    texts = []
    for name in (word, "harmless"):
        hand = by_hand(name * 2, source=Source("test", named(name, records)))
        limits = replace(hand.problem.limits, element=f"{name}e" if records else "f32")
        hand = replace(hand, problem=replace(hand.problem, limits=limits))
        answer = judge(hand)
        assert isinstance(answer.outcome, Found)
        fused = fuse(lower(answer.outcome.schedule))
        element = find_element(hand.problem)
        texts.append([text_of(load_backend(each)(fused, element)) for each in backends])
    for backend, text, harmless in zip(backends, *texts, strict=True):
        assert "harmless" in harmless  # In a comment; and nowhere else:
        assert code_of(text, backend) == code_of(harmless, backend), backend
        assert "harmless" not in code_of(harmless, backend), backend


@pytest.mark.parametrize("word", ['x"', "x'", "x\\", "x\ny", "x;", "x*/", "x//", "é", "x y", "a-b"])
def test_names_have_no_quotes(word: str) -> None:
    for text in (
        f"topology {word} {{ ranks a }}",
        f"topology t {{ ranks {word} link {word} -> }}",
        f"operator {word}(a, b) = a + b + {word}",
        f"plan {{ synthesize all_reduce({word}, sum) on ring(3) }}",
    ):
        with pytest.raises(InputError):
            load(Source("test", text))
    with pytest.raises(InputError):
        problem(f"{word}(3)", "all_gather", ())
