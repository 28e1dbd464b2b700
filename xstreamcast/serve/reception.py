"""What a client has of a stream, and what it lacks.

Messages come in any order, some never, some again. Records are known by their N: what has come before is not handed on
again. All up to ``since`` has come, or has been superseded by what has: either no number is missing, or the server has
said that no more counts (its log is compacted), or a cycle of the carousel is complete, and with it everything that the
stream said until it began. The end of a stream is handed on last: who has heard of it listens to nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xstreamcast.serve.message import Header


@dataclass(slots=True)
class Reception:
    """What has come of one stream. ``log`` is the identity of the server's log, empty before anything has come."""

    log: str = ""
    since: int = 0
    head: int = 0
    """The largest number that the server is known to have reached."""
    ended: int | None = None
    """The number of eos."""
    cycles: int = 0
    """The number of the last cycle of which something came, counted by the server."""
    repeats: int = 0
    """Records that had come before."""
    trouble: str = ""
    """Why there is no connection; empty while there is one."""
    _structure: bytes = b""
    _end: tuple[int, bytes] | None = None  # eos, while something before it is missing
    _later: set[int] = field(default_factory=set)
    _leaps: dict[int, int] = field(default_factory=dict)  # of a compacted log: after a number nothing up to another
    _cycle: tuple[int, int] = (0, 0)  # the head and the extent of the cycle that is being collected
    _parts: set[int] = field(default_factory=set)

    def __str__(self) -> str:
        """How far it is, in a few words.

        >>> print(Reception(log="ab", since=7, head=9), "|", Reception(trouble="no connection: Connection refused"))
        7 of 9, 2 missed | 0 of 0, no connection: Connection refused
        """
        missed = f", {self.missing:,} missed" if self.missing else ""
        return f"{self.since:,} of {self.head:,}{missed}" + (f", {self.trouble}" if self.trouble else "")

    @property
    def complete(self) -> bool:
        """Whether all that the server is known to have said has come."""
        return bool(self.log) and self.since >= self.head

    @property
    def missing(self) -> int:
        """How many records are known to have been sent, and have neither come nor been superseded."""
        return self.head - self.since - len(self._later)

    def take(self, header: Header, elements: list[bytes]) -> list[tuple[int, bytes]]:
        """What a message brings that has not come before: numbers and elements."""
        if not self.log:
            self.log = header.log
        elif header.log != self.log:
            # Another log: what was known of the old one says nothing about it.
            restarted = Reception(log=header.log, cycles=self.cycles)
            for name in self.__slots__:
                setattr(self, name, getattr(restarted, name))
        self.head = max(self.head, header.head)
        news = []
        for n, element in zip(header.n, elements, strict=True):
            ends = element.startswith(b"<stream:eos")
            if ends:
                self.ended = n
            if n <= self.since or n in self._later:
                self.repeats += 1
                # What replaces an event undoes the event, should that have come after it; and who begins in the middle
                # needs the structure all the same.
                if element == self._structure or not (_is_structure(element) or _is_replaced_event(element)):
                    continue
            else:
                self._later.add(n)
            if _is_structure(element):
                self._structure = element
            if ends:
                self._end = n, element
            else:
                news.append((n, element))
        if header.first and header.through > self.since:
            self._leaps[header.after] = max(header.through, self._leaps.get(header.after, 0))
        if header.cycle is not None:
            self.cycles = header.cycle
            self._collect(header)
        self._advance()
        if self._end is not None and self.complete:
            news.append(self._end)
            self._end = None
        return news

    def _collect(self, header: Header) -> None:
        cycle = header.head, header.of
        if cycle != self._cycle:
            if header.head < self._cycle[0]:
                return  # late, of an older cycle
            self._cycle, self._parts = cycle, set()
        self._parts.update(range(header.at, header.at + len(header.n)))
        if len(self._parts) == header.of and header.head > self.since:
            self.since = header.head
            self._later = {n for n in self._later if n > self.since}

    def _advance(self) -> None:
        while True:
            if self.since + 1 in self._later:
                self.since += 1
                self._later.discard(self.since)
                continue
            reached = [after for after in self._leaps if after <= self.since]
            through = max((self._leaps.pop(after) for after in reached), default=0)
            if through <= self.since:
                return
            self.since = through
            self._later = {n for n in self._later if n > through}


def _is_structure(element: bytes) -> bool:
    return element.startswith(b"<stream:structure")


def _is_replaced_event(element: bytes) -> bool:
    return element.startswith(b"<stream:replace") and b" validTime=" in element[: element.find(b">")]
