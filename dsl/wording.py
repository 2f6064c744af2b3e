"""Syntax faults in words: what stood there, what could have, and what to do about it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from .source import Fault

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
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "LBRACKET": "'['",
    "RSQB": "']'",
    "RBRACKET": "']'",
    "LPAR": "'('",
    "RPAR": "')'",
    "RPAREN": "')'",
    "COMMA": "','",
    "EQUAL": "'='",
    "SEMICOLON": "';'",
    "OPERATOR_SIGN": "an operator",
}

_STARTS = {"NAME", "NUMBER", "LPAR", "MINUS", "NOT"}
_OPERATORS = {
    "PLUS", "MINUS", "STAR", "SLASH", "FLOOR", "POWER", "PERCENT", "COMPARE", "AND", "OR",
}  # fmt: skip

# What the language is meant to have and this version has not: a plain word beats a riddle.
_LATER_DECLARATIONS = {
    "schedule": "schedules written by hand",
    "element": "struct elements",
    "part": "machines made of parts",
}
_LATER_OPTIONS = {
    "in": "in place",
    "forbid": "forbid",
    "at": "at most",
    "symmetric": "symmetric",
}

_DECLARATIONS = {"TOPOLOGY", "OPERATOR", "COLLECTIVE", "PLAN", "USE"}


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
    if "TOPOLOGY" in fitting and text in _LATER_DECLARATIONS:
        return Fault(
            f"this version does not have {_LATER_DECLARATIONS[text]} ({text!r})",
            span,
            _listed(fitting),
            "leave it out",
        )
    if "LINK" in fitting and text == "part":
        return Fault(
            f"this version does not have {_LATER_DECLARATIONS[text]} ({text!r})",
            span,
            _listed(fitting),
            "write the ranks and links out",
        )
    if options and text in _LATER_OPTIONS:
        return Fault(
            f"this version does not have the plan option {_LATER_OPTIONS[text]!r}",
            span,
            _listed(fitting),
            "leave it out",
        )
    if text == "within" and "ON" in fitting:
        return Fault(
            "this version does not have collectives within groups ('within')",
            span,
            "'on' and a topology",
            "leave it out",
        )
    if options and text.isidentifier() and kind == "NAME":
        message = f"unknown option {shown!r}"
    if "LBRACE" in fitting and text in {"=", "from"} and len(fitting) <= 2:
        message = f"this version does not have topologies made from others ({text!r})"
        return Fault(message, span, _listed(fitting), "write the ranks and links out")
    near = get_close_matches(text.lower(), [word.lower() for word in fitting if word.isalpha()], 1)
    if near and near[0].upper() not in _WORDS:
        remedy = f"did you mean {near[0]!r}"
    elif fitting & {"AT"} and "IF" not in fitting:
        remedy = "give the link its bandwidth, and its latency after a comma: at 25 GB/s, 1 us"
    elif kind in _DECLARATIONS and "RBRACE" in fitting:
        remedy = "close the block before it with '}'"
    elif not text and fitting & {"RBRACE", "RPAREN", "RPAR", "RBRACKET", "RSQB"}:
        remedy = "close what is open"
    return Fault(message, span, _listed(fitting), remedy)


def later_option(word: str, following: str = "") -> bool:
    """Whether a word starts a plan option that this version does not have."""
    return _LATER_OPTIONS.get(word, "").split() in ([word], [word, following])


def _listed(accepted: set[str]) -> str:
    """The accepted terminals as a list in words, whole families under one name."""
    rest = set(accepted)
    words = []
    if rest >= _STARTS - {"NOT"}:
        rest -= _STARTS
        words.append("an expression")
    elif rest & _OPERATORS:
        # An operator, a unit or a call could go on here; what ends the expression is the advice.
        ends = rest - _OPERATORS - {"LPAR", "UNIT"}
        rest = ends or {"OPERATOR_SIGN"}
    words += sorted({_word(kind) for kind in rest}, key=_rank)
    if len(words) > 1:
        return ", ".join(words[:-1]) + " or " + words[-1]
    return "".join(words)


def _word(kind: str) -> str:
    return _WORDS.get(kind, f"'{kind.lower()}'")


def _rank(word: str) -> tuple[bool, bool, str]:
    """Kinds first, then keywords, then signs."""
    quoted = word.startswith("'")
    return quoted, quoted and not word[1].isalpha(), word
