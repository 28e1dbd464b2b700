"""What a query gives: its items as they are asked for, and as XML, Python values, tables, lxml's elements."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, overload

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import ATTRIBUTE, TEXT, Node

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from xstreamcast.model.serialise import Parameters
    from xstreamcast.run.doubts import Doubts
    from xstreamcast.run.query import Query

_AT_ONCE: Final = 1 << 16
"""Items that are made between two looks for garbage."""
_SHOWN: Final = 10
"""Items in the representation of a result."""


class Result(Iterable[Item]):
    """The items of a result, computed as they are asked for and then kept."""

    def __init__(self, source: Query, items: Iterator[Item], doubts: Doubts | None = None) -> None:
        self._source = source
        self.doubts = doubts
        self._items: list[Item] = []
        self._rest: Iterator[Item] | None = items
        self._failure: XStreamError | None = None
        """What ended it. Whoever asks again meets it again: ``list`` asks for the length first, and ignores errors."""

    def _more(self) -> bool:
        """Compute one item more."""
        if self._failure is not None:
            raise self._failure
        if self._rest is None:
            return False
        try:
            self._items.append(next(self._rest))
        except StopIteration:
            self._rest = None
            return False
        except XStreamError as failure:
            self._rest, self._failure = None, failure
            raise
        return True

    def __iter__(self) -> Iterator[Item]:
        number = 0
        while number < len(self._items) or self._more():
            yield self._items[number]
            number += 1

    def consume(self) -> Iterator[Item]:
        """The items that were not asked for before, each as it is computed, and not kept: for results of any size."""
        rest, self._rest = self._rest, None
        yield from rest or ()

    def items(self) -> list[Item]:
        """All items."""
        if self._failure is not None:
            raise self._failure
        if self._rest is not None:
            rest, self._rest = self._rest, None
            collecting = gc.isenabled()
            some = True
            while some:
                gc.disable()  # what is made here is kept: looking through it for garbage costs as much as making it
                made: list[Item] = []
                try:
                    made.extend(islice(rest, _AT_ONCE))
                except XStreamError as failure:
                    self._items += made
                    self._failure = failure
                    raise
                finally:
                    if collecting:
                        gc.enable()
                self._items += made
                some = bool(made)
        return self._items

    def __len__(self) -> int:
        return len(self.items())

    @overload
    def __getitem__(self, number: int) -> Item: ...
    @overload
    def __getitem__(self, number: slice) -> list[Item]: ...
    def __getitem__(self, number: int | slice) -> Item | list[Item]:
        if isinstance(number, slice):
            return self.items()[number]
        while number >= len(self._items) and self._more():
            pass
        return self.items()[number] if number < 0 else self._items[number]

    def __bool__(self) -> bool:
        return bool(self._items) or self._more()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What can hardly be meant, and what was put aside, with how many there were. Where nothing was found, also
        names that are nearly those of the document; for that the result is computed."""
        return self._source.warnings if self.doubts is None else self.doubts.texts(self.items())

    def xml(self, *, indent: bool = False) -> str:
        """The result as the xml method of serialisation writes it."""
        return self.serialise(method="xml", indent=indent)

    def text(self) -> str:
        """The result as the text method of serialisation writes it."""
        return self.serialise(method="text")

    def serialise(self, **parameters: Any) -> str:
        """The result as text, by the query's own output options and these parameters."""
        from xstreamcast.model.serialise import serialise

        return serialise(self.items(), self.parameters(), **parameters)

    def parameters(self) -> Parameters:
        """The output options that the query declares."""
        return self._source.parameters()

    def to_list(self) -> list[Any]:
        """Plain Python values: numbers, strings, booleans, dates; maps as dicts, arrays as lists; nodes as nodes.

        >>> from xstreamcast import query
        >>> query("1, 2.5, 'a', map { 'k': (1, 2) }").to_list()
        [1, Decimal('2.5'), 'a', {'k': [1, 2]}]
        """
        from xstreamcast.run.library import plain

        return [plain(item) for item in self.items()]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per item: a map gives a column per key, an element one per attribute and child name, and by its path
        for what is in a child (``tag/@k``), any other item the column ``value``."""
        import pandas as made

        from xstreamcast.run.tables import row_of

        return made.DataFrame([row_of(item) for item in self.items()])

    def to_arrow(self) -> pyarrow.Table:
        """The rows of :meth:`to_pandas` as an Arrow table; a column with several values somewhere has lists."""
        import pyarrow as made

        from xstreamcast.run.tables import row_of

        rows = [row_of(item) for item in self.items()]
        lists = {name for row in rows for name, value in row.items() if isinstance(value, list)}
        for row in rows:
            for name in [name for name in row if name in lists]:
                value = row[name]
                row[name] = value if isinstance(value, list) else [] if value is None else [value]
        columns = dict.fromkeys(name for row in rows for name in row)
        return made.table({str(name): [row.get(name) for row in rows] for name in columns})

    def to_lxml(self) -> list[Any]:
        """As :meth:`to_list`, but elements, documents, comments and instructions are those of lxml, and attributes and
        text are strings.

        >>> from xstreamcast import query
        >>> [title.text for title in query("//title", context="<b><title>T</title></b>").to_lxml()]
        ['T']
        """
        from xstreamcast.run.library import plain

        return [_foreign(item) if isinstance(item, Node) else plain(item) for item in self.items()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _result, (self._source, self.items(), self.warnings)

    def __repr__(self) -> str:
        """The first items; no more than these are computed for it."""
        from xstreamcast.model.serialise import serialise

        while len(self._items) <= _SHOWN and self._more():
            pass
        shown = []
        for item in self._items[:_SHOWN]:
            text = serialise([item], method="adaptive")
            line = text if len(text) <= 100 else text[:99] + "…"
            shown.append("  " + line.replace("\n", " "))
        count = len(self._items)
        if count > _SHOWN:
            shown.append("  …" if self._rest is not None else f"  … {count - _SHOWN} more")
        known = f"{_SHOWN} items and more" if self._rest is not None else f"{count} item{'' if count == 1 else 's'}"
        return "\n".join([f"<Result: {known}>", *shown])


def _result(source: Query, items: list[Item], warnings: tuple[str, ...]) -> Result:
    from xstreamcast.run.doubts import Doubts

    return Result(source, iter(items), Doubts(source, warnings))


def _foreign(node: Node) -> Any:
    """A node of lxml; attributes and text, which are nothing there without their element, as strings."""
    return node.string if node.kind in (ATTRIBUTE, TEXT) else node.to_lxml()
