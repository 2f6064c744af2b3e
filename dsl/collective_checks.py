"""What can be said of a collective's text whatever the machine: names, shapes, reserved words."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from . import syntax
from .faults import unknown
from .names import check_expression, check_loops, check_parameters

if TYPE_CHECKING:
    from .faults import Report

CHUNK = "c"
"""What an index is called that counts chunks."""
RANKS = "n"
"""What the number of ranks is called."""
_RESERVED = (CHUNK, RANKS)
S = TypeVar("S", syntax.Given, syntax.Busbw)


def operators_of(declaration: syntax.Collective) -> set[str]:
    """The parameters that stand for an operator: those that combine symbols."""
    return {
        statement.value.operator.text
        for statement in declaration.statements
        if isinstance(statement, syntax.Want) and isinstance(statement.value, syntax.Fold)
    }


def check_collective(declaration: syntax.Collective, report: Report) -> None:
    """Blame what is wrong in a collective whatever the machine."""
    operators = operators_of(declaration)
    parameters = check_parameters(declaration.parameters, report, _RESERVED, operators)
    numbers = [name for name in parameters if name not in operators]
    for parameter in declaration.parameters:
        if parameter.default is not None and parameter.name.text in operators:
            report.blame(
                "an operator has a default", parameter.span, "an operator named at the call"
            )
    given = _only(declaration, syntax.Given, report)
    busbw = _only(declaration, syntax.Busbw, report)
    wants = [each for each in declaration.statements if isinstance(each, syntax.Want)]
    for kind, found in (("given", given), ("want", wants)):
        if not found:
            report.blame(
                f"collective {declaration.name.text!r} has no {kind!r}",
                declaration.name.span,
                "one 'given' and at least one 'want'",
            )
    if busbw is not None:
        check_expression(busbw.factor, [*numbers, RANKS], report)
    if given is not None:
        _check_family(given.item, given.loops, given.guard, numbers, report)
    for want in wants:
        if want.item.name.text != wants[0].item.name.text:
            report.blame(
                f"a second name for what is wanted: {want.item.name.text!r}",
                want.item.name.span,
                f"{wants[0].item.name.text!r}, as at {wants[0].span.place}",
                "tell wanted values apart by an index",
            )
        if given is not None and want.item.name.text == given.item.name.text:
            report.blame(
                f"{want.item.name.text!r} is the name of what is given",
                want.item.name.span,
                "a name of its own for what is wanted, as in: y[r, c]",
            )
        _check_want(want, given, parameters, numbers, report)


def _only(declaration: syntax.Collective, kind: type[S], report: Report) -> S | None:
    """The statement of a kind that may stand once; the others are blamed."""
    found = [each for each in declaration.statements if isinstance(each, kind)]
    for each in found[1:]:
        word, first = kind.__name__.lower(), found[0].span
        report.blame(f"a second {word!r}", each.span, f"one; the first stands at {first.place}")
    return found[0] if found else None


def _check_want(
    want: syntax.Want,
    given: syntax.Given | None,
    parameters: list[str],
    numbers: list[str],
    report: Report,
) -> None:
    free = _check_family(want.item, want.loops, want.guard, numbers, report)
    names = [*numbers, RANKS, *free]
    value = want.value
    if isinstance(value, syntax.Fold):
        if value.operator.text not in parameters:
            report.add(
                unknown("operator parameter", value.operator.text, value.operator.span, parameters)
            )
        names = check_loops(value.loops, value.guard, names, report, ranks=True, reserved=_RESERVED)
        value = value.item
    _check_chunk(value, report)
    for index in value.indices[:-1]:
        check_expression(index, names, report)
    if given is not None:
        _check_use(value, given.item, report)


def _check_family(
    item: syntax.Item,
    loops: tuple[syntax.Loop, ...],
    guard: syntax.Expression | None,
    numbers: list[str],
    report: Report,
) -> list[str]:
    """Check a declared symbol; the names bound by its loops, and those that range over ranks."""
    names = [*numbers, RANKS]
    bound = check_loops(loops, None, names, report, ranks=True, reserved=_RESERVED)[len(names) :]
    free = _check_free(item, [*numbers, *bound], report)
    if guard is not None:
        check_expression(guard, [*names, *bound, *free], report)
    return [*bound, *free]


def _check_free(item: syntax.Item, numbers: list[str], report: Report) -> list[str]:
    """Check the indices of a declared symbol; the names that range over the ranks."""
    _check_chunk(item, report)
    free: list[str] = []
    for index in item.indices[:-1]:
        if isinstance(index, syntax.Name) and index.text not in (*numbers, *_RESERVED):
            if index.text in free:
                report.blame(
                    f"index {index.text!r} twice", index.span, "a name of its own for each index"
                )
            free.append(index.text)
        else:
            check_expression(index, [*numbers, RANKS], report)
    return free


def _check_chunk(item: syntax.Item, report: Report) -> None:
    if not item.indices:
        report.blame(
            f"{item.name.text!r} has no rank", item.span, "a rank first and the chunk last: x[r, c]"
        )
        return
    last = item.indices[-1]
    if not (isinstance(last, syntax.Name) and last.text == CHUNK):
        report.blame(
            f"the last index of {item.name.text!r} is not the chunk",
            last.span,
            "'c' as the last index: the tool chooses how many chunks there are",
        )
    elif len(item.indices) < 2:
        report.blame(
            f"{item.name.text!r} has no rank", item.span, "a rank first and the chunk last: x[r, c]"
        )


def _check_use(value: syntax.Item, given: syntax.Item, report: Report) -> None:
    if value.name.text != given.name.text:
        report.add(unknown("symbol", value.name.text, value.name.span, [given.name.text]))
    elif len(value.indices) != len(given.indices):
        report.blame(
            f"{value.name.text!r} with {len(value.indices)} indices",
            value.span,
            f"{len(given.indices)}, as it is given",
        )
