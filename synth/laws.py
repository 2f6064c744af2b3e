"""Which laws of an operator are proved, refuted or open, and over which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from roundelay.dsl.source import Fault

from .proofs.probes import LETTERS, fails, probe, shrink
from .proofs.reading import KINDS, REAL, Question, SenselessError, read
from .proofs.values import differ, sides
from .proofs.worker import decide_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.dsl.model import Operator

    from .proofs.probes import Point
    from .proofs.reading import Kind, Law
    from .proofs.values import Partial

REALS = "the reals"
OWN_FIELDS = "its own fields"


def _name(kind: Kind) -> str:
    if not kind.width:
        return REALS
    return f"{kind.width}-bit {'signed' if kind.signed else 'unsigned'} integers"


_KINDS = {_name(kind): kind for kind in KINDS.values()}
_ELEMENTS = {
    domain: [name for name, each in KINDS.items() if each == kind]
    for domain, kind in _KINDS.items()
}
_FAMILIES = {
    "integers": [domain for domain, kind in _KINDS.items() if kind.width],
    "signed integers": [domain for domain, kind in _KINDS.items() if kind.width and kind.signed],
    "unsigned integers": [domain for domain, kind in _KINDS.items() if not kind.signed],
}
_SHOWN = 12  # Of the fields of a struct, in an example; of more, those that are not 0.
_FAILS = {law: "no identity" if law == "identity" else f"not {law}" for law in LETTERS}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a law over a domain.

    ``domain`` is ``the reals``, ``8-bit signed integers`` and so on, or ``its own fields`` for an
    operator on structs. ``proved``: for every value of the domain at which both sides are defined;
    over the reals, floats obey it within rounding. ``refuted``: ``example`` is a counterexample
    that was computed exactly. ``open``: neither; no counterexample was found.
    """

    law: Law
    domain: str
    verdict: Literal["proved", "refuted", "open"]
    example: str = ""


def examine(operator: Operator, *, budget: float = 5.0) -> tuple[Finding, ...]:
    """What is known of each law that an operator needs or declares, by law and then by domain.

    Takes about ``budget`` seconds at most; what is not decided by then is open. A domain over
    which the operator means nothing (a division on integers) has no findings, but a struct's own
    fields stay open; the law of an identity that is not among a domain's values has none.
    """
    asked = list(_ask(operator))
    points = [None if question is None else probe(question) for *_, question in asked]
    hard = [
        (i, question)
        for i, (*_, question) in enumerate(asked)
        if question is not None and points[i] is None
    ]
    hard.sort(key=lambda each: _effort(each[1]))  # What is easy is not kept waiting.
    answers = decide_all([question for _, question in hard], budget)
    proved = set()
    for (i, doubted), answer in zip(hard, answers, strict=True):
        if isinstance(answer, tuple):
            # The solver's word for it is not enough: the point must fail by exact arithmetic.
            points[i] = shrink(doubted, answer) if fails(doubted, answer) else None
        elif answer:
            proved.add(i)
    findings = []
    for i, (law, domain, question) in enumerate(asked):
        point = points[i]
        if question is not None and point is not None:
            example = _example(operator, question, point)
            findings.append(Finding(law, domain, "refuted", example))
        else:
            findings.append(Finding(law, domain, "proved" if i in proved else "open"))
    return tuple(findings)


def conclude(operator: Operator, findings: Sequence[Finding]) -> tuple[Fault, ...]:
    """The faults of an operator that no element type can be used with; none if any can.

    Where only some types break a law, see ``unsound_elements``.
    """
    domains = dict.fromkeys(finding.domain for finding in findings)
    refuted = [finding for finding in findings if finding.verdict == "refuted"]
    if not domains:
        message = f"operator {operator.name!r} has a meaning on no element type"
        expected = "functions that exist on floats, or on integers, but not a mixture"
        return (Fault(message, operator.span, expected),)
    if domains.keys() - {finding.domain for finding in refuted}:
        return ()
    first = {finding.law: finding for finding in reversed(refuted)}
    return tuple(_fault(operator, first[law]) for law in LETTERS if law in first)


def unsound_elements(findings: Sequence[Finding]) -> dict[str, str]:
    """The element types on which some law fails, each with what fails and a counterexample.

    Never names a struct: an operator that breaks a law on its own fields is a fault.
    """
    unsound: dict[str, str] = {}
    for finding in findings:
        if finding.verdict == "refuted":
            for name in _ELEMENTS.get(finding.domain, ()):
                unsound.setdefault(name, f"{_FAILS[finding.law]}: {finding.example}")
    return unsound


def describe(operator: Operator, findings: Sequence[Finding]) -> tuple[str, ...]:
    """One line a law: where it is proved, refuted (with an example) or open, for a reader."""
    lines = []
    for law in dict.fromkeys(finding.law for finding in findings):
        parts = []
        for verdict in ("proved", "refuted", "open"):
            same = [f for f in findings if (f.law, f.verdict) == (law, verdict)]
            if same:
                parts.append(_part(verdict, same))
        lines.append(f"operator {operator}: {law}: {'; '.join(parts)}")
    return tuple(lines)


# ------------------------------------------------------------------------------- questions


def _ask(operator: Operator) -> Iterator[tuple[Law, str, Question | None]]:
    """Each law over each domain; without a question where it has no clear meaning."""
    declared: dict[Law, bool] = {
        "associative": True,
        "commutative": operator.commutative,
        "idempotent": operator.idempotent,
        "identity": operator.identity is not None,
    }
    domains = _KINDS if operator.struct is None else {OWN_FIELDS: REAL}
    for law in (law for law, said in declared.items() if said):
        for domain, kind in domains.items():
            try:
                reading = read(operator, kind)
            except SenselessError:
                if operator.struct is not None:
                    yield law, domain, None
                continue
            if law != "identity":
                yield law, domain, Question(law, reading)
            elif operator.identity is not None and all(
                kind.holds(operator.identity) for kind in reading.kinds
            ):
                unit = (operator.identity,) * len(reading.kinds)
                yield law, domain, Question(law, reading, unit)


def _effort(question: Question) -> tuple[int, int]:
    return LETTERS[question.law], max(kind.width for kind in question.reading.kinds)


# ------------------------------------------------------------------------------- words


def _fault(operator: Operator, finding: Finding) -> Fault:
    message = f"operator {operator.name!r} is not {finding.law}: {finding.example}"
    if finding.law == "associative":
        expected = "an operator is associative: ranks combine values in any grouping"
        return Fault(message, operator.span, expected)
    if finding.law == "identity":
        message = f"{operator.identity} is no identity of {operator.name!r}: {finding.example}"
    return Fault(message, operator.span, "laws that hold", f"leave {finding.law!r} out")


def _part(verdict: str, same: Sequence[Finding]) -> str:
    where = _domains([finding.domain for finding in same])
    if verdict == "refuted":
        return f"refuted over {where}: {same[0].example}"
    if verdict == "open":
        return f"not proved over {where}, where no counterexample was found"
    return f"proved over {where.replace(REALS, f'{REALS} (floats: within rounding)')}"


def _domains(domains: Sequence[str]) -> str:
    """Domains in few words."""
    left, words = list(domains), []
    if REALS in left:
        left.remove(REALS)
        words.append(REALS)
    for name, family in _FAMILIES.items():
        if set(family) <= set(left):
            left = [domain for domain in left if domain not in family]
            words.append(name)
    words += left
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _example(operator: Operator, question: Question, point: Point) -> str:
    """``for a = 1, b = 2: op(a, b) = …, op(b, a) = …``."""
    values = {letter: _record(operator, value) for letter, value in zip("abc", point, strict=False)}
    unit = "" if question.unit is None else _record(operator, question.unit)
    name = operator.name
    texts: dict[Law, list[tuple[str, str]]] = {
        "associative": [(f"{name}({name}(a, b), c)", f"{name}(a, {name}(b, c))")],
        "commutative": [(f"{name}(a, b)", f"{name}(b, a)")],
        "idempotent": [(f"{name}(a, a)", "")],
        "identity": [(f"{name}(a, {unit})", ""), (f"{name}({unit}, a)", "")],
    }
    pairs = zip(texts[question.law], sides(question, point), strict=True)
    texts_of, found = next(pair for pair in pairs if differ(*pair[1]))
    shown = [
        f"{text} = {_record(operator, x)}" for text, x in zip(texts_of, found, strict=True) if text
    ]
    given = ", ".join(f"{letter} = {value}" for letter, value in values.items())
    return f"for {given}: {', '.join(shown)}"


def _record(operator: Operator, record: Partial) -> str:
    texts = ["undefined" if value is None else str(value) for value in record]
    if operator.struct is None:
        return texts[0]
    fields = zip(operator.struct.fields, texts, strict=True)
    # Of a vector one place is shown, which stands for them all.
    shown = [f"{f.name}{'[i]' * f.vector}: {text}" for f, text in fields]
    if len(shown) > _SHOWN:
        others = [text for text, value in zip(shown, record, strict=True) if value != 0]
        shown = [*others[:_SHOWN], "…"]
    return "{" + ", ".join(shown) + "}"
