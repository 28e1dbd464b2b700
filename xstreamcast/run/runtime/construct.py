"""Content of constructors (XQuery 3.1 §3.9): copies, spaces between values, namespaces in order."""

from __future__ import annotations

from collections.abc import Iterable

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item, NCName, QName, Untyped
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.cast import parse_qname
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import collapse, is_ncname, to_string
from xstreamcast.model.names import (
    ATTRIBUTE,
    DOCUMENT,
    ELEMENT,
    NAMESPACE,
    TEXT,
    intern,
    intern_prefix,
    name_local,
    name_uri,
    prefixes,
)
from xstreamcast.model.namespaces import XML, XMLNS
from xstreamcast.model.tree import XML_ID, NamespaceNode, Node, Tree
from xstreamcast.model.types import STRING, describe


class ContentBuilder(TreeBuilder):
    """A tree builder that takes items.

    ``spaced``: the last item of this enclosed expression was an atomic value, so a space comes before the next.
    ``closed``: the open element has content, so attributes come too late.
    """

    __slots__ = ("closed", "inherit", "preserve", "spaced")

    def __init__(self, base_uri: str | None = None, preserve: bool = True, inherit: bool = True) -> None:
        super().__init__(base_uri)
        self.spaced = False
        self.closed = False
        self.preserve = preserve
        self.inherit = inherit

    # ---------------------------------------------------------------------------------------------- elements

    def open(self, name: int, prefix: int = 0) -> None:
        """Begin an element; its own namespaces come next."""
        # The builder's own code again, for this is called for every element: a call saved is time saved.
        tree, stack = self.tree, self._stack
        row = len(tree.kind)
        tree.kind.append(ELEMENT)
        tree.name.append(name)
        tree.prefix.append(prefix)
        tree.up.append(row - stack[-1] if stack else 0)
        tree.size.append(0)
        tree.value.append("")
        stack.append(row)
        self.spaced = self.closed = False
        if tree.namespaces and not prefix and not name_uri[name]:
            self._bind("", "")

    @property
    def here(self) -> int:
        """The row of the open element or document."""
        return self._stack[-1]

    def start_document(self) -> None:
        super().start_document()
        self.closed = False

    def end(self) -> None:
        super().end()
        self.spaced = False
        self.closed = True

    def _scope(self) -> dict[str, str]:
        return self.tree.in_scope(self._stack[-1]) if self._stack else {}

    def _bind(self, prefix: str, uri: str) -> None:
        """Make sure a prefix stands for a namespace on the open element."""
        if prefix == "xml":
            return
        if self._scope().get(prefix, "") != uri:
            self.tree.namespaces.setdefault(self._stack[-1], {})[prefix] = uri

    def bind_name(self, prefix: str, uri: str) -> None:
        """Declare the namespace of the open element's own name."""
        self._bind(prefix, uri)

    def declare(self, prefix: str, uri: str) -> None:
        """A namespace declaration attribute of a direct constructor."""
        self.tree.namespaces.setdefault(self._stack[-1], {})[prefix] = uri

    def hide(self, *names: str) -> None:
        """Prefixes that the open element does not inherit."""
        scope = self._scope()
        hidden = {prefix: "" for prefix in names if scope.get(prefix)}
        if hidden:
            self.tree.namespaces.setdefault(self.here, {}).update(hidden)

    def add_namespace(self, prefix: str, uri: str) -> None:
        """A namespace node in the content; it must agree with those already there (XQDY0102)."""
        if self.closed:
            raise error("XQTY0024", "a namespace node after other content")
        row = self._stack[-1]
        if self.tree.kind[row] == DOCUMENT:
            raise error("XPTY0004", "a document has no namespace nodes")
        if prefix == "xml":
            return
        own = self.tree.namespaces.get(row, {})
        name, here = self.tree.name[row], prefixes[self.tree.prefix[row]]
        if own.get(prefix, uri) != uri or (prefix == "" and not here and not name_uri[name]):
            raise error("XQDY0102", f'the prefix "{prefix}" would stand for two namespaces')
        self.tree.namespaces.setdefault(row, {})[prefix] = uri

    # --------------------------------------------------------------------------------------------- attributes

    def add_attribute(self, name: int, value: str, prefix: int = 0) -> None:
        """An attribute of the open element: in time, once, and with a prefix for its namespace."""
        tree, row = self.tree, self._stack[-1]
        if tree.kind[row] == DOCUMENT:
            raise error("XPTY0004", "a document has no attributes")
        if self.closed:
            raise error("XQTY0024", f"attribute {name_local[name]} after other content")
        names = tree.name
        for other in range(row + 1, len(names)):
            if names[other] == name:
                raise error("XQDY0025", f"two attributes {name_local[name]}")
        uri = name_uri[name]
        if uri and uri != XML:
            prefix = intern_prefix(self._attribute_prefix(prefixes[prefix], uri))
        if name == XML_ID:
            value = collapse(value)
        self._row(ATTRIBUTE, name, prefix, value)

    def _attribute_prefix(self, prefix: str, uri: str) -> str:
        """A prefix bound to the namespace on this element, declared if need be."""
        scope = self._scope()
        if prefix and scope.get(prefix) == uri:
            return prefix
        own = self.tree.namespaces.get(self._stack[-1], {})
        used = prefixes[self.tree.prefix[self._stack[-1]]]
        if not prefix or (prefix in own and own[prefix] != uri) or (prefix == used and scope.get(prefix)):
            found = next((p for p, u in scope.items() if u == uri and p), None)
            if found is not None:
                return found
            number = 0
            prefix = prefix or "ns0"
            stem = prefix.rstrip("0123456789") or "ns"
            while prefix in scope:
                number += 1
                prefix = f"{stem}{number}"
        self.tree.namespaces.setdefault(self._stack[-1], {})[prefix] = uri
        return prefix

    # ------------------------------------------------------------------------------------------------- content

    def fixed(self, text: str) -> None:
        """Literal text of a direct constructor."""
        self.spaced = False
        self.closed = True
        self.text(text)

    def add_atomic(self, value: Item) -> None:
        text = value if type(value) is str else to_string(value)
        if self.spaced:
            text = " " + text
        self.spaced = True
        if text:
            self.closed = True
            self.text(text)

    def add_row(self, tree: Tree, row: int) -> None:
        kind = tree.kind[row]
        if kind == TEXT:
            self.spaced = False
            text = tree.value[row]
            if text:
                self.closed = True
                self.text(text)
        elif kind == ATTRIBUTE:
            self.spaced = False
            self.add_attribute(tree.name[row], tree.value[row] or "", tree.prefix[row])
        elif kind == NAMESPACE:
            self.add_namespace(name_local[tree.name[row]], tree.value[row] or "")
        elif kind == DOCUMENT:
            self.spaced = False
            for child in tree.children(row):
                self.add_row(tree, child)
        else:
            self.spaced = False
            self.closed = True
            self.copy(Node((tree, row)))

    def add_node(self, node: Node) -> None:
        if type(node) is NamespaceNode:
            self.add_namespace(node.local, node.string)
        else:
            self.add_row(node[0], node[1])

    def add(self, item: Item) -> None:
        if isinstance(item, Node):
            self.add_node(item)
        elif isinstance(item, FunctionItem):
            if not isinstance(item, Array):
                raise error("XQTY0105", f"a {describe(item)} cannot be content")
            for member in item.members():
                self.add_all(member)
        else:
            self.add_atomic(item)

    def add_all(self, items: Iterable[Item]) -> None:
        for item in items:
            self.add(item)

    def _copy_namespaces(self, source: Tree, index: int, row: int, inherit: bool) -> None:
        """Namespaces of a copied element, as copy-namespaces says (§3.9.1.4)."""
        tree = self.tree
        own = source.in_scope(index)
        for at, declared in source.declarations(index):
            if at != index:
                tree.namespaces[row + at - index] = dict(declared)
        if not self.preserve:
            used = _used(source, index)
            own = {prefix: uri for prefix, uri in own.items() if prefix in used}
            for at in [at for at in tree.namespaces if at > row]:
                used = _used(source, index + at - row)
                kept = {p: u for p, u in tree.namespaces[at].items() if p in used}
                tree.namespaces[at] = kept
        around = self._scope()
        made = {prefix: uri for prefix, uri in own.items() if around.get(prefix) != uri}
        if not self.inherit:
            made.update({prefix: "" for prefix in around if prefix not in own})
        elif "" in around and "" not in own and _has_plain_names(source, index):
            made[""] = ""
        if made:
            tree.namespaces[row] = made

    def copy(self, node: Node, namespaces: bool = True) -> None:
        row = len(self.tree.kind)
        super().copy(node, namespaces)
        source, index = node[0], node[1]
        if source.kind[index] == ELEMENT and not source.namespaces and self.tree.namespaces:
            around = self._scope()
            if not self.inherit and around:
                self.tree.namespaces[row] = dict.fromkeys(around, "")
            elif "" in around:
                self.tree.namespaces[row] = {"": ""}


def _used(tree: Tree, row: int) -> set[str]:
    """The prefixes that the names of an element and its attributes use."""
    used = {prefixes[tree.prefix[row]]}
    for at in range(row + 1, tree.first_child(row)):
        used.add(prefixes[tree.prefix[at]])
    return used


def _has_plain_names(tree: Tree, row: int) -> bool:
    return any(tree.kind[at] == ELEMENT and not name_uri[tree.name[at]] for at in range(row, row + tree.size[row] + 1))


# ------------------------------------------------------------------------------------- names and single nodes


def element_name(value: Item | None, namespaces: dict[str, str]) -> QName:
    """The name of a computed element: a QName, or text in the light of the namespaces of the place."""
    made = _name(value, namespaces, "XQDY0074")
    if made.prefix == "xmlns" or made.uri == XMLNS or (made.prefix == "xml") != (made.uri == XML):
        raise error("XQDY0096", f"{made} cannot be the name of an element")
    return made


def attribute_name(value: Item | None, namespaces: dict[str, str]) -> QName:
    """The name of a computed attribute; the default namespace does not apply."""
    made = _name(value, {**namespaces, "": ""}, "XQDY0074")
    if made.uri == XMLNS or made.prefix == "xmlns" or (not made.prefix and not made.uri and made.local == "xmlns"):
        raise error("XQDY0044", f"{made} declares a namespace; it cannot be an attribute")
    if made.prefix and (made.prefix == "xml") != (made.uri == XML):
        raise error("XQDY0044", f"{made} cannot be the name of an attribute")
    if not made.prefix and made.uri == XML:
        return QName(made.uri, made.local, "xml")
    return made


def _name(value: Item | None, namespaces: dict[str, str], code: str) -> QName:
    if type(value) is QName:
        return value
    if type(value) in STRING.classes or type(value) is Untyped:
        text = str(value).strip(" \t\r\n")
        if text.startswith("Q{"):
            uri, _, local = text[2:].partition("}")
            if is_ncname(local) and "{" not in uri:
                return QName(collapse(uri), local)
        else:
            from xstreamcast.errors import XStreamError

            try:
                return parse_qname(text, namespaces)
            except XStreamError as failure:
                raise error(code, f'"{value}" is not a name here') from failure
        raise error(code, f'"{value}" is not a name')
    shown = "nothing" if value is None else describe(value)
    raise error("XPTY0004", f"a name must be a QName or text, not {shown}")


def open_named(builder: ContentBuilder, name: QName) -> None:
    """Begin an element whose name was computed."""
    builder.open(intern(ELEMENT, name.uri, name.local), intern_prefix(name.prefix) if name.prefix else 0)
    if name.uri or name.prefix:
        builder.bind_name(name.prefix, name.uri)


def put_named(builder: ContentBuilder, name: QName, value: str) -> None:
    """An attribute whose name was computed."""
    prefix = intern_prefix(name.prefix) if name.prefix else 0
    builder.add_attribute(intern(ATTRIBUTE, name.uri, name.local), value, prefix)


def joined(items: list[Item]) -> str:
    """The atomized items as text, single spaces between them."""
    if len(items) == 1 and type(items[0]) is str:
        return items[0]
    return " ".join([to_string(value) for value in atomize(items)])


def make_attribute(name: QName, value: str) -> Node:
    builder = TreeBuilder()
    prefix = name.prefix
    if name.uri and not prefix:
        prefix = "xml" if name.uri == XML else "ns0"
    interned = intern(ATTRIBUTE, name.uri, name.local)
    builder.put_attribute(interned, collapse(value) if interned == XML_ID else value, intern_prefix(prefix))
    return builder.finish().root


def make_text(items: list[Item]) -> Node | None:
    """No node for the empty sequence; a text node may be empty."""
    if not items:
        return None
    builder = TreeBuilder()
    builder._row(TEXT, TEXT, 0, joined(items))
    return builder.finish().root


def comment_text(items: list[Item]) -> str:
    text = joined(items)
    if "--" in text or text.endswith("-"):
        raise error("XQDY0072", "a comment cannot contain -- or end in -")
    return text


def make_comment(text: str) -> Node:
    builder = TreeBuilder()
    builder.comment(text)
    return builder.finish().root


def pi_target(value: Item | None) -> str:
    if value is None or not (type(value) in STRING.classes or type(value) in (Untyped, NCName)):
        raise error("XPTY0004", "the target of a processing instruction must be text")
    target = str(value).strip(" \t\r\n")
    if not is_ncname(target):
        raise error("XQDY0041", f'"{target}" is not an NCName')
    return target


def pi_text(target: str, items: list[Item]) -> str:
    if target.lower() == "xml":
        raise error("XQDY0064", "a processing instruction cannot be called xml")
    text = joined(items).lstrip(" \t\r\n")
    if "?>" in text:
        raise error("XQDY0026", "a processing instruction cannot contain ?>")
    return text


def make_pi(target: str, text: str) -> Node:
    builder = TreeBuilder()
    builder.pi(target, text)
    return builder.finish().root


def namespace_prefix(value: Item | None) -> str:
    """The prefix of a computed namespace node, "" for the default."""
    if value is None:
        return ""
    if not (type(value) in STRING.classes or type(value) is Untyped):
        raise error("XPTY0004", f"a prefix must be text, not {describe(value)}")
    text = str(value).strip(" \t\r\n")
    if text and not is_ncname(text):
        raise error("XQDY0074", f'"{value}" is not a prefix')
    return text


def namespace_uri(prefix: str, items: list[Item]) -> str:
    uri = joined(items)
    if prefix == "xmlns" or uri == XMLNS or (prefix == "xml") != (uri == XML) or not uri:
        raise error("XQDY0101", f'the prefix "{prefix}" cannot stand for "{uri}"')
    return uri


def make_namespace(prefix: str, uri: str) -> Node:
    builder = TreeBuilder()
    builder.namespace_node(prefix, uri)
    return builder.finish().root
