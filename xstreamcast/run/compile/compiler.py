"""The compiler's core: syntax to Python source in four styles, each expression in the one its user asks for.

=========== ==========================================================================================
``value``   statements, then source text of the value (:class:`~.values.Val`)
``each``    loops that run a body for every item: nothing is collected, and the body may leave early
``cond``    the effective boolean value, as source text of a Python condition
``build``   events for a tree builder: the content of a constructor, never collected or copied twice
=========== ==========================================================================================

Handlers (:mod:`~xstreamcast.run.compile.styles`) are there for the styles in which an expression has something to
gain; the others follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.model import types as t
from xstreamcast.model.namespaces import CODEPOINT
from xstreamcast.plan.focus import ROOT, Analysis, VarName
from xstreamcast.run.compile.emit import Emitter, Frame, Line, Slot
from xstreamcast.run.compile.nesting import Nesting
from xstreamcast.run.compile.scope import Focus, Scope, Var
from xstreamcast.run.compile.styles import BUILD, COND, EACH, ORDERED, VALUE, Body
from xstreamcast.run.compile.values import ITEM, Rep, Type, Val, one, opt, row, seq

Lines = list[Line | Slot]


class Yields:
    """The body of the main program: an item is handed out; all rows of a tree at once, where they are known so."""

    def __init__(self, c: Compiler) -> None:
        self.c = c

    def __call__(self, item: Val) -> None:
        self.c.out.line(f"yield {self.c.item(item)}")

    def rows(self, tree: str, rows: str, kind: str) -> None:
        """``rows`` is source text of a list of rows."""
        self.c.out.line(f"yield from nodes_at({tree}, {rows})")


_DEEP: Final = 8  # nested loops, after which code moves to a function of its own (Python allows 20 blocks)
_DEEP_INDENT: Final = 40  # and indentation (Python allows 100)
_SHALLOW: Final = frozenset(
    {ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral, ast.VarRef, ast.ContextItem}
)


class Compiler:
    """The state of one compilation."""

    def __init__(self, source: ast.Source, static: StaticContext) -> None:
        self.out = Emitter(source)
        self.static = static
        self.analysis = Analysis()
        self.columns: dict[str, tuple[Slot, dict[str, str]]] = {}
        self._tree_levels: dict[str, tuple[Frame, int]] = {}  # where trees were named: frame and open loops
        self.functions: dict[tuple[str, str, int], Any] = {}
        self.globals: dict[VarName, Any] = {}
        self.no_joins: dict[int, ast.Expr] = {}  # keys by which a join was tried in vain
        self.indexed: dict[str, int] = {}  # items that an index gives, of a loop at this level: the same ones again
        self._contexts: dict[tuple[int, int], str] = {}
        self.versions = "0"  # the name of the number of versions, inside #[ ]
        self.nesting = Nesting()
        self.unfit: set[str] = set()  # dictionaries that would have to hold other things than numbers
        self.namespace_nodes = False  # the query can meet namespace nodes that have a parent

    @property
    def deep(self) -> bool:
        """Whether code is nested so deeply that it has to go on in a function of its own."""
        return self.out.block_depth > _DEEP or self.out.indent > _DEEP_INDENT

    # ----------------------------------------------------------------------------------------- the four styles

    @contextmanager
    def at(self, e: ast.Node) -> Iterator[None]:
        """Code written inside comes from this expression."""
        kept = self.out.spot
        if e.span.start >= 0:
            self.out.spot = (kept[0], e.span)
        try:
            yield
        except XStreamError as failure:
            if failure.place is None:
                source, span = self.out.spot
                failure.place, failure.excerpt = source.place(span), source.excerpt(span)
            raise
        finally:
            self.out.spot = kept

    def value(self, e: ast.Expr, scope: Scope) -> Val:
        """Write what computes the value; the result is to be used at once."""
        handler = VALUE.get(type(e))
        with self.at(e):
            if self.deep and type(e) not in _SHALLOW:
                return self._outlined(e, scope)
            if handler is not None:
                return handler(self, e, scope)
            return self.collect(e, scope)

    def _outlined(self, e: ast.Expr, scope: Scope) -> Val:
        out = self.out
        with out.outlined() as body:
            handler = VALUE.get(type(e))
            made = handler(self, e, scope) if handler is not None else self.collect(e, scope)
            if made.rep is Rep.ROW:
                made = one(self.item(made), made.type)
            out.line(f"return {made.code}")
        result = out.fresh()
        out.line(f"{result} = {self.moved(body)}")
        return replace(made, code=result)

    def moved(self, body: Lines) -> str:
        """Place a body as a function of the module; gives the call."""
        name = f"F_{self.out.number()}"
        arguments = ", ".join(["ctx", *self.out.free(body)])
        self.out.define(name, arguments, body)
        return f"{name}({arguments})"

    def collect(self, e: ast.Expr, scope: Scope) -> Val:
        """The value as a list, filled by ``each``."""
        out = self.out
        made = out.fresh("l")
        found: list[Type] = []
        with self.out.sealed():
            out.line(f"{made} = []")
            add = out.fresh("a")
            out.line(f"{add} = {made}.append")

            def body(item: Val) -> None:
                out.line(f"{add}({self.item(item)})")
                found.append(item.type)

            EACH[type(e)](self, e, scope, body, ORDERED)
        return seq(made, self.joined(found))

    @staticmethod
    def joined(found: list[Type]) -> Type:
        """The type of a sequence whose items have these types."""
        from xstreamcast.run.compile.values import EMPTY, union

        if not found:
            return EMPTY
        kind = found[0]
        for other in found[1:]:
            kind = union(kind, other)
        return Type(kind.kind)

    def each(self, e: ast.Expr, scope: Scope, body: Body, need: int = ORDERED) -> None:
        """Write loops that run a body for every item."""
        handler = EACH.get(type(e))
        if handler is not None and not self.deep:
            with self.at(e):
                handler(self, e, scope, body, need)
        else:
            self.iterate(self.value(e, scope), body)

    def iterate(self, val: Val, body: Body) -> None:
        """Run a body for every item of a value."""
        if val.type.none:
            return
        if val.rep in (Rep.ONE, Rep.ROW):
            body(val)
        elif val.rep is Rep.OPT:
            val = self.bind(val)
            with self.out.block(f"if {val.code} is not None:"):
                body(one(val.code, val.type))
        else:
            item = self.out.fresh()
            with self.out.loop(f"for {item} in {val.code}:"):
                body(one(item, val.type.single()))

    def cond(self, e: ast.Expr, scope: Scope) -> str:
        """Write what decides the effective boolean value, and give the condition."""
        handler = COND.get(type(e))
        with self.at(e):
            if handler is not None:
                return handler(self, e, scope)
            return self.truth(self.value(e, scope))

    def truth(self, val: Val) -> str:
        """The effective boolean value of a value (XQuery 3.1 §2.4.3)."""
        kind = val.type
        if kind.none:
            return "False"
        if val.rep is Rep.ROW:
            return "True"
        if val.rep is Rep.ONE:
            if kind.kind == "boolean":
                return val.code
            if kind.is_node:
                return "True"
            if kind.kind in ("string", "untyped"):
                return f"({val.code} != '')"
            if kind.is_exact:
                return f"({val.code} != 0)"
            return f"ebv_item({val.code})"
        if val.rep is Rep.OPT:
            if kind.is_node:
                return f"({val.code} is not None)"
            if kind.kind in ("string", "untyped", "boolean") or kind.is_exact:
                return f"(not not {val.code})"
            return f"ebv_opt({val.code})"
        if kind.is_node:
            return f"(len({val.code}) != 0)" if not val.bound else f"(not not {val.code})"
        return f"ebv({val.code})"

    def build(self, e: ast.Expr, scope: Scope, builder: str) -> None:
        """Write content for a constructor."""
        handler = BUILD.get(type(e))
        deep = self.deep
        if handler is not None and not deep:
            with self.at(e):
                handler(self, e, scope, builder)
            return

        def body(item: Val) -> None:
            if item.rep is Rep.ROW:
                self.out.line(f"{builder}.add_row({item.tree}, {item.code})")
            elif item.type.is_node:
                self.out.line(f"{builder}.add_node({item.code})")
            elif item.type.is_atomic:
                self.out.line(f"{builder}.add_atomic({item.code})")
            else:
                self.out.line(f"{builder}.add({item.code})")

        val = None if type(e) in EACH and not deep else self.value(e, scope)
        if val is None:
            self.each(e, scope, body)
        elif val.rep is Rep.SEQ:
            self.out.line(f"{builder}.add_all({val.code})")
        else:
            self.iterate(val, body)

    # -------------------------------------------------------------------------------------- values in other forms

    def bind(self, val: Val, letter: str = "v") -> Val:
        """The value under a name."""
        if val.rep is Rep.ROW or val.bound:
            return val
        name = self.out.fresh(letter)
        self.out.line(f"{name} = {val.code}")
        return replace(val, code=name)

    def item(self, val: Val) -> str:
        """Source text of one item."""
        if val.rep is Rep.ROW:
            return f"Node(({val.tree}, {val.code}))"
        assert val.rep is Rep.ONE, val
        return val.code

    def list(self, val: Val) -> str:
        """Source text of a list of the items."""
        if val.rep is Rep.SEQ:
            return val.code
        if val.type.none:
            return "[]"
        if val.rep is Rep.OPT:
            bound = self.bind(val)
            return f"([] if {bound.code} is None else [{bound.code}])"
        return f"[{self.item(val)}]"

    def at_most_one(self, val: Val, role: str) -> Val:
        """As an optional item; XPTY0004 if there are more."""
        if val.rep is Rep.SEQ:
            return opt(f"opt({val.code}, {self.out.literal(role)})", val.type)
        return val

    def atom(self, val: Val, role: str) -> Val:
        """Atomized, at most one value; XPTY0004 if there are more."""
        kind = val.type
        if kind.none:
            return opt("None", kind)
        if val.rep is Rep.ROW:
            if kind.kind in ("element", "attribute", "text", "document"):
                return one(f"Untyped({self.text(val)})", Type("untyped"))
            return one(f"{self.item(val)}.typed", Type("atomic"))
        if val.rep is Rep.SEQ:
            if kind.is_atomic:
                return opt(f"opt({val.code}, {self.out.literal(role)})", kind)
            atom = f"atom_opt({val.code}, {self.out.literal(role)})"
            if kind.kind == "item" and val.bound:
                plain = f"len({val.code}) == 1 and type({val.code}[0]) in PLAIN"
                return opt(f"({val.code}[0] if {plain} else {atom})", self.atomized(kind))
            return opt(atom, self.atomized(kind))
        if kind.is_atomic:
            return val
        if val.rep is Rep.ONE and kind.is_node:
            return one(f"{val.code}.typed", self.atomized(kind))
        if val.rep is Rep.OPT:
            val = self.bind(val)
            atom = f"atom_maybe({val.code}, {self.out.literal(role)})"
            return opt(f"({val.code} if type({val.code}) in PLAIN else {atom})", self.atomized(kind))
        val = self.bind(val)
        atom = f"atom_item({val.code}, {self.out.literal(role)})"
        return opt(f"({val.code} if type({val.code}) in PLAIN else {atom})", Type("atomic"))

    @staticmethod
    def atomized(kind: Type) -> Type:
        """The type of the atomized items (any number)."""
        if kind.is_atomic:
            return kind
        if kind.kind in ("element", "attribute", "text", "document"):
            return Type("untyped", kind.low, kind.many)
        if kind.is_node:
            return Type("atomic", kind.low, kind.many)
        return Type("atomic")

    def atoms(self, val: Val) -> Val:
        """Atomized, as a list or single value."""
        kind = val.type
        if kind.is_atomic or kind.none:
            return val
        if val.rep is Rep.ROW or (val.rep is Rep.ONE and kind.is_node):
            return self.atom(val, "")
        return seq(f"atomize({self.list(val)})", self.atomized(kind).seq())

    def text(self, val: Val) -> str:
        """The string value of one node, as a name or a pure look-up."""
        if val.rep is not Rep.ROW:
            if val.type.is_node and val.rep is Rep.ONE:
                return f"{val.code}.string"
            raise AssertionError(val)
        entry = val.read or f"{self.column(val.tree, 'value')}[{val.code}]"
        if val.type.kind in ("attribute", "text", "comment", "pi"):
            return entry
        name = self.out.fresh("s")
        self.out.line(f"{name} = {entry}")
        self.out.line(f"if {name} is None: {name} = {val.tree}.string({val.code})")
        return name

    # ------------------------------------------------------------------------------------------- trees and columns

    def tree(self, code: str) -> str:
        """A name for a tree, whose columns can be asked for from here on."""
        name = self.out.fresh("t")
        self.out.line(f"{name} = {code}")
        self.columns[name] = (self.out.slot(), {})
        self._tree_levels[name] = (self.frame, len(self.frame.loops))
        return name

    def column(self, tree: str, column: str) -> str:
        """The name of a column of a tree, loaded once, where the tree was named."""
        slot, known = self.columns[tree]
        name = known.get(column)
        if name is None:
            name = known[column] = self.out.fresh(column[0])
            self.out.home[name] = slot.depth
            self.out.fill(slot, f"{name} = {tree}.{column}")
        return name

    def to_row(self, val: Val, left: bool = False) -> Val:
        """A single item as tree and row; XPTY0020, or XPTY0019 on the ``left`` of /, if it is no node."""
        if val.rep is Rep.ROW:
            return val
        assert val.rep is Rep.ONE, val
        bound = self.bind(val)
        if val.type.is_node and not (self.namespace_nodes and val.type.kind in ("node", "namespace")):
            tree = self.tree(f"{bound.code}[0]")
            kind = val.type.kind
        else:
            pair = self.out.fresh("p")
            more = ", True" if left else ""
            self.out.line(f"{pair} = {bound.code} if type({bound.code}) is Node else as_row({bound.code}{more})")
            tree = self.tree(f"{pair}[0]")
            bound = replace(bound, code=pair)
            kind = val.type.kind if val.type.is_node else "node"
        place = self.out.fresh("i")
        self.out.line(f"{place} = {bound.code}[1]")
        return row(tree, place, kind)

    # ------------------------------------------------------------------------------------------------------ scopes

    @property
    def frame(self) -> Frame:
        return self.out.frames[-1]

    def declare(self, scope: Scope, *bindings: tuple[ast.Name, Val]) -> Scope:
        """The scope with variables bound here."""
        variables = dict(scope.variables)
        for name, val in bindings:
            variables[name.expanded] = Var(val, self.frame, len(self.frame.loops))
        return replace(scope, variables=variables)

    def defer(self, scope: Scope, name: ast.Name, e: ast.Expr) -> Scope:
        """The scope with a variable whose one use will compile the expression."""
        variables = dict(scope.variables)
        held = Val("None", Rep.SEQ, Type())
        variables[name.expanded] = Var(held, self.frame, len(self.frame.loops), (e, scope))
        return replace(scope, variables=variables)

    def focused(self, scope: Scope, item: Val, position: str | None = None, last: str | None = None) -> Scope:
        """The scope with a focus set here."""
        return scope.with_focus(Focus(item, position, last, self.frame, len(self.frame.loops)))

    def unfocused(self, scope: Scope) -> Scope:
        return scope.with_focus(Focus(None))

    def context_item(self, scope: Scope) -> Val:
        """The context item, or code that raises XPDY0002."""
        focus = scope.focus
        if focus.item is None:
            self.out.line("no_context_item()")
            return one("None", ITEM)
        if focus.guard is not None:
            self.out.line(f"if {focus.guard} is None: no_context_item()")
        return focus.item

    def level(self, e: ast.Expr, scope: Scope) -> int:
        """How many of the frame's open loops the expression depends on (counted from outside)."""
        level = 0
        for name in sorted(self.analysis.names(e)):
            var = scope.variables.get(name)
            if var is not None and var.deferred is not None:
                level = max(level, self.level(*var.deferred))
            elif var is not None and var.frame is self.frame:
                level = max(level, var.level)
        use = self.analysis.focus(e)
        if use and scope.focus.frame is self.frame:
            level = max(level, self._root_level(scope.focus) if use == ROOT else scope.focus.level)
        return level

    def _root_level(self, focus: Focus) -> int:
        """The level of ``/``: all nodes of a tree have one root, be the loop over them ever so far inside."""
        if focus.item is not None and focus.item.rep is Rep.ROW:
            frame, level = self._tree_levels.get(focus.item.tree, (None, 0))
            if frame is not None:
                return min(level if frame is self.frame else 0, focus.level)
        return focus.level

    def hoisted(self, level: int) -> str:
        """A cell, empty at first, that lives as long as the loops down to a level: what is put in stays for
        all the iterations of the loops further in."""
        name = self.out.fresh("h")
        slot = self.frame.loops[level]
        self.out.home[name] = slot.depth
        self.out.fill(slot, f"{name} = [None]")
        return name

    @property
    def open_loops(self) -> int:
        return len(self.frame.loops)

    def context(self, scope: Scope) -> str:
        """The name of the dynamic context that carries the static context of a place."""
        if scope.static is self.static:
            return "ctx"
        key = (id(self.frame), id(scope.static))
        name = self._contexts.get(key)
        if name is None:
            name = self._contexts[key] = self.out.fresh("m")
            slot = self.frame.entry
            self.out.home[name] = slot.depth
            self.out.fill(slot, f"{name} = ctx.with_static({self.out.constant(scope.static)})")
        return name

    def plain_collation(self, scope: Scope) -> bool:
        return scope.static.default_collation == CODEPOINT

    def fault(self, code: str, message: str, hint: str = "") -> XStreamError:
        """A static error here."""
        source, span = self.out.spot
        return error(code, message, source.place(span), hint, source.excerpt(span))

    def raising(self, code: str, message: str, hint: str = "") -> None:
        """Write a dynamic error."""
        more = f", {hint!r}" if hint else ""
        self.out.line(f"fail({code!r}, {self.out.literal(message)}{more})")

    # --------------------------------------------------------------------------------------------------- conversion

    def convert(self, val: Val, expected: t.SequenceType, role: str) -> Val:
        """By the function conversion rules (XQuery 3.1 §3.1.5.2)."""
        from xstreamcast.run.compile.types import convert

        return convert(self, val, expected, role)
