"""A table that equals an answer: rows by number, changed in transactions, with the position in the streams.

Every row has a number (``xcast_row``) and a place (``xcast_place``): sorted by place, the rows are the answer. What is
known of all such tables is in ``xcast_tables``, written in the same transaction as the rows: the query, the position in
its streams, the kinds of the columns, and the error that the answer is, if it is one.

How the columns follow the query:

* declared types (``columns=``) are the types of the columns; others are those of the first values;
* a column that was not there before is added, empty in the rows before;
* a column that has had no value yet takes the type of the first one;
* integers widen to decimals, these to doubles, anything else that differs to text;
* lists and records are JSON, and a column that turns out to have them becomes JSON: each value a list of one;
* nothing is ever made narrower, or dropped. Another query, or other columns, need another table (XSC0157).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from xstreamcast.errors import XStreamError, error
from xstreamcast.tables.database import JSON, NOTHING, PLACE, REMOVED, ROW, open_database, quoted, table_of
from xstreamcast.tables.kinds import DECIMAL, Kind, as_json, fitted, kind_of_all, wider, written

Removal = Literal["delete", "mark"]
_ABOUT: Final = "xcast_tables"
_SOME: Final = 5_000
"""Rows that are written at once."""


class RowChange(NamedTuple):
    """A row as it is from now on; ``values`` is None if it is gone."""

    row: int
    place: str | None
    values: dict[str, Any] | None


class AnswerTable:
    """A table in a database, ``URL#name``.

    ``declared``: its columns, with their types as far as they were said. ``key``: columns that are different in all
    rows, its primary key where the database has one. ``removed``: rows that are gone are deleted, or marked in column
    ``xcast_removed``. ``about`` says what it is the answer to.
    """

    def __init__(
        self,
        url: str,
        *,
        declared: Mapping[str, Kind | None] | None = None,
        key: Sequence[str] = (),
        removed: Removal = "delete",
        about: str = "",
    ) -> None:
        address, self.name = table_of(url)
        self.declared = dict(declared or {})
        self.key = tuple(key)
        if removed not in ("delete", "mark"):
            raise error("XSC0156", f"removed rows cannot be {removed!r}", hint="delete or mark")
        for name in (*self.declared, *self.key):
            if name in (ROW, PLACE, REMOVED) or (name in self.key and self.declared and name not in self.declared):
                raise error("XSC0156", f"no column {name} can be there", hint="the key is one of the columns")
        self.marks = removed == "mark"
        self.about = json.dumps([about, list(self.declared), list(self.key), removed])
        self.database = open_database(address)
        try:
            self._open()
        except BaseException:
            self.database.close()
            raise

    def _open(self) -> None:
        self.database.execute(
            f"CREATE TABLE IF NOT EXISTS {_ABOUT} (name VARCHAR(200) PRIMARY KEY, about TEXT, position TEXT, "
            "columns TEXT, failure TEXT)"
        )
        found = self.database.execute(
            f"SELECT about, position, columns, failure FROM {_ABOUT} WHERE name = ?", (self.name,)
        )
        self.columns: dict[str, str] = {}
        """The kinds of the columns that are there."""
        self.position: dict[str, int] = {}
        """How much of each stream the rows are the answer to."""
        self.failure: str | None = None
        """The error that the answer is; the rows are those of before."""
        self.begun = bool(found)
        if not found:
            try:
                self.database.execute(f"SELECT 1 FROM {quoted(self.name)} LIMIT 1")
            except XStreamError:
                return
            hint = "name another table, or drop it"
            raise error("XSC0157", f"there is a table {self.name} which is not the answer of a query", hint=hint)
        about, position, columns, self.failure = found[0]
        if about != self.about:
            hint = "name another table, or drop it and its row in xcast_tables"
            raise error("XSC0157", f"table {self.name} is the answer of another query, or has other columns", hint=hint)
        self.position, self.columns = json.loads(position), json.loads(columns)

    # ------------------------------------------------------------------------------------------------ writing

    @contextmanager
    def transaction(self, position: Mapping[str, int], failure: str | None = None) -> Iterator[None]:
        """What is written inside counts together, with the position, or not at all."""
        columns, begun = dict(self.columns), self.begun
        self.database.execute("BEGIN")
        try:
            yield
            self._note(position, failure)
            self.database.execute("COMMIT")
        except BaseException:
            self.columns, self.begun = columns, begun
            self.database.execute("ROLLBACK")
            raise
        self.begun, self.position, self.failure = True, dict(position), failure

    def fail(self, position: Mapping[str, int], failure: str) -> None:
        """The answer is an error: the rows stay as they were when it was none."""
        with self.transaction(position, failure):
            self._prepare([])

    def _note(self, position: Mapping[str, int], failure: str | None) -> None:
        self.database.execute(f"DELETE FROM {_ABOUT} WHERE name = ?", (self.name,))
        self.database.execute(
            f"INSERT INTO {_ABOUT} (name, about, position, columns, failure) VALUES (?, ?, ?, ?, ?)",
            (self.name, self.about, json.dumps(dict(position), sort_keys=True), json.dumps(self.columns), failure),
        )

    def clear(self) -> None:
        """No row of before is there any more."""
        if self.begun:
            table = quoted(self.name)
            self.database.execute(f"UPDATE {table} SET {REMOVED} = TRUE" if self.marks else f"DELETE FROM {table}")

    def write(self, changes: Iterable[RowChange]) -> None:
        """Rows as they are from now on, in a transaction."""
        net = {change.row: change for change in changes}
        waiting = list(net.values())
        self._prepare([change.values for change in waiting if change.values is not None])
        for start in range(0, len(waiting), _SOME):
            self._write(waiting[start : start + _SOME])

    def _write(self, changes: Sequence[RowChange]) -> None:
        database, name = self.database, self.name
        there = [change for change in changes if change.values is not None]
        gone = [[change.row] for change in changes if change.values is None]
        if gone and self.marks:
            listed = ", ".join(str(row) for (row,) in gone)
            database.execute(f"UPDATE {quoted(name)} SET {REMOVED} = TRUE WHERE {ROW} IN ({listed})")
        deleted = [[change.row] for change in there] if self.marks else [[change.row] for change in changes]
        if deleted:
            database.delete(name, {ROW: "long"}, deleted)
        if not there:
            return
        rows = [self._row(change) for change in there]
        if self.marks and self.key:
            at = [list(self.columns).index(each) + 2 for each in self.key]
            keys = {each: self.columns[each] for each in self.key}
            database.delete(name, keys, [[row[k] for k in at] for row in rows], f"{REMOVED} = TRUE")
        columns = {ROW: "long", PLACE: "string", **self.columns}
        if self.marks:
            columns[REMOVED] = "boolean"
        database.insert(name, columns, rows)

    def _row(self, change: RowChange) -> list[Any]:
        assert change.values is not None
        values = [self._value(name, kind, change.values.get(name)) for name, kind in self.columns.items()]
        return [change.row, change.place, *values, *[False] * self.marks]

    def _value(self, name: str, kind: str, value: Any) -> Any:
        said = self.declared.get(name)
        return stored(value if said is None else fitted(value, said, name), kind)

    # ------------------------------------------------------------------------------------------------ columns

    def _prepare(self, rows: Sequence[dict[str, Any]]) -> None:
        """Have a table with columns for the values of some rows."""
        names = dict.fromkeys((*self.declared, *self.key, *self.columns, *[name for row in rows for name in row]))
        for name in (ROW, PLACE, REMOVED):
            if name in names:
                raise error("XSC0156", f"a column cannot be called {name}", hint="the table has its own")
        needed: dict[str, str] = {}
        for name in names:
            own = self.declared.get(name) or kind_of_all(row.get(name) for row in rows)
            needed[name] = wider_kind(self.columns.get(name, NOTHING), flat(own))
        if not self.begun:
            self._create(needed)
        else:
            table = quoted(self.name)
            for name, kind in needed.items():
                if name not in self.columns:
                    type_ = self.database.types[kind]
                    self.database.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(name)} {type_}")
                elif kind != self.columns[name]:
                    self.database.widen(self.name, name, self.columns[name], kind)
        self.columns = needed

    def _create(self, columns: Mapping[str, str]) -> None:
        self.begun = True
        types = self.database.types
        parts = [f"{ROW} {types['long']}", f"{PLACE} {types['string']}"]
        parts += [f"{quoted(name)} {types[kind]}" for name, kind in columns.items()]
        if self.marks:
            parts.append(f"{REMOVED} {types['boolean']}")
        if self.database.keys:
            parts.append(f"PRIMARY KEY ({', '.join(map(quoted, self.key or (ROW,)))})")
            if self.key:
                parts.append(f"UNIQUE ({ROW})")
        self.database.execute(f"CREATE TABLE {quoted(self.name)} ({', '.join(parts)})")

    # ------------------------------------------------------------------------------------------------ comparing

    def reconcile(self, rows: Iterable[RowChange], position: Mapping[str, int]) -> int:
        """Have these rows and no others, in one transaction: those that differ are written. How many did."""
        wanted = {change.row: change for change in rows if change.values is not None}
        with self.transaction(position):
            self._prepare([change.values for change in wanted.values() if change.values is not None])
            names = [ROW, PLACE, *self.columns]
            where = f" WHERE {REMOVED} IS NOT TRUE" if self.marks else ""
            listed = ", ".join(map(quoted, names))
            changes: list[RowChange] = []
            kinds = list(self.columns.values())
            for found in self.database.execute(f"SELECT {listed} FROM {quoted(self.name)}{where}"):
                change = wanted.get(found[0])
                if change is None:
                    changes.append(RowChange(found[0], None, None))
                elif found[1] == change.place and _same(found[2:], self._row(change)[2:], kinds):
                    del wanted[found[0]]
            changes += wanted.values()
            for start in range(0, len(changes), _SOME):
                self._write(changes[start : start + _SOME])
        return len(changes)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


def flat(kind: Kind) -> str:
    """A kind of column: lists and records are JSON."""
    return JSON if kind.item is not None or kind.name == "struct" else kind.name


def wider_kind(one: str, other: str) -> str:
    """The narrowest kind of column that has the values of both."""
    if JSON in (one, other):
        return JSON
    return one if other == NOTHING else other if one == NOTHING else wider(Kind(one), Kind(other)).name


def stored(value: Any, kind: str) -> Any:
    """A value as a column of a kind has it."""
    if value is None:
        return None
    if kind == JSON:
        return json.dumps(as_json(value if isinstance(value, list | dict) else [value]), ensure_ascii=False)
    if kind == "string":
        return written(value)
    if kind == DECIMAL:
        return value if isinstance(value, Decimal) else Decimal(value)
    if kind == "double":
        return float(value)
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _same(found: Sequence[Any], wanted: Sequence[Any], kinds: Sequence[str]) -> bool:
    return all(_plain(a, kind) == _plain(b, kind) for a, b, kind in zip(found, wanted, kinds, strict=False))


def _plain(value: Any, kind: str) -> Any:
    """A value, however a database gives it back."""
    if value is None:
        return None
    if kind == JSON:
        return json.loads(value) if isinstance(value, str) else value
    if kind == DECIMAL:
        return Decimal(str(value))
    if kind == "boolean":
        return bool(value)
    if kind == "timestamp" and isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(value, date | timedelta) and kind != "timestamp":
        return written(value)
    return bytes(value) if kind == "binary" else value
