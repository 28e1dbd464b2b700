"""Three truth values, in XQuery: of a condition, whether it is certainly true, and whether it is certainly false.

``true(c) or false(c)`` is false while c is ⊥. The rules are Kleene's for ``and``, ``or``, ``not``; ``exists``, ``=``
and ``some`` are true at the first certain witness and false once nobody can come any more; ``empty`` and ``every`` the
other way round; a bound on a count is decided when enough are there, or no more can come. Anything else is known when
all that it reads is.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.modes.paths import is_plain, only_nodes
from xstreamcast.plan.modes.sequences import Sequences
from xstreamcast.plan.modes.ways import FALSE, TRUE, Way, both, call, either, exists, negated, those

_SWAPPED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BY_VALUE: Final = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TERNARY: Final = frozenset(("not", "exists", "empty", "boolean"))


class Kleene(Sequences):
    """T and F of conditions."""

    def is_condition(self, e: ast.Expr) -> bool:
        match e:
            case ast.And() | ast.Or() | ast.GeneralComparison() | ast.Quantified():
                return True
            case ast.ValueComparison():
                return _count(e.left, e.right) is not None
            case ast.FunctionCall():
                return e.name.uri == FN and e.name.local in _TERNARY and len(e.args) == 1
        return False

    def true(self, e: ast.Expr) -> ast.Expr:
        return self._known(e, True)

    def false(self, e: ast.Expr) -> ast.Expr:
        return self._known(e, False)

    def _known(self, e: ast.Expr, truth: bool) -> ast.Expr:
        """Whether a condition certainly has a truth value. De Morgan: ``both`` for true is ``either`` for false."""
        match e:
            case ast.And():
                return (both if truth else either)(*[self._known(part, truth) for part in e.operands])
            case ast.Or():
                return (either if truth else both)(*[self._known(part, truth) for part in e.operands])
            case ast.GeneralComparison():
                return self._compared(e)[not truth]
            case ast.ValueComparison() if self.is_condition(e):
                return self._known(ast.GeneralComparison(_BY_VALUE[e.op], e.left, e.right, span=e.span), truth)
            case ast.Quantified():
                return self._quantified(e)[not truth]
            case ast.If():
                then, otherwise = self._known(e.then, truth), self._known(e.otherwise, truth)
                taken = either(both(self.true(e.condition), then), both(self.false(e.condition), otherwise))
                return either(taken, both(then, otherwise))
            case ast.FunctionCall() if self.is_condition(e):
                (arg,) = e.args
                match e.name.local:
                    case "not":
                        return self._known(arg, not truth)
                    case "exists":
                        return self._exist(arg, truth)
                    case "empty":
                        return self._exist(arg, not truth)
                return self._known(arg, truth)
        if only_nodes(e):
            return self._exist(e, truth)
        value = _value(e)
        return both(negated(self.unsettled(e, "text")), value if truth else negated(value))

    def _exist(self, e: ast.Expr, truth: bool) -> ast.Expr:
        """Whether there certainly is an item, or certainly none."""
        if truth:
            return exists(self.certain(e))
        return both(call("empty", self.possible(e)), negated(self.more(e)))

    # -------------------------------------------------------------------------------------------------- comparisons

    def _compared(self, e: ast.GeneralComparison) -> tuple[ast.Expr, ast.Expr]:
        """True by certain witnesses; false when all are known and there is none, or one side is certainly empty."""
        bound = _count(e.left, e.right)
        if bound is not None:
            counted, other, swapped = bound
            return self._bounded(_SWAPPED[e.op] if swapped else e.op, counted, other, e)
        left, right = e.left, e.right
        true = ast.GeneralComparison(e.op, self._witnesses(left), self._witnesses(right), span=e.span)
        pending = either(self._pending(left), self._pending(right))
        if pending == FALSE:
            return true, negated(true)
        others = ast.GeneralComparison(e.op, self.possible(left), self.possible(right), span=e.span)
        none = [self._exist(side, False) for side in (left, right)]
        lacking = [
            empty
            for empty, side, other in zip(none, (left, right), (right, left), strict=True)
            if self._pending(other) != FALSE and self.more(side) != TRUE and self._may_lack(side)
        ]
        return true, either(*lacking, both(negated(pending), negated(others)))

    def _witnesses(self, e: ast.Expr) -> ast.Expr:
        """What is certain of an operand and known in full."""
        found = self.certain(e)
        return those(found, negated(self._open_within(e))) if self.gives_nodes(e) else found

    def _open_within(self, e: ast.Expr) -> ast.Expr:
        if isinstance(e, ast.VarRef) and e.name.expanded in self.atomic:
            return FALSE
        return self.open(ast.ContextItem(span=e.span), Way((), 0, "text"))

    def _pending(self, e: ast.Expr) -> ast.Expr:
        """Whether an operand may have further items, or items there are have texts that are not whole."""
        if isinstance(e, ast.AxisStep | ast.Path) and is_plain(e):
            return self.unsettled(e, "text")
        more = self.more(e)
        return either(more, self.open(self.possible(e), Way((), 0, "text"))) if self.gives_nodes(e) else more

    def _may_lack(self, e: ast.Expr) -> bool:
        return self.gives_nodes(e) or isinstance(e, ast.FLWOR | ast.If | ast.SimpleMap)

    def _bounded(
        self, op: str, counted: ast.Expr, other: ast.Expr, e: ast.GeneralComparison
    ) -> tuple[ast.Expr, ast.Expr]:
        """``count(x) op n``: count(certain) ≤ the count, and unless more can come it is ≤ count(possible)."""
        known = negated(self.unsettled(other, "text"))
        full = negated(self.more(counted))

        def least(op: str) -> ast.Expr:
            return both(known, ast.GeneralComparison(op, call("count", self.certain(counted)), other, span=e.span))

        def most(op: str) -> ast.Expr:
            compared = ast.GeneralComparison(op, call("count", self.possible(counted)), other, span=e.span)
            return both(known, full, compared)

        match op:
            case ">=" | ">":
                return least(op), most("<" if op == ">=" else "<=")
            case "<=" | "<":
                return most(op), least(">" if op == "<=" else ">=")
        same = both(least("="), most("="))
        different = either(least(">"), most("<"))
        return (same, different) if op == "=" else (different, same)

    # -------------------------------------------------------------------------------------------------- quantifiers

    def _quantified(self, e: ast.Quantified) -> tuple[ast.Expr, ast.Expr]:
        """``some`` is true at a certain witness; ``every`` is ``not(some … not)``."""
        for binding in e.bindings:
            if not self.gives_nodes(binding.source):
                self.atomic.add(binding.var.expanded)
        true, false = self.true(e.condition), self.false(e.condition)
        if e.every:
            true, false = false, true
        found, candidates = true, negated(false)
        missing: ast.Expr = FALSE
        for binding in reversed(e.bindings):
            certain, possible = self.certain(binding.source), self.possible(binding.source)
            missing = either(self.more(binding.source), _some(binding, possible, missing))
            found = _some(binding, certain, found)
            candidates = _some(binding, possible, candidates)
        refuted = both(negated(missing), negated(candidates))
        return (refuted, found) if e.every else (found, refuted)


def _some(binding: ast.QuantifiedBinding, source: ast.Expr, condition: ast.Expr) -> ast.Expr:
    if condition == FALSE:
        return FALSE
    bound = ast.QuantifiedBinding(binding.var, binding.type, source, span=binding.span)
    return ast.Quantified(False, (bound,), condition, span=binding.span)


def _value(e: ast.Expr) -> ast.Expr:
    """The effective boolean value."""
    return e if e in (TRUE, FALSE) else call("boolean", e)


def _count(left: ast.Expr, right: ast.Expr) -> tuple[ast.Expr, ast.Expr, bool] | None:
    """What is counted, with what that is compared, and whether the count is on the right."""
    for side, other, swapped in ((left, right, False), (right, left, True)):
        if (
            isinstance(side, ast.FunctionCall)
            and side.name.expanded == (FN, "count")
            and len(side.args) == 1
            and _is_single(other)
        ):
            return side.args[0], other, swapped
    return None


def _is_single(e: ast.Expr) -> bool:
    """Whether an expression is sure to be one number, so that a comparison with it is one."""
    if isinstance(e, ast.Unary):
        return _is_single(e.operand)
    return isinstance(e, ast.IntegerLiteral | ast.DecimalLiteral | ast.DoubleLiteral)
