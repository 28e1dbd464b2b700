"""Which way a query takes to its documents: small ones become trees, large ones are scanned by a plan.

The answer is the same either way. Nothing of the planner or the scan kernel is loaded for small documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.model.tree import ELEMENT, Node
from xstreamcast.run.inputs import Scannable, has_several, measured, scannable, twice
from xstreamcast.run.library import Library, document, uri_of

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Plan, Source
    from xstreamcast.run.query import Query
    from xstreamcast.run.single_pass import PlanCode


def planned(module: ast.Module, many: frozenset[str | None] = frozenset()) -> PlanCode | None:
    """The plan of a query, compiled; None where there is no document to scan. ``many``: as ``plan`` has it."""
    from xstreamcast.plan.algebra import Strategy
    from xstreamcast.plan.decompose.plan import plan
    from xstreamcast.run.single_pass import PlanCode

    made = plan(module, many=many)
    if made.strategy is Strategy.NONE:
        return None
    if made.strategy is Strategy.PROJECT:
        from xstreamcast.run.by_columns import by_columns

        return PlanCode(made, by_columns(module, many))
    return PlanCode(made)


def document_names(module: ast.Module) -> Iterator[str]:
    """The documents a query names itself: ``doc("name")``."""
    for part in (module, *module.imported):
        for call in descendants(part):
            if isinstance(call, ast.FunctionCall) and call.name.expanded == (FN, "doc") and len(call.args) == 1:
                (name,) = call.args
                if isinstance(name, ast.StringLiteral):
                    yield name.value


def asks_for_documents(query: Query) -> bool:
    """Whether a query asks for documents besides those that a scan brings, which may be the same: it computes their
    names, or asks inside of ``try``, where that there is no such document may be caught."""
    module = query.executable.program.module
    parts = [part for each in (module, *module.imported) for part in descendants(each)]
    tried = [part for each in parts if isinstance(each, ast.TryCatch) for part in descendants(each)]
    return any(_is_doc(part, named=False) for part in parts) or any(_is_doc(part) for part in tried)


def _is_doc(part: ast.Node, named: bool = True) -> bool:
    """Whether something is ``fn:doc``, or calls it; ``named``: be it with a name that the query says."""
    if not isinstance(part, ast.FunctionCall | ast.NamedFunctionRef) or part.name.expanded != (FN, "doc"):
        return False
    return named or not (isinstance(part, ast.FunctionCall) and isinstance(part.args[0], ast.StringLiteral))


@dataclass(frozen=True, slots=True)
class Scan:
    """The plans to run, by the numbers of their queries; what their sources are, and the URIs of these."""

    codes: dict[int, PlanCode]
    inputs: dict[Source, Scannable]
    uris: dict[Source, str | None]


@dataclass(slots=True)
class Inputs:
    """What queries were given to read. A pipe that was looked into is replaced by one that is whole."""

    queries: Sequence[Query]
    context: Any
    library: Library
    several: bool = False
    """Whether the context is said to be several documents."""
    large: set[str | None] = field(default_factory=set)
    """The documents that are large, by name; None is the context item."""
    many: set[str | None] = field(default_factory=set)
    """The inputs that have several documents, one after the other."""

    def scan(self, spool: bool) -> Scan | None:
        """What to scan, and for which of the queries; None if it is better to take the documents as trees."""
        self._look()
        if not self.large:
            return None
        many = frozenset(self.many)
        codes = {number: code for number, query in enumerate(self.queries) if (code := query.plan(many)) is not None}
        inputs: dict[Source, Scannable] = {}
        uris: dict[Source, str | None] = {}
        missing: set[Source] = set()
        for source in dict.fromkeys(source for code in codes.values() for source in code.plan.sources):
            found = self._input(source, [code.plan for code in codes.values()], spool)
            if found is None:
                missing.add(source)  # nothing there: the query tells, if it gets to ask for it
            else:
                inputs[source] = found
                given = self._given(source.uri)
                name = None if source.uri is None else self.library.absolute(source.uri)
                uris[source] = uri_of(given) or name
        codes = {number: code for number, code in codes.items() if missing.isdisjoint(code.plan.sources)}
        wanted = {source for code in codes.values() for source in code.plan.sources}
        if all(isinstance(inputs[source], Node) for source in wanted):
            return None
        elsewhere = len(codes) < len(self.queries) or any(asks_for_documents(query) for query in self.queries)
        if elsewhere and not all(twice(inputs[source]) for source in wanted):
            return None  # it may have to be read for others too
        return Scan(codes, inputs, uris)

    def _look(self) -> None:
        """Find the documents that are large, or come so slowly that it is better not to wait for the rest of them."""
        names = sorted({name for query in self.queries for name in document_names(query.executable.program.module)})
        for name in (None, *names):
            given = self._given(name)
            if given is not None:
                given, large = measured(given, patient=False)
                self._put(name, given)
                if large:
                    self.large.add(name)
                    if (name is None and self.several) or has_several(given):
                        self.many.add(name)
        for name in (None, *names) if self.large else ():
            tree = self._tree(name) if name not in self.large else None
            if tree is not None and sum(child.kind == ELEMENT for child in tree.children()) > 1:
                self.many.add(name)

    def _tree(self, name: str | None) -> Node | None:
        """A document that is not large; None if there is none, or something is wrong with it: the query tells."""
        if self._given(name) is None:
            return None
        try:
            tree = (
                document(self.context, self.library.external)
                if name is None
                else self.library.document(self.library.absolute(name))
            )
        except XStreamError:
            return None
        if name is None:
            self.context = tree
        return tree if isinstance(tree, Node) else None

    def _given(self, name: str | None) -> Any:
        return self.context if name is None else self.library.source(self.library.absolute(name))

    def _put(self, name: str | None, source: Any) -> None:
        if name is None:
            self.context = source
        elif source is not self._given(name):
            self.library.give(self.library.absolute(name), source)

    def _input(self, source: Source, plans: list[Plan], spool: bool) -> Scannable | None:
        """What a source is: scanned if it is large, else a tree."""
        from xstreamcast.run.single_pass import scans

        given = self._given(source.uri)
        if given is None:
            return None
        large = source.uri in self.large
        found = scannable(given)
        if large and found is not None and not twice(found) and scans(plans, source) > 1 and not spool:
            given, large = measured(given)  # it would be refused: not for being slow, but only if it is large
            self._put(source.uri, given)
            found = scannable(given)
        if large and found is not None:
            return found
        tree = (
            document(given, self.library.external)
            if source.uri is None
            else self.library.document(self.library.absolute(source.uri))
        )
        if source.uri is None:
            self.context = tree
        return scannable(tree)
