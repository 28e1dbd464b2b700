"""Paths: loops over rows of a tree, with document order and distinctness known statically wherever possible.

A path keeps a :class:`~xstreamcast.run.compile.path_order.State` along its steps. Only where it knows nothing are rows
collected, sorted and made distinct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.plan.focus import LAST, POSITION, literal_number
from xstreamcast.run.compile.axes import COLLECTED, axis_loop
from xstreamcast.run.compile.chains import chain_at, children_at
from xstreamcast.run.compile.compiler import Compiler, Yields
from xstreamcast.run.compile.path_order import REVERSE, SINGLE, SORTED, State, after
from xstreamcast.run.compile.predicates import Produce, filtered, positional
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, ORDERED, Body, cond, each, value
from xstreamcast.run.compile.tests import node_test
from xstreamcast.run.compile.values import NODES, Rep, Type, Val, one, opt, row, seq


def fused(c: Compiler, steps: tuple[ast.Expr, ...], scope: Scope) -> tuple[ast.Expr, ...]:
    """``descendant-or-self::node()/child::x`` is ``descendant::x`` unless positions are counted."""
    made: list[ast.Expr] = []
    for step in steps:
        if made and isinstance(step, ast.AxisStep) and _is_any_descendant(made[-1]):
            if step.axis in ("child", "descendant") and not positional(c, step.predicates, scope):
                made[-1] = replace(step, axis="descendant")
                continue
            if step.axis == "attribute" and not positional(c, step.predicates, scope):
                made[-1] = replace(step, axis="attributes-below")
                continue
        made.append(step)
    return tuple(made)


def _is_any_descendant(step: ast.Expr) -> bool:
    return (
        isinstance(step, ast.AxisStep)
        and step.axis == "descendant-or-self"
        and isinstance(step.test, ast.KindTest)
        and step.test.kind == "node"
        and not step.predicates
    )


class _PathWriter:
    """Writes one path. ``multi``: nodes may come from several trees, so rows alone do not say which node."""

    def __init__(self, c: Compiler, steps: tuple[ast.Expr, ...], scope: Scope, body: Body, need: int) -> None:
        self.c = c
        self.steps = steps
        self.scope = scope
        self.body = body
        self.need = need
        self.multi = False
        self.slot = c.out.slot()
        self.depth = c.out.block_depth
        self.pending: list[tuple[str, int, Val | None, bool]] = []
        self.bulk: Callable[[str, str, str], None] | None = None  # of all rows at once: their tree, code and kind
        self.final = State()

    def write(self) -> None:
        from xstreamcast.run.compile.joins import indexed_step

        c, first = self.c, self.steps[0]
        found = indexed_step(c, self.steps, self.scope)
        if found is not None:
            k, join = found
            self.multi = True
            self.slot = c.out.slot()
            nodes = seq(join.matches(), replace(join.type, low=0, many=True))
            if self._counts(k + 1):
                self._numbered(k + 1, nodes, SORTED)
            else:
                c.iterate(nodes, lambda item: self.run(k + 1, item, SORTED))
        elif isinstance(first, ast.Root):
            item = c.to_row(c.context_item(self.scope))
            c.out.line(f"if {c.column(item.tree, 'kind')}[0] != 0: no_document_root()")
            self.run(1, row(item.tree, "0", "document"), SINGLE)
        elif isinstance(first, ast.AxisStep):
            self.run(0, c.context_item(self.scope), SINGLE)
        else:
            start = c.value(first, self.scope)
            if start.rep is Rep.SEQ:
                self.multi = True
                self.slot = c.out.slot()
                # What is not known to be sorted stays as it is: only the result of a step is put in order.
                state = State(False, start.type.sorted, start.type.sorted, start.type.disjoint)
                if self._counts(1):
                    self._numbered(1, start, state)
                else:
                    c.iterate(start, lambda item: self.run(1, item, state))
            else:
                self.slot = c.out.slot()
                c.iterate(start, lambda item: self.run(1, item, SINGLE))
        while self.pending:
            name, k, sample, finished = self.pending.pop(0)
            self.resume(name, k, sample, finished)

    def _counts(self, k: int) -> bool:
        """Whether step k is an expression that asks for its position among all nodes so far."""
        return (
            k < len(self.steps)
            and not isinstance(self.steps[k], ast.AxisStep)
            and bool(self.c.analysis.focus(self.steps[k]) & (POSITION | LAST))
        )

    def _numbered(self, k: int, val: Val, state: State) -> None:
        c, out = self.c, self.c.out
        val = c.bind(val)
        position, last, item = out.fresh("n"), out.fresh("z"), out.fresh()
        out.line(f"{last} = len({val.code})")
        with out.loop(f"for {position}, {item} in enumerate({val.code}, 1):"):
            self.general(k, one(item, val.type.single()), state, position, last)

    # -------------------------------------------------------------------------------------------------- one step

    def run(self, k: int, current: Val, state: State) -> None:
        """Go on from a node, inside the loops written so far."""
        c = self.c
        if k == len(self.steps):
            self.final = state
            if self.need == ORDERED and not state.ordered:
                self.gather(k, current)
            else:
                self.body(current)
            return
        step = self.steps[k]
        if c.deep and c.out.block_depth > self.depth + 2 and state.distinct:
            self.gather(k, current)  # and go on from outside of the loops
            return
        if not isinstance(step, ast.AxisStep):
            stepped = k > 1 or isinstance(self.steps[0], (ast.AxisStep, ast.Root))
            if (self._counts(k) and not state.single) or (stepped and not state.ordered):
                self.gather(k, current)
            elif self._counts(k):
                self.general(k, current, state, "1", "1")
            else:
                self.general(k, current, state, None, None)
            return
        if step.axis == "namespace" or (c.namespace_nodes and step.axis in ("parent", "self", *COLLECTED)):
            self.node_axis(k, step, current, state)
            return
        test = node_test(c, "attribute" if step.axis == "attributes-below" else step.axis, step.test)
        if test.never:
            return
        if test.kind == ATTRIBUTE and step.axis == "descendant-or-self":
            step = replace(step, axis="self")
        current = c.to_row(current, left=k > 0)
        wanted = state.single and not c.out.exits  # all of it,
        once = current.type.kind == "document" or not c.frame.loops  # and not per record
        if wanted and once and self.chain(k, current):
            return
        counted = positional(c, step.predicates, self.scope)
        reverse = step.axis in REVERSE and counted
        first_only = len(step.predicates) >= 1 and literal_number(step.predicates[0]) is not None
        new = after(state, step.axis, test, first_only, counted)

        def go_on(item: Val) -> None:
            if new.distinct:
                self.run(k + 1, item, new)
            else:
                self.gather(k + 1, item)

        skip = (
            step.axis in ("descendant", "descendant-or-self", "attributes-below")
            and state.ordered
            and not state.disjoint
            and not counted
        )
        if (
            self.bulk is not None
            and k + 1 == len(self.steps)
            and step.axis in ("descendant", "attributes-below")
            and test.name is not None
            and not step.predicates
            and not skip
            and new.distinct
        ):
            self.final = new
            rows = f"{current.tree}.descendants({current.code}, {test.name})"
            self.bulk(current.tree, rows, "attribute" if step.axis == "attributes-below" else test.static_kind)
            return
        produce = axis_loop(c, step.axis, test, current, reverse)
        if skip:
            produce = self.staircase(current, produce)
        single_loop = not skip and step.axis not in ("self", "parent") and not (step.axis == "attribute" and test.name)
        filtered(c, step.predicates, self.scope, produce, single_loop)(go_on)

    def chain(self, k: int, current: Val) -> bool:
        """Several steps at once, if those from k on are such."""
        found = chain_at(self.c, self.steps, k, self.scope)
        if found is None:
            return False
        new = State(False, True, True, found.disjoint)
        if self.bulk is not None and found.end == len(self.steps) and not found.predicates:
            self.final = new
            self.bulk(current.tree, found.rows(self.c, current), found.kind)
        else:
            further = children_at(self.c, self.steps, found.end) if found.predicates and found.disjoint else ()
            produce = found.produce(self.c, current, self.scope)
            if further:
                self._children(found.end + len(further), current, produce, further, new)
            else:
                produce(lambda item: self.run(found.end, item, new))
        return True

    def _children(self, end: int, start: Val, produce: Produce, names: tuple[int, ...], state: State) -> None:
        """The children, their children… of all that passes, at once: steps up to ``end``."""
        out = self.c.out
        passed = out.fresh("l")
        out.line(f"{passed} = []")
        with out.sealed():
            produce(lambda item: out.line(f"{passed}.append({item.code})"))
        rows = f"chain_from({start.tree}, {passed}, {out.constant(names, hashable=True)})"
        if self.bulk is not None and end == len(self.steps):
            self.final = state
            self.bulk(start.tree, rows, "element")
            return
        name = out.fresh("i")
        with out.loop(f"for {name} in {rows}:"):
            self.run(end, row(start.tree, name, "element"), state)

    def staircase(self, current: Val, produce: Produce) -> Produce:
        """Skip a node inside one whose descendants were already visited."""
        c, out = self.c, self.c.out
        reach = out.fresh("e")
        out.home[reach] = self.slot.depth
        out.fill(self.slot, f"{reach} = {'(None, -1)' if self.multi else -1}")

        def run(body: Body) -> None:
            end = f"{current.code} + {c.column(current.tree, 'size')}[{current.code}]"
            if self.multi:
                test = f"if {reach}[0] is not {current.tree} or {current.code} > {reach}[1]:"
                mark = f"{reach} = ({current.tree}, {end})"
            else:
                test = f"if {current.code} > {reach}:"
                mark = f"{reach} = {end}"
            with out.block(test):
                out.line(mark)
                produce(body)

        return run

    def gather(self, k: int, item: Val) -> None:
        """Collect what reached step k; go on from there when all is collected, sorted and distinct."""
        out = self.c.out
        name = self._gathering(k, item if item.rep is Rep.ROW and not self.multi else None, False)
        code = item.code if item.rep is Rep.ROW and not self.multi else self.c.item(item)
        out.line(f"{name}.append({code})")

    def _gathering(self, k: int, sample: Val | None, finished: bool) -> str:
        name = self.c.out.fresh("l")
        self.c.out.home[name] = self.slot.depth
        self.c.out.fill(self.slot, f"{name} = []")
        self.pending.append((name, k, sample, finished))
        return name

    def resume(self, name: str, k: int, sample: Val | None, finished: bool) -> None:
        """The loop over what was gathered."""
        c, out = self.c, self.c.out
        if finished:  # a general step: nodes, or atomic values, which only the last step may give
            last = k == len(self.steps)
            known = sample is not None and sample.type.is_node
            items = f"sorted(set({name}))" if known else f"path_result({name}, {last})"
            kind = Type(sample.type.kind if sample is not None and known else "item")
            if not last and self._counts(k):
                self._numbered(k, seq(items, kind), SORTED)
                return
            self.multi = True
            self.slot = out.slot()
            c.iterate(seq(items, kind), lambda item: self.run(k, item, SORTED))
            return
        if self._counts(k):
            self.slot = out.slot()
            if sample is not None:
                # The tree has a name only if something was gathered.
                code = f"(nodes_at({sample.tree}, sorted(set({name}))) if {name} else [])"
                nodes = seq(code, Type(sample.type.kind))
            else:
                nodes = seq(f"sorted(set({name}))", NODES)
            self.multi = True
            self._numbered(k, nodes, SORTED)
            return
        self.slot = out.slot()
        item = out.fresh("i" if sample is not None else "v")
        with out.loop(f"for {item} in sorted(set({name})):"):
            if sample is not None:
                self.run(k, row(sample.tree, item, sample.type.kind), SORTED)
            else:
                self.run(k, one(item, Type("node")), SORTED)

    def general(self, k: int, current: Val, state: State, position: str | None, last: str | None) -> None:
        """A step that is no axis step: evaluated with the node as focus."""
        c, out = self.c, self.c.out
        if not current.type.is_node:
            current = c.bind(current)
            out.line(f"check_node({current.code})")
            current = replace(current, type=replace(current.type, kind="node"))
        step = self.steps[k]
        inner = c.focused(self.scope, current, position, last)
        final = k + 1 == len(self.steps)
        val = c.value(step, inner)
        if val.type.none:
            return
        if val.type.is_atomic:
            if not final:
                c.iterate(val, lambda item: out.line(f"check_node({item.code})"))
                return
            self.final = State()
            c.iterate(val, self.body)
            return
        if val.type.is_node and state.single and (val.rep is not Rep.SEQ or val.type.sorted):
            new = State(val.rep is not Rep.SEQ, True, True, val.type.disjoint)
            if val.rep is Rep.SEQ:
                self.multi = True
            c.iterate(val, lambda item: self.run(k + 1, item, new))
            return
        sample = one("", val.type) if val.type.is_node else None
        name = self._gathering(k + 1, sample, True)
        if val.rep is Rep.SEQ:
            out.line(f"{name} += {val.code}")
        else:
            c.iterate(val, lambda item: out.line(f"{name}.append({c.item(item)})"))

    def node_axis(self, k: int, step: ast.AxisStep, current: Val, state: State) -> None:
        """An axis by way of node objects: the namespace axis, and all upward ones once namespace nodes are about."""
        c, out = self.c, self.c.out
        nodes = f"axis_nodes({c.out.literal(step.axis)}, {c.item(current)})"
        test = node_test_at_run_time(c, step)
        val = c.bind(seq(f"[n for n in {nodes} if {test}.matches(n)]" if test else nodes, Type("node")))

        def produce(body: Body) -> None:
            c.iterate(val, body)

        name = self._gathering(k + 1, one("", Type("node")), True)
        filtered(c, step.predicates, self.scope, produce, True)(lambda item: out.line(f"{name}.append({c.item(item)})"))


def node_test_at_run_time(c: Compiler, step: ast.AxisStep) -> str:
    """A constant that matches nodes, "" for node()."""
    from xstreamcast.run.runtime.nodes import AxisTest

    test = step.test
    if isinstance(test, ast.KindTest) and test.kind == "node":
        return ""
    if isinstance(test, ast.NameTest):
        return c.out.constant(AxisTest(step.axis, test.name.uri or "", test.name.local))
    if isinstance(test, ast.Wildcard):
        return c.out.constant(AxisTest(step.axis, test.uri, test.local))
    from xstreamcast.run.compile.types import item_type

    return c.out.constant(item_type(c, test))


# ------------------------------------------------------------------------------------------------------- handlers


def _steps(c: Compiler, e: ast.Expr, scope: Scope) -> tuple[ast.Expr, ...]:
    return fused(c, e.steps, scope) if isinstance(e, ast.Path) else (e,)


@each(ast.Path, ast.AxisStep)
def path_each(c: Compiler, e: ast.Expr, scope: Scope, body: Body, need: int) -> None:
    writer = _PathWriter(c, _steps(c, e, scope), scope, body, need)
    if isinstance(body, Yields):
        writer.bulk = body.rows
    writer.write()


@value(ast.Root)
def root_value(c: Compiler, e: ast.Root, scope: Scope) -> Val:
    item = c.to_row(c.context_item(scope))
    c.out.line(f"if {c.column(item.tree, 'kind')}[0] != 0: no_document_root()")
    return row(item.tree, "0", "document")


@value(ast.Path, ast.AxisStep)
def path_value(c: Compiler, e: ast.Expr, scope: Scope) -> Val:
    """A list of nodes, or an optional node where at most one is possible."""
    out = c.out
    single = at_most_one(c, e, scope)
    made = out.fresh("v" if single else "l")
    out.line(f"{made} = {'None' if single else '[]'}")
    found: list[Type] = []

    def body(item: Val) -> None:
        found.append(item.type)
        out.line(f"{made} = {c.item(item)}" if single else f"{made}.append({c.item(item)})")

    with out.sealed():
        writer = _PathWriter(c, _steps(c, e, scope), scope, body, ORDERED)
        if not single:
            writer.bulk = lambda tree, rows, kind: _bulk(c, made, tree, rows, kind, found)
        writer.write()
    kind = c.joined(found)
    if single:
        return opt(made, kind)
    known = kind.is_node
    return seq(made, replace(kind, low=0, many=True, sorted=known, disjoint=known and writer.final.disjoint))


def _bulk(c: Compiler, made: str, tree: str, rows: str, kind: str, found: list[Type]) -> None:
    found.append(Type(kind, 1, False))
    c.out.line(f"{made} += nodes_at({tree}, {rows})")


def at_most_one(c: Compiler, e: ast.Expr, scope: Scope) -> bool:
    """Whether a path can be seen to give one node at most."""
    steps = e.steps if isinstance(e, ast.Path) else (e,)
    for k, step in enumerate(steps):
        if isinstance(step, ast.AxisStep):
            named = isinstance(step.test, ast.NameTest)
            if step.axis == "self" or step.axis == "parent" or (step.axis == "attribute" and named):
                continue
            if step.axis == "child" and step.predicates and literal_number(step.predicates[0]) is not None:
                continue
            return False
        if k or not isinstance(step, (ast.Root, ast.ContextItem)):
            if isinstance(step, ast.VarRef) and not k:
                var = scope.variables.get(step.name.expanded)
                if var is not None and not var.val.type.many:
                    continue
            return False
    return True


def count_path(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    """``count(path)`` without making nodes."""
    out = c.out
    total = out.fresh("n")
    out.line(f"{total} = 0")
    with out.sealed():
        writer = _PathWriter(c, _steps(c, e, scope), scope, lambda item: out.line(f"{total} += 1"), 1)
        writer.bulk = lambda tree, rows, kind: out.line(f"{total} += len({rows})")
        writer.write()
    return total


@cond(ast.Path, ast.AxisStep)
def path_cond(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    """Whether a path finds anything: its loops end at the first node."""
    last = e.steps[-1] if isinstance(e, ast.Path) else e
    if not isinstance(last, ast.AxisStep):
        return c.truth(path_value(c, e, scope))
    return exists(c, e, scope)


def exists(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    """``exists(e)``, leaving all loops at the first item."""
    out = c.out
    flag = out.fresh("f")
    out.line(f"{flag} = False")
    with out.sealed(), out.region(flag) as region:
        c.each(e, scope, lambda item: out.leave(region), ANY)
    return flag
