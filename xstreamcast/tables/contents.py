"""The rows of items that come as XML: the columns of elements, many at a time; values are in column ``value``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.tree import Node
from xstreamcast.scan.parse import parse
from xstreamcast.tables.cells import Nested, row
from xstreamcast.tables.kinds import Kind

if TYPE_CHECKING:
    from xstreamcast.run.query import Query

ITEMS: Final = "xstreamcast-items"
"""The variable of a query over contents that is bound to their items."""
_SPEAKING: Final = f'<row xmlns:stream="{STREAM}">'.encode()


class Contents:
    """Contents as rows: those of a ``query`` with columns over the items ``$xstreamcast-items``; without one, each
    element's attributes and children.

    >>> Contents(None).rows([b"<b id='1'><price>2</price></b>", b" 7"])
    [{'@id': '1', 'price': '2'}, {'value': '7'}]
    """

    def __init__(self, query: Query | None, nested: Nested = "struct") -> None:
        self.query = query
        self.nested: Nested = nested

    @property
    def declared(self) -> Mapping[str, Kind | None]:
        """The columns, with their types as far as they were said."""
        return {} if self.query is None else self.query.kinds

    def rows(self, contents: Sequence[bytes]) -> list[dict[str, Any]]:
        """A row for each content."""
        parts = [b"<rows>"]
        for content in contents:
            # Contents may speak of streams, whose prefix everybody knows; of those that do not it is no part.
            parts += (_SPEAKING if b"stream:" in content else b"<row>", content, b"</row>")
        parts.append(b"</rows>")
        (top,) = parse(b"".join(parts)).children()
        items: list[Item] = [_item(each) for each in top.children()]
        if self.query is not None:
            items = self.query(variables={ITEMS: items}).items()
        return [row(item, self.nested) for item in items]


def _item(wrapper: Node) -> Item:
    """The item that a content is: an element, or a value as text; a blank before that parts it from another."""
    inside = wrapper.children()
    if len(inside) == 1 and inside[0].kind == ELEMENT:
        return inside[0]
    return Untyped(wrapper.string.removeprefix(" "))
