"""Where the nodes of an expression about a record are, seen from the record."""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast

Where = int
"""How far below its record's top a node is at least; or one of these:"""
APART: Final = 1 << 20
"""No node of the document: an atomic value, a function, a constructed node."""
ABOVE: Final = -1
"""Perhaps an ancestor of the record."""
ABOVE_ATTRIBUTE: Final = -2
"""Perhaps an attribute of an ancestor."""
MIXED: Final = -3
"""Nodes of several records, whose order among each other is not known: no steps lead on from all of them."""
BARRED: Final = -4
"""The same, with ancestors among them."""
FOREIGN: Final = -5
"""And below: nodes of another unit's records, one number for each look-up; all that is there of them is what is in
them. They are in document order."""

DOWNWARD: Final = frozenset(("child", "descendant", "descendant-or-self", "attribute", "self"))


class Blocking(Exception):
    """An expression that does not stream, and why."""

    def __init__(self, expr: ast.Expr, reason: str) -> None:
        super().__init__(reason)
        self.expr = expr
        self.reason = reason


def joined(*where: Where) -> Where:
    """Where the nodes of several sequences are."""
    if min(where, default=APART) < ABOVE_ATTRIBUTE:
        known = {one for one in where if one != APART}
        if len(known) == 1:
            return known.pop()
        return BARRED if known & {ABOVE, BARRED} else MIXED
    if ABOVE in where:
        return ABOVE
    if ABOVE_ATTRIBUTE in where:
        return ABOVE_ATTRIBUTE
    return min(where, default=APART)


def single(where: Where) -> Where:
    """Where one of several nodes is."""
    return FOREIGN if where == MIXED else where


def within(where: Where) -> Where:
    """Where nodes are that a function has made of those there: anywhere in the record."""
    if where <= FOREIGN:
        return MIXED
    return where if where == APART else joined(where, 0)


def moved(e: ast.AxisStep, where: Where) -> Where:
    """Where a step leads to from there, or :class:`Blocking`."""
    axis = e.axis
    if where == APART:
        return APART
    if where in (MIXED, BARRED):
        raise Blocking(e, "nodes from different places of the document are merged")
    if where <= FOREIGN:
        if axis not in DOWNWARD:
            raise Blocking(e, f"the {axis} axis leaves the record")
        return where
    if where == ABOVE:
        if axis in ("parent", "ancestor", "ancestor-or-self", "self"):
            return ABOVE
        if axis == "attribute":
            return ABOVE_ATTRIBUTE
        raise Blocking(e, "it looks at other parts of an ancestor of its record")
    if where == ABOVE_ATTRIBUTE:
        if axis == "self":
            return ABOVE_ATTRIBUTE
        if axis in ("parent", "ancestor", "ancestor-or-self"):
            return ABOVE
        raise Blocking(e, "it looks at other parts of an ancestor of its record")
    if axis in ("child", "descendant", "attribute", "namespace"):
        return where + 1
    if axis in ("self", "descendant-or-self"):
        return where
    if axis == "parent":
        return where - 1 if where else ABOVE
    if axis in ("ancestor", "ancestor-or-self"):
        return ABOVE
    if axis in ("following-sibling", "preceding-sibling") and where:
        return where
    raise Blocking(e, f"the {axis} axis leaves the record")
