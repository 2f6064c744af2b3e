"""Every message the language can give, compared with a golden text.

A case is one text, or a folder whose ``main.rly`` names the other files in it.
``ROUNDELAY_UPDATE_GOLDEN=1 pytest tests/dsl/test_errors.py`` writes the golden texts anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundelay.dsl.loader import load, read_source
from roundelay.dsl.source import InputError, Source

FOLDER = Path(__file__).parent.parent / "errors"
CASES = sorted(FOLDER.glob("*.rly"))
FOLDERS = sorted(path for path in FOLDER.iterdir() if path.is_dir())


def compare(source: Source, golden: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(source)
    text = f"{caught.value}\n"
    if os.environ.get("ROUNDELAY_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    # The bare file name: golden texts must not depend on where the tests run.
    compare(Source(path.name, read_source(path).text), path.with_suffix(".expect"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_message_about_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ROUNDELAY_PATH", raising=False)
    compare(read_source(Path("main.rly")), folder / "main.expect")


def test_every_golden_text_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.expect")} == {path.stem for path in CASES}
    assert len(CASES) >= 100
    assert len(FOLDERS) >= 8
    assert all((folder / "main.expect").is_file() for folder in FOLDERS)
