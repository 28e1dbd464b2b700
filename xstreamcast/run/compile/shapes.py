"""Direct elements whose form is known: no names in namespaces, no content but texts (:mod:`…runtime.shapes`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT, intern
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.values import Val
from xstreamcast.run.runtime.shapes import END, Event, Shape

_ATOMIC = (
    *(ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral),
    *(ast.Arithmetic, ast.Unary, ast.Concat, ast.GeneralComparison, ast.ValueComparison),
)


def has_shape(e: ast.DirectElement, scope: Scope) -> bool:
    """Whether nothing but texts is computed in an element."""
    if e.name.uri or e.name.prefix or e.namespaces or any(a.name.uri or a.name.prefix for a in e.attributes):
        return False
    return all(
        has_shape(part, scope) if isinstance(part, ast.DirectElement) else _is_text(part, scope) for part in e.content
    )


def _is_text(part: ast.Node, scope: Scope) -> bool:
    """Whether a part of the content gives text nodes only, or atomic values only."""
    if isinstance(part, ast.LiteralText):
        return True
    if isinstance(part, ast.Sequence):
        return bool(part.items) and all(_is_atomic(item, scope) for item in part.items)
    return _is_atomic(part, scope) or _gives_texts(part)


def _is_atomic(part: ast.Node, scope: Scope) -> bool:
    """Whether an expression gives atomic values only."""
    if isinstance(part, _ATOMIC):
        return True
    if isinstance(part, ast.VarRef):
        var = scope.variables.get(part.name.expanded)
        return var is not None and var.deferred is None and var.val.type.is_atomic
    if isinstance(part, ast.FunctionCall) and part.name.uri == FN:
        entry = lookup(FN, part.name.local, len(part.args))
        return entry is not None and isinstance(entry.result.item, AtomicType)
    return False


def _gives_texts(part: ast.Node) -> bool:
    """``…/text()``"""
    step = part.steps[-1] if isinstance(part, ast.Path) else part
    return isinstance(step, ast.AxisStep) and isinstance(step.test, ast.KindTest) and step.test.kind == "text"


def shaped(c: Compiler, e: ast.DirectElement, scope: Scope) -> tuple[str, str]:
    """The name of the element's shape, and its texts as arguments."""
    events: list[Event] = []
    texts: list[str] = []
    _write(c, e, scope, events, texts)
    return c.out.constant(Shape(tuple(events), scope.static.base_uri)), ", ".join(texts)


def add_shaped(c: Compiler, e: ast.DirectElement, scope: Scope, builder: str) -> None:
    """Write an element that has a shape into the content of another."""
    out = c.out
    item = _indexed(c, e, scope)
    if item is None:
        shape, texts = shaped(c, e, scope)
        out.line(f"{shape}.add_to({builder}{', ' if texts else ''}{texts})")
        return
    # An index gives an item whenever its key is asked for: what depends on the item alone is computed once.
    cell, filled = c.hoisted(c.indexed[item]), out.fresh()
    out.line(f"if {cell}[0] is None: {cell}[0] = {{}}")
    out.line(f"{filled} = {cell}[0].get(id({item}))")
    with out.sealed(), out.block(f"if {filled} is None:"):
        shape, texts = shaped(c, e, scope)
        out.line(f"{filled} = {cell}[0][id({item})] = {shape}.filled({texts})")
    out.line(f"{shape}.add({builder}, {filled})")


def _indexed(c: Compiler, e: ast.DirectElement, scope: Scope) -> str | None:
    """The item of an index on which all that varies in an element depends, while the index is there."""
    names = c.analysis.names(e)
    own = [
        name for name in sorted(names) if (var := scope.variables.get(name)) is not None and var.val.code in c.indexed
    ]
    if len(own) != 1 or not all(map(c.analysis.repeatable, _computed(e))):
        return None
    var = scope.variables[own[0]]
    if var.frame is not c.frame or var.deferred is not None:
        return None
    others = {name: other for name, other in scope.variables.items() if name != own[0]}
    level = c.level(e, replace(scope, variables=others))
    return var.val.code if level <= c.indexed[var.val.code] else None


def _computed(e: ast.DirectElement) -> Iterator[ast.Node]:
    """What is computed in an element with a shape."""
    for attribute in e.attributes:
        yield from (part for part in attribute.value if not isinstance(part, ast.LiteralText))
    for part in e.content:
        if isinstance(part, ast.DirectElement):
            yield from _computed(part)
        elif not isinstance(part, ast.LiteralText):
            yield part


def _write(c: Compiler, e: ast.DirectElement, scope: Scope, events: list[Event], texts: list[str]) -> None:
    from xstreamcast.run.compile.constructors import attribute_text

    events.append((ELEMENT, intern(ELEMENT, "", e.name.local)))
    for attribute in e.attributes:
        events.append((ATTRIBUTE, intern(ATTRIBUTE, "", attribute.name.local)))
        texts.append(_kept(c, attribute_text(c, attribute, scope)))
    run: list[str] = []
    for part in e.content:
        if isinstance(part, ast.DirectElement):
            _end_run(c, run, events, texts)
            _write(c, part, scope, events, texts)
        else:
            run.append(_kept(c, _text(c, part, scope)))
    _end_run(c, run, events, texts)
    events.append(END)


def _end_run(c: Compiler, run: list[str], events: list[Event], texts: list[str]) -> None:
    """Texts side by side are one."""
    if run:
        events.append((TEXT, TEXT))
        texts.append(" + ".join(run))
        run.clear()


def _kept(c: Compiler, code: str) -> str:
    """Under a name, so that the parts are computed in their order."""
    if code[0] in "'\"" or code.isidentifier():
        return code
    name = c.out.fresh("s")
    c.out.line(f"{name} = {code}")
    return name


def _text(c: Compiler, part: ast.Node, scope: Scope) -> str:
    from xstreamcast.run.compile.constructors import text_of

    if isinstance(part, ast.LiteralText):
        return c.out.literal(part.value)
    assert isinstance(part, ast.Expr)
    if not _gives_texts(part):
        return text_of(c, part, scope)
    out = c.out
    found = out.fresh("l")
    out.line(f"{found} = []")

    def keep(item: Val) -> None:
        out.line(f"{found}.append({c.text(item)})")

    with out.sealed():
        c.each(part, scope, keep)
    return f"''.join({found})"
