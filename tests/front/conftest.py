"""Running the command line in this process, as its users see it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from roundelay.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    status: int
    out: str
    err: str


Command = Callable[..., Done]


@pytest.fixture
def roundelay(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Call the command line with these words; everything it and its children print is caught."""

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["roundelay", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        code = left.value.code
        return Done(code if isinstance(code, int) else int(code is not None), out, err)

    return call
