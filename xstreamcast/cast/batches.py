"""Changes of a wire stream as columns: a batch has no object per fragment, no copy of a content.

A compiled pass over the rows of a scan (:mod:`xstreamcast.cast.columns`) gives the changes (kind, region, tsid,
version, valid time, where their content lies) and the holes in their content; none is opened that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from xstreamcast.cast.automata import KINDS, StreamAutomaton
from xstreamcast.cast.columns import (
    BEGIN,
    DOC_FROM,
    DOC_TO,
    END,
    KIND,
    M_CONTEXT,
    M_END,
    M_REGION,
    M_START,
    NO_TIME,
    NONE,
    OPENED,
    REGION,
    START,
    TARGET,
    TIME,
    TO,
    TSID,
    VERSION,
)
from xstreamcast.errors import Place
from xstreamcast.model.change import Change, ContentChange, Fill, Repeat
from xstreamcast.model.time import START as BEGINNING
from xstreamcast.model.time import Instant
from xstreamcast.native.vector import Bytes, Longs, Table
from xstreamcast.wire.content import Opened
from xstreamcast.wire.fragment import Arrival

_SENDS: Final = [KINDS.index(Fill), KINDS.index(Repeat)]


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the top elements and the holes of a batch's contents are, in document order.

    Of change ``k``: ``offsets[k]`` to ``offsets[k + 1]``. ``rows`` has columns ``columns.M_START`` …; a top element's
    region is NONE. ``contexts`` gives the namespaces of each by its ``M_CONTEXT``; ``plain`` says which of these
    declare nothing.
    """

    offsets: Longs
    rows: Table
    contexts: Sequence[Mapping[str, str]]
    plain: Any


class FragmentBatch:
    """Changes side by side, as columns. Positions are indices into ``buffer``, whose first byte is at ``offset``.

    A missing number is ``columns.NONE``, a missing time ``columns.NO_TIME``. ``held``: the buffer is the mapped file
    itself, and stays valid; otherwise it is the batch's own.
    """

    def __init__(
        self,
        source: str,
        buffer: Bytes,
        offset: int,
        held: bool,
        changes: Table,
        marks: Marks,
        inline: Mapping[int, Mapping[int, Iterable[int]]],
        automaton: StreamAutomaton,
    ) -> None:
        self.source = source
        self.buffer = buffer
        self.offset = offset
        self.held = held
        self._changes = changes
        self.marks = marks
        self.inline = inline
        self.structure = automaton.structure
        self.watched = automaton.watched

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def rows(self) -> Table:
        """A row for each change: columns ``columns.KIND`` …"""
        return self._changes

    def _column(self, which: int) -> Longs:
        return self._changes[:, which]

    @property
    def kind(self) -> Longs:
        """The kinds, as indices into ``automata.KINDS``."""
        return self._column(KIND)

    @property
    def region(self) -> Longs:
        return self._column(REGION)

    @property
    def target(self) -> Longs:
        return self._column(TARGET)

    @property
    def tsid(self) -> Longs:
        return self._column(TSID)

    @property
    def version(self) -> Longs:
        return self._column(VERSION)

    @property
    def valid_time(self) -> Longs:
        return self._column(TIME)

    @property
    def start(self) -> Longs:
        """Where each element begins."""
        return self._column(START)

    @property
    def begin(self) -> Longs:
        """Where each content begins."""
        return self._column(BEGIN)

    @property
    def to(self) -> Longs:
        """Where each content ends."""
        return self._column(TO)

    @property
    def end(self) -> Longs:
        """Where each element ends."""
        return self._column(END)

    @cached_property
    def docs(self) -> dict[int, str]:
        """The documents of the changes that name one."""
        named = np.flatnonzero(self._changes[:, DOC_TO] > self._changes[:, DOC_FROM])
        spans = self._changes[named][:, [DOC_FROM, DOC_TO]].tolist()
        return {k: bytes(self.buffer[begin:to]).decode() for k, (begin, to) in zip(named.tolist(), spans, strict=True)}

    @property
    def holes(self) -> Longs:
        """The regions of the holes in all contents, in document order."""
        regions = self.marks.rows[:, M_REGION]
        found: Longs = regions[regions != NONE]
        return found

    def latest(self, chosen: Any) -> Instant:
        """The largest valid time of some changes; START if none has one."""
        times = self.valid_time[chosen]
        return int(times[times != NO_TIME].max(initial=BEGINNING))

    def content(self, k: int) -> bytes:
        """The content of one change."""
        row = self._changes[k]
        return self.buffer[row[BEGIN] : row[TO]].tobytes()

    def arrivals(self, chosen: Sequence[int] | None = None) -> Iterator[tuple[Change, Place, int, int, Opened | None]]:
        """The changes one after the other, or the chosen ones of them: each with its place, how far its content and its
        end are behind that, and the content as it was read, if all is well with its holes."""
        changes, marks, docs = self._changes, self.marks, self.docs
        simply = _simple(changes, marks)
        order: Sequence[int] = range(len(changes))
        if chosen is not None:
            order = chosen
            changes, simply = changes[chosen], simply[chosen]
        data = self.buffer.data
        contexts, source, base = marks.contexts, self.source, self.offset
        # A list per column: numbers of Python at one go.
        columns = changes[:, [KIND, REGION, TSID, VERSION, TARGET, TIME, START, BEGIN, TO, END, OPENED]].T.tolist()
        for k, code, region, tsid, version, target, time, start, begin, to, end, good, simple in zip(
            order, *columns, simply.tolist(), strict=True
        ):
            kind = KINDS[code]
            doc = docs.get(k, "") if docs else ""
            tag = tsid if tsid >= 0 else None
            number = version if version >= 0 else None
            at = time if time != NO_TIME else None
            place = Place(source, None, None, base + start)
            if not issubclass(kind, ContentChange):
                change = kind(region=region, doc=doc, tsid=tag, version=number, valid_time=at)
                yield change, place, begin - start, end - start, None
                continue
            content = bytes(data[begin:to])
            brings: ContentChange
            if target >= 0:
                made: Any = kind  # Replace, Before or After
                brings = made(
                    region=region, doc=doc, tsid=tag, version=number, valid_time=at, content=content, target=target
                )
            else:
                brings = kind(region=region, doc=doc, tsid=tag, version=number, valid_time=at, content=content)
            opened = None
            if good:
                within, plain = (None, True) if simple else self._marks_of(k)
                opened = (
                    Opened(data, begin, to, within, contexts, plain)
                    if self.held
                    else Opened(content, 0, to - begin, within, contexts, plain)
                )
            yield brings, place, begin - start, end - start, opened

    def objects(self) -> Iterator[Arrival]:
        """The changes one after the other, as a reader of single changes would give them."""
        for change, place, inside, end, _ in self.arrivals():
            yield Arrival(change, place, (place.offset or 0) + end, inside)

    @cached_property
    def _within(self) -> tuple[Table, list[int], list[bool]]:
        """The marks of all contents, each counted from its content's beginning; where those of a content begin; and
        whether nothing is declared at any of them."""
        marks = self.marks
        rows = marks.rows.copy()
        lengths = np.diff(marks.offsets)
        rows[:, M_START : M_END + 1] -= np.repeat(self.begin, lengths)[:, None]
        declares = np.concatenate(([0], np.cumsum(~marks.plain[rows[:, M_CONTEXT]])))
        return rows, marks.offsets.tolist(), (np.diff(declares[marks.offsets]) == 0).tolist()

    def _marks_of(self, k: int) -> tuple[Any, bool]:
        rows, offsets, plain = self._within
        return rows[offsets[k] : offsets[k + 1]].copy(), plain[k]

    def sent(self, chosen: Sequence[int], tags: Iterable[int], versions: bool) -> Any:
        """Which of the chosen changes just send a content of some tags, and have been read; with ``versions``, or those
        without."""
        changes = self._changes[chosen]
        plain = (changes[:, OPENED] != 0) & np.isin(changes[:, KIND], _SENDS)
        if not versions:
            plain &= changes[:, VERSION] == NONE
        plain &= np.isin(changes[:, TSID], np.array([tag for tag in tags if tag in self.watched], np.int64))
        plain &= ~np.isin(np.asarray(chosen), [*self.docs, *self.inline])
        return plain

    def contents(self, chosen: Sequence[int]) -> Iterator[tuple[int, int, int, int | None, Instant, Place, Opened]]:
        """Of changes that are all ``sent``: which it is, the region, the tag, the version, the time, the place and the
        content of each."""
        data, contexts, source, base = self.buffer.data, self.marks.contexts, self.source, self.offset
        simply = _simple(self._changes, self.marks)[chosen].tolist()
        columns = self._changes[chosen][:, [REGION, TSID, VERSION, TIME, START, BEGIN, TO]].T.tolist()
        for k, region, tsid, version, time, start, begin, to, simple in zip(chosen, *columns, simply, strict=True):
            within, plain = (None, True) if simple else self._marks_of(k)
            if self.held:
                opened = Opened(data, begin, to, within, contexts, plain)
            else:
                opened = Opened(bytes(data[begin:to]), 0, to - begin, within, contexts, plain)
            number = version if version >= 0 else None
            at = time if time != NO_TIME else BEGINNING
            yield k, region, tsid, number, at, Place(source, None, None, base + start), opened


def _simple(changes: Any, marks: Marks) -> Any:
    """Which contents are one element at the very beginning, declare nothing around holes, and have no hole."""
    first = marks.offsets[:-1]
    one = np.diff(marks.offsets) == 1
    if not len(marks.rows):
        return one
    rows = marks.rows[np.minimum(first, len(marks.rows) - 1)]
    at_start = (rows[:, M_START] == changes[:, BEGIN]) & (rows[:, M_REGION] == NONE)
    return one & at_start & marks.plain[rows[:, M_CONTEXT]]
