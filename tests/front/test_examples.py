"""The examples are for reading and for starting from: all check, and say what they warn of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs import generate_tutorial as tutorial
from roundelay.dsl import loader

if TYPE_CHECKING:
    from .conftest import Command

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.rly"))
TUTORIAL = sorted((ROOT / "examples" / "tutorial").glob("*.rly"))
FURTHER = [path for path in EXAMPLES if path.parent.name in ("boxes", "models")]
PAGE = tutorial.PAGE.read_text("utf-8")
SMALL = ("-b", "1K", "-e", "2K", "-n", 1, "--json")


def plans() -> list[tuple[Path, int]]:
    """Every plan of the tutorial's files and of those for particular machines and models."""
    counted = [(path, len(loader.load(loader.read_source(path)).plans)) for path in EXAMPLES]
    return [
        (path, number)
        for path, count in counted
        if path.parent != ROOT / "examples"
        for number in range(1, count + 1)
    ]


def test_the_tutorial_has_ten_files() -> None:
    assert [int(path.name.split("_")[0]) for path in TUTORIAL] == list(range(1, 11))
    for path in TUTORIAL:
        first = path.read_text("utf-8").splitlines()[0]
        assert re.match(rf"# {int(path.name[:2])}\. \w", first), first
        assert PAGE.count(str(path.relative_to(ROOT))) >= 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_checks_and_says_what_it_warns_of(roundelay: Command, path: Path) -> None:
    done = roundelay("check", path)
    assert done.status == 0, done.err
    assert ("warning" in done.err) <= ("# 'check' warns here" in path.read_text("utf-8")), done.err
    assert re.search(r"^plan 1$", done.out, re.MULTILINE), "an example asks for something"


@pytest.mark.parametrize("path", [*TUTORIAL, *FURTHER], ids=lambda path: path.stem)
def test_examples_are_in_the_one_form_of_the_language(roundelay: Command, path: Path) -> None:
    done = roundelay("fmt", "--check", path)
    assert (done.status, done.out) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(("path", "plan"), plans(), ids=lambda it: getattr(it, "stem", str(it)))
def test_every_plan_runs_verified(roundelay: Command, path: Path, plan: int) -> None:
    done = roundelay("run", path, "--plan", plan, *SMALL)
    record = json.loads(done.out)
    assert (done.status, record["outcome"], record["verified"]) == (0, "found", True)
    assert sum(row["count"] for row in record["rows"]) > 0
    assert {row["wrong"] for row in record["rows"]} == {0}


def spelled(command: tutorial.Command) -> str:
    return " ".join(command.words)


def _run(roundelay: Command, command: tutorial.Command) -> None:
    done = roundelay(*command.words)
    assert done.status == 0, done.err
    assert tutorial.says(command.output, done.out), done.out


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def _commands(verb: str) -> list[tutorial.Command]:
    return [each for each in tutorial.commands(PAGE) if each.words[0] == verb]


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("command", _commands("check"), ids=spelled)
def test_the_tutorial_shows_what_check_prints(
    roundelay: Command, command: tutorial.Command
) -> None:
    _run(roundelay, command)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("command", [*_commands("synth"), *_commands("run")], ids=spelled)
def test_the_tutorial_shows_what_a_search_prints(
    roundelay: Command, command: tutorial.Command
) -> None:
    _run(roundelay, command)


def test_the_tutorial_shows_every_kind_of_command() -> None:
    verbs = [command.words[0] for command in tutorial.commands(PAGE)]
    assert len(verbs) >= 12
    assert {"check", "synth", "run"} <= set(verbs)
    assert all(command.output.strip() for command in tutorial.commands(PAGE))


def test_what_differs_is_told_from_what_may_differ() -> None:
    (shown,) = (each.output for each in _commands("run"))
    row = re.search(r"^ +4096 .*$", shown, re.MULTILINE)
    assert row is not None
    assert tutorial.says(row[0], row[0].replace("2.31", "77.31"))
    assert not tutorial.says(row[0], row[0].replace("float", "int32"))
    assert not tutorial.says(row[0], re.sub(r"\b0 ", "3 ", row[0]))
    assert tutorial.says("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not tutorial.says("a\n...\nd\n", "a\nb\nc\n")
    found = "found     2 chunks in 0.71 s (exact (CP-SAT, full)); 30 messages, accepted"
    other = "found     2 chunks in 9.99 s (by hand); 7 messages, accepted"
    assert tutorial.says(found, other)
    assert not tutorial.says(found, other.replace("2 chunks", "3 chunks"))
