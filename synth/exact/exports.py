"""A query as files that other solvers read: OPB (pseudo-Boolean competitions) and SMT-LIB 2.

Both say the same as our model, variable by variable, and keep to what most solvers read. OPB: no
negated literal (``w·¬x`` is written ``w - w·x``), every row ``>=``, every variable once a row.
SMT-LIB: logic QF_LIA, Booleans alone, sums of ``ite``; the words for pseudo-Boolean rows that Z3
has (``pble``) are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roundelay.synth.schedule import ANY_ROUNDS, Found, GaveUp, Impossible

from .classes import list_variants, name_class, refutes
from .plan import encode
from .spelling import spell_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Outcome, Query

    from .classes import Variant
    from .model import Model, Term

_HEAVIEST = 2**31 - 1  # What a row's weights may add up to: some solvers count in 32 bits.
_WITHIN = (", full)", ", slots)", ", symmetric)")  # Engines whose schedules solve the model; trees
# may have help of switches that it leaves out.
_WIDTH = 160  # Letters of what a user wrote that a comment shows.


def export(problem: Problem, query: Query, outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """Two files, each as its name and text, that ask what the query asks.

    The encoding is the one whose refutation the outcome tells, else the widest one that can
    refute. ``outcome``: the answer of the whole search, for the header. Raises ``TooLargeError``.
    """
    variants = [v for v in list_variants(problem, query) if refutes(v)]
    told = [v for v in variants if isinstance(outcome, Impossible) and outcome.encoding == v]
    variant = (told or variants[-1:])[0]
    model = spell_out(encode(problem, query, variant).model, _HEAVIEST)
    notes = list(_describe(problem, query, variant, outcome))
    name = _name(problem, query)
    return (f"{name}.opb", to_opb(model, notes)), (
        f"{name}.smt2",
        to_smt(model, notes, _status(outcome)),
    )


def _describe(problem: Problem, query: Query, variant: Variant, outcome: Outcome) -> Iterator[str]:
    """What the file asks, of whom, and what came out of it here."""
    topology, collective = problem.topology, problem.collective
    schedules, complete = name_class(problem, query, variant)
    rounds = "any number of" if query.rounds >= ANY_ROUNDS else query.rounds
    operator = "" if problem.operator is None else f" with operator {problem.operator}"
    yield "written by roundelay: a solution is a schedule, no solution means that there is none"
    yield f"machine: {topology.name}, {len(topology.ranks)} ranks, {len(topology.links)} links"
    yield f"collective: {collective.name}{operator}"
    yield f"query: {query.chunks} chunks, {query.steps} steps, at most {rounds} rounds"
    yield f"class: {schedules}{'' if complete else ' (not all there are)'}; encoding: {variant}"
    match outcome:
        case Found(_, _, engine):
            yield f"answer here: there is a schedule, by {engine}, accepted by the checker"
        case Impossible(certificate, engine):
            yield f"answer here: there is none, by {engine}"
            yield f"reason: {certificate.reason}"
        case GaveUp(reason, _):
            yield f"answer here: unknown, {reason}"


def _status(outcome: Outcome) -> str:
    """What is known of the model; what no solver found need not be in its class."""
    match outcome:
        case Impossible():
            return "unsat"
        case Found(_, _, engine) if engine.endswith(_WITHIN):
            return "sat"
        case _:
            return "unknown"


def _name(problem: Problem, query: Query) -> str:
    """A file name that says which query this is, of letters that every system allows."""
    machine = _safe(problem.topology.name)
    rounds = "any" if query.rounds >= ANY_ROUNDS else str(query.rounds).replace("/", "_")
    collective = _safe(problem.collective.name)
    return f"{machine}-{collective}-c{query.chunks}-s{query.steps}-r{rounds}"


def _safe(text: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "_" for c in text)
    return kept[:60] or "_"


def _plain(text: str) -> str:
    """What a user may have written, as printable ASCII on one line."""
    kept = "".join(c if " " <= c <= "~" else "?" for c in text)
    return kept if len(kept) <= _WIDTH else f"{kept[:_WIDTH]}..."


def to_opb(model: Model, notes: Sequence[str] = ()) -> str:
    """The model as a decision problem in OPB; variable ``i`` is ``x<i>``."""
    rows = [_line(row, least) for row, least in _at_least(model)]
    head = [f"* #variable= {max(1, model.variables)} #constraint= {len(rows)}"]
    return "\n".join([*head, *(f"* {_plain(note)}" for note in notes), *rows, ""])


def _at_least(model: Model) -> Iterator[tuple[dict[int, int], int]]:
    """Every constraint as weights of variables that add up to some number at least."""
    for clause in model.clauses:
        yield _positive([(1, literal) for literal in clause], 1)
    for group in model.groups:
        yield _positive([(-1, literal) for literal in group], -1)
    for row, limit in model.rows:
        yield _positive([(-weight, literal) for weight, literal in row], -limit)


def _positive(terms: list[Term], least: int) -> tuple[dict[int, int], int]:
    """The same without negated literals and with every variable once."""
    weights: dict[int, int] = {}
    for weight, literal in terms:
        if literal < 0:
            least -= weight
            weight = -weight
        weights[abs(literal)] = weights.get(abs(literal), 0) + weight
    return {variable: weight for variable, weight in weights.items() if weight}, least


def _line(weights: dict[int, int], least: int) -> str:
    if not weights:  # A row needs a variable: 0 >= 1 becomes one that no value satisfies.
        weights, least = {1: 1}, 2 if least > 0 else 0
    return " ".join([f"{weight:+d} x{variable}" for variable, weight in weights.items()]
                    + [f">= {least} ;"])  # fmt: skip


def to_smt(model: Model, notes: Sequence[str] = (), status: str = "unknown") -> str:
    """The model in SMT-LIB 2, variable ``i`` as ``x<i>``, with the status it is held to have."""
    lines = [f"; {_plain(note)}" for note in notes]
    lines += [f"(set-info :status {status})", "(set-logic QF_LIA)"]
    lines += [f"(declare-const x{i} Bool)" for i in range(1, model.variables + 1)]
    for clause in model.clauses:
        words = [_literal(each) for each in clause]
        body = "false" if not words else words[0] if len(words) == 1 else f"(or {' '.join(words)})"
        lines.append(f"(assert {body})")
    for group in model.groups:
        lines.append(_smt_row([(1, literal) for literal in group], 1))
    for row, limit in model.rows:
        lines.append(_smt_row(row, limit))
    return "\n".join([*lines, "(check-sat)", ""])


def _smt_row(row: Sequence[Term], limit: int) -> str:
    terms = [f"(ite {_literal(literal)} {weight} 0)" for weight, literal in row]
    total = terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"
    return f"(assert (<= {total} {limit}))"


def _literal(literal: int) -> str:
    return f"x{literal}" if literal > 0 else f"(not x{-literal})"
