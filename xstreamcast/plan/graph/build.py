"""From a query's body to its stream data-flow graph: an abstract run in which a value is the nodes it depends on.

What the run knows of a value: whether it is a sequence of unbounded length, and how many loops over such sequences it
lies in (its *level*). A sequence of a lower level that is read item by item inside of a loop is traversed once for each
item of the loop: a traversal of its own, of which Theorem 1 then finds two. One that is only aggregated is a value of
its own level, computed once (XQuery has no side effects), and the loop waits for it: Theorem 3 finds the cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Module, Span
from xstreamcast.lang.walk import children, descendants
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.plan.graph.draw import (
    BLOCKING,
    CONTEXT,
    FLOWING,
    IMPLICIT,
    NOTHING,
    Drawing,
    Functions,
    Value,
    bounding,
    calls_itself,
    is_root_element,
    reads_inputs,
    renumbered,
    together,
)
from xstreamcast.plan.graph.nodes import Graph, Node, Role

CONSTRUCTORS: Final = (ast.DirectElement, ast.ComputedElement, ast.ComputedDocument)
STEPPED: Final = (ast.Path, ast.SimpleMap)
SINGLE: Final = (
    *(ast.Arithmetic, ast.Unary, ast.ValueComparison, ast.NodeComparison, ast.Concat, ast.Range, ast.CastAs),
    *(ast.CastableAs, ast.AllenComparison, ast.Lookup),
)
"""Operators whose operands have at most one item: of a longer sequence, the wrong operand is all they tell."""
MOST: Final = 500
"""So many calls are looked into; a query with more is too complicated to be drawn."""


def stream_graph(module: Module) -> Graph:
    """The graph of a main module's body; a module without a body has the empty graph."""
    builder = Builder(module)
    if module.body is not None:
        builder.output(module.body)
    return renumbered(Graph(tuple(builder.nodes.values()), tuple(builder.edges.values())))


class Builder(Drawing):
    """The abstract run."""

    def __init__(self, module: Module) -> None:
        super().__init__(module.source)
        self.variables: dict[tuple[str, str], Value] = {}
        self.calls: list[tuple[str, str, int]] = []
        self.inlined = 0
        self.read = {part.name.expanded for part in descendants(module) if isinstance(part, ast.VarRef)}
        self.functions: Functions = {}
        self.globals: dict[tuple[str, str], tuple[ast.VariableDecl, ast.Source]] = {}
        self.known: dict[tuple[str, str], Value] = {}  # of these, when they are first asked for
        for each in (module, *module.imported):
            for declared in each.prolog:
                if isinstance(declared, ast.FunctionDecl):
                    self.functions[*declared.name.expanded, len(declared.params)] = declared, each.source
                elif isinstance(declared, ast.VariableDecl) and declared.value is not None:
                    self.globals[declared.name.expanded] = declared, each.source
        context = next((d for d in module.prolog if isinstance(d, ast.ContextItemDecl) and d.value is not None), None)
        self.context: Value | None = None
        if context is not None and context.value is not None:
            self.context = self.value(context.value, None)

    # ------------------------------------------------------------------------------------------------- output

    def output(self, body: Expr) -> None:
        """The output's nodes: one for each part, for what one part reads makes no other wait but for its place."""
        parts = [(expr, value) for expr, value in self.parts(body, NOTHING) if value != NOTHING]
        for number, (expr, value) in enumerate(parts, 1):
            if value.source is not None:
                value = self.sequence(value, expr.span)
            id = "output" if len(parts) == 1 else f"output {number}"
            shown = expr
            while isinstance(shown, ast.FLWOR):
                shown = shown.result
            self.add(Node(id, Role.OUTPUT, self.text(shown.span), value.unbounded, expr.span), value)

    def parts(self, expr: Expr, control: Value) -> Iterator[tuple[Expr, Value]]:
        """Commas, constructors and conditions outside of every loop make the output of parts."""
        if isinstance(expr, ast.Sequence):
            for item in expr.items:
                yield from self.parts(item, control)
        elif isinstance(expr, CONSTRUCTORS):
            for child in children(expr):
                if isinstance(child, Expr):
                    yield from self.parts(child, control)
                else:
                    yield expr, self.value(child, None).under(control)
        elif isinstance(expr, ast.Ordering):
            yield from self.parts(expr.body, control)
        elif isinstance(expr, ast.FunctionCall) and expr.name.expanded == (FN, "unordered"):
            yield from self.parts(expr.args[0], control)
        elif isinstance(expr, ast.If):
            decided = self.truth(expr.condition, None)
            yield from self.parts(expr.then, control.under(decided))
            yield from self.parts(expr.otherwise, control.under(decided))
        elif isinstance(expr, ast.FLWOR) and all(isinstance(clause, ast.LetClause) for clause in expr.clauses):
            outer = dict(self.variables)
            for clause in expr.clauses:
                assert isinstance(clause, ast.LetClause)
                self.let(clause, None)
            yield from self.parts(expr.result, control)
            self.variables = outer
        else:
            yield expr, self.value(expr, None).under(control)

    # -------------------------------------------------------------------------------------------- expressions

    def truth(self, expr: Expr, focus: Value | None) -> Value:
        """The effective boolean value of an expression."""
        value = self.value(expr, focus)
        return self.aggregate(value, "exists(…)", expr.span) if value.long else value

    def value(self, node: ast.Node, focus: Value | None) -> Value:
        """The value of an expression; ``focus`` None is the initial one."""
        if isinstance(node, ast.FLWOR):
            return self.flwor(node, focus)
        if isinstance(node, ast.VarRef):
            return self.variable(node)
        if isinstance(node, ast.ContextItem):
            return focus if focus is not None else self.initial()
        if isinstance(node, ast.Root):
            return self.initial() if focus is None or focus.tree is None else Value(source=focus.tree, tree=focus.tree)
        if isinstance(node, ast.FunctionCall):
            return self.call(node, focus)
        if isinstance(node, ast.AxisStep):
            return self.steps(node, (node,), focus if focus is not None else self.initial(), focus)
        if isinstance(node, STEPPED):
            first, *rest = node.steps
            if isinstance(first, ast.AxisStep):
                return self.steps(node, node.steps, focus if focus is not None else self.initial(), focus)
            return self.steps(node, tuple(rest), self.value(first, focus), focus)
        if isinstance(node, ast.Filter):
            return self.filtered(node, focus)
        if isinstance(node, ast.Union | ast.Intersect | ast.Except):
            return self.combined(node, focus)
        if isinstance(node, ast.GeneralComparison):
            return self.comparison(node, focus)
        if isinstance(node, ast.Quantified):
            return self.quantified(node, focus)
        if isinstance(node, ast.If):
            both = together((self.plain(node.then, focus), self.plain(node.otherwise, focus)))
            return both.under(self.truth(node.condition, focus))
        if isinstance(node, ast.And | ast.Or):
            return together(self.truth(operand, focus) for operand in node.operands)
        if isinstance(node, SINGLE):
            below = [child for child in children(node) if isinstance(child, Expr)]
            return together(self.single(self.value(child, focus), child.span) for child in below)
        if isinstance(node, ast.InlineFunction):
            return self.closure(node)
        if isinstance(node, ast.Typeswitch):
            return self.typeswitch(node, focus)
        return self.other(node, focus)

    def other(self, node: ast.Node, focus: Value | None) -> Value:
        """Any other expression: what its parts are."""
        return together(self.plain(child, focus) for child in children(node))

    def plain(self, node: ast.Node, focus: Value | None) -> Value:
        """A value that becomes part of another one: a document in it is a sequence like others."""
        value = self.value(node, focus)
        return self.sequence(value, node.span) if value.source is not None else value

    def initial(self) -> Value:
        """The initial context item: a document, unless the prolog gives it."""
        if self.context is not None:
            return self.context
        return Value(source=CONTEXT, tree=CONTEXT)

    def variable(self, node: ast.VarRef) -> Value:
        """A variable's value; the prolog's when they are first asked for."""
        name = node.name.expanded
        if name in self.variables:
            return self.variables[name]
        if name in self.globals and name not in self.known:
            self.known[name] = NOTHING  # an error, if it asks for itself
            declared, source = self.globals[name]
            assert declared.value is not None
            with self.elsewhere(source, {}):
                level, self.level = self.level, 0
                self.known[name] = self.bound(declared.name, declared.value, None)
                self.level = level
        return self.known.get(name, NOTHING)

    @contextmanager
    def elsewhere(self, source: ast.Source, variables: dict[tuple[str, str], Value]) -> Iterator[None]:
        """A run of another part of the query, or of a module it imports, with variables of its own."""
        before = self.source, self.variables
        self.source, self.variables = source, variables
        yield
        self.source, self.variables = before

    def bound(self, name: ast.Name, expr: Expr, focus: Value | None) -> Value:
        """A ``let``: a node of its own unless it looks at one item of a loop only, or is an input's document node."""
        value = self.value(expr, focus)
        if value.source is not None or not (value.nodes or value.control):
            return value
        if not value.unbounded and value.level > 0:
            return value
        id = self.named("$" + name.lexical)
        self.add(Node(id, Role.LET, "let", value.unbounded, expr.span), value)
        return Value((id,), (), value.unbounded, value.level, tree=value.tree)

    def let(self, clause: ast.LetClause, focus: Value | None) -> None:
        if clause.var.expanded in self.read:  # nobody computes what nobody reads
            self.variables[clause.var.expanded] = self.bound(clause.var, clause.value, focus)

    def inside(self, expr: Expr, value: Value) -> Value:
        """An expression for each item of a sequence, apart from what it reads of the item itself."""
        self.level += 1
        found = self.value(expr, Value(level=self.level, tree=value.tree))
        found = self.again(found, expr.span)
        self.level -= 1
        # What is as deep as this loop only because of its own item is no deeper than the sequence for the outside.
        return replace(found, level=min(found.level, self.level))

    # -------------------------------------------------------------------------------------------------- paths

    def steps(self, node: Expr, steps: tuple[Expr, ...], base: Value, focus: Value | None) -> Value:
        """``base/step/…`` or ``base ! step``: a node if it is unbounded, else part of what the base is part of."""
        shown: list[str] = []
        more = NOTHING
        deep = False
        for number, step in enumerate(steps):
            if step == ast.AxisStep("descendant-or-self", ast.KindTest("node")):
                deep = True
                continue
            slashes = "//" if deep else "/"
            if not isinstance(step, ast.AxisStep):
                more = together((more, self.inside(step, base) if base.long else self.value(step, base.item())))
                shown.append(slashes + self.text(step.span))
            elif number == 0 and not deep and base.source is not None and not base.steps and is_root_element(step):
                base = replace(base, steps=(slashes + self.tested(step),))
                for predicate in step.predicates:
                    base = base.under(self.truth(predicate, base))
            else:
                shown.append(slashes + self.tested(step))
                for predicate in step.predicates:
                    more = more.under(self.predicate(predicate, base))
                    shown.append(f"[{self.text(predicate.span)}]")
            deep = False
        if deep:
            shown.append("//node()")
        if not base.long:
            return replace(together((base, more)), unbounded=more.unbounded, tree=base.tree)
        if base.source is not None and not shown:
            return base
        return self.traversal(base, tuple(shown), node.span, more)

    def tested(self, step: ast.AxisStep) -> str:
        """A step without its predicates, as written."""
        end = step.predicates[0].span.start - 1 if step.predicates else step.span.end
        return self.text(Span(step.span.start, end)).rstrip("[ ")

    def predicate(self, predicate: Expr, base: Value) -> Value:
        """A predicate: what it reads besides the items it looks at."""
        if not base.long:
            return self.truth(predicate, base.item())
        value = self.inside(predicate, base)
        return value if not value.unbounded else replace(value, unbounded=False)

    def filtered(self, node: ast.Filter, focus: Value | None) -> Value:
        """``e[p]``: a position known beforehand leaves a bounded number of items."""
        base = self.value(node.base, focus)
        if base.source is not None:
            for predicate in node.predicates:
                base = base.under(self.truth(predicate, base))
            return base
        more = NOTHING
        for predicate in node.predicates:
            more = more.under(self.predicate(predicate, base))
        if not base.long:
            return together((base, more))
        if any(bounding(predicate) for predicate in node.predicates):
            base = self.sequence(base, node.base.span)
            return self.aggregate(base, f"…[{self.text(node.predicates[0].span)}]", node.span, more)
        shown = tuple(f"[{self.text(predicate.span)}]" for predicate in node.predicates)
        if len(base.nodes) == 1 and self.nodes[base.nodes[0]].role is Role.PATH and base.level >= more.level:
            path = self.nodes.pop(base.nodes[0])  # the same traversal, looked at more closely
            shown = (*path.steps, *shown)
            more = together((more, *self.detached(path.id)))
            if path.source is not None:
                return self.traversal(Value(source=path.source, level=base.level), shown, node.span, more)
            return self.traversal(replace(NOTHING, unbounded=True, level=base.level), shown, node.span, more)
        return self.traversal(base, shown, node.span, more)

    def combined(self, node: ast.Union | ast.Intersect | ast.Except, focus: Value | None) -> Value:
        """``|``, ``intersect``, ``except``: of one document's nodes in one traversal, of several documents' not."""
        operands = [child for child in children(node) if isinstance(child, Expr)]
        values = [self.plain(operand, focus) for operand in operands]
        value = together(values)
        if not value.unbounded:
            return value
        id = self.fresh("S")
        trees = {each.tree for each in values}
        united = len(trees) == 1 and None not in trees
        self.add(Node(id, Role.RESULT, self.text(node.span), True, node.span, united=united), value)
        return Value((id,), (), True, value.level, tree=values[0].tree if united else None)

    # ----------------------------------------------------------------------------------------------- operators

    def comparison(self, node: ast.GeneralComparison, focus: Value | None) -> Value:
        """A general comparison: that there is such an item in a sequence, or such a pair in two."""
        sides = [(side, self.plain(side, focus)) for side in (node.left, node.right)]
        (left, first), (right, second) = sides
        if not (first.unbounded or second.unbounded):
            return together((first, second))
        if first.unbounded and second.unbounded and first.level == second.level:
            both = self.sequence(together((first, second)), node.span)
            return self.aggregate(both, self.text(node.span), node.span, blocking="it compares two sequences")
        (expr, long), (_, other) = sides if first.unbounded else ((right, second), (left, first))
        if other.level > long.level or other.unbounded:  # for each item of a loop: a join
            return replace(together((self.again(long, expr.span), other)), unbounded=False)
        return self.aggregate(long, self.text(node.span), node.span, other)

    def quantified(self, node: ast.Quantified, focus: Value | None) -> Value:
        """``some``, ``every``: whether a loop's condition holds for an item."""
        outer, level = dict(self.variables), self.level
        bindings = [self.iterate(binding.var, binding.source, focus) for binding in node.bindings]
        condition = self.truth(node.condition, focus)
        unbounded = self.level > level
        self.variables, self.level = outer, level
        value = together((*bindings, condition))
        value = replace(value, level=min(value.level, level), unbounded=unbounded)
        if not unbounded:
            return value
        return self.aggregate(value, f"{'every' if node.every else 'some'} …", node.span)

    def typeswitch(self, node: ast.Typeswitch, focus: Value | None) -> Value:
        operand = self.value(node.operand, focus)
        values = []
        for name, result in (*((case.var, case.result) for case in node.cases), (node.default_var, node.default)):
            if name is not None:
                self.variables[name.expanded] = operand
            values.append(self.plain(result, focus))
        return together(values).under(operand)

    def closure(self, node: ast.InlineFunction) -> Value:
        """A function item: what its body reads from outside."""
        outer = dict(self.variables)
        self.level += 1  # it is called for one item after the other
        for param in node.params:
            self.variables[param.name.expanded] = Value(level=self.level)
        value = self.value(node.body, NOTHING)
        self.level -= 1
        self.variables = outer
        return replace(value, level=min(value.level, self.level))

    # -------------------------------------------------------------------------------------------------- FLWOR

    def iterate(self, var: ast.Name, source: Expr, focus: Value | None) -> Value:
        """A ``for``: over an unbounded sequence it opens a loop, over a bounded one it is an iteration space."""
        value = self.value(source, focus)
        if value.source is not None:  # one document node, or one root element
            self.variables[var.expanded] = value
            return NOTHING
        if not value.unbounded:
            if value.level == 0 and self.level == 0:
                id = self.named("$" + var.lexical)
                self.add(Node(id, Role.RANGE, f"for over {self.text(source.span)}", False, var.span), value)
                value = Value((id,))
            self.variables[var.expanded] = value
            return value
        value = self.again(value, source.span)
        self.level += 1
        id = self.named("$" + var.lexical)
        self.add(Node(id, Role.FOR, "for", False, var.span), value)
        self.variables[var.expanded] = Value((id,), (), False, self.level, tree=value.tree)
        return self.variables[var.expanded]

    def flwor(self, node: ast.FLWOR, focus: Value | None) -> Value:
        """Clauses bind, then the result is evaluated for each tuple of bindings."""
        outer, level = dict(self.variables), self.level
        tuples = NOTHING
        for clause in node.clauses:
            if isinstance(clause, ast.ForClause):
                tuples = together((tuples, self.iterate(clause.var, clause.source, focus)))
                if clause.position is not None:
                    self.variables[clause.position.expanded] = replace(tuples, unbounded=False)
            elif isinstance(clause, ast.LetClause):
                self.let(clause, focus)
            elif isinstance(clause, ast.WhereClause):
                tuples = tuples.under(self.truth(clause.condition, focus))
            elif isinstance(clause, ast.WindowClause):
                tuples = together((tuples, self.window(clause, focus)))
            elif isinstance(clause, ast.CountClause):
                self.variables[clause.var.expanded] = replace(tuples, unbounded=False)
            else:
                tuples = self.blocked(clause, tuples, focus, self.level > level)
        result = self.again(self.plain(node.result, focus), node.result.span)
        looped = self.level > level
        self.variables, self.level = outer, level
        value = together((tuples, result))
        return replace(value, unbounded=value.unbounded or looped, level=min(value.level, level))

    def window(self, clause: ast.WindowClause, focus: Value | None) -> Value:
        """A window is an iterator whose items are pieces of the sequence."""
        value = self.iterate(clause.var, clause.source, focus)
        for condition in (clause.start, clause.end):
            if condition is not None:
                for name in (condition.current, condition.position, condition.previous, condition.next):
                    if name is not None:
                        self.variables[name.expanded] = value
                value = value.under(self.truth(condition.when, focus))
        return value

    def blocked(self, clause: ast.Clause, tuples: Value, focus: Value | None, unbounded: bool) -> Value:
        """``order by`` and ``group by``: blocking when there is no end of tuples."""
        values = []
        for key in clause.keys if isinstance(clause, ast.OrderClause | ast.GroupClause) else ():
            expr = key.key if isinstance(key, ast.OrderKey) else key.value
            value = NOTHING if expr is None else self.single(self.value(expr, focus), expr.span)
            values.append(value)
            if isinstance(key, ast.GroupKey) and expr is not None:
                self.variables[key.var.expanded] = value
        if not unbounded:
            return together((tuples, *values))
        word = "order by" if isinstance(clause, ast.OrderClause) else "group by"
        id = self.fresh("S")
        why = f"{word} needs all tuples"
        node = Node(id, Role.RESULT, self.text(clause.span), True, clause.span, blocking=why)
        self.add(node, together((tuples, *values)))
        return Value((id,), (), False, tuples.level)

    # ---------------------------------------------------------------------------------------------- functions

    def call(self, node: ast.FunctionCall, focus: Value | None) -> Value:
        """A call: of an input, of the query's own function, or of the library's."""
        uri, local = node.name.expanded
        if (uri, local) in ((FN, "doc"), (STREAM, "stream")) and node.args:
            if isinstance(node.args[0], ast.StringLiteral):
                return Value(source=self.text(node.span), tree=self.text(node.span))
            return self.value(node.args[0], focus)
        declared, _ = self.functions.get((uri, local, len(node.args)), (None, None))
        if declared is not None and declared.body is not None:
            return self.own(node, declared, focus)
        if not node.args and uri == FN and local in IMPLICIT:
            return self.single(self.value(ast.ContextItem(span=node.span), focus), node.span)
        args = [(arg, self.value(arg, focus)) for arg in node.args]
        long = [(arg, value) for arg, value in args if value.long]
        rest = together(value for _, value in args if not value.long)
        if not long:
            return rest
        if uri == FN and local == "root":
            return long[0][1]
        value = together(self.sequence(value, arg.span) for arg, value in long)
        if uri == FN and local in FLOWING and not (local == "subsequence" and len(node.args) == 3):
            if local in ("data", "trace", "unordered", "one-or-more"):
                return value
            id = self.fresh("S")
            self.add(Node(id, Role.FUNCTION, f"{local}(…)", True, node.span), together((value, rest)))
            return Value((id,), (), True, max(value.level, rest.level))
        why = f"{local}() needs all of its input" if uri != FN or local in BLOCKING else ""
        if rest.level > value.level:  # correlated with a loop: a traversal for each of its items
            value = self.traversal(value, (f"{local}(…)",), node.span, rest)
        label = f"{node.name.lexical}(…)"
        if local.startswith("fold-") and self.calls:
            label = f"{self.calls[-1][1]}(…), a fold"
        return self.aggregate(value, label, node.span, rest, why)

    def own(self, node: ast.FunctionCall, declared: ast.FunctionDecl, focus: Value | None) -> Value:
        """The query's own function: its body, or, if that calls itself, a node."""
        key = (*declared.name.expanded, len(declared.params))
        args = [self.value(arg, focus) for arg in node.args]
        if not any(arg.long for arg in args) and not reads_inputs(key, self.functions, self.globals.keys()):
            return together(args)
        self.inlined += 1
        if self.inlined > MOST or calls_itself(key, self.functions):
            args = [self.sequence(arg, node.span) if arg.source else arg for arg in args]
            value = together(args)
            if not value.unbounded:
                return value
            why = f"{node.name.lexical}() is recursive, and no fold was found in it"
            return self.aggregate(value, f"{node.name.lexical}(…)", node.span, blocking=why)
        assert declared.body is not None
        self.calls.append(key)
        names = [param.name.expanded for param in declared.params]
        with self.elsewhere(self.functions[key][1], dict(zip(names, args, strict=True))):
            value = self.value(declared.body, NOTHING)
        self.calls.pop()
        return value
