"""The parts of a document that an expression may look at when one record is all there is.

An expression is *local* to a record when it reads nothing but the record's subtree, and the names and attributes of
its ancestors: those stand in every batch of the document that the record can be in. Whatever else an ancestor has may
be in another batch. :class:`RecordBody` walks an expression and tells how far up it reaches; sub-expressions about the
whole document that do not depend on the record are handed over, to be computed in an earlier pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.model.types import AtomicType
from xstreamcast.operators.aggregates import COUNTING
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.decompose.record_paths import (
    ABOVE,
    APART,
    BARRED,
    DOWNWARD,
    FOREIGN,
    MIXED,
    Blocking,
    Where,
    joined,
    moved,
    single,
    within,
)
from xstreamcast.plan.passes.dependence import FunctionKey, call_key, focus_of, takes_context_item
from xstreamcast.plan.passes.variables import free

_NAMES_ONLY: Final = COUNTING | {"name", "local-name", "namespace-uri", "node-name", "not", "boolean"}
"""Functions that look at no more of a node than that it is there, and its name."""
_PASSING: Final = frozenset(
    (
        *("head", "tail", "reverse", "subsequence", "remove", "insert-before", "unordered", "trace"),
        *("zero-or-one", "one-or-more", "exactly-one", "innermost", "outermost"),
    )
)
"""Functions whose value is made of their arguments' items."""
_FAR: Final = frozenset(("root", "id", "idref", "element-with-id", "path", "generate-id", "function-lookup"))
"""Functions that look at a whole document from any of its nodes, or tell nodes of different trees apart."""
_ORDERING: Final = frozenset(("innermost", "outermost"))
_REORDERING: Final = frozenset(("reverse", "insert-before"))
_WHOLE: Final = (ast.OrderClause, ast.GroupClause, ast.CountClause, ast.WindowClause)
"""Clauses about all tuples before them."""
_CONSUMING: Final = (
    ast.GeneralComparison,
    ast.ValueComparison,
    ast.Arithmetic,
    ast.Unary,
    ast.Concat,
    ast.Range,
    ast.CastAs,
    ast.CastableAs,
    *ast.CONSTRUCTORS,
    ast.StringConstructor,
)
"""Expressions that atomise or copy their operands: no node of them is in the value."""


class Functions:
    """The query's own functions: which of them look only downward from their arguments."""

    def __init__(self, module: ast.Module) -> None:
        self._declared: dict[FunctionKey, ast.FunctionDecl] = {
            (d.name.expanded, len(d.params)): d
            for part in (*module.imported, module)
            for d in part.prolog
            if isinstance(d, ast.FunctionDecl)
        }
        self._downward: dict[FunctionKey, bool] = {}

    def __contains__(self, key: FunctionKey | None) -> bool:
        return key in self._declared

    def declare(self, function: ast.FunctionDecl) -> None:
        """One function more, made by the plan."""
        self._declared[function.name.expanded, len(function.params)] = function

    def result(self, e: ast.FunctionCall) -> ast.SequenceType | None:
        """The declared type of the value of a call."""
        function = self._declared.get((e.name.expanded, len(e.args)))
        return None if function is None else function.result

    def stays(self, key: FunctionKey) -> bool:
        """Whether any function, the library's too, stays within the subtrees of its arguments."""
        (uri, local), _ = key
        return self.downward(key) if key in self._declared else not (uri == FN and local in _FAR | _ORDERING)

    def downward(self, key: FunctionKey) -> bool:
        """Whether a function, and all that it calls, never leaves the subtrees of its arguments."""
        known = self._downward.get(key)
        if known is None:
            self._downward[key] = True  # while its own calls are looked at
            known = self._downward[key] = all(self._looks_down(part) for part in descendants(self._declared[key]))
        return known

    def _looks_down(self, part: ast.Node) -> bool:
        if isinstance(part, ast.AxisStep):
            return part.axis in DOWNWARD
        if isinstance(part, ast.Root):
            return False
        key = call_key(part)
        if key is None:
            return True
        if key in self._declared:
            return self.downward(key)
        (uri, local), _ = key
        return not ((uri == FN and local in _FAR) or (uri == STREAM and local == "stream"))


class Correlation(Protocol):
    """Finds loops over a document in the body of a record that are look-ups in another unit: joins."""

    def mark(self) -> Callable[[], None]:
        """Gives a function that forgets the units that have been made since."""

    def of(self, body: RecordBody, e: ast.Expr, focus: Where | None) -> tuple[ast.Expr, Where] | None:
        """The expression as a look-up, and where its nodes are; None if it is none."""

    def clause(
        self, body: RecordBody, clause: ast.ForClause, rest: list[ast.Clause], focus: Where | None
    ) -> tuple[ast.ForClause, list[ast.Clause]]:
        """A loop over what is looked up, and the clauses behind it without the conditions that this meets."""

    def is_lookup(self, e: ast.DynamicCall) -> bool:
        """Whether a call is one that this has made."""

    def where(self, e: ast.Expr) -> Where:
        """Where the nodes of what is left of an expression about whole documents are."""


class RecordBody:
    """An expression about one record, with the variables and the focus it has.

    ``whole`` computes an expression about whole documents that is closed with respect to the record, and gives what is
    left of it, or raises. ``roots`` are the documents' variables; those in ``opened`` are elements that may be cut.
    """

    def __init__(
        self,
        functions: Functions,
        roots: frozenset[VarName],
        opened: frozenset[VarName],
        whole: Callable[[ast.Expr], ast.Expr],
        variables: Mapping[VarName, Where],
        joins: Correlation | None = None,
    ) -> None:
        self.functions = functions
        self.roots = roots
        self.opened = opened
        self.whole = whole
        self.variables = dict(variables)
        self.joins = joins

    # --------------------------------------------------------------------------------------------------- visiting

    def visit(self, e: ast.Expr, focus: Where | None) -> tuple[ast.Expr, Where]:
        """The expression with what is closed in it handed over, and where the nodes of its value are."""
        if self.closed(e):
            made = self.whole(e)
            return made, APART if self.joins is None else self.joins.where(made)
        if self.joins is not None and free(e) & self.roots:
            joined_to = self.joins.of(self, e, focus)
            if joined_to is not None:
                return joined_to
        match e:
            case ast.VarRef():
                return e, self.variable(e)
            case ast.DynamicCall() if self.joins is not None and self.joins.is_lookup(e):
                call, where = self.parts(e, focus)
                if where in (ABOVE, BARRED):
                    raise Blocking(e, "an ancestor of the record is known by its name and attributes only")
                return call, self.joins.where(e)
            case ast.ContextItem():
                if focus is None:
                    raise Blocking(e, "the context item is not known here")
                return e, focus
            case ast.Root():
                raise Blocking(e, "the whole document is read for each record")
            case ast.AxisStep():
                if focus is None:
                    raise Blocking(e, "the context item is not known here")
                return self.step(e, focus)
            case ast.Path() | ast.SimpleMap():
                return self.steps(e, focus)
            case ast.Filter():
                base, where = self.visit(e.base, focus)
                predicates = tuple([self.visit(p, single(where))[0] for p in e.predicates])
                return ast.Filter(base, predicates, span=e.span), where
            case ast.FLWOR():
                return self.flwor(e, focus)
            case ast.Quantified():
                return self.quantified(e, focus), APART
            case ast.If():
                condition, _ = self.visit(e.condition, focus)
                then, a = self.visit(e.then, focus)
                otherwise, b = self.visit(e.otherwise, focus)
                return ast.If(condition, then, otherwise, span=e.span), joined(a, b)
            case ast.Typeswitch():
                return self.typeswitch(e, focus)
            case ast.FunctionCall():
                return self.call(e, focus)
            case ast.InlineFunction():
                self.variables.update((param.name.expanded, 0) for param in e.params)
                body, where = self.visit(e.body, None)
                if where < 0:
                    raise Blocking(e.body, "a function gives nodes outside of the record")
                return ast.InlineFunction(e.params, e.result, body, e.annotations, span=e.span), 0
            case ast.NamedFunctionRef():
                self.reference(e)
                return e, 0
            case ast.Union() | ast.Intersect() | ast.Except() | ast.NodeComparison():
                made, where = self.parts(e, focus)
                if where <= MIXED:
                    raise Blocking(e, "nodes from different places of the document are compared")
                return made, APART if isinstance(e, ast.NodeComparison) else where
            case ast.Sequence() | ast.TreatAs() | ast.Ordering():
                return self.parts(e, focus)
            case ast.Extension() | ast.Switch() | ast.TryCatch():
                return self.parts(e, focus)
            case ast.And() | ast.Or() | ast.InstanceOf():
                return self.parts(e, focus)[0], APART
            case _:
                made, where = self.parts(e, focus)
                if where in (ABOVE, BARRED):
                    raise Blocking(e, "an ancestor of the record is known by its name and attributes only")
                return made, APART if isinstance(e, _CONSUMING) else within(where)

    def closed(self, e: ast.Expr) -> bool:
        """Whether an expression is about documents and has nothing to do with the record."""
        names = free(e)
        return bool(names & self.roots) and not names & self.variables.keys() and not focus_of(e)

    def variable(self, e: ast.VarRef) -> Where:
        name = e.name.expanded
        if name in self.opened:
            return ABOVE
        if name in self.roots:
            raise Blocking(e, "the whole document is read for each record")
        return self.variables.get(name, APART)

    def parts(self, e: ast.Expr, focus: Where | None) -> tuple[ast.Expr, Where]:
        """All operands, in the same focus."""
        found: list[Where] = []

        def change(part: ast.Node) -> ast.Node:
            if isinstance(part, ast.Expr):
                made, where = self.visit(part, focus)
                found.append(where)
                return made
            return rebuild(part, change)

        return rebuild(e, change), joined(*found)

    # ------------------------------------------------------------------------------------------------------ paths

    def steps(self, e: ast.Path | ast.SimpleMap, focus: Where | None) -> tuple[ast.Expr, Where]:
        first, where = self.visit(e.steps[0], focus)
        steps = [first]
        for step in e.steps[1:]:
            if isinstance(e, ast.SimpleMap):
                made, where = self.visit(step, single(where))
            elif where in (MIXED, BARRED):
                raise Blocking(e, "nodes from different places of the document are merged")
            else:
                made, where = self.visit(step, where)
            steps.append(made)
        return e.__class__(tuple(steps), span=e.span), where

    def step(self, e: ast.AxisStep, focus: Where) -> tuple[ast.Expr, Where]:
        where = moved(e, focus)
        predicates = tuple([self.visit(p, where)[0] for p in e.predicates])
        return ast.AxisStep(e.axis, e.test, predicates, span=e.span), where

    # ----------------------------------------------------------------------------------------------------- scopes

    def flwor(self, e: ast.FLWOR, focus: Where | None) -> tuple[ast.Expr, Where]:
        clauses, result, where = self.tail(e.clauses, e.result, focus, e.span)
        return ast.FLWOR(tuple(clauses), result, span=e.span), where

    def tail(
        self, clauses: tuple[ast.Clause, ...], result: ast.Expr, focus: Where | None, span: ast.Span
    ) -> tuple[list[ast.Clause], ast.Expr, Where]:
        """Clauses and what they return; a loop over a document among them is a join."""
        made: list[ast.Clause] = []
        loops = False
        waiting = list(clauses)
        while waiting:
            clause = waiting.pop(0)
            if self.joins is not None and isinstance(clause, ast.ForClause) and free(clause.source) & self.roots:
                if made and not any(isinstance(later, _WHOLE) for later in waiting):
                    rest = ast.FLWOR((clause, *waiting), result, span=span)
                    result, waiting = rest, []
                    break
                clause, waiting = self.joins.clause(self, clause, waiting, focus)
            made.append(self.clause(clause, focus))
            loops = loops or isinstance(clause, ast.ForClause | ast.WindowClause)
        result, where = self.visit(result, focus)
        return made, result, MIXED if loops and where <= FOREIGN else where

    def clause(self, clause: ast.Clause, focus: Where | None) -> ast.Clause:
        """A clause over the record's own tuples; its variables are known from here on."""
        known = self.variables
        match clause:
            case ast.ForClause():
                source, where = self.visit(clause.source, focus)
                known[clause.var.expanded] = single(where)
                if clause.position is not None:
                    known[clause.position.expanded] = APART
                return ast.ForClause(
                    clause.var, clause.type, clause.allowing_empty, clause.position, source, span=clause.span
                )
            case ast.LetClause():
                value, known[clause.var.expanded] = self.visit(clause.value, focus)
                return ast.LetClause(clause.var, clause.type, value, span=clause.span)
            case ast.WindowClause():
                source, where = self.visit(clause.source, focus)
                known[clause.var.expanded] = where
                start = self.condition(clause.start, where, focus)
                end = None if clause.end is None else self.condition(clause.end, where, focus)
                return ast.WindowClause(
                    clause.sliding, clause.var, clause.type, source, start, end, clause.only_end, span=clause.span
                )
            case ast.WhereClause():
                return ast.WhereClause(self.visit(clause.condition, focus)[0], span=clause.span)
            case ast.CountClause():
                known[clause.var.expanded] = APART
                return clause
            case ast.GroupClause():
                keys = []
                for key in clause.keys:
                    of = None if key.value is None else self.atomised(key.value, focus)
                    known[key.var.expanded] = APART
                    keys.append(ast.GroupKey(key.var, key.type, of, key.collation, span=key.span))
                return ast.GroupClause(tuple(keys), span=clause.span)
            case ast.OrderClause():
                order = tuple(
                    [
                        ast.OrderKey(
                            self.atomised(key.key, focus), key.descending, key.empty_least, key.collation, span=key.span
                        )
                        for key in clause.keys
                    ]
                )
                return ast.OrderClause(clause.stable, order, span=clause.span)

    def condition(self, e: ast.WindowCondition, where: Where, focus: Where | None) -> ast.WindowCondition:
        for name in (e.current, e.previous, e.next):
            if name is not None:
                self.variables[name.expanded] = where
        if e.position is not None:
            self.variables[e.position.expanded] = APART
        when, _ = self.visit(e.when, focus)
        return ast.WindowCondition(e.current, e.position, e.previous, e.next, when, span=e.span)

    def atomised(self, e: ast.Expr, focus: Where | None) -> ast.Expr:
        made, where = self.visit(e, focus)
        if where in (ABOVE, BARRED):
            raise Blocking(e, "the text of an ancestor of the record is not known")
        return made

    def quantified(self, e: ast.Quantified, focus: Where | None) -> ast.Expr:
        bindings = []
        for binding in e.bindings:
            source, where = self.visit(binding.source, focus)
            self.variables[binding.var.expanded] = single(where)
            bindings.append(ast.QuantifiedBinding(binding.var, binding.type, source, span=binding.span))
        condition, _ = self.visit(e.condition, focus)
        return ast.Quantified(e.every, tuple(bindings), condition, span=e.span)

    def typeswitch(self, e: ast.Typeswitch, focus: Where | None) -> tuple[ast.Expr, Where]:
        operand, where = self.visit(e.operand, focus)
        cases, found = [], []
        for case in e.cases:
            if case.var is not None:
                self.variables[case.var.expanded] = where
            result, there = self.visit(case.result, focus)
            found.append(there)
            cases.append(ast.TypeCase(case.var, case.types, result, span=case.span))
        if e.default_var is not None:
            self.variables[e.default_var.expanded] = where
        default, there = self.visit(e.default, focus)
        made = ast.Typeswitch(operand, tuple(cases), e.default_var, default, span=e.span)
        return made, joined(there, *found)

    # -------------------------------------------------------------------------------------------------- functions

    def call(self, e: ast.FunctionCall, focus: Where | None) -> tuple[ast.Expr, Where]:
        args, found = [], []
        for arg in e.args:
            made, where = self.visit(arg, focus)
            args.append(made)
            found.append(where)
        call = ast.FunctionCall(e.name, tuple(args), span=e.span)
        where = joined(*found)
        key = call_key(e)
        assert key is not None
        (uri, local), arity = key
        if key in self.functions:
            if where != APART and (where in (ABOVE, BARRED) or not self.functions.downward(key)):
                raise Blocking(e, f"{e.name.lexical} may look outside of the record")
            return call, within(where)
        if uri == STREAM and local == "stream":
            return call, APART
        if uri != FN:
            if where in (ABOVE, BARRED):
                raise Blocking(e, "an ancestor of the record is known by its name and attributes only")
            return call, within(where)
        if takes_context_item(e):
            if focus is None:
                raise Blocking(e, "the context item is not known here")
            where = joined(where, focus)
        if local in _FAR and where != APART:
            raise Blocking(e, f"{local}() looks at the whole document")
        if local in _NAMES_ONLY:
            return call, APART
        if local in _PASSING:
            return call, MIXED if where <= FOREIGN and local in _REORDERING else where
        if where in (ABOVE, BARRED):
            raise Blocking(e, "an ancestor of the record is known by its name and attributes only")
        entry = lookup(uri, local, arity)
        atomic = entry is not None and isinstance(entry.result.item, AtomicType)
        return call, APART if atomic else within(where)

    def reference(self, e: ast.NamedFunctionRef) -> None:
        key = call_key(e)
        assert key is not None
        (uri, local), _ = key
        if key in self.functions:
            if not self.functions.downward(key):
                raise Blocking(e, f"{e.name.lexical} may look outside of the record")
        elif uri == FN and (local in _FAR or takes_context_item(e)):
            raise Blocking(e, f"{local}() looks at the whole document")
