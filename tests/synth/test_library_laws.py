"""Every operator of the library is proved: nobody tests it again when it is loaded."""

from __future__ import annotations

import pytest

from roundelay.dsl.laws import refute
from roundelay.dsl.loader import problem
from roundelay.dsl.standard import names
from roundelay.synth import laws


@pytest.mark.parametrize("name", names("operator"))
def test_its_laws_hold(name: str) -> None:
    call = f"{name}(3)" if name == "premulsum" else name
    operator = problem("ring(2)", "all_reduce", (call,)).operator
    assert operator is not None
    assert list(refute(operator, ("a", "b"))) == []
    findings = laws.examine(operator, budget=60)
    assert {"associative", *(["commutative"] if operator.commutative else [])} <= {
        finding.law for finding in findings
    }
    assert {finding.verdict for finding in findings} == {"proved"}
    assert laws.unsound_elements(findings) == {}
