"""Bounds and their certificates as people and programs read them, and back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from roundelay.dsl.source import Fault, InputError
from roundelay.synth.certificate_forms import from_json, to_json
from roundelay.synth.certificates import CertificateError

from .records import ratio
from .report import collective_text, count, show_rate, show_time
from .targets import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from roundelay.dsl.model import Problem
    from roundelay.synth.schedule import Bound, Certificate

FORMAT = 1
"""The version of what ``bounds --json`` prints and ``certify`` reads."""
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Claims:
    """What a file says that it proves: so many steps at least and so many GB/s at most (None: no
    limit) for a request, by its certificates.
    """

    request: Request
    steps: int
    algbw: Fraction | None
    certificates: tuple[Certificate, ...]


# ------------------------------------------------------------------------------------ people


def bounds_lines(problem: Problem, limit: Bound, sizes: Sequence[int]) -> Iterator[str]:
    """The limits of a problem, the reason of each, and what they come to at some sizes."""
    reasons = {c.kind == "distance": c.reason for c in limit.certificates}
    yield f"steps     at least {limit.steps}" + (f": {reasons[True]}" if True in reasons else "")
    if not limit.per_byte:
        yield "algbw     no limit: nothing has to move"
        return
    yield f"algbw     at most {_rate(1 / limit.per_byte)}"
    yield f"            {reasons[False]}"
    if problem.collective.busbw:
        yield f"busbw     at most {_rate(problem.collective.busbw / limit.per_byte)}"
    if limit.bottleneck:
        yield f"narrow    {limit.bottleneck}"
    if limit.rs_ag is not None:
        gain = float(limit.rs_ag / limit.per_byte) - 1
        more = f"; the bound is {gain:.1%} above that" if gain > 0 else ", which is the bound"
        yield f"rs + ag   {_rate(1 / limit.rs_ag)} by reduce-scatter, then all-gather{more}"
    if limit.forwarding is not None and limit.forwarding.per_byte != limit.per_byte:
        rate = _rate(1 / limit.forwarding.per_byte)
        yield f"switches  at most {rate} where they only forward, neither copy nor combine"
    yield f"proved    {_proof(limit)}"
    if limit.hurried:
        yield "budget    over: with more time there may be more to prove"
    for size in sizes:
        yield f"time      at {size} bytes: at least {show_time(limit.at(size))}"


def _proof(limit: Bound) -> str:
    if limit.tight:
        return "optimal: schedules of enough chunks come as near to it as one likes"
    if limit.reachable is None:
        return "no schedule beats the bound; how near one can come is not known"
    gap = float(limit.reachable / limit.per_byte) - 1
    rate = _rate(1 / limit.reachable)
    return f"no schedule beats the bound; {rate} can be reached: a gap of {gap:.1%}"


def _rate(rate: Fraction) -> str:
    """A rate in GB/s, with the exact fraction beside it where decimals are not."""
    exact = rate / 10**9
    shown = show_rate(rate)
    return shown if Fraction(shown.split()[0]) == exact else f"{shown} ({exact} exactly)"


# ---------------------------------------------------------------------------------- programs


def bounds_json(
    request: Request, problem: Problem, limit: Bound, sizes: Sequence[int]
) -> dict[str, Any]:
    """The object that ``bounds --json`` prints; ``certify`` reads it back."""
    gb = Fraction(1, 10**9)
    algbw = gb / limit.per_byte if limit.per_byte else None
    operator = problem.operator
    best = [c for c in limit.certificates if c.kind != "distance"]
    return {
        "format": FORMAT,
        "request": {key: value for key, value in asdict(request).items() if value is not None},
        "topology": problem.topology.name,
        "ranks": len(problem.topology.ranks),
        "collective": problem.collective.name,
        "asked": collective_text(problem),
        "op": str(operator) if operator else None,
        "assumed": dict(problem.topology.assumed),
        "steps": limit.steps,
        "algbw": None if algbw is None else ratio(algbw),
        "algbw_GBps": None if algbw is None else float(algbw),
        "busbw_GBps": None if algbw is None else float(algbw * problem.collective.busbw),
        "rs_ag_algbw_GBps": float(gb / limit.rs_ag) if limit.rs_ag else None,
        "reachable_algbw_GBps": float(gb / limit.reachable) if limit.reachable else None,
        "forwarding_algbw_GBps": float(gb / limit.forwarding.per_byte)
        if limit.forwarding is not None and limit.forwarding.per_byte
        else None,
        "proved": limit.tight,
        "hurried": limit.hurried,
        "bottleneck": limit.bottleneck,
        "times": [{"size": size, "least_us": float(limit.at(size)) * 1e6} for size in sizes],
        "certificate": to_json(best[-1]) if best else None,
        "certificates": [to_json(certificate) for certificate in limit.certificates],
    }


def read_claims(file: Path, target: str | None) -> Claims:
    """What ``bounds --json`` wrote into a file; ``target`` takes the place of its own.

    Raises ``InputError``.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise InputError(Fault(f"{file} is too large", None, f"at most {_LARGEST >> 20} MiB"))
        record = json.loads(data)
    except OSError as error:
        raise InputError(Fault(f"{file} cannot be read: {error.strerror}", None)) from None
    except (ValueError, RecursionError):
        raise InputError(
            Fault(f"{file} is not JSON", None, "what 'roundelay bounds --json' printed")
        ) from None
    return _claims(file, record, target)


def _claims(file: Path, record: Any, target: str | None) -> Claims:
    expected = "what 'roundelay bounds --json' printed"
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(Fault(f"{file} holds no certificates of format {FORMAT}", None, expected))
    asked, found = record.get("request"), record.get("certificates")
    kinds: dict[str, type] = {"target": str, "collective": str, "op": str, "root": int, "plan": int}
    if (
        not isinstance(asked, dict)
        or not isinstance(found, list)
        or not isinstance(asked.get("target"), str)
        or any(type(value) is not kinds.get(key) for key, value in asked.items())
    ):
        raise InputError(
            Fault(f"{file} does not say what its certificates are for", None, expected)
        )
    request = Request(**asked)
    if target is not None:
        request = replace(request, target=target)
    try:
        certificates = tuple(map(from_json, found))
        best = None if record.get("certificate") is None else from_json(record["certificate"])
    except CertificateError as error:
        raise InputError(Fault(f"{file} has a certificate that is none: {error}", None)) from None
    steps, algbw = record.get("steps"), record.get("algbw")
    try:
        rate = None if algbw is None else Fraction(algbw)
    except (ValueError, TypeError, ZeroDivisionError):
        rate = Fraction(-1)
    if type(steps) is not int or (rate is not None and rate <= 0):
        raise InputError(Fault(f"{file} does not say what is proved", None, expected))
    if best is not None and best not in certificates:
        raise InputError(
            Fault(f"the certificate of {file} is none of its certificates", None, expected)
        )
    return Claims(request, steps, rate, certificates)


def overstates(claims: Claims, problem: Problem) -> str:
    """What a file says beyond what its certificates prove of a problem; empty where nothing."""
    steps, rounds = 0, Fraction(0)
    for certificate in claims.certificates:
        if certificate.kind == "distance":
            steps = max(steps, int(certificate.value))
        else:
            rounds = max(rounds, certificate.value)
    if claims.steps > steps:
        return f"it says {count(claims.steps, 'step')}, and its certificates prove {steps}"
    if claims.algbw is None:
        return ""
    if not rounds:
        return f"it says {float(claims.algbw):g} GB/s, and no certificate proves a limit"
    proved = problem.topology.slowest * problem.collective.units / rounds / 10**9
    if claims.algbw < proved:
        return f"it says {claims.algbw} GB/s at most, and its certificates prove {proved}"
    return ""
