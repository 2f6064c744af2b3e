"""The verbs that read texts and machines: ``check``, ``fmt`` and ``show``."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from .console import WRONG, complain
from .words import Json, Target  # noqa: TC001 - typer reads the annotations when a verb is called.


def check(file: Annotated[str, typer.Argument(help="A .rly file")], as_json: Json = False) -> None:
    """Read a file and say what it declares, or everything that is wrong with it."""
    from roundelay.dsl.loader import load, read_source
    from roundelay.pipeline import examine, follow

    module = load(read_source(Path(file)), wary=True)
    follow(module.plans)
    laws = [line for operator in module.operators for line in examine(operator)]
    if as_json:
        from roundelay.records import module_json

        print(json.dumps(module_json(file, module) | {"laws": laws}))
        return
    from roundelay.report import module_lines

    for warning in module.warnings:
        complain(warning.render("warning"))
    for line in module_lines(file, module, laws):
        print(line)


def fmt(
    files: Annotated[list[Path], typer.Argument(help=".rly files; - for standard input")],
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; status 1 if something would change")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what would change, and change nothing")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write files in the one form of the language, comments kept."""
    from roundelay.dsl.formatter import format_file, format_text, rewrite
    from roundelay.dsl.source import Source

    if files == [Path("-")]:
        text = sys.stdin.read().removeprefix("\ufeff")
        sys.stdout.write(format_text(Source("standard input", text)))
        return
    # All are read before any is written: a fault in one leaves every other as it is.
    changed = [each for each in map(format_file, files) if each.changed]
    dry = only_check or diff
    if not dry:
        for each in changed:
            rewrite(each.path)
    if as_json:
        names = [str(each.path) for each in changed]
        print(json.dumps({"files": [*map(str, files)], "changed": names, "written": not dry}))
    else:
        for each in changed:
            verb = "would change" if dry else "formatted"
            print("\n".join(each.difference()) if diff else f"{verb:<13}{each.path}")
    if changed and dry:
        raise typer.Exit(WRONG)


def show(
    target: Target,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Write a picture to this file as well")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a machine is: ranks, links, distances, narrowest cuts, and a picture."""
    from roundelay.drawing import draw_svg
    from roundelay.pipeline import look
    from roundelay.show import show_lines
    from roundelay.show_record import show_json
    from roundelay.writing import Written, require_file, write_files

    if svg is not None:
        require_file(svg, "--svg", ".svg")
    topology, profile = look(target)
    files = Written() if svg is None else write_files([(svg, draw_svg(topology))])
    if as_json:
        drawn = str(svg) if files.paths else None
        print(json.dumps(show_json(topology, profile) | {"svg": drawn}))
    else:
        for line in show_lines(topology, profile, shutil.get_terminal_size((100, 24)).columns):
            print(line)
        for path in files.paths:
            print(f"wrote     {path}")
    files.require()
