# ruff: noqa: INP001
"""Writes docs/language.md from the grammar, the library and docs/language.template.md.

In the template a line ``{{rules link times}}`` stands for the productions of these rules, as the
grammar has them, ``{{library operator}}`` for what the library has of a kind, ``{{index}}`` for a
list of all rules, ``{{refused}}`` for what is wrong with the text above it, and ``{{keywords}}``,
``{{signs}}``, ``{{units}}`` and ``{{limit loops.TURNS}}`` for what they say. Every rule of the
grammar stands in the page once. ``make docs`` runs this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from textwrap import wrap

from roundelay.dsl import syntax
from roundelay.dsl.loader import load
from roundelay.dsl.phrases import render_parameters
from roundelay.dsl.source import InputError, Source
from roundelay.dsl.standard import names, standard
from roundelay.dsl.units import BANDWIDTH, DATA, TIME, UNITS

FOLDER = Path(__file__).parent
TEMPLATE = FOLDER / "language.template.md"
PAGE = FOLDER / "language.md"
_WIDTH = 88
_REFUSED = re.compile(r"^```rly refused\n(.*?)^```\n\n\{\{refused\}\}$", re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(r"\{\{(\w+)((?: [\w.]+)*)\}\}")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Rules by name, each with its text behind the colon; terminals by name, likewise."""

    rules: dict[str, str]
    terminals: dict[str, str]

    def keywords(self) -> dict[str, str]:
        """Words with a meaning of their own, and the names of their terminals."""
        found = {text.strip('"'): name for name, text in self.terminals.items()}
        return {word: name for word, name in found.items() if word.isalpha()}

    def passes(self, rule: str) -> bool:
        """Whether a rule is nothing but a choice between others."""
        return all(re.fullmatch(r"\s*\w+\s*", each) for each in self.rules[rule].split("|"))

    def production(self, rule: str) -> str:
        """A rule as people read it: ``"link" reference ("<->" | "->") reference …``."""
        text = re.sub(r"\s*->\s*[a-z_]+", "", self.rules[rule])
        return re.sub(r'"[^"]*"|\b[A-Z_]+\b', self._spell, text)

    def _spell(self, match: re.Match[str]) -> str:
        word = match[0]
        if word == "TIMES":
            return '"x"'
        pattern = self.terminals.get(word, "")
        return pattern if pattern.startswith('"') and word not in self.compound() else word

    def compound(self) -> dict[str, str]:
        """Terminals that are a choice between signs: ``SHIFT``."""
        return {name: text for name, text in self.terminals.items() if '" | "' in text}


def read_grammar() -> Grammar:
    """The grammar in its own words."""
    text = files("roundelay.dsl").joinpath("grammar.lark").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("//", "%"))]
    joined = re.sub(r"\n[ \t]+", " ", "\n".join(lines))
    found = re.findall(r"^\??(\w+)(?:\.\d+)?: (.+)$", joined, re.MULTILINE)
    rules = {name: body for name, body in found if name.islower()}
    terminals = {name: body for name, body in found if name.isupper()}
    return Grammar(rules, terminals)


def rules_of(directive: str) -> tuple[str, ...]:
    """The rules that a line of the template stands for; none where it is no such line."""
    match = _DIRECTIVE.fullmatch(directive.strip())
    return tuple(match[2].split()) if match is not None and match[1] == "rules" else ()


def generate() -> str:
    """The page; raises ``ValueError`` where a rule of the grammar is missing or twice."""
    grammar = read_grammar()
    template = TEMPLATE.read_text("utf-8")
    shown = [rule for line in template.splitlines() for rule in rules_of(line)]
    if sorted(shown) != sorted(grammar.rules):
        wrong = {rule for rule in {*shown, *grammar.rules} if shown.count(rule) != 1}
        wrong |= set(shown) - set(grammar.rules)
        raise ValueError(f"not once in {TEMPLATE.name}: {', '.join(sorted(wrong))}")
    template = _REFUSED.sub(_refusal, template)
    return _DIRECTIVE.sub(lambda match: _expand(match, grammar), template)


def _refusal(match: re.Match[str]) -> str:
    """A text with a fault, and what is said of it."""
    try:
        load(Source("a.rly", match[1]))
    except InputError as error:
        said = "\n".join(fault.render() for fault in error.faults)
        return f"```rly refused\n{match[1]}```\n\n```text\n{said}\n```"
    raise ValueError(f"nothing is wrong with {match[1]}")


def _expand(match: re.Match[str], grammar: Grammar) -> str:
    kind, words = match[1], match[2].split()
    if kind == "rules":
        return _productions(grammar, words)
    if kind == "index":
        return ", ".join(f"[`{rule}`](#rule-{rule})" for rule in sorted(grammar.rules))
    if kind == "keywords":
        return "\n".join(wrap(", ".join(f"`{word}`" for word in sorted(grammar.keywords())), 100))
    if kind == "signs":
        signs = grammar.compound().items()
        return "; ".join(f"`{name}` is one of {_signs(text)}" for name, text in signs)
    if kind == "units":
        return _units()
    if kind == "library":
        return _library(words[0])
    if kind == "limit":
        module, constant = words[0].split(".")
        return f"{getattr(import_module(f'roundelay.dsl.{module}'), constant):,}"
    raise ValueError(f"unknown: {match[0]}")


def _signs(text: str) -> str:
    return " ".join(f"`{sign}`" for sign in re.findall(r'"([^"]+)"', text))


def _productions(grammar: Grammar, rules: list[str]) -> str:
    anchors = "".join(f'<a id="rule-{rule}"></a>' for rule in rules)
    widest = max(map(len, rules))
    lines: list[str] = []
    for rule in rules:
        head = rule.ljust(widest)
        text = grammar.production(rule)
        # A choice that does not fit on a line has a line for each of its alternatives.
        choices = [text] if len(text) <= _WIDTH - widest else _split(text)
        for sign, choice in zip("=" + "|" * len(choices), choices, strict=False):
            lines += wrap(
                choice,
                _WIDTH,
                initial_indent=f"{head} {sign} ",
                subsequent_indent=" " * (widest + 7),
                break_on_hyphens=False,
                break_long_words=False,
            )
            head = " " * widest
    return "\n".join([anchors, "", "```ebnf", *lines, "```"])


def _split(text: str) -> list[str]:
    """The alternatives of a rule, those between brackets left whole."""
    found, depth = [""], 0
    for word in re.split(r"( \| |[()\[\]])", re.sub(r'"[()\[\]|]"', _hide, text)):
        depth += (word in ("(", "[")) - (word in (")", "]"))
        if word == " | " and not depth:
            found.append("")
        else:
            found[-1] += word
    return ["".join(map(_shown, each)) for each in found]


_HIDDEN = 0xE000  # Private letters stand for brackets in quotes while a rule is taken apart.


def _hide(match: re.Match[str]) -> str:
    return f'"{chr(_HIDDEN + ord(match[0][1]))}"'


def _shown(letter: str) -> str:
    return chr(ord(letter) - _HIDDEN) if ord(letter) >= _HIDDEN else letter


def _units() -> str:
    kinds = (("sizes", DATA), ("bandwidths", BANDWIDTH), ("times", TIME))
    lines = ["| | units |", "|---|---|"]
    for kind, dimension in kinds:
        found = [f"`{name}`" for name, (_, each) in UNITS.items() if each == dimension]
        lines.append(f"| {kind} | {' '.join(found)} |")
    return "\n".join(lines)


def _library(kind: str) -> str:
    lines = ["| name | what it is |", "|---|---|"]
    for name in names(kind):
        declaration = standard(kind, name)
        assert declaration is not None
        lines.append(f"| `{_signature(declaration)}` | {_comment(declaration)} |")
    return "\n".join(lines)


def _signature(declaration: syntax.Named) -> str:
    parameters: tuple[syntax.Parameter, ...] = ()
    if isinstance(declaration, syntax.Operator):
        parameters = declaration.numbers
    elif not isinstance(declaration, syntax.Imported | syntax.Struct):
        parameters = declaration.parameters
    return declaration.name.text + (render_parameters(parameters) if parameters else "")


def _comment(declaration: syntax.Named) -> str:
    """What stands above a declaration; where nothing does, the declaration itself."""
    source, span = declaration.span.source, declaration.span
    above = re.findall(r"^# ?(.*)$", source.text[: span.start], re.MULTILINE)
    if above:
        return " ".join(above).replace("|", "\\|")
    return f"`{' '.join(source.text[span.start : span.end].split())}`"


if __name__ == "__main__":
    PAGE.write_text(generate(), "utf-8", newline="\n")
