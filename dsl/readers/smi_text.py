"""Where the matrix of ``nvidia-smi topo -m`` stands in a text that people pasted, mailed or cut.

That is the first line of column names with rows of GPUs under it; what stands around it and
between, and the matrix of ``topo -p2p``, is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roundelay.dsl.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roundelay.dsl.faults import Report
    from roundelay.dsl.source import Source

GPUS = 256
"""Most GPUs of a matrix."""
WHOLE = "paste the whole output of: nvidia-smi topo -m"
"""The remedy for damage."""

# No code begins another, and none begins with a digit: glued cells part in one way alone.
CODE = re.compile(r"X|PIX|PXB|PHB|NODE|SYS|SOC|NV(?:0|[1-9][0-9]{0,4})")
"""What stands in a cell. SOC is what drivers of the Kepler days called SYS."""
CODES = re.compile(rf"(?:{CODE.pattern})+")
"""One cell, or several that lost the blanks between them."""

_PEER = frozenset({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"})  # Cells of topo -p2p.
# Colours, with or without their escape character, column rules, and letters of no width.
_NOISE = re.compile(r"(?:\x1b|\^\[)?\[[0-9;]{0,8}[mK]|[|\u200b\ufeff]")
_WORD = re.compile(r"\S+")
_GLUED = re.compile(r"GPU[0-9]+GPU[0-9]")
_NAME = re.compile(r"GPU(0|[1-9][0-9]{0,4})")
_GPU = re.compile(r"GPU[0-9]")
_MARKS = re.compile(r"[#>*;%/-]*")


@dataclass(frozen=True, slots=True)
class Word:
    """Letters without blanks between them."""

    text: str
    span: Span


@dataclass(slots=True)
class Block:
    """A line of column names and the GPU rows under it; a row's first word is its name."""

    header: list[Word]
    gpus: int
    rows: list[list[Word]] = field(default_factory=list)

    @property
    def peers(self) -> bool:
        """Whether this is the matrix of ``topo -p2p``, which tells who may talk, not over what."""
        texts = {word.text for row in self.rows for word in row[1 : self.gpus + 1]}
        return bool(texts & _PEER) and texts <= _PEER | {"X"}


def find_block(source: Source, report: Report) -> Block | None:
    """The first block that is not one of ``topo -p2p``, or None and a fault."""
    block: Block | None = None
    peers: Block | None = None
    for words in _lines(source):
        if block is not None:
            if not _ends(block, words):
                continue
            if block.rows and not block.peers:
                return block
            # A line of names without rows is prose; who may talk is not what was asked.
            peers = peers or (block if block.rows else None)
            block = None
        if not words or not _GPU.match(words[0].text):
            continue
        if _is_header(words):
            block = _header(words, report)
            if block is None:
                return None
        elif len(words) > 1 and CODES.fullmatch(words[1].text):
            _blame_orphan(words[0], report)
            return None
        elif _GLUED.match(words[0].text):
            _blame_glued(words[0], report)
            return None
    if block is not None and not block.peers:
        return block
    _blame_none(source, peers or block, report)
    return None


def _ends(block: Block, words: list[Word]) -> bool:
    """Whether a line is beyond a block; if not, and if it is a row, the block takes it."""
    full = len(block.rows) >= block.gpus
    if not words:
        return full
    if words[0].text.startswith("Legend"):
        return True
    if not _GPU.match(words[0].text):
        return False  # The row of a NIC, a fence, a remark.
    if _is_header(words):
        return True
    if len(block.rows) > block.gpus:  # One row too many is fault enough.
        return True
    if not full or (len(words) > 1 and CODES.fullmatch(words[1].text)):
        block.rows.append(words)
    return False


def _lines(source: Source) -> Iterator[list[Word]]:
    """The words of every line, from the name of a GPU on where that comes first."""
    for number, start in enumerate(source.starts, 1):
        line = source.line(number)
        if not line.strip():
            yield []
            continue
        line = _NOISE.sub(lambda match: " " * len(match[0]), line)
        words = [_word(source, start, match) for match in _WORD.finditer(line)]
        yield _bare(words)


def _bare(words: list[Word]) -> list[Word]:
    """A line without what a quotation, a comment or ``grep`` put before a GPU's name."""
    for skip, word in enumerate(words[:4]):
        # A file's name as grep sets it, alone (path:), or run into the line (path:12:GPU0).
        colon = word.text[:300].rfind(":") + 1 if skip == 0 else 0
        marks = _MARKS.match(word.text, colon)
        at = marks.end() if marks else colon
        if _GPU.match(word.text, at):
            span = Span(word.span.source, word.span.start + at, word.span.end)
            return [Word(word.text[at:], span), *words[skip + 1 :]]
        if at < len(word.text):
            return words
    return words if len(words) > 4 or any(not _MARKS.fullmatch(word.text) for word in words) else []


def _word(source: Source, start: int, match: re.Match[str]) -> Word:
    return Word(match[0], Span(source, start + match.start(), start + match.end()))


def _is_header(words: list[Word]) -> bool:
    """Whether a line that begins with a GPU's name goes on with names of columns."""
    if len(words) == 1:
        return words[0].text == "GPU0"
    follower = words[1].text
    return follower.startswith(("GPU", "NIC", "mlx")) or (
        not CODES.fullmatch(follower) and any("Affinity" in word.text for word in words)
    )


def _header(words: list[Word], report: Report) -> Block | None:
    gpus = 0
    while gpus < len(words) and _NAME.fullmatch(words[gpus].text):
        if gpu_number(words[gpus]) != gpus:
            report.blame(
                f"column {words[gpus].text} where GPU{gpus} should stand",
                words[gpus].span,
                "the GPUs from GPU0 on, none left out",
                WHOLE + "; GPUs that a job has not can be left out of the topology later",
            )
            return None
        if gpus == GPUS:
            report.blame(f"more than {GPUS} GPUs", words[gpus].span, f"at most {GPUS}")
            return None
        gpus += 1
    for word in words[gpus:]:
        if _GPU.match(word.text):
            _blame_glued(word, report)
            return None
    return Block(words, gpus)


def gpu_number(word: Word) -> int | None:
    """The number in a GPU's name; None if the word is not such a name."""
    match = _NAME.fullmatch(word.text)
    return int(match[1]) if match else None


def _blame_glued(word: Word, report: Report) -> None:
    shown = word.text if len(word.text) <= 40 else f"{word.text[:37]}..."
    report.blame(
        f"the columns run together in {shown!r}",
        word.span,
        "the GPUs first, with tabs or blanks between the names",
        WHOLE,
    )


def _blame_orphan(name: Word, report: Report) -> None:
    report.blame(
        f"row {name.text} stands under no line of column names",
        name.span,
        "a line like: GPU0 GPU1 CPU Affinity NUMA Affinity",
        WHOLE,
    )


def _blame_none(source: Source, peers: Block | None, report: Report) -> None:
    if peers is not None:
        message = "a matrix of topo -p2p says who may talk, not over which links"
        report.blame(message, peers.header[0].span, "the matrix of topo -m", WHOLE)
        return
    report.blame(
        "there is no matrix of GPUs in this text",
        _first_line(source),
        "a line GPU0 GPU1 and so on, and a row of PIX, PXB, PHB, NODE, SYS or NV# for each GPU",
        "give a file with the whole output of: nvidia-smi topo -m",
    )


def _first_line(source: Source) -> Span:
    """The first line with anything on it, without the blanks around it."""
    start = len(source.text) - len(source.text.lstrip())
    end = source.text.find("\n", start)
    text = source.text[start : end if end >= 0 else len(source.text)].rstrip()
    return Span(source, start, start + len(text))
