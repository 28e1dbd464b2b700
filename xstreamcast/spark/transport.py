"""Items between processes, and items as rows.

>>> loads(dumps([1, "a"]))
[1, 'a']
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.lexical import to_string
from xstreamcast.model.names import DOCUMENT, ELEMENT, KIND_NAMES
from xstreamcast.model.serialise import serialise
from xstreamcast.model.serialise_parameters import Parameters
from xstreamcast.model.serialise_xml import XMLWriter
from xstreamcast.model.tree import Node, Tree
from xstreamcast.model.types import describe
from xstreamcast.spark.rest.shapes import shape_of, tree_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch

ITEM_ROWS: Final = "position long, kind string, value string"
"""The columns of an answer. ``position`` grows with the order of the items; it has gaps where many tasks made them."""
_AT_ONCE: Final = 1 << 13
_PART: Final = 1 << 40  # positions that a part of the answer has for its items


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is Tree:
            return tree_of, (shape_of(value), value.value)
        if type(value) is Array:
            return Array, (value.members(),)
        if type(value) is Map:
            return Map, (list(value.items()),)
        if isinstance(value, FunctionItem):
            hint = "functions live where they were made; send what they give instead"
            raise error("XSC0082", f"a {value.described} cannot be sent to another process", hint=hint)
        return NotImplemented


def dumps(value: Any) -> bytes:
    """A value that is made of items, to be read in another process."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    return out.getvalue()


def loads(data: bytes) -> Any:
    """What :func:`dumps` wrote."""
    return pickle.loads(data)


def item_batches(items: Iterable[Item], part: int = 0) -> Iterator[RecordBatch]:
    """Items as rows of :data:`ITEM_ROWS`; those of a later part of the answer have larger positions."""
    import pyarrow as pa

    position = part * _PART
    gathered: list[Item] = []
    for item in items:
        gathered.append(item)
        if len(gathered) == _AT_ONCE:
            yield _batch(pa, gathered, position)
            position += len(gathered)
            gathered = []
    if gathered:
        yield _batch(pa, gathered, position)


def _batch(pa: Any, items: list[Item], position: int) -> RecordBatch:
    kinds, values = columns(items)
    return pa.RecordBatch.from_arrays(
        [pa.array(range(position, position + len(items)), pa.int64()), pa.array(kinds), pa.array(values, pa.string())],
        names=["position", "kind", "value"],
    )


def columns(items: Sequence[Item]) -> tuple[list[str], list[str]]:
    """For each item what it is (``element``, ``text``, ``xs:integer``…) and its markup or text."""
    kinds: list[str] = []
    values: list[str] = []
    writer = XMLWriter(Parameters(), [])
    for tree, group in groupby(items, key=_scanned):
        some = list(group)
        if tree is _VALUES:
            kinds += map(describe, some)
            values += map(_value, some)
        else:
            kinds += [KIND_NAMES[node.kind] for node in some]
            values += _texts(tree, some, writer)
    return kinds, values


_VALUES: Final = object()


def _scanned(item: Item) -> Any:
    """The tree of a node if it was scanned, else None."""
    if not isinstance(item, Node):
        return _VALUES
    return None if item[0].octets is None else item[0]


def _value(item: Item) -> str:
    return serialise([item], method="adaptive") if isinstance(item, FunctionItem) else to_string(item)


def _texts(tree: Tree | None, nodes: list[Node], writer: XMLWriter) -> list[str]:
    marked = all(type(node) is Node and node.kind in (DOCUMENT, ELEMENT) for node in nodes)
    if marked and tree is not None and tree.octets is not None:
        text = tree.octets.markup(tree, [node.row for node in nodes], "\0")
        if text is not None:
            return text.split("\0")[:-1]
    return [_markup(node, writer) if node.kind in (DOCUMENT, ELEMENT) else node.string for node in nodes]


def _markup(node: Node, writer: XMLWriter) -> str:
    """What the xml method writes of a document or an element."""
    tree, row = node
    for top in tree.children(row) if tree.kind[row] == DOCUMENT else (row,):
        writer.subtree(tree, top)
    text = "".join(writer.out)
    writer.out.clear()
    return text
