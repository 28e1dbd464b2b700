"""An item as a row of a table: names of columns and plain values; nested elements as records, XML or text.

An element that has neither attributes nor elements in it is its text. Any other is a record: ``@name`` for each
attribute, the name of each child element, with a list where there are several, and ``value`` for its text, if it has
any beside its elements that is not blank.

>>> from xstreamcast import query
>>> book = query("<book id='1'><by>A</by><by>B</by><price in='EUR'>12</price></book>")[0]
>>> row(book)
{'@id': '1', 'by': ['A', 'B'], 'price': {'@in': 'EUR', 'value': '12'}}
>>> row(book, "xml")["price"]
'<price in="EUR">12</price>'
>>> row(book, "columns")
{'@id': '1', 'by': ['A', 'B'], 'price/@in': 'EUR', 'price': '12'}
"""

from __future__ import annotations

from typing import Any, Final, Literal

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, Map
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT, name_local
from xstreamcast.model.python_values import plain
from xstreamcast.model.tree import Node, Tree

Nested = Literal["struct", "columns", "xml", "text"]
NESTED: Final = ("struct", "columns", "xml", "text")
"""How elements that have attributes or elements in them stand in a table: as a record, as columns of their own (of an
element that is a row; elsewhere as text), as XML, as text."""


def check_nested(nested: str) -> None:
    """XSC0151: there is no such way."""
    if nested not in NESTED:
        raise error("XSC0151", f"nested elements as {nested!r}", hint=f"one of {', '.join(NESTED)}")


def row(item: Item, nested: Nested = "struct") -> dict[str, Any]:
    """A map is a row by its keys, an element by its attributes and children; any other item is in column ``value``."""
    if isinstance(item, Map):
        return _map(item, nested)
    if isinstance(item, Node) and item.kind == ELEMENT and nested == "columns":
        columns = _columns(item)
        text = columns.pop("", None)
        return columns if text is None else {**columns, "value": columns.get("value", text)}
    if isinstance(item, Node) and item.kind == ELEMENT:
        return _element(*item, nested) or {"value": item.string}
    if isinstance(item, Node):
        return {f"@{item.local}" if item.kind == ATTRIBUTE else "value": item.string}
    return {"value": _atomic(item, nested)}


def cell(value: list[Item], nested: Nested = "struct") -> Any:
    """A sequence as what stands in a cell: one item as itself, none as None, more as a list."""
    if len(value) == 1:
        return _one(value[0], nested)
    return [_one(item, nested) for item in value] if value else None


def node_cell(node: Node, nested: Nested = "struct") -> Any:
    """A node in a cell: its text, unless it is an element with more than text in it."""
    tree, index = node
    if node.kind != ELEMENT or nested in ("text", "columns") or not structured(tree, index):
        return node.string
    return node.xml() if nested == "xml" else _element(tree, index, nested)


def structured(tree: Tree, index: int) -> bool:
    """Whether an element has attributes, or elements in it."""
    kinds = tree.kind
    return any(kinds[row] in (ATTRIBUTE, ELEMENT) for row in range(index + 1, index + tree.size[index] + 1))


def _one(item: Item, nested: Nested) -> Any:
    return node_cell(item, nested) if isinstance(item, Node) else _atomic(item, nested)


def _atomic(item: Item, nested: Nested) -> Any:
    if isinstance(item, Map):
        return _map(item, nested)
    if isinstance(item, Array):
        return [cell(member, nested) for member in item.members()]
    return plain(item)


def _map(item: Map, nested: Nested) -> dict[str, Any]:
    return {str(plain(key)): cell(value, nested) for key, value in item.items()}


def _element(tree: Tree, index: int, nested: Nested) -> dict[str, Any]:
    """The attributes and children of an element; nothing where it has text alone."""
    kinds, sizes, names, values = tree.kind, tree.size, tree.name, tree.value
    made: dict[str, Any] = {}
    several: set[str] = set()
    texts = False
    at, end = index + 1, index + sizes[index]
    while at <= end:  # by rows: there may be a million of these, and a node for each would take most of the time
        kind, size = kinds[at], sizes[at]
        if kind == ATTRIBUTE:
            made["@" + name_local[names[at]]] = values[at]
        elif kind == ELEMENT:
            name = name_local[names[at]]
            value: Any
            if not size:
                value = ""
            elif size == 1 and kinds[at + 1] == TEXT:
                value = values[at + 1]
            else:
                value = node_cell(Node((tree, at)), nested)
            if name in several:
                made[name].append(value)
            elif name in made:
                several.add(name)
                made[name] = [made[name], value]
            else:
                made[name] = value
        elif kind == TEXT and not texts:
            texts = not str(values[at]).isspace()
        at += size + 1
    if texts and made:
        made.setdefault("value", tree.string(index))
    return made


def _columns(element: Node) -> dict[str, Any]:
    """The values in an element, by paths from it; as ``""`` its text, if it has some of its own or nothing else."""
    row: dict[str, Any] = {f"@{attribute.local}": attribute.string for attribute in element.attributes()}
    children = element.children()
    below: dict[str, list[dict[str, Any]]] = {}
    for child in children:
        if child.kind == ELEMENT:
            below.setdefault(child.local, []).append(_columns(child))
    for name, each in below.items():
        for column in dict.fromkeys(column for one in each for column in one):
            values = [one.get(column) for one in each]
            path = f"{name}/{column}" if column else name
            row[path] = values[0] if len(each) == 1 else _flat(values)
    if not row or any(child.kind == TEXT and child.string.strip() for child in children):
        row[""] = element.string
    return row


def _flat(values: list[Any]) -> list[Any]:
    """Values of children of one name: one for each, so that columns stand beside each other; several of one in turn."""
    return [each for value in values for each in (value if isinstance(value, list) else [value])]
