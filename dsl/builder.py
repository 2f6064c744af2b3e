"""From the grammar's rules to syntax nodes: one method a rule, called as the parser reduces.

Every token arrives with its ``Span`` as its value. No Lark tree is ever built.
This file is long because the grammar has so many rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import Token, Transformer

from . import syntax

if TYPE_CHECKING:
    from .source import Span

HEIGHT = 100
"""Most levels an expression may nest; whoever walks one recurses that deep."""

Children = list[Any]


class TooDeepError(Exception):
    """An expression nests deeper than ``HEIGHT``."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


def _name(token: Token) -> syntax.Name:
    return syntax.Name(str(token), _span(token))


def _span(piece: Any) -> Span:
    """The place of a token or a node."""
    place: Span = piece.value if type(piece) is Token else piece.span
    return place


def _over(first: Any, last: Any) -> Span:
    return _span(first).to(_span(last))


def _higher(span: Span, *operands: Any) -> int:
    height = 1 + max(getattr(operand, "height", 0) for operand in operands)
    if height > HEIGHT:
        raise TooDeepError(span)
    return height


class Builder(Transformer[Token, syntax.Document]):
    """Callbacks named after the rules of ``grammar.lark``."""

    def document(self, children: Children) -> syntax.Document:
        """All declarations in their order."""
        return syntax.Document(tuple(children))

    def use(self, children: Children) -> syntax.Use:
        """USE STRING."""
        keyword, path = children
        return syntax.Use(str(path)[1:-1], _over(keyword, path))

    # ------------------------------------------------------------------------ topologies

    def topology(self, children: Children) -> syntax.Topology:
        """TOPOLOGY NAME parameters? statements RBRACE."""
        keyword, name, parameters, *statements, end = children
        return syntax.Topology(
            _name(name), parameters or (), tuple(statements), _over(keyword, end)
        )

    def parameters(self, children: Children) -> tuple[syntax.Parameter, ...]:
        """A list of parameters."""
        return tuple(children)

    def parameter(self, children: Children) -> syntax.Parameter:
        """NAME and a default."""
        name, default = children
        return syntax.Parameter(_name(name), default, _over(name, default or name))

    def ranks(self, children: Children) -> syntax.Ranks:
        """RANKS and groups."""
        keyword, *groups = children
        return syntax.Ranks(tuple(groups), _over(keyword, groups[-1]))

    def switches(self, children: Children) -> syntax.Switches:
        """SWITCH, groups, and what the switches can do."""
        keyword, *rest = children
        groups = tuple(piece for piece in rest if isinstance(piece, syntax.Item))
        abilities = tuple(_name(piece) for piece in rest if isinstance(piece, Token))
        return syntax.Switches(groups, abilities, _over(keyword, rest[-1]))

    def group(self, children: Children) -> syntax.Item:
        """NAME with or without indices."""
        name, *indices = children
        return syntax.Item(_name(name), tuple(indices[:-1]), _over(name, children[-1]))

    item = group

    def link(self, children: Children) -> syntax.Link:
        """Two nodes and what joins them."""
        keyword, src, arrow, dst, count, _, bandwidth, latency, loops, guard = children
        last = guard or (loops and loops[-1]) or latency or bandwidth
        return syntax.Link(
            src,
            dst,
            arrow.type == "BOTH",
            count,
            bandwidth,
            latency,
            loops or (),
            guard,
            _over(keyword, last),
        )

    def times(self, children: Children) -> syntax.Expression:
        """TIMES and the number of links."""
        count: syntax.Expression = children[1]
        return count

    def guard(self, children: Children) -> syntax.Expression:
        """IF and its condition."""
        condition: syntax.Expression = children[1]
        return condition

    def loops(self, children: Children) -> tuple[syntax.Loop, ...]:
        """FOR and the loops, the outermost first."""
        return tuple(children[1:])

    def loop(self, children: Children) -> syntax.Loop:
        """Names IN a domain."""
        targets, _, domain = children
        return syntax.Loop(targets, domain, _over(targets[0], domain))

    def targets(self, children: Children) -> tuple[syntax.Name, ...]:
        """The names a loop binds."""
        return tuple(map(_name, children))

    def range(self, children: Children) -> syntax.Range:
        """Expression DOTS expression."""
        low, _, high = children
        return syntax.Range(low, high, _over(low, high))

    def listing(self, children: Children) -> syntax.Listing:
        """Rows between brackets."""
        start, *rows, end = children
        return syntax.Listing(tuple(rows), _over(start, end))

    def row(self, children: Children) -> tuple[syntax.Expression, ...]:
        """One value, or several between parentheses."""
        return tuple(children)

    def everyone(self, children: Children) -> syntax.Everyone:
        """RANKS."""
        return syntax.Everyone(_span(children[0]))

    # ------------------------------------------------------------- operators, collectives

    def operator(self, children: Children) -> syntax.Operator:
        """A name, its parameters, the body, the laws."""
        keyword, name, parameters, body, laws = children
        last = laws[-1] if laws else body
        return syntax.Operator(
            _name(name),
            parameters,
            body,
            tuple(laws[:-1]) if laws else (),
            _over(keyword, last),
        )

    def laws(self, children: Children) -> Children:
        """Laws, then the RBRACE."""
        return children

    def law(self, children: Children) -> syntax.Law:
        """IDENTITY and its value, or another law's word alone."""
        word, *value = children
        return syntax.Law(str(word), value[0] if value else None, _over(word, children[-1]))

    def collective(self, children: Children) -> syntax.Collective:
        """COLLECTIVE NAME parameters? statements RBRACE."""
        keyword, name, parameters, *statements, end = children
        return syntax.Collective(
            _name(name), parameters or (), tuple(statements), _over(keyword, end)
        )

    def given(self, children: Children) -> syntax.Given:
        """GIVEN item."""
        keyword, item = children
        return syntax.Given(item, _over(keyword, item))

    def want(self, children: Children) -> syntax.Want:
        """WANT item = value."""
        keyword, item, value = children
        return syntax.Want(item, value, _over(keyword, value))

    def busbw(self, children: Children) -> syntax.Busbw:
        """BUSBW and the factor."""
        keyword, factor = children
        return syntax.Busbw(factor, _over(keyword, factor))

    def fold(self, children: Children) -> syntax.Fold:
        """An operator over an item."""
        operator, item, loops, guard, end = children
        return syntax.Fold(_name(operator), item, loops, guard, _over(operator, end))

    # ----------------------------------------------------------------------------- plans

    def plan(self, children: Children) -> syntax.Plan:
        """PLAN, options, RBRACE."""
        keyword, *options, end = children
        return syntax.Plan(tuple(options), _over(keyword, end))

    def synthesize(self, children: Children) -> syntax.Synthesize:
        """SYNTHESIZE call ON call."""
        keyword, collective, _, topology = children
        return syntax.Synthesize(collective, topology, _over(keyword, topology))

    def interval(self, children: Children) -> syntax.Interval:
        """A keyword with one value or two."""
        keyword, low, *rest = children
        high = rest[-1] if rest else None
        return syntax.Interval(str(keyword), low, high, _over(keyword, children[-1]))

    def rounds(self, children: Children) -> syntax.Rounds:
        """ROUNDS and a limit."""
        keyword, limit = children
        return syntax.Rounds(limit, _over(keyword, limit))

    def element(self, children: Children) -> syntax.Element:
        """ELEMENT NAME."""
        keyword, name = children
        return syntax.Element(_name(name), _over(keyword, name))

    def budget(self, children: Children) -> syntax.Budget:
        """BUDGET and a time."""
        keyword, time = children
        return syntax.Budget(time, _over(keyword, time))

    def minimize(self, children: Children) -> syntax.Minimize:
        """MINIMIZE and an objective, TIME with its size."""
        keyword, kind, *rest = children
        size = rest[1] if rest else None
        return syntax.Minimize(str(kind), size, _over(keyword, children[-1]))

    def call(self, children: Children) -> syntax.Call:
        """NAME with or without arguments."""
        name, arguments = children
        if arguments is None:
            return syntax.Call(_name(name), (), _span(name))
        return syntax.Call(_name(name), tuple(arguments[:-1]), _over(name, arguments[-1]))

    def arguments(self, children: Children) -> Children:
        """Arguments, then the RPAREN."""
        return children

    def argument(self, children: Children) -> syntax.Argument:
        """A value, perhaps with a name."""
        name, value = children
        return syntax.Argument(
            None if name is None else _name(name), value, _over(name or value, value)
        )

    # ----------------------------------------------------------------------- expressions

    def binary(self, children: Children) -> syntax.Binary:
        """Left, operation, right."""
        left, operation, right = children
        span = _over(left, right)
        return syntax.Binary(
            str(operation), left, right, span, _higher(_span(operation), left, right)
        )

    def unary(self, children: Children) -> syntax.Unary:
        """Operation and operand."""
        operation, operand = children
        return syntax.Unary(
            str(operation),
            operand,
            _over(operation, operand),
            _higher(_span(operation), operand),
        )

    def apply(self, children: Children) -> syntax.Apply:
        """A function's name and its arguments."""
        function, *arguments, end = children
        return syntax.Apply(
            _name(function),
            tuple(arguments),
            _over(function, end),
            _higher(_span(function), *arguments),
        )

    def number(self, children: Children) -> syntax.Number:
        """Digits, perhaps with a unit."""
        digits, unit = children
        return syntax.Number(
            str(digits), "" if unit is None else str(unit), _over(digits, unit or digits)
        )

    def name(self, children: Children) -> syntax.Name:
        """NAME in an expression."""
        return _name(children[0])
