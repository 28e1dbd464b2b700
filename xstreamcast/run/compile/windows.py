"""Tumbling and sliding windows (XQuery 3.1 §3.12.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.types import declared
from xstreamcast.run.compile.values import INTEGER, Val, one, opt, seq


def each_window(c: Compiler, clause: ast.WindowClause, scope: Scope, body: Callable[[Scope], None]) -> None:
    """Windows are found first, as pairs of positions; then each is a tuple."""
    out = c.out
    source = c.value(clause.source, scope)
    items = c.bind(seq(c.list(source), source.type))
    size, windows = out.fresh("z"), out.fresh("l")
    out.line(f"{size} = len({items.code})")
    out.line(f"{windows} = []")
    finder = _Windows(c, clause, items, size, windows)
    with out.sealed():
        if clause.sliding:
            finder.sliding(scope)
        else:
            finder.tumbling(scope)
    first, last, made = out.fresh("i"), out.fresh("i"), out.fresh()
    with out.loop(f"for {first}, {last} in {windows}:"):
        inner = finder.bound(clause.end, last, finder.bound(clause.start, first, scope))
        out.line(f"{made} = {items.code}[{first}:{last} + 1]")
        val = seq(made, replace(items.type, low=1, many=True))
        val = c.bind(declared(c, val, clause.type, f"${clause.var.lexical}"))
        body(c.declare(inner, (clause.var, val)))


@dataclass(frozen=True, slots=True)
class _Windows:
    """Writes the search for windows: ``windows`` is the list of (first, last) to fill."""

    c: Compiler
    clause: ast.WindowClause
    items: Val
    size: str
    windows: str

    def bound(self, condition: ast.WindowCondition | None, at: str, scope: Scope) -> Scope:
        """The scope with a condition's variables as they are at a position."""
        items, size = self.items, self.size
        c, out = self.c, self.c.out
        if condition is None:
            return scope
        single = items.type.single()
        if condition.current is not None:
            scope = c.declare(scope, (condition.current, c.bind(one(f"{items.code}[{at}]", single))))
        if condition.position is not None:
            name = out.fresh("n")
            out.line(f"{name} = {at} + 1")
            scope = c.declare(scope, (condition.position, one(name, INTEGER)))
        if condition.previous is not None:
            code = f"({items.code}[{at} - 1] if {at} > 0 else None)"
            scope = c.declare(scope, (condition.previous, c.bind(opt(code, replace(single, low=0)))))
        if condition.next is not None:
            code = f"({items.code}[{at} + 1] if {at} + 1 < {size} else None)"
            scope = c.declare(scope, (condition.next, c.bind(opt(code, replace(single, low=0)))))
        return scope

    def tumbling(self, scope: Scope) -> None:
        """A window begins where none is open."""
        c, out, clause, windows, size = self.c, self.c.out, self.clause, self.windows, self.size
        start, at = out.fresh("i"), out.fresh("i")
        out.line(f"{start} = -1")
        with out.loop(f"for {at} in range({size}):"):
            if clause.end is None:
                test = c.cond(clause.start.when, self.bound(clause.start, at, scope))
                with out.block(f"if {test}:"):
                    out.line(f"if {start} >= 0: {windows}.append(({start}, {at} - 1))")
                    out.line(f"{start} = {at}")
            else:
                with out.block(f"if {start} < 0:"):
                    test = c.cond(clause.start.when, self.bound(clause.start, at, scope))
                    out.line(f"if {test}: {start} = {at}")
                with out.block(f"if {start} >= 0:"):
                    inner = self.bound(clause.end, at, self.bound(clause.start, start, scope))
                    test = c.cond(clause.end.when, inner)
                    with out.block(f"if {test}:"):
                        out.line(f"{windows}.append(({start}, {at}))")
                        out.line(f"{start} = -1")
        if not clause.only_end:
            out.line(f"if {start} >= 0: {windows}.append(({start}, {size} - 1))")

    def sliding(self, scope: Scope) -> None:
        """A window begins wherever the start condition holds."""
        c, out, clause, windows, size = self.c, self.c.out, self.clause, self.windows, self.size
        assert clause.end is not None
        start, at = out.fresh("i"), out.fresh("i")
        with out.loop(f"for {start} in range({size}):"):
            inner = self.bound(clause.start, start, scope)
            with out.block(f"if {c.cond(clause.start.when, inner)}:"):
                with out.loop(f"for {at} in range({start}, {size}):"):
                    test = c.cond(clause.end.when, self.bound(clause.end, at, inner))
                    with out.block(f"if {test}:"):
                        out.line(f"{windows}.append(({start}, {at}))")
                        out.line("break")
                if not clause.only_end:
                    with out.block("else:"):
                        out.line(f"{windows}.append(({start}, {size} - 1))")
