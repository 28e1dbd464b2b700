"""A feed on Spark: documents that bring records by a key, as a stream of a continuous query.

>>> articles = feed("/PubmedArticleSet/PubmedArticle", key="MedlineCitation/PMID", source="pubmed/")   # doctest: +SKIP
>>> motion = continuous(spark, 'count(stream("pubmed")//PubmedArticle)', {"pubmed": articles})         # doctest: +SKIP

The feed is that of :mod:`xstreamcast.feeds`. Its books lie in the state of an operator of its own, which has one key:
what a batch gives is a function of the saved books and of the batch's documents, in the order of their ``seq``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote, urlsplit
from uuid import uuid4
from zlib import compress, decompress

from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.errors import Place, XStreamError, error, missing_file
from xstreamcast.feeds.feed import Feed
from xstreamcast.feeds.known import Entry, Known
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.spark.motion.keeper import packed_tuples
from xstreamcast.spark.motion.micro_batch import Pool, own_workers
from xstreamcast.spark.motion.rows import arrival_rows
from xstreamcast.wire.fragment import Arrival

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.model.change import ChangeRow

_FILES: Final = "path string, modificationTime timestamp, length long, content binary"
_LIMITS: Final = ("maxFilesPerTrigger", "maxBytesPerTrigger")
"""The options of a stream that Spark's source of files knows, too."""
_GONE: Final = ("XSC0006", "XSC0063")
"""What is so of a file, not of what is written in it: the batch cannot be done."""
_FEW: Final = 1 << 15
"""So many notes may be past before the log is looked at, and so many are in a part of a log that is written anew."""
_PARTS: Final = 1 << 8
"""So many parts a log may have, and two for each that is full."""


@dataclass(frozen=True)
class FeedSource:
    """What the records of documents are, and where the documents come from; see :func:`feed`."""

    record: str
    key: str | None
    time: str | None
    removed: str | None
    whole: bool
    namespaces: tuple[tuple[str, str], ...]
    dtd: str | None
    catalog: str | None

    def made(self, report: Any) -> Feed:
        """The feed, before anything has come."""
        return Feed(
            self.record, key=self.key, time=self.time, removed=self.removed, whole=self.whole,
            namespaces=dict(self.namespaces), dtd=self.dtd, catalog=self.catalog, report=report,
        )  # fmt: skip


class Fed:
    """A feed, and its source: what :func:`~xstreamcast.spark.continuous` takes as a stream."""

    def __init__(
        self, spec: FeedSource, source: str | PathLike[str] | Sequence[str | PathLike[str]] | DataFrame
    ) -> None:
        self.spec, self.source = spec, source
        self.pool = Pool()
        """Workers of its own: so the books live in one of them."""

    def rows(self, spark: SparkSession, stream: str, options: Mapping[str, str]) -> DataFrame:
        """The changes that the documents bring, as change rows of a stream."""
        from xstreamcast.spark.motion.association import unpacked
        from xstreamcast.spark.motion.stream_source import PACKED

        frame = self._documents(spark, stream, options)
        with own_workers(spark, self.pool):
            told = frame.groupBy("bucket").transformWithState(Feeder(stream, self.spec), PACKED, "append", "none")
        return unpacked(told)

    def _documents(self, spark: SparkSession, stream: str, options: Mapping[str, str]) -> DataFrame:
        """The documents, each with its place in the order: a number, then a name."""
        from functools import reduce

        from pyspark.sql import functions as f

        one_key = f.lit(0).alias("bucket")
        if isinstance(self.source, DataFrame):
            if not self.source.isStreaming or not {"content", "seq"} <= set(self.source.columns):
                hint = "frame.selectExpr('value AS content', 'offset AS seq'); a file or a folder is a path"
                message = f'the documents of "{stream}" do not stream, or have no columns content and seq'
                raise error("XSC0068", message, hint=hint)
            number, content = f.col("seq").cast("long"), f.col("content").cast("binary")
            return self.source.select(
                one_key, number.alias("seq"), f.lit("").alias("name"), f.lit(None).cast("long").alias("length"),
                content.alias("content"),
            )  # fmt: skip
        limits = {name: options[name] for name in _LIMITS if name in options}
        folders = [self.source] if isinstance(self.source, str | PathLike) else self.source
        frames = [
            # What is in the files is read where they are taken in: nobody has all of it in memory.
            spark.readStream.format("binaryFile").schema(_FILES).options(**limits).load(fspath(folder))
            .select(
                one_key, f.lit(number).cast("long").alias("seq"), f.col("path").alias("name"), f.col("length"),
                f.lit(None).cast("binary").alias("content"),
            )
            for number, folder in enumerate(folders)
        ]  # fmt: skip
        return reduce(DataFrame.unionByName, frames)


def feed(
    record: str,
    *,
    source: str | PathLike[str] | Sequence[str | PathLike[str]] | DataFrame,
    key: str | None = None,
    time: str | None = None,
    removed: str | None = None,
    whole: bool = False,
    namespaces: Mapping[str, str] | None = None,
    dtd: str | PathLike[str] | None = None,
    catalog: str | PathLike[str] | None = None,
) -> Fed:
    """Documents that bring records, as a stream of :func:`~xstreamcast.spark.continuous`.

    ``source`` is a folder that grows, several of them, or a streaming DataFrame with columns ``content``, the XML of a
    document or a record, and ``seq``, its place. Everything else is as in :class:`xstreamcast.Feed`: after each
    micro-batch the answer is that of the embedded feed over the same documents in the same order.
    """
    spec = FeedSource(
        record, key, time, removed, whole, tuple(sorted((namespaces or {}).items())),
        None if dtd is None else fspath(dtd), None if catalog is None else fspath(catalog),
    )  # fmt: skip
    spec.made(None).close()  # so that what is wrong with it is said at once
    return Fed(spec, source)


# ---------------------------------------------------------------------------------------------------------- the books


class Store(Protocol):
    """Where the books of a feed are saved: a head, and a log of what was noted."""

    def head(self) -> str | None: ...
    def put_head(self, head: str) -> None: ...
    def part(self, number: int) -> bytes: ...
    def put_part(self, number: int, blob: bytes) -> None: ...
    def drop_part(self, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Head:
    """Which parts of the log count, how many notes are in them, and a digest of all that ever was."""

    birth: str
    first: int = 0
    end: int = 0
    notes: int = 0
    chain: str = ""

    def after(self, blob: bytes, notes: int) -> Head:
        """… with one more part."""
        chain = blake2b(self.chain.encode() + blob, digest_size=16).hexdigest()
        return replace(self, end=self.end + 1, notes=self.notes + notes, chain=chain)


class Journal:
    """The books of a feed (:class:`~xstreamcast.feeds.known.Books`) in a database of this worker, and what a batch has
    noted in them, which goes to the log. Of a document that is put aside nothing is noted."""

    place: Place | None = None

    def __init__(self, head: Head) -> None:
        self.head = head
        self.known = Known(None)
        self.said: dict[str, str] = {}
        self.noted: dict[str, Entry] = {}
        self._inside = False

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is noted inside is noted together, or not at all."""
        if self._inside:
            yield  # part of something whole
            return
        before = self.said, self.noted
        self.said, self.noted, self._inside = {}, {}, True
        try:
            with self.known.whole():
                yield
            self.said, self.noted = before[0] | self.said, before[1] | self.noted
        except BaseException:
            self.said, self.noted = before
            raise
        finally:
            self._inside = False

    def get(self, what: str, otherwise: str = "") -> str:
        return self.known.get(what, otherwise)

    def put(self, what: str, value: str) -> None:
        self.known.put(what, value)
        self.said[what] = value

    def record(self, key: str) -> tuple[int, bytes | None, int | None] | None:
        return self.known.record(key)

    def note(self, key: str, number: int, digest: bytes | None, seen: int, tag: int | None) -> None:
        self.known.note(key, number, digest, seen, tag)
        self.noted[key] = number, digest, seen, tag

    def unseen(self, seen: int) -> list[tuple[str, int]]:
        return self.known.unseen(seen)

    def has_read(self, name: str, stamp: str) -> bool:
        """Spark knows which documents have come."""
        return False

    def read(self, name: str, stamp: str) -> None:
        """Spark knows which documents have come."""

    def close(self) -> None:
        """The books live as long as the worker, or until it has newer ones."""

    def replay(self, blob: bytes) -> None:
        """Note what a part of the log says."""
        part = json.loads(decompress(blob))
        with self.known.whole():
            for what, value in part["said"].items():
                self.known.put(what, value)
            for key, number, digest, seen, tag in part["records"]:
                self.known.note(key, number, None if digest is None else bytes.fromhex(digest), seen, tag)

    def save(self, store: Store) -> None:
        """Add what was noted to the log; a log with more that is past than is not is written anew."""
        head = self.head
        blob = _part(self.said, self.noted.items())
        store.put_part(head.end, blob)
        head = head.after(blob, len(self.noted))
        count = self.known.count()
        if head.notes > 2 * count + _FEW or head.end - head.first > 2 * (count // _FEW) + _PARTS:
            first, head = head.first, replace(head, first=head.end, notes=count)
            for number in range(first, head.first):
                store.drop_part(number)
            entries, said = self.known.entries(), dict(self.known.texts())
            while (some := list(islice(entries, _FEW))) or said:
                store.put_part(head.end, _part(said, some))
                head, said = replace(head, end=head.end + 1), {}
        store.put_head(json.dumps(asdict(head)))
        self.head, self.said, self.noted = head, {}, {}


def _part(said: Mapping[str, str], notes: Iterable[tuple[str, Entry]]) -> bytes:
    """A part of the log."""
    rows = [[key, entry[0], None if entry[1] is None else entry[1].hex(), *entry[2:]] for key, entry in notes]
    return compress(json.dumps({"said": said, "records": rows}, ensure_ascii=False).encode(), 1)


_LIVE: Final = 16
"""The books of so many feeds a worker keeps between batches."""
_JOURNALS: dict[str, Journal] = {}
"""The books that live in this worker, by the birth of their state."""


def journal_of(store: Store) -> Journal:
    """The books as they are saved: those of this worker, if they are as far, or made anew from the log."""
    saved = store.head()
    head = Head(uuid4().hex) if saved is None else Head(**json.loads(saved))
    # While a batch goes on they are nobody's: what fails in the middle is not used again.
    journal = _JOURNALS.pop(head.birth, None)
    if journal is None or journal.head != head:
        if journal is not None:
            journal.known.close()
        journal = Journal(head)
        for number in range(head.first, head.end):
            journal.replay(store.part(number))
    return journal


# ------------------------------------------------------------------------------------------------------- the operator


@dataclass(slots=True)
class _Alive:
    """A feed that lives in this worker from batch to batch: its expressions are compiled once."""

    feed: Feed
    found: list[Diagnostic]


_FEEDS: dict[FeedSource, _Alive] = {}
Document = tuple[str, int | None, bytes | None]
"""Its name, and its bytes; or the length of the file that it is, and None."""


def fed(stream: str, spec: FeedSource, store: Store, documents: Iterable[Document]) -> Iterator[ChangeRow]:
    """The change rows of a batch of documents, which go on where the saved books are; then these are saved."""
    books = journal_of(store)
    alive = _FEEDS.get(spec)
    if alive is None:
        found: list[Diagnostic] = []
        alive = _FEEDS[spec] = _Alive(spec.made(found.append), found)
    alive.feed.open(books)
    for name, length, content in documents:
        seq = int(books.get("seq", "0"))
        place = Place(name)
        alive.found.clear()
        changes: list[Structure | Change] = []
        try:
            with books.whole():
                for part, given in _parts(name, length, content):
                    changes += alive.feed.changes(given, name=part)
        except XStreamError as fault:
            if fault.code in _GONE:
                raise
            changes = []
            alive.feed.open(books)
            alive.found.append(Diagnostic(fault.code, "quarantine", fault.message, fault.place or place))
        rows = arrival_rows([Arrival(item, place, 0) for item in [*changes, *alive.found]], stream, seq)
        books.put("seq", str(seq + sum(isinstance(item, Change) for item in changes)))
        yield from rows
    books.save(store)
    _JOURNALS[books.head.birth] = books
    while len(_JOURNALS) > _LIVE:
        _JOURNALS.pop(next(iter(_JOURNALS))).known.close()


def _parts(name: str, length: int | None, content: bytes | None) -> Iterator[tuple[str, Any]]:
    """A document, or those of an archive: what it is called, and itself."""
    if length is None:
        yield name, content or b""
        return
    url = urlsplit(name)
    if url.scheme not in ("", "file"):
        from pyarrow import fs

        files, path = fs.FileSystem.from_uri(name)
        _unchanged(name, files.get_file_info(path).size, length)
        with files.open_input_stream(path, compression=None) as stream:
            yield name, stream
        return
    from xstreamcast.run.stored import opened

    local = Path(unquote(url.path))
    _unchanged(str(local), local.stat().st_size if local.is_file() else None, length)
    for document in opened([local]):
        yield str(document), document


def _unchanged(name: str, size: int | None, length: int) -> None:
    if size is None:
        raise missing_file(name, "a document is gone that is still needed", "keep it until its batch is committed")
    if size != length:
        hint = "do not write into documents that are being read: add new ones"
        raise error("XSC0063", f"it has {size:,} bytes, and had {length:,} when it was listed", Place(name), hint)


class SparkStore:
    """The books of the key at hand, in Spark's state store."""

    def __init__(self, handle: Any) -> None:
        self._head = handle.getValueState("books", "head string")
        self._log = handle.getMapState("notes", "number long", "part binary")

    def head(self) -> str | None:
        found = self._head.get()
        return None if found is None else str(found[0])

    def put_head(self, head: str) -> None:
        self._head.update((head,))

    def part(self, number: int) -> bytes:
        return bytes(self._log.getValue((number,))[0])

    def put_part(self, number: int, blob: bytes) -> None:
        self._log.updateValue((number,), (blob,))

    def drop_part(self, number: int) -> None:
        self._log.removeKey((number,))


class Feeder(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """The stateful operator: documents in, packed rows of changes out."""

    def __init__(self, stream: str, spec: FeedSource) -> None:
        self.stream, self.spec = stream, spec

    def init(self, handle: Any) -> None:
        self.store = SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        documents = sorted(rows, key=lambda row: (row.seq, row.name))
        given = ((row.name, row.length, None if row.content is None else bytes(row.content)) for row in documents)
        yield from packed_tuples(0, fed(self.stream, self.spec, self.store, given))

    def close(self) -> None:
        """There is nothing to give back."""
