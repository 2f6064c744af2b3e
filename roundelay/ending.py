"""How the command ends: every way out leads to a message and an exit status."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .console import BAD_INPUT, INTERNAL, INTERRUPTED, UNWRITTEN, complain

if TYPE_CHECKING:
    from collections.abc import Callable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def conclude(app: Callable[[], object]) -> None:
    """Run the command line and leave with its exit status."""
    from roundelay.dsl.source import InputError

    _prepare_outputs()
    try:
        _run(app)
    except InputError as error:
        complain(str(error))
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing to say, and nobody to say it to.
        _drop_output()
        sys.exit(0)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            complain(f"error: standard output cannot be written: {error.strerror}")
            _drop_output()
            sys.exit(UNWRITTEN)
        if os.environ.get("ROUNDELAY_TRACEBACK"):
            raise
        complain(
            f"roundelay: internal error: {type(error).__name__}: {error}\n"
            "  This is a fault of ours. Please report it with the command and its input;\n"
            "  ROUNDELAY_TRACEBACK=1 in the environment prints where it happened."
        )
        sys.exit(INTERNAL)


def _run(app: Callable[[], object]) -> None:
    """Call typer, which makes exits of its own of two things that are ours to tell."""
    try:
        app()
    except SystemExit as left:
        reason = left.__context__
        if isinstance(reason, typer.Exit):
            reason = reason.__cause__
        if isinstance(reason, BrokenPipeError | KeyboardInterrupt):
            raise reason from None
        sys.stdout.flush()
        raise


def _prepare_outputs() -> None:
    """Give a process that was started without its outputs (`>&-`) ones that swallow everything,
    and let no letter end it.
    """
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end.
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end.
    # A file's name may have bytes that are no text, and a terminal may lack a letter.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Let what is left in the buffer of standard output go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
