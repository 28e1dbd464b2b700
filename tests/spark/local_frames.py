"""A stand-in for the few operators of Spark that a spread query is made of, in this process: partitions are lists.

What tests run through it is the code that makes the DataFrames and all that tasks do; what Spark does itself is as
simple here as its documentation says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Row = dict[str, Any]


class Found(dict[str, Any]):
    """A row that is read by attribute."""

    __getattr__ = dict.__getitem__


class LocalFrame:
    """Partitions of rows, computed when asked for."""

    def __init__(self, columns: list[str], compute: Callable[[], list[list[Row]]], log: list[str]) -> None:
        self.columns, self._compute, self.log = columns, compute, log
        self._made: list[list[Row]] | None = None

    @property
    def parts(self) -> list[list[Row]]:
        if self._made is None:
            self._made = self._compute()
        return self._made

    def _then(self, what: str, change: Callable[[], list[list[Row]]], columns: list[str] | None = None) -> LocalFrame:
        self.log.append(what)
        return LocalFrame(columns or self.columns, change, self.log)

    def mapInArrow(self, function: Callable[[Iterable[Any]], Iterable[Any]], schema: str) -> LocalFrame:
        def change() -> list[list[Row]]:
            import pyarrow as pa
            from pyspark import cloudpickle

            types = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
            fields = [field.split() for field in schema.split(", ")]
            expected = pa.schema([(name, types[kind]) for name, kind in fields])
            made = []
            sent = cloudpickle.dumps(function)
            for part in self.parts:
                out: list[Row] = []
                work = cloudpickle.loads(sent)  # as a task gets it
                for batch in work(iter(_batches(part, self.columns))):
                    assert batch.schema == expected, (batch.schema, schema)
                    out += batch.to_pylist()
                made.append(out)
            return made

        return self._then("map", change, [field.split()[0] for field in schema.split(", ")])

    def _rows(self) -> Iterator[Row]:
        for part in self.parts:
            yield from part

    def repartitionById(self, count: int, column: str) -> LocalFrame:
        def change() -> list[list[Row]]:
            made: list[list[Row]] = [[] for _ in range(count)]
            for row in reversed(list(self._rows())):  # an exchange keeps no order
                assert row[column] < count
                made[row[column]].append(row)
            return made

        return self._then("exchange", change)

    def repartition(self, by: int | str) -> LocalFrame:
        def change() -> list[list[Row]]:
            made: list[list[Row]] = [[] for _ in range(by if isinstance(by, int) else 3)]
            for row in reversed(list(self._rows())):
                made[0 if isinstance(by, int) else hash(row[by]) % 3].append(row)
            return made

        return self._then("exchange", change)

    def coalesce(self, count: int) -> LocalFrame:
        assert count == 1
        return self._then("coalesce", lambda: [list(self._rows())])

    def sortWithinPartitions(self, *columns: str) -> LocalFrame:
        return self._then(
            "sort", lambda: [sorted(part, key=lambda row: [row[c] for c in columns]) for part in self.parts]
        )

    def orderBy(self, *columns: str, ascending: list[bool]) -> LocalFrame:
        def change() -> list[list[Row]]:
            rows = list(self._rows())
            for column, up in reversed(list(zip(columns, ascending, strict=True))):
                rows.sort(key=lambda row: row[column], reverse=not up)
            middle = len(rows) // 2
            return [rows[:middle], rows[middle:]]

        return self._then("order", change)

    def limit(self, count: int) -> LocalFrame:
        return self._then("limit", lambda: [list(self._rows())[:count]])

    def unionAll(self, other: LocalFrame) -> LocalFrame:
        return self._then("union", lambda: [*self.parts, *other.parts])

    def join(self, other: LocalFrame, key: str, how: str) -> LocalFrame:
        assert how == "left"
        more = [column for column in other.columns if column != key]

        def change() -> list[list[Row]]:
            rows: dict[Any, list[Row]] = {}
            for row in other._rows():
                rows.setdefault(row[key], []).append(row)
            nothing = [dict.fromkeys(more)]
            return [
                [own | {c: each[c] for c in more} for own in part for each in rows.get(own[key], nothing)]
                for part in self.parts
            ]

        return self._then("join", change, [*self.columns, *more])

    def where(self, condition: str) -> LocalFrame:
        columns = [each.removesuffix(" IS NOT NULL") for each in condition.split(" OR ")]
        return self._then(
            "filter", lambda: [[row for row in p if any(row[c] is not None for c in columns)] for p in self.parts]
        )

    def select(self, *columns: str) -> LocalFrame:
        return LocalFrame(
            list(columns), lambda: [[{c: row[c] for c in columns} for row in p] for p in self.parts], self.log
        )

    def selectExpr(self, position: str, *columns: str) -> LocalFrame:
        assert position == "monotonically_increasing_id() AS position"

        def change() -> list[list[Row]]:
            numbered = ((k << 33, part) for k, part in enumerate(self.parts))
            return [
                [{"position": k + n} | {c: row[c] for c in columns} for n, row in enumerate(p)] for k, p in numbered
            ]

        return LocalFrame(["position", *columns], change, self.log)

    def collect(self) -> list[Any]:
        return [Found(row) for row in self._rows()]

    def toLocalIterator(self, prefetchPartitions: bool) -> list[Any]:
        return self.collect()


def _batches(part: list[Row], columns: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    for first in range(0, len(part), 7):
        some = part[first : first + 7]
        yield pa.RecordBatch.from_pydict({column: [row[column] for row in some] for column in columns})


class LocalSpark:
    """What a spread query wants of a session. ``log`` has the operators of its frames, in the order they were made."""

    def __init__(self, broadcast: int = -1) -> None:
        self.log: list[str] = []
        self.sparkContext = self
        self.conf = {"spark.sql.autoBroadcastJoinThreshold": f"{broadcast}b"}

    def setJobDescription(self, what: str | None) -> None:
        self.log.append(f"job {what}")

    defaultParallelism = 2
    master = "local[2]"

    def range(self, first: int, last: int, step: int, count: int) -> LocalFrame:
        self.log.append("tasks")
        return LocalFrame(["id"], lambda: [[{"id": k}] for k in range(first, last, step)], self.log)
