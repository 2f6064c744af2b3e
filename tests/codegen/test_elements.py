from __future__ import annotations

from roundelay.codegen.elements import ELEMENTS
from roundelay.dsl.model import ELEMENT_NAMES


def test_a_plan_may_name_every_element_and_no_other() -> None:
    assert tuple(ELEMENTS) == ELEMENT_NAMES
