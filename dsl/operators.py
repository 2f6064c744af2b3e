"""An operator's text, made into the model."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError, unknown
from .laws import refute
from .model import Apply, Number, Operator, Variable
from .names import check_parameters
from .values import FUNCTIONS, arity_fault, number

if TYPE_CHECKING:
    from .faults import Report
    from .model import Expression, Function

SIZE = 100
"""Most operations in the body of an operator."""

_ARITHMETIC: dict[str, Function] = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_CALLS: dict[str, Function] = {"min": "min", "max": "max", "abs": "abs"}


def build_operator(declaration: syntax.Operator, report: Report) -> Operator | None:
    """The operator that a declaration describes, its laws tested, or None and faults."""
    before = len(report.faults)
    parameters = check_parameters(declaration.parameters, report)
    for parameter in declaration.parameters:
        if parameter.default is not None:
            report.blame(
                f"parameter {parameter.name.text!r} of an operator has a default",
                parameter.span,
                "a name alone",
            )
    if len(parameters) != 2:
        span = declaration.name.span
        if declaration.parameters:
            span = declaration.parameters[0].span.to(declaration.parameters[-1].span)
        report.blame(
            f"operator {declaration.name.text!r} has {len(parameters)} parameters",
            span,
            "two, the values to combine",
        )
    identity, kinds = _laws(declaration, report)
    if len(report.faults) > before:
        return None
    body = _Body(parameters, report).convert(declaration.body)
    if len(report.faults) > before:
        return None
    operator = Operator(
        declaration.name.text,
        body,
        identity,
        "commutative" in kinds,
        "idempotent" in kinds,
        declaration.span,
    )
    for law, example in refute(operator, tuple(parameters)):
        spans = {each.kind: each.span for each in declaration.laws}
        report.blame(
            f"operator {operator.name!r} is not {law}: {example}"
            if law != "identity"
            else f"{identity} is not the identity of operator {operator.name!r}: {example}",
            spans.get(law, declaration.body.span),
            "an operator is associative: ranks combine values in any grouping"
            if law == "associative"
            else "laws that hold",
            "leave the law out" if law in spans else "",
        )
    return operator if len(report.faults) == before else None


def _laws(
    declaration: syntax.Operator, report: Report
) -> tuple[Fraction | None, dict[str, syntax.Law]]:
    identity = None
    kinds: dict[str, syntax.Law] = {}
    for law in declaration.laws:
        if law.kind in kinds:
            report.blame(f"{law.kind!r} is said twice", law.span, "once")
        kinds[law.kind] = law
        if law.value is not None:
            try:
                identity = number(law.value, {}, "the identity")
            except BlamedError as error:
                report.add(error.fault)
    return identity, kinds


class _Body:
    """Turns syntax into the model's expressions."""

    def __init__(self, parameters: list[str], report: Report) -> None:
        self.parameters = parameters
        self.report = report
        self.size = 0

    def convert(self, node: syntax.Expression) -> Expression:
        """The expression of a node; where there is none, a fault and 0."""
        self.size += 1
        if self.size == SIZE + 1:
            self.report.blame("an operator's body too large", node.span, f"at most {SIZE} parts")
        if self.size > SIZE:
            return Number(Fraction(0))
        if isinstance(node, syntax.Name):
            if node.text in self.parameters:
                return Variable(self.parameters.index(node.text))
            self.report.add(unknown("name", node.text, node.span, self.parameters))
        elif isinstance(node, syntax.Number):
            try:
                return Number(number(node, {}, "a constant"))
            except BlamedError as error:
                self.report.add(error.fault)
        elif isinstance(node, syntax.Unary) and node.operation == "-":
            return Apply("neg", (self.convert(node.operand),))
        elif isinstance(node, syntax.Binary) and node.operation in _ARITHMETIC:
            left, right = self.convert(node.left), self.convert(node.right)
            return Apply(_ARITHMETIC[node.operation], (left, right))
        elif isinstance(node, syntax.Apply):
            name = node.function.text
            if name not in _CALLS:
                self.report.add(unknown("function", name, node.function.span, FUNCTIONS))
            elif len(node.arguments) != FUNCTIONS[name]:
                self.report.blame(*arity_fault(node))
            else:
                return Apply(_CALLS[name], tuple(map(self.convert, node.arguments)))
        else:
            self.report.blame(
                f"{node.operation!r} in an operator's body",
                node.span,
                "+, -, *, /, min, max, abs, numbers and the two values",
            )
        return Number(Fraction(0))
