"""An operator's expressions and assignments, made into the model's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from . import model, syntax
from .faults import BlamedError, unknown
from .kinds import find_misuse, type_body, walk
from .values import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .faults import Report
    from .model import Body, Expression, Function
    from .source import Span

SIZE = 100
"""Most parts of one expression: of an operator of plain numbers, or of one field."""
ALL = 500
"""Most parts of all fields together."""

FUNCTIONS: dict[Function, int] = {
    "abs": 1,
    "exp": 1,
    "log": 1,
    "logaddexp": 2,
    "max": 2,
    "min": 2,
    "sqrt": 1,
    "where": 3,
}
"""Functions of an operator's body, and how many arguments each takes."""

_CALLS: dict[str, Function] = {name: name for name in FUNCTIONS}
_UNARY: dict[str, Function] = {"-": "neg", "not": "not", "~": "inv"}
_BINARY: dict[str, Function] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "&": "band", "|": "bor", "^": "bxor",
    "<<": "shl", ">>": "shr", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq",
    "!=": "ne", "and": "and", "or": "or",
}  # fmt: skip
_REMEDIES = {
    "//": "'/' divides floating-point numbers; integers have '>>'",
    "%": "integers have '&': a & 7 for a % 8",
    "**": "multiply: a * a, or use sqrt and exp",
}


@dataclass(frozen=True, slots=True)
class Names:
    """What the words of a body mean.

    ``numbers`` are those the operator was called with, ``values`` the names of what it combines,
    ``count`` that of how many values were combined, in ``finish``.
    """

    operator: str
    numbers: Mapping[str, Fraction]
    values: tuple[str, ...]
    struct: model.Struct | None
    count: str = ""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(each.name for each in self.struct.fields) if self.struct else ()


def read_body(
    text: syntax.Body, names: Names, where: Span, report: Report, spans: dict[int, Span]
) -> Body | None:
    """The body that a text means, or None and faults; ``where`` is a place to blame.

    ``spans`` takes in the place of every part, by its identity: equal parts stand at several.
    """
    before = len(report.faults)
    reader = _Reader(names, report, spans)
    if names.struct is None:
        body = reader.read_plain(text, where)
    else:
        body = reader.read_fields(text, where)
    if body is None or len(report.faults) > before:
        return None
    if names.struct is not None:
        _check_lengths(body, names.struct, report, spans)
        kinds = [each.element for each in names.struct.fields]
        for assigned, part in type_body(body, kinds):
            for node, message, expected in find_misuse(part, kinds[assigned], bool(names.count)):
                report.blame(message, spans[id(node)], expected)
    return body if len(report.faults) == before else None


def _check_lengths(
    body: Body, struct: model.Struct, report: Report, spans: dict[int, Span]
) -> None:
    """Blame what a vector field, taken place by place, cannot be made of."""
    for each in body:
        target = struct.fields[each.field]
        for node in walk(each.value):
            if not isinstance(node, model.Variable | model.Made):
                continue
            source = struct.fields[node.field]
            if source.length in (1, target.length):
                continue
            own = "one value" if target.length == 1 else f"{target.length} values"
            report.blame(
                f"field {target.name!r} of {own} is made of {source.name!r}, which has "
                f"{source.length}",
                spans[id(node)],
                "fields of one value" + ("" if target.length == 1 else f" or of {target.length}"),
            )


@dataclass(slots=True)
class _Reader:
    names: Names
    report: Report
    spans: dict[int, Span]
    made: list[str] = field(default_factory=list)
    size: int = 0

    def read_plain(self, text: syntax.Body, where: Span) -> Body | None:
        """The one expression of an operator of plain numbers."""
        if isinstance(text, tuple):
            self.report.blame(
                f"operator {self.names.operator!r} of plain numbers assigns fields"
                if text
                else f"operator {self.names.operator!r} does not say what it gives",
                text[0].span if text else where,
                "one expression behind '='",
                "for values with fields name their element: (a: partial, b: partial)",
            )
            return None
        return model.scalar_body(self.convert(text))

    def read_fields(self, text: syntax.Body, where: Span) -> Body | None:
        """One assignment a field."""
        fields = self.names.fields
        if not isinstance(text, tuple):
            assert self.names.struct is not None
            self.report.blame(
                f"one expression for the {len(fields)} fields of {self.names.struct.name!r}",
                text.span,
                f"an assignment a field between braces: {{ {fields[0]} = ... }}",
            )
            return None
        body, total = [], 0
        targets = Counter(each.target.text for each in text)
        for each in text:
            target = each.target
            self.size = 0
            value = self.convert(each.value)
            if target.text not in fields:
                self.report.add(unknown("field", target.text, target.span, fields))
            elif target.text in self.made:
                self.report.blame(
                    f"field {target.text!r} is assigned twice", target.span, "one assignment"
                )
            else:
                self.made.append(target.text)
                body.append(model.Assignment(fields.index(target.text), value))
            total += self.size
        if total > ALL:
            message = f"an operator's body too large: {total} parts"
            self.report.blame(message, where, f"at most {ALL} in all fields together")
        missing = [name for name in fields if not targets[name]]
        if missing:
            self.report.blame(
                f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} not made",
                where,
                f"an assignment for each of {', '.join(fields)}",
            )
        return tuple(body)

    def convert(self, node: syntax.Expression) -> Expression:
        """The expression of a node; where there is none, a fault and 0."""
        self.size += 1
        if self.size == SIZE + 1:
            self.report.blame("an operator's body too large", node.span, f"at most {SIZE} parts")
        if self.size > SIZE:
            return model.Number(Fraction(0))
        made = self._convert(node)
        self.spans[id(made)] = node.span
        return made

    def _convert(self, node: syntax.Expression) -> Expression:
        match node:
            case syntax.Name():
                return self._name(node)
            case syntax.Reference():
                return self._reference(node)
            case syntax.Number():
                try:
                    return model.Number(number(node, {}, "a constant"))
                except BlamedError as error:
                    self.report.add(error.fault)
            case syntax.Unary():
                operand = self.convert(node.operand)
                if node.operation == "-" and isinstance(operand, model.Number):
                    # One number, as written: -128 is an i8, 128 is none.
                    return model.Number(-operand.value)
                return model.Apply(_UNARY[node.operation], (operand,))
            case syntax.Binary():
                parts = self.convert(node.left), self.convert(node.right)
                if node.operation in _BINARY:
                    return model.Apply(_BINARY[node.operation], parts)
                self.report.blame(
                    f"{node.operation!r} in an operator's body",
                    node.span,
                    "what every machine computes alike: + - * /, comparisons, and or not, "
                    f"& | ^ ~ << >>, {', '.join(FUNCTIONS)}",
                    _REMEDIES[node.operation],
                )
            case syntax.Apply():
                return self._call(node)
        return model.Number(Fraction(0))

    def _call(self, node: syntax.Apply) -> Expression:
        name = _CALLS.get(node.function.text)
        parts = tuple(map(self.convert, node.arguments))
        if name is None:
            word = node.function
            self.report.add(unknown("function", word.text, word.span, FUNCTIONS))
        elif len(parts) != FUNCTIONS[name]:
            self.report.blame(
                f"wrong number of arguments for {name}: {len(parts)}",
                node.span,
                "a condition and two values" if name == "where" else str(FUNCTIONS[name]),
            )
        else:
            return model.Apply(name, parts)
        return model.Number(Fraction(0))

    def _name(self, node: syntax.Name) -> Expression:
        names, word = self.names, node.text
        if word in names.numbers:
            return model.Number(names.numbers[word])
        if word == names.count:
            return model.Count()
        if word in names.values and names.struct is None:
            return model.Variable(names.values.index(word))
        if word in self.made:
            return model.Made(names.fields.index(word))
        if word in names.values:
            fields = ", ".join(f"{word}.{each}" for each in names.fields)
            self.report.blame(
                f"{word!r} is a whole element where one number is needed",
                node.span,
                f"one of {fields}",
            )
        elif word in names.fields:
            self.report.blame(
                f"field {word!r} of the result is used before it is made",
                node.span,
                "a field that an assignment above has made",
                f"{names.values[0]}.{word} is the field of the value given",
            )
        else:
            values = names.values
            if names.struct is not None:
                values = tuple(f"{a}.{field}" for a in values for field in names.fields)
            known = [*names.numbers, *values, *self.made, *filter(None, [names.count])]
            self.report.add(unknown("name", word, node.span, known))
        return model.Number(Fraction(0))

    def _reference(self, node: syntax.Reference) -> Expression:
        names = self.names
        value = node.items[0].name
        indexed = next((each for each in node.items if each.indices), None)
        if value.text not in names.values:
            self.report.add(unknown("value", value.text, value.span, names.values))
        elif indexed is not None:
            self.report.blame(
                "an index in an operator's body",
                indexed.span,
                "a whole field: every place of a vector is combined alike",
            )
        elif names.struct is None:
            self.report.blame(
                f"{value.text!r} has no fields",
                node.span,
                f"{value.text!r} alone, a plain number",
                f"for a value with fields name its element: ({value.text}: partial, ...)",
            )
        elif len(node.items) > 2:
            self.report.blame("a field of a field", node.span, "a field of one of the values")
        else:
            name = node.items[1].name
            if name.text in names.fields:
                index = names.values.index(value.text)
                return model.Variable(index, names.fields.index(name.text))
            self.report.add(unknown("field", name.text, name.span, names.fields))
        return model.Number(Fraction(0))
