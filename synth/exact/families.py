"""The families of constraints that the encodings are made of, each of which can be left out.

A model with a family left out has more solutions, some of which are no schedules; with
``distance``, ``slots`` or ``order`` left out it has the same answer, later. That is for tests and
for those who want to know what a family costs: no verdict of such a model reaches a user.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Model

FAMILIES = {
    "reach": "what is wanted arrives, and is made of what it is to be made of",
    "hold": "a rank sends what it has made or what has arrived before the step",
    "once": "a value arrives at a rank once at most",
    "carry": "what a message holds travels on a link",
    "made": "what a message or result holds is what its parts hold, all of it",
    "disjoint": "parts of a merge share no value",
    "root": "the trees of a chunk have one root",
    "same": "copies that a switch makes of a message are made of the same",
    "together": "messages that a switch combines are taken together by whatever takes one",
    "climb": "a rank sends up once, after all that comes up to it",
    "runs": "what a message holds stands side by side in the order of the operator",
    "rounds": "the busiest links' loads add up to no more rounds than allowed",
    "distance": "no message too early to exist or too late to help (saves time alone)",
    "slots": "a second message between two ranks in a step needs a first (saves time alone)",
    "order": "equal chunks are told apart in one way only (saves time alone)",
}
"""What may be left out, and what each says."""

P = ParamSpec("P")


def family(
    name: str,
) -> Callable[[Callable[Concatenate[Model, P], None]], Callable[Concatenate[Model, P], None]]:
    """Mark a function that adds constraints of one family to the model it is given first."""
    assert name in FAMILIES, name

    def wrap(
        function: Callable[Concatenate[Model, P], None],
    ) -> Callable[Concatenate[Model, P], None]:
        @wraps(function)
        def add(model: Model, /, *args: P.args, **kwargs: P.kwargs) -> None:
            if name not in model.without:
                function(model, *args, **kwargs)

        return add

    return wrap
