"""Rows with their places and the keys they are sorted by, and what each gives: items to go on with, or their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array
from xstreamcast.run.runtime.order import OrderSpec
from xstreamcast.spark.rest.frames import Writer
from xstreamcast.spark.rest.relational.keys import Kind, order_key
from xstreamcast.spark.rest.relational.sending import sent_rows
from xstreamcast.spark.transport import columns, dumps

Place = tuple[int, int]
"""The part of the document that a row is from, and its number there."""
_PLACES: Final = "part int, place long, number long"
"""``number``: where one place has several rows."""


def placed_columns(told: bool) -> str:
    """The columns of rows that stand in their order. ``told``: a row has the text of an item, else some items."""
    return f"{_PLACES}, {_given(told)}"


def keyed_columns(kinds: list[Kind] | None, told: bool) -> str:
    """The columns of rows that are to be sorted; without kinds, all keys of a row together, as they are."""
    keys = ["keys binary"] if kinds is None else [f"key{k} binary" for k in range(len(kinds))]
    return ", ".join([_PLACES, *keys, _given(told)])


def _given(told: bool) -> str:
    return "kind string, value string" if told else "row binary"


def given(results: Sequence[list[Item]], told: bool, name: Place) -> Iterator[list[tuple[Any, ...]]]:
    """What each result becomes: rows of its items' texts, or one row of all items; ``name`` is of these results."""
    if not told:
        for items, packed in zip(results, sent_rows([[items] for items in results], *name), strict=True):
            yield [(packed,)] if items else []
        return
    texts = zip(*columns([item for items in results for item in items]), strict=True)
    for items in results:
        yield list(islice(texts, len(items)))


class Placing:
    """Results in their places."""

    def __init__(self, told: bool) -> None:
        self.told = told
        self.out = Writer(placed_columns(told))

    def rows(self, found: list[tuple[Place, list[Item]]]) -> Iterator[Any]:
        """Some results that follow each other."""
        made = given([items for _, items in found], self.told, found[0][0])
        for (place, _), rows in zip(found, made, strict=True):
            for number, row in enumerate(rows):
                yield from self.out.put(*place, number, *row)


class Sorting:
    """Rows with the keys they are sorted by."""

    def __init__(self, specs: tuple[OrderSpec, ...], kinds: list[Kind] | None, told: bool) -> None:
        self.specs, self.kinds, self.told = specs, kinds, told
        self.out = Writer(keyed_columns(kinds, told))

    def rows(self, found: list[tuple[Place, list[Item]]]) -> Iterator[Any]:
        """Of some places, arrays of keys and what they give."""
        values: list[tuple[Place, list[Item | None]]] = []
        results: list[list[Item]] = []
        for place, rows in found:
            for row in rows:
                assert isinstance(row, Array)
                *keys, items = row.members()
                for key in keys:
                    if len(key) > 1:
                        raise error("XPTY0004", f"a key of order by has {len(key)} items")
                values.append((place, [key[0] if key else None for key in keys]))
                results.append(items)
        last, number = None, 0
        for (place, own), made in zip(values, given(results, self.told, found[0][0]) if found else (), strict=True):
            number = number if place == last else 0
            last, keyed = place, self._keys(own)  # it may fail, also where nothing comes of the row
            for each in made:
                yield from self.out.put(*place, number, *keyed, *each)
                number += 1

    def _keys(self, keys: list[Item | None]) -> list[bytes]:
        if self.kinds is None:
            return [dumps(keys)]
        return [
            order_key(key, kind, spec.empty_greatest)
            for key, kind, spec in zip(keys, self.kinds, self.specs, strict=True)
        ]
