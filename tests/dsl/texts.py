"""Random syntax trees of every construct of the grammar, and random spellings of them."""

from __future__ import annotations

import re
from random import Random

from hypothesis import strategies as st

from roundelay.dsl import syntax
from roundelay.dsl.source import Source, Span

NOWHERE = Span(Source("none", ""), 0, 0)
HERE = st.just(NOWHERE)

# Words that are keywords elsewhere, units, and what looks like a number of links.
_WORDS = [
    "n", "i", "gpu", "op", "x", "x2", "s", "B", "KB", "us", "_", "steps", "time", "reduce", "to",
    "from", "via", "of", "on", "element", "schedule", "part", "only", "with", "copy", "most",
    "place", "within", "switch", "latency", "as", "channels", "symmetric", "chunks", "budget",
]  # fmt: skip
_LAW_WORDS = ["identity", "commutative", "idempotent", "prepare", "finish"]


def _tuples(
    of: st.SearchStrategy[object], least: int = 0, most: int = 3
) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, min_size=least, max_size=most).map(tuple)


names = st.builds(syntax.Name, st.sampled_from(_WORDS), HERE)
any_names = st.builds(syntax.Name, st.sampled_from(_WORDS + _LAW_WORDS), HERE)
numbers = st.builds(
    syntax.Number,
    st.sampled_from(["0", "1", "25", "0.7", "112.50"]),
    st.sampled_from(["", "", "", "GB/s", "us", "KiB", "Gbit/s", "s", "B"]),
    HERE,
)
_leaves = st.one_of(numbers, any_names)
_operations = [
    "+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "and", "or",
    "|", "^", "&", "<<", ">>",
]  # fmt: skip


def _ranges(of: st.SearchStrategy[syntax.Expression]) -> st.SearchStrategy[syntax.Range]:
    return st.builds(syntax.Range, of, of, HERE)


def _items(
    of: st.SearchStrategy[syntax.Expression], least: int = 0
) -> st.SearchStrategy[syntax.Item]:
    indices = _tuples(st.one_of(of, of, _ranges(of)), least, 2)
    return st.builds(syntax.Item, any_names, indices, HERE)


def _references(
    of: st.SearchStrategy[syntax.Expression], node: bool = False
) -> st.SearchStrategy[syntax.Reference]:
    """``node``: of a node, never of the number of a part's ranks."""
    everyone = st.builds(
        syntax.Item, st.just(syntax.Name("ranks", NOWHERE)), _tuples(of, 1, 1), HERE
    )
    alone = st.tuples(_items(of, 1))
    longer = st.tuples(_items(of), _items(of) if node else st.one_of(_items(of), everyone))
    return st.builds(syntax.Reference, st.one_of(alone, longer), HERE)


def _bigger(inner: st.SearchStrategy[syntax.Expression]) -> st.SearchStrategy[syntax.Expression]:
    return st.one_of(
        st.builds(syntax.Unary, st.sampled_from(["-", "~", "not"]), inner, HERE),
        st.builds(syntax.Binary, st.sampled_from(_operations), inner, inner, HERE),
        st.builds(syntax.Apply, any_names, _tuples(inner, 1, 2), HERE),
        _references(inner),
    )


expressions = st.recursive(_leaves, _bigger, max_leaves=4)
_maybe = st.one_of(st.none(), expressions)
_ranges_of_expressions = _ranges(expressions)
_places = st.one_of(any_names, _references(_leaves, True))
items = _items(expressions)

_domains = st.one_of(
    _ranges_of_expressions,
    st.builds(syntax.Listing, _tuples(_tuples(expressions, 1)), HERE),
    st.builds(syntax.Everyone, st.one_of(st.none(), any_names), HERE),
)
_loop = st.builds(syntax.Loop, _tuples(any_names, 1), _domains, HERE)
loops = _tuples(_loop, 0, 2)

_arguments = _tuples(
    st.builds(syntax.Argument, st.one_of(st.none(), any_names), expressions, HERE), 0, 2
)
calls = st.builds(syntax.Call, any_names, _arguments, HERE)
_parameter = st.builds(syntax.Parameter, any_names, st.one_of(st.none(), any_names), _maybe, HERE)
parameters = _tuples(_parameter, 0, 2)
_texts = st.builds(syntax.Text, st.sampled_from(["a.rly", "", "b, c/#1.rly", "{x} y"]), HERE)
_abilities = st.builds(syntax.Name, st.sampled_from(["multicast", "reduce"]), HERE)


def _links(changes: bool) -> st.SearchStrategy[syntax.Link]:
    return st.builds(
        syntax.Link,
        st.just(changes), _places, _places, st.booleans(), _maybe, expressions, _maybe, loops,
        _maybe, HERE,
    )  # fmt: skip


_statements = st.one_of(
    st.builds(syntax.Ranks, _tuples(items, 1), HERE),
    st.builds(syntax.Switches, _tuples(items, 1), _tuples(_abilities), HERE),
    st.builds(syntax.Part, items, calls, HERE),
    _links(False),
)
topologies = st.builds(syntax.Topology, any_names, parameters, _tuples(_statements, 0, 4), HERE)

_connections = st.one_of(
    st.builds(syntax.Connection, _places, st.none(), st.just(True), HERE),
    st.builds(syntax.Connection, _places, _places, st.booleans(), HERE),
)
_changes = st.one_of(
    st.builds(syntax.Only, _tuples(_places, 1), loops, _maybe, HERE),
    st.builds(syntax.Without, _tuples(_connections, 1), loops, _maybe, HERE),
    _links(True),
)
derived = st.builds(syntax.Derived, any_names, parameters, calls, _tuples(_changes), HERE)
_formats = st.builds(syntax.Name, st.sampled_from(["nvidia-smi", "pcie", "part-of-on"]), HERE)
_speeds = st.builds(syntax.Speed, any_names, expressions, _maybe, HERE)
imported = st.builds(syntax.Imported, any_names, _texts, _formats, _tuples(_speeds, 0, 4), HERE)

_fields = st.builds(syntax.Field, any_names, names, _maybe, HERE)
structs = st.builds(syntax.Struct, any_names, _tuples(_fields, 0, 4), HERE)
_assignments = st.builds(syntax.Assignment, names, expressions, HERE)
_laws = st.one_of(
    st.builds(syntax.Law, st.just("identity"), expressions, HERE),
    st.builds(syntax.Law, st.sampled_from(["commutative", "idempotent"]), st.none(), HERE),
    st.builds(
        syntax.Mapping,
        st.sampled_from(["prepare", "finish"]),
        _tuples(any_names, 1, 2),
        st.one_of(expressions, _tuples(_assignments)),
        HERE,
    ),
)
operators = st.builds(
    syntax.Operator,
    any_names,
    parameters,
    parameters,
    st.one_of(expressions, _tuples(_assignments)),
    _tuples(_laws),
    HERE,
)

_folds = st.builds(syntax.Fold, any_names, items, _tuples(_loop, 1, 2), _maybe, HERE)
_clauses = st.one_of(
    st.builds(syntax.Given, items, loops, _maybe, HERE),
    st.builds(syntax.Want, items, st.one_of(items, _folds), loops, _maybe, HERE),
    st.builds(syntax.Busbw, expressions, HERE),
)
collectives = st.builds(syntax.Collective, any_names, parameters, _tuples(_clauses, 0, 4), HERE)
_group = st.builds(
    syntax.Group,
    _tuples(st.one_of(expressions, _ranges_of_expressions), 1),
    loops,
    _maybe,
    HERE,
)
groups = st.one_of(st.none(), st.builds(syntax.Groups, _tuples(_group, 1, 2), loops, _maybe, HERE))

_choices = st.builds(syntax.Choice, any_names, expressions, HERE)
_sends = st.builds(
    syntax.Send,
    st.one_of(items, _choices), expressions, expressions, _tuples(_places, 0, 2),
    st.sampled_from(["copy", "reduce"]), loops, _maybe, HERE,
)  # fmt: skip
_stages = st.one_of(
    st.builds(syntax.Chunks, expressions, HERE),
    st.builds(syntax.Step, loops, _maybe, _tuples(_sends), HERE),
)
schedules = st.builds(
    syntax.Schedule, any_names, parameters, calls, groups, calls, _tuples(_stages), HERE
)

_options = st.one_of(
    st.builds(syntax.Synthesize, calls, groups, calls, HERE),
    st.builds(syntax.Run, calls, HERE),
    st.builds(
        syntax.Interval, st.sampled_from(["chunks", "steps", "sizes"]), expressions, _maybe, HERE
    ),
    st.builds(syntax.Rounds, expressions, HERE),
    st.builds(syntax.Element, any_names, HERE),
    st.builds(syntax.Budget, expressions, HERE),
    st.builds(syntax.Minimize, st.sampled_from(["latency", "bandwidth"]), st.none(), HERE),
    st.builds(syntax.Minimize, st.just("time"), expressions, HERE),
    st.builds(syntax.InPlace, HERE),
    st.builds(syntax.Forbid, _tuples(_connections, 1), HERE),
    st.builds(syntax.Channels, expressions, HERE),
    st.builds(syntax.Symmetric, HERE),
)
plans = st.builds(syntax.Plan, _tuples(_options, 0, 6), HERE)
uses = st.builds(syntax.Use, _texts, HERE)

declarations = st.one_of(
    topologies, derived, imported, structs, operators, collectives, schedules, plans, uses
)
documents = st.builds(syntax.Document, _tuples(declarations, 0, 2))
"""Documents that some text means; their nodes have no places."""

_GAP = re.compile(r'("[^"\n]*"|#[^\n]*)|(\s+)')


def spelled(text: str, seed: int, comments: int = 5) -> str:
    """A text with other white space, and with about so many comments strewn in.

    A line end stays one: a number and a word behind it are a quantity on one line alone.
    """
    random = Random(seed)
    gaps = sum(1 for match in _GAP.finditer(text) if match[2]) + 1
    number = 0

    def gap(match: re.Match[str]) -> str:
        nonlocal number
        if match[1]:
            return match[1]
        if random.random() < comments / gaps:
            number += 1
            lead = random.choice([" ", "", "\n", "\n\n", "\n  \n\t"])
            return f'{lead or " "}{random.choice(["#", "#  "])}{number} {{}}:"; \n\n'[
                : None if random.random() < 0.5 else -1
            ]
        ends = ["\n", "\n\n\n", " \n\t"]
        return random.choice(ends if "\n" in match[2] else [" ", "  ", *ends])

    return _GAP.sub(gap, text)
