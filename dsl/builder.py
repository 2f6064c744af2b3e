"""From the grammar's rules to syntax nodes: one method a rule, called as the parser reduces.

Every word arrives with its place. No Lark tree is ever built.
This file is long because the grammar has so many rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lark import Transformer

from . import syntax
from .source import Span

if TYPE_CHECKING:
    from .source import Source

HEIGHT = 100
"""Most levels an expression may nest; whoever walks one recurses that deep."""

Children = list[Any]


class TooDeepError(Exception):
    """An expression nests deeper than ``HEIGHT``."""

    def __init__(self, span: Span) -> None:
        super().__init__()
        self.span = span


@dataclass(slots=True, eq=False)
class Word:
    """A word of a text and its place: keyword, name, number, sign."""

    type: str
    text: str
    source: Source
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The word's place."""
        return Span(self.source, self.start, self.end)


def _name(word: Word) -> syntax.Name:
    return syntax.Name(word.text, word.span)


def _text(word: Word) -> syntax.Text:
    return syntax.Text(word.text[1:-1], word.span)


def _span(piece: Any) -> Span:
    """The place of a word or a node."""
    place: Span = piece.span
    return place


def _over(first: Any, last: Any) -> Span:
    if type(first) is Word:
        end = last.end if type(last) is Word else last.span.end
        return Span(first.source, first.start, end)
    start: Span = first.span
    return Span(start.source, start.start, last.end if type(last) is Word else last.span.end)


def _higher(span: Span, *operands: Any) -> int:
    height = 1 + max(getattr(operand, "height", 0) for operand in operands)
    if height > HEIGHT:
        raise TooDeepError(span)
    return height


def _between(children: Children, kind: type) -> tuple[Any, ...]:
    """The children of a type, in order."""
    return tuple(child for child in children if isinstance(child, kind))


Turns = tuple[tuple[syntax.Loop, ...], syntax.Expression | None]


def _turns(loops: tuple[syntax.Loop, ...] | None, guard: syntax.Expression | None) -> Turns:
    return loops or (), guard


def _end(*candidates: Any) -> Any:
    """The last thing that is there: a guard, loops, or what stands before them."""
    found = [each for each in candidates if each]
    last = found[-1]
    return last[-1] if isinstance(last, tuple | list) else last


class Builder(Transformer[Any, syntax.Document]):
    """Callbacks named after the rules of ``grammar.lark``."""

    def document(self, children: Children) -> syntax.Document:
        """All declarations in their order."""
        return syntax.Document(tuple(children))

    def use(self, children: Children) -> syntax.Use:
        """USE STRING."""
        keyword, path = children
        return syntax.Use(_text(path), _over(keyword, path))

    # ------------------------------------------------------------------------ topologies

    def topology(self, children: Children) -> syntax.Topology:
        """TOPOLOGY NAME parameters? statements RBRACE."""
        keyword, name, parameters, *statements, end = children
        return syntax.Topology(
            _name(name), parameters or (), tuple(statements), _over(keyword, end)
        )

    def derived(self, children: Children) -> syntax.Derived:
        """TOPOLOGY NAME parameters? base changes."""
        keyword, name, parameters, base, *changes = children
        last = _end(base, changes)
        return syntax.Derived(
            _name(name), parameters or (), base, tuple(changes), _over(keyword, last)
        )

    def imported(self, children: Children) -> syntax.Imported:
        """TOPOLOGY NAME FROM STRING AS format speeds RBRACE."""
        keyword, name, _, path, _, format_, *speeds, end = children
        return syntax.Imported(
            _name(name), _text(path), format_, tuple(speeds), _over(keyword, end)
        )

    def format(self, children: Children) -> syntax.Name:
        """Words joined by MINUS: nvidia-smi."""
        return syntax.Name(
            "".join(word.text for word in children), _over(children[0], children[-1])
        )

    def speed(self, children: Children) -> syntax.Speed:
        """NAME bandwidth, latency?."""
        name, bandwidth, latency = children
        return syntax.Speed(_name(name), bandwidth, latency, _over(name, latency or bandwidth))

    def parameters(self, children: Children) -> tuple[syntax.Parameter, ...]:
        """A list of parameters, then the RPAREN."""
        return tuple(children[:-1])

    def parameter(self, children: Children) -> syntax.Parameter:
        """NAME, the struct it holds, and a default."""
        name, kind, default = children
        return syntax.Parameter(
            _name(name),
            None if kind is None else _name(kind),
            default,
            _over(name, _end(name, kind, default)),
        )

    def ranks(self, children: Children) -> syntax.Ranks:
        """RANKS and groups."""
        keyword, *groups = children
        return syntax.Ranks(tuple(groups), _over(keyword, groups[-1]))

    def switches(self, children: Children) -> syntax.Switches:
        """SWITCH, groups, and what the switches can do."""
        keyword, *rest = children
        abilities = tuple(_name(piece) for piece in rest if isinstance(piece, Word))
        return syntax.Switches(_between(rest, syntax.Item), abilities, _over(keyword, rest[-1]))

    def part(self, children: Children) -> syntax.Part:
        """PART item, the machine."""
        keyword, group, machine = children
        return syntax.Part(group, machine, _over(keyword, machine))

    def item(self, children: Children) -> syntax.Item:
        """NAME with or without indices."""
        name, *indices = children
        return syntax.Item(_name(name), tuple(indices[:-1]), _over(name, children[-1]))

    everyone_of = item  # RANKS with an index, behind a part.

    def link(self, children: Children) -> syntax.Link:
        """Two nodes and what joins them."""
        keyword, src, arrow, dst, count, _, bandwidth, latency, loops, guard = children
        return syntax.Link(
            keyword.type == "WITH",
            src,
            dst,
            arrow.type == "BOTH",
            count,
            bandwidth,
            latency,
            loops or (),
            guard,
            _over(keyword, _end(bandwidth, latency, loops, guard)),
        )

    change = link

    def times(self, children: Children) -> syntax.Expression:
        """TIMES and the number of links."""
        count: syntax.Expression = children[1]
        return count

    def only(self, children: Children) -> syntax.Only:
        """ONLY nodes."""
        keyword, *nodes, loops, guard = children
        last = _end(nodes, loops, guard)
        return syntax.Only(tuple(nodes), *_turns(loops, guard), _over(keyword, last))

    def without(self, children: Children) -> syntax.Without:
        """WITHOUT connections."""
        keyword, *removals, loops, guard = children
        last = _end(removals, loops, guard)
        return syntax.Without(tuple(removals), *_turns(loops, guard), _over(keyword, last))

    def connection(self, children: Children) -> syntax.Connection:
        """A node, or two and an arrow."""
        src, *rest = children
        dst = rest[1] if rest else None
        both = not rest or rest[0].type == "BOTH"
        return syntax.Connection(src, dst, both, _over(src, dst or src))

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
        """RANKS, perhaps of a part."""
        part = _name(children[2]) if len(children) > 1 else None
        return syntax.Everyone(part, _over(children[0], children[-1]))

    # ------------------------------------------------------------------------- operators

    def struct(self, children: Children) -> syntax.Struct:
        """ELEMENT NAME fields RBRACE."""
        keyword, name, *fields, end = children
        return syntax.Struct(_name(name), tuple(fields), _over(keyword, end))

    def field(self, children: Children) -> syntax.Field:
        """NAME, its element type, its length."""
        name, element, *length = children
        return syntax.Field(
            _name(name), _name(element), length[0] if length else None, _over(name, children[-1])
        )

    def operator(self, children: Children) -> syntax.Operator:
        """A name, its numbers, its parameters, the body, the laws."""
        keyword, name, first, second, body, laws = children
        last = laws[-1] if laws else body
        return syntax.Operator(
            _name(name),
            first if second is not None else (),
            first if second is None else second,
            body,
            tuple(laws[:-1]) if laws else (),
            _over(keyword, last),
        )

    def fieldwise(self, children: Children) -> syntax.Operator:
        """As ``operator``, its body one assignment a field."""
        keyword, name, first, second, *rest, end = children
        return syntax.Operator(
            _name(name),
            first if second is not None else (),
            first if second is None else second,
            _between(rest, syntax.Assignment),
            tuple(each for each in rest if not isinstance(each, syntax.Assignment)),
            _over(keyword, end),
        )

    def laws(self, children: Children) -> Children:
        """Laws, then the RBRACE."""
        return children

    def law(self, children: Children) -> syntax.Law:
        """IDENTITY and its value, or another law's word alone."""
        word, *value = children
        return syntax.Law(word.text, value[0] if value else None, _over(word, children[-1]))

    def mapping(self, children: Children) -> syntax.Mapping:
        """PREPARE or FINISH, names, and what they are made into."""
        keyword, *names, made = children
        last = made
        if isinstance(made, list):
            last, made = made[-1], tuple(made[:-1])
        return syntax.Mapping(keyword.text, tuple(map(_name, names)), made, _over(keyword, last))

    def assignments(self, children: Children) -> Children:
        """Assignments, then the RBRACE."""
        return children

    def assignment(self, children: Children) -> syntax.Assignment:
        """NAME and its value."""
        name, value = children
        return syntax.Assignment(_name(name), value, _over(name, value))

    # ----------------------------------------------------------------------- collectives

    def collective(self, children: Children) -> syntax.Collective:
        """COLLECTIVE NAME parameters? statements RBRACE."""
        keyword, name, parameters, *statements, end = children
        return syntax.Collective(
            _name(name), parameters or (), tuple(statements), _over(keyword, end)
        )

    def given(self, children: Children) -> syntax.Given:
        """GIVEN item."""
        keyword, item, loops, guard = children
        last = _end(item, loops, guard)
        return syntax.Given(item, *_turns(loops, guard), _over(keyword, last))

    def want(self, children: Children) -> syntax.Want:
        """WANT item = value."""
        keyword, item, value, loops, guard = children
        last = _end(value, loops, guard)
        return syntax.Want(item, value, *_turns(loops, guard), _over(keyword, last))

    def busbw(self, children: Children) -> syntax.Busbw:
        """BUSBW and the factor."""
        keyword, factor = children
        return syntax.Busbw(factor, _over(keyword, factor))

    def fold(self, children: Children) -> syntax.Fold:
        """An operator over an item."""
        operator, item, loops, guard, end = children
        return syntax.Fold(_name(operator), item, loops, guard, _over(operator, end))

    def groups(self, children: Children) -> syntax.Groups:
        """WITHIN a list of groups."""
        keyword, start, *groups, loops, guard, end = children
        del start
        return syntax.Groups(tuple(groups), *_turns(loops, guard), _over(keyword, end))

    def group(self, children: Children) -> syntax.Group:
        """Ranks between brackets."""
        start, *ranks, loops, guard, end = children
        return syntax.Group(tuple(ranks), *_turns(loops, guard), _over(start, end))

    # ------------------------------------------------------------------------- schedules

    def schedule(self, children: Children) -> syntax.Schedule:
        """SCHEDULE NAME parameters? OF collective groups? ON topology statements RBRACE."""
        keyword, name, parameters, _, collective, groups, _, topology, *rest, end = children
        return syntax.Schedule(
            _name(name),
            parameters or (),
            collective,
            groups,
            topology,
            tuple(rest),
            _over(keyword, end),
        )

    def chunks(self, children: Children) -> syntax.Chunks:
        """CHUNKS and their number."""
        keyword, number = children
        return syntax.Chunks(number, _over(keyword, number))

    def step(self, children: Children) -> syntax.Step:
        """STEP, its loops, its sends."""
        keyword, loops, guard, *sends = children
        last = _end(keyword, loops, guard, sends)
        return syntax.Step(*_turns(loops, guard), tuple(sends), _over(keyword, last))

    def send(self, children: Children) -> syntax.Send:
        """SEND what FROM whom TO whom VIA switches, and what becomes of it."""
        keyword, chunk, _, src, _, dst, via, action, loops, guard = children
        return syntax.Send(
            chunk,
            src,
            dst,
            via or (),
            action.text,
            *_turns(loops, guard),
            _over(keyword, _end(action, loops, guard)),
        )

    def choice(self, children: Children) -> syntax.Choice:
        """NAME and the chunk."""
        name, value = children
        return syntax.Choice(_name(name), value, _over(name, value))

    def via(self, children: Children) -> tuple[syntax.Expression, ...]:
        """VIA and switches."""
        return tuple(children[1:])

    # ----------------------------------------------------------------------------- plans

    def plan(self, children: Children) -> syntax.Plan:
        """PLAN, options, RBRACE."""
        keyword, *options, end = children
        return syntax.Plan(tuple(options), _over(keyword, end))

    def synthesize(self, children: Children) -> syntax.Synthesize:
        """SYNTHESIZE call, its groups, ON call."""
        keyword, collective, groups, _, topology = children
        return syntax.Synthesize(collective, groups, topology, _over(keyword, topology))

    def run(self, children: Children) -> syntax.Run:
        """RUN call."""
        keyword, schedule = children
        return syntax.Run(schedule, _over(keyword, schedule))

    def interval(self, children: Children) -> syntax.Interval:
        """A keyword with one value or two."""
        keyword, low, *rest = children
        high = rest[-1] if rest else None
        return syntax.Interval(keyword.text, low, high, _over(keyword, children[-1]))

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
        return syntax.Minimize(kind.text, size, _over(keyword, children[-1]))

    def in_place(self, children: Children) -> syntax.InPlace:
        """IN PLACE."""
        return syntax.InPlace(_over(children[0], children[-1]))

    def forbid(self, children: Children) -> syntax.Forbid:
        """FORBID connections."""
        keyword, *connections = children
        return syntax.Forbid(tuple(connections), _over(keyword, connections[-1]))

    def channels(self, children: Children) -> syntax.Channels:
        """AT MOST a number of CHANNELS a LINK."""
        return syntax.Channels(children[2], _over(children[0], children[-1]))

    def symmetric(self, children: Children) -> syntax.Symmetric:
        """SYMMETRIC."""
        return syntax.Symmetric(_span(children[0]))

    def request(self, children: Children) -> syntax.Request:
        """A call and its groups."""
        call, groups = children
        return syntax.Request(call, groups, _over(call, groups or call))

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
            operation.text, left, right, span, _higher(_span(operation), left, right)
        )

    def unary(self, children: Children) -> syntax.Unary:
        """Operation and operand."""
        operation, operand = children
        return syntax.Unary(
            operation.text,
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
            digits.text, "" if unit is None else unit.text, _over(digits, unit or digits)
        )

    def reference(self, children: Children) -> syntax.Name | syntax.Reference:
        """Items between dots; one without indices is a plain name."""
        first = children[0]
        if len(children) == 1 and not first.indices:
            name: syntax.Name = first.name
            return name
        return syntax.Reference(tuple(children), _over(first, children[-1]))
