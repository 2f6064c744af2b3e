"""Whatever the text, the answer is a module or a report; what parses prints to a fixed point."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from roundelay.dsl.loader import by_hand, load, on_file, problem, read_source, show
from roundelay.dsl.source import InputError, Source
from tests.dsl.fuzzing import ROOT, grammar, limited, read, texts

if TYPE_CHECKING:
    from pathlib import Path

NIGHTLY = 100_000


def fuzz(seed: int, count: int, timeout: float) -> None:
    """Read texts in a process of its own, whose memory is bounded."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/dsl/fuzzing.py"), str(seed), str(count)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert (done.stdout[-10_000:], done.stderr[-10_000:], done.returncode) == ("", "", 0)


@pytest.mark.parametrize("seed", range(2))
def test_texts(seed: int) -> None:
    fuzz(seed, 1000, 300)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_hundred_thousand_texts(seed: int) -> None:
    fuzz(seed, NIGHTLY // 10, 6000)


def test_generated_texts_use_the_whole_grammar() -> None:
    """Every word of the grammar stands in some text that is valid, so none goes untested."""
    found = " ".join(text for text, valid in texts(3, 4000) if valid).split()
    missing = {
        word
        for kind, word in grammar().words.items()
        if word.isidentifier() and word not in found and not kind.startswith("__")
    }
    assert missing == set()


def spin() -> None:
    while True:
        pass


def test_the_limits_hold() -> None:
    with pytest.raises(TimeoutError), limited():
        spin()
    with pytest.raises(AssertionError):
        read("topology", True)


WORDS = (
    "ring", "torus", "dgx1", "hierarchical", "all_reduce", "(", ")", "[", "]", ",", "4", "3", "bw",
    "=", "1 GB/s", "1 us", "-", " ", "within", "for", "r", "in", "ranks", "sum", "premulsum", "0.5",
    "machine", "é", '"', "#", "{", "}", "\n",
)  # fmt: skip
TEXT = "topology t { ranks a[2] link a[0] <-> a[1] at 1 GB/s }\ncollective k(op, v) { given x[r, c]"
TEXT += " want y[r, c] = op(x[s, c] for s in ranks if s != v) }"


def phrase(random: Random, most: int) -> str:
    start = random.choice(("", "ring(", "torus(", "all_reduce(", "k(", "tree("))
    words = random.choices(WORDS, k=random.randint(0, most))
    return start + "".join(words) + (")" if start and random.random() < 0.8 else "")


@pytest.mark.parametrize("seed", range(4))
def test_command_lines(seed: int) -> None:
    random = Random(seed)
    source = Source("test", TEXT)
    for _ in range(150):
        machine, other = phrase(random, 6), phrase(random, 6)
        arguments = tuple(
            random.choices(("sum", "0", "v = 1", "=", "(", "max", ""), k=random.randint(0, 3))
        )
        with limited(), suppress(InputError):
            problem(machine, random.choice(("all_reduce", "reduce", other)), arguments)
        with limited(), suppress(InputError):
            on_file(source, other, arguments)
        with limited(), suppress(InputError):
            show(machine)
        with limited(), suppress(InputError):
            by_hand(other, machine=machine, op=random.choice((None, *arguments)))


def test_files_that_use_each_other(tmp_path: Path) -> None:
    """Any graph of files is read once each, or blamed: never a traceback, never without end."""
    random = Random(5)
    outcomes = set()
    for turn in range(60):
        names = [f"f{i}.rly" for i in range(random.randint(1, 6))]
        for number, name in enumerate(names):
            used = random.sample(names, random.randint(0, min(2, len(names))))
            body = "".join(f'use "{random.choice(("", "./"))}{other}"\n' for other in used)
            if random.random() < 0.9:
                body += f"topology t{number if random.random() < 0.9 else 0} {{ ranks a }}\n"
            (tmp_path / name).write_text(body)
        with limited():
            try:
                load(read_source(tmp_path / names[0]))
                outcomes.add("whole")
            except InputError as error:
                outcomes |= {fault.message.split("'")[0] for fault in error.faults}
        for name in names if turn % 2 else ():
            (tmp_path / name).unlink()
    assert outcomes == {
        "whole", "files use each other in a circle: ", "topology ",
    }  # fmt: skip
