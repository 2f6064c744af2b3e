"""Syntax faults in words: what stood there, what could have, and what to do about it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from .source import Fault
from .vocabulary import CLOSING, DECLARATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .source import Span

_WORDS = {
    "$END": "the end of the text",
    "NAME": "a name",
    "NUMBER": "a number",
    "UNIT": "a unit",
    "STRING": "a file name in quotes",
    "COMPARE": "a comparison",
    "TIMES": "'x' and a number of parallel links",
    "BOTH": "'<->'",
    "FORWARD": "'->'",
    "DOTS": "'..'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "FLOOR": "'//'",
    "POWER": "'**'",
    "PERCENT": "'%'",
    "PIPE": "'|'",
    "CARET": "'^'",
    "AMPERSAND": "'&'",
    "TILDE": "'~'",
    "SHIFT": "a shift",
    "DOT": "'.'",
    "COLON": "':'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "LPAR": "'('",
    "RPAREN": "')'",
    "COMMA": "','",
    "EQUAL": "'='",
    "SEMICOLON": "';'",
    "OPERATOR_SIGN": "an operator",
}

_STARTS = {"NAME", "NUMBER", "LPAR", "MINUS", "TILDE", "NOT"}
_OPERATORS = {
    "PLUS", "MINUS", "STAR", "SLASH", "FLOOR", "POWER", "PERCENT", "COMPARE", "AND", "OR",
    "PIPE", "CARET", "AMPERSAND", "SHIFT",
}  # fmt: skip

_CLOSING = CLOSING | {"RBRACE"}
_LONGER = {"'in'": "'in place'", "'at'": "'at most'"}


def unexpected(text: str, kind: str, accepted: Iterable[str], span: Span) -> Fault:
    """The fault for a token that does not fit.

    ``text`` is the token's (empty at the end of the text), ``kind`` its terminal, ``accepted`` the
    terminals that would have fitted.
    """
    # At its end state the parser has no entries left: nothing but the end fits.
    fitting = set(accepted) or {"$END"}
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    message = f"unexpected {shown!r}" if text else "the text ends too early"
    options = "SYNTHESIZE" in fitting
    if options:
        fitting -= {"LPAR", "DOTS"}  # They would carry the option before on; it is complete.
    remedy = ""
    if options and text.isidentifier() and kind == "NAME":
        message = f"unknown option {shown!r}"
    near = get_close_matches(text.lower(), [word.lower() for word in fitting if word.isalpha()], 1)
    if near and near[0].upper() not in _WORDS:
        remedy = f"did you mean {near[0]!r}"
    elif fitting > {"AT"} and not options and "IF" not in fitting:
        remedy = "give the link its bandwidth, and its latency after a comma: at 25 GB/s, 1 us"
    elif kind in DECLARATIONS and "RBRACE" in fitting:
        remedy = "close the block before it with '}'"
    elif not text and fitting & _CLOSING:
        remedy = "close what is open"
    return Fault(message, span, _listed(fitting), remedy)


def _listed(accepted: set[str]) -> str:
    """The accepted terminals as a list in words, whole families under one name."""
    rest = set(accepted)
    words = []
    if rest >= _STARTS - {"NOT"}:
        rest -= _STARTS
        words.append("an expression")
    elif rest & _OPERATORS:
        # An operator, a unit or a call could go on here; what ends the expression is the advice.
        ends = rest - _OPERATORS - {"LPAR", "UNIT", "DOT", "LBRACKET"}
        rest = ends or {"OPERATOR_SIGN"}
    # A longer name of a node and a range are rarer than what stands beside them.
    if rest > {"DOT"}:
        rest -= {"DOT"}
    if "COMMA" in rest and rest & _CLOSING:
        rest -= {"DOTS"}
    named = {_word(kind) for kind in rest}
    if "SYNTHESIZE" in rest:
        named = {_LONGER.get(word, word) for word in named}
    words += sorted(named, key=_rank)
    if len(words) > 1:
        return ", ".join(words[:-1]) + " or " + words[-1]
    return "".join(words)


def _word(kind: str) -> str:
    return _WORDS.get(kind, f"'{kind.lower()}'")


def _rank(word: str) -> tuple[bool, bool, str]:
    """Kinds first, then keywords, then signs."""
    quoted = word.startswith("'")
    return quoted, quoted and not word[1].isalpha(), word
