"""The survey of a stream: where the next batch ends, and which parts of it can be read apart.

This is the driver's work, so it is little: it walks over what is new, counts, and notes every megabyte a position from
which a worker can begin. Files are opened once and read on where the last batch ended; what lies plain on disk is not
carried anywhere, the workers seek in it. What must be decompressed or transcoded was read by the driver anyway, and
travels with the tasks as long as it is not much.

A file is *final* once a later one is there. Until then an unfinished fragment at its end waits for the rest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.spark.motion.position import Position
from xstreamcast.spark.motion.stream_files import StreamFile, StreamFiles
from xstreamcast.spark.motion.walk import Piece, Run, Stretch, Walk
from xstreamcast.wire.fragment import Arrival

_GRAIN: Final = 1 << 20
_CARRIED: Final = 64 << 20
"""How much decoded text one batch's tasks may carry with them; beyond it the workers decode for themselves."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of one file between two positions. ``start``: where its plain XML begins on disk, None where it must be
    decoded; ``data``: the decoded text, where it travels along."""

    begin: Position
    end: Position
    start: int | None
    data: bytes | None = None

    @property
    def size(self) -> int:
        """In bytes of plain XML."""
        return self.end.offset - self.begin.offset


@dataclass(frozen=True, slots=True)
class Torn:
    """A piece that is no element. Its extent was found by looking beyond it, so it is not looked for again."""

    begin: Position
    arrival: Arrival
    size: int = 0


Task = Segment | Torn


@dataclass(frozen=True, slots=True)
class Limit:
    """How much one batch may hold; ``least_rows``: how much it must, or it waits."""

    rows: int | None = None
    size: int | None = None
    files: int | None = None
    least_rows: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch: from where to where, and its parts in order."""

    begin: Position
    end: Position
    tasks: tuple[Task, ...] = ()


class _Tape:
    """Keeps what has been decoded until it is known which task it belongs to."""

    def __init__(self, chunks: Iterator[bytes], offset: int) -> None:
        self.chunks = chunks
        self.offset = offset
        self.kept = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            self.kept += chunk
            yield chunk

    def cut(self, begin: int, end: int) -> bytes:
        data = bytes(self.kept[begin - self.offset : end - self.offset])
        del self.kept[: end - self.offset]
        self.offset = end
        return data


@dataclass(slots=True)
class _Batch:
    """The batch that is being put together."""

    begin: Position
    limit: Limit
    until: Position | None = None
    rows: int = 0
    size: int = 0
    files: set[str] = field(default_factory=set)
    tasks: list[Task] = field(default_factory=list)
    carried: int = 0

    def room(self, stretch: Stretch) -> int:
        """How many rows of a stretch still go in. One always does, or nothing ever would."""
        limit, name = self.limit, stretch.begin.file
        rows = stretch.rows if limit.rows is None else min(stretch.rows, limit.rows - self.rows)
        if limit.files is not None and name not in self.files and len(self.files) >= limit.files:
            return 0
        size = limit.size - self.size if limit.size is not None else None
        if self.until is not None and name == self.until.file:
            size = self.until.offset - stretch.begin.offset
        if size is not None:
            if isinstance(stretch, Run):
                rows = min(rows, stretch.fitting(size))
            elif stretch.end.offset - stretch.begin.offset > size and not (stretch.torn and self.until and size > 0):
                rows = 0
        if isinstance(stretch, Piece) and rows < stretch.rows:
            rows = 0
        if rows > 0 or self.rows or self.until is not None:
            return rows
        return 1 if isinstance(stretch, Run) else stretch.rows

    def reaches(self, reached: Position) -> bool:
        """Whether the batch is as long as it was planned to be."""
        until = self.until
        return until is not None and (reached.file, reached.offset) == (until.file, until.offset)

    def tear(self, piece: Piece) -> Position:
        """Take a torn piece. Of a very long one the end depends on how it was read: it is where it was planned."""
        end = piece.end
        if self.until is not None and end.file == self.until.file and end.offset > self.until.offset:
            end = self.until
        self.tasks.append(Torn(piece.begin, piece.arrivals[0], end.offset - piece.begin.offset))
        return end

    def carry(self, tape: _Tape | None, begin: Position, end: Position) -> bytes | None:
        """The text of a segment, where it travels with its task."""
        if tape is None:
            return None
        data = tape.cut(begin.offset, end.offset)
        self.carried += len(data)
        return data if self.carried <= _CARRIED else None


class _OpenFile:
    """A file that is being walked over."""

    def __init__(self, files: StreamFiles, file: StreamFile, at: Position) -> None:
        self.file = file
        self.start = files.plain_start(file.name)
        self.tape: _Tape | None = None
        if self.start is None:
            self.chunks = files.decode(file.name, at.offset)
            self.tape = _Tape(self.chunks, at.offset)
        else:
            size = file.size - self.start
            if size < at.offset:
                raise files.shrunk(file.name, at.offset, size)
            self.chunks = files.seek(file.name, self.start, at.offset, size)
        walked = iter(self.chunks if self.tape is None else self.tape)
        self.stretches = iter(Walk(walked, at, files.place(file.name)))
        self.back: Stretch | None = None

    def next(self) -> Stretch | None:
        stretch, self.back = self.back, None
        return stretch if stretch is not None else next(self.stretches, None)

    def drop(self, end: Position) -> None:
        """Nobody will ask for what lies before."""
        if self.tape is not None:
            self.tape.cut(end.offset, end.offset)

    def close(self) -> None:
        self.chunks.close()


class Survey:
    """Goes over a stream once, batch by batch. ``wait``: an unfinished fragment at the very end may yet be finished."""

    def __init__(self, files: StreamFiles, *, wait: bool) -> None:
        self.files = files
        self.wait = wait
        self.horizon: list[StreamFile] | None = None  # nothing beyond it is looked at
        self.reached = Position()  # the end of the last batch
        self.at = Position()  # where the walk stands: there, or behind files without content
        self.open: _OpenFile | None = None
        self.settled: tuple[StreamFile, bool] | None = None  # a file read to its end, and whether something waits there
        self.finished: dict[str, int] = {}  # the sizes of files left behind

    def set_horizon(self) -> None:
        """From now on nothing that comes later is seen."""
        self.horizon = self.files.listing()

    def advance(self, begin: Position, limit: Limit) -> Plan:
        """The next batch from a position; ends where it begins when there is nothing."""
        batch = self.fill(_Batch(begin, limit))
        if batch.rows < limit.least_rows and self.horizon is None:
            return Plan(begin, begin)
        return Plan(begin, self.reached, tuple(batch.tasks))

    def replay(self, begin: Position, end: Position) -> Plan:
        """A batch that was planned before, by a process that is gone."""
        batch = self.fill(_Batch(begin, Limit(), until=end))
        if (self.reached.file, self.reached.offset, self.reached.seq) != (end.file, end.offset, end.seq):
            raise changed(self.files, self.reached, end)
        return Plan(begin, end, tuple(batch.tasks))

    def close(self) -> None:
        """Let go of the open file."""
        if self.open is not None:
            self.open.close()
            self.open = None

    def fill(self, batch: _Batch) -> _Batch:
        if batch.begin != self.reached:
            self.close()
            self.reached = self.at = batch.begin
            self.settled = None
        listing = self.horizon if self.horizon is not None else self.files.listing()
        self.check(listing)
        while not batch.reaches(self.reached) and self.opened(listing) is not None:
            if self.take(batch, final=self.is_final(listing)):
                break
        return batch

    def opened(self, listing: list[StreamFile]) -> _OpenFile | None:
        """The file to read on in: the open one, the last one where it has grown, or the next; None when all is read."""
        if self.open is not None:
            return self.open
        if not listing:
            return None
        index = self.index(listing)
        file = listing[index]
        if self.settled is not None and self.settled[0] == file:
            if index + 1 == len(listing):
                return None
            if not self.settled[1]:  # else what waits there will never be finished: read it as it is
                self.finished[file.name] = file.size
                file = listing[index + 1]
                self.at = self.at.next_file(file.name)
            self.settled = None
        elif not self.at.file:
            self.at = self.at.next_file(file.name)
        self.open = _OpenFile(self.files, file, self.at)
        return self.open

    def index(self, listing: list[StreamFile]) -> int:
        """Where the current file stands in the listing."""
        return bisect_left(listing, self.at.file, key=lambda file: file.name)

    def check(self, listing: list[StreamFile]) -> None:
        """Whether the files are still those that were read, and no file was missed."""
        index = self.index(listing)
        if self.at.file and (index == len(listing) or listing[index].name != self.at.file):
            raise self.files.missing(self.at.file)
        behind = listing[:index]
        if index > self.at.files:
            late = next((file.name for file in behind if self.finished and file.name not in self.finished), "")
            what = f"{late or 'a file'} came after {self.at.file} was begun, but its name sorts before it"
            raise error("XSC0064", what, self.files.place(late), "files are read in name order: let the names grow")
        for file in behind:
            if self.finished.get(file.name, file.size) != file.size:
                hint = "only the last file of a stream may grow"
                raise error("XSC0064", "changed after later files were begun", self.files.place(file.name), hint)

    def is_final(self, listing: list[StreamFile]) -> bool:
        """Whether the open file cannot grow any more."""
        return not self.wait or (self.open is not None and listing[-1].name != self.open.file.name)

    def take(self, batch: _Batch, *, final: bool) -> bool:
        """Read on in the open file, to its end or until the batch is full: then True."""
        opened = self.open
        assert opened is not None
        begin = self.at  # of the segment to come
        waiting = full = False
        while not full and (stretch := opened.next()) is not None:
            torn = isinstance(stretch, Piece) and stretch.torn
            if isinstance(stretch, Piece) and stretch.last and not (final or batch.until):
                waiting = True
                break
            room = batch.room(stretch)
            if room < stretch.rows:
                full = True
                if not room or not isinstance(stretch, Run):
                    opened.back = stretch
                    break
                stretch, opened.back = stretch.split(room)
            if torn or self.at.offset - begin.offset >= _GRAIN:
                self.cut(batch, opened, begin)
                begin = self.at
            end = stretch.end
            if isinstance(stretch, Piece) and torn:
                begin = end = batch.tear(stretch)
                opened.drop(end)
            batch.rows += stretch.rows
            batch.size += end.offset - stretch.begin.offset
            batch.files.add(end.file)
            self.at = self.reached = end
        self.cut(batch, opened, begin)
        if not full:
            self.settled = opened.file, waiting
            self.close()
        return full

    def cut(self, batch: _Batch, opened: _OpenFile, begin: Position) -> None:
        """A segment from a position up to here."""
        if self.at.offset > begin.offset:
            batch.tasks.append(Segment(begin, self.at, opened.start, batch.carry(opened.tape, begin, self.at)))


def changed(files: StreamFiles, found: Position, expected: Position) -> XStreamError:
    """The error for a file that does not hold any more what was planned."""
    what = f"holds {found.seq} changes up to byte {found.offset}, not {expected.seq} up to {expected.offset} as planned"
    hint = "files may grow, not change; restore it, or start with a new checkpoint"
    return error("XSC0063", what, files.place(expected.file), hint)


def packed(tasks: tuple[Task, ...], largest: int) -> list[list[Task]]:
    """Tasks in groups of similar size, in order: four of them where there is enough, more where they grow too large.

    What lies side by side in a file becomes one segment again; a file that every worker would have to decode from its
    beginning stays in one piece.
    """
    total = sum(task.size for task in tasks)
    size = max(_GRAIN, min(largest, -(-total // 4)))
    groups: list[list[Task]] = []
    room = 0
    for task in tasks:
        before = groups[-1][-1] if groups else None
        joined = _join(before, task)
        whole = joined is not None and joined.start is None
        if before is None or (room < task.size and not whole):
            groups.append([])
            room = size
            joined = None
        if joined is not None:
            groups[-1][-1] = joined
        else:
            groups[-1].append(task)
        room -= task.size
    return groups


def _join(before: Task | None, task: Task) -> Segment | None:
    if not isinstance(before, Segment) or not isinstance(task, Segment) or before.end != task.begin:
        return None
    if before.data is not None or task.data is not None:
        return None
    return Segment(before.begin, task.end, task.start)
