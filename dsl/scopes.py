"""Which declaration a name means, in the text where the name stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import syntax
from .faults import unknown
from .files import read_named, resolve_path
from .parser import recover
from .source import Fault
from .standard import names as library_names
from .standard import standard

if TYPE_CHECKING:
    from pathlib import Path

    from .faults import Report
    from .parser import Recovered
    from .source import Source

FILES = 100
"""Most files that a text may use, in all."""

ADVISED = 300
"""Most faults before an unknown name is no longer compared with all that there are."""

Key = tuple[str, str]
"""Kind and name."""


@dataclass(slots=True)
class _Text:
    """What one text declares itself, what it has from others, and what in it cannot be read."""

    own: dict[Key, syntax.Named] = field(default_factory=dict)
    used: dict[Key, syntax.Named] = field(default_factory=dict)
    broken: frozenset[Key] = frozenset()


@dataclass(slots=True)
class Scopes:
    """The names of a text, of the files it uses, and of the library.

    A name means what its own text declares or uses; else the library's. Names on a command line
    mean what they mean in the main text.
    """

    main: Source
    report: Report
    warnings: list[Fault] = field(default_factory=list)
    _texts: dict[Source, _Text] = field(default_factory=dict)
    _files: dict[str, _Text | None] = field(default_factory=dict)

    def declare(self, source: Source, recovered: Recovered) -> None:
        """Note a text's declarations and those of the files it uses; blame those that clash."""
        path = source.path
        chain = () if path is None else (str(path.resolve()),)
        self._declare(source, recovered, chain)

    def _declare(self, source: Source, recovered: Recovered, chain: tuple[str, ...]) -> _Text:
        text = _Text(broken=recovered.broken)
        self._texts[source] = text
        for declaration in recovered.document.declarations:
            if isinstance(declaration, syntax.Use):
                self._use(declaration, text, chain)
        for declaration in recovered.document.declarations:
            if isinstance(declaration, syntax.Use | syntax.Plan):
                continue
            key = kind, name = syntax.KINDS[type(declaration)], declaration.name.text
            known = text.own.get(key) or text.used.get(key)
            if known is not None:
                self._blame_twice(declaration, known)
                continue
            text.own[key] = declaration
            if source is self.main and standard(kind, name) is not None:
                self.warnings.append(
                    Fault(
                        f"{kind} {name!r} takes the place of the library's",
                        declaration.name.span,
                        remedy="give it another name if that is not meant",
                    )
                )
        return text

    def _blame_twice(self, declaration: syntax.Named, known: syntax.Named) -> None:
        kind, span = syntax.KINDS[type(declaration)], known.span
        where = "" if span.source == declaration.span.source else f"{span.source.name}:"
        self.report.blame(
            f"{kind} {declaration.name.text!r} is declared twice",
            declaration.name.span,
            f"one {kind} of a name; the first stands at {where}{span.place}",
        )

    def _use(self, use: syntax.Use, text: _Text, chain: tuple[str, ...]) -> None:
        """Take over what another file declares and uses itself."""
        path = resolve_path(use.path, self.report)
        if path is None:
            return
        file = str(path.resolve())
        if file in chain:
            names = [*chain[chain.index(file) :], file]
            circle = " uses ".join(repr(name.rsplit("/", 1)[-1]) for name in names)
            self.report.blame(
                f"files use each other in a circle: {circle}",
                use.span,
                "files that use others, never back",
                "put what both need into a third file",
            )
            return
        if file not in self._files:
            self._files[file] = None
            if len(self._files) > FILES:
                self.report.blame("too many files", use.span, f"at most {FILES}")
                return
            self._files[file] = self._read(use, path, (*chain, file))
        other = self._files[file]
        if other is None:
            return
        for key, declaration in (*other.used.items(), *other.own.items()):
            known = text.used.setdefault(key, declaration)
            if known is not declaration:
                kind, name = key
                self.report.blame(
                    f"{kind} {name!r} comes from two files",
                    use.span,
                    f"one {kind} of a name; another stands at {known.span.source.name}:"
                    f"{known.span.place}",
                )
        text.broken |= other.broken

    def _read(self, use: syntax.Use, path: Path, chain: tuple[str, ...]) -> _Text | None:
        source = read_named(path, use.path, self.report)
        if source is None:
            return None
        recovered = recover(source)
        for fault in recovered.faults:
            self.report.add(fault)
        return self._declare(source, recovered, chain)

    # ------------------------------------------------------------------------------ names

    def declared(self) -> tuple[syntax.Named, ...]:
        """Every declaration of every text, in order, those of the main text last."""
        found: dict[int, syntax.Named] = {}
        for source in sorted(self._texts, key=lambda each: each is self.main):
            found |= {id(each): each for each in self._texts[source].own.values()}
        return tuple(found.values())

    def own(self, kind: str = "") -> tuple[syntax.Named, ...]:
        """What the main text itself declares, in order; of one kind, or of all."""
        text = self._texts.get(self.main, _Text())
        return tuple(each for (k, _), each in text.own.items() if not kind or k == kind)

    def names(self, kind: str, source: Source) -> tuple[str, ...]:
        """Every name of a kind that means something in a text."""
        text = self._text(source)
        known = {name for k, name in (*text.used, *text.own) if k == kind}
        return tuple(sorted(known.union(library_names(kind))))

    def find(self, kind: str, name: syntax.Name) -> syntax.Named | None:
        """The declaration that a name means; blamed where there is none."""
        source = name.span.source
        text = self._text(source)
        key = kind, name.text
        if key in text.broken:
            return None
        found = text.own.get(key) or text.used.get(key) or standard(kind, name.text)
        if found is None and len(self.report.faults) < ADVISED:
            self.report.add(unknown(kind, name.text, name.span, self.names(kind, source)))
        elif found is None:
            self.report.blame(f"unknown {kind} {name.text!r}", name.span)
        return found

    def _text(self, source: Source) -> _Text:
        text = self._texts.get(source)
        if text is not None:
            return text
        spoken = source.path is None and not source.name.startswith("library/")
        return self._texts.get(self.main, _Text()) if spoken else _Text()
