"""Projection: which parts of its documents an expression can see.

On a document that has only those parts the expression has the same value as on the whole one (Marian and Siméon's
theorem; :mod:`xstreamcast.plan.projection.analysis` has the rules). The parts are targets of a scan:

>>> from xstreamcast.lang.link import parse
>>> query = parse("for $p in /site/people/person where $p/@id = 'person0' return $p/name/text()")
>>> describe(project_module(query).targets[None])
['/site/people/person/@id', '/site/people/person/name/text()']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from xstreamcast.lang import ast
from xstreamcast.lang.context import FN
from xstreamcast.lang.walk import descendants
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.plan.projection.analysis import Analysis, is_double_slash
from xstreamcast.plan.projection.paths import (
    WHOLE_DOCUMENT,
    Place,
    VarName,
    attributes,
    describe,
    describe_path,
    follow,
    kinds_of,
    merge,
    simplify,
    target,
)
from xstreamcast.plan.projection.values import NOTHING, Scope, Value
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.path import NodeTest, Path

__all__ = [
    "WHOLE_DOCUMENT",
    "Projection",
    "describe",
    "describe_path",
    "merge",
    "path_of",
    "project",
    "project_module",
    "result_paths",
]


@dataclass(frozen=True, slots=True)
class Projection:
    """What a query can see: targets by the URI of ``doc("uri")``, None for the context document.

    ``identifiers``: it asks for IDs, which only a DTD declares: such a document must not come from the scan kernel.
    """

    targets: Mapping[str | None, tuple[Target, ...]]
    identifiers: bool = False


def project(
    expr: ast.Expr,
    roots: Mapping[VarName, Path],
    *,
    module: ast.Module | None = None,
    context: VarName | None = None,
    documents: Mapping[str, VarName] | None = None,
    whole: bool = True,
) -> dict[VarName, tuple[Target, ...]]:
    """What an expression can see of documents, by the variables that are bound to nodes of them.

    ``roots`` says where in its document a variable's node is (the empty path: the document node itself). ``module``
    has the functions and variables that ``expr`` may refer to; ``context`` and ``documents`` are the roots which the
    initial context item and ``doc("uri")`` stand for, in ``expr`` and in the prolog. ``whole``: what is in the nodes of
    the result is seen too, else no more than that they are there. A variable that is neither a root nor declared
    holds no nodes of these documents. A root that is not looked at has no targets.
    """
    analysis = _analysis([] if module is None else [module, *module.imported], expr, (documents or {}).get)
    _roots(analysis, roots, context)

    def start() -> None:
        found = analysis.value(expr, analysis.initial)
        if whole:
            analysis.read(found)

    if not _complete(analysis, start):
        return dict.fromkeys(roots, (WHOLE_DOCUMENT,))
    made = {root: _targets(analysis, root) for root in roots}
    if analysis.any_document:
        made.update(dict.fromkeys((documents or {}).values(), (WHOLE_DOCUMENT,)))
    return made


def result_paths(
    expr: ast.Expr, roots: Mapping[VarName, Path], *, module: ast.Module | None = None
) -> dict[VarName, tuple[Path, ...]] | None:
    """Where the nodes that an expression gives can be (new nodes apart); None if anywhere.

    >>> from xstreamcast.lang.link import parse
    >>> module = parse("declare variable $d external; $d//b[c]/(@x | d)")
    >>> found = result_paths(module.body, {("", "d"): Path()})
    >>> sorted(describe_path(path) for path in found["", "d"])
    ['//b/@x', '//b/d']
    """
    analysis = _analysis([] if module is None else [module, *module.imported], expr, lambda uri: None)
    _roots(analysis, roots, None)
    found = [NOTHING]

    def start() -> None:
        found[0] = analysis.value(expr, analysis.initial)

    if not _complete(analysis, start):
        return None
    return {root: tuple(place.path for place in found[0].places if place.root == root) for root in roots}


def project_module(module: ast.Module) -> Projection:
    """What a query can see of the context document and of the documents it names.

    >>> from xstreamcast.lang.link import parse
    >>> project_module(parse("count(doc('a.xml')//b)")).targets.keys()
    dict_keys(['a.xml'])
    """
    named: dict[str, VarName] = {}
    modules = [module, *module.imported]
    analysis = _analysis(modules, None, lambda uri: named.setdefault(uri, (_DOCUMENT, uri)))
    place = Place(_CONTEXT, Path())
    analysis.starts = frozenset({place})
    given = Value(frozenset({place}))
    declared = [each for each in module.prolog if isinstance(each, ast.ContextItemDecl)]

    def start() -> None:
        focus = given
        for declaration in declared:
            if declaration.value is not None:
                found = analysis.value(declaration.value, Scope())
                focus = focus | found if declaration.external else found
            analysis.typed(focus, declaration.type)
        analysis.initial = Scope(focus=focus)
        if module.body is not None:
            analysis.read(analysis.value(module.body, analysis.initial))

    if not _complete(analysis, start):
        uris = {None, *named, *(uri for each in modules for uri in _literal_documents(each))}
        return Projection(dict.fromkeys(uris, (WHOLE_DOCUMENT,)), analysis.identifiers)
    targets: dict[str | None, tuple[Target, ...]] = {}
    if any(place.root == _CONTEXT for place in analysis.kept):
        targets[None] = _targets(analysis, _CONTEXT)
    base = (module.static.base_uri if module.static else None) or ""
    for uri in named:
        # Two spellings of one URI are one document.
        same = [root for other, root in named.items() if urljoin(base, other) == urljoin(base, uri)]
        wanted = merge(*[_targets(analysis, root) for root in same])
        targets[uri] = (WHOLE_DOCUMENT,) if analysis.any_document else wanted
    return Projection(targets, analysis.identifiers)


_CONTEXT: Final[VarName] = ("context", "")
_DOCUMENT: Final = "document"


def _analysis(
    modules: Sequence[ast.Module], expr: ast.Expr | None, document: Callable[[str], VarName | None]
) -> Analysis:
    return Analysis(modules, [] if expr is None else [expr], document)


def _roots(analysis: Analysis, roots: Mapping[VarName, Path], context: VarName | None) -> None:
    analysis.given = {root: Value(frozenset({Place(root, path)})) for root, path in roots.items()}
    analysis.starts = frozenset(place for value in analysis.given.values() for place in value.places)
    analysis.initial = Scope(focus=NOTHING if context is None else analysis.given[context])


def _complete(analysis: Analysis, start: Callable[[], None]) -> bool:
    """Whether the analysis came to an end with something to say."""
    try:
        analysis.run(start)
    except RecursionError:  # an expression nested more deeply than Python's stack: no reason to fail
        return False
    return not analysis.everything


def _targets(analysis: Analysis, root: VarName) -> tuple[Target, ...]:
    found = {target(place.path, whole) for place, whole in analysis.kept.items() if place.root == root}
    for uri, local in analysis.inherited:
        test = NodeTest(ATTRIBUTE, uri, local)
        for path in [each.path for each in found]:
            for at, step in enumerate((*path.steps, None)):
                place = Place(root, Path(path.steps[:at]))
                if place.has_content and not place.is_document:
                    found.add(target(place.down(test).path, False))
                if step is not None and step.deep:
                    found.add(target(place.down(test, True).path, False))
    return simplify(found)


def _literal_documents(module: ast.Module) -> list[str]:
    return [
        node.args[0].value
        for node in descendants(module)
        if isinstance(node, ast.FunctionCall)
        and node.name.expanded == (FN, "doc")
        and len(node.args) == 1
        and isinstance(node.args[0], ast.StringLiteral)
    ]


def path_of(expr: ast.Expr, roots: Mapping[VarName, Path]) -> tuple[VarName, Path] | None:
    """The root and the path of an expression that is no more than steps without predicates, else None.

    >>> from xstreamcast.lang.link import parse
    >>> module = parse("declare variable $d external; $d/a//b/@c")
    >>> root, path = path_of(module.body, {("", "d"): Path()})
    >>> describe_path(path)
    '/a//b/@c'
    """
    first, *steps = expr.steps if isinstance(expr, ast.Path) else (expr,)
    if not isinstance(first, ast.VarRef) or first.name.expanded not in roots:
        return None
    place = Place(first.name.expanded, roots[first.name.expanded])
    within = False
    for step in steps:
        if not isinstance(step, ast.AxisStep) or step.predicates:
            return None
        if not within and is_double_slash(step):
            within = True
            continue
        typed = isinstance(step.test, (ast.ElementTest, ast.AttributeTest)) and step.test.type is not None
        if step.axis not in ("child", "descendant", "attribute") or typed:
            return None
        kinds = kinds_of(step.test, step.axis)
        if step.axis == "attribute":
            found = attributes(place, kinds, within)
        else:
            found = follow(place, "descendant" if within else step.axis, kinds)
        if len(found) != 1:
            return None
        place, within = found[0], False
    return None if within else (place.root, place.path)
