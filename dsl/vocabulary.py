"""Kinds of words by what they do, for reading on after a fault."""

from __future__ import annotations

DECLARATIONS = frozenset(
    {"TOPOLOGY", "OPERATOR", "COLLECTIVE", "SCHEDULE", "ELEMENT", "PLAN", "USE"}
)
STATEMENTS = frozenset(
    {
        "RANKS", "SWITCH", "PART", "LINK", "ONLY", "WITHOUT", "WITH", "IDENTITY", "COMMUTATIVE",
        "IDEMPOTENT", "PREPARE", "FINISH", "GIVEN", "WANT", "BUSBW", "STEP", "SEND",
        "SYNTHESIZE", "RUN", "CHUNKS", "STEPS", "ROUNDS", "SIZES", "ELEMENT", "BUDGET",
        "MINIMIZE", "FORBID", "SYMMETRIC", "IN", "AT",
    }
)  # fmt: skip
INNER = frozenset({"IN", "AT"})
"""Words that begin an option of a plan, and stand within other statements."""
SOFT = frozenset(
    {
        "SWITCH", "PART", "MULTICAST", "REDUCE", "ONLY", "WITHOUT", "WITH", "FROM", "AS",
        "IDENTITY", "COMMUTATIVE", "IDEMPOTENT", "PREPARE", "FINISH", "BUSBW", "WITHIN", "OF", "ON",
        "STEP", "SEND", "TO", "VIA", "COPY", "SYNTHESIZE", "RUN", "CHUNKS", "STEPS", "ROUNDS",
        "SIZES", "ELEMENT", "BUDGET", "MINIMIZE", "LATENCY", "BANDWIDTH", "TIME", "PLACE",
        "FORBID", "MOST", "CHANNELS", "SYMMETRIC", "SCHEDULE",
    }
)  # fmt: skip
"""Keywords where the grammar has a place for them, names everywhere else."""
DISPENSABLE = frozenset({"LINK"})
"""Statements that a declaration can lose and still be checked."""
OPENING = frozenset({"LPAR", "LBRACKET"})
CLOSING = frozenset({"RPAREN", "RBRACKET"})
