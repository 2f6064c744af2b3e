"""What the documentation shows is true: its texts load, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roundelay.dsl import loader
from roundelay.dsl.source import Source

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WORDS = ("topology", "operator", "collective", "plan")


def blocks(page: Path) -> list[str]:
    """The fenced blocks of a page that are texts of the language, without leading comments.

    Those that are marked (``rly refused``) are none.
    """
    fences = re.findall(r"^```([\w ]*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    code = [(kind, re.sub(r"\A(#[^\n]*\n)*", "", block)) for kind, block in fences]
    return [
        block for kind, block in code if kind == "rly" or (not kind and block.startswith(WORDS))
    ]


def test_every_text_of_the_language_loads() -> None:
    shown = [(page, block) for page in PAGES for block in blocks(page)]
    assert len(shown) >= 5
    for page, block in shown:
        # They may name the files of the examples.
        loader.load(Source(page.name, block, EXAMPLES / page.name, EXAMPLES))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_is_named_exists(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    named = re.findall(
        r"`((?:dsl|synth|codegen|runtime|roundelay|docs|examples|benchmarks)/[\w./]*)`", text
    )
    for path in links:
        assert (page.parent / path).exists(), path
    for path in named:
        if "NAME" in path:
            continue
        assert (ROOT / path).exists(), path
