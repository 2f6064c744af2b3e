"""The file in which a problem's frontier outlives the run that found it.

One file a problem, named by what matters of the problem. It is replaced as a whole, so a reader
never sees half of it; what another process has written meanwhile is taken in first. What is read
is not trusted: schedules are judged again, and a file that is damaged is set aside.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .texts import (
    DamageError,
    asked_from_json,
    asked_to_json,
    kept_from_json,
    kept_to_json,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Query

    from .chart import Asked, Kept
    from .ledger import Ledger

FORMAT = 1
"""The version of the file's form."""

_LARGEST = 1 << 28  # Bytes of a file that is read.
_NAMES = {"format", "key", "machine", "collective", "asked", "found", "sum"}
_MOST_BROKEN = 1000

Stamp = tuple[int, int, int]


def default_folder() -> Path:
    """``ROUNDELAY_STORE``, or a folder among the user's caches."""
    chosen = os.environ.get("ROUNDELAY_STORE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    caches = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111 - needs no home.
    return caches / "roundelay" / "frontier"


class Store:
    """The file of one problem in a folder; ``warn`` is told, in a line, what is wrong with it.

    ``fresh``: what it holds is not looked at, and replaced.
    """

    def __init__(
        self, folder: Path, problem: Problem, warn: Callable[[str], None], *, fresh: bool = False
    ) -> None:
        self.problem = problem
        self.key = key_of(problem)
        self.path = folder / f"{self.key}.json"
        self._warn = warn
        self._seen: Stamp | None = None  # The file as it was when it was last read or written.
        self._works = True
        if fresh:
            self._seen = self._stamp()

    def load(self, ledger: Ledger) -> None:
        """Take in what the file holds, if it has changed since it was last seen."""
        stamp = self._stamp()
        if stamp is None or stamp == self._seen:
            return
        self._seen = stamp
        try:
            asked, kept = self._read()
            _require_sense(ledger, asked, kept)
        except OSError as error:
            self._warn(f"{self.path} cannot be read: {error.strerror}")
            return
        except DamageError as error:
            self._set_aside(str(error))
            return
        ledger.merge(asked, kept)

    def save(self, ledger: Ledger) -> None:
        """Write all that is known; a folder that takes no file is told of once."""
        if not self._works:
            return
        self.load(ledger)
        try:
            self._write(ledger)
        except OSError as error:
            self._works = False
            self._warn(f"nothing is kept for the next run: {self.path}: {error.strerror}")

    # ------------------------------------------------------------------------- the file

    def _read(self) -> tuple[list[Asked], list[Kept]]:
        if not stat.S_ISREG(self.path.stat().st_mode):  # A pipe would be waited for.
            raise DamageError("it is no file")
        with self.path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise DamageError("it is too large")
        try:
            form = json.loads(data)
        except (ValueError, RecursionError):
            raise DamageError("it is not JSON") from None
        if not isinstance(form, dict) or "format" not in form:
            raise DamageError("it is no frontier")
        if form["format"] != FORMAT:
            raise DamageError(f"its format is {str(form['format'])[:20]}, not {FORMAT}")
        if form.keys() != _NAMES:
            raise DamageError(f"it has not the entries {', '.join(sorted(_NAMES))}")
        if form["key"] != self.key:
            raise DamageError("it is another problem's")
        if form["sum"] != _sum(form):
            raise DamageError("its sum is not that of its content")
        if not isinstance(form["asked"], list) or not isinstance(form["found"], list):
            raise DamageError("its entries are no lists")
        asked = [asked_from_json(item) for item in form["asked"]]
        return asked, [kept_from_json(self.problem, item) for item in form["found"]]

    def _write(self, ledger: Ledger) -> None:
        entries = sorted(
            ledger.asked.values(),
            key=lambda entry: (entry.query.steps, entry.query.chunks, entry.query.rounds),
        )
        form: dict[str, Any] = {
            "format": FORMAT,
            "key": self.key,
            "machine": self.problem.topology.name,
            "collective": self.problem.collective.name,
            "asked": [asked_to_json(entry) for entry in entries],
            "found": [kept_to_json(kept) for _, kept in sorted(ledger.kept.items())],
        }
        form["sum"] = _sum(form)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(".partial", f".{self.key[:16]}.", self.path.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as stream:
                json.dump(form, stream, separators=(",", ":"))
            stamp = _stamp_of(Path(name))
            os.replace(name, self.path)  # noqa: PTH105 - both names are at hand.
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)  # noqa: PTH108 - as above.
            raise
        self._seen = stamp

    def _set_aside(self, why: str) -> None:
        """Rename the file, so that it is out of the way and can still be looked at."""
        for number in range(1, _MOST_BROKEN):
            aside = self.path.with_name(f"{self.path.name}.broken-{number}")
            if not aside.exists():
                break
        try:
            self.path.rename(aside)
        except OSError as error:
            self._warn(f"{self.path} is not used ({why}), nor set aside: {error.strerror}")
            return
        self._warn(f"{self.path} is not used: {why}; it is {aside.name} now")

    def _stamp(self) -> Stamp | None:
        try:
            return _stamp_of(self.path)
        except OSError:
            return None


def _stamp_of(path: Path) -> Stamp:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _sum(form: dict[str, Any]) -> str:
    """The SHA-256 of a file's content but its sum."""
    content = {name: value for name, value in form.items() if name != "sum"}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _require_sense(ledger: Ledger, asked: list[Asked], kept: list[Kept]) -> None:
    """Raise ``DamageError`` where an impossibility is refuted by a schedule, or a find has none."""
    schedules = [*kept, *ledger.kept.values()]
    for entry in asked:
        if entry.verdict == "open" or not (entry.complete or entry.verdict == "found"):
            continue
        exists = any(_answers(each, entry.query) for each in schedules)
        if exists and entry.verdict == "impossible":
            raise DamageError("a query of it is called impossible beside its schedule")
        if not exists and entry.verdict == "found":
            raise DamageError("a query of it is called found without a schedule")


def _answers(kept: Kept, query: Query) -> bool:
    """Whether a schedule, or copies of it, is one that a query asks for."""
    times = -(-query.chunks // kept.schedule.chunks)
    return kept.schedule.steps <= query.steps and kept.cost.rounds * times <= query.rounds
