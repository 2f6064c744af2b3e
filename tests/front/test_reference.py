"""The reference of the language: made from the grammar, whole, every example with a meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from docs import generate_language as reference
from roundelay.dsl import loader, parser, tables
from roundelay.dsl.source import InputError, Source

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
GRAMMAR = reference.read_grammar()


@dataclass
class Section:
    """The rules that one line of the template shows, and the examples that follow it."""

    rules: tuple[str, ...]
    texts: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def sections() -> list[Section]:
    found: list[Section] = []
    template = reference.TEMPLATE.read_text("utf-8")
    mark = re.compile(r"^(\{\{rules [\w ]+\}\}|```rly[ \w]*\n.*?^```)$", re.MULTILINE | re.DOTALL)
    for piece in mark.split(template):
        if rules := reference.rules_of(piece):
            found.append(Section(rules))
        elif piece.startswith("```rly request"):
            found[-1].requests.append(piece.split("\n", 1)[1].removesuffix("\n```"))
        elif piece.startswith("```rly\n"):
            found[-1].texts.append(piece.split("\n", 1)[1].removesuffix("```"))
    return found


SECTIONS = sections()


def source(text: str) -> Source:
    """A text that may name the files of the examples."""
    return Source("language.md", text, EXAMPLES / "language.rly", EXAMPLES)


@dataclass
class Watch:
    """Which rules were taken and which words were read while texts were parsed."""

    rules: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    seen = Watch()
    reduce, feed = tables.Automaton._reduce, tables.Automaton.feed

    def reducing(automaton: tables.Automaton, action: Any) -> None:
        # A rule that only hands on what it is given counts where it can do nothing else.
        if action.make is not None or GRAMMAR.passes(action.origin):
            seen.rules.add(action.origin)
        reduce(automaton, action)

    def feeding(automaton: tables.Automaton, word: Any) -> None:
        feed(automaton, word)
        seen.words.add(word.type)

    monkeypatch.setattr(tables.Automaton, "_reduce", reducing)
    monkeypatch.setattr(tables.Automaton, "feed", feeding)
    return seen


def read(section: Section) -> None:
    for text in section.texts:
        parser.parse(source(text))
    for text in section.requests:
        parser.parse_request(Source("language.md", text))


def test_the_page_is_up_to_date() -> None:
    assert reference.PAGE.read_text("utf-8") == reference.generate(), "run: make docs"


def test_the_grammar_is_read_whole() -> None:
    made = {rule.lstrip("_") for rule in tables.tables().starts}
    for state in _states():
        made |= {each.origin for each in state.values() if hasattr(each, "origin")}
    assert {rule for rule in made if not rule.startswith("_")} == set(GRAMMAR.rules)
    assert set(tables.tables().keywords) == set(GRAMMAR.keywords())


def _states() -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    todo = list(tables.tables().starts.values())
    while todo:
        state = todo.pop()
        if id(state) not in found:
            found[id(state)] = state
            todo += [each for each in state.values() if isinstance(each, dict)]
    return list(found.values())


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.rules[0])
def test_every_rule_has_an_example_that_uses_it(section: Section, watch: Watch) -> None:
    assert section.texts or section.requests
    read(section)
    assert set(section.rules) <= watch.rules


def test_every_word_of_the_grammar_is_in_some_example(watch: Watch) -> None:
    for section in SECTIONS:
        read(section)
    ignored = {"TIMES", "UNIT"}
    assert {*GRAMMAR.terminals, *ignored} <= watch.words


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.rules[0])
def test_every_example_means_something(section: Section) -> None:
    for text in section.texts:
        module = loader.load(source(text))
        assert module.declared
        assert module.warnings == () or "nvidia-smi" in text
    for text in section.requests:
        assert loader.problem("dgx1", text, ()).collective.name in text


def test_what_is_missing_from_the_template_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = reference.TEMPLATE.read_text("utf-8")
    for changed in (template.replace("{{rules document use}}", ""), template + "\n{{rules use}}\n"):
        monkeypatch.setattr(reference, "TEMPLATE", tmp_path / "language.template.md")
        reference.TEMPLATE.write_text(changed, "utf-8")
        with pytest.raises(ValueError, match=r"not once in .*use"):
            reference.generate()


def test_an_example_that_is_refused_is_wrong() -> None:
    template = reference.TEMPLATE.read_text("utf-8")
    texts = re.findall(r"^```rly refused\n(.*?)^```$", template, re.M | re.S)
    assert len(texts) >= 2
    for text in texts:
        with pytest.raises(InputError):
            loader.load(source(text))
