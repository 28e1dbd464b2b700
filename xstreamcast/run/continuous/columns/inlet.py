"""What comes to a stream whose table is in columns: changes wait until they are taken in together.

Changes that come as objects are written as they would be on the wire, and scanned: one way for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from xstreamcast.cast.automata import KINDS, StreamAutomaton
from xstreamcast.cast.batch_reader import BatchReader
from xstreamcast.cast.batches import FragmentBatch, Marks
from xstreamcast.cast.columns import (
    BEGIN,
    KIND,
    M_CONTEXT,
    M_END,
    M_START,
    MARK_WORDS,
    NONE,
    OPENED,
    REGION,
    TARGET,
    TIME,
    TO,
    TSID,
    VERSION,
)
from xstreamcast.cast.window import Window
from xstreamcast.errors import Place, XStreamError
from xstreamcast.model.change import Change, ContentChange, Eos
from xstreamcast.run.continuous.associate.reach import name_of
from xstreamcast.run.continuous.columns.arrived import SENT, Arrived, Waiting
from xstreamcast.run.continuous.columns.layout import AGAIN, LATE, NOTHING, OLDER, STAYS
from xstreamcast.run.continuous.columns.layout import VERSION as F_VERSION
from xstreamcast.run.continuous.columns.table import RegionTable
from xstreamcast.scan.parse import parse
from xstreamcast.wire.content import parse_content
from xstreamcast.wire.fragment import Arrival, ReaderState

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.associate.route import Route

_FEW: Final = 4
"""So many changes are read one by one."""
_NOTHING: Final[dict[str, str]] = {}
_PLAIN: Final = [_NOTHING]
"""The contexts of contents that declare nothing."""
_EOS: Final = KINDS.index(Eos)
_EMPTY: Final = b'<stream:remove id="0"/>'
_SAID: Final = [KIND, REGION, TSID, VERSION, TARGET, TIME]
"""What changes say of themselves."""


class Odd(Exception):
    """What has come is more than columns can tell; ``rest``: what is not taken in, or of a batch, from ``first`` on."""

    def __init__(self, why: str, rest: list[Waiting], first: int = 0) -> None:
        super().__init__()
        self.why = why
        self.rest = rest
        self.first = first


class Inlet:
    """The way into the table of one stream."""

    def __init__(self, association: Association, table: RegionTable, routes: Callable[[], list[Route]]) -> None:
        """``routes``: those of the queries that read the table."""
        self.association = association
        self.table = table
        self.routes = routes
        self._waiting: list[Waiting] = []
        self._queue: list[Arrived] = []
        self._reader = BatchReader("", structure=table.structure)
        self._automaton = StreamAutomaton(table.structure)
        fragments = [tag.name for tag in table.structure.tags.values() if tag.fragment]
        self._apart = frozenset([name_of(name) for name in fragments])

    def apply(self, change: Change, place: Place, inside: int) -> None:
        """A change waits for being taken in."""
        self._waiting.append((change, place, inside))

    def apply_all(self, arrived: Arrived) -> None:
        """Changes wait for being taken in, behind all others."""
        self._queue += [*self._objects(), arrived]

    def _objects(self) -> list[Arrived]:
        """The changes that wait as objects."""
        waiting, self._waiting = self._waiting, []
        return [Arrived.of(waiting)] if waiting else []

    def read(self, text: bytes) -> Iterator[FragmentBatch | Arrival]:
        """Whole elements of the stream as they are on the wire, in batches."""
        reader = self._reader
        reader.window = Window(np.frombuffer(text, np.uint8))
        reader.state, reader.over = ReaderState(), False
        yield from reader

    def flush(self) -> None:
        """Take in what waits."""
        queue, self._queue = [*self._queue, *self._objects()], []
        for number, arrived in enumerate(queue):
            try:
                self._take_arrived(arrived)
            except Odd as odd:
                odd.rest += [waiting for later in queue[number + 1 :] for waiting in later]
                raise

    def _take_arrived(self, arrived: Arrived) -> None:
        batch = self._scanned(arrived)
        if batch is not None:
            stopped = self._take_on(batch, arrived)
            if stopped < len(arrived):
                raise Odd(_why(arrived[stopped][0]), list(arrived.part(stopped, len(arrived))))
        elif len(arrived) > 1:
            half = len(arrived) // 2
            behind = arrived.part(half, len(arrived))
            try:
                self._take_arrived(arrived.part(0, half))
            except Odd as odd:
                odd.rest += behind
                raise
            self._take_arrived(behind)
        elif not self._is_put_aside(*arrived[0]):
            raise Odd(_why(arrived[0][0]), list(arrived))

    def _scanned(self, arrived: Arrived) -> FragmentBatch | None:
        """Changes as a batch; None if there is one that the scan does not vouch for."""
        if arrived.named:
            return None
        sent = SENT[arrived.rows[:, KIND]].tolist()
        if len(arrived) <= _FEW:
            few = self._read_each(arrived, sent)
            if few is not None:
                return few
        text = b"".join(
            [
                b'<stream:filler id="0"%b>%b</stream:filler>' % (_tsid(tsid), content) if one else _EMPTY
                for one, tsid, content in zip(sent, arrived.rows[:, TSID].tolist(), arrived.contents, strict=True)
            ]
        )
        reader = self._reader  # it knows the names that it has met
        reader.window = Window(np.frombuffer(bytearray(text), np.uint8))
        reader.state, reader.over = ReaderState(form="prefixed"), False
        found = list(reader)
        if len(found) != 1 or not isinstance(found[0], FragmentBatch) or len(found[0]) != len(arrived):
            return None
        found[0].rows[:, _SAID] = arrived.rows[:, _SAID]
        return found[0]

    def _read_each(self, arrived: Arrived, sent: list[bool]) -> FragmentBatch | None:
        """A few changes as a batch, if they are plain elements without holes: the scan would take longer to begin."""
        contents, scopes = arrived.contents, [_NOTHING] * len(arrived)
        for k, content in enumerate(contents):
            if sent[k]:
                declared = self._declared(content)
                if declared is None:
                    return None
                if declared:
                    scopes[k] = declared
        rows = arrived.rows
        marks = np.full((len(rows), MARK_WORDS), NONE, np.int64)
        ends = np.cumsum([len(content) for content in contents])
        rows[:, BEGIN] = marks[:, M_START] = ends - [len(content) for content in contents]
        rows[:, TO] = marks[:, M_END] = ends
        rows[:, OPENED] = 1
        contexts: Sequence[dict[str, str]] = _PLAIN
        plain = np.ones(1, np.bool_)
        marks[:, M_CONTEXT] = 0
        if any(scopes):
            marks[:, M_CONTEXT], contexts, plain = (
                range(len(rows)),
                tuple(scopes),
                np.array([not one for one in scopes]),
            )
        text = np.frombuffer(b"".join(contents) + b" ", np.uint8)
        return FragmentBatch(
            "", text, 0, False, rows, Marks(np.arange(len(rows) + 1), marks, contexts, plain), {}, self._automaton
        )

    def _declared(self, content: bytes) -> dict[str, str] | None:
        """The namespaces that a content declares, if it is one element without holes and elements that come as
        fragments; None if it is not, or if more is to be found out."""
        if content[:1] != b"<" or b"stream:" in content or content[1:2] in b"!?":
            return None
        try:
            tree = parse(content)[0]
        except XStreamError:
            return None
        if len(tree.kind) != tree.size[1] + 2 or not self._apart.isdisjoint(tree.name[2:]) or content[-1:] != b">":
            return None
        return tree.namespaces.get(1, _NOTHING)

    def _is_put_aside(self, change: Change, place: Place, inside: int) -> bool:
        """Whether a change is one that nobody takes in: it is malformed."""
        if not isinstance(change, ContentChange) or change.doc:
            return False
        structure = self.table.structure
        if change.tsid is not None and change.tsid not in structure.tags:
            return False
        within = Place(place.source, offset=None if place.offset is None else place.offset + inside)
        try:
            parse_content(change.content, structure=structure, tsid=change.tsid, place=within)
        except XStreamError as fault:
            self.association.diagnose(fault.code, "quarantine", fault.message, fault.place or place, change)
            return True
        return False

    def take_batch(self, batch: FragmentBatch) -> None:
        """Take in a batch of a file."""
        self.flush()
        stopped = self._take_on(batch)
        if stopped < len(batch):
            change, *_ = next(batch.arrivals([stopped]))
            raise Odd(_why(change), [], stopped)

    def _take_on(self, batch: FragmentBatch, some: Sequence[Waiting] | Arrived = ()) -> int:
        """Take in a batch; the number of the first change that columns do not follow, or of all."""
        first = 0
        while (first := self._taken(batch, first, some)) < len(batch):
            if batch.kind[first] == _EOS:
                self.association.ended = True
                self.table.end()
            elif batch.tsid[first] >= 0 and int(batch.tsid[first]) not in self.table.structure.tags:
                change, place, *_ = some[first] if some else next(batch.arrivals([first]))
                if change.valid_time is not None and change.valid_time < self.table.mark:
                    self.association.put_aside(change, place, self.table.mark)
                    first += 1
                    continue
                text = f"tsid {change.tsid} is not in the structure"
                self.association.diagnose("XSC0022", "quarantine", text, place, change)
            else:
                break
            self.association.changed += 1
            first += 1
        return first

    def _taken(self, batch: FragmentBatch, first: int, some: Sequence[Waiting] | Arrived = ()) -> int:
        association, table = self.association, self.table
        wanted = batch.region[table.needs(batch.tsid)]
        if association.passed.meets(wanted):
            if not association.passed.lightly:
                return first  # something else is said of what was passed over
            association.passed.discard(wanted)  # it had no version: the next one counts, whatever it was
        stopped, said, skipped = table.take(batch, first)
        if skipped:
            passed = np.array(skipped, np.int64)
            holds = np.diff(batch.marks.offsets)[passed] > 1
            weighty = passed[holds | (batch.version[passed] != NONE) | table.timed(batch.tsid[passed])]
            association.pass_over(batch.region[passed], np.unique(batch.tsid[weighty]))
        association.changed += stopped - first - sum(code == LATE for code, _, _ in said)
        association.now = max(association.now, table.now)
        for code, k, f in said:
            change, place, *_ = some[k] if some else next(batch.arrivals([k]))
            self._tell(code, change, place, f)
        return stopped

    def _tell(self, code: int, change: Change, place: Place, f: int) -> None:
        """Say what is to be said of a change that came, as the table of objects does."""
        tell = self.association.diagnose
        if code == LATE:
            self.association.put_aside(change, place, f)
        elif code == OLDER:
            version = int(self.table.fillings[f, F_VERSION])
            tell("XSC0025", "note", f"older than version {version}; no effect", place, change)
        elif code == AGAIN:
            again = change.valid_time is not None or self.table.is_timed(f)
            what = "a correction" if again else "the id again with other content"
            tell("XSC0026", "warning", f"{what}; the newest is taken", place, change)
        elif code == NOTHING:
            tell("XSC0027", "note", "nothing to remove yet; no effect without a version", place, change)
        elif code == STAYS:
            tell("XSC0028", "note", "an event has happened; it is not removed", place, change)


def _why(change: Change) -> str:
    return f"{change.kind} {change.region} is none of the changes that columns follow"


def _tsid(tsid: int) -> bytes:
    return b"" if tsid == NONE else b' tsid="%d"' % tsid
