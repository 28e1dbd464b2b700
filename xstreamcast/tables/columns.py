"""Elements as rows: a path says which elements, and for each column another says where in the element to look.

A column's path begins at the element: child and attribute steps, ``//``, ``text()``, ``.``; or it leads outwards to an
attribute of an element around it: ``../@id``, ``ancestor::region/@name``. Behind it may stand what it gives, as XQuery
writes it: ``bidder/increase as xs:double*``. With ``*`` or ``+`` the column is a list. Anything else is an expression
that is computed for each element (:mod:`~xstreamcast.run.computed`).

With paths, everything from the kernel's arrays to Arrow's is done for many rows at once: no value is a Python object.

>>> path_column("bids", "bidder/increase as xs:double*").kind
'double*'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Protocol

import numpy as np

from xstreamcast.errors import Place, error
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.datetime import Date, DateTime
from xstreamcast.model.lexical import to_string
from xstreamcast.model.names import ATTRIBUTE, DOCUMENT, ELEMENT, TEXT, name_kind, name_local, name_uri
from xstreamcast.model.tree import Node, Tree
from xstreamcast.native.vector import Longs
from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.octets import Octets
from xstreamcast.scan.path import NODE, NodeTest, Path, Step, parse_path

_AS: Final = re.compile(r"^(?P<path>.*?)(?:\s+as\s+(?:xs:)?(?P<type>[A-Za-z]+)(?P<occurs>[?*+]?))?\s*$", re.DOTALL)
_NO_STEPS: Final = re.compile(r"""[\[\]|,'"$=<>\s]""")
_NAME: Final = r"(?:[^\W\d][\w.-]*|\*)(?::(?:[^\W\d][\w.-]*|\*))?"
_OUTWARDS: Final = re.compile(rf"(?:(?P<up>\.\.(?:/\.\.)*)|ancestor::(?P<name>{_NAME}))/(?P<attribute>@{_NAME})")
_STEPS: Final = re.compile(rf"\.|(?:\.//?)?(?:{_NAME}//?)*(?:@?{_NAME}|text\(\))")
_CASTS: Final = (" cast", " castable", " treat")
TYPES: Final = {
    "string": "string", "untypedAtomic": "string", "anyURI": "string", "token": "string",
    "integer": "long", "long": "long", "int": "long",
    "double": "double", "float": "double", "decimal": "decimal(38,18)",
    "boolean": "boolean", "date": "date", "dateTime": "timestamp",
}  # fmt: skip
"""Of XML Schema, and as Spark calls them."""


class Expression(Protocol):
    """The expression of a column that is no path, as a query that was compiled for it."""

    def targets(self, record: Path) -> tuple[Target, ...]:
        """The targets of a scan for the elements of a path."""

    def values(self, records: Sequence[Node], now: DateTime, place: Any) -> list[list[Item]]:
        """The atomic values that each element has; ``place`` tells where an element stands."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its path from the element, or the steps outwards, and its type; ``kind`` is "" if that is not known."""

    name: str
    path: Path
    up: int
    """How many elements outwards; 0: none; -1: to each ancestor that ``ancestor`` matches."""
    ancestor: NodeTest | None
    type: str
    repeated: bool | None
    computed: Expression | None = None
    """The expression, if it is no such path."""

    @property
    def kind(self) -> str:
        """The type in few letters, for messages and tests."""
        return self.type + ("*" if self.repeated else "")

    @property
    def ddl(self) -> str:
        """The column as Spark declares it."""
        return f"`{self.name}` " + (f"array<{self.type}>" if self.repeated else self.type)


def declared(name: str, text: str) -> tuple[str, str, bool | None]:
    """The path of a column, the type that is said behind it ("": none), and whether it is a list (None: not said)."""
    match = _AS.match(text.strip())
    assert match is not None, "the pattern matches anything"
    path = match["path"].strip()
    if path.endswith(_CASTS):
        return text.strip(), "", None  # cast as xs:date: the type is the expression's own
    if not match["type"]:
        return path, "", None
    if match["type"] not in TYPES:
        raise error("XPST0051", f"column {name}: no type xs:{match['type']}", hint=f"one of {', '.join(TYPES)}")
    return path, match["type"], match["occurs"] in ("*", "+")


def path_column(name: str, text: str, namespaces: Mapping[str, str] | None = None) -> Column | None:
    """A column of the option ``columns``; None where it is no path: an expression must be computed."""
    path, said, repeated = declared(name, text)
    kind = TYPES[said] if said else ""
    outwards = _OUTWARDS.fullmatch(path)
    if outwards:
        attribute = parse_path("/" + outwards["attribute"], namespaces)
        if outwards["up"]:
            return Column(name, attribute, outwards["up"].count(".."), None, kind, repeated)
        (step,) = parse_path("/" + outwards["name"], namespaces).steps
        return Column(name, attribute, -1, step.test, kind, repeated)
    if not _STEPS.fullmatch(path):
        return None
    inner = path.removeprefix(".")
    steps = parse_path(inner if inner.startswith("/") else "/" + inner, namespaces) if inner else Path()
    return Column(name, steps, 0, None, kind, repeated)


def parse_record(text: str, namespaces: Mapping[str, str] | None = None) -> Path:
    """The path of the elements that become rows."""
    if not text.startswith("/") or "@" in text or _NO_STEPS.search(text):
        hint = "a path from the document, by names: /site/regions/*/item or //item"
        raise error("XPST0003", f"record: {text!r}", hint=hint)
    return parse_path(text, namespaces)


def targets(record: Path, columns: Iterable[Column]) -> tuple[Target, ...]:
    """The targets of a scan for the columns."""
    made = [Target(record, Action.KEEP)]
    for column in columns:
        if column.computed is not None:
            made += column.computed.targets(record)
            continue
        if column.up == 0:
            made.append(Target(record / column.path, Action.PROJECT))
            continue
        steps = record.steps
        if column.up > 0:
            around = [Path(steps[: -column.up])] if len(steps) > column.up else []
            if any(step.deep for step in steps[-column.up :]):
                around = [Path((Step(NodeTest(ELEMENT), True),))]
        else:
            assert column.ancestor is not None
            around = [Path((Step(column.ancestor, True),))]
            if not any(step.deep for step in steps):
                around = [Path(steps[: k + 1]) for k, step in enumerate(steps[:-1]) if _may(step.test, column.ancestor)]
        made += [Target(each / column.path, Action.PROJECT) for each in around]
    return tuple(dict.fromkeys(made))


def _may(one: NodeTest, other: NodeTest) -> bool:
    """Whether one element can pass both."""
    return all(a is None or b is None or a == b for a, b in ((one.uri, other.uri), (one.local, other.local)))


# ---------------------------------------------------------------------------------------------------- in a tree


class Table:
    """A batch document as arrays."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.kinds = np.frombuffer(tree.kind, np.uint8)
        self.names = np.frombuffer(tree.name, np.int32)
        self.ups = np.frombuffer(tree.up, np.int32).astype(np.int64)
        self.sizes = np.frombuffer(tree.size, np.int32).astype(np.int64)
        self.octets = tree.octets if isinstance(tree.octets, Octets) else Octets.none()
        self._used: list[int] | None = None  # the names that occur
        self._texts: Longs | None = None
        self._numbers: Longs | None = None

    def passing(self, test: NodeTest) -> Longs:
        """The rows that pass a test, in document order."""
        if test.kind == TEXT:
            return np.flatnonzero(self.kinds == TEXT)
        if test.kind == NODE:
            return np.flatnonzero((self.kinds != ATTRIBUTE) & (self.kinds != DOCUMENT))
        if self._used is None:
            self._used = np.flatnonzero(np.bincount(self.names)).tolist()
        own = [k for k in self._used if name_kind[k] == test.kind]
        good = [k for k in own if test.matches(test.kind, name_uri[k], name_local[k])]
        if len(good) == 1:  # nearly always, and ten times as fast as to look each up
            return np.flatnonzero(self.names == good[0])
        return np.flatnonzero(np.isin(self.names, np.array(good, np.int32)))

    def step(self, owners: Longs, rows: Longs, step: Step) -> tuple[Longs, Longs]:
        """From pairs of a record and a row to those of the record and each row that a step leads to."""
        found = self.passing(step.test)
        if step.deep:
            if step.test.kind not in (ELEMENT, NODE):  # //@id, //text(): of the node itself or below
                first, last = np.searchsorted(found, rows), np.searchsorted(found, rows + self.sizes[rows], "right")
            else:
                first, last = np.searchsorted(found, rows + 1), np.searchsorted(found, rows + self.sizes[rows], "right")
        else:
            parents = found - self.ups[found]
            order = np.argsort(parents, kind="stable")
            found, parents = found[order], parents[order]
            first, last = np.searchsorted(parents, rows), np.searchsorted(parents, rows, "right")
        counts = last - first
        places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return np.repeat(owners, counts), found[places.astype(np.int64)]

    def walk(self, owners: Longs, rows: Longs, path: Path) -> tuple[Longs, Longs]:
        """As :meth:`step`, for all steps of a path; in document order, each row once for a record."""
        for step in path.steps:
            owners, rows = self.step(owners, rows, step)
        if sum(step.deep for step in path.steps) and len(path.steps) > 1 and len(rows):
            pairs = np.unique(np.stack([owners, rows]), axis=1)
            owners, rows = pairs[0], pairs[1]
        return owners, rows

    def records(self, path: Path, skipped: Sequence[int]) -> Longs:
        """The rows that a path from the document leads to, without those that came over from the batch before."""
        _, rows = self.walk(np.zeros(1, np.int64), np.zeros(1, np.int64), path)
        return rows[~np.isin(rows, np.array(skipped, np.int64))]

    def texts(self, path: Path) -> tuple[Any, Longs]:
        """The string values of the nodes of a path from the document, one after the other, and their bounds."""
        start = np.zeros(1, np.int64)
        _, rows = self.walk(start, start, path)
        joined, ends = self.values(rows)
        return joined, np.concatenate([start, ends])

    def column(self, column: Column, records: Longs) -> tuple[Longs, Longs]:
        """The rows of a column's values, and for each the number of its record."""
        owners = np.arange(len(records))
        if column.up == 0:
            return self.walk(owners, records, column.path)
        rows = records
        around: list[tuple[Longs, Longs]] = []
        level = 0
        while len(rows):
            inside = self.ups[rows] > 0
            owners, rows = owners[inside], rows[inside] - self.ups[rows[inside]]
            level += 1
            if column.ancestor is None:
                if level == column.up:
                    around.append((owners, rows))
                    break
            else:
                good = np.isin(rows, self.passing(column.ancestor))
                around.append((owners[good], rows[good]))
        if not around:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        owners, rows = (np.concatenate(side) for side in zip(*around, strict=True))
        order = np.lexsort((rows, owners))
        return self.walk(owners[order], rows[order], column.path)

    def values(self, rows: Longs) -> tuple[Any, Longs]:
        """The string values of rows, one after the other, and where each ends."""
        if self._texts is None or self._numbers is None:
            self._texts = np.flatnonzero(self.kinds == TEXT)
            self._numbers = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.kinds > ELEMENT)])
        texts, numbers = self._texts, self._numbers
        element = self.kinds[rows] == ELEMENT
        first = np.searchsorted(texts, rows)
        last = np.where(element, np.searchsorted(texts, rows + self.sizes[rows], "right"), first + 1)
        counts = last - first
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(first, counts) + within
        pieces = np.repeat(rows, counts)
        inner = np.repeat(element, counts)
        pieces[inner] = texts[places[inner]]
        which = numbers[pieces]
        bounds = self.octets.bounds
        raw = np.full(len(which), spans.RAW, np.uint8)
        joined, ends = spans.gathered(self.octets.joined, bounds[which], bounds[which + 1] - 1, raw)
        edges = np.concatenate([np.zeros(1, np.int64), ends])
        return joined, edges[np.cumsum(counts)]


# ---------------------------------------------------------------------------------------------------- to Arrow


@dataclass(frozen=True, slots=True)
class Found:
    """A column's values as text, one after the other; where each ends, and the number of its record."""

    owners: Longs
    joined: Any
    ends: Longs
    kinds: frozenset[type]
    """The classes of values that were computed."""

    @property
    def begins(self) -> Longs:
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]]) if len(self.ends) else self.ends


def found(table: Table, column: Column, records: Longs, now: DateTime, place: Any) -> Found:
    """The values of a column for the records of a batch; ``place(number)`` says where a record stands, for errors."""
    if column.computed is None:
        owners, rows = table.column(column, records)
        return Found(owners, *table.values(rows), frozenset())
    values = column.computed.values([Node((table.tree, row)) for row in records.tolist()], now, place)
    counts = [len(own) for own in values]
    items = [item for own in values for item in own]
    texts = [to_string(item).encode() for item in items]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    joined = np.frombuffer(bytearray(b"".join(texts)), np.uint8)
    return Found(np.repeat(np.arange(len(records)), counts), joined, ends, frozenset(map(type, items)))


def arrow(table: Table, column: Column, records: Longs, now: DateTime, place: Any) -> Any:
    """A column of the records of a batch."""
    import pyarrow as pa

    made = found(table, column, records, now, place)
    owners = made.owners
    values = typed(made, column, lambda k: place(int(owners[k])))
    counts = np.bincount(owners, minlength=len(records))
    if column.repeated:
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), values)
    if len(counts) and counts.max() > 1:
        hint = f"write the column as a list: as xs:{_xs(column.type)}*"
        where = place(int(np.argmax(counts > 1)))
        raise error("XPTY0004", f"column {column.name}: an element has {counts.max()} values", where, hint)
    if len(owners) == len(records):
        return values
    numbers = np.full(len(records), -1, np.int64)
    numbers[owners] = np.arange(len(owners))
    return values.take(pa.array(numbers, mask=numbers < 0))


def _xs(kind: str) -> str:
    return next(name for name, spark in TYPES.items() if spark == kind)


def typed(values: Found, column: Column, place: Any) -> Any:
    """Values side by side as an Arrow array of a column's type. FORG0001: one is not of that type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    joined, begins, ends = values.joined, values.begins, values.ends
    if column.type in ("long", "double"):
        read = spans.integers if column.type == "long" else spans.doubles
        numbers, good = read(joined, begins, ends)
        if not good.all():
            raise _refused(joined, begins, ends, int(np.argmin(good)), column, place)
        return pa.array(numbers)
    edges = np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int32)
    size = int(ends[-1]) if len(ends) else 0
    texts = pa.StringArray.from_buffers(len(ends), pa.py_buffer(edges), pa.py_buffer(joined[:size]))
    if column.type in ("string", ""):
        return texts
    trimmed = pc.utf8_trim(texts, " \t\r\n")
    good = np.asarray(pc.match_substring_regex(trimmed, _LEXICAL[column.type]).to_numpy(zero_copy_only=False))
    if not good.all():
        raise _refused(joined, begins, ends, int(np.argmin(good)), column, place)
    if column.type == "boolean":
        return pc.is_in(trimmed, pa.array(["true", "1"]))
    if column.type == "timestamp":
        zoned = pc.if_else(
            pc.match_substring_regex(trimmed, _ZONE), trimmed, pc.binary_join_element_wise(trimmed, "Z", "")
        )
        return pc.cast(zoned, pa.timestamp("us", "UTC"))
    return pc.cast(trimmed, pa.date32() if column.type == "date" else pa.decimal128(38, 18))


_ZONE: Final = r"(Z|[+-]\d\d:\d\d)$"
_LEXICAL: Final = {
    "boolean": "^(true|false|0|1)$",
    "date": r"^\d{4}-\d\d-\d\d$",
    "timestamp": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?$",
    "decimal(38,18)": r"^[+-]?(\d+(\.\d*)?|\.\d+)$",
}


def _refused(joined: Any, begins: Longs, ends: Longs, k: int, column: Column, place: Any) -> Exception:
    text = bytes(joined[begins[k] : ends[k]]).decode()
    hint = "say so in columns: as xs:string"
    return error("FORG0001", f"column {column.name}: {text[:60]!r} is no xs:{_xs(column.type)}", place(k), hint)


def inferred(columns: Sequence[Column], tables: Iterable[tuple[Table, Longs]], now: DateTime) -> list[Column]:
    """Columns whose type was not said: that of the values in a sample, where they have one.

    Of values that have none it is the narrowest of long, double and string that they allow.
    """
    samples = {column.name: _Sample() for column in columns if not column.type}
    for table, records in tables:
        for column in columns:
            if column.name in samples:
                samples[column.name].take(found(table, column, records, now, lambda _: None))
    return [
        replace(column, type=samples[column.name].type, repeated=samples[column.name].repeated)
        if column.name in samples
        else column
        for column in columns
    ]


class _Sample:
    """The types of the values so far."""

    def __init__(self) -> None:
        self.kinds: set[type] = set()
        self.longs = self.doubles = True
        self.seen = self.repeated = False

    def take(self, values: Found) -> None:
        spans_of = values.joined, values.begins, values.ends
        self.kinds |= values.kinds
        self.seen |= len(values.owners) > 0
        self.repeated |= len(np.unique(values.owners)) < len(values.owners)
        self.longs = self.longs and bool(spans.integers(*spans_of)[1].all())
        self.doubles = self.doubles and bool(spans.doubles(*spans_of)[1].all())

    @property
    def type(self) -> str:
        own = {_OWN_TYPES.get(kind, "string") for kind in self.kinds - {Untyped}}
        if len(own) == 1 and Untyped not in self.kinds:
            return min(own)
        if own - _NUMERIC or not self.seen or not self.doubles:
            return "string"
        return "long" if self.longs and own <= {"long"} else "double"


_OWN_TYPES: Final = {
    bool: "boolean", int: "long", float: "double", Float: "double", Decimal: "decimal(38,18)", Date: "date",
    DateTime: "timestamp",
}  # fmt: skip
_NUMERIC: Final = frozenset(("long", "double", "decimal(38,18)"))


def record_place(path: str, starts: Longs) -> Any:
    """Says where the record of a number stands."""
    return lambda number: Place(path, offset=int(starts[number]))
