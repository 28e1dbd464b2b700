"""XCQL → standard XQuery 3.1 on the fragments file (SIGMOD'04 §6), by one of the paper's three methods (§7):

* ``CaQ``, construct and query: the temporal view is built inside the program and the query runs on it;
* ``QaC``, query and construct: paths go from fragment to fragment, only what is returned is built;
* ``QaC+``: a path from the root to a fragment is replaced by the fillers of its tsid.

The program is self-contained: the functions of :mod:`xstreamcast.plan.translate.library`, a group of variables for each
stream, then the query. Any engine runs it; ``docs/xcql.md`` shows how.

>>> from xstreamcast.model.structure import parse_structure
>>> tags = parse_structure('<structure><tag id="1" name="a"><tag id="2" name="b" type="temporal"/></tag></structure>')
>>> print(translate('stream("s")//b', "QaC", structures={"s": tags}).split("(: the query :)")[1].strip())
xcql:temporalize($xcql:s, $xcql:s-document/a ! xcql:child($xcql:s, ., fn:QName("", "b")))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from xstreamcast.errors import error
from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Module
from xstreamcast.lang.link import parse
from xstreamcast.lang.printer import match_whole_ncname, quote, to_xquery
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import ARRAY, ERR, FN, MAP, MATH, STREAM, XS
from xstreamcast.model.structure import UNNAMED, Structure
from xstreamcast.model.time import format_instant, parse_instant
from xstreamcast.plan.translate.expressions import Rewriter
from xstreamcast.plan.translate.library import ARRIVALS, LIFESPANS, TIME, XCQL
from xstreamcast.plan.translate.scope import STRATEGIES, ConstructFirst, Scope, Strategy, library
from xstreamcast.plan.translate.shapes import ATOMIC, Shape, StreamTags
from xstreamcast.plan.translate.view import FRAGMENTS, PROJECTION

__all__ = ["STRATEGIES", "Strategy", "brought_structures", "translate", "translate_module"]

PREFIXES: Final = {"xcql": XCQL, "stream": STREAM, "map": MAP, "array": ARRAY, "math": MATH, "err": ERR}
TAKEN: Final = {**PREFIXES, "fn": FN, "xs": XS}
"""Prefixes the library uses: a query may not give them another meaning."""

_TEMPORAL = (ast.IntervalProjection, ast.VersionProjection, ast.AllenComparison)


def translate(
    text: str,
    strategy: Strategy = "QaC",
    *,
    streams: Mapping[str, str | Path] | None = None,
    structures: Mapping[str, Structure] | None = None,
    now: str | None = None,
    rooted: bool = False,
    source: str = "query",
) -> str:
    """The XQuery program of an XCQL query.

    ``streams`` are fragments files by the name ``stream("name")`` asks for; their own tag structures are read unless
    ``structures`` gives one (under the name ``""`` for any stream). A stream without a file becomes an external
    variable ``$xcql:NAME-file``. ``now`` fixes the current time, by default the largest valid time of all streams.
    ``rooted`` lets QaC+ assume that every filler hangs on a hole.
    """
    from xstreamcast.functions.registry import known_function

    files = dict(streams or {})
    brought = brought_structures(files, structures or {})
    known = {**brought, **(structures or {})}
    module = parse(text, source=source, structures=known, known_functions=known_function)
    return translate_module(
        module, strategy, streams=files, structures=structures, brought=brought, now=now, rooted=rooted
    )


def brought_structures(files: Mapping[str, str | Path], structures: Mapping[str, Structure]) -> dict[str, Structure]:
    """The tag structures in the files of those streams for which none is given."""
    missing = [name for name in files if _given(structures, name) is None]
    found = {name: stream_structure(files[name]) for name in missing}
    return {name: structure for name, structure in found.items() if structure is not None}


def stream_structure(path: str | Path) -> Structure | None:
    """The tag structure that a fragments file brings; one that comes later may add to it."""
    from xstreamcast.wire.fragment import read_stream

    found: Structure | None = None
    for arrival in read_stream(path):
        item = arrival.item
        if isinstance(item, Structure) and (found is None or item.only_adds_to(found)):
            found = item
    return found


def _given(structures: Mapping[str, Structure], name: str) -> Structure | None:
    return structures.get(name) or structures.get("")


def translate_module(
    module: Module,
    strategy: Strategy = "QaC",
    *,
    streams: Mapping[str, str | Path] | None = None,
    structures: Mapping[str, Structure] | None = None,
    brought: Mapping[str, Structure] | None = None,
    now: str | None = None,
    rooted: bool = False,
) -> str:
    """The XQuery program of a parsed query; ``brought`` are the structures that the files have inside."""
    return _Program(module, strategy, streams or {}, structures or {}, brought or {}, now, rooted).text()


class _Program:
    """One translation: which streams there are, which are constructed first, and the text."""

    def __init__(
        self,
        module: Module,
        strategy: Strategy,
        files: Mapping[str, str | Path],
        given: Mapping[str, Structure],
        brought: Mapping[str, Structure],
        now: str | None,
        rooted: bool,
    ) -> None:
        if strategy not in STRATEGIES:
            raise error("XSC0073", f"no strategy {strategy!r}", hint=f"one of {', '.join(STRATEGIES)}")
        if rooted and strategy != "QaC+":
            raise error("XSC0073", f"{strategy} assumes nothing", hint="--assume rooted belongs to QaC+")
        self.module = module
        self.strategy = strategy
        self.files = files
        self.given = given
        self.now = now
        self.rooted = rooted
        self.check_prolog()
        self.nodes = [node for part in self.expressions() for node in descendants(part)]
        self.identifiers = self.named_streams()
        self.structures: dict[str, Structure] = {}
        for name in self.identifiers:
            found = _given(given, name) or brought.get(name)
            if found is not None:
                self.structures[name] = found
        self.reasons: dict[str, str] = {}

    # ----------------------------------------------------------------------------------------- what there is

    def expressions(self) -> Iterable[ast.Node]:
        yield from self.module.prolog
        if self.module.body is not None:
            yield self.module.body

    def check_prolog(self) -> None:
        """Refuses what would change the library's own functions, or would have to be translated elsewhere."""
        module = self.module
        if module.body is None:
            raise error("XSC0073", "a library module is not a query", hint="translate the query that imports it")
        for declaration in module.prolog:
            if (
                isinstance(declaration, ast.NamespaceDecl)
                and TAKEN.get(declaration.prefix, declaration.uri) != declaration.uri
            ):
                message = f"the prefix {declaration.prefix} is the translation's own"
                raise module.source.fault("XSC0073", message, declaration.span, "use another one")
            if isinstance(declaration, ast.SetterDecl) and declaration.setting == "default-collation":
                message = "declare default collation would change how the library compares names"
                raise module.source.fault("XSC0073", message, declaration.span, "name it where it is used")
            setter = declaration if isinstance(declaration, ast.SetterDecl) else None
            if setter and setter.setting == "copy-namespaces" and setter.value.replace(" ", "") != "preserve,inherit":
                message = "declare copy-namespaces would change how the temporal view is built"
                raise module.source.fault("XSC0073", message, declaration.span, "leave it out")
        for imported in module.imported:
            for node in descendants(imported):
                if isinstance(node, _TEMPORAL) or _is_stream_call(node):
                    message = "XCQL in an imported module is not translated"
                    raise imported.source.fault("XSC0073", message, node.span, "move it into the query")

    def named_streams(self) -> dict[str, str]:
        """The streams, those of the query in its order and then the others, with names fit for variables."""
        names = [
            node.args[0].value
            for node in self.nodes
            if _is_stream_call(node)
            and isinstance(node, ast.FunctionCall)
            and isinstance(node.args[0], ast.StringLiteral)
        ]
        found: dict[str, str] = {}
        for name in [*names, *self.files]:
            if name not in found:
                fits = match_whole_ncname(name) and name not in ("now", "start", "end", "stream", "updates", "carriers")
                identifier = name if fits and name not in found.values() else f"stream{len(found) + 1}"
                found[name] = identifier
        return found

    @property
    def computed_names(self) -> bool:
        """Whether some stream's name is known only when the program runs."""
        return any(_is_stream_call(node) and not _literal_call(node) for node in self.nodes)

    @property
    def marked(self) -> bool:
        """Whether the query projects: only then are ends clipped."""
        return any(isinstance(node, ast.IntervalProjection | ast.VersionProjection) for node in self.nodes)

    # ------------------------------------------------------------------------------------------- the rewriting

    def rewritten(self) -> tuple[frozenset[str], list[ast.Declaration], Expr]:
        """The translated prolog and body, after as many runs as streams turn out to need construction."""
        constructed = set(self.identifiers)
        if self.strategy != "CaQ":
            for name in self.identifiers:
                if self.computed_names:
                    self.reasons[name] = "stream() is called with a computed name"
                elif name not in self.structures:
                    self.reasons[name] = "no tag structure is known"
                elif StreamTags(self.structures[name]).recursive_fragments:
                    self.reasons[name] = "its fragments are recursive"
                else:
                    constructed.discard(name)
        while True:
            try:
                return frozenset(constructed), *self.run(frozenset(constructed))
            except ConstructFirst as need:
                place = self.module.source.place(need.node.span)
                for name in sorted(need.streams):
                    self.reasons[name] = f"{need.why} ({place.line}:{place.column})"
                constructed |= need.streams

    def run(self, constructed: frozenset[str]) -> tuple[list[ast.Declaration], Expr]:
        static = self.module.static
        rewriter = Rewriter(
            self.strategy,
            self.identifiers,
            self.structures,
            constructed,
            marked=self.marked,
            rooted=self.rooted,
            bare_names=static is None or not static.default_element_namespace,
        )
        for declaration in self.module.prolog:
            if isinstance(declaration, ast.FunctionDecl):
                key = (*declaration.name.expanded, len(declaration.params))
                rewriter.results[key] = rewriter.declared(declaration.result)
        scope = Scope()
        prolog: dict[int, ast.Declaration] = dict(enumerate(self.module.prolog))
        for number, declaration in enumerate(self.module.prolog):  # in order: a variable sees those before it
            if isinstance(declaration, ast.VariableDecl):
                prolog[number], shape = variable_declaration(rewriter, declaration, scope)
                scope = scope.bind(declaration.name, shape)
            elif isinstance(declaration, ast.ContextItemDecl):
                given = rewriter.declared(declaration.type)
                if declaration.value is not None:
                    value, given = rewriter.value(declaration.value, scope)
                    prolog[number] = ast.ContextItemDecl(declaration.type, value, declaration.external)
                scope = scope.at(given)
        for number, declaration in enumerate(self.module.prolog):
            if isinstance(declaration, ast.FunctionDecl) and declaration.body is not None:
                inner = scope.at(ATOMIC)
                for param in declaration.params:
                    inner = inner.bind(param.name, rewriter.declared(param.type))
                body = rewriter.value(declaration.body, inner)[0]
                prolog[number] = ast.FunctionDecl(
                    declaration.name, declaration.params, declaration.result, body, declaration.annotations
                )
        assert self.module.body is not None
        body = rewriter.value(self.module.body, scope)[0]
        return list(prolog.values()), library("answer", body) if self.marked else body

    # --------------------------------------------------------------------------------------------------- text

    def text(self) -> str:
        constructed, prolog, body = self.rewritten()
        first = (ast.NamespaceDecl, ast.DefaultNamespaceDecl, ast.SetterDecl, ast.DecimalFormatDecl, ast.ModuleImport)
        declared = {d.prefix for d in prolog if isinstance(d, ast.NamespaceDecl)}
        lines = ['xquery version "3.1";', f"(: {self.heading()} :)"]
        lines += [to_xquery(declaration) + ";" for declaration in prolog if isinstance(declaration, first)]
        lines += [f'declare namespace {p} = "{uri}";' for p, uri in PREFIXES.items() if p not in declared]
        lines += [TIME.rstrip(), ARRIVALS.rstrip(), "", "(: the streams :)", *self.stream_files()]
        lines += [LIFESPANS.rstrip(), FRAGMENTS.rstrip()]
        if self.marked:
            lines.append(PROJECTION.rstrip())
        lines += ["", "(: what fills their holes :)", *self.stream_regions(constructed), "", "(: the query :)"]
        lines += [to_xquery(declaration) + ";" for declaration in prolog if not isinstance(declaration, first)]
        lines.append(to_xquery(Module((), body)))
        return "\n".join(lines) + "\n"

    def heading(self) -> str:
        words = {
            "CaQ": "construct, then query",
            "QaC": "query, then construct",
            "QaC+": "fillers by tsid, then construct",
        }
        text = f"XCQL translated by {self.strategy}: {words[self.strategy]}"
        if self.rooted:
            text += ", every filler assumed to hang on a hole"
        for name, why in self.reasons.items():
            text += f"\n   {name.replace('(:', '( :').replace(':)', ': )')} is constructed first: {why}"
        return text

    def stream_files(self) -> Iterable[str]:
        """For each stream its file, structure and changes; then the current time."""
        clocks = []
        for name, short in self.identifiers.items():
            at = f" := {quote(_address(self.files[name]))}" if name in self.files else ""
            file = f"fn:doc($xcql:{short}-file)"
            given = _given(self.given, name)
            structure = f"xcql:structure({file})" if given is None else f"xcql:with({_literal(given)}, {file})"
            yield f"declare variable $xcql:{short}-file as xs:string external{at};"
            yield f"declare variable $xcql:{short}-structure as map(*)? := {structure};"
            arrivals = f"xcql:arrivals({file}, $xcql:{short}-structure)"
            yield f"declare variable $xcql:{short}-arrivals as map(*)* := {arrivals};"
            clocks.append(f"xcql:clock($xcql:{short}-arrivals)")
        yield f"declare variable $xcql:now as xs:dateTime external := {self.clock(clocks)};"

    def stream_regions(self, constructed: frozenset[str]) -> Iterable[str]:
        """For each stream what fills its holes, and the document node that paths start from."""
        for name, short in self.identifiers.items():
            regions = f"xcql:regions(fn:doc($xcql:{short}-file), $xcql:{short}-structure, $xcql:{short}-arrivals)"
            yield f"declare variable $xcql:{short} as map(*) := {regions};"
            if name in constructed:
                yield f"declare variable $xcql:{short}-view as document-node() := xcql:view($xcql:{short});"
            else:
                yield f"declare variable $xcql:{short}-document as document-node() := xcql:document($xcql:{short});"
        if self.computed_names:
            yield from self.stream_named()

    def clock(self, clocks: list[str]) -> str:
        if self.now is not None:
            return f'xcql:time("{format_instant(parse_instant(self.now))}")'
        return f"fn:max(({', '.join(clocks)}))" if clocks else "xcql:in_utc(fn:current-dateTime())"

    def stream_named(self) -> Iterable[str]:
        """``stream($name)``: which one is known only when the program runs."""
        cases = "".join(
            f"\n    case {quote(name)} return $xcql:{short}-view" for name, short in self.identifiers.items()
        )
        yield "declare function xcql:stream_named($name as xs:string) as document-node() {"
        yield f"  switch ($name){cases}"
        yield '    default return fn:error(xs:QName("err:FODC0002"), "there is no stream " || $name)\n};'


def variable_declaration(
    rewriter: Rewriter, declaration: ast.VariableDecl, scope: Scope
) -> tuple[ast.VariableDecl, Shape]:
    """A variable of the prolog; one that the engine may set has a whole value, whatever it is."""
    if declaration.value is None:
        return declaration, rewriter.declared(declaration.type)
    translated = rewriter.value if declaration.external else rewriter.raw
    value, shape = translated(declaration.value, scope)
    made = ast.VariableDecl(declaration.name, declaration.type, value, declaration.external, declaration.annotations)
    return made, rewriter.declared(declaration.type) if declaration.external else shape


def _is_stream_call(node: ast.Node) -> bool:
    return isinstance(node, ast.FunctionCall | ast.NamedFunctionRef) and node.name.expanded == (STREAM, "stream")


def _literal_call(node: ast.Node) -> bool:
    return isinstance(node, ast.FunctionCall) and isinstance(node.args[0], ast.StringLiteral)


def _address(path: str | Path) -> str:
    """A file as a URI, so that the program runs from anywhere."""
    if str(path) == "-":
        raise error("XSC0073", "a program reads a file, not standard input", hint="save the stream first")
    if str(path).endswith((".gz", ".bz2", ".xz")):
        raise error("XSC0073", f"{path} is compressed; an engine's doc() reads XML", hint="unpack it first")
    return Path(path).absolute().as_uri()


def _literal(structure: Structure) -> str:
    """A structure as the map that ``xcql:structure`` makes of one in a file."""
    types = ", ".join(f'{tag.id}: "{tag.type or ""}"' for tag in structure.tags.values() if tag.id != UNNAMED)
    root = "()" if structure.unnamed else str(structure.root)
    tops = structure.tag(structure.root).children if structure.unnamed else (structure.root,)
    return f'map {{ "types": map {{ {types} }}, "root": {root}, "tops": ({", ".join(map(str, tops))}) }}'
