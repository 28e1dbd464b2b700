"""Paths of the language as paths of the scan."""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from xstreamcast.plan.algebra import VarName
from xstreamcast.scan.path import NODE, NodeTest, Path, Step

_KINDS: Final = {"node": NODE, "text": TEXT, "comment": COMMENT}


def scan_test(step: ast.AxisStep) -> NodeTest | None:
    """The step's node test as one of the scan's, None if the scan has no such test."""
    attribute = step.axis == "attribute"
    principal = ATTRIBUTE if attribute else ELEMENT
    match step.test:
        case ast.NameTest(name):
            return NodeTest(principal, name.uri or "", name.local)
        case ast.Wildcard(_, uri, local):
            return NodeTest(principal, uri, local)
        case ast.KindTest(kind) if kind in _KINDS:
            if attribute:
                return NodeTest(ATTRIBUTE) if kind == "node" else None
            return NodeTest(_KINDS[kind])
        case ast.ElementTest(name, None, _) if not attribute:
            return NodeTest(ELEMENT) if name is None else NodeTest(ELEMENT, name.uri or "", name.local)
        case ast.AttributeTest(name, None) if attribute:
            return NodeTest(ATTRIBUTE) if name is None else NodeTest(ATTRIBUTE, name.uri or "", name.local)
        case ast.PITest(target) if not attribute:
            return NodeTest(PI) if target is None else NodeTest(PI, "", target)
        case _:
            return None


def owner(path: Path) -> tuple[Path, int]:
    """The path a cut must respect to keep each of the path's nodes in one piece, and how far above it is.

    An attribute stands with its element in every piece that has the element: the element must not be cut.
    """
    if path.steps and path.steps[-1].test.kind == ATTRIBUTE:
        above = Path(path.steps[:-1])
        if path.steps[-1].deep and not above.steps:  # of any element
            return Path((Step(NodeTest(ELEMENT), True),)), 1
        return above, 1
    return path, 0


def nested(path: Path) -> bool:
    """Whether nodes of the path may lie within each other."""
    return any(step.deep for step in path.steps) and path.steps[-1].test.kind in (ELEMENT, NODE)


def flat(first: ast.Expr, rest: ast.Expr, name: VarName) -> ast.Expr:
    """``first/rest`` for a path ``rest`` that begins at the variable, as one path."""
    assert isinstance(rest, ast.Path)
    assert isinstance(rest.steps[0], ast.VarRef)
    assert rest.steps[0].name.expanded == name
    before = first.steps if isinstance(first, ast.Path) else (first,)
    return ast.Path((*before, *rest.steps[1:]), span=rest.span)
