"""Expressions that are the current time, or go on with it."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import STREAM


def is_now(e: ast.Expr) -> bool:
    """Whether an expression is the current time: ``now`` inside brackets, ``now()`` elsewhere."""
    return isinstance(e, ast.Now) or (isinstance(e, ast.FunctionCall) and e.name.expanded == (STREAM, "now"))


def is_moving(e: ast.Expr) -> bool:
    """Whether an expression is the current time, or that and a while: it goes on with the clock."""
    if isinstance(e, ast.Arithmetic):
        return e.op in ("+", "-") and is_moving(e.left) and not is_moving(e.right)
    return is_now(e)
