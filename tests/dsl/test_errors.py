"""Every message the language can give, compared with a golden text.

``ROUNDELAY_UPDATE_GOLDEN=1 pytest tests/dsl/test_errors.py`` writes the texts anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roundelay.dsl.loader import load, read_source
from roundelay.dsl.source import InputError, Source

FOLDER = Path(__file__).parent.parent / "errors"
CASES = sorted(FOLDER.glob("*.rly"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_message(path: Path) -> None:
    # The bare file name: golden texts must not depend on where the tests run.
    source = Source(path.name, read_source(path).text)
    with pytest.raises(InputError) as caught:
        load(source)
    text = f"{caught.value}\n"
    golden = path.with_suffix(".expect")
    if os.environ.get("ROUNDELAY_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_text_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.expect")} == {path.stem for path in CASES}
    assert len(CASES) >= 30
