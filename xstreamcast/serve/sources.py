"""Where a served stream comes from: a file, a folder that grows, standard input, a generator, or another server.

Every record of the log carries the *mark* of what it was made from, so that a restart goes on exactly there:

    FILE                       how far the file had been read
    DIRECTORY                  the name of the file, how far it had been read, and the stream's form
    generate:NAME?rate=50      how many changes had been made
    -                          none: what is piped in is new
    xcast://host:port/stream   the log of the other server, and up to which number all of it has come

Of a generator the initial fragments come at once, the updates after them at the rate, without end unless ``updates``
says how many. ``factor`` and ``seed`` are those of ``xcast generate``; ``stream`` names one of several that it makes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

from xstreamcast.errors import Place, error, missing_file
from xstreamcast.model.change import Change, Eos
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import parse_structure
from xstreamcast.scan.encoding import plain_chunks, plain_xml
from xstreamcast.serve import SCHEME
from xstreamcast.serve.channel import Incoming
from xstreamcast.serve.client import Address, Heard, Outage, Trouble, arrivals_of, check_log, parse_address, tune
from xstreamcast.serve.reception import Reception
from xstreamcast.wire.fragment import Arrival, Form, FragmentReader, ReaderState, read_stream

Batch = list[Incoming | Diagnostic]
POLL: Final = 0.1
ENDLESS: Final = 1 << 62
LIMIT: Final = 32 << 20
"""The largest fragment: a message of a server has at most twice that."""

_TOGETHER: Final = 256
_AHEAD: Final = 4
_CHUNK: Final = 1 << 16
_OPTIONS: Final = ("rate", "factor", "seed", "updates", "stream")


def check(source: str, stream: str) -> None:
    """Raise what is wrong with a source before anything is served."""
    if source.startswith("generate:"):
        Generated.parse(source, stream)
    elif source.startswith(SCHEME):
        parse_address(source, stream)
    elif source != "-" and not Path(source).exists():
        raise missing_file(source, "there is no file or folder of that name", "write --stream NAME=SOURCE")


def follow(source: str, stream: str, mark: str) -> AsyncIterator[Batch]:
    """The arrivals of a source after a mark, in batches as they come."""
    if source.startswith("generate:"):
        return Generated.parse(source, stream).follow(int(mark or 0))
    if source.startswith(SCHEME):
        return _relayed(parse_address(source, stream), mark)
    if source == "-":
        return _in_thread(_piped)
    path = Path(source)
    return _folder(path, mark) if path.is_dir() else _in_thread(lambda: _file(path, int(mark or 0)))


def _incoming(arrival: Arrival, mark: str) -> Incoming | Diagnostic:
    if isinstance(arrival.item, Diagnostic):
        return arrival.item
    return Incoming(arrival.item, arrival.place, mark)


def _piped() -> Iterator[Batch]:
    """Standard input as it comes. Not through Python's buffer: it would be locked by the wait when the server stops."""
    chunks = plain_chunks(iter(lambda: os.read(0, _CHUNK), b""), "<stdin>")
    for arrival in FragmentReader(chunks, source="<stdin>", limit=LIMIT):
        yield [_incoming(arrival, "")]


def _file(path: Path, since: int) -> Iterator[Batch]:
    """The arrivals of a file after an offset. It is read from its beginning, which says how to read the rest."""
    arrivals = (arrival for arrival in read_stream(path, limit=LIMIT) if arrival.end > since)
    while batch := [_incoming(arrival, str(arrival.end)) for arrival in islice(arrivals, _TOGETHER)]:
        yield batch


async def _folder(folder: Path, mark: str) -> AsyncIterator[Batch]:
    """The files of a folder in name order, as they appear, until one of them brings eos."""
    last, since, form = (*mark.rsplit(":", 2),) if mark else ("", "0", "")
    state = ReaderState(form=cast(Form | None, form or None), rooted=bool(mark))
    resumed, home = last, folder.resolve()
    while True:
        names = sorted(path.name for path in folder.iterdir() if _is_own(path, home))
        for name in names:
            if name < last or (name == last and name != resumed):
                continue
            skip = int(since) if name == resumed else 0
            resumed, last = "", name
            state = ReaderState(form=state.form, rooted=state.rooted)
            reader = FragmentReader(plain_xml(folder / name), source=str(folder / name), state=state, limit=LIMIT)
            arrivals = (arrival for arrival in reader if arrival.end > skip)
            while found := await asyncio.to_thread(list, islice(arrivals, _TOGETHER)):
                yield [_incoming(arrival, f"{name}:{arrival.end}:{state.form or ''}") for arrival in found]
                if any(isinstance(arrival.item, Eos) for arrival in found):
                    return
        await asyncio.sleep(POLL)


async def _relayed(address: Address, mark: str) -> AsyncIterator[Batch]:
    """The arrivals from another server; trouble with the connection is told, and passes."""
    log, _, since = mark.partition(":")
    reception = Reception(log=log, since=int(since or 0), head=int(since or 0))
    outage, place = Outage(), Place(str(address))
    async with aclosing(tune(address, reception)) as messages:
        async for came in messages:
            said = outage.gone(came) if isinstance(came, Trouble) else outage.back()
            if said:
                yield [Diagnostic("XSC0101", "warning", said, place)]
            if isinstance(came, Heard):
                log = check_log(address, log, came)
                reached = f"{log}:{reception.since}"
                arrivals = [arrival for n, element in came.news for arrival in arrivals_of(n, element, address)]
                yield [_incoming(arrival, reached) for arrival in arrivals]


def _is_own(path: Path, folder: Path) -> bool:
    """Whether a path is a file of a folder: not hidden, and no link that leads out of it to what is not for the air."""
    return not path.name.startswith(".") and path.is_file() and path.resolve().is_relative_to(folder)


async def _in_thread(batches: Callable[[], Iterator[Batch]]) -> AsyncIterator[Batch]:
    """Batches from a thread that may wait for them; it runs a few batches ahead, and no more."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Batch | BaseException | None] = asyncio.Queue(_AHEAD)

    def put(batch: Batch | BaseException | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(batch), loop).result()

    def run() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody wants more
            try:
                for batch in batches():
                    put(batch)
                put(None)
            except BaseException as fault:  # it is raised where the batches are taken in
                put(fault)

    # A daemon: it may be waiting for standard input when the server stops.
    Thread(target=run, daemon=True).start()
    while (batch := await queue.get()) is not None:
        if isinstance(batch, BaseException):
            raise batch
        yield batch


@dataclass(frozen=True, slots=True)
class Generated:
    """``generate:NAME?rate=50``: one stream of a generator, at a rate."""

    name: str
    stream: str
    rate: float | None
    factor: float
    seed: int
    updates: int

    @classmethod
    def parse(cls, source: str, stream: str) -> Generated:
        """A generator and its options."""
        from xstreamcast.generate import find

        parts = urlsplit(source)
        options: dict[str, Any] = dict(parse_qsl(parts.query, keep_blank_values=True))
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise error("XSC0051", f"{source}: no option {unknown[0]!r}", hint=f"one of {', '.join(_OPTIONS)}")
        made = find(parts.path)
        if made.changes is None:
            raise error("XSC0051", f"{made.name} is a stored document", hint="fragment it: xcast fragment")
        names = list(made.structures)
        wanted = options.get("stream") or (stream if stream in names else names[0] if len(names) == 1 else "")
        if wanted not in names:
            hint = f"say which: {source.partition('?')[0]}?stream={names[0]} (or {', '.join(names[1:])})"
            raise error("XSC0051", f"{made.name} makes several streams", hint=hint)
        try:
            rate = float(options["rate"]) if "rate" in options else None
            numbers = float(options.get("factor", 1)), int(options.get("seed", 1)), int(options.get("updates", ENDLESS))
        except ValueError:
            raise error("XSC0051", f"{source}: rate, factor, seed and updates are numbers") from None
        if (rate is not None and not 0 < rate < 1e9) or not 0 < numbers[0] < 1e6 or numbers[2] < 0:
            raise error("XSC0051", f"{source}: a number out of range", hint="rate and factor are above 0")
        if rate is None and "updates" not in options:
            raise error("XSC0051", f"{source}: updates without end need a rate", hint="?rate=50, or ?updates=1000")
        return cls(made.name, wanted, rate, *numbers)

    async def follow(self, mark: int) -> AsyncIterator[Batch]:
        """The structure and the initial fragments at once, then each update when it is due."""
        from xstreamcast.generate import find

        made = find(self.name)
        assert made.changes is not None
        changes = self._own(made.changes(self.factor, self.seed, self.updates))
        initial = sum(not isinstance(change, Eos) for change in self._own(made.changes(self.factor, self.seed, 0)))
        if not mark:
            yield [Incoming(parse_structure(made.structures[self.stream]))]
        numbered = enumerate(islice(changes, mark, None), mark + 1)
        at_once = islice(numbered, max(0, initial - mark) if self.rate is not None else None)
        while batch := await asyncio.to_thread(list, islice(at_once, _TOGETHER)):
            yield [Incoming(change, mark=str(number)) for number, change in batch]
        loop = asyncio.get_running_loop()
        began = loop.time()
        for count, (number, change) in enumerate(numbered):
            assert self.rate is not None
            await asyncio.sleep(began + count / self.rate - loop.time())
            yield [Incoming(change, mark=str(number))]

    def _own(self, changes: Iterator[tuple[str, Change]]) -> Iterator[Change]:
        return (change for stream, change in changes if stream == self.stream)
