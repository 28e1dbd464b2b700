"""FLWOR: clauses as nested loops; order by, group by, count and windows collect tuples and begin anew.

A tuple is kept as the Python variables that later clauses use, no more. Conditions are split at ``and`` and tested
as soon as the variables they need are bound; equalities and inequalities between independent loops become look-ups
in an index (:mod:`xstreamcast.run.compile.joins`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xstreamcast.lang import ast
from xstreamcast.lang.walk import bound_by, children, descendants
from xstreamcast.model.namespaces import CODEPOINT
from xstreamcast.plan.focus import VarName
from xstreamcast.run.compile.chains import with_condition
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.emit import Slot
from xstreamcast.run.compile.expressions import each_once
from xstreamcast.run.compile.joins import Join, find_join
from xstreamcast.run.compile.scope import Scope, Var
from xstreamcast.run.compile.styles import ORDERED, Body, build, each, value
from xstreamcast.run.compile.types import declared
from xstreamcast.run.compile.values import INTEGER, Rep, Type, Val, one, opt, seq
from xstreamcast.run.compile.windows import each_window


def split_conditions(clauses: tuple[ast.Clause, ...]) -> list[ast.Clause]:
    """``where a and b`` as two clauses."""
    made: list[ast.Clause] = []
    for clause in clauses:
        if isinstance(clause, ast.WhereClause) and isinstance(clause.condition, ast.And):
            made += [ast.WhereClause(part, span=part.span) for part in clause.condition.operands]
        else:
            made.append(clause)
    return made


def _binds(clause: ast.Clause) -> set[VarName]:
    """The names a clause binds."""
    _, items, atomic = bound_by(clause)
    return {name.expanded for name in (*items, *atomic)}


class Writer:
    """Writes one FLWOR; ``finish`` writes what happens to a complete tuple, ``deliver`` to results made elsewhere."""

    def __init__(
        self,
        c: Compiler,
        e: ast.FLWOR,
        scope: Scope,
        finish: Callable[[ast.Expr, Scope], None],
        deliver: Callable[[Val], None],
    ) -> None:
        self.c = c
        self.result = e.result
        self.finish = finish
        self.deliver = deliver
        self.uses = Counter(
            d.name.expanded for part in [*e.clauses, e.result] for d in descendants(part) if isinstance(d, ast.VarRef)
        )
        self.outer = scope
        self.first = c.out.number()
        self.slot: Slot = c.out.slot()
        self.pending: list[Callable[[], None]] = []
        self.bulk: Callable[[Join], bool] | None = None
        self.clauses = split_conditions(e.clauses)

    def write(self) -> None:
        self.run(self.clauses, self.outer)
        while self.pending:
            self.pending.pop(0)()

    def run(self, clauses: list[ast.Clause], scope: Scope) -> None:
        """Write the clauses from here on."""
        if not clauses:
            self.finish(self.result, scope)
            return
        if self.c.deep and self._move(clauses, scope):
            return
        ready = self._ready(clauses)
        if ready is not None:
            rest = [clause for clause in clauses if clause is not ready]
            with self.c.at(ready):
                test = self.c.cond(ready.condition, scope)
            with self.c.out.block(f"if {test}:"):
                self.run(rest, scope)
            return
        clause, rest = clauses[0], clauses[1:]
        with self.c.at(clause):
            CLAUSES[type(clause)](self, clause, rest, scope)

    def _move(self, clauses: list[ast.Clause], scope: Scope) -> bool:
        """Too many loops for one function: go on in another, if what is left can be told apart."""
        c = self.c
        if any(isinstance(clause, (ast.GroupClause, ast.OrderClause)) for clause in clauses):
            # Inside only lists and tables are filled, which the other function can do as well.
            with c.out.outlined() as body:
                self.run(clauses, scope)
            c.out.line(c.moved(body))
            return True
        if any(isinstance(clause, ast.CountClause) for clause in clauses):
            return False
        self.deliver(c.value(ast.FLWOR(tuple(clauses), self.result), scope))
        return True

    def _ready(self, clauses: list[ast.Clause]) -> ast.WhereClause | None:
        """A condition among the next clauses that needs none of the variables they bind."""
        bound: set[VarName] = set()
        for clause in clauses:
            if isinstance(clause, ast.WhereClause):
                free = not bound & self.c.analysis.names(clause.condition)
                if free and (not bound or self.c.analysis.repeatable(clause.condition)):
                    return clause
            elif isinstance(clause, (ast.ForClause, ast.LetClause)):
                bound |= _binds(clause)
            else:
                return None
        return None

    # -------------------------------------------------------------------------------------------------- clauses

    def for_clause(self, clause: ast.ForClause, rest: list[ast.Clause], scope: Scope) -> None:
        c, out = self.c, self.c.out
        role = f"${clause.var.lexical}"
        if clause.allowing_empty:
            self._for_or_empty(clause, rest, scope)
            return
        if clause.type is None and clause.position is None:
            join = find_join(c, clause, rest, scope)
            if join is not None:
                rest = [other for other in rest if other is not join.where]
                if self.bulk is not None and not rest and self.bulk(join):
                    return
                item = out.fresh()
                c.indexed[item] = join.level
                with out.loop(f"for {item} in {join.matches()}:"):
                    self.run(rest, c.declare(scope, (clause.var, one(item, join.type))))
                return
            asking = with_condition(c, clause, rest[0], scope) if rest and not out.exits else None
            if asking is not None:
                clause, rest = asking, rest[1:]
        from xstreamcast.run.compile.maps import each_key

        keys = each_key(c, clause.source, scope) if clause.type is None else None
        position = out.fresh("n") if clause.position is not None else ""
        if position:
            out.line(f"{position} = 0")

        def body(item: Val) -> None:
            if position:
                out.line(f"{position} += 1")
            val = c.bind(declared(c, item, clause.type, role))
            inner = c.declare(scope, (clause.var, val))
            if clause.position is not None:
                here = position
                if any(isinstance(d, ast.InlineFunction) for r in [*rest, self.result] for d in descendants(r)):
                    here = out.fresh("n")  # closures keep the number of their own tuple
                    out.line(f"{here} = {position}")
                inner = c.declare(inner, (clause.position, one(here, INTEGER)))
            self.run(rest, inner)

        if keys is None:
            each_once(c, clause.source, scope, body, ORDERED)
        else:
            header, key = keys
            with out.loop(header):
                body(key)

    def _for_or_empty(self, clause: ast.ForClause, rest: list[ast.Clause], scope: Scope) -> None:
        c, out = self.c, self.c.out
        source = c.value(clause.source, scope)
        items = c.bind(seq(c.list(source), source.type))
        item, position = out.fresh(), out.fresh("n")
        with out.loop(f"for {position}, {item} in (enumerate({items.code}, 1) if {items.code} else ((0, None),)):"):
            val = opt(item, replace(items.type.single(), low=0))
            val = c.bind(declared(c, val, clause.type, f"${clause.var.lexical}"))
            inner = c.declare(scope, (clause.var, val))
            if clause.position is not None:
                inner = c.declare(inner, (clause.position, one(position, INTEGER)))
            self.run(rest, inner)

    def let_clause(self, clause: ast.LetClause, rest: list[ast.Clause], scope: Scope) -> None:
        c = self.c
        if clause.type is None and not self.uses[clause.var.expanded] and not self._regrouped(clause, rest):
            self.run(rest, scope)  # nobody asks for its value
            return
        if clause.type is None and self._used_once(clause.var.expanded, rest):
            self.run(rest, c.defer(scope, clause.var, clause.value))
            return
        val = declared(c, c.value(clause.value, scope), clause.type, f"${clause.var.lexical}")
        self.run(rest, c.declare(scope, (clause.var, self.settled(val))))

    @staticmethod
    def _regrouped(clause: ast.LetClause, rest: list[ast.Clause]) -> bool:
        """Whether a group by names the variable, which is no reference to it in the syntax."""
        return any(
            key.var.expanded == clause.var.expanded
            for other in rest
            if isinstance(other, ast.GroupClause)
            for key in other.keys
        )

    def settled(self, val: Val) -> Val:
        """Under a name of its own, unless it is a constant."""
        return val if val.constant else self.c.bind(val)

    def _used_once(self, name: VarName, rest: list[ast.Clause]) -> bool:
        """Whether the only use is evaluated at most once per tuple, before tuples are collected anew."""
        if self.uses[name] != 1:
            return False
        for clause in rest:
            if isinstance(clause, ast.LetClause):
                if at_most_once(clause.value, name):
                    return True
            elif isinstance(clause, ast.WhereClause):
                if at_most_once(clause.condition, name):
                    return True
            elif isinstance(clause, ast.ForClause):
                # What follows runs once per item; the source itself is evaluated once.
                return at_most_once(clause.source, name)
            else:
                return False
        return at_most_once(self.result, name)

    def where_clause(self, clause: ast.WhereClause, rest: list[ast.Clause], scope: Scope) -> None:
        with self.c.out.block(f"if {self.c.cond(clause.condition, scope)}:"):
            self.run(rest, scope)

    def count_clause(self, clause: ast.CountClause, rest: list[ast.Clause], scope: Scope) -> None:
        out = self.c.out
        counter, number = out.fresh("n"), out.fresh("n")
        out.home[counter] = self.slot.depth
        out.fill(self.slot, f"{counter} = counter(1)")
        out.line(f"{number} = next({counter})")
        self.run(rest, self.c.declare(scope, (clause.var, one(number, INTEGER))))

    # -------------------------------------------------------------------------------------- collecting tuples

    def live(self, rest: list[ast.Clause], scope: Scope) -> dict[VarName, Var]:
        """Variables bound in this FLWOR that are still needed."""
        used: set[VarName] = set(self.c.analysis.names(self.result))
        for clause in rest:
            used |= self.c.analysis.names(clause)
            if isinstance(clause, ast.GroupClause):
                used |= {key.var.expanded for key in clause.keys if key.value is None}
        return {
            name: var
            for name, var in scope.variables.items()
            if name in used and self.outer.variables.get(name) is not var
        }

    def _held(self, var: Var) -> tuple[list[str], Val]:
        """The names to keep of a variable, and how it is known when they are back."""
        val = var.val if var.deferred is None else self.c.bind(self.c.value(*var.deferred))
        if val.rep is Rep.ROW:
            if int(val.tree[1:]) > self.first:
                made = self.c.bind(one(self.c.item(val), val.type))
                return [made.code], made
            return ([val.code] if val.code.isidentifier() else []), val
        return ([val.code] if val.bound else []), val

    def tuples(self, live: dict[VarName, Var]) -> tuple[list[str], dict[VarName, Val]]:
        names: list[str] = []
        vals: dict[VarName, Val] = {}
        for name, var in live.items():
            held, val = self._held(var)
            names += [part for part in held if part not in names]
            vals[name] = val
        return names, vals

    def again(self, names: list[str], vals: dict[VarName, Val], scope: Scope) -> tuple[str, Scope]:
        """Targets for unpacking a kept tuple, and the scope in which its variables are back."""
        c, out = self.c, self.c.out
        back = {name: out.fresh() for name in names}
        variables = dict(self.outer.variables)
        for name, val in vals.items():
            code = back.get(val.code, val.code)
            variables[name] = Var(replace(val, code=code), c.frame, len(c.frame.loops) + 1)
        return "".join(f"{target}, " for target in back.values()), replace(scope, variables=variables)

    def collected(self, name: str, start: str = "[]") -> None:
        out = self.c.out
        out.home[name] = self.slot.depth
        out.fill(self.slot, f"{name} = {start}")

    def order_clause(self, clause: ast.OrderClause, rest: list[ast.Clause], scope: Scope) -> None:
        from xstreamcast.model.collation import collation
        from xstreamcast.run.runtime.order import OrderSpec

        c, out = self.c, self.c.out
        keys = []
        for key in clause.keys:
            atom = c.atom(c.value(key.key, scope), "a key of order by")
            keys.append(c.bind(atom).code if not atom.constant else atom.code)
        rows = out.fresh("l")
        self.collected(rows)
        names, vals = self.tuples(self.live(rest, scope))
        out.line(f"{rows}.append(({', '.join(keys)}, ({''.join(name + ', ' for name in names)})))")
        static = scope.static
        specs = tuple(
            OrderSpec(
                key.descending,
                not (static.empty_least if key.empty_least is None else key.empty_least),
                collation(key.collation or static.default_collation, static.base_uri),
            )
            for key in clause.keys
        )

        def later() -> None:
            self.slot = out.slot()
            targets, inner = self.again(names, vals, scope)
            item = out.fresh()
            with out.loop(f"for {item} in sort_rows({rows}, {out.constant(specs)}):"):
                if targets:
                    out.line(f"{targets}= {item}[{len(specs)}]")
                self.run(rest, inner)

        self.pending.append(later)

    def group_clause(self, clause: ast.GroupClause, rest: list[ast.Clause], scope: Scope) -> None:
        from xstreamcast.model.collation import collation

        c, out = self.c, self.c.out
        keys: dict[VarName, Val] = {}
        codes: dict[VarName, str] = {}  # of two keys for one variable the later counts
        for key in clause.keys:
            if key.value is not None:
                val = c.value(key.value, scope)
            else:
                val = c.value(ast.VarRef(key.var, span=key.span), scope)
            atom = c.atom(val, f"the grouping key ${key.var.lexical}")
            atom = c.bind(declared(c, atom, key.type, f"${key.var.lexical}"))
            atom = c.bind(opt(f"group_value({atom.code})", Type("atomic")))
            keys[key.var.expanded] = atom
            scope = c.declare(scope, (key.var, atom))
            uri = key.collation or scope.static.default_collation
            more = "" if uri == CODEPOINT else f", {out.constant(collation(uri, scope.static.base_uri))}"
            codes[key.var.expanded] = f"group_hash({atom.code}{more})"
        groups, group, found = out.fresh("d"), out.fresh("g"), out.fresh("k")
        self.collected(groups, "{}")
        live = {name: var for name, var in self.live(rest, scope).items() if name not in keys}
        out.line(f"{found} = ({''.join(code + ', ' for code in codes.values())})")
        out.line(f"{group} = {groups}.get({found})")
        with out.block(f"if {group} is None:"):
            lists = ", ".join([*[f"{val.code}" for val in keys.values()], *["[]" for _ in live]])
            out.line(f"{group} = {groups}[{found}] = ({lists},)")
        kinds = []
        for k, var in enumerate(live.values(), len(keys)):
            val = var.val if var.deferred is None else c.bind(c.value(*var.deferred))
            if val.rep in (Rep.ONE, Rep.ROW):
                out.line(f"{group}[{k}].append({c.item(val)})")
            elif val.rep is Rep.OPT:
                out.line(f"if {val.code} is not None: {group}[{k}].append({val.code})")
            else:
                out.line(f"{group}[{k}].extend({val.code})")
            kinds.append(val.type)

        def later() -> None:
            self.slot = out.slot()
            item = out.fresh()
            with out.loop(f"for {item} in {groups}.values():"):
                back = [out.fresh() for _ in range(len(keys) + len(live))]
                out.line(f"{', '.join(back)}, = {item}")
                inner = replace(scope, variables=dict(self.outer.variables))
                for name, code, val in zip(keys, back, keys.values(), strict=False):
                    inner = c.declare(inner, (_name(name), replace(val, code=code)))
                for name, code, kind in zip(live, back[len(keys) :], kinds, strict=True):
                    inner = c.declare(inner, (_name(name), seq(code, Type(kind.kind))))
                self.run(rest, inner)

        self.pending.append(later)

    def window_clause(self, clause: ast.WindowClause, rest: list[ast.Clause], scope: Scope) -> None:
        each_window(self.c, clause, scope, lambda inner: self.run(rest, inner))


def _name(expanded: VarName) -> ast.Name:
    return ast.Name("", expanded[1], expanded[0])


CLAUSES: dict[type[ast.Clause], Callable[[Writer, Any, list[ast.Clause], Scope], None]] = {  # each its own clause
    ast.ForClause: Writer.for_clause,
    ast.LetClause: Writer.let_clause,
    ast.WhereClause: Writer.where_clause,
    ast.CountClause: Writer.count_clause,
    ast.OrderClause: Writer.order_clause,
    ast.GroupClause: Writer.group_clause,
    ast.WindowClause: Writer.window_clause,
}


def at_most_once(e: ast.Node, name: VarName) -> bool:
    """Whether the use of a variable inside is evaluated at most once when the expression is."""
    if isinstance(e, ast.VarRef):
        return e.name.expanded == name
    if isinstance(e, (ast.InlineFunction, ast.Quantified, ast.TryCatch, ast.FLWOR)):
        return False
    if isinstance(e, ast.Filter):
        return at_most_once(e.base, name)
    if isinstance(e, (ast.Path, ast.SimpleMap)):
        return at_most_once(e.steps[0], name)
    if isinstance(e, ast.AxisStep):
        return False
    return any(at_most_once(child, name) for child in children(e))


@each(ast.FLWOR)
def flwor_each(c: Compiler, e: ast.FLWOR, scope: Scope, body: Body, need: int) -> None:
    def finish(result: ast.Expr, inner: Scope) -> None:
        c.each(result, inner, body, ORDERED)

    Writer(c, e, scope, finish, lambda val: c.iterate(val, body)).write()


def each_result(
    c: Compiler,
    e: ast.FLWOR,
    scope: Scope,
    finish: Callable[[ast.Expr, Scope], None],
    deliver: Callable[[Val], None],
) -> None:
    """Write loops that run ``finish`` on the return expression in the scope of each tuple."""
    Writer(c, e, scope, finish, deliver).write()


@value(ast.FLWOR)
def flwor_value(c: Compiler, e: ast.FLWOR, scope: Scope) -> Val:
    """Without loops and conditions it is the value of the return expression."""
    if not all(isinstance(clause, ast.LetClause) for clause in e.clauses):
        return c.collect(e, scope)
    made: list[Val] = []
    Writer(c, e, scope, lambda result, inner: made.append(c.value(result, inner)), made.append).write()
    return made[0]


@build(ast.FLWOR)
def flwor_build(c: Compiler, e: ast.FLWOR, scope: Scope, builder: str) -> None:
    def finish(result: ast.Expr, inner: Scope) -> None:
        c.build(result, inner, builder)

    def deliver(val: Val) -> None:
        c.out.line(f"{builder}.add_all({c.list(val)})")

    Writer(c, e, scope, finish, deliver).write()


def flwor_count(c: Compiler, e: ast.FLWOR, scope: Scope) -> str:
    """``count(FLWOR)``: items are counted, not made; the matches of a last join are not even visited."""
    out = c.out
    total = out.fresh("n")
    out.line(f"{total} = 0")

    def tally(result: ast.Expr, inner: Scope) -> None:
        c.each(result, inner, lambda item: out.line(f"{total} += 1"), ORDERED)

    with out.sealed():
        writer = Writer(c, e, scope, tally, lambda val: out.line(f"{total} += len({c.list(val)})"))
        last = e.clauses[-2] if len(e.clauses) > 1 else None

        def bulk(join: Join) -> bool:
            returned = isinstance(e.result, ast.VarRef) and e.result.name.expanded == join.var
            if returned:
                out.line(f"{total} += {join.count()}")
            return returned

        writer.bulk = bulk if last is not None else None
        writer.write()
    return total
