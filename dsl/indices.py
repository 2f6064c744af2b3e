"""Indices of nodes: which places of a group they mean, and what may be wrong with them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from . import syntax
from .faults import BlamedError
from .values import whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .source import Span
    from .units import Value


def arity_fault(item: syntax.Item, needed: int) -> tuple[str, Span, str]:
    """What to say of a name with a wrong number of indices."""
    name = item.name.text
    return (
        f"{name!r} with {_count(len(item.indices))}",
        item.span,
        _count(needed) + (f", as in {_example(name, needed)}" if needed else ""),
    )


def names(name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of a group's nodes in the order of their numbers: ``chip[1, 2]``."""
    if not shape:
        return [name]
    places = product(*map(range, shape))
    return [f"{name}[{', '.join(map(str, place))}]" for place in places]


def flat(place: Sequence[int], shape: Sequence[int]) -> int:
    """The number of a place in a group of this shape; the last index runs fastest."""
    number = 0
    for index, size in zip(place, shape, strict=True):
        number = number * size + index
    return number


def _example(name: str, indices: int) -> str:
    return f"{name}[{', '.join('0' * indices)}]" if indices else name


def _count(number: int) -> str:
    return f"{number or 'no'} {'index' if number == 1 else 'indices'}"


def _indices(size: int) -> str:
    return f"0 to {size - 1}" if size > 1 else "0"


def over(items: tuple[syntax.Item, ...]) -> Span:
    """The place of all of them."""
    return items[0].span.to(items[-1].span)


def items_of(place: syntax.Expression) -> tuple[syntax.Item, ...]:
    """A node's names, the outermost first; raises ``BlamedError`` for what names no node."""
    if isinstance(place, syntax.Reference):
        return place.items
    if isinstance(place, syntax.Name):
        return (syntax.Item(place, (), place.span),)
    raise BlamedError("a value where a node is needed", place.span, "a node such as gpu[0]")


def check_last(items: tuple[syntax.Item, ...]) -> None:
    """Raise ``BlamedError`` where something stands behind a node."""
    if len(items) > 1:
        raise BlamedError(*nothing_inside(items[0], items[1]))


def whole_part(item: syntax.Item) -> tuple[str, Span, str]:
    """What to say of a part where one node is needed."""
    name = item.name.text
    return (
        f"the part {name!r} where one node is needed",
        item.span,
        f"a node of it, as in {_example(name, len(item.indices))}.ranks[0]",
    )


def nothing_inside(item: syntax.Item, behind: syntax.Item) -> tuple[str, Span, str]:
    """What to say where something stands behind a node."""
    name = item.name.text
    return f"{name!r} is no part: it has nothing inside", behind.span, f"{name!r} alone"


def position(item: syntax.Item, shape: tuple[int, ...], scope: Mapping[str, Value]) -> int:
    """Which of a group's nodes the indices mean, counted from 0; raises ``BlamedError``."""
    if len(item.indices) != len(shape):
        raise BlamedError(*arity_fault(item, len(shape)))
    pairs = zip(item.indices, shape, strict=True)
    return flat([_index(item, index, size, scope) for index, size in pairs], shape)


def _index(
    item: syntax.Item,
    index: syntax.Expression | syntax.Range,
    size: int,
    scope: Mapping[str, Value],
) -> int:
    at = whole(index, scope, "an index")
    if not 0 <= at < size:
        raise BlamedError(
            f"index {at} of {item.name.text!r} is out of range", index.span, _indices(size)
        )
    return at


def positions(
    item: syntax.Item, shape: tuple[int, ...], scope: Mapping[str, Value]
) -> Iterator[int]:
    """Which of a group's nodes a selection means: all without indices, any number of them where
    there is one index, and every combination where there are more. Raises ``BlamedError``.
    """
    if not item.indices:
        axes = [list(range(size)) for size in shape]
    elif len(shape) == 1:
        axes = [_axis(item, item.indices, shape[0], scope)]
    elif len(item.indices) == len(shape):
        axes = [
            _axis(item, (index,), size, scope)
            for index, size in zip(item.indices, shape, strict=True)
        ]
    else:
        raise BlamedError(*arity_fault(item, len(shape)))
    for place in product(*axes):
        yield flat(place, shape)


def _axis(
    item: syntax.Item,
    indices: tuple[syntax.Expression | syntax.Range, ...],
    size: int,
    scope: Mapping[str, Value],
) -> list[int]:
    """The values of one index, each once."""
    found: dict[int, None] = {}
    for index in indices:
        for at in _values(item, index, size, scope):
            if at in found:
                raise BlamedError(f"index {at} of {item.name.text!r} twice", index.span, "once")
            found[at] = None
    return list(found)


def _values(
    item: syntax.Item,
    index: syntax.Expression | syntax.Range,
    size: int,
    scope: Mapping[str, Value],
) -> Sequence[int]:
    if not isinstance(index, syntax.Range):
        return (_index(item, index, size, scope),)
    low = whole(index.low, scope, "the lower end")
    high = whole(index.high, scope, "the upper end")
    if low >= high:
        raise BlamedError(
            f"{low}..{high} is empty",
            index.span,
            "one value at least; the upper end of '..' does not belong to the range",
        )
    for at in (low, high - 1):
        if not 0 <= at < size:
            raise BlamedError(
                f"index {at} of {item.name.text!r} is out of range", index.span, _indices(size)
            )
    return range(low, high)
