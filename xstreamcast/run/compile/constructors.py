"""Node constructors: content goes straight into one builder, nested constructors included."""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, intern, intern_prefix
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.nesting import Nesting
from xstreamcast.run.compile.paths import at_most_one
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.shapes import add_shaped, has_shape, shaped
from xstreamcast.run.compile.styles import build, value
from xstreamcast.run.compile.values import Rep, Type, Val, one, opt, row

_PARTS = (
    ast.DirectElement,
    ast.ComputedElement,
    ast.ComputedDocument,
)


def _builder(c: Compiler, scope: Scope) -> str:
    """A new builder, by the name of the constant that makes it."""
    static = scope.static
    name = c.out.fresh("b")
    modes = "" if static.copy_preserve and static.copy_inherit else (f", {static.copy_preserve}, {static.copy_inherit}")
    base = c.out.constant(static.base_uri, hashable=True) if static.base_uri is not None else "None"
    c.out.line(f"{name} = ContentBuilder({base}{modes})")
    return name


@value(ast.DirectElement, ast.ComputedElement, ast.ComputedDocument)
def tree_value(c: Compiler, e: ast.Expr, scope: Scope) -> Val:
    """A tree of its own."""
    if isinstance(e, ast.DirectElement) and has_shape(e, scope):
        shape, texts = shaped(c, e, scope)
        return row(c.tree(f"{shape}({texts})"), "0", "element")
    builder = _builder(c, scope)
    with c.out.sealed():
        if isinstance(e, ast.ComputedDocument):
            c.out.line(f"{builder}.start_document()")
            _enclosed(c, e.content, scope, builder)
            c.out.line(f"{builder}.end()")
        else:
            c.build(e, scope, builder)
    tree = c.tree(f"{builder}.tree")
    return row(tree, "0", "document" if isinstance(e, ast.ComputedDocument) else "element")


def _enclosed(c: Compiler, e: ast.Expr, scope: Scope, builder: str) -> None:
    """One enclosed expression: spaces go between its atomic values only."""
    if isinstance(e, ast.Sequence) and not e.items:
        return
    if not isinstance(e, _PARTS):
        c.out.line(f"{builder}.spaced = False")
    with c.out.sealed():
        c.build(e, scope, builder)


@build(ast.ComputedDocument)
def document_build(c: Compiler, e: ast.ComputedDocument, scope: Scope, builder: str) -> None:
    """Inside other content a document stands for its children."""
    node = tree_value(c, e, scope)
    c.out.line(f"{builder}.add_row({node.tree}, 0)")


@build(ast.DirectElement)
def element_build(c: Compiler, e: ast.DirectElement, scope: Scope, builder: str) -> None:
    out = c.out
    around, c.nesting = c.nesting, Nesting()
    if has_shape(e, scope) and not around.implied:
        add_shaped(c, e, scope, builder)
        return
    name = e.name
    prefix = intern_prefix(name.prefix) if name.prefix else 0
    out.line(f"{builder}.open({intern(ELEMENT, name.uri or '', name.local)}, {prefix})")
    if e.namespaces:
        static = scope.static
        known = dict(static.namespaces)
        default = static.default_element_namespace
        for declared in e.namespaces:
            out.line(f"{builder}.declare({out.literal(declared.prefix)}, {out.literal(declared.uri)})")
            if declared.prefix:
                known[declared.prefix] = declared.uri
            else:
                default = declared.uri
        made = replace(static, namespaces=known, default_element_namespace=default)
        scope = replace(scope, static=made)
    if name.uri or prefix:
        out.line(f"{builder}.bind_name({out.literal(name.prefix or '')}, {out.literal(name.uri or '')})")
    for attribute in e.attributes:
        _direct_attribute(c, attribute, scope, builder)
    inner, hidden = around.within(e)
    if hidden:
        out.line(f"{builder}.hide({', '.join(map(out.literal, hidden))})")
    for part in e.content:
        if isinstance(part, ast.LiteralText):
            if part.value:
                out.line(f"{builder}.fixed({out.literal(part.value)})")
        else:
            c.nesting = inner if isinstance(part, ast.DirectElement) else Nesting()
            _enclosed(c, part, scope, builder)
            c.nesting = Nesting()
    out.line(f"{builder}.end()")


def attribute_text(c: Compiler, attribute: ast.DirectAttribute, scope: Scope) -> str:
    """The value of an attribute of a direct constructor."""
    parts = []
    for part in attribute.value:
        if isinstance(part, ast.LiteralText):
            parts.append(c.out.literal(part.value))
        else:
            parts.append(text_of(c, part, scope))
    return parts[0] if len(parts) == 1 else f"''.join(({', '.join(parts)},))" if parts else "''"


def _direct_attribute(c: Compiler, attribute: ast.DirectAttribute, scope: Scope, builder: str) -> None:
    name = attribute.name
    code = attribute_text(c, attribute, scope)
    prefix = intern_prefix(name.prefix) if name.prefix else 0
    interned = intern(ATTRIBUTE, name.uri or "", name.local)
    c.out.line(f"{builder}.add_attribute({interned}, {code}, {prefix})")


def _texts_of(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    """The same for a path: the text of each node at once, no node made."""
    out = c.out
    texts = out.fresh("l")
    out.line(f"{texts} = []")

    def keep(item: Val) -> None:
        if item.type.kind in ("element", "attribute", "text", "document"):
            out.line(f"{texts}.append({c.text(item)})")
        else:
            out.line(f"{texts} += map(to_string, atomize([{c.item(item)}]))")

    with out.sealed():
        c.each(e, scope, keep)
    return f"' '.join({texts})"


def text_of(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    """The atomized items of an expression as one string, spaces between."""
    if isinstance(e, (ast.Path, ast.AxisStep)) and not at_most_one(c, e, scope) and not c.deep:
        return _texts_of(c, e, scope)
    val = c.value(e, scope)
    if val.type.none:
        return "''"
    if val.rep is Rep.ROW and val.type.kind != "node":
        return c.text(val)
    if val.rep is Rep.ONE and val.type.kind in ("string", "untyped"):
        return val.code
    if val.rep is Rep.ONE and val.type.is_atomic:
        return f"to_string({val.code})"
    if val.rep is Rep.OPT and val.type.is_atomic:
        val = c.bind(val)
        return f"('' if {val.code} is None else to_string({val.code}))"
    return f"joined({c.list(val)})"


def _namespaces(c: Compiler, scope: Scope) -> str:
    static = scope.static
    return c.out.constant({**static.namespaces, "": static.default_element_namespace})


@build(ast.ComputedElement)
def computed_build(c: Compiler, e: ast.ComputedElement, scope: Scope, builder: str) -> None:
    out = c.out
    if isinstance(e.name, ast.Name):
        prefix = intern_prefix(e.name.prefix) if e.name.prefix else 0
        out.line(f"{builder}.open({intern(ELEMENT, e.name.uri or '', e.name.local)}, {prefix})")
        if e.name.uri or prefix:
            out.line(f"{builder}.bind_name({out.literal(e.name.prefix or '')}, {out.literal(e.name.uri or '')})")
    else:
        name = c.atom(c.value(e.name, scope), "the name of an element")
        out.line(f"open_named({builder}, element_name({name.code}, {_namespaces(c, scope)}))")
    _enclosed(c, e.content, scope, builder)
    out.line(f"{builder}.end()")


def _attribute_parts(c: Compiler, e: ast.ComputedAttribute, scope: Scope) -> tuple[str, str]:
    """Codes of the name (a QName) and of the value."""
    from xstreamcast.model.atomic import QName
    from xstreamcast.run.runtime.construct import attribute_name

    if isinstance(e.name, ast.Name):
        made = QName(e.name.uri or "", e.name.local, e.name.prefix or "")
        try:
            name = c.out.constant(attribute_name(made, {}))
        except XStreamError:  # a dynamic error: it may never come to it
            name = f"attribute_name({c.out.constant(made)}, {{}})"
    else:
        atom = c.atom(c.value(e.name, scope), "the name of an attribute")
        name = c.out.fresh()
        c.out.line(f"{name} = attribute_name({atom.code}, {_namespaces(c, scope)})")
    return name, text_of(c, e.content, scope)


@build(ast.ComputedAttribute)
def attribute_build(c: Compiler, e: ast.ComputedAttribute, scope: Scope, builder: str) -> None:
    name, text = _attribute_parts(c, e, scope)
    c.out.line(f"put_named({builder}, {name}, {text})")


@value(ast.ComputedAttribute)
def attribute_value(c: Compiler, e: ast.ComputedAttribute, scope: Scope) -> Val:
    name, text = _attribute_parts(c, e, scope)
    return one(f"make_attribute({name}, {text})", Type("attribute"))


@value(ast.ComputedText)
def text_value(c: Compiler, e: ast.ComputedText, scope: Scope) -> Val:
    content = c.value(e.content, scope)
    return opt(f"make_text({c.list(content)})", Type("text"))


@value(ast.DirectComment)
def direct_comment_value(c: Compiler, e: ast.DirectComment, scope: Scope) -> Val:
    return one(f"make_comment({c.out.literal(e.text)})", Type("comment"))


@value(ast.ComputedComment)
def comment_value(c: Compiler, e: ast.ComputedComment, scope: Scope) -> Val:
    content = c.value(e.content, scope)
    return one(f"make_comment(comment_text({c.list(content)}))", Type("comment"))


@value(ast.DirectPI)
def direct_pi_value(c: Compiler, e: ast.DirectPI, scope: Scope) -> Val:
    return one(f"make_pi({c.out.literal(e.target)}, {c.out.literal(e.text)})", Type("pi"))


@value(ast.ComputedPI)
def pi_value(c: Compiler, e: ast.ComputedPI, scope: Scope) -> Val:
    if isinstance(e.target, str):
        target = c.out.literal(e.target)
    else:
        atom = c.atom(c.value(e.target, scope), "the target of a processing instruction")
        target = c.out.fresh()
        c.out.line(f"{target} = pi_target({atom.code})")
    content = c.value(e.content, scope)
    return one(f"make_pi({target}, pi_text({target}, {c.list(content)}))", Type("pi"))


@value(ast.ComputedNamespace)
def namespace_value(c: Compiler, e: ast.ComputedNamespace, scope: Scope) -> Val:
    if isinstance(e.prefix, str):
        prefix = c.out.literal(e.prefix)
    else:
        atom = c.atom(c.value(e.prefix, scope), "the prefix of a namespace")
        prefix = c.out.fresh()
        c.out.line(f"{prefix} = namespace_prefix({atom.code})")
    uri = c.value(e.uri, scope)
    return one(f"make_namespace({prefix}, namespace_uri({prefix}, {c.list(uri)}))", Type("namespace"))
