"""Linear recursive functions become folds (VLDB'05 §5.1.3).

    f($p) = if (empty($p)) then Z else G(head($p), f(tail($p)))             fold-right($p, Z, G)
    f($p, $a) = if (empty($p)) then B($a) else f(tail($p), G($a, head($p)))   B(fold-left($p, $a, G))

The values are the same, whatever G: the first is a fold from the right just as the recursion is. (Where it may be
computed from the left, :mod:`xstreamcast.plan.decompose.folds` knows.) A function that may end its recursion early, or
looks at more of ``$p`` than its head, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants, rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.shapes import is_fn, slice_of
from xstreamcast.plan.passes.variables import Names, VarName, free, names_of, substitute


def fold_recursion(module: ast.Module) -> ast.Module:
    """The module with folds for its linear recursive functions."""
    names = names_of(module)
    prolog = tuple([_fold(d, names) if isinstance(d, ast.FunctionDecl) else d for d in module.prolog])
    if all(new is old for new, old in zip(prolog, module.prolog, strict=True)):
        return module
    return replace(module, prolog=prolog)


def _fold(function: ast.FunctionDecl, names: Names) -> ast.FunctionDecl:
    if function.body is None or not any(_calls(part, function) for part in descendants(function.body)):
        return function
    lets, conditional = _peel(function.body)
    if not isinstance(conditional, ast.If):
        return function
    for number, param in enumerate(function.params):
        empty = _tests_empty(conditional.condition, param.name.expanded)
        if empty is None or (param.type is not None and param.type.occurrence != "*"):
            continue
        base = conditional.then if empty else conditional.otherwise
        step = conditional.otherwise if empty else conditional.then
        body = _Linear(function, number, lets, base, step, names).fold()
        if body is not None:
            return replace(function, body=body)
    return function


def _calls(part: ast.Node, function: ast.FunctionDecl) -> bool:
    return (
        isinstance(part, ast.FunctionCall)
        and part.name.expanded == function.name.expanded
        and len(part.args) == len(function.params)
    )


def _peel(e: ast.Expr) -> tuple[tuple[ast.LetClause, ...], ast.Expr]:
    """The lets at the front of an expression, and the rest."""
    lets: list[ast.LetClause] = []
    while isinstance(e, ast.FLWOR):
        clauses = [clause for clause in e.clauses if isinstance(clause, ast.LetClause)]
        if len(clauses) != len(e.clauses):
            break
        lets.extend(clauses)
        e = e.result
    return tuple(lets), e


def _bound(lets: tuple[ast.LetClause, ...], e: ast.Expr) -> ast.Expr:
    used = free(e)
    kept: list[ast.LetClause] = []
    for clause in reversed(lets):
        if clause.var.expanded in used:
            kept.append(clause)
            used |= free(clause.value)
    return ast.FLWOR(tuple(reversed(kept)), e, span=e.span) if kept else e


# ------------------------------------------------------------------------------------------------------- shapes


def _reads(e: ast.Expr, name: VarName) -> bool:
    return isinstance(e, ast.VarRef) and e.name.expanded == name


def _call_on(e: ast.Expr, local: str, name: VarName) -> bool:
    return isinstance(e, ast.FunctionCall) and is_fn(e, local, 1) and _reads(e.args[0], name)


def _tests_empty(e: ast.Expr, name: VarName) -> bool | None:
    """True for ``empty($p)``, False for ``exists($p)``, each in all its spellings; None for another condition."""
    if _call_on(e, "empty", name):
        return True
    if _call_on(e, "exists", name):
        return False
    if isinstance(e, ast.FunctionCall) and is_fn(e, "not", 1):
        inner = _tests_empty(e.args[0], name)
        return None if inner is None else not inner
    if isinstance(e, (ast.GeneralComparison, ast.ValueComparison)) and _call_on(e.left, "count", name):
        if e.right == ast.IntegerLiteral(0):
            return {"=": True, "eq": True, "!=": False, "ne": False, ">": False, "gt": False}.get(e.op)
        if e.right == ast.IntegerLiteral(1):
            return {"<": True, "lt": True, ">=": False, "ge": False}.get(e.op)
    return None


def _is_head(e: ast.Node, name: VarName) -> bool:
    """``$p[1]``, ``head($p)``, ``subsequence($p, 1, 1)``."""
    if isinstance(e, ast.Filter):
        return _reads(e.base, name) and [slice_of(p) for p in e.predicates] == [(1, 1)]
    if isinstance(e, ast.FunctionCall) and is_fn(e, "subsequence", 3):
        return _reads(e.args[0], name) and e.args[1:] == (ast.IntegerLiteral(1), ast.IntegerLiteral(1))
    return isinstance(e, ast.FunctionCall) and _call_on(e, "head", name)


def _is_tail(e: ast.Expr, name: VarName) -> bool:
    """``tail($p)``, ``subsequence($p, 2)``, ``remove($p, 1)``, ``$p[position() > 1]``."""
    if isinstance(e, ast.Filter):
        return _reads(e.base, name) and [slice_of(p) for p in e.predicates] == [(2, None)]
    if isinstance(e, ast.FunctionCall) and is_fn(e, "subsequence", 2):
        return _reads(e.args[0], name) and e.args[1] == ast.IntegerLiteral(2)
    if isinstance(e, ast.FunctionCall) and is_fn(e, "remove", 2):
        return _reads(e.args[0], name) and e.args[1] == ast.IntegerLiteral(1)
    return _call_on(e, "tail", name)


_STRICT = (
    ast.Arithmetic,
    ast.Unary,
    ast.Sequence,
    ast.Concat,
    ast.And,
    ast.Or,
    ast.FunctionCall,
    ast.LetClause,
    ast.FLWOR,
)
"""What computes all its parts: a recursive call in them is made whatever the item (``and`` and ``or`` may)."""


class _Linear:
    """A function that may be linear in one parameter."""

    def __init__(
        self,
        function: ast.FunctionDecl,
        number: int,
        lets: tuple[ast.LetClause, ...],
        base: ast.Expr,
        step: ast.Expr,
        names: Names,
    ) -> None:
        self.function = function
        self.number = number
        self.param = function.params[number].name
        inner, self.step = _peel(step)
        self.lets = lets + inner
        self.base = base
        self.names = names
        self.item = names.fresh(ast.Name("", "item", ""))

    def fold(self) -> ast.Expr | None:
        """The function's body as a fold, or None."""
        bound = {clause.var.expanded for clause in self.lets}
        if free(self.base) & (bound | {self.param.expanded}) or self.recursive(self.base):
            return None
        return self.from_right() or self.from_left()

    def recursive(self, e: ast.Node) -> bool:
        return any(_calls(part, self.function) for part in descendants(e))

    def changed(self, call: ast.FunctionCall) -> list[int]:
        """The parameters that a recursive call changes besides the sequence."""
        return [
            number
            for number, (arg, param) in enumerate(zip(call.args, self.function.params, strict=True))
            if number != self.number and not _reads(arg, param.name.expanded)
        ]

    def ends(self, call: ast.FunctionCall) -> bool:
        return _is_tail(call.args[self.number], self.param.expanded)

    # ---------------------------------------------------------------------------------------------- from the right

    def from_right(self) -> ast.Expr | None:
        whole = _bound(self.lets, self.step)
        calls = [part for part in descendants(whole) if _calls(part, self.function)]
        if len(calls) != 1 or whole is calls[0] or not self.strict(whole, calls[0]):
            return None
        call = calls[0]
        assert isinstance(call, ast.FunctionCall)
        if self.changed(call) or not self.ends(call):
            return None
        rest = self.names.fresh(ast.Name("", "rest", ""))
        body = self.with_item(_replaced(whole, call, ast.VarRef(rest, span=call.span)))
        if body is None:
            return None
        result = self.function.result
        params = (ast.Param(self.item), ast.Param(rest, result))
        return self.call("fold-right", self.base, ast.InlineFunction(params, result, body, span=self.step.span))

    def strict(self, e: ast.Node, call: ast.Node) -> bool:
        """Whether the call is made whenever the expression is evaluated."""
        if e is call:
            return True
        if not isinstance(e, _STRICT) or (isinstance(e, ast.FLWOR) and not _only_lets(e)):
            return False
        return any(self.strict(part, call) for part in _parts_with(e, call))

    # ----------------------------------------------------------------------------------------------- from the left

    def from_left(self) -> ast.Expr | None:
        changed = {number for call in self.tail_calls(self.step) for number in self.changed(call)}
        if len(changed) != 1:
            return None
        number = changed.pop()
        accumulator = self.function.params[number]
        step = self.accumulated(self.step, number)
        if step is None or self.recursive(step) or any(self.recursive(clause.value) for clause in self.lets):
            return None
        name = self.names.fresh(ast.Name("", "accumulator", ""))
        body = self.with_item(_bound(self.lets, step))
        if body is None:
            return None
        body = substitute(body, {accumulator.name.expanded: ast.VarRef(name)})
        params = (ast.Param(name, accumulator.type), ast.Param(self.item))
        function = ast.InlineFunction(params, accumulator.type, body, span=self.step.span)
        folded = self.call("fold-left", ast.VarRef(accumulator.name), function)
        if self.base == ast.VarRef(accumulator.name):
            return folded
        last = self.names.fresh(accumulator.name)
        base = substitute(self.base, {accumulator.name.expanded: ast.VarRef(last)})
        return ast.FLWOR((ast.LetClause(last, None, folded),), base, span=self.base.span)

    def tail_calls(self, e: ast.Expr) -> Iterator[ast.FunctionCall]:
        if isinstance(e, ast.If):
            yield from self.tail_calls(e.then)
            yield from self.tail_calls(e.otherwise)
        elif isinstance(e, ast.FLWOR) and _only_lets(e):
            yield from self.tail_calls(e.result)
        elif isinstance(e, ast.FunctionCall) and _calls(e, self.function):
            yield e

    def accumulated(self, e: ast.Expr, number: int) -> ast.Expr | None:
        """The next accumulator: each tail call's argument in the place of the call; None if one ends early."""
        if isinstance(e, ast.If):
            then, otherwise = self.accumulated(e.then, number), self.accumulated(e.otherwise, number)
            return ast.If(e.condition, then, otherwise, span=e.span) if then and otherwise else None
        if isinstance(e, ast.FLWOR) and _only_lets(e):
            result = self.accumulated(e.result, number)
            return ast.FLWOR(e.clauses, result, span=e.span) if result else None
        if isinstance(e, ast.FunctionCall) and _calls(e, self.function) and self.ends(e):
            return e.args[number]
        return None

    # ------------------------------------------------------------------------------------------------------- both

    def with_item(self, e: ast.Expr) -> ast.Expr | None:
        """``$item`` for the head; None if more than the head is looked at."""

        def change(part: ast.Node) -> ast.Node:
            if _is_head(part, self.param.expanded):
                assert isinstance(part, ast.Expr)
                return ast.VarRef(self.item, span=part.span)
            return rebuild(part, change)

        made = change(e)
        assert isinstance(made, ast.Expr)
        return None if self.param.expanded in free(made) else made

    def call(self, local: str, zero: ast.Expr, function: ast.InlineFunction) -> ast.Expr:
        args = (ast.VarRef(self.param), zero, function)
        return ast.FunctionCall(ast.Name("fn", local, FN), args, span=self.step.span)


def _only_lets(e: ast.FLWOR) -> bool:
    return all(isinstance(clause, ast.LetClause) for clause in e.clauses)


def _parts_with(e: ast.Node, wanted: ast.Node) -> Iterator[ast.Node]:
    for child in children(e):
        if any(part is wanted for part in descendants(child)):
            yield child


def _replaced(e: ast.Expr, old: ast.Node, new: ast.Expr) -> ast.Expr:
    def change(part: ast.Node) -> ast.Node:
        return new if part is old else rebuild(part, change)

    made = change(e)
    assert isinstance(made, ast.Expr)
    return made
