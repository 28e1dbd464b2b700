"""The documents a query reads, as variables (:class:`~xstreamcast.plan.algebra.Source`)."""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import PLAN, Source, VarName

_CONTEXT: Final = "document"
_DOC: Final = "document "
_STREAM: Final = "stream "
_FOREST: Final = "forest "
_MANY: Final = "documents"


def context_document() -> ast.Name:
    """The name of the variable that stands for the context document."""
    return ast.Name("", _CONTEXT, PLAN)


def document(uri: str) -> ast.Name:
    """The name of the variable that stands for ``doc(uri)``."""
    return ast.Name("", _DOC + uri, PLAN)


def stream(name: str) -> ast.Name:
    """The name of the variable that stands for ``stream(name)``."""
    return ast.Name("", _STREAM + name, PLAN)


def forest(name: str) -> ast.Name:
    """The same where it need not have one element at its top."""
    return ast.Name("", _FOREST + name, PLAN)


def documents(uri: str | None) -> ast.Name:
    """The name of the variable for an input of several documents: the context's, or that of ``doc(uri)``."""
    return ast.Name("", _MANY if uri is None else f"{_MANY} {uri}", PLAN)


def source_of(name: VarName) -> Source | None:
    """The document that a variable stands for, if it stands for one."""
    uri, local = name
    if uri != PLAN:
        return None
    if local == _CONTEXT:
        return Source(None, name)
    if local == _MANY:
        return Source(None, name, forest=True)
    if local.startswith(f"{_MANY} "):
        return Source(local.removeprefix(f"{_MANY} "), name, forest=True)
    if local.startswith(_DOC):
        return Source(local.removeprefix(_DOC), name)
    if local.startswith(_STREAM):
        return Source(local.removeprefix(_STREAM), name, stream=True)
    if local.startswith(_FOREST):
        return Source(local.removeprefix(_FOREST), name, stream=True, forest=True)
    return None


def sources_of(*nodes: ast.Node) -> tuple[Source, ...]:
    """The documents that syntax trees mention, in the order of first mention."""
    found: dict[VarName, Source] = {}
    for node in nodes:
        for part in descendants(node):
            if isinstance(part, ast.VarRef):
                source = source_of(part.name.expanded)
                if source is not None:
                    found.setdefault(source.variable, source)
    return tuple(found.values())
