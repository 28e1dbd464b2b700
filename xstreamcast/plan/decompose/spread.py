"""Which expressions distribute over cuts of a document, and what their records are.

    E(a ⊎ b) = E(a) ++ E(b)

holds for a path from the document's node, when a cut falls within none of its last nodes; for a predicate, a step or a
loop's body that is local to the node it is about (:mod:`xstreamcast.plan.decompose.record`), when a cut falls within
none of those nodes; and for what is made of such expressions one item after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import cast

from xstreamcast.lang import ast
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.decompose.distributed import (
    Loop,
    Spread,
    begin_with,
    blamed,
    described,
    extended,
    in_loop,
    is_itself,
    spliced,
    under,
)
from xstreamcast.plan.decompose.forms import known_everywhere
from xstreamcast.plan.decompose.paths import flat, nested, owner
from xstreamcast.plan.decompose.record import Correlation, Functions, RecordBody
from xstreamcast.plan.decompose.record_paths import ABOVE, ABOVE_ATTRIBUTE, APART, BARRED, Blocking, Where, single
from xstreamcast.plan.passes.dependence import LAST, POSITION, focus_of
from xstreamcast.plan.passes.shapes import boolean, is_fn, numbers_of
from xstreamcast.plan.passes.variables import Names, free
from xstreamcast.scan.path import NodeTest, Path, Step

OUTSIDE = "it is not a loop over the document"
_PER_ITEM = frozenset(("unordered", "data"))


class Spreading:
    """The analysis of expressions over some roots: documents, or elements that may be cut.

    ``roots`` are the variables with their paths from the document node. ``whole`` computes an expression about
    documents in an earlier pass (see :class:`RecordBody`).
    """

    def __init__(
        self,
        roots: Mapping[VarName, Path],
        functions: Functions,
        names: Names,
        whole: Callable[[ast.Expr], ast.Expr],
        joins: Correlation | None = None,
        following: bool = False,
    ) -> None:
        self.roots = dict(roots)
        self.functions = functions
        self.names = names
        self.whole = whole
        self.joins = joins
        self.following = following

    def mentions(self, e: ast.Node) -> bool:
        """Whether an expression reads one of the roots."""
        return bool(free(e) & self.roots.keys())

    def body(self, variables: Mapping[VarName, Where]) -> RecordBody:
        """A walker of expressions about a record."""
        opened = frozenset(name for name, path in self.roots.items() if path.steps)
        return RecordBody(self.functions, frozenset(self.roots), opened, self.whole, variables, self.joins)

    # --------------------------------------------------------------------------------------------------- visiting

    def visit(self, e: ast.Expr) -> Spread:
        """The expression as one that distributes, or :class:`Blocking`."""
        match e:
            case ast.VarRef() if e.name.expanded in self.roots:
                return Spread(e, e.name.expanded, self.roots[e.name.expanded], True)
            case ast.Path():
                return self.path(e)
            case ast.Filter():
                return self.filter(e)
            case ast.SimpleMap():
                return self.simple_map(e)
            case ast.FLWOR():
                return self.flwor(e)
            case ast.Union():
                parts = [self.visit(operand) for operand in e.operands]
                if any(part.where == APART for part in parts):
                    raise Blocking(e, "copies are merged, each of which is a tree of its own")
                return self.merged(e, parts, ast.Union(tuple([part.expr for part in parts]), span=e.span))
            case ast.Intersect() | ast.Except():
                left, right = self.visit(e.left), self.visit(e.right)
                return self.merged(e, (left, right), e.__class__(left.expr, right.expr, span=e.span))
            case ast.If():
                return self.conditional(e)
            case ast.Ordering():
                return self.wrapped(self.visit(e.body), lambda inner: ast.Ordering(e.ordered, inner, span=e.span))
            case ast.IntervalProjection():
                return self.interval(e)
            case ast.TreatAs() if e.type.occurrence == "*":
                return self.wrapped(self.visit(e.operand), lambda inner: ast.TreatAs(inner, e.type, span=e.span))
            case ast.FunctionCall() if e.name.uri == FN and e.name.local in _PER_ITEM and len(e.args) == 1:
                found = self.visit(e.args[0])
                if e.name.local == "unordered":
                    return found
                made = self.wrapped(found, lambda inner: ast.FunctionCall(e.name, (inner,), span=e.span))
                return replace(made, where=APART)
            case ast.FunctionCall() if is_fn(e, "for-each", 2) or is_fn(e, "filter", 2):
                return self.for_each(e)
            case _:
                raise Blocking(e, OUTSIDE)

    def wrapped(self, found: Spread, wrap: Callable[[ast.Expr], ast.Expr]) -> Spread:
        """An expression that takes a sequence item by item."""
        looked = self.looked(found)
        loop = None if looked.loop is None else replace(looked.loop, body=wrap(looked.loop.body))
        return replace(looked, expr=wrap(looked.expr), loop=loop)

    def interval(self, e: ast.IntervalProjection) -> Spread:
        """``E?[a, b]``: copies of what lives then, item by item."""
        looked = self.looked(self.visit(e.base))
        begin, _ = self.body({}).visit(e.begin, None)
        end = None if e.end is None else self.body({}).visit(e.end, None)[0]
        made = self.wrapped(looked, lambda inner: ast.IntervalProjection(inner, begin, end, span=e.span))
        return replace(made, where=APART)

    def looked(self, found: Spread) -> Spread:
        """A path whose nodes are looked at: they are records."""
        if not found.bare:
            return found
        record, where = owner(found.path)
        if self.is_root(found):
            raise Blocking(found.expr, "the whole document is looked at")
        loop = None
        deep = nested(found.path)
        if where == 0 and (self.following or not deep):
            variable = self.names.fresh(ast.Name("", "record", ""))
            loop = Loop(variable, found.path, found.expr, ast.VarRef(variable), not deep)
        elif self.following and where == 1 and nested(record):
            loop = self.of_attributes(found, record)
        return Spread(found.expr, found.root, found.path, False, (record,), where, loop)

    def of_attributes(self, found: Spread, record: Path) -> Loop | None:
        """``//*/@id`` as a loop over the elements."""
        last = found.expr.steps[-1] if isinstance(found.expr, ast.Path) else None
        if not isinstance(last, ast.AxisStep) or (found.path.steps[-1].deep and len(found.path.steps) > 1):
            return None  # those of an element, and of all in it
        variable = self.names.fresh(ast.Name("", "record", ""))
        return Loop(variable, record, found.expr, ast.Path((ast.VarRef(variable), last), span=last.span), False)

    def is_root(self, found: Spread) -> bool:
        """Whether what would have to be in one piece is all there is."""
        return any(len(path.steps) <= len(self.roots[found.root].steps) for path in found.cuts)

    def merged(self, e: ast.Expr, parts: Iterable[Spread], made: ast.Expr) -> Spread:
        """Set operations on nodes of one document."""
        parts = list(parts)
        if len({part.root for part in parts}) > 1:
            raise Blocking(e, "nodes of several documents are merged")
        records = tuple(dict.fromkeys(path for part in parts for path in part.cuts))
        if any(self.is_root(part) for part in parts):
            raise Blocking(e, "the whole document is looked at")
        where = min((part.where for part in parts), default=0)
        if any(part.where < 0 for part in parts):
            raise Blocking(e, "nodes outside of a record are merged")
        return Spread(made, parts[0].root, parts[0].path, False, records, where)

    def conditional(self, e: ast.If) -> Spread:
        if e.otherwise == ast.Sequence() and is_fn(e.condition, "exists", 1):
            found, needed = self.visit(e.then), self.visit(cast(ast.FunctionCall, e.condition).args[0])
            if needed.bare and begin_with([found.path, *found.cuts], needed.path) and found.root == needed.root:
                return found  # there are no nodes below one that is not there
        alone = len(self.roots) == 1  # pieces of one document have nothing of another
        if self.mentions(e.condition) and not (alone and known_everywhere(e.condition, self.mentions)):
            raise Blocking(e, OUTSIDE)  # not in a pass of its own: it and the branches can be had at the same time
        condition, _ = self.body({}).visit(e.condition, None)
        branches = [e.then, e.otherwise]
        parts = [None if branch == ast.Sequence() else self.visit(branch) for branch in branches]
        known = [part for part in parts if part is not None]
        if not known:
            raise Blocking(e, OUTSIDE)
        if len({part.root for part in known}) > 1:
            raise Blocking(e, "several documents are read in turn")
        then, otherwise = (branch if part is None else part.expr for branch, part in zip(branches, parts, strict=True))
        records = tuple(dict.fromkeys(path for part in known for path in part.cuts))
        where = min(part.where for part in known)
        made = ast.If(condition, then, otherwise, span=e.span)
        return Spread(made, known[0].root, known[0].path, False, records, where)

    # ------------------------------------------------------------------------------------------------------ paths

    def path(self, e: ast.Path) -> Spread:
        """Steps from a root: bare as far as they go down without a look, then within the record."""
        found = self.visit(e.steps[0])
        at, deep = 1, False
        steps = [found.expr]
        while found.bare and at < len(e.steps):
            step = e.steps[at]
            if not isinstance(step, ast.AxisStep):
                break
            if step == _ANYWHERE and at + 1 < len(e.steps):
                deep = True
            else:
                further = extended(found, step, deep)
                if further is None or step.predicates:
                    break
                found, deep = further, False
            steps.append(step)
            at += 1
        if at == len(e.steps):
            return replace(found, expr=e) if found.bare and not deep else self.rest(e, found, steps, (), e.steps[at:])
        if found.bare:
            step = e.steps[at]
            further = extended(found, step, deep) if isinstance(step, ast.AxisStep) else None
            if further is not None and isinstance(step, ast.AxisStep) and all(boolean(p) for p in step.predicates):
                # The predicates look at the nodes of this step.
                plain = ast.AxisStep(step.axis, step.test, (), span=step.span)
                return self.rest(e, further, [*steps, plain], step.predicates, e.steps[at + 1 :])
            if deep:
                chosen = self.chosen(e, found, at)
                if chosen is None:
                    raise Blocking(e, "a position among all the nodes below the document")
                return self.rest_within(e, chosen, chosen, list(e.steps[: at + 1]), (), e.steps[at + 1 :], False)
        return self.rest(e, found, steps, (), e.steps[at:])

    def chosen(self, e: ast.Path, found: Spread, at: int) -> Spread | None:
        """``//b[p][2][q]``: a choice by position among the children of every element."""
        step = e.steps[at]
        if not self.following or found.path.steps or not isinstance(step, ast.AxisStep) or step.axis != "child":
            return None
        if not isinstance(step.test, ast.NameTest | ast.Wildcard):
            return None
        number = next((k for k, p in enumerate(step.predicates) if not boolean(p)), len(step.predicates))
        before, after = step.predicates[:number], step.predicates[number + 1 :]
        bounds = numbers_of(step.predicates[number]) if number < len(step.predicates) else None
        if bounds is None or not all(boolean(p) for p in after):
            return None
        variable = self.names.fresh(ast.Name("", "record", ""))
        body: ast.Expr = ast.VarRef(variable)
        if after:
            self.body({variable.expanded: 0}).visit(ast.Filter(body, after, span=step.span), None)
            body = ast.Filter(body, after, span=step.span)
        source = ast.AxisStep("child", step.test, step.predicates[: number + 1], span=step.span)
        path, everything = Path((Step(NodeTest(ELEMENT), True),)), ast.Path((*e.steps[:at], source), span=e.span)
        loop = Loop(variable, path, everything, body, written=False)
        counted = ast.AxisStep("child", step.test, before, span=step.span)
        expr = ast.Path(e.steps[: at + 1], span=e.span)
        return Spread(expr, found.root, path, False, (path,), 0, loop, False, counted, bounds)

    def rest(
        self,
        e: ast.Path,
        found: Spread,
        before: list[ast.Expr],
        predicates: tuple[ast.Expr, ...],
        after: tuple[ast.Expr, ...],
    ) -> Spread:
        """``found[predicates]/after``: all that is left is about a record."""
        for step in after:
            if not isinstance(step, ast.AxisStep):
                self.no_position(step)
        bare = found.bare
        if bare and self.is_root(found):
            raise Blocking(e, "a position or a look at the whole document")
        if bare:
            found = replace(found, expr=before[0] if len(before) == 1 else ast.Path(tuple(before), span=e.span))
        return self.widened(found, lambda looked: self.rest_within(e, found, looked, before, predicates, after, bare))

    def rest_within(
        self,
        e: ast.Path,
        found: Spread,
        looked: Spread,
        before: list[ast.Expr],
        predicates: tuple[ast.Expr, ...],
        after: tuple[ast.Expr, ...],
        bare: bool,
    ) -> Spread:
        """Predicates and steps about nodes in records."""
        body = self.body({})
        variable = self.names.fresh(ast.Name("", "record", ""))
        body.variables[variable.expanded] = looked.where
        top: ast.Expr = ast.VarRef(variable)
        if predicates:
            top = ast.Filter(top, predicates, span=e.span)
        made, where = body.visit(top, None)
        steps = [made]
        for step in after:
            next_step, where = body.visit(step, where)
            if where < 0:  # each step of a path merges the nodes it leads to
                raise Blocking(e, "nodes outside of a record are merged")
            steps.append(next_step)
        if after:
            made = ast.Path(tuple(steps), span=e.span)
        return replace(
            looked,
            container=bare and not predicates,
            expr=spliced(before, made, e),
            where=where,
            loop=self.unwritten(in_loop(looked.loop, variable, made)),
        )

    def unwritten(self, loop: Loop | None) -> Loop | None:
        """A loop whose items are merged by a path."""
        if loop is None or not nested(loop.path):
            return loop
        return replace(loop, written=False) if self.following else None

    def no_position(self, e: ast.Expr) -> None:
        """``position()`` and ``last()`` of a sequence as long as the document are not local."""
        if focus_of(e) & (POSITION | LAST):
            raise Blocking(e, "a position in a sequence as long as the document")

    def filter(self, e: ast.Filter) -> Spread:
        found = self.visit(e.base)
        if not all(boolean(predicate) for predicate in e.predicates):
            raise Blocking(e, "a position in a sequence as long as the document")
        looked = self.looked(found)
        for predicate in e.predicates:
            self.no_position(predicate)
        body = self.body({})
        predicates = tuple([body.visit(p, looked.where)[0] for p in e.predicates])

        def wrap(inner: ast.Expr) -> ast.Expr:
            return ast.Filter(inner, predicates, span=e.span)

        return self.wrapped(looked, wrap)

    def simple_map(self, e: ast.SimpleMap) -> Spread:
        looked = self.looked(self.visit(e.steps[0]))
        where = looked.where
        steps = []
        for step in e.steps[1:]:
            self.no_position(step)
            made, where = self.body({}).visit(step, where)
            steps.append(made)
        if where == ABOVE:
            raise Blocking(e, "an ancestor of the record is known by its name and attributes only")

        def wrap(inner: ast.Expr) -> ast.Expr:
            first = inner.steps if isinstance(inner, ast.SimpleMap) else (inner,)
            return ast.SimpleMap((*first, *steps), span=e.span)

        return replace(self.wrapped(looked, wrap), where=where)

    def for_each(self, e: ast.FunctionCall) -> Spread:
        looked = self.looked(self.visit(e.args[0]))
        if looked.where in (ABOVE, ABOVE_ATTRIBUTE):
            raise Blocking(e, "an ancestor of the record is known by its name and attributes only")
        function, _ = self.body({}).visit(e.args[1], None)
        return replace(
            self.wrapped(looked, lambda inner: ast.FunctionCall(e.name, (inner, function), span=e.span)), where=0
        )

    # ------------------------------------------------------------------------------------------------------ loops

    def flwor(self, e: ast.FLWOR) -> Spread:
        body = self.body({})
        clauses: list[ast.Clause] = []
        for number, clause in enumerate(e.clauses):
            if isinstance(clause, ast.ForClause) and self.mentions(clause.source):
                return self.loop(e, number, clauses, body)
            if not isinstance(clause, (ast.LetClause, ast.WhereClause)):
                raise Blocking(blamed(e, clause), f"{described(clause)} around a loop over the document")
            clauses.append(body.clause(clause, None))
        found = self.visit(e.result)  # only lets and wheres
        made = replace(found, expr=under(clauses, found.expr), bare=False, records=found.cuts, loop=None)
        if self.is_root(found):
            raise Blocking(e, "the whole document is looked at")
        return made

    def loop(self, e: ast.FLWOR, number: int, before: list[ast.Clause], body: RecordBody) -> Spread:
        clause = e.clauses[number]
        assert isinstance(clause, ast.ForClause)
        found = self.visit(clause.source)
        if clause.position is not None or clause.allowing_empty:
            raise Blocking(blamed(e, clause), "a position in a sequence as long as the document")
        after = e.clauses[number + 1 :]
        for later in after:
            if isinstance(later, (ast.GroupClause, ast.OrderClause, ast.CountClause)):
                raise Blocking(blamed(e, later), f"{described(later)} over the whole document")
        if found.bare and not before and clause.type is None and not nested(found.path):
            deeper = self.deeper(e, clause, found, after)
            if deeper is not None:
                return deeper
        known = dict(body.variables)

        def within(looked: Spread) -> Spread:
            body.variables = dict(known)
            return self.loop_within(e, number, before, body, found, looked)

        return self.widened(found, within)

    def widened(self, found: Spread, within: Callable[[Spread], Spread]) -> Spread:
        """A look at the nodes of a path, as records.

        Of documents that change, an ancestor of theirs is the record where it looks at other parts of that:
        ``$t/../name`` of ``account/transaction``.
        """
        joins = self.joins
        if joins is None or not found.bare:
            return within(self.looked(found))
        forget = joins.mark()
        try:
            return within(self.looked(found))
        except Blocking as failure:
            first = failure
        steps = found.path.steps
        for up in range(1, len(steps)):
            if steps[-up].deep or steps[-up].test.kind != ELEMENT or (up == len(steps) - 1 and not steps[0].deep):
                break  # all there is would be one record
            forget()
            try:
                return within(Spread(found.expr, found.root, found.path, False, (Path(steps[:-up]),), up))
            except Blocking:
                continue
        raise first

    def loop_within(
        self,
        e: ast.FLWOR,
        number: int,
        before: list[ast.Clause],
        body: RecordBody,
        found: Spread,
        looked: Spread,
    ) -> Spread:
        """A loop over nodes in records."""
        clause, after = e.clauses[number], e.clauses[number + 1 :]
        assert isinstance(clause, ast.ForClause)
        if looked.where == ABOVE:
            raise Blocking(clause.source, "an ancestor of the record is known by its name and attributes only")
        body.variables[clause.var.expanded] = single(looked.where)
        rest, result, where = body.tail(after, e.result, None, e.span)
        if where in (ABOVE, BARRED):
            raise Blocking(e.result, "an ancestor of the record is known by its name and attributes only")
        made = ast.ForClause(clause.var, clause.type, False, None, looked.expr, span=clause.span)
        expr = ast.FLWOR((*before, made, *rest), result, span=e.span)
        if found.bare and looked.where == 0 and (looked.loop is None or not looked.loop.written):
            looked = replace(looked, loop=Loop(clause.var, found.path, found.expr, ast.VarRef(clause.var)))
        return replace(looked, expr=expr, where=where, loop=self.loop_form(looked, clause, before, rest, result, e))

    def loop_form(
        self,
        looked: Spread,
        clause: ast.ForClause,
        before: list[ast.Clause],
        rest: list[ast.Clause],
        result: ast.Expr,
        e: ast.FLWOR,
    ) -> Loop | None:
        if looked.loop is None:
            return None
        inner = looked.loop.body
        if inner == ast.VarRef(looked.loop.variable) and clause.type is None:
            return replace(looked.loop, variable=clause.var, body=under([*before, *rest], result), written=True)
        made = ast.ForClause(clause.var, clause.type, False, None, inner, span=clause.span)
        written = looked.loop.written or is_itself(inner, looked.loop.variable)
        return replace(looked.loop, body=under([*before, made, *rest], result), written=written)

    def deeper(
        self, e: ast.FLWOR, clause: ast.ForClause, found: Spread, after: tuple[ast.Clause, ...]
    ) -> Spread | None:
        """``for $x in P return E($x)`` where E distributes over cuts of ``$x`` itself: its records are E's."""
        name = clause.var.expanded
        rest = ast.FLWOR(after, e.result, span=e.span) if after else e.result

        def refuse(inner: ast.Expr) -> ast.Expr:
            raise Blocking(inner, OUTSIDE)

        inner = Spreading({name: found.path}, self.functions, self.names, refuse)
        if free(rest) & self.roots.keys():
            return None
        try:
            below = inner.visit(rest)
        except Blocking:
            return None
        if below.path == found.path and below.bare:
            return found  # for $x in P return $x
        if below.bare:
            return replace(below, expr=flat(found.expr, below.expr, name), root=found.root)
        loop = ast.ForClause(clause.var, None, False, None, found.expr, span=clause.span)
        return replace(below, expr=ast.FLWOR((loop,), below.expr, span=e.span), root=found.root, loop=None)


_ANYWHERE = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
