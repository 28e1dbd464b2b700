"""The state of a continuous query on Spark: a log of what came, batch by batch, over a base that compacting made.

    saved = base ⊕ Δ₁ ⊕ … ⊕ Δₙ          what is live in memory can always be made from it again

Each micro-batch appends one blob, its changes in the order they were taken in. A *chain* tells states apart: the digest
of everything that led to one. When the log has outgrown the base, the changes that still say something become the new
base (:func:`compacted`). All rows are those of :data:`xstreamcast.model.change.ROW`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from xstreamcast.cast.region import Replacing
from xstreamcast.errors import error
from xstreamcast.model.change import ROOT, ROW, Eos, Fill, Freeze, Hide, Remove, Show, to_row
from xstreamcast.model.structure import write_structure
from xstreamcast.model.time import START
from xstreamcast.spark.motion.brought import LATE, TICK, Row

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region, Regions
    from xstreamcast.model.change import Change

FORMAT: Final = 6
"""The version of the saved form. What one before 5 leads to is numbered otherwise, up to 3 by the hash seed of the
process, in 4 by an engine of objects: such a state cannot be gone on from exactly, and is refused. 5 has no marks."""
_READ: Final = (5, FORMAT)
UNREAD: Final = b"-"
"""The digest of a filling that stands for content which nobody reads and which was not kept."""


class Store(Protocol):
    """Where the state of one key is kept: a head, blobs by version, parts of the base by number."""

    def head(self) -> tuple[int, bytes] | None:
        """The format and the head; None: nothing has been saved."""

    def put_head(self, format: int, head: bytes) -> None: ...

    def delta(self, version: int) -> bytes: ...

    def put_delta(self, version: int, blob: bytes) -> None: ...

    def drop_delta(self, version: int) -> None: ...

    def part(self, number: int) -> bytes: ...

    def put_part(self, number: int, blob: bytes) -> None: ...

    def drop_part(self, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Rising:
    """A base that is being made, of the state ``at`` a version: ``parts`` blobs in a ``bank`` of their own.

    ``step``: so many rows are taken in at a time; ``taken``: how often that has been done, and then with blobs
    of the log behind it. ``size`` is in bytes; ``log_bytes``, ``log_rows``: those of the log that are in it.
    """

    at: int
    chain: str
    bank: int
    parts: int
    step: int
    rows: int = 0
    size: int = 0
    log_bytes: int = 0
    log_rows: int = 0
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a state without looking into it.

    ``first``: the first version that is in the log, not in the base; ``parts``: how many blobs of rows the base has;
    one more tells the answers. ``n``: how many changes have come; ``log_rows``: how many of them the log has. ``due``:
    compact when the log has so many bytes. ``job``: the digest of what is asked; empty where nothing is (routes).
    ``bank``, ``step``, ``rows``: of the base; see :class:`Rising`; ``adopts``: the version at which an engine made from
    it takes over what has been told (at least that of the base); ``kept``: the first version whose blob has not been
    dropped; ``rising``: the next base. ``mark``: the version at which what has been told was saved, if it was;
    ``mark_bytes``: how many that took; ``mark_log``: those of the log then.
    """

    birth: str
    version: int = 0
    chain: str = ""
    n: int = 0
    first: int = 1
    parts: int = 0
    base_bytes: int = 0
    log_bytes: int = 0
    log_rows: int = 0
    due: int = 0
    job: str = ""
    bank: int = 0
    step: int = 0
    rows: int = 0
    adopts: int = 0
    kept: int = 1
    rising: Rising | None = None
    mark: int = 0
    mark_bytes: int = 0
    mark_log: int = 0

    @property
    def size(self) -> int:
        """Bytes that are saved."""
        return self.base_bytes + self.log_bytes + self.mark_bytes + (0 if self.rising is None else self.rising.size)

    def after(self, blob: bytes, changes: int) -> Head:
        """With one more blob in the log."""
        chain = blake2b(f"{self.birth}{self.chain}".encode() + blob, digest_size=16).hexdigest()
        return replace(
            self,
            version=self.version + 1,
            chain=chain,
            n=self.n + changes,
            log_bytes=self.log_bytes + len(blob),
            log_rows=self.log_rows + changes,
        )


def read_head(store: Store) -> Head | None:
    """The head of what is saved, if it is of this format."""
    saved = store.head()
    if saved is None:
        return None
    format, data = saved
    if format not in _READ:
        hint = "start with a new checkpoint location, or with the version that wrote this one"
        raise error("XSC0062", f"a state of format {format}; this version reads format {FORMAT}", hint=hint)
    fields = json.loads(data)
    rising = fields.pop("rising")
    return Head(**fields, rising=None if rising is None else Rising(**rising))


def write_head(store: Store, head: Head) -> None:
    store.put_head(FORMAT, json.dumps(asdict(head)).encode())


def row_of(change: Change, stream: str) -> Row:
    """A change as a row without a number."""
    return dict(zip(ROW, to_row(change, stream, 0), strict=True))


# ------------------------------------------------------------------------------------------------------- compacting


def compacted(
    log: Iterable[Row], tables: Mapping[str, Regions], now: int | None, open_holes: bool = False
) -> Iterator[Row] | None:
    """The rows that are enough to bring the tables about which all of the log has brought about; None: not now.

    ``open_holes``: it makes a difference whether what is not there has been removed or has not come.
    A stream whose updates are regions inside others (XFlux) keeps its whole log: what dies with what depends on it.
    """
    if any(table.waiting for table in tables.values()):
        return None
    rows = [row for row in log if row["order"] != LATE]
    whole = {row["stream"] for row in rows if row["target"] is not None or b"mutable" in (row["content"] or b"")}
    made: list[Row] = []
    for stream, table in tables.items():
        mine = (row for row in rows if row["stream"] == stream)
        if stream in whole:
            made += mine
            continue
        found = _contents(mine, table)
        if found is None:
            return None
        if table.structure is not None:
            made.append(structure_row(stream, 0, write_structure(table.structure)))
        made += found
        made += [row_of(change, stream) for change in _flags(table, open_holes)]
    if now is not None:
        made.append(tick_row(now))
    return iter(made)


def structure_row(stream: str, seq: int, text: str) -> Row:
    """The row that tells a tag structure after so many changes: it is none, so that it is not counted."""
    return {
        **dict.fromkeys(ROW), "stream": stream, "seq": seq, "change": "structure", "doc": "", "content": text.encode(),
    }  # fmt: skip


def tick_row(now: int) -> Row:
    """The row that says what time it is."""
    return {**dict.fromkeys(ROW), "stream": "", "seq": 0, "change": TICK, "doc": "", "valid_time": now}


def _contents(rows: Iterable[Row], table: Regions) -> list[Row] | None:
    """The last row for each filling that the table holds, as of the version it has there; None if one is missing.

    Roots come first: what comes behind them finds its place at once, not all together with the root.
    """
    found: dict[int, Row] = {}
    for row in rows:
        if row["content"] is None or row["change"] in ("structure", "quarantine"):
            continue
        region = table.table.get((row["doc"] or "", row["region"] or 0))
        filling = None if region is None else _held(region, row, table)
        if region is not None and filling is not None:
            found.pop(id(filling), None)
            found[id(filling)] = {**row, **_said(filling, region, row)}
    for region in table.table.values():
        for filling in region.fillings():
            if filling.content is not None and id(filling) not in found and filling.digest != UNREAD:
                return None
    return sorted(found.values(), key=lambda row: row["region"] not in (None, ROOT))


def _said(filling: Filling, region: Region, row: Row) -> Row:
    """How a filling is told again: an event that came instead of others keeps these away, in its place among them."""
    if region.events and filling is not region.current and isinstance(filling, Replacing):
        return {"change": "replace", "version": row["version"]}
    return {"change": "fill", "version": filling.version}


def _held(region: Region, row: Row, table: Regions) -> Filling | None:
    """The filling that a row brought, if it is still what is known."""
    at = START if row["valid_time"] is None else row["valid_time"]
    tsid = table.root_tsid(region.id) if row["tsid"] is None else row["tsid"]
    if region.events:
        event = tsid, at, row["version"] or 0, blake2b(row["content"], digest_size=16).digest()
        if event in region.events:
            return region.events[event]
    for filling in (region.versions.get((tsid, at)), region.current):
        if filling is not None and filling.content is not None and table.says(filling, row["content"]):
            return filling
    return None


def _flags(table: Regions, open_holes: bool) -> Iterator[Change]:
    """What else the table knows: ends of lives, what is hidden, what is frozen, whether the stream has ended."""
    for (doc, number), region in table.table.items():
        for filling in region.fillings():
            if filling.content is not None:
                continue
            if filling.version is None and filling.valid_time is None:
                if open_holes:  # a removal says nothing of what has never been there
                    yield Fill(region=number, doc=doc, tsid=filling.tsid, content=b"")
                    yield Remove(region=number, doc=doc, tsid=filling.tsid)
            else:
                tsid = next((key[0] for key, one in region.versions.items() if one is filling), filling.tsid)
                yield Remove(region=number, doc=doc, tsid=tsid, version=filling.version, valid_time=filling.valid_time)
        if region.hidden or region.hidden_version is not None:
            kind = Hide if region.hidden else Show
            yield kind(region=number, doc=doc, version=region.hidden_version)
        if region.frozen:
            yield Freeze(region=number, doc=doc, version=region.frozen_version)
    if table.ended:
        yield Eos()
