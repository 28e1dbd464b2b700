"""``query()``: XQuery over documents, from Python.

>>> from xstreamcast.run.query import query
>>> books = "<list><book><title>T</title><price>9</price></book></list>"
>>> query("for $b in //book where $b/price < 30 return $b/title", context=books)
<Result: 1 item>
  <title>T</title>
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import ModuleTexts, parse
from xstreamcast.lang.warning_texts import warning_texts
from xstreamcast.model.atomic import Item
from xstreamcast.model.datetime import DateTime
from xstreamcast.model.namespaces import OUTPUT
from xstreamcast.model.tree import Node
from xstreamcast.run.evaluate import EvaluationContext, Executable, VarName
from xstreamcast.run.recursion import folded
from xstreamcast.run.result import Result
from xstreamcast.run.stored import several

if TYPE_CHECKING:
    from datetime import datetime

    from xstreamcast.lang.ast import Module
    from xstreamcast.model.diagnostic import Diagnostic
    from xstreamcast.model.serialise import Parameters
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.collection import Collections
    from xstreamcast.run.inputs import Scanning
    from xstreamcast.run.library import Library
    from xstreamcast.run.single_pass import PlanCode
    from xstreamcast.scan.external import External
    from xstreamcast.tables.batches import Rows
    from xstreamcast.tables.cells import Nested
    from xstreamcast.tables.kinds import Kind

__all__ = ["Query", "Result", "compile", "query", "query_many"]


def query(
    text: str,
    *,
    context: Any = None,
    docs: Mapping[str, Any] | None = None,
    collections: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | Callable[[str], Node] | None = None,
    variables: Mapping[str, Any] | None = None,
    now: str | datetime | DateTime | None = None,
    base_uri: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    threads: int = 1,
    spool: bool = False,
    many: bool = False,
    dtd: str | PathLike[str] | None = None,
    catalog: str | PathLike[str] | None = None,
    allow_http: bool = False,
    memory: int | str | None = None,
) -> Result:
    """Run a query and give its items as they are asked for.

    ``context`` (the context item) and the values of ``docs`` (what ``doc("name")`` finds) may be a path, bytes, a
    text of XML, a tree or an element of lxml or ElementTree, a node, or an open file. Of a folder, a pattern
    (``"in/*.xml"``), a list or an iterator of these as ``context`` the query is asked one document after the other;
    ``collection()`` has all of them. ``variables`` are values of
    external variables: plain Python values, nodes, or lists and other iterables of them. ``streams`` are fragment
    streams by the name that ``stream("name")`` asks for, or a function from name to document node. ``now`` fixes the
    current time; with streams it is by default the largest valid time in them. Files named by ``doc()`` in the query,
    and folders and patterns named by ``collection()``, are read relative to ``base_uri`` (the working folder if not
    given); the network never is. ``collections`` gives others: lists of documents, folders or patterns by name, the
    default collection as ``""``. All documents of a collection are in memory at once. With ``columns``, names and
    expressions, each item becomes a map of these: ``{"id": "@id", "price": "price as xs:decimal"}``, or as a text,
    ``"@id, price as xs:decimal"``.

    Large documents in files and pipes are scanned, by ``threads`` at once, and only what the query looks at is kept,
    for as long as it is needed. ``spool`` keeps a copy of an input that must be read twice and cannot be. A file of
    several documents, one after the other, is a document node with all their root elements; ``many`` says that it is
    one, which is seen without that if the first document is shorter than 2 MB. ``dtd`` is a file with the DTD of the
    documents, ``catalog`` an XML catalog that names the files of their DTDs; others are never read. With
    ``allow_http``, ``context`` and values of ``docs`` may be URLs: each is one GET. ``memory``, such as ``"512MB"``, is
    what ``order by`` and ``group by`` over a large document may have; beyond it they use the disk, where ``explain``
    says so.

    What can hardly be meant, and what streams put aside, is warned of (:class:`~xstreamcast.errors.XStreamWarning`),
    and stands in ``warnings`` of the result.

    >>> query("$n * 2", variables={"n": 21}).to_list()
    [42]
    """
    return _known(text, base_uri, tuple(variables or ()), columns)(
        context=context,
        docs=docs,
        collections=collections,
        streams=streams,
        variables=variables,
        now=now,
        threads=threads,
        spool=spool,
        many=many,
        dtd=dtd,
        catalog=catalog,
        allow_http=allow_http,
        memory=memory,
    )


_COMPILED: Final[dict[tuple[Any, ...], Query]] = {}
_REMEMBERED: Final = 64
_REMEMBERING: Final = Lock()


def _known(
    text: str, base_uri: str | None, variables: tuple[str, ...], columns: str | Mapping[str, str] | None
) -> Query:
    """A compiled query: one that was asked lately is not compiled again, unless it imports files, which may change."""
    if not isinstance(text, str) or not isinstance(columns, str | None):
        return compile(text, base_uri=base_uri, variables=variables, columns=columns)
    key = (text, base_uri or Path.cwd(), variables, columns)
    made = _COMPILED.get(key) or compile(text, base_uri=base_uri, variables=variables, columns=columns)
    if not made.executable.program.module.imported:
        with _REMEMBERING:
            _COMPILED.pop(key, None)
            _COMPILED[key] = made  # the last is the newest
            if len(_COMPILED) > _REMEMBERED:
                del _COMPILED[next(iter(_COMPILED))]
    return made


def query_many(
    texts: Iterable[str],
    *,
    context: Any = None,
    docs: Mapping[str, Any] | None = None,
    collections: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
    now: str | datetime | DateTime | None = None,
    base_uri: str | None = None,
    threads: int = 1,
    spool: bool = False,
    many: bool = False,
    dtd: str | PathLike[str] | None = None,
    catalog: str | PathLike[str] | None = None,
) -> list[Result]:
    """Run several queries; those over a large document share its scan. The arguments are those of :func:`query`.

    >>> many = query_many(["count(//b)", "sum(//b)"], context="<a><b>1</b><b>2</b></a>")
    >>> [result.to_list() for result in many]
    [[2], [3.0]]
    """
    from xstreamcast.run.doubts import doubts_about
    from xstreamcast.run.inputs import Scanning
    from xstreamcast.run.library import Library, document, given_document, moment_of
    from xstreamcast.run.route import Inputs

    queries = [compile(text, base_uri=base_uri, variables=tuple(variables or ())) for text in texts]
    if not queries:
        return []
    moment = moment_of(now)
    each = several(context)
    if each is not None:
        context = each
        ask = partial(Query.__call__, context=context, docs=docs, collections=collections, variables=variables)
        return [
            ask(each, now=moment, threads=threads, spool=spool, many=many, dtd=dtd, catalog=catalog) for each in queries
        ]
    results: dict[int, Result] = {}
    external = _external(dtd, catalog)
    library = Library(queries[0].executable.program.static.base_uri, docs or {}, external)
    inputs = Inputs(queries, given_document(context), library, many)
    scan = inputs.scan(spool)
    if scan is not None:
        from xstreamcast.run.single_pass import run_many

        given = queries[0].given(variables or {})
        doors = library_doors(library, collections)
        scanning = Scanning(threads=threads, spool=spool, external=external)
        answers = run_many(list(scan.codes.values()), scan.inputs, scan.uris, moment, given, doors, scanning=scanning)
        for number, answer in zip(scan.codes, answers, strict=True):
            doubts = doubts_about(queries[number], _looked_at(queries[number], inputs.context))
            results[number] = Result(queries[number], iter(answer), doubts)
            doubts.tell()
    rest = [number for number in range(len(queries)) if number not in results]
    start = None if inputs.context is None or not rest else document(inputs.context, external)
    for number in rest:
        results[number] = queries[number](
            context=start,
            docs=library.given,
            collections=collections,
            variables=variables,
            now=moment,
            dtd=dtd,
            catalog=catalog,
        )
    return [results[number] for number in range(len(queries))]


def compile(
    text: str,
    *,
    base_uri: str | None = None,
    variables: Iterable[str] = (),
    static: StaticContext | None = None,
    modules: ModuleTexts | None = None,
    structures: Mapping[str, Structure] | None = None,
    columns: str | Mapping[str, str] | None = None,
    source: str = "query",
) -> Query:
    """A query ready to run, any number of times, on any documents.

    ``variables`` names those that will be given although the query does not declare them. With the tag structures of
    its streams known, a path that can match nothing is told in ``warnings``. ``columns``: see :func:`query`.

    >>> titles = compile("//title/string()")
    >>> [titles(context=f"<b><title>{t}</title></b>").to_list() for t in "ab"]
    [['a'], ['b']]
    """
    from xstreamcast.functions.registry import known_function, names
    from xstreamcast.run.library import file_modules

    if not isinstance(text, str):
        hint = "a query in a file: Path(file).read_text()"
        raise error("XPTY0004", f"a query is a str, not a {type(text).__name__}", hint=hint)
    if static is None:
        base = base_uri or Path.cwd().as_uri() + "/"
        plain = frozenset(("", name) for name in variables if ":" not in name and "}" not in name)
        static = StaticContext(base_uri=base, variables=plain)
    module = parse(
        text,
        source=source,
        static=static,
        known_functions=known_function,
        function_names=names,
        modules=modules or file_modules,
        structures=structures,
    )
    kinds: Mapping[str, Kind | None] = {}
    if columns is not None:
        from xstreamcast.tables.chosen import parse_columns, with_columns

        chosen = parse_columns(columns) if isinstance(columns, str) else columns
        module, kinds = with_columns(module, chosen)
    again = partial(
        compile, text, static=static, modules=modules, structures=structures, columns=columns, source=source
    )
    return Query(text, Executable(_gathered(folded(module), text)), warning_texts(module), again, kinds)


def _gathered(module: Module, text: str) -> Module:
    """Interval projections of steps take the whole path (see the pass)."""
    if not module.imported and re.search(r"\?\s*\[", text) is None:
        return module  # as most are: nothing of the planner is loaded
    from xstreamcast.plan.passes.gather_projections import gather_projections

    return gather_projections(module)


class Query:
    """A compiled query; ``warnings`` tells what in it can hardly be meant.

    It can be used by several threads at once, and pickled: where it is unpickled it is compiled again.
    """

    def __init__(
        self,
        text: str,
        executable: Executable,
        warnings: tuple[str, ...] = (),
        again: Callable[[], Query] | None = None,
        kinds: Mapping[str, Kind | None] | None = None,
    ) -> None:
        self.text = text
        self.kinds = kinds or {}
        """The columns that were asked for, with their types as far as they were said."""
        self._again = again
        self.executable = executable
        self.warnings = warnings
        self._plans: dict[frozenset[str | None], PlanCode | None] = {}  # made when first needed
        self._named: tuple[str, ...] | None = None  # the streams, likewise

    def __call__(
        self,
        *,
        context: Any = None,
        docs: Mapping[str, Any] | None = None,
        collections: Mapping[str, Any] | None = None,
        streams: Mapping[str, Any] | Callable[[str], Node] | None = None,
        variables: Mapping[str, Any] | None = None,
        now: str | datetime | DateTime | None = None,
        structures: Mapping[str, Structure] | None = None,
        report: Callable[[Diagnostic], None] | None = None,
        threads: int = 1,
        spool: bool = False,
        **more: Any,
    ) -> Result:
        """Run it; the arguments are those of :func:`query`. What can hardly be meant is warned of.

        ``structures`` are tag structures of streams that do not bring their own, by name ("": of all the others);
        ``report`` hears what is odd about the streams. What else there is, see :meth:`ask`.
        """
        result = self.ask(
            context=context, docs=docs, collections=collections, streams=streams, variables=variables, now=now,
            structures=structures, report=report, threads=threads, spool=spool, **more,
        )  # fmt: skip
        if result.doubts is not None:
            result.doubts.tell()
        return result

    def ask(
        self,
        *,
        context: Any = None,
        docs: Mapping[str, Any] | None = None,
        collections: Mapping[str, Any] | None = None,
        streams: Mapping[str, Any] | Callable[[str], Node] | None = None,
        variables: Mapping[str, Any] | None = None,
        now: str | datetime | DateTime | None = None,
        item: Item | None = None,
        structures: Mapping[str, Structure] | None = None,
        report: Callable[[Diagnostic], None] | None = None,
        threads: int = 1,
        spool: bool = False,
        many: bool = False,
        dtd: str | PathLike[str] | None = None,
        catalog: str | PathLike[str] | None = None,
        allow_http: bool = False,
        memory: int | str | None = None,
        scanning: Scanning | None = None,
        **doors: Any,
    ) -> Result:
        """Run it, and leave it to the caller to tell of doubts.

        ``item`` is a context item as it is, of any type. ``scanning`` says more about scans than ``threads``,
        ``spool``, ``many``, ``dtd``, ``catalog`` and ``memory`` do, and is taken instead of them.
        """
        from xstreamcast.run.doubts import doubts_about
        from xstreamcast.run.library import Library, document, given_document, moment_of

        program = self.executable.program
        given = self.given(variables or {})
        if allow_http:
            from xstreamcast.scan.web import fetched

            context, docs = fetched(context), {name: fetched(source) for name, source in (docs or {}).items()}
        external = scanning.external if scanning is not None else _external(dtd, catalog)
        library = Library(program.static.base_uri, docs or {}, external)
        each = several(context) if item is None else None
        if each is not None:
            collections = {"": each, **(collections or {})}
        doors = library_doors(library, collections) | doors
        told: Streams | None = None
        if streams is not None:
            from xstreamcast.run.streams import Streams, in_order, streams_named

            known = streams
            if not callable(known):
                known = Streams(known, structures, None if now is None else moment_of(now), report)
                now = known.now
            told = known if isinstance(known, Streams) else None
            doors["stream"] = known
            if self._named is None:
                self._named = streams_named(program.module)
            in_order(self._named, known)
        if each is not None:
            if program.uses_context:
                ask = partial(
                    self.ask, docs=docs, collections=collections, variables=variables, now=moment_of(now),
                    threads=threads, spool=spool, many=many, dtd=dtd, catalog=catalog, scanning=scanning,
                    memory=memory, streams=doors.get("stream"),
                )  # fmt: skip
                doubts = replace(doubts_about(self, each[0], told), document=None)

                def one_by_one(nested: Nested) -> Iterator[Rows]:
                    return (part for one in each for part in ask(context=one).rows(nested))

                return Result(self, (found for one in each for found in ask(context=one).consume()), doubts, one_by_one)
            context = None
        if item is None:
            from xstreamcast.run.inputs import Scanning, bytes_or_none
            from xstreamcast.run.route import Inputs

            size = bytes_or_none(memory)
            chosen = scanning or Scanning(threads=threads, spool=spool, many=many, external=external, memory=size)
            inputs = Inputs([self], given_document(context), library, chosen.many)
            scan = inputs.scan(chosen.spool)
            if scan is not None:
                from xstreamcast.run import single_pass

                args = scan.codes[0], scan.inputs, scan.uris, moment_of(now), given, doors
                doubts = doubts_about(self, _looked_at(self, inputs.context), told)
                rows = partial(single_pass.run_rows, *args, scanning=chosen)
                return Result(self, single_pass.run(*args, scanning=chosen), doubts, rows)
            context = inputs.context
        start = item if context is None or not program.uses_context else document(context, external)
        made = EvaluationContext(program, moment_of(now), start, given, **doors)
        doubts = doubts_about(self, start if isinstance(start, Node) else None, told)
        return Result(self, self.executable.run(made), replace(doubts, document=_looked_at(self, context)))

    def plan(self, many: frozenset[str | None] = frozenset()) -> PlanCode | None:
        """How it scans large documents; None if it reads no document that is known before it runs.

        ``many``: the inputs, None for the context, that have several documents.
        """
        if many not in self._plans:
            from xstreamcast.run.route import planned

            self._plans[many] = planned(self.executable.program.module, many)
        return self._plans[many]

    def parameters(self) -> Parameters:
        """The output options that it declares."""
        from xstreamcast.model.serialise import from_options

        static = self.executable.program.static
        declared = [(name, value) for (uri, name), value in static.options if uri == OUTPUT]
        namespaces = {**static.namespaces, "": static.default_element_namespace}
        return from_options(declared, namespaces, document=partial(_parameter_document, static.base_uri))

    def given(self, variables: Mapping[str, Any]) -> dict[VarName, list[Item]]:
        """The values of external variables, as programs take them."""
        from xstreamcast.run.library import items_of

        return {name: items_of(value) for name, value in self._names(variables)}

    def _names(self, variables: Mapping[str, Any]) -> Iterator[tuple[VarName, Any]]:
        """Variables by expanded name: ``n``, ``p:n`` with a prefix of the query, ``{uri}n`` or ``Q{uri}n``."""
        namespaces = self.executable.program.static.namespaces
        for name, value in variables.items():
            if "}" in name:
                uri, _, local = name.removeprefix("Q").removeprefix("{").partition("}")
                yield (uri, local), value
            elif ":" in name:
                prefix, _, local = name.partition(":")
                if prefix not in namespaces:
                    raise error("XPST0081", f"the prefix of variable {name} is not declared")
                yield (namespaces[prefix], local), value
            else:
                yield ("", name), value

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (self._again, ()) if self._again is not None else super().__reduce__()

    def __repr__(self) -> str:
        return f"<Query {' '.join(self.text.split())[:60]}>"

    def _repr_html_(self) -> str:
        from xstreamcast.run.shown import query_html

        return query_html(self)


def _looked_at(query: Query, context: Any) -> Path | None:
    """The file that is the context item of a query which looks at it."""
    from xstreamcast.run.inputs import scannable

    found = None if context is None or not query.executable.program.uses_context else scannable(context)
    return found if isinstance(found, Path) else None


def _parameter_document(base: str | None, uri: str) -> Node:
    """The document that ``output:parameter-document`` names: a local file."""
    from xstreamcast.run.library import Library

    library = Library(base, {})
    return library.document(library.absolute(uri))


def _external(dtd: str | PathLike[str] | None, catalog: str | PathLike[str] | None) -> External | None:
    """The DTDs outside of documents that may be read."""
    if dtd is None and catalog is None:
        return None  # as most often: nothing of it is loaded
    from xstreamcast.scan.external import named

    return named(dtd, catalog)


def library_doors(library: Library, collections: Mapping[str, Any] | None) -> dict[str, Any]:
    """How an evaluation comes by documents, collections and texts."""
    found: list[Collections] = []

    def known() -> Collections:
        from xstreamcast.run.collection import Collections

        if not found:
            found.append(Collections(library, collections or {}))
        return found[0]

    return {
        "documents": library.document,
        "resources": library.text,
        "collections": lambda uri: known().items(uri),
        "uri_collections": lambda uri: known().uris(uri),
    }
