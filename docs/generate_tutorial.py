# ruff: noqa: INP001
"""Writes into docs/tutorial.md what the commands in it print now. ``make docs`` runs this.

A block ``console`` has commands behind ``$`` and, below each, its standard output; ``...`` stands
for lines left out. Times differ from run to run, so a block stays as it is while it says the same
apart from them; one that has ``...`` in it is told of instead of being written anew.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
LEFT_OUT = "..."
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SAME = (
    # What depends on the machine and the moment: the processor, seconds, who was first in a race
    # of solvers, and which of several equally good schedules that one came upon.
    (re.compile(r"process on .*?, up to \d+ threads?"), "process on <your CPU>, up to N threads"),
    (re.compile(r" in \d+\.\d+ s \(.*?\); \d+ messages"), " in T s (E); M messages"),
    (re.compile(r"^ +\d+ +\d+ .*$", re.MULTILINE), lambda row: _measured(row[0])),
    (re.compile(r"(Avg bus bandwidth +: )[\d.]+"), r"\g<1>B"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the page, its words after ``roundelay``, and the output below it."""

    words: tuple[str, ...]
    output: str


def _measured(row: str) -> str:
    """A row of the table of ``run`` without its times and rates; the numbers of wrong stay."""
    return " ".join(re.sub(r"\d+\.\d+", "T", row).split())


def plain(text: str) -> str:
    """Output without what differs from run to run."""
    for pattern, replacement in _SAME:
        text = pattern.sub(replacement, text)
    return text.strip("\n")


def says(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, perhaps with lines left out."""
    pieces = [re.escape(piece) for piece in plain(shown).split(f"\n{LEFT_OUT}\n")]
    return re.fullmatch("\n(?:.*\n)*?".join(pieces), plain(printed)) is not None


def commands(page: str) -> tuple[Command, ...]:
    """All commands of a page in their order."""
    found: list[Command] = []
    for block in _BLOCK.findall(page):
        for line, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            program, *words = shlex.split(line)
            if program != "roundelay":
                raise ValueError(f"not a command of ours: {line}")
            found.append(Command(tuple(words), output))
    return tuple(found)


def renew(page: str) -> str:
    """The page with the output of today; raises ``ValueError`` where lines are left out."""
    for command in commands(page):
        printed = _run(command)
        if says(command.output, printed):
            continue
        if LEFT_OUT in command.output:
            raise ValueError(f"{shlex.join(command.words)} prints something else:\n{printed}")
        head = f"$ roundelay {_line(page, command)}\n"
        page = page.replace(head + command.output, head + printed, 1)
    return page


def _line(page: str, command: Command) -> str:
    """The words of a command as the page spells them."""
    lines: list[str] = re.findall(r"^\$ roundelay (.+)$", page, re.MULTILINE)
    return next(line for line in lines if tuple(shlex.split(line)) == command.words)


def _run(command: Command) -> str:
    program = (sys.executable, "-m", "roundelay", *command.words)
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    return re.sub(r"process on .*?, up to", "process on <your CPU>, up to", done.stdout)


if __name__ == "__main__":
    PAGE.write_text(renew(PAGE.read_text("utf-8")), "utf-8", newline="\n")
