"""``doc("literal")``, ``stream("literal")``, and ``.`` and ``/`` where a query begins, become variables.

What a query says of its documents is then one form: steps from a variable. ``/`` in a predicate or step is the same
document as that of the nodes it is about, where these are known to come from one. Inside of ``try`` nothing is named:
that there is no such document may be caught there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.passes.dependence import takes_context_item
from xstreamcast.plan.sources import context_document, document, source_of, stream


@dataclass(frozen=True, slots=True)
class _Focus:
    """The context item: the document itself, or some node of it."""

    document: ast.Name
    is_document: bool


def name_sources(module: ast.Module) -> ast.Module:
    """The module with variables for its documents."""
    context = _initial(module)
    prolog = tuple([_declaration(d, context) for d in module.prolog])
    body = None if module.body is None else _Namer({}).visit(module.body, context)
    return replace(module, prolog=prolog, body=body)


def _initial(module: ast.Module) -> _Focus | None:
    for part in (module, *module.imported):
        for declaration in part.prolog:
            if isinstance(declaration, ast.ContextItemDecl) and not _admits_documents(declaration):
                return None
    return _Focus(context_document(), True)


def _admits_documents(declaration: ast.ContextItemDecl) -> bool:
    if declaration.value is not None:
        return False
    item = None if declaration.type is None else declaration.type.item
    return (
        declaration.type is None
        or isinstance(item, ast.AnyItem)
        or (isinstance(item, ast.KindTest) and item.kind == "node")
        or (isinstance(item, ast.DocumentTest) and item.content is None)
    )


def _declaration(declaration: ast.Declaration, context: _Focus | None) -> ast.Declaration:
    match declaration:
        case ast.FunctionDecl() if declaration.body is not None:
            body = _Namer({}).visit(declaration.body, None)
            return replace(declaration, body=body)
        case ast.VariableDecl() if declaration.value is not None:
            value = _Namer({}).visit(declaration.value, context)
            return replace(declaration, value=value)
        case _:
            return declaration


class _Namer:
    """Walks an expression with its focus; ``origins`` has the documents that variables' nodes are from."""

    def __init__(self, origins: Mapping[VarName, ast.Name]) -> None:
        self.origins = dict(origins)
        self.trying = False

    def visit(self, e: ast.Expr, focus: _Focus | None) -> ast.Expr:
        match e:
            case ast.ContextItem() if focus is not None and focus.is_document:
                return ast.VarRef(focus.document, span=e.span)
            case ast.Root() if focus is not None:
                return ast.VarRef(focus.document, span=e.span)
            case ast.AxisStep():
                step = self.step(e, None if focus is None else _Focus(focus.document, False))
                if focus is not None and focus.is_document:
                    return ast.Path((ast.VarRef(focus.document, span=e.span), step), span=e.span)
                return step
            case ast.Path():
                return self.path(e, focus)
            case ast.SimpleMap():
                steps = [self.visit(e.steps[0], focus)]
                for further in e.steps[1:]:
                    steps.append(self.visit(further, self.focus_in(steps)))
                return ast.SimpleMap(tuple(steps), span=e.span)
            case ast.Filter():
                base = self.visit(e.base, focus)
                inner = self.focus_in([base])
                return ast.Filter(base, tuple([self.visit(p, inner) for p in e.predicates]), span=e.span)
            case ast.InlineFunction():
                body = self.visit(e.body, None)
                return ast.InlineFunction(e.params, e.result, body, e.annotations, span=e.span)
            case ast.FunctionCall():
                return self.call(e, focus)
            case ast.TryCatch():
                outer, self.trying = self.trying, True
                made = self.generic(e, None if focus is not None and focus.is_document else focus)
                self.trying = outer
                return made
            case _:
                return self.generic(e, focus)

    def generic(self, e: ast.Expr, focus: _Focus | None) -> ast.Expr:
        """The parts in order, so that a variable's origin is known where it is read."""

        def change(part: ast.Node) -> ast.Node:
            if isinstance(part, ast.Expr):
                return self.visit(part, focus)
            made = rebuild(part, change)
            if isinstance(made, (ast.ForClause, ast.QuantifiedBinding)):
                self.note(made.var, made.source)
            elif isinstance(made, ast.LetClause):
                self.note(made.var, made.value)
            return made

        return rebuild(e, change)

    def note(self, variable: ast.Name, value: ast.Expr) -> None:
        origin = self.origin(value)
        if origin is not None:
            self.origins[variable.expanded] = origin

    def step(self, step: ast.AxisStep, focus: _Focus | None) -> ast.AxisStep:
        return ast.AxisStep(
            step.axis, step.test, tuple([self.visit(p, focus) for p in step.predicates]), span=step.span
        )

    def path(self, e: ast.Path, focus: _Focus | None) -> ast.Expr:
        first = self.visit(e.steps[0], focus)
        steps = list(first.steps) if isinstance(first, ast.Path) else [first]
        for step in e.steps[1:]:
            inner = self.focus_in(steps)
            steps.append(self.step(step, inner) if isinstance(step, ast.AxisStep) else self.visit(step, inner))
        return ast.Path(tuple(steps), span=e.span)

    def focus_in(self, steps: list[ast.Expr]) -> _Focus | None:
        origin = self.origin(steps[0] if len(steps) == 1 else ast.Path(tuple(steps)))
        return None if origin is None else _Focus(origin, False)

    def call(self, e: ast.FunctionCall, focus: _Focus | None) -> ast.Expr:
        name, args = e.name, e.args
        if len(args) == 1 and isinstance(args[0], ast.StringLiteral):
            if name.expanded == (FN, "doc") and not self.trying:  # that there is none may be caught
                return ast.VarRef(document(args[0].value), span=e.span)
            if name.expanded == (STREAM, "stream"):
                return ast.VarRef(stream(args[0].value), span=e.span)
        if name.uri == FN and focus is not None and focus.is_document:
            if not args and name.local in ("position", "last"):
                return ast.IntegerLiteral(1, span=e.span)
            if takes_context_item(e):
                e = ast.FunctionCall(name, (*args, ast.ContextItem(span=e.span)), span=e.span)
        return self.generic(e, focus)

    def origin(self, e: ast.Expr) -> ast.Name | None:
        """The document that all nodes of an expression are from, if that is certain."""
        match e:
            case ast.VarRef():
                if source_of(e.name.expanded) is not None:
                    return e.name
                return self.origins.get(e.name.expanded)
            case ast.Path() if all(isinstance(step, ast.AxisStep) for step in e.steps[1:]):
                return self.origin(e.steps[0])
            case ast.Filter():
                return self.origin(e.base)
            case ast.FLWOR():
                return self.origin(e.result)
            case _:
                return None
