"""Variables in syntax trees: which are free, one put in the place of another, all bindings made different.

Passes move expressions about. They may do so without a thought of capture, for every binding of a query has its own
name (:func:`distinguish`), and a copy gets new ones (:func:`fresh_copy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import ERR

VarName = tuple[str, str]
N = TypeVar("N", bound=ast.Node)


def binders(node: ast.Node) -> Iterator[ast.Name]:
    """The names a construct binds itself."""
    match node:
        case ast.ForClause():
            yield node.var
            if node.position is not None:
                yield node.position
        case ast.LetClause() | ast.CountClause() | ast.QuantifiedBinding() | ast.WindowClause():
            yield node.var
        case ast.WindowCondition():
            yield from (name for name in (node.current, node.position, node.previous, node.next) if name is not None)
        case ast.GroupKey() if node.value is not None:
            yield node.var
        case ast.TypeCase() if node.var is not None:
            yield node.var
        case ast.Typeswitch() if node.default_var is not None:
            yield node.default_var
        case ast.Param():
            yield node.name


def free(node: ast.Node) -> frozenset[VarName]:
    """The variables an expression reads and does not bind. Bindings are distinct: one look at each is enough."""
    read: set[VarName] = set()
    bound: set[VarName] = set()
    for part in descendants(node):
        if isinstance(part, ast.VarRef):
            if part.name.uri != ERR:  # a catch binds these
                read.add(part.name.expanded)
        else:
            bound.update(name.expanded for name in binders(part))
    return frozenset(read - bound)


def substitute(node: N, values: Mapping[VarName, ast.Expr]) -> N:
    """The node with expressions for variables. What is put in twice is not copied: see :func:`fresh_copy`."""

    def change(part: ast.Node) -> ast.Node:
        if isinstance(part, ast.VarRef) and part.name.expanded in values:
            return values[part.name.expanded]
        return rebuild(part, change)

    return change(node)  # type: ignore[return-value]  # a variable becomes an expression, anything else what it was


class Names:
    """New names, each different from all that were given out or taken."""

    def __init__(self, taken: frozenset[VarName] = frozenset()) -> None:
        self._taken = set(taken)

    def fresh(self, like: ast.Name) -> ast.Name:
        """The name itself if nobody has it yet, else the name with a number."""
        local, number = like.local, 1
        while (like.uri or "", local) in self._taken:
            number += 1
            local = f"{like.local}-{number}"
        self._taken.add((like.uri or "", local))
        return ast.Name(like.prefix, local, like.uri, span=like.span)


def names_of(module: ast.Module) -> Names:
    """Names that differ from all that a module and its imports mention."""
    taken: set[VarName] = set()
    for part in (module, *module.imported):
        for node in descendants(part):
            if isinstance(node, (ast.VarRef, ast.VariableDecl)):
                taken.add(node.name.expanded)
            taken.update(name.expanded for name in binders(node))
    return Names(frozenset(taken))


def fresh_copy(node: N, names: Names) -> N:
    """The node with new names for all it binds."""
    return _Renamer(names).rename(node, {})


def distinguish(module: ast.Module) -> ast.Module:
    """Every binding of a module gets a name of its own: ``let $x := 1 let $x := $x`` is ``… let $x-2 := $x``."""
    prologs = [declaration for part in (module, *module.imported) for declaration in part.prolog]
    taken = frozenset(d.name.expanded for d in prologs if isinstance(d, ast.VariableDecl))
    given = frozenset() if module.static is None else module.static.variables
    return _Renamer(Names(taken | given)).rename(module, {})


Scope = dict[VarName, ast.Name]


class _Renamer:
    """Rebuilds a tree by the scoping rules of the language, as the static phase resolved it."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def bind(self, name: ast.Name, scope: Scope) -> ast.Name:
        found = scope[name.expanded] = self.names.fresh(name)
        return found

    def optional(self, name: ast.Name | None, scope: Scope) -> ast.Name | None:
        return None if name is None else self.bind(name, scope)

    def rename(self, node: N, scope: Scope) -> N:
        return self._rename(node, scope)  # type: ignore[return-value]  # every construct stays what it is

    def _rename(self, node: ast.Node, scope: Scope) -> ast.Node:
        match node:
            case ast.VarRef():
                name = scope.get(node.name.expanded)
                return node if name is None else ast.VarRef(name, span=node.span)
            case ast.FLWOR():
                inner = dict(scope)
                clauses = tuple([self.clause(clause, inner) for clause in node.clauses])
                return ast.FLWOR(clauses, self.rename(node.result, inner), span=node.span)
            case ast.Quantified():
                inner = dict(scope)
                bindings = []
                for binding in node.bindings:
                    source = self.rename(binding.source, inner)
                    name = self.bind(binding.var, inner)
                    bindings.append(ast.QuantifiedBinding(name, binding.type, source, span=binding.span))
                condition = self.rename(node.condition, inner)
                return ast.Quantified(node.every, tuple(bindings), condition, span=node.span)
            case ast.Typeswitch():
                operand = self.rename(node.operand, scope)
                cases = tuple([self.rename(case, scope) for case in node.cases])
                inner = dict(scope)
                default_var = self.optional(node.default_var, inner)
                return ast.Typeswitch(operand, cases, default_var, self.rename(node.default, inner), span=node.span)
            case ast.TypeCase():
                inner = dict(scope)
                var = self.optional(node.var, inner)
                return ast.TypeCase(var, node.types, self.rename(node.result, inner), span=node.span)
            case ast.InlineFunction():
                inner = dict(scope)
                params = self.params(node.params, inner)
                body = self.rename(node.body, inner)
                return ast.InlineFunction(params, node.result, body, node.annotations, span=node.span)
            case ast.FunctionDecl():
                inner = dict(scope)
                params = self.params(node.params, inner)
                function = None if node.body is None else self.rename(node.body, inner)
                return ast.FunctionDecl(node.name, params, node.result, function, node.annotations, span=node.span)
            case _:
                return rebuild(node, lambda part: self._rename(part, scope))

    def params(self, params: tuple[ast.Param, ...], scope: Scope) -> tuple[ast.Param, ...]:
        return tuple([ast.Param(self.bind(p.name, scope), p.type, span=p.span) for p in params])

    def clause(self, clause: ast.Clause, scope: Scope) -> ast.Clause:
        match clause:
            case ast.ForClause():
                source = self.rename(clause.source, scope)
                var = self.bind(clause.var, scope)
                position = self.optional(clause.position, scope)
                return ast.ForClause(var, clause.type, clause.allowing_empty, position, source, span=clause.span)
            case ast.LetClause():
                value = self.rename(clause.value, scope)
                return ast.LetClause(self.bind(clause.var, scope), clause.type, value, span=clause.span)
            case ast.WindowClause():
                source = self.rename(clause.source, scope)
                start = self.window_condition(clause.start, scope)
                end = None if clause.end is None else self.window_condition(clause.end, scope)
                var = self.bind(clause.var, scope)
                return ast.WindowClause(
                    clause.sliding, var, clause.type, source, start, end, clause.only_end, span=clause.span
                )
            case ast.GroupClause():
                return self.group(clause, scope)
            case ast.CountClause():
                return ast.CountClause(self.bind(clause.var, scope), span=clause.span)
            case _:
                return self.rename(clause, scope)

    def window_condition(self, node: ast.WindowCondition, scope: Scope) -> ast.WindowCondition:
        bound = [self.optional(name, scope) for name in (node.current, node.position, node.previous, node.next)]
        current, position, previous, following = bound
        when = self.rename(node.when, scope)
        return ast.WindowCondition(current, position, previous, following, when, span=node.span)

    def group(self, clause: ast.GroupClause, scope: Scope) -> ast.GroupClause:
        """Keys of one name in one clause stay of one name: each stands for the last of them (XQuery 3.1 §3.12.7)."""
        bound: Scope = {}
        values = []
        for key in clause.keys:
            values.append(None if key.value is None else self.rename(key.value, scope))
            if key.value is not None:
                old = key.var.expanded
                scope[old] = bound[old] = bound.get(old) or self.names.fresh(key.var)
        keys = []
        for key, value in zip(clause.keys, values, strict=True):
            if value is None and key.var.expanded in bound and key.type is None and key.collation is None:
                continue  # the same key again
            name = scope.get(key.var.expanded, key.var)
            keys.append(ast.GroupKey(name, key.type, value, key.collation, span=key.span))
        return ast.GroupClause(tuple(keys), span=clause.span)
