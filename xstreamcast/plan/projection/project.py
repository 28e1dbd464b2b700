"""Projection: which parts of its documents an expression can see.

On a document that has only those parts the expression has the same value as on the whole one (Marian and Siméon's
theorem; :mod:`xstreamcast.plan.projection.analysis` has the rules). The parts are targets of a scan:

>>> from xstreamcast.lang.link import parse
>>> module = parse("declare variable $d external; for $p in $d/people/person where $p/@id = 'x' return $p/name/text()")
>>> describe(project(module.body, {("", "d"): Path()}, module=module)["", "d"])
['/people/person/@id', '/people/person/name/text()']
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.model.structure import Structure
from xstreamcast.plan.projection.analysis import Analysis
from xstreamcast.plan.projection.paths import (
    WHOLE_DOCUMENT,
    Place,
    VarName,
    describe,
    describe_path,
    merge,
    simplify,
    target,
)
from xstreamcast.plan.projection.values import Scope, Value
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.path import NODE, NodeTest, Path, Step

_LIFESPAN: Final = NodeTest(ATTRIBUTE, "", "vtFrom"), NodeTest(ATTRIBUTE, "", "vtTo")

__all__ = ["WHOLE_DOCUMENT", "describe", "describe_path", "merge", "project"]


def project(
    expr: ast.Expr,
    roots: Mapping[VarName, Path],
    *,
    module: ast.Module | None = None,
    whole: bool = True,
    structure: Structure | None = None,
) -> dict[VarName, tuple[Target, ...]]:
    """What an expression can see of documents, by the variables that are bound to nodes of them.

    ``roots`` says where in its document a variable's node is (the empty path: the document node itself). ``module``
    has the functions and variables that ``expr`` may refer to. ``whole``: what is in the nodes of the result is seen
    too, else no more than that they are there. A variable that is neither a root nor declared holds no nodes of these
    documents. A root that is not looked at has no targets. ``structure``: of all documents; it tells whose lifespans
    do not hang on what is inside.
    """
    analysis = Analysis([] if module is None else [module, *module.imported], expr)
    analysis.given = {root: Value(frozenset({Place(root, path)})) for root, path in roots.items()}
    analysis.starts = frozenset(place for value in analysis.given.values() for place in value.places)

    def start() -> None:
        found = analysis.value(expr, Scope())
        if whole:
            analysis.read(found)

    try:
        analysis.run(start)
    except RecursionError:  # an expression nested more deeply than Python's stack: no reason to fail
        analysis.give_up()
    if analysis.everything:
        return dict.fromkeys(roots, (WHOLE_DOCUMENT,))
    return {root: targets_of(analysis, root, structure) for root in roots}


def targets_of(analysis: Analysis, root: VarName, structure: Structure | None) -> tuple[Target, ...]:
    """What an analysis has found to be seen of the document of a root."""
    found = dict.fromkeys([target(place.path, whole) for place, whole in analysis.kept.items() if place.root == root])
    paths = [each.path for each in found]
    for uri, local in sorted(analysis.inherited):
        for path in paths:
            found.update(_attributes(root, path, 0, NodeTest(ATTRIBUTE, uri, local)))
    for clipped in analysis.clipped:
        for path in paths if clipped.root == root else ():
            pairs = zip(path.steps, clipped.path.steps, strict=False)
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            below = same + (same < len(clipped.path.steps))
            for name in _LIFESPAN:
                found.update(_attributes(root, path, below, name))
            for at in range(below, len(path.steps) + 1):
                hangs = at and _hangs_on_content(path.steps[at - 1], structure)
                if hangs or (at < len(path.steps) and path.steps[at].deep and _hangs_on_content(None, structure)):
                    found[target(Path(path.steps[:at]), True)] = None
                    break
    return simplify(found)


def _hangs_on_content(step: Step | None, structure: Structure | None) -> bool:
    """Whether the lifespan of an element of a step (None: any element) may be the hull of what is inside of it: it has
    none of its own, and something in it may have one."""
    if step is not None and step.test.kind not in (ELEMENT, NODE):
        return False
    if structure is None or structure.unnamed:
        return True
    for tag in structure.tags.values():
        uri, _, local = tag.name.rpartition("}")
        named = step is None or step.test.matches(ELEMENT, uri[1:], local)
        if named and not tag.timed and any(structure.tags[inner].timed for inner in structure.descendants([tag.id])):
            return True
    return False


def _attributes(root: VarName, path: Path, first: int, test: NodeTest) -> dict[Target, None]:
    """An attribute of the nodes on a path, from a step on."""
    found: dict[Target, None] = {}
    for at in range(first, len(path.steps) + 1):
        place = Place(root, Path(path.steps[:at]))
        if place.has_content and not place.is_document:
            found[target(place.down(test).path, False)] = None
        if at < len(path.steps) and path.steps[at].deep:
            found[target(place.down(test, True).path, False)] = None
    return found
