"""Rows with their places and the keys they are sorted by, and what each gives: items to go on with, or their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress, repeat
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
Placed = tuple[list[Place], list[list[Item]]]
"""Places, and what is in each."""
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


class Placing:
    """Results in their places."""

    def __init__(self, told: bool) -> None:
        self.told = told
        self.out = Writer(placed_columns(told))

    def rows(self, places: Sequence[Place], results: Sequence[list[Item]]) -> Iterator[Any]:
        """Some results that follow each other."""
        return _put(self.out, places, (), results, self.told)


class Sorting:
    """Rows with the keys they are sorted by."""

    def __init__(self, specs: tuple[OrderSpec, ...], kinds: list[Kind] | None, told: bool) -> None:
        self.specs, self.kinds, self.told = specs, kinds, told
        self.out = Writer(keyed_columns(kinds, told))

    def rows(self, places: Sequence[Place], found: Sequence[list[Item]]) -> Iterator[Any]:
        """Of some places, arrays of keys and what they give."""
        own: list[Place] = []
        keys: list[list[Item | None]] = [[] for _ in self.specs]
        results: list[list[Item]] = []
        for place, rows in zip(places, found, strict=True):
            for row in rows:
                assert isinstance(row, Array)
                members = row.members()
                for key, column in zip(members, keys, strict=False):
                    if len(key) > 1:
                        raise error("XPTY0004", f"a key of order by has {len(key)} items")
                    column.append(key[0] if key else None)
                own.append(place)
                results.append(members[-1])
        return _put(self.out, own, self._keys(keys), results, self.told)

    def _keys(self, keys: list[list[Item | None]]) -> list[list[bytes]]:
        """Columns of bytes; to make them may fail, also where nothing comes of a row."""
        if self.kinds is None:
            return [[dumps(row) for row in zip(*keys, strict=True)]]
        return [
            [order_key(key, kind, spec.empty_greatest) for key in column]
            for column, kind, spec in zip(keys, self.kinds, self.specs, strict=True)
        ]


def _put(
    out: Writer, places: Sequence[Place], keys: Sequence[list[bytes]], results: Sequence[list[Item]], told: bool
) -> Iterator[Any]:
    """What results become: rows of their items' texts, or one row of all items. Rows of one place are numbered."""
    if not places:
        return
    given: tuple[Sequence[Any], ...]
    if told:
        counts = [len(items) for items in results]
        given = columns([item for items in results for item in items])
    else:
        counts = [1 if items else 0 for items in results]
        packed = sent_rows([[items] for items in results], *places[0])
        given = (list(compress(packed, counts)),)
    rows = range(len(places)) if counts.count(1) == len(counts) else list(_repeated(counts))
    if len(rows) < len(places) or rows != range(len(places)):
        places, keys = [places[row] for row in rows], [[key[row] for row in rows] for key in keys]
    parts, numbers = zip(*places, strict=True) if places else ((), ())
    yield from out.extend(parts, numbers, _numbers(places), *keys, *given)


def _repeated(counts: Sequence[int]) -> Iterator[int]:
    for row, count in enumerate(counts):
        yield from repeat(row, count)


def _numbers(places: Sequence[Place]) -> Sequence[int]:
    """Numbers of rows, beginning anew with each place; those of one follow each other."""
    made = [0] * len(places)
    for row in range(1, len(places)):
        if places[row] == places[row - 1]:
            made[row] = made[row - 1] + 1
    return made
