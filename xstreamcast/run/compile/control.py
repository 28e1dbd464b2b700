"""Conditionals, quantifiers, switch, try/catch: expressions that choose what is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import ERR
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.emit import Slot
from xstreamcast.run.compile.expressions import each_once
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, Body, build, cond, each, value
from xstreamcast.run.compile.types import declared
from xstreamcast.run.compile.values import (
    BOOLEAN,
    INTEGER,
    ITEMS,
    STRING,
    Rep,
    Type,
    Val,
    one,
    opt,
    seq,
    union,
)


class Branches:
    """The values of alternative branches under one name; its form is settled when all are known."""

    def __init__(self, c: Compiler) -> None:
        self.c = c
        self.name = c.out.fresh()
        self.made: list[tuple[Val, Slot]] = []

    def __enter__(self) -> Branches:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self._settle()

    def add(self, val: Val) -> None:
        """The value of the branch being written."""
        val = self.c.bind(val) if val.rep is Rep.OPT else val
        self.made.append((val, self.c.out.slot()))

    def _settle(self) -> None:
        c = self.c
        kind = self.made[0][0].type
        for val, _ in self.made[1:]:
            kind = union(kind, val.type)
        reps = {val.rep for val, _ in self.made}
        if reps <= {Rep.ONE, Rep.ROW}:
            self._result = one(self.name, kind)
        elif Rep.SEQ not in reps or all(v.rep is not Rep.SEQ or v.type.none for v, _ in self.made):
            self._result = opt(self.name, kind)
        else:
            self._result = seq(self.name, kind)
        for val, slot in self.made:
            if self._result.rep is Rep.SEQ:
                code = c.list(val)
            elif val.rep in (Rep.ONE, Rep.ROW):
                code = c.item(val)
            else:
                code = "None" if val.type.none else val.code
            c.out.fill(slot, f"{self.name} = {code}")

    def result(self) -> Val:
        return self._result


@value(ast.If)
def if_value(c: Compiler, e: ast.If, scope: Scope) -> Val:
    branches = Branches(c)
    with branches:
        _chain(c, e, scope, lambda result: branches.add(c.value(result, scope)))
    return branches.result()


def _chain(c: Compiler, e: ast.If, scope: Scope, branch: Callable[[ast.Expr], None]) -> None:
    with c.out.block(f"if {c.cond(e.condition, scope)}:"):
        branch(e.then)
    with c.out.block("else:"):
        branch(e.otherwise)


@each(ast.If)
def if_each(c: Compiler, e: ast.If, scope: Scope, body: Body, need: int) -> None:
    _chain(c, e, scope, lambda r: c.each(r, scope, body, need))


@build(ast.If)
def if_build(c: Compiler, e: ast.If, scope: Scope, builder: str) -> None:
    _chain(c, e, scope, lambda r: c.build(r, scope, builder))


@cond(ast.If)
def if_cond(c: Compiler, e: ast.If, scope: Scope) -> str:
    flag = c.out.fresh("f")

    def branch(result: ast.Expr) -> None:
        c.out.line(f"{flag} = {c.cond(result, scope)}")

    _chain(c, e, scope, branch)
    return flag


@cond(ast.And)
def and_cond(c: Compiler, e: ast.And, scope: Scope) -> str:
    return _junction(c, e.operands, scope, "and", "if {}:")


@cond(ast.Or)
def or_cond(c: Compiler, e: ast.Or, scope: Scope) -> str:
    return _junction(c, e.operands, scope, "or", "if not {}:")


def _junction(c: Compiler, operands: tuple[ast.Expr, ...], scope: Scope, word: str, guard: str) -> str:
    """Operands in order, stopping at the first that decides."""
    out = c.out
    flag = ""
    code = c.cond(operands[0], scope)
    for operand in operands[1:]:
        with out.capture(out.indent + 1) as lines:
            more = c.cond(operand, scope)
        if not lines and len(code) + len(more) < 200:
            code = f"({code} {word} {more})"
            continue
        if code != flag:
            flag = out.fresh("f")
            out.line(f"{flag} = {code}")
        with out.block(guard.format(flag)):
            out.lines.extend(lines)
            out.line(f"{flag} = {more}")
        code = flag
    return code


@value(ast.And, ast.Or)
def junction_value(c: Compiler, e: ast.And | ast.Or, scope: Scope) -> Val:
    return one(c.cond(e, scope), BOOLEAN)


@cond(ast.Quantified)
def quantified_cond(c: Compiler, e: ast.Quantified, scope: Scope) -> str:
    """Nested loops that end at the first witness (or counter-example)."""
    from xstreamcast.run.compile.joins import joined_quantifier

    out = c.out
    flag = out.fresh("f")
    out.line(f"{flag} = False")
    with out.sealed(), out.region(flag) as region:

        def bind(k: int, scope: Scope) -> None:
            if k == len(e.bindings):
                test = c.cond(e.condition, scope)
                with out.block(f"if not {test}:" if e.every else f"if {test}:"):
                    out.leave(region)
                return
            binding = e.bindings[k]
            if k == len(e.bindings) - 1 and not e.every and binding.type is None:
                joined = joined_quantifier(c, binding, e.condition, scope)
                if joined is not None:
                    with out.block(f"if {joined}:"):
                        out.leave(region)
                    return

            def body(item: Val) -> None:
                val = c.bind(declared(c, item, binding.type, f"${binding.var.lexical}"))
                bind(k + 1, c.declare(scope, (binding.var, val)))

            each_once(c, binding.source, scope, body, ANY)

        bind(0, scope)
    return f"(not {flag})" if e.every else flag


@value(ast.Quantified)
def quantified_value(c: Compiler, e: ast.Quantified, scope: Scope) -> Val:
    return one(quantified_cond(c, e, scope), BOOLEAN)


@value(ast.Switch)
def switch_value(c: Compiler, e: ast.Switch, scope: Scope) -> Val:
    branches = Branches(c)
    operand = c.bind(c.atom(c.value(e.operand, scope), "the operand of switch"))
    collation = "" if c.plain_collation(scope) else f", {c.out.literal(scope.static.default_collation)}"

    # One after the other, not one inside the other: there may be hundreds of cases.
    done = c.out.fresh("f")
    with branches:
        c.out.line(f"{done} = False")
        for case in e.cases:
            flag = c.out.fresh("f")
            with c.out.block(f"if not {done}:"):
                c.out.line(f"{flag} = False")
                for test in case.values:
                    with c.out.block(f"if not {flag}:"):
                        atom = c.atom(c.value(test, scope), "a case of switch")
                        c.out.line(f"{flag} = switch_equal({operand.code}, {atom.code}{collation})")
                with c.out.block(f"if {flag}:"):
                    c.out.line(f"{done} = True")
                    branches.add(c.value(case.result, scope))
        with c.out.block(f"if not {done}:"):
            branches.add(c.value(e.default, scope))
    return branches.result()


_CAUGHT: tuple[tuple[str, str, Type], ...] = (
    ("code", "one", Type("xs:QName", 1, False)),
    ("description", "opt", STRING.optional()),
    ("value", "seq", ITEMS),
    ("module", "opt", STRING.optional()),
    ("line-number", "opt", INTEGER.optional()),
    ("column-number", "opt", INTEGER.optional()),
    ("additional", "seq", ITEMS),
)


@value(ast.TryCatch)
def try_value(c: Compiler, e: ast.TryCatch, scope: Scope) -> Val:
    out = c.out
    branches = Branches(c)
    failure, caught = out.fresh("x"), out.fresh("c")
    with branches:
        out.block_depth += 1
        with out.block("try:"):
            val = c.value(e.body, scope)
            branches.add(c.bind(val))
        with out.block(f"except (XStreamError, RecursionError) as {failure}:"):
            out.line(f"{caught} = Caught({failure}, PLACES)")

            def chain(k: int) -> None:
                if k == len(e.catches):
                    out.line("raise")
                    return
                catch = e.catches[k]
                tests = " or ".join(_catches(c, caught, test) for test in catch.tests)
                with out.block(f"if {tests}:"):
                    inner = scope
                    for local, form, kind in _CAUGHT:
                        code = f"{caught}.{local.replace('-', '_')}"
                        made = Val(code, Rep[form.upper()], kind)
                        inner = c.declare(inner, (ast.Name("err", local, ERR), made))
                    branches.add(c.value(catch.handler, inner))
                with out.block("else:"):
                    chain(k + 1)

            chain(0)
        out.block_depth -= 1
    return branches.result()


def _catches(c: Compiler, caught: str, test: ast.NameTest | ast.Wildcard) -> str:
    if isinstance(test, ast.NameTest):
        uri, local = c.out.literal(test.name.uri or ""), c.out.literal(test.name.local)
        return f"({caught}.uri == {uri} and {caught}.local == {local})"
    parts = []
    if test.uri is not None:
        parts.append(f"{caught}.uri == {c.out.literal(test.uri)}")
    if test.local is not None:
        parts.append(f"{caught}.local == {c.out.literal(test.local)}")
    return f"({' and '.join(parts)})" if parts else "True"


@value(ast.Ordering, ast.Extension)
def passing_value(c: Compiler, e: ast.Ordering | ast.Extension, scope: Scope) -> Val:
    assert e.body is not None
    return c.value(e.body, scope)


@each(ast.Ordering, ast.Extension)
def passing_each(c: Compiler, e: ast.Ordering | ast.Extension, scope: Scope, body: Body, need: int) -> None:
    assert e.body is not None
    c.each(e.body, scope, body, need)
