"""Tables and items: a row of a table is a map, and an item is a row.

>>> from xstreamcast.model.parse import parse
>>> row_of(parse("<n id='1'><tag k='amenity' v='cafe'/></n>").children()[0])
{'@id': '1', 'tag/@k': 'amenity', 'tag/@v': 'cafe'}
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Map
from xstreamcast.model.tree import ATTRIBUTE, ELEMENT, TEXT, Node

Row = dict[Any, Any]


def rows_of(value: Any) -> Iterable[Any] | None:
    """The rows of a table, or the values of an Arrow array, as Python has them: a DataFrame of pandas', or whatever
    Arrow takes for a table (PyCapsule interface: polars, DuckDB …). What is missing is None. None: it is neither."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        rows: list[Row] = value.astype(object).where(~value.isna(), None).to_dict("records")
        return rows
    if hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"):
        import pyarrow

        value = pyarrow.table(value)
    if type(value).__module__.startswith("pyarrow") and hasattr(value, "to_pylist"):
        plain: list[Any] = value.to_pylist()
        return plain
    return None


def row_of(item: Item) -> Row:
    """An item as a row. A map has a column for each key; an element one for each attribute and child, by their paths
    for what is in the children (``tag/@k``, ``address/city``), and ``value`` for text of its own; anything else has the
    column ``value``."""
    from xstreamcast.run.library import plain, unwrapped

    if isinstance(item, Map):
        return {plain(key): unwrapped([_cell(part) for part in value]) for key, value in item.items()}
    if isinstance(item, Node) and item.kind == ELEMENT:
        row = _columns(item)
        text = row.pop("", None)
        if text is not None:
            row.setdefault("value", text)
        return row
    if isinstance(item, Node):
        return {f"@{item.local}" if item.kind == ATTRIBUTE else "value": item.string}
    return {"value": plain(item)}


def _cell(item: Item) -> Item:
    """What stands in a table for an item: for a node its text."""
    return item.string if isinstance(item, Node) else item


def _columns(element: Node) -> Row:
    """What an element holds, by paths from it; as ``""`` its text, if it has some of its own or has nothing else."""
    row: Row = {f"@{attribute.local}": attribute.string for attribute in element.attributes()}
    children = element.children()
    below: dict[str, list[Row]] = {}
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
