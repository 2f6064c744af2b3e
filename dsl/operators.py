"""An operator's text, made into the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from . import syntax
from .bodies import Names, read_body
from .faults import BlamedError, Report
from .laws import find_undefined, refute, undefined
from .model import ELEMENT_NAMES, Operator
from .names import check_parameters
from .plain import check_plain
from .standard import belongs
from .values import number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .model import Body, Struct
    from .source import Span

    Structs = Callable[[syntax.Name], Struct | None]

_SAMPLES = tuple(map(Fraction, (2, 3, 5)))
_FURTHER = (Fraction(-3), Fraction(1, 2))  # Not every operator takes such numbers.


def build_operator(
    declaration: syntax.Operator,
    arguments: Mapping[str, Fraction],
    structs: Structs,
    report: Report,
) -> Operator | None:
    """The operator that a declaration describes, its laws tested, or None and faults.

    ``arguments`` are the values of its numbers by name; one that is not there has its default.
    ``structs`` finds the element of a name, and blames one that does not exist. Operators of the
    library are tested once, by its own tests, unless they take numbers.
    """
    operator = _Builder(declaration, structs, report).build(arguments)
    if operator is None or (belongs(declaration.span) and not arguments):
        return operator
    before = len(report.faults)
    _judge(operator, declaration, report)
    return operator if len(report.faults) == before else None


def check_operator(declaration: syntax.Operator, structs: Structs, report: Report) -> None:
    """Blame what is wrong with an operator whatever its numbers are: it is tried with a few.

    Numbers that mean nothing to it (1/2 among bits, a root of -3) are passed over.
    """
    names = [each.name.text for each in declaration.numbers if each.default is None]
    if not names:
        build_operator(declaration, {}, structs, report)
        return
    samples = (*_SAMPLES, *_FURTHER)
    nowhere = []
    for i in range(len(samples)):
        arguments = {name: samples[(i + j) % len(samples)] for j, name in enumerate(names)}
        numbers_fit = set(arguments.values()) <= set(_SAMPLES)
        builder = _Builder(declaration, structs, report if numbers_fit else Report())
        operator = builder.build(arguments)
        if operator is None and numbers_fit:
            return
        if operator is not None and undefined(operator):
            nowhere.append(operator)
        elif operator is not None:
            before = len(report.faults)
            _judge(operator, declaration, report)
            if len(report.faults) > before:
                return
    if len(nowhere) == len(samples):
        _judge(nowhere[0], declaration, report)


def _judge(operator: Operator, declaration: syntax.Operator, report: Report) -> None:
    """Blame laws that do not hold, and mappings without a value."""
    name, body = str(operator), declaration.body
    spans = {each.kind: each.span for each in declaration.laws}
    names = tuple(each.name.text for each in declaration.parameters)
    for law, example in refute(operator, names):
        report.blame(
            f"operator {name!r} is not {law}: {example}"
            if law != "identity"
            else f"{operator.identity} is not the identity of operator {name!r}: {example}",
            spans.get(law, declaration.name.span if isinstance(body, tuple) else body.span),
            "an operator is associative: ranks combine values in any grouping"
            if law == "associative"
            else "laws that hold",
            "leave the law out" if law in spans else "",
        )
    for each in declaration.laws:
        mapping = {"prepare": operator.prepare, "finish": operator.finish}.get(each.kind)
        reason = "" if mapping is None else find_undefined(operator, mapping)
        if reason:
            message = f"{each.kind!r} of operator {name!r} has no value anywhere ({reason})"
            report.blame(message, each.span, "a value for some numbers at least")


@dataclass(slots=True)
class _Builder:
    declaration: syntax.Operator
    structs: Structs
    report: Report
    spans: dict[int, Span] = field(default_factory=dict)

    def build(self, arguments: Mapping[str, Fraction]) -> Operator | None:
        """The operator, its laws not yet tested."""
        declaration, report = self.declaration, self.report
        before = len(report.faults)
        numbers = self._numbers(arguments)
        values = self._values(numbers)
        laws = self._laws()
        struct = None if len(report.faults) > before else self._struct()
        kind = declaration.parameters[0].kind if declaration.parameters else None
        if len(report.faults) > before or (kind is not None and struct is None):
            return None
        names = Names(declaration.name.text, numbers, tuple(values), struct)
        # A bare word in a body is a field of the result: no parameter may bear its name.
        parameters = (*declaration.numbers, *declaration.parameters)
        self._check_words([each.name for each in parameters], struct)
        body = read_body(declaration.body, names, declaration.name.span, report, self.spans)
        mapped = {
            kind: self._mapping(law, names)
            for kind, law in laws.items()
            if isinstance(law, syntax.Mapping)
        }
        identity = self._identity(laws.get("identity"), names)
        if body is None or len(report.faults) > before:
            return None
        operator = Operator(
            declaration.name.text,
            body,
            identity,
            "commutative" in laws,
            "idempotent" in laws,
            declaration.span,
            struct,
            mapped.get("prepare"),
            mapped.get("finish"),
            tuple(numbers.values()),
        )
        if struct is None:
            check_plain(operator, self.spans, declaration.name.span, report)
        return operator if len(report.faults) == before else None

    # ------------------------------------------------------------------------ parameters

    def _numbers(self, arguments: Mapping[str, Fraction]) -> dict[str, Fraction]:
        numbers: dict[str, Fraction] = {}
        check_parameters(self.declaration.numbers, self.report)
        for parameter in self.declaration.numbers:
            name = parameter.name.text
            if parameter.kind is not None:
                self.report.blame(
                    f"the number {name!r} has an element",
                    parameter.kind.span,
                    "a name alone, perhaps with a default",
                )
            if name in arguments:
                numbers[name] = arguments[name]
            elif parameter.default is not None:
                try:
                    numbers[name] = number(parameter.default, numbers, f"the default of {name!r}")
                except BlamedError as error:
                    self.report.add(error.fault)
        return numbers

    def _values(self, numbers: Mapping[str, Fraction]) -> list[str]:
        declaration = self.declaration
        values = check_parameters(declaration.parameters, self.report)
        for parameter in declaration.parameters:
            if parameter.default is not None:
                self.report.blame(
                    f"parameter {parameter.name.text!r} of an operator has a default",
                    parameter.span,
                    "a name alone",
                )
            if parameter.name.text in numbers:
                self.report.blame(
                    f"two parameters are called {parameter.name.text!r}",
                    parameter.name.span,
                    "names that differ",
                )
        if len(values) != 2:
            span = declaration.name.span
            if declaration.parameters:
                span = declaration.parameters[0].span.to(declaration.parameters[-1].span)
            self.report.blame(
                f"operator {declaration.name.text!r} has {len(values)} parameters",
                span,
                "two, the values to combine",
            )
        return values

    def _struct(self) -> Struct | None:
        """The element of the two values; None for plain numbers, and where there are faults."""
        left, right = self.declaration.parameters
        if left.kind is None and right.kind is None:
            return None
        if left.kind is None or right.kind is None or left.kind.text != right.kind.text:
            found = left.kind or right.kind
            assert found is not None
            a, b = left.name.text, right.name.text
            self.report.blame(
                f"the values of operator {self.declaration.name.text!r} are of different elements",
                right.span,
                f"the same for both: ({a}: {found.text}, {b}: {found.text})",
            )
            return None
        if left.kind.text in ELEMENT_NAMES:
            self.report.blame(
                f"an operator for {left.kind.text} alone",
                left.kind.span,
                "an element with fields, or none",
                "leave it out: plain numbers are of the element type that a plan names",
            )
            return None
        return self.structs(left.kind)

    def _check_words(self, words: list[syntax.Name], struct: Struct | None) -> None:
        for word in words:
            if struct is not None and any(each.name == word.text for each in struct.fields):
                self.report.blame(
                    f"{word.text!r} is a field of {struct.name!r}, too",
                    word.span,
                    "a name that no field bears",
                )

    # ------------------------------------------------------------------------------ laws

    def _laws(self) -> dict[str, syntax.Law | syntax.Mapping]:
        laws: dict[str, syntax.Law | syntax.Mapping] = {}
        for law in self.declaration.laws:
            if law.kind in laws:
                self.report.blame(f"{law.kind!r} is said twice", law.span, "once")
            laws.setdefault(law.kind, law)
        return laws

    def _identity(self, law: syntax.Law | syntax.Mapping | None, names: Names) -> Fraction | None:
        if not isinstance(law, syntax.Law) or law.value is None:
            return None
        if names.struct is not None:
            self.report.blame(
                f"an identity of elements {names.struct.name!r}",
                law.span,
                "an identity is one number, and these have fields",
                "leave it out; nothing that combines such elements needs it",
            )
            return None
        try:
            return number(law.value, dict(names.numbers), "the identity")
        except BlamedError as error:
            self.report.add(error.fault)
            return None

    def _mapping(self, mapping: syntax.Mapping, names: Names) -> Body | None:
        words = [each.text for each in mapping.parameters]
        wanted = 1 if mapping.kind == "prepare" else 2
        if len(words) != wanted:
            self.report.blame(
                f"{mapping.kind!r} of {len(words)} {'name' if len(words) == 1 else 'names'}",
                mapping.parameters[0].span.to(mapping.parameters[-1].span),
                "one name, the value given"
                if wanted == 1
                else "two names, a value combined and of how many: finish (a, n)",
            )
            return None
        for i, word in enumerate(mapping.parameters):
            if word.text in names.numbers or word.text in words[:i]:
                message = f"two parameters are called {word.text!r}"
                self.report.blame(message, word.span, "names that differ")
        self._check_words(list(mapping.parameters), names.struct)
        own = Names(names.operator, names.numbers, (words[0],), names.struct, "".join(words[1:]))
        return read_body(mapping.body, own, mapping.span, self.report, self.spans)
