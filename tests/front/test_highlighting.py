"""The grammar for editors colours what the language reads, no more and no less."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from roundelay import dsl
from roundelay.dsl import bodies, values
from roundelay.dsl.model import ELEMENT_NAMES
from roundelay.dsl.source import Source
from roundelay.dsl.tables import tables
from roundelay.dsl.units import UNITS
from roundelay.dsl.words import Words

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "editors"
GRAMMAR: dict[str, Any] = json.loads((FOLDER / "rly.tmLanguage.json").read_text("utf-8"))
TEXTS = sorted((ROOT / "examples").rglob("*.rly"))
TEXTS += sorted((Path(dsl.__file__).parent / "library").rglob("*.rly"))
KEYWORD = ("keyword.other.rly", "keyword.control", "keyword.operator.word", "storage")


@dataclass
class Colours:
    """The scope of every character of a text, as an editor finds them line by line."""

    text: str
    scopes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.scopes = [""] * len(self.text)
        rules = [(re.compile(rule["match"]), rule) for rule in flatten(GRAMMAR["patterns"])]
        start = 0
        for line in self.text.splitlines(keepends=True):
            at = 0
            while True:
                found = [(match.start(), i) for i, (pattern, _) in enumerate(rules)
                         if (match := pattern.search(line, at)) and match[0]]  # fmt: skip
                if not found:
                    break
                _, i = min(found)
                match = rules[i][0].search(line, at)
                assert match is not None
                self._paint(rules[i][1], match, start)
                at = match.end()
            start += len(line)

    def _paint(self, rule: dict[str, Any], match: re.Match[str], start: int) -> None:
        scopes = {0: rule.get("name", "")}
        scopes |= {int(group): each["name"] for group, each in rule.get("captures", {}).items()}
        for group, scope in scopes.items():
            for i in range(match.start(group), match.end(group)):
                self.scopes[start + i] = scope

    def of(self, start: int, end: int) -> str:
        """The one scope of a stretch of the text."""
        (scope,) = set(self.scopes[start:end])
        return scope


def flatten(patterns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rules that match something, in their order."""
    found: list[dict[str, Any]] = []
    for pattern in patterns:
        if "include" in pattern:
            found += flatten([GRAMMAR["repository"][pattern["include"].removeprefix("#")]])
        elif "patterns" in pattern:
            found += flatten(pattern["patterns"])
        else:
            found.append(pattern)
    return found


def test_every_part_of_the_grammar_is_used() -> None:
    included = {each["include"] for each in GRAMMAR["patterns"]}
    assert included == {f"#{name}" for name in GRAMMAR["repository"]}


def test_every_keyword_is_coloured_and_no_other_word() -> None:
    keywords = set(tables().keywords)
    for word in keywords:
        assert Colours(word).of(0, len(word)).startswith(KEYWORD), word
    coloured: set[str] = set()
    for rule in GRAMMAR["repository"]["word"]["patterns"]:
        coloured |= set(re.findall(r"[a-z]+(?=[|)])", rule["match"]))
    assert coloured == keywords


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_every_unit_is_coloured(unit: str) -> None:
    for text, number in ((f"12.5 {unit}", 4), (f"7{unit}", 1)):
        colours = Colours(text)
        assert colours.of(0, number) == "constant.numeric.rly"
        assert colours.of(text.index(unit), len(text)) == "keyword.other.unit.rly"
    assert not Colours(f"3 {unit}x").scopes[-1]


def test_types_and_functions_are_those_of_the_language() -> None:
    types = re.findall(r"\w+(?=[|)])", GRAMMAR["repository"]["type"]["match"])
    assert set(types) == set(ELEMENT_NAMES)
    functions = re.findall(r"[a-z]\w*(?=[|)])", GRAMMAR["repository"]["function"]["match"])
    assert set(functions) == {*bodies.FUNCTIONS, *values.FUNCTIONS}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_colours_agree_with_the_words_of_the_language(path: Path) -> None:
    text = path.read_text("utf-8")
    colours = Colours(text)
    source = Source(path.name, text)
    keywords = tables().keywords
    end = 0
    for word in Words(source, []).words:
        between = text[end : word.start]
        for comment in re.finditer("#.*", between):
            place = end + comment.start()
            assert colours.of(place, place + len(comment[0])).startswith("comment")
        end = word.end
        scope = colours.of(word.start, word.end)
        match word.type:
            case "NUMBER":
                assert scope == "constant.numeric.rly"
            case "UNIT":
                assert scope == "keyword.other.unit.rly"
            case "STRING":
                assert scope.startswith("string")
            case "NAME" if re.fullmatch("x[0-9]+", word.text):
                assert scope == "constant.numeric.rly"
            case "NAME":
                assert not scope.startswith(KEYWORD)
            case _ if word.text in keywords:
                # A keyword that a declaration has for its name is coloured as a name.
                assert scope.startswith((*KEYWORD, "entity")), word.text
            case _:
                assert scope in ("", "keyword.operator.rly"), word.text


def test_the_extension_names_what_is_there() -> None:
    package = json.loads((FOLDER / "package.json").read_text("utf-8"))
    (language,), (grammar,) = (
        package["contributes"]["languages"],
        package["contributes"]["grammars"],
    )
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
    assert [name.removeprefix(".") for name in language["extensions"]] == GRAMMAR["fileTypes"]
    for path in (language["configuration"], grammar["path"]):
        json.loads((FOLDER / path).read_text("utf-8"))
