"""Paths over nodes that are kept in another order than the document's: ``let $v := reverse(E) return $v/@id``.

A step puts what it leads to in document order, each node once. The nodes of a unit are each in a tree of its record: a
unit that sorts, numbers or gathers gives them in its own order, and the nodes of two units stand in two orders. What
the document's was is not known where their values are read. So a step from all of them is refused. From one of them,
``for $x in $v return $x/@id`` or ``head($v)/@id``, or from those of one unit in its document's order, it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import children
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.passes.shapes import is_fn
from xstreamcast.plan.passes.variables import binders, free

_ITEM_BY_ITEM: Final = frozenset(("for-each", "filter", "sort"))
"""Functions that call another with each item of their first argument."""
_SOME_OF: Final = frozenset(("tail", "subsequence", "remove", "unordered", "trace", "one-or-more"))
"""Functions whose value is some items of their first argument, in its order."""
_ONE_OF: Final = ("head", "exactly-one", "zero-or-one")
_WITHOUT: Final = (
    *(ast.GeneralComparison, ast.ValueComparison, ast.Arithmetic, ast.Unary, ast.Concat, ast.Range, ast.And, ast.Or),
    *(ast.Quantified, ast.InstanceOf, ast.CastableAs, ast.CastAs, ast.AllenComparison),
)
"""Expressions without nodes in their values."""


def refuse_steps(e: ast.Expr, reordered: Iterable[VarName], ordered: Iterable[VarName]) -> None:
    """:class:`Blocking` if a step leads on from several nodes that are not known to be in document order.

    ``reordered`` and ``ordered``: the variables of units whose nodes are not, and are, if they are by themselves.
    """
    _Steps(reordered, ordered).visit(e)


class _Steps:
    def __init__(self, reordered: Iterable[VarName], ordered: Iterable[VarName]) -> None:
        self.reordered = set(reordered)
        self.ordered = set(ordered)
        """Variables with nodes of one unit in document order; those of loops, one node each, too."""
        self.looped: set[VarName] = set()
        """The variables of loops over nodes in another order: when they are grouped, they have several."""

    def visit(self, e: ast.Node) -> None:
        match e:
            case ast.Path() if self.holds(e.steps[0]):
                raise Blocking(e, "nodes that are not in document order are merged")
            case ast.FLWOR():
                self.flwor(e)
                return
            case ast.Typeswitch() if self.holds(e.operand):
                self.reordered.update(name.expanded for part in (e, *e.cases) for name in binders(part))
            case ast.FunctionCall() if self.hands_on(e):
                raise Blocking(e, "nodes that are not in document order are handed to a function")
            case ast.DynamicCall() if any(self.holds(arg) for arg in e.args):
                raise Blocking(e, "nodes that are not in document order are handed to a function")
        for part in children(e):
            self.visit(part)

    def flwor(self, e: ast.FLWOR) -> None:
        before = set(self.reordered), set(self.ordered), set(self.looped)
        for clause in e.clauses:
            self.visit(clause)
            match clause:
                case ast.LetClause(var=name, value=value):
                    (self.reordered if self.holds(value) else self.ordered).add(name.expanded)
                case ast.ForClause(var=name, source=source):
                    self.ordered.add(name.expanded)
                    if self.holds(source):
                        self.looped.add(name.expanded)
                case ast.WindowClause(source=source) if self.holds(source):
                    self.reordered.update(name.expanded for name in binders(clause))
                case ast.GroupClause():
                    self.reordered |= self.looped
        self.visit(e.result)
        self.reordered, self.ordered, self.looped = before

    def hands_on(self, e: ast.FunctionCall) -> bool:
        """Whether a function that is no built-in one, or one that a built-in one calls, may get such nodes."""
        given = [number for number, arg in enumerate(e.args) if self.holds(arg)]
        if not given:
            return False
        if e.name.uri != FN:
            return True
        calls = any(isinstance(arg, ast.InlineFunction | ast.NamedFunctionRef | ast.VarRef) for arg in e.args[1:])
        return calls and (given != [0] or e.name.local not in _ITEM_BY_ITEM)

    def reads(self, e: ast.Expr) -> bool:
        return bool(free(e) & (self.reordered | self.ordered))

    def holds(self, e: ast.Expr) -> bool:
        """Whether the value of an expression may have several nodes that are not in document order."""
        if not self.reads(e):
            return False
        match e:
            case ast.VarRef():
                return e.name.expanded in self.reordered
            case ast.Filter():
                last = e.predicates[-1]
                return self.holds(e.base) and not (isinstance(last, ast.IntegerLiteral) or is_fn(last, "last", 0))
            case ast.Sequence():
                return sum(map(self.reads, e.items)) > 1 or any(map(self.holds, e.items))
            case ast.If():
                return self.holds(e.then) or self.holds(e.otherwise)
            case ast.IntervalProjection() | ast.VersionProjection():
                return self.holds(e.base)
            case ast.DynamicCall() | ast.Path() | ast.DirectElement() | ast.ComputedElement() | ast.ComputedDocument():
                return False  # rows that are looked up, or a path's nodes, are in order; the others are one node
            case ast.FunctionCall() if e.name.uri == FN:
                entry = lookup(FN, e.name.local, len(e.args))
                if any(is_fn(e, name, 1) for name in _ONE_OF):
                    return False
                if e.name.local in _SOME_OF:
                    return self.holds(e.args[0])
                return entry is None or not isinstance(entry.result.item, AtomicType)
        return not isinstance(e, _WITHOUT)
