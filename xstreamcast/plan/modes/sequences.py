"""Expressions over documents with open holes: what is certain of their value, what is possible, what is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN, MATH, STREAM, XS
from xstreamcast.model.time import parse_instant
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.modes.loops import Loops
from xstreamcast.plan.modes.paths import Paths, counts, is_plain, parted
from xstreamcast.plan.modes.rules import Rewrite, operands, parts_of
from xstreamcast.plan.modes.ways import (
    FALSE,
    NOTHING,
    TRUE,
    Way,
    Within,
    both,
    call,
    choose,
    either,
    negated,
    those,
)
from xstreamcast.plan.passes.dependence import call_key, takes_context_item
from xstreamcast.plan.windows import behind_now, is_newest

_SHALLOW: Final = frozenset(
    (
        *("count", "head", "tail", "reverse", "subsequence", "remove", "insert-before", "unordered"),
        *("zero-or-one", "one-or-more", "exactly-one", "name", "local-name", "node-name", "namespace-uri"),
    )
)
"""Functions that look at which nodes there are, not at what is in them."""
_PASSING: Final = frozenset(
    (
        *("head", "tail", "reverse", "subsequence", "remove", "insert-before", "unordered"),
        *("zero-or-one", "one-or-more", "exactly-one"),
    )
)
_OPAQUE: Final = frozenset(
    (
        *("root", "id", "idref", "element-with-id", "path", "generate-id", "function-lookup", "collection", "trace"),
        *("for-each", "filter", "fold-left", "fold-right", "for-each-pair", "sort", "apply", "load-xquery-module"),
        *("transform", "has-children", "lang", "base-uri", "innermost", "outermost"),
    )
)
"""Functions whose value is not told by what is within their arguments, or that call other functions."""
_ATOMISING: Final = (
    ast.Arithmetic,
    ast.Unary,
    ast.ValueComparison,
    ast.Concat,
    ast.Range,
    ast.CastAs,
    ast.CastableAs,
    ast.StringConstructor,
)
_BY_NODE: Final = (ast.NodeComparison, ast.InstanceOf, ast.TreatAs, ast.Intersect, ast.Except)
_COPYING: Final = (
    *ast.CONSTRUCTORS,
    ast.MapConstructor,
    ast.SquareArray,
    ast.CurlyArray,
    ast.Lookup,
    ast.AllenComparison,
    ast.Switch,
)
_WORDS: Final[dict[type[ast.Expr], str]] = {
    ast.InlineFunction: "a function made in place",
    ast.NamedFunctionRef: "a function as a value",
    ast.DynamicCall: "a call of a function that is a value",
    ast.TryCatch: "try and catch",
    ast.Root: "a document that is only known when the query runs",
}
_CONSTANT: Final = (
    *(ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral),
    *(ast.DirectComment, ast.DirectPI, ast.Now, ast.Start, ast.Last, ast.InstantLiteral, ast.DurationLiteral),
)


class Sequences(Paths, Loops):
    """The rewriting of expressions that are not conditions."""

    def certain(self, e: ast.Expr) -> ast.Expr:
        """The items that will stay, whatever fills come; of nodes, that they are there, not all that is in them."""
        match e:
            case ast.AxisStep():
                return self.certain_step(e)
            case ast.Path() | ast.SimpleMap() if counts(e):
                return choose(self.unknown(e), NOTHING, e)
            case ast.Path() | ast.SimpleMap():
                first, *rest = e.steps
                steps = [self.certain(first), *[self.certain(step) for step in rest]]
                return NOTHING if NOTHING in steps else e.__class__(tuple(steps), span=e.span)
            case ast.Filter():
                return self.filtered(e, self.certain(e.base), self.true)
            case ast.Sequence() | ast.Union():
                return e.__class__(tuple([self.certain(part) for part in operands(e)]), span=e.span)
            case ast.If():
                return self.decided(e, self.certain)
            case ast.FLWOR() if e.clauses:
                return self.certain_loop(e, self.certain)
            case ast.Ordering():
                return replace(e, body=self.certain(e.body))
            case ast.IntervalProjection() if isinstance(e.base, ast.AxisStep | ast.Path) and is_plain(e.base):
                known = negated(self.open(ast.ContextItem(span=e.span), Way((), 0, "copy")))
                bounds = either(*[self.unsettled(part, "copy") for part in parts_of(e) if part is not e.base])
                some = choose(bounds, NOTHING, replace(e, base=those(self.certain(e.base), known)))
                return choose(self.unknown(e), some, e)
        if self.is_condition(e):
            true, false = self.true(e), self.false(e)
            return choose(true, TRUE, choose(false, FALSE))
        return choose(self.unknown(e), NOTHING, e)

    def possible(self, e: ast.Expr) -> ast.Expr:
        """The items there are that may stay; those of which nothing is known yet are not among them."""
        match e:
            case ast.AxisStep():
                return self.possible_step(e)
            case ast.Path() | ast.SimpleMap() if not counts(e):
                steps = [self.possible(step) for step in e.steps]
                return NOTHING if NOTHING in steps else e.__class__(tuple(steps), span=e.span)
            case ast.Filter():
                return self.filtered(e, self.possible(e.base), lambda p: negated(self.false(p)))
            case ast.Sequence() | ast.Union():
                return e.__class__(tuple([self.possible(part) for part in operands(e)]), span=e.span)
            case ast.If():
                return self.decided(e, self.possible)
            case ast.FLWOR() if e.clauses:
                return self.possible_loop(e)
            case ast.Ordering():
                return self.possible(e.body)
        return self.certain(e)

    def more(self, e: ast.Expr) -> ast.Expr:
        """Whether further fills may bring items that are not possible(e)."""
        match e:
            case ast.AxisStep():
                return self.more_on(ast.ContextItem(span=e.span), (e,))
            case ast.Path() if not counts(e):
                first, *rest = e.steps
                if isinstance(first, ast.AxisStep):
                    return self.more_on(ast.ContextItem(span=e.span), e.steps)
                return either(self.more(first), self.more_on(self.possible(first), rest))
            case ast.SimpleMap() if not counts(e):
                found, base = self.more(e.steps[0]), self.possible(e.steps[0])
                for step in e.steps[1:]:
                    found = either(found, self.any_of(base, self.more(step)))
                    base = ast.SimpleMap((base, self.possible(step)), span=e.span)
                return found
            case ast.Filter():
                if any(self.is_positional(p) for p in e.predicates):
                    return self.unknown(e)
                return self.more(e.base)
            case ast.Sequence() | ast.Union():
                return either(*[self.more(part) for part in operands(e)])
            case ast.If():
                true, false = self.true(e.condition), self.false(e.condition)
                inside = either(both(true, self.more(e.then)), both(false, self.more(e.otherwise)))
                return either(inside, both(negated(true), negated(false), negated(self.agree(e))))
            case ast.FLWOR() if e.clauses:
                return self.more_loop(e)
            case ast.Ordering():
                return self.more(e.body)
        return self.unknown(e)

    def unknown(self, e: ast.Expr) -> ast.Expr:
        """Whether it is not sure which items there are."""
        match e:
            case ast.Path() if counts(e):
                nodes, last = parted(e)
                return either(self.unknown(nodes), self.any_of(nodes, self.unknown(last)))
            case ast.AxisStep() | ast.Path():
                return either(self.more(e), self.doubtful(e))
            case ast.SimpleMap():
                found, base = self.unknown(e.steps[0]), e.steps[0]
                for step in e.steps[1:]:
                    found = either(found, self.any_of(base, self.unknown(step)))
                    base = ast.SimpleMap((base, step), span=e.span)
                return found
            case ast.Filter():
                found = self.unknown(e.base)
                for p in e.predicates:
                    unsure = (
                        self.unsettled(p, "text")
                        if self.is_positional(p)
                        else both(negated(self.true(p)), negated(self.false(p)))
                    )
                    found = either(found, self.any_of(e.base, unsure))
                return found
            case ast.Sequence() | ast.Union():
                return either(*[self.unknown(part) for part in operands(e)])
            case ast.If():
                true, false = self.true(e.condition), self.false(e.condition)
                inside = either(both(true, self.unknown(e.then)), both(false, self.unknown(e.otherwise)))
                return either(inside, both(negated(true), negated(false), negated(self.agree(e))))
            case ast.FLWOR() if e.clauses:
                return self.unknown_loop(e.clauses, self.unknown(e.result))
            case ast.Ordering():
                return self.unknown(e.body)
            case ast.VarRef() | ast.ContextItem():
                return FALSE
        if self.is_condition(e):
            return both(negated(self.true(e)), negated(self.false(e)))
        return self._strict(e)

    def unsettled(self, e: ast.Expr, within: Within) -> ast.Expr:
        """Whether an expression's value is not known in full: its items, their text, or all that a copy would have."""
        if not within or not self.gives_nodes(e):
            return self.unknown(e)
        way = Way((), 0, within)
        match e:
            case ast.Sequence() | ast.Union():
                return either(*[self.unsettled(part, within) for part in operands(e)])
            case ast.VarRef() | ast.ContextItem():
                return self.open(e, way)
            case ast.FLWOR() if e.clauses:
                return self.unknown_loop(e.clauses, self.unsettled(e.result, within))
            case ast.AxisStep() | ast.Path() if is_plain(e):
                return self.open_path(e, within)
            case _:
                return either(self.unknown(e), self.open(e, way))

    # ------------------------------------------------------------------------------------------------------- control

    def decided(self, e: ast.If, way: Rewrite) -> ast.Expr:
        """The branch that is taken; before that is known, what both branches agree on."""
        true, false = self.true(e.condition), self.false(e.condition)
        agreed = choose(self.agree(e), e.then)
        return choose(true, way(e.then), choose(false, way(e.otherwise), agreed))

    def agree(self, e: ast.If) -> ast.Expr:
        """Whether both branches are known, and the same."""
        if e.then == e.otherwise:
            return negated(self.unsettled(e.then, "copy"))
        known = both(negated(self.unsettled(e.then, "copy")), negated(self.unsettled(e.otherwise, "copy")))
        return both(known, call("deep-equal", e.then, e.otherwise))

    # ---------------------------------------------------------------------------------------------------- the others

    def _strict(self, e: ast.Expr) -> ast.Expr:
        """Of an expression that needs all its operands: whether one of them is not known."""
        match e:
            case ast.FunctionCall():
                return self._strict_call(e)
            case ast.DynamicCall() if _converts(e):
                return either(*[self.unsettled(arg, "copy") for arg in e.args])
            case ast.IntervalProjection() | ast.VersionProjection():
                bounds = [self.unsettled(part, "copy") for part in parts_of(e) if part is not e.base]
                if isinstance(e.base, ast.AxisStep | ast.Path) and is_plain(e.base):
                    return either(self.open_path(e.base, "copy", _window(e)), *bounds)
                return either(self.unsettled(e.base, "copy"), *bounds)
            case ast.Typeswitch():
                return either(*[self.unsettled(part, "copy") for part in parts_of(e)])
        if isinstance(e, _CONSTANT):
            return FALSE
        if isinstance(e, _ATOMISING):
            return either(*[self.unsettled(part, "text") for part in parts_of(e)])
        if isinstance(e, _BY_NODE):
            return either(*[self.unknown(part) for part in parts_of(e)])
        if isinstance(e, _COPYING):
            return either(*[self.unsettled(part, "copy") for part in parts_of(e)])
        return self.held(e, _WORDS.get(type(e), f"an expression of kind {type(e).__name__}"))

    def _strict_call(self, e: ast.FunctionCall) -> ast.Expr:
        uri, local = e.name.expanded
        args = (*e.args, ast.ContextItem(span=e.span)) if takes_context_item(e) else e.args
        key = call_key(e)
        assert key is not None
        if any(isinstance(arg, ast.Placeholder) for arg in args):
            return self.held(e, "a partial application")
        if key in self.functions:
            if self.dependence.on(e) or not self.functions.downward(key) or key in self.dependence.recursive:
                return self.held(e, f"{e.name.lexical}(), which is not looked into")
            return either(*[self.unsettled(arg, "copy") for arg in args])
        if uri == FN and local in ("position", "last"):
            return FALSE  # of a predicate, which is looked at only when the sequence that it is on is known
        if uri == FN and local in _OPAQUE:
            return self.held(e, f"{local}()")
        if uri == STREAM and local == "stream":
            return self.held(e, "a stream whose name is computed")
        if uri == FN and local in _SHALLOW:
            return either(*[self.unknown(arg) for arg in args])
        entry = lookup(uri, local, len(args)) if uri in (FN, MATH, XS) else None
        found = []
        for number, arg in enumerate(args):
            expected = None if entry is None else entry.params[min(number, len(entry.params) - 1)]
            atomic = expected is not None and isinstance(expected.item, AtomicType)
            found.append(self.unsettled(arg, "text" if atomic or local == "string" else "copy"))
        return either(*found)

    def gives_nodes(self, e: ast.Expr) -> bool:
        """Whether an expression's value may have nodes of the streams in it, as they stand there."""
        match e:
            case ast.AxisStep() | ast.ContextItem() | ast.Root():
                return True
            case ast.VarRef():
                return e.name.expanded not in self.atomic
            case ast.Path() | ast.SimpleMap():
                return self.gives_nodes(e.steps[-1])
            case ast.Filter():
                return self.gives_nodes(e.base)
            case ast.Sequence() | ast.Union():
                return any(self.gives_nodes(part) for part in operands(e))
            case ast.Intersect() | ast.Except():
                return True
            case ast.If():
                return self.gives_nodes(e.then) or self.gives_nodes(e.otherwise)
            case ast.FLWOR():
                self.bind(e.clauses)
                return self.gives_nodes(e.result)
            case ast.Ordering():
                return self.gives_nodes(e.body)
            case ast.TreatAs():
                return self.gives_nodes(e.operand)
            case ast.FunctionCall():
                if e.name.uri == FN and e.name.local in _PASSING:
                    return any(self.gives_nodes(arg) for arg in e.args)
                return call_key(e) in self.functions
            case ast.Switch() | ast.Typeswitch() | ast.DynamicCall() | ast.Lookup() | ast.TryCatch():
                return True
        return isinstance(e, (ast.IntervalProjection, ast.VersionProjection))


def _window(e: ast.IntervalProjection | ast.VersionProjection) -> Way:
    """What a projection of a path without predicates leaves out: of others a fill might do more than add.

    Its end counts where both ends are fixed.
    """
    if isinstance(e, ast.VersionProjection):
        return Way((), 0, "copy", newest=is_newest(e))
    begin, end = e.begin, e.begin if e.end is None else e.end
    fixed = isinstance(end, ast.InstantLiteral) and isinstance(begin, ast.InstantLiteral | ast.Start)
    until = parse_instant(end.value) if fixed and isinstance(end, ast.InstantLiteral) else None
    since = parse_instant(begin.value) if isinstance(begin, ast.InstantLiteral) else None
    moving = behind_now(begin)
    return Way((), 0, "copy", until, since, None if moving is None else max(0, moving[0]))


def _converts(e: ast.DynamicCall) -> bool:
    """Whether a call is of a function made in place that converts its argument, and no more."""
    function = e.function
    return (
        isinstance(function, ast.InlineFunction)
        and len(function.params) == 1
        and function.body == ast.VarRef(function.params[0].name)
    )
