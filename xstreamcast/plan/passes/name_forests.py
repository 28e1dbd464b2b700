"""Streams and inputs that need not have one element at their top get variables that say so.

What rests on documents having one, such as ``open_root``, leaves these as they are.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.plan.sources import documents, forest, source_of


def name_forests(module: ast.Module, names: Collection[str], many: Collection[str | None] = ()) -> ast.Module:
    """The module, whose sources have been named, with these streams, and these inputs, as forests."""

    if not names and not many:
        return module

    def change(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.VarRef):
            source = source_of(part.name.expanded)
            if source is not None and source.stream and source.uri is not None and source.uri in names:
                return ast.VarRef(forest(source.uri), span=part.span)
            if source is not None and not source.stream and source.uri in many:
                return ast.VarRef(documents(source.uri), span=part.span)
        return rebuild(part, change)

    prolog = [change(declaration) for declaration in module.prolog]
    body = None if module.body is None else change(module.body)
    assert body is None or isinstance(body, ast.Expr)
    return replace(module, prolog=tuple([one for one in prolog if isinstance(one, ast.Declaration)]), body=body)
