"""Columns that are computed: any expression that looks at an element, what is in it, and the attributes around it.

    columns={"home": "address[@type = 'home']/city", "bids": "count(bidder)", "day": "concat(../@date, ' ', @no)"}

A task has an element whole, and of the elements around it the start tags. So an expression may go down from the element
anywhere, and outwards to attributes; what else is around may be in the range of another task. The scan keeps what it
looks at (:mod:`xstreamcast.plan.projection.project`).

>>> from xstreamcast.plan.projection.project import describe
>>> from xstreamcast.scan.path import parse_path
>>> describe(Computed("c", "concat(../@date, price[2])").targets(parse_path("/shop/day/sale")))
['/shop/day/@date', '/shop/day/sale/price (whole)']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.walk import children
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.model.tree import Node
from xstreamcast.plan.passes.dependence import ITEM, focus_of
from xstreamcast.plan.projection.project import project
from xstreamcast.run.query import Query, compile
from xstreamcast.scan.path import Path
from xstreamcast.tables.columns import TYPES, Column, declared, path_column

if TYPE_CHECKING:
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.scan.automaton import Target

_RECORDS: Final = ("", "xstreamcast-records")
_LOOP: Final = (
    "declare variable $xstreamcast-records external; "
    "for $xstreamcast-record in $xstreamcast-records return array { data($xstreamcast-record ! ("
)
_UPWARDS: Final = frozenset(("parent", "ancestor", "ancestor-or-self"))
_BESIDE: Final = frozenset(("following", "following-sibling", "preceding", "preceding-sibling"))
_ELSEWHERE: Final = frozenset(
    (
        *("root", "path", "id", "idref", "element-with-id", "doc", "doc-available", "collection", "uri-collection"),
        *("unparsed-text", "unparsed-text-lines", "unparsed-text-available", "json-doc", "function-lookup"),
    )
)
_OF_TAGS: Final = frozenset(("name", "local-name", "namespace-uri", "node-name", "position", "last"))
"""Functions that look no further than an element's start tag."""
_HINT: Final = (
    "a column is made of the element and of attributes of those around it: @id, bidder[1]/date, count(mail), ../@name"
)


@dataclass(frozen=True, slots=True)
class Computed:
    """The expression of a column; ``namespaces``: prefix and URI, "" for elements without one."""

    name: str
    text: str
    namespaces: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        body = _compiled(self._prolog + self.text, f"column {self.name}").executable.program.module.body
        assert body is not None
        for found in _leaving(body, inside=True):
            raise error("XSC0065", f"column {self.name}: {found} leads out of the element", hint=_HINT)

    @property
    def _prolog(self) -> str:
        made = [
            f'declare namespace {prefix} = "{uri}";' if prefix else f'declare default element namespace "{uri}";'
            for prefix, uri in self.namespaces
        ]
        return " ".join([*made, ""])

    @property
    def _query(self) -> Query:
        return _compiled(f"{self._prolog}{_LOOP}{self.text}\n)) }}", f"column {self.name}")

    def targets(self, record: Path) -> tuple[Target, ...]:
        """The targets of a scan for the elements of a path."""
        module = self._query.executable.program.module
        assert module.body is not None
        return project(module.body, {_RECORDS: record}, module=module)[_RECORDS]

    def values(self, records: Sequence[Node], now: DateTime, place: Any) -> list[list[Item]]:
        """The atomic values that each element has; an error tells where the element stands."""
        try:
            return self._run(records, now)
        except XStreamError as failure:
            for number, record in enumerate(records):
                try:
                    self._run([record], now)
                except XStreamError as own:
                    raise error(own.code, f"column {self.name}: {own.message}", place(number), own.hint) from None
            raise failure

    def _run(self, records: Sequence[Node], now: DateTime) -> list[list[Item]]:
        made = []
        for row in self._query(variables={_RECORDS[1]: list(records)}, now=now):
            assert isinstance(row, Array)
            made.append([item for member in row.members() for item in member])
        return made


def parse_column(name: str, text: str, namespaces: Mapping[str, str] | None = None) -> Column:
    """A column of the option ``columns``: a path, or an expression."""
    column = path_column(name, text, namespaces)
    if column is not None:
        return column
    expression, said, repeated = declared(name, text)
    kind = TYPES[said] if said else ""
    return Column(name, Path(), 0, None, kind, repeated, Computed(name, expression, tuple((namespaces or {}).items())))


@lru_cache(maxsize=256)
def _compiled(text: str, source: str) -> Query:
    return compile(text, source=source)


def _leaving(e: ast.Node, inside: bool) -> Iterator[str]:
    """Parts of an expression that look at more than the element; ``inside``: whether its context item is in that.

    Outside, no more than start tags is known: attributes, names, and the elements around.
    """
    match e:
        case ast.Root():
            yield "/"
        case ast.AxisStep() if e.axis in _BESIDE:
            yield _step(e)
        case ast.AxisStep() if e.axis in _UPWARDS:
            yield _step(e)  # a path may go on from there to an attribute, nothing else
        case ast.AxisStep():
            if not inside and e.axis not in ("attribute", "self"):
                yield _step(e)
            for predicate in e.predicates:
                yield from _leaving(predicate, inside)
        case ast.ContextItem() if not inside:
            yield "."
        case ast.Path():
            yield from _path(e, inside)
        case ast.FunctionCall() | ast.NamedFunctionRef() if _elsewhere(e, inside):
            yield f"{e.name.local}()"
        case _:
            for child in children(e):
                yield from _leaving(child, inside)


def _path(e: ast.Path, inside: bool) -> Iterator[str]:
    for number, step in enumerate(e.steps):
        if isinstance(step, ast.AxisStep) and step.axis in _UPWARDS:
            if number + 1 == len(e.steps):
                yield _step(step)
            inside = False
            for predicate in step.predicates:
                yield from _leaving(predicate, False)
            continue
        yield from _leaving(step, inside)


def _elsewhere(e: ast.FunctionCall | ast.NamedFunctionRef, inside: bool) -> bool:
    """Whether a function reads other documents, or of a context item outside more than its start tag."""
    if e.name.uri == STREAM or (e.name.uri == FN and e.name.local in _ELSEWHERE):
        return True
    here = isinstance(e, ast.FunctionCall) and not e.args
    return not inside and here and e.name.local not in _OF_TAGS and bool(focus_of(e) & ITEM)


def _step(e: ast.AxisStep) -> str:
    name = getattr(getattr(e.test, "name", None), "local", None)
    return f"{e.axis}::{name or 'node()'}"
