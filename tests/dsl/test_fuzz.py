"""Whatever the text, the answer is a module or a report; what parses prints to a fixed point."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from roundelay import dsl
from roundelay.dsl.loader import Module, load, problem
from roundelay.dsl.parser import recover
from roundelay.dsl.printer import render
from roundelay.dsl.source import Fault, InputError, Source

ROOT = Path(__file__).parent.parent.parent
TEXTS = [
    path.read_text(encoding="utf-8", errors="replace")
    for folder in (ROOT / "examples", Path(dsl.__file__).parent / "library", ROOT / "tests/errors")
    for path in sorted(folder.rglob("*.rly"))
    if path.stat().st_size < 2000
]
TOKEN = re.compile(r"\s+|#[^\n]*|\w+|<->|->|\.\.|\S")
CHARACTERS = "aexc01289.,;:()[]{}<>-+*/%=#\"'\\ \n\t\r_é\u2013\x01\u2028\U0001f600"


def mutated(random: Random) -> str:
    text = random.choice(TEXTS)
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.3:
            at = random.randint(0, len(text))
            keep = at + random.choice((0, 0, 1, 1, 5))
            text = text[:at] + random.choice(("", random.choice(CHARACTERS))) + text[keep:]
            continue
        tokens = TOKEN.findall(text)
        other = TOKEN.findall(random.choice(TEXTS))
        at = random.randrange(len(tokens) + 1)
        match random.randrange(4):
            case 0:
                del tokens[at : at + random.choice((1, 1, 2, 8))]
            case 1:
                tokens.insert(at, f" {random.choice(other)} ")
            case 2:
                tokens[at : at + 1] = [random.choice(other)]
            case _:
                start = random.randrange(len(other) + 1)
                tokens[at:at] = other[start : start + random.randint(1, 12)]
        text = "".join(tokens)
    return text


def outcome(source: Source) -> tuple[Module | None, tuple[Fault, ...]]:
    try:
        return load(source), ()
    except InputError as error:
        return None, error.faults


@pytest.mark.parametrize("seed", range(20))
def test_texts(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        text = mutated(random)
        source = Source("fuzz.rly", text)
        module, error = outcome(source)
        assert isinstance(module, Module) is not bool(error)
        for fault in error:
            assert fault.message
            assert fault.render()
            assert fault.span is not None
            assert fault.span.source is source
            assert 0 <= fault.span.start <= fault.span.end <= len(text)
        recovered = recover(source)
        printed = render(recovered.document)
        again = recover(Source("printed.rly", printed))
        assert not again.faults, printed
        assert again.document == recovered.document
        assert render(again.document) == printed


def test_command_lines() -> None:
    random = Random(7)
    words = [
        "ring",
        "torus",
        "dgx1",
        "(",
        ")",
        ",",
        "4",
        "3",
        "bw",
        "=",
        "1 GB/s",
        "1 us",
        "-",
        " ",
    ]
    for _ in range(300):
        machine = "".join(random.choice(words) for _ in range(random.randint(0, 8)))
        arguments = tuple(
            random.choices(["sum", "0", "root", "=", "(", "max"], k=random.randint(0, 3))
        )
        with suppress(InputError):
            problem(machine, random.choice(["all_reduce", "reduce", "(", "x"]), arguments)
