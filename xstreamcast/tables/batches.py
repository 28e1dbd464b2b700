"""Rows as Arrow's record batches, as they are found.

The types of columns are those that were declared; else those of the first rows, which are kept until there are enough
of them to tell. What comes later must be of these types: a file that has begun cannot take its types back (XSC0152,
XSC0153).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.tables.cells import Nested, row
from xstreamcast.tables.kinds import NULL, Kind, arrow_type, fitted, kind_of_all, settled, unfitting, wider

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE: Final = 10_000
"""Rows that tell the types of columns, where nothing else does."""
BATCH: Final = 1 << 16
"""Rows of a batch, at most."""


class Rows(Protocol):
    """Some rows: the names of their columns, and of each column its narrowest type and its values."""

    def __len__(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def kind(self, name: str) -> Kind: ...

    def values(self, name: str) -> list[Any]: ...

    def records(self) -> list[dict[str, Any]]: ...

    def array(self, name: str, kind: Kind) -> Any | None:
        """A column as an Arrow array of a type; None if its values have to be looked at one by one."""


class ItemRows:
    """Items as rows."""

    def __init__(self, items: Iterable[Item], nested: Nested) -> None:
        self.rows = [row(item, nested) for item in items]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self.rows for name in each))

    def values(self, name: str) -> list[Any]:
        return [each.get(name) for each in self.rows]

    def records(self) -> list[dict[str, Any]]:
        return self.rows

    def kind(self, name: str) -> Kind:
        return kind_of_all(self.values(name))

    def array(self, name: str, kind: Kind) -> Any | None:
        if kind.item is None or all(name in each for each in self.rows):
            return None
        import pyarrow as pa

        lists = [fitted(each[name], kind, name) if name in each else None for each in self.rows]
        return pa.array(lists, arrow_type(kind))  # who has no such column has no list either


def needed(module: str, extra: str) -> Any:
    """A package that comes with an extra of ours. XSC0150: it is not there."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise error("XSC0150", f"{module} is not installed", hint=f"pip install 'xstreamcast[{extra}]'") from None


class Columns:
    """The columns of a table whose rows come one after the other."""

    def __init__(self, parts: Iterator[Rows], declared: Mapping[str, Kind | None], sample: int | None = SAMPLE) -> None:
        """``declared``: columns that are there in any case, with their types as far as they were said."""
        self._parts = parts
        self._first: list[Rows] = []
        kinds = {name: kind or NULL for name, kind in declared.items()}
        count = 0
        for part in parts:
            self._first.append(part)
            for name in part.names:
                if declared.get(name) is None:
                    kinds[name] = wider(kinds.get(name, NULL), part.kind(name))
            count += len(part)
            if sample is not None and count >= sample:
                break
        self.kinds = {name: settled(kind) for name, kind in kinds.items()}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def parts(self) -> Iterator[Rows]:
        """The rows, once; those that told the types come first. XSC0153: one has another column."""
        first, self._first = self._first, []
        for part in chain(_released(first), self._parts):
            for name in part.names:
                if name not in self.kinds:
                    hint = f"say which columns there are: --columns, columns=; so far: {', '.join(self.names)}"
                    raise error("XSC0153", f"a row has a column {name}, which none before it had", hint=hint)
            yield part

    @property
    def schema(self) -> pa.Schema:
        """The columns, as Arrow has them."""
        arrow = needed("pyarrow", "arrow")
        return arrow.schema([(name, arrow_type(kind)) for name, kind in self.kinds.items()])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches."""
        arrow = needed("pyarrow", "arrow")
        schema = self.schema
        for part in self.parts():
            if len(part):
                arrays = [self._array(part, name, kind) for name, kind in self.kinds.items()]
                whole = arrow.RecordBatch.from_arrays(arrays, schema=schema)
                for start in range(0, len(whole), BATCH):
                    yield whole.slice(start, BATCH)

    def _array(self, part: Rows, name: str, kind: Kind) -> Any:
        import pyarrow as pa

        type_ = arrow_type(kind)
        if name not in part.names:
            return pa.nulls(len(part), type_)
        made = part.array(name, kind)
        return array_of(part.values(name), kind, name) if made is None else made


def _released(parts: list[Rows]) -> Iterator[Rows]:
    """Each of some parts, not kept any longer."""
    parts.reverse()
    while parts:
        yield parts.pop()


def array_of(values: list[Any], kind: Kind, name: str) -> Any:
    """Values as an Arrow array. XSC0152: one is not of the type."""
    import pyarrow as pa

    type_ = arrow_type(kind)
    if not (kind.item is None and set(map(type, values)) <= _DIRECT.get(kind.name, frozenset())):
        values = [fitted(value, kind, name) for value in values]
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, OverflowError):
        for value in values:
            try:
                pa.array([value], type_)
            except (pa.ArrowException, OverflowError):
                raise unfitting(value, kind, name) from None
        raise


_NONE: Final = type(None)
_DIRECT: Final = {
    "string": frozenset((str, _NONE)), "double": frozenset((float, _NONE)), "boolean": frozenset((bool, _NONE)),
    "binary": frozenset((bytes, _NONE)),
}  # fmt: skip


def item_rows(items: Iterable[Item], nested: Nested, size: int = 4096) -> Iterator[ItemRows]:
    """Items as rows, so many at a time."""
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield ItemRows(some, nested)
