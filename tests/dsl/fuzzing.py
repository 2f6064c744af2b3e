"""Texts by the thousand: valid by the grammar, with words changed, with characters changed.

``python tests/dsl/fuzzing.py SEED COUNT`` reads so many of them within bounded memory, each within
bounded time, and prints what went wrong; it ends with status 1 if anything did.
"""

from __future__ import annotations

import re
import resource
import signal
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from lark import Lark

from roundelay.dsl.loader import load
from roundelay.dsl.parser import recover
from roundelay.dsl.printer import render
from roundelay.dsl.source import InputError, Source
from roundelay.dsl.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lark.grammar import Rule

    from roundelay.dsl.source import Fault

MEMORY = 1 << 30
"""Bytes of address space for reading any of these texts, the interpreter's own among them."""
SECONDS = 2.0
"""Processor time for reading one of them."""

ROOT = Path(__file__).parent.parent.parent
_TOKEN = re.compile(r'\s+|#[^\n]*|"[^"\n]*"|\w+|<->|->|\.\.|\S')
_CHARACTERS = "aexc01289.,;:()[]{}<>-+*/%=#\"'\\ \n\t\r_é\u2013\x01\u2028\U0001f600\ud800\0\ufeff"
# No keywords and no units; enough of what exists for some texts to mean something.
_NAMES = (
    "ring", "complete", "dgx1", "node", "gpu", "sum", "max", "merge", "all_reduce", "all_gather",
    "x", "y", "c", "r", "n", "a", "b", "i", "op", "partial", "f32", "i64", "min", "log2", "machine",
)  # fmt: skip
_TEXTS = {
    "NUMBER": ("0", "1", "1", "2", "3", "4", "0.5", "25", "99999999999999999999"),
    "UNIT": ("GB/s", "us", "KiB", "B", "s", "Gb/s"),
    "STRING": ('"a.rly"', '""', '"../b"', '"/dev/zero"', '"a b"'),
    "COMPARE": ("<", "<=", "==", "!=", ">", ">="),
    "SHIFT": ("<<", ">>"),
    "TIMES": ("x",),
}


@dataclass(slots=True)
class Grammar:
    """The rules of ``grammar.lark`` as alternatives of names, and the words behind terminals."""

    rules: dict[str, list[list[str]]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    heights: dict[str, int] = field(default_factory=dict)
    declarations: list[str] = field(default_factory=list)

    def sentence(self, random: Random, start: str, budget: int) -> list[str]:
        """Words that ``start`` derives; about ``budget`` rules deep, then as shallow as it goes."""
        found: list[str] = []
        todo = [(start, budget)]
        while todo:
            name, left = todo.pop()
            if name not in self.rules:
                found.append(self._word(random, name))
                continue
            options = self.rules[name]
            if left <= 0 or len(found) > 400:
                least = min(map(self._height, options))
                options = [each for each in options if self._height(each) == least]
            todo += [(each, left - 1) for each in reversed(random.choice(options))]
        return found

    def _height(self, option: list[str]) -> int:
        return max((self.heights[each] for each in option), default=0)

    def _word(self, random: Random, terminal: str) -> str:
        if terminal == "NAME":
            return random.choice(_NAMES)
        if terminal in _TEXTS:
            return random.choice(_TEXTS[terminal])
        return self.words[terminal]


@cache
def grammar() -> Grammar:
    """The grammar as the parser has it: what it generates is by definition valid."""
    text = files("roundelay.dsl").joinpath("grammar.lark").read_text("utf-8")
    lark = Lark(text, start="document", parser="lalr", lexer="basic")
    made = Grammar()
    for terminal in lark.terminals:
        made.words[terminal.name] = terminal.pattern.value
    rule: Rule
    for rule in lark.rules:
        expansion = [each.name for each in rule.expansion]
        made.rules.setdefault(rule.origin.name, []).append(expansion)
    repeated = [
        rule for name in made.rules if name.startswith("__document") for rule in made.rules[name]
    ]
    made.declarations = [rule[0] for rule in repeated if len(rule) == 1]
    made.heights = {name: 0 for rules in made.rules.values() for each in rules for name in each}
    made.heights |= dict.fromkeys(made.rules, 10**6)
    changed = True
    while changed:
        changed = False
        for name, options in made.rules.items():
            height = 1 + min(map(made._height, options))
            if height < made.heights[name]:
                made.heights[name], changed = height, True
    return made


def generated(random: Random) -> str:
    """A text that the grammar allows."""
    made, words = grammar(), list[str]()
    for _ in range(random.randint(1, 3)):
        words += made.sentence(random, random.choice(made.declarations), random.randint(4, 24))
    text = ""
    for word, behind in pairwise([*words, ""]):
        # A number and its unit stand on one line; a line end keeps other words from being one.
        unit, digit = behind in _TEXTS["UNIT"], word[:1].isdigit()
        text += word + (" " if unit or (not digit and random.random() < 0.5) else "\n")
    return text


@cache
def corpus() -> tuple[str, ...]:
    """The small texts of the project: examples, library, and those with faults."""
    return tuple(
        path.read_text(encoding="utf-8", errors="replace")
        for folder in ("examples", "dsl/library", "tests/errors")
        for path in sorted((ROOT / folder).rglob("*.rly"))
        if path.stat().st_size < 2000
    )


def mutated(random: Random, text: str) -> str:
    """A text with a few words or characters taken out, put in, or exchanged."""
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.3:
            at = random.randint(0, len(text))
            keep = at + random.choice((0, 0, 1, 1, 5))
            text = text[:at] + random.choice(("", random.choice(_CHARACTERS))) + text[keep:]
            continue
        tokens = _TOKEN.findall(text)
        other = _TOKEN.findall(random.choice(corpus()))
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


def scrambled(random: Random, text: str) -> str:
    """A text some of whose bytes are others, read as a file would be."""
    data = bytearray(text.encode("utf-8", "replace"))
    for _ in range(random.randint(1, 8)):
        if data:
            data[random.randrange(len(data))] = random.randrange(256)
    return data.decode("utf-8", "replace")


def read(text: str, valid: bool) -> None:
    """Read a text as every other part of the tool does; raises ``AssertionError``."""
    source = Source("fuzz.rly", text)
    recovered = recover(source)
    assert not (valid and recovered.faults), recovered.faults[0].render()
    unreadable: list[Fault] = []
    Words(source, unreadable)
    if not unreadable:  # Else a number may have lost the word behind its unit.
        printed = render(recovered.document)
        again = recover(Source("printed.rly", printed))
        assert not again.faults, printed
        assert again.document == recovered.document, printed
        assert render(again.document) == printed
    faults = _faults(source)
    for fault in faults:
        assert fault.message
        assert fault.span is not None
        assert fault.span.source is source
        assert 0 <= fault.span.start <= fault.span.end <= len(text)


def _faults(source: Source) -> tuple[Fault, ...]:
    """What is wrong, or odd, in a text."""
    try:
        return load(source).warnings
    except InputError as error:
        if error.faults and str(error):
            return error.faults
        raise AssertionError("an error without a fault") from error


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise ``TimeoutError`` in what takes more of the processor."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def texts(seed: int, count: int) -> Iterator[tuple[str, bool]]:
    """So many texts, and whether each is valid by the grammar."""
    random = Random(seed)
    for i in range(count):
        if i % 4 == 0:
            yield generated(random), True
            continue
        base = random.choice(corpus()) if random.random() < 0.8 else generated(random)
        yield (scrambled if i % 4 == 1 else mutated)(random, base), False


def main(seed: int, count: int) -> int:
    """Read texts within the limits; how many went wrong."""
    corpus()
    load(Source("warm.rly", "plan { synthesize all_reduce(merge) on ring(3) }"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wrong = 0
    for text, valid in texts(seed, count):
        try:
            with limited():
                read(text, valid)
        except Exception:
            wrong += 1
            said = f"{text!r}\n{traceback.format_exc(limit=-3)}\n"
            sys.stdout.write(said.encode("ascii", "backslashreplace").decode())
    return wrong


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) > 0)
