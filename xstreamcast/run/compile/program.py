"""A module and the modules it imports, as one generated Python module."""

from __future__ import annotations

from typing import Any

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.walk import descendants
from xstreamcast.model.atomic import QName
from xstreamcast.model.types import ANYTHING, ITEM, SequenceType
from xstreamcast.run.compile import (  # noqa: F401  # imported for the handlers they register
    comparisons,
    constructors,
    control,
    expressions,
    flwor,
    folds,
    functions,
    paths,
    temporal,
    types,
)
from xstreamcast.run.compile.calls import UserFunction, held
from xstreamcast.run.compile.compiler import Compiler, Yields
from xstreamcast.run.compile.emit import Line, Spot
from xstreamcast.run.compile.functions import annotation_values
from xstreamcast.run.compile.scope import Focus, Scope
from xstreamcast.run.compile.tail import Tail
from xstreamcast.run.compile.types import sequence_type
from xstreamcast.run.compile.values import ITEM as ONE_ITEM
from xstreamcast.run.compile.values import Rep, Val, one, seq, static_type


@dataclass(frozen=True, slots=True)
class Program:
    """Generated source with all it refers to. ``spots`` has the place in the query of every line."""

    module: ast.Module
    text: str
    spots: tuple[Spot, ...]
    constants: dict[str, Any]
    static: StaticContext
    functions: dict[tuple[str, str, int], str]  # names of the functions that make function items
    external: tuple[ast.Name, ...]
    uses_context: bool


_LITERALS = (ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)


@dataclass(slots=True)
class Global:
    """A variable of a prolog: computed at its first use, by the function ``code``."""

    declaration: ast.VariableDecl
    code: str
    declared: SequenceType | None

    @property
    def literal(self) -> bool:
        """Whether its value stands in the query's text."""
        value = self.declaration.value
        return isinstance(value, _LITERALS) and not self.declaration.external and self.declared is None

    def read(self, c: Compiler) -> Val:
        if self.literal:
            assert self.declaration.value is not None
            return c.value(self.declaration.value, Scope(c.static))
        name = c.out.fresh()
        c.out.line(f"{name} = {self.code}(ctx)")
        if self.declared is None:
            return seq(name, static_type(ANYTHING))
        return Val(name, held(self.declared), static_type(self.declared))


def compile_module(module: ast.Module) -> Program:
    """Generate the code of a main module."""
    assert module.static is not None
    if module.namespace is not None:
        name, uri = module.namespace.prefix, module.namespace.uri
        message = f"a library module (of the namespace {uri}) is no query: it has no expression to run"
        hint = f'import it: import module namespace {name} = "{uri}" at "…";'
        raise module.source.fault("XPST0003", message, module.namespace.span, hint)
    c = Compiler(module.source, module.static)
    modules = [*module.imported, module]
    c.namespace_nodes = any(_meets_namespaces(part) for part in modules)
    declared: list[tuple[ast.FunctionDecl, UserFunction, ast.Module]] = []
    for part in modules:
        for declaration in part.prolog:
            if isinstance(declaration, ast.FunctionDecl):
                declared.append((declaration, _declare_function(c, declaration, part is module), part))
            elif isinstance(declaration, ast.VariableDecl):
                _declare_global(c, declaration)
    for function, user, part in declared:
        _write_function(c, function, user, part)
    for part in modules:
        for declaration in part.prolog:
            if isinstance(declaration, ast.VariableDecl):
                _write_global(c, c.globals[declaration.name.expanded], part)
    _write_main(c, module, modules)
    uses = any(_uses_context(c, part) for part in modules)
    text, spots = c.out.text()
    external = tuple(
        declaration.name
        for part in modules
        for declaration in part.prolog
        if isinstance(declaration, ast.VariableDecl) and declaration.external
    )
    makers = {key: user.item for key, user in c.functions.items()}
    return Program(module, text, tuple(spots), c.out.constants, module.static, makers, external, uses)


def _meets_namespaces(module: ast.Module) -> bool:
    return any(
        (isinstance(e, ast.AxisStep) and e.axis == "namespace") or isinstance(e, ast.ComputedNamespace)
        for e in descendants(module)
    )


def _static(module: ast.Module) -> StaticContext:
    assert module.static is not None
    return module.static


# ------------------------------------------------------------------------------------------------------ functions


def _declare_function(c: Compiler, declaration: ast.FunctionDecl, own: bool) -> UserFunction:
    number = c.out.number()
    params = tuple(sequence_type(c, p.type) if p.type is not None else ANYTHING for p in declaration.params)
    result = sequence_type(c, declaration.result) if declaration.result is not None else ANYTHING
    identity = (
        len(params) == 1
        and declaration.result is None
        and isinstance(declaration.body, ast.VarRef)
        and declaration.body.name.expanded == declaration.params[0].name.expanded
    )
    user = UserFunction(
        declaration.name, f"U_{number}", params, static_type(result), result, f"W_{number}", identity,
        declaration if own else None,
    )  # fmt: skip
    c.functions[(declaration.name.uri or "", declaration.name.local, len(params))] = user
    return user


def _write_function(c: Compiler, declaration: ast.FunctionDecl, user: UserFunction, module: ast.Module) -> None:
    out = c.out
    out.spot = (module.source, declaration.span)
    names = []
    with out.function() as (body, _):
        scope = Scope(_static(module))
        for param, expected in zip(declaration.params, user.params, strict=True):
            name = out.fresh("p")
            names.append(name)
            scope = c.declare(scope, (param.name, Val(name, held(expected), static_type(expected))))
        if declaration.body is None:
            message = f"the external function {declaration.name.lexical} is not provided"
            raise c.fault("XPST0017", message, "declare it with a body")
        tail = Tail(c, user, tuple(names), f"the result of {declaration.name.lexical}")
        tail.write(declaration.body, scope)
    out.define(user.code, ", ".join(["ctx", *names]), body)
    _write_maker(c, declaration, user)


def _write_maker(c: Compiler, declaration: ast.FunctionDecl, user: UserFunction) -> None:
    """``W_n(ctx)`` makes the function item."""
    out = c.out
    name = declaration.name
    args = []
    for number, expected in enumerate(user.params):
        code = f"args[{number}]"
        form = held(expected)
        if form is Rep.ONE:
            code = f"{code}[0]"
        elif form is Rep.OPT:
            code = f"({code}[0] if {code} else None)"
        args.append(code)
    call = f"{user.code}({', '.join(['ctx', *args])})"
    if user.result_rep is not Rep.SEQ:
        call = f"as_list({call})"
    qname = out.constant(QName(name.uri or "", name.local, name.prefix or ""))
    params = out.constant(user.params if any(p is not ANYTHING for p in user.params) else None)
    annotations = out.constant(tuple(annotation_values(declaration.annotations)))
    result = out.constant(None if user.declared is ANYTHING else user.declared)
    lines = [
        Line(1, f"def function(args): return {call}", out.spot),
        Line(
            1,
            f"return FunctionItem({qname}, {len(user.params)}, function, {params}, {result}, {annotations})",
            out.spot,
        ),
    ]
    out.define(user.item, "ctx", list(lines))


# ------------------------------------------------------------------------------------------------------- variables


def _declare_global(c: Compiler, declaration: ast.VariableDecl) -> None:
    declared = sequence_type(c, declaration.type) if declaration.type is not None else None
    c.globals[declaration.name.expanded] = Global(declaration, f"G_{c.out.number()}", declared)


def _write_global(c: Compiler, known: Global, module: ast.Module) -> None:
    out, declaration = c.out, known.declaration
    out.spot = (module.source, declaration.span)
    key = out.constant(declaration.name.expanded)
    role = f"${declaration.name.lexical}"
    with out.function() as (body, _):
        made = out.fresh()
        out.line(f"{made} = begin_global(ctx, {key})")
        out.line(f"if {made} is not None: return {made}[0]")
        if declaration.external:
            given = out.fresh()
            out.line(f"{given} = ctx.given.get({key})")
            with out.block(f"if {given} is None:"):
                if declaration.value is None:
                    c.raising(
                        "XPDY0002", f"the external variable {role} has no value", "give it one: variables= or --var"
                    )
                else:
                    out.line(f"{given} = {c.list(_initial(c, declaration.value, module))}")
            val = seq(given, static_type(ANYTHING))
        else:
            assert declaration.value is not None
            val = _initial(c, declaration.value, module)
        if known.declared is not None:
            val = types.treat(c, val, known.declared, role, "XPTY0004")
            form = held(known.declared)
            if form is Rep.SEQ:
                val = seq(c.list(val), val.type)
            elif val.rep is Rep.ROW:
                val = one(c.item(val), val.type)
        else:
            val = seq(c.list(val), val.type)
        out.line(f"return end_global(ctx, {key}, {val.code})")
    out.define(known.code, "ctx", body)


def _initial(c: Compiler, e: ast.Expr, module: ast.Module) -> Val:
    return c.value(e, _initial_scope(c, module))


def _initial_scope(c: Compiler, module: ast.Module) -> Scope:
    """The focus a query starts with: the context item, if there is one."""
    item = c.out.fresh()
    c.out.line(f"{item} = context_item(ctx)")
    focus = Focus(one(item, ONE_ITEM), "1", "1", c.frame, 0, guard=item)
    return Scope(_static(module), focus)


# ------------------------------------------------------------------------------------------------------------ main


def _uses_context(c: Compiler, module: ast.Module) -> bool:
    """Whether the context item may be asked for: by the query's expression, or by the value of a variable."""
    return (module.body is not None and bool(c.analysis.focus(module.body))) or any(
        isinstance(declaration, ast.ContextItemDecl)
        or (
            isinstance(declaration, ast.VariableDecl)
            and declaration.value is not None
            and bool(c.analysis.focus(declaration.value))
        )
        for declaration in module.prolog
    )


def _write_main(c: Compiler, module: ast.Module, modules: list[ast.Module]) -> None:
    assert module.body is not None
    out = c.out
    out.spot = (module.source, module.body.span)
    _write_context_item(c, module, modules)
    out.spot = (module.source, module.body.span)
    with out.function() as (body, _):
        scope = _initial_scope(c, module)
        c.each(module.body, scope, Yields(c))
        out.line("return")
        out.line("yield")
    out.define("main", "ctx", body)


def _write_context_item(c: Compiler, module: ast.Module, modules: list[ast.Module]) -> None:
    """``default_item(ctx)``: the context item's declared value, checked against all declared types."""
    out = c.out
    with out.function() as (body, _):
        item = out.fresh()
        out.line(f"{item} = ctx.given_item")
        # The main module's declaration comes first: its value is what the types of all are about.
        for part in [module, *modules[:-1]]:
            for declaration in part.prolog:
                if not isinstance(declaration, ast.ContextItemDecl):
                    continue
                out.spot = (part.source, declaration.span)
                if declaration.value is not None:
                    guard = f"if {item} is None:" if declaration.external else "if True:"
                    with out.block(guard):
                        val = c.value(declaration.value, Scope(_static(part)))
                        expected = out.constant(SequenceType(ITEM))
                        out.line(f"{item} = convert_one({c.list(val)}, {expected}, 'the context item')")
                if declaration.type is not None:
                    expected = out.constant(sequence_type(c, declaration.type))
                    out.line(f"if {item} is not None: treat([{item}], {expected}, 'the context item', 'XPTY0004')")
        out.line(f"return {item}")
    out.define("default_item", "ctx", body)
