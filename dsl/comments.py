"""Where the comments of a text stand; the syntax tree knows nothing of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

_QUOTED_OR_COMMENT = re.compile(r'"[^"\n]*"|#[^\n]*')


@dataclass(frozen=True, slots=True)
class Comment:
    """``text`` from the ``#`` on, without white space at its end; ``start`` is its offset.

    ``own_line``: nothing but white space stands before it on its line. ``after_gap``: an empty
    line does.
    """

    text: str
    start: int
    own_line: bool
    after_gap: bool


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a text without syntax faults, in their order.

    ``bare`` is the text with its comments and what stands between quotes blanked out: same length,
    same line ends.
    """

    text: str
    all: tuple[Comment, ...] = field(init=False)
    bare: str = field(init=False)
    _starts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        pieces, found, done = [], [], 0
        for match in _QUOTED_OR_COMMENT.finditer(self.text):
            start, end = match.span()
            pieces += [self.text[done:start], " " * (end - start)]
            done = end
            if match[0].startswith("#"):
                gap = self._space_before(start)
                own = "\n" in gap or len(gap) == start
                found.append(Comment(match[0].rstrip(), start, own, gap.count("\n") > 1))
        object.__setattr__(self, "all", tuple(found))
        object.__setattr__(self, "bare", "".join([*pieces, self.text[done:]]))
        object.__setattr__(self, "_starts", tuple(each.start for each in found))

    def _space_before(self, offset: int) -> str:
        first = offset
        while first and self.text[first - 1].isspace():
            first -= 1
        return self.text[first:offset]

    def after_gap(self, offset: int) -> bool:
        """Whether an empty line stands before what begins at an offset."""
        return self._space_before(offset).count("\n") > 1

    def between(self, start: int, end: int) -> bool:
        """Whether a comment begins in ``[start, end)``."""
        at = bisect_left(self._starts, start)
        return at < len(self._starts) and self._starts[at] < end

    def behind(self, mark: str, start: int, end: int) -> int:
        """The offset behind the last ``mark`` in ``[start, end)``; ``end`` where there is none."""
        at = self.bare.rfind(mark, start, end)
        return end if at < 0 else at + len(mark)

    def past(self, mark: str, start: int) -> int:
        """The offset behind the first ``mark`` from ``start`` on; ``start`` where there is none."""
        at = self.bare.find(mark, start)
        return start if at < 0 else at + len(mark)
