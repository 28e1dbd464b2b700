"""What streams bring, as it comes: from files, folders that grow, standard input, and servers (``xcast://``).

Files are read to their end; of a folder, files in the order of their names, each once it is there (they appear whole,
by a rename; those whose names begin with a dot are not looked at), until the stream says that it is at its end; of a
server, until the stream has ended and all of it has come, whatever becomes of the connection.
Several files take turns, change by change, so that every run is the same; where a source must be waited for, each has a
thread. What is there already may come together, as far as it is wanted so.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import Place, error, missing_file
from xstreamcast.model.change import Eos
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.run.continuous.arrive.growing import read_growing
from xstreamcast.scan.encoding import Source, plain_xml, standard_input
from xstreamcast.scan.given import is_one, is_text, stream_of
from xstreamcast.serve import SCHEME
from xstreamcast.wire.fragment import Arrival, FragmentReader, ReaderState, read_stream

if TYPE_CHECKING:
    from xstreamcast.serve.reception import Reception

POLL: Final = 0.1
"""Seconds between two looks into a folder."""
_AHEAD: Final = 1000
"""So many arrivals of a source may wait for being taken in."""


class Ended:
    """A source has come to its end."""


Brought = tuple[str, Arrival | list[Arrival] | Ended | None]
"""The stream, and what it brought, one or several; None: nothing has come for a while."""


def arrivals(
    sources: Mapping[str, Source],
    idle: float | None = None,
    pause: float | None = None,
    receptions: dict[str, Reception] | None = None,
    most: int = 1,
) -> Iterator[Brought]:
    """What the sources bring, by stream. ``idle``: a folder that brings nothing for so many seconds is at its end.

    ``pause``: where something must be waited for, tell that nothing came after so many seconds. ``receptions``: where
    to put what is known of the connections to servers, by stream; it is kept up to date. ``most``: so many come
    together at most, where they need not be waited for.
    """
    check_sources(sources)
    at_rest = all(map(_at_rest, sources.values()))
    readers = {
        name: _read(name, source, idle, {} if receptions is None else receptions) for name, source in sources.items()
    }
    if at_rest or (len(sources) == 1 and pause is None and most == 1):
        return _in_turn(readers, most if len(sources) == 1 else 1)
    return _as_they_come(readers, pause, most)


def _at_rest(source: Source) -> bool:
    """Whether nothing has to be waited for."""
    return isinstance(source, BytesIO) or (isinstance(source, str) and source != "-" and Path(source).is_file())


def stream_source(name: str, source: object) -> Source:
    """Where a stream is read from, as it was given: a path, an address, or XML in any other form."""
    if isinstance(source, str | PathLike) and not is_text(source):
        return fspath(source)
    hint = "a stream is a file, a folder that grows, -, xcast://host:port/name, or fragments as text, bytes, a file …"
    if isinstance(source, AsyncIterable):
        hint = "what must be waited for is given to run(): async for change in q.run(source)"
    elif is_one(source) or isinstance(source, Iterable):
        return stream_of(source)
    raise error("XPTY0004", f'the stream "{name}" is nothing that can be followed', hint=hint)


def check_sources(sources: Mapping[str, Source]) -> None:
    """Raise XSC0006 for a source that is not there; servers may come later."""
    for source in sources.values():
        if not isinstance(source, str):
            continue
        if source != "-" and not source.startswith(SCHEME) and not Path(source).exists():
            hint = "a stream is a file, a folder that grows, -, or xcast://host:port/name"
            raise missing_file(source, "there is no file or folder of that name", hint)


def _in_turn(readers: dict[str, Iterator[Arrival]], most: int) -> Iterator[Brought]:
    while readers:
        for name, reader in tuple(readers.items()):
            some = list(islice(reader, most))
            if not some:
                del readers[name]
                yield name, Ended()
            else:
                yield name, some if len(some) > 1 else some[0]


def _as_they_come(readers: dict[str, Iterator[Arrival]], pause: float | None, most: int) -> Iterator[Brought]:
    come: Queue[tuple[str, Arrival | Ended | BaseException]] = Queue(max(_AHEAD, most))

    def read(name: str, reader: Iterator[Arrival]) -> None:
        try:
            for arrival in reader:
                come.put((name, arrival))
            come.put((name, Ended()))
        except BaseException as fault:  # it is raised where the changes are taken in
            come.put((name, fault))

    for name, reader in readers.items():
        Thread(target=read, args=(name, reader), daemon=True).start()
    going = len(readers)
    ahead: list[tuple[str, Arrival | Ended | BaseException]] = []
    while going:
        try:
            name, brought = ahead.pop() if ahead else come.get(timeout=pause)
        except Empty:
            yield "", None
            continue
        if isinstance(brought, BaseException):
            raise brought
        if isinstance(brought, Ended):
            going -= 1
            yield name, brought
            continue
        some = [brought]
        while len(some) < most and not come.empty():
            also, more = come.get()
            if also != name or not isinstance(more, Arrival):
                ahead.append((also, more))
                break
            some.append(more)
        yield name, some if len(some) > 1 else brought


def _read(name: str, source: Source, idle: float | None, receptions: dict[str, Reception]) -> Iterator[Arrival]:
    if not isinstance(source, str):
        return read_stream(source)
    if source == "-":
        return read_growing(plain_xml(standard_input()), "<stdin>")
    if source.startswith(SCHEME):
        from xstreamcast.serve.client import parse_address, receive
        from xstreamcast.serve.reception import Reception

        receptions[name] = Reception()
        return receive(parse_address(source, name), receptions[name])
    path = Path(source)
    return _folder(path, idle) if path.is_dir() else read_stream(path)


def _folder(folder: Path, idle: float | None, wait: Callable[[float], None] = sleep) -> Iterator[Arrival]:
    """The files of a folder, one after the other; the stream's dialect is that of its first element."""
    state = ReaderState()
    read: set[str] = set()
    last, since = "", monotonic()
    while True:
        names = sorted(path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        for name in names:
            if name in read:
                continue
            read.add(name)
            since = monotonic()
            file = folder / name
            if name < last:
                text = f"it comes after {last}, which it should be before; it is not read"
                place = Place(str(file))
                yield Arrival(Diagnostic("XSC0064", "quarantine", text, place), place, 0)
                continue
            last = name
            state = ReaderState(form=state.form, rooted=state.rooted)
            reader = FragmentReader(plain_xml(file), source=str(file), state=state)
            for arrival in reader:
                yield arrival
                if isinstance(arrival.item, Eos):
                    return
            since = monotonic()
        if idle is not None and monotonic() - since >= idle:
            return
        wait(POLL)
