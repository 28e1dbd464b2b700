"""Records by their keys → changes: fills of what is new, replacements of what is different, removals of what is gone.

>>> from io import BytesIO
>>> feed = Feed("/list/book", key="@id")
>>> first = list(feed.changes(BytesIO(b'<list><book id="a">1</book><book id="b">2</book></list>')))
>>> [change.kind for change in first[1:]]  # after the structure: a page, its section, the root; two books
['fill', 'fill', 'fill', 'fill', 'fill']
>>> [change.content for change in feed.changes(BytesIO(b'<list><book id="b">3</book><book id="a">1</book></list>'))]
[b'<book id="b">3</book>']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from os import PathLike
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Final

from xstreamcast.errors import Place, XStreamError, error, file_error
from xstreamcast.feeds.known import Books, Known, belong
from xstreamcast.feeds.places import around_content, grown, is_record, region
from xstreamcast.feeds.records import Record, Records, Removal
from xstreamcast.feeds.tags import Tags
from xstreamcast.model.change import ROOT, Change, Eos, Fill, Remove, Replace
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.model.findings import Findings
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, TagType, parse_structure, write_structure
from xstreamcast.model.time import Instant, parse_instant
from xstreamcast.scan.archives import is_document, stamp_of
from xstreamcast.scan.encoding import source_name
from xstreamcast.scan.external import named
from xstreamcast.scan.given import Given, readable

Brought = Record | Removal | Diagnostic
_LOT: Final = 1024
"""So many records are taken in at once, where as many are there."""
_EVENTS: Final = 1
"""The region of all events."""


class Feed:
    """Documents that bring records, as one stream.

    ``record`` is the path from the root to the records: ``/feed/entry``; ``*`` is any name, and there may be several
    paths, ``/osm/node|/osmChange/*/node``: records stand where the first says. A record whose ``key`` (an XQuery
    expression with the record as its context) has come before takes the place of the former one; without a key every
    record is a new one. With a ``time`` (an expression, too) records are versions in time; without a key, events.
    ``removed``, an expression over the document, leads to records that are gone, ``/osmChange/delete/node``, or gives
    their keys; if documents are ``whole``, all that they do not bring are. ``state`` is a file by which another run
    goes on; ``report`` hears of records that were put aside, and of documents without any: without one it is warned of
    them after each document, of each kind once, with how many there were; ``warnings`` has all of them. ``dtd`` and
    ``catalog`` are those of :func:`xstreamcast.query`.
    """

    def __init__(
        self,
        record: str,
        *,
        key: str | None = None,
        time: str | None = None,
        removed: str | None = None,
        whole: bool = False,
        namespaces: Mapping[str, str] | None = None,
        state: str | Path | None = None,
        report: Callable[[Diagnostic], None] | None = None,
        dtd: str | PathLike[str] | None = None,
        catalog: str | PathLike[str] | None = None,
    ) -> None:
        if key is None and (removed is not None or whole):
            raise error("XSC0120", "what is gone is known by its key", hint="say what the key of a record is")
        self.keyed, self.timed, self.removes, self.whole = key is not None, time is not None, removed is not None, whole
        self.report = Findings(report)
        self.namespaces = dict(namespaces or {})
        self.records = Records(record, key, time, removed, namespaces or {}, named(dtd, catalog))
        self._about = f"({self.records.about}, {key!r}, {time!r}, {removed!r}, {whole!r})"
        self.known: Books = Known(state)
        self.open(self.known)
        self.counts: Counter[str] = Counter()
        """How many records were ``new``, ``changed``, ``removed``, ``same``, ``aside``."""
        self._refused: dict[str, str] = {}

    def open(self, books: Books) -> None:
        """Go on where books are. XSC0121: they are those of another feed."""
        if books is not self.known:
            self.known.close()
        belong(books, self._about)
        self.known = books
        self.tags = self._announced()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The records that were put aside, and documents without a record, with how many there were."""
        return self.report.texts()

    @property
    def documents(self) -> int:
        """How many documents have been read, or are being read."""
        return int(self.known.get("documents", "0"))

    def is_record(self, change: Change) -> bool:
        """Whether a change is one of a record, not of what holds records together."""
        return is_record(change.region)

    @property
    def begun(self) -> bool:
        """Whether something was read before."""
        return bool(self.known.get("documents"))

    def documents_in(self, sources: Sequence[str], *, follow: bool, poll: float) -> Iterator[str | None]:
        """The documents of files, folders and archives that have not been read yet; with ``follow``, also those that
        appear there later, and None where nothing has for ``poll`` seconds."""
        from xstreamcast.feeds.documents import documents

        return documents(self, sources, follow, None, poll)

    def has_read(self, path: Path) -> bool:
        """Whether a file was read before, as it is."""
        return self.known.has_read(str(path.resolve()), _stamp(path))

    def has_refused(self, path: Path) -> bool:
        """Whether a file, as it is, could not be read when this run came to it."""
        return self._refused.get(str(path.resolve())) == _stamp(path)

    def _announced(self) -> Tags:
        """The tags that who listens knows of."""
        type: TagType = "filler" if not self.timed else "temporal" if self.keyed else "event"
        tags = Tags(self.records.around, self.records.names, type)
        structure = self.structure()
        if structure is not None:
            tags.restore(structure)
        return tags

    def structure(self) -> Structure | None:
        """The structure that was announced before: the beginning of a further stream of the same feed."""
        text = self.known.get("structure")
        return parse_structure(text) if text else None

    def changes(
        self, document: Given, told: Callable[[], None] = lambda: None, name: str = ""
    ) -> Generator[Structure | Change, None, None]:
        """The changes of a document. When all of it has been taken, ``told`` is called, and then it is remembered.

        What cannot be read again is remembered as it comes, so that ``told`` is called for each part. Of a file that
        turns out not to be well-formed nothing is remembered: what came of it before the error is to be forgotten.
        ``name``: what the document is called, if it is a copy of one that is elsewhere.
        """
        source = readable(document)
        name = name or source_name(source)
        found = self.records.read(source, name)
        if isinstance(source, str | Path) and is_document(Path(source)):
            yield from self._file(Path(source), found, told, name)
        else:
            yield from self._pieces(found, name, told)
        self.report.tell()

    def _pieces(self, found: Iterator[Brought], name: str, told: Callable[[], None]) -> Iterator[Structure | Change]:
        with self.known.whole():
            seen = self._count("documents")
        for lot in _as_they_come(found) if name == "<stdin>" else _lots(found):
            with self.known.whole():
                yield from self._lot(lot, seen, name)
                told()
        with self.known.whole():
            yield from self._gone(seen)
            told()

    def _file(
        self, path: Path, found: Iterator[Brought], told: Callable[[], None], name: str
    ) -> Iterator[Structure | Change]:
        stamp, counts = _stamp(path), self.counts.copy()  # of what is read: it may be another file by the end
        try:
            with self.known.whole():
                seen = self._count("documents")
                for lot in _lots(found):
                    yield from self._lot(lot, seen, name)
                yield from self._gone(seen)
                if name == source_name(path):
                    self.known.read(str(path.resolve()), stamp)
                told()
        except BaseException as fault:
            if isinstance(fault, XStreamError):
                self._refused[str(path.resolve())] = stamp
            self.counts, self.tags = counts, self._announced()
            raise

    def _lot(self, lot: list[Brought], seen: int, name: str) -> Iterator[Structure | Change]:
        taken: list[tuple[Record | Removal, Instant | None, int]] = []
        for one in lot:
            time = self._time(one, name) if not isinstance(one, Diagnostic) else one
            if isinstance(time, Diagnostic):
                self.counts["aside"] += time.severity == "quarantine"
                self.report(time)
            elif isinstance(one, Record):
                taken.append((one, time, self.tags.look(one.element)))
            elif isinstance(one, Removal):
                taken.append((one, None, 0))
        structure = self.tags.news() if taken else None
        if structure is not None:
            self.known.put("structure", write_structure(structure))
            yield structure
        before = int(self.known.get("records", "0"))
        changes: list[Change] = []
        number = before
        for one, time, tag in taken:
            if isinstance(one, Removal):
                self._removal(one.key, seen, changes)
            else:
                number = self._record(one, time, tag, seen, number, changes)
        if number != before:
            self.known.put("records", str(number))
            yield from self._room(before, number)
        yield from changes

    def _room(self, before: int, after: int) -> Iterator[Change]:
        """Holes for what is new; all events have one."""
        if self.keyed or not self.timed:
            yield from grown(before, after, self.records.around, self.tags.only)
        elif not before:
            tag = f' tsid="{self.tags.only}"' if self.tags.only is not None else ""
            hole = f'<stream:hole id="{_EVENTS}"{tag}/>'.encode()
            yield Fill(region=ROOT, tsid=1, version=0, content=around_content(self.records.around, hole))

    def _time(self, brought: Record | Removal, name: str) -> Instant | Diagnostic | None:
        """The time of a record, if it has one; or what is wrong with the record, or the removal."""
        place = Place(name)
        if isinstance(brought, Removal):
            return None if brought.key else Diagnostic("XSC0122", "quarantine", "a removal without a key", place)
        tag = brought.element.lexical
        if self.keyed and not brought.key:
            text = excerpt(brought.element.string[:400].encode())
            return Diagnostic("XSC0122", "quarantine", f"a record, {tag}, without a key", place, text)
        if not self.timed:
            return None
        try:
            return parse_instant(brought.time.strip())
        except XStreamError as fault:
            which = f"the record {brought.key}" if self.keyed else tag
            return Diagnostic(fault.code, "quarantine", f"{fault.message}, in {which}", place)

    def _record(
        self, record: Record, time: Instant | None, tag: int, seen: int, number: int, changes: list[Change]
    ) -> int:
        """Tell of a record; the number of the next new one."""
        content = serialise([record.element]).encode()
        if not self.keyed:
            self.counts["new"] += 1
            place = _EVENTS if self.timed else region(number)
            # Two messages that are equal, at one instant, are two events: their versions differ.
            changes.append(
                Fill(region=place, tsid=tag, version=self._count("changes"), valid_time=time, content=content)
            )
            return number + 1
        digest = blake2b(f"{time} ".encode() + content, digest_size=16).digest()
        known = self.known.record(record.key)
        if known is not None and known[1] == digest:
            self.counts["same"] += 1
            if self.whole:
                self.known.note(record.key, known[0], digest, seen, tag)
            return number
        own = number if known is None else known[0]
        lives = known is not None and known[1] is not None
        self.counts["changed" if lives else "new"] += 1
        self.known.note(record.key, own, digest, seen, tag)
        if known is not None and lives and self.timed and self._tag(known[2]) != tag:
            # Versions of one tag follow each other: those of the name that it had before end here.
            version = self._count("changes")
            changes.append(Remove(region=region(own), tsid=self._tag(known[2]), version=version, valid_time=time))
        kind = Replace if lives and not self.timed else Fill
        version = self._count("changes")
        changes.append(kind(region=region(own), tsid=tag, version=version, valid_time=time, content=content))
        return number + 1 if known is None else number

    def _removal(self, key: str, seen: int, changes: list[Change]) -> None:
        known = self.known.record(key)
        if known is None or known[1] is None:
            return  # it was never here
        self.counts["removed"] += 1
        tag = self._tag(known[2])
        self.known.note(key, known[0], None, seen, tag)
        changes.append(Remove(region=region(known[0]), tsid=tag, version=self._count("changes")))

    def _tag(self, known: int | None) -> int | None:
        """The tag of a record that is known; books of before tags were noted are of records that have the same."""
        return self.tags.only if known is None else known

    def _gone(self, seen: int) -> Iterator[Change]:
        """The removals of records that a whole document does not have."""
        changes: list[Change] = []
        for key, _ in self.known.unseen(seen) if self.whole else ():
            self._removal(key, seen, changes)
        yield from changes

    def _count(self, what: str) -> int:
        number = int(self.known.get(what, "0")) + 1
        self.known.put(what, str(number))
        return number

    def end(self) -> Eos:
        """There will be no more documents."""
        return Eos()

    def close(self) -> None:
        """Let go of the state."""
        self.known.close()


def _stamp(path: Path) -> str:
    try:
        size, written = stamp_of(path)
    except OSError as fault:
        raise file_error(fault, path, "it was there a moment ago") from None
    return f"{size} {written}"


def _lots(found: Iterator[Brought]) -> Iterator[list[Brought]]:
    while lot := list(islice(found, _LOT)):
        yield lot


def _as_they_come(found: Iterable[Brought]) -> Iterator[list[Brought]]:
    """The records of a pipe: as many as are there, and never waiting for more."""
    come: Queue[Brought | BaseException | None] = Queue(4 * _LOT)

    def read() -> None:
        try:
            for one in found:
                come.put(one)
            come.put(None)
        except BaseException as fault:  # it is raised where the records are taken in
            come.put(fault)

    Thread(target=read, daemon=True).start()
    while True:
        lot: list[Brought] = []
        while not lot or (not come.empty() and len(lot) < _LOT):
            one = come.get()
            if one is None or isinstance(one, BaseException):
                if lot:
                    yield lot
                if one is None:
                    return
                raise one
            lot.append(one)
        yield lot
