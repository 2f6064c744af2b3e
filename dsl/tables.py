"""Lark's LALR tables of ``grammar.lark``, and the handles by which the parser drives them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from lark import Lark, Token
from lark.lark import PostLex

from .builder import Builder

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from lark.parsers.lalr_interactive_parser import InteractiveParser


class _Whole(PostLex):
    """Keeps BAD, which no rule mentions, among the terminals, so that lexing never fails."""

    always_accept = ("BAD",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


@cache
def _lark() -> Lark:
    # Built at the first text, not at import: the command line's help must not wait for it.
    return Lark(
        files("roundelay.dsl").joinpath("grammar.lark").read_text("utf-8"),
        start=["document", "call"],
        parser="lalr",
        lexer="basic",
        postlex=_Whole(),
        transformer=Builder(),
    )


def start(text: str, rule: str) -> InteractiveParser:
    """A parser at the start of a text, before its first token."""
    return _lark().parse_interactive(text, start=rule)


def cut(parser: InteractiveParser, depth: int) -> None:
    """Forget all but the lowest states; values stand one place lower than their states."""
    state = parser.parser_state
    del state.state_stack[depth:]
    del state.value_stack[depth - 1 :]


def settle(parser: InteractiveParser, kind: str) -> int:
    """Reduce what a following token would reduce; the height of the stack then."""
    parser.feed_token(Token(kind, ""))
    height = len(parser.parser_state.state_stack) - 1
    cut(parser, height)
    return height


# Lark leaves these methods without annotations.


def tokens(parser: InteractiveParser) -> list[Token]:
    """All tokens of the text."""
    return list(parser.lexer_thread.lex(parser.parser_state))  # type: ignore[no-untyped-call]


def choices(parser: InteractiveParser) -> Container[str]:
    """What the tables have an entry for: may still turn out not to fit after reductions."""
    entries: Container[str] = parser.choices()  # type: ignore[no-untyped-call]
    return entries


def accepted(parser: InteractiveParser) -> set[str]:
    """The terminals that fit next."""
    kinds: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return kinds
