"""The inputs of a query: which documents are large, which can be read twice, and keeping those that cannot.

Small documents become trees; large ones are scanned. How large a pipe or a compressed file is shows when that much of
it has been read.
"""

from __future__ import annotations

import io
import os
import select
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast
from warnings import catch_warnings, simplefilter

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError
from xstreamcast.model.tree import DOCUMENT, Node
from xstreamcast.scan.archives import is_member, is_packed, size_of
from xstreamcast.scan.encoding import PACKED, Meter, open_file, open_input, plain_chunks, read_chunks
from xstreamcast.scan.given import is_text
from xstreamcast.scan.parse import KERNEL_FROM, kernel_ready
from xstreamcast.scan.sequence import surely_one

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

_PIECE: Final = 1 << 18

SCAN_FROM: Final = 1 << 19
"""Bytes from which a document is large once the kernel is loaded: a plan takes as long as a tree of so much."""
PATIENCE: Final = 0.5
"""Seconds after its first bytes when a pipe that has nothing more to give at once is taken for one that goes on."""

Scannable = Path | BinaryIO | Node
"""The inputs that a pass can range over: a file, an open file or pipe, or a document that is in memory already."""


def ignored(*_: object) -> None:
    """A listener that does nothing."""


@dataclass(frozen=True, slots=True)
class Scanning:
    """How documents are scanned. ``step``: bytes to a batch; ``progress`` hears how many bytes are done.

    ``pause`` is called before the input is read on, which may take long: a good moment to show what is out.
    """

    threads: int = 1
    step: int | None = None
    spool: bool = False
    many: bool = False
    """The context is several documents, wherever the first may end."""
    external: External | None = None
    """DTDs outside of documents that may be read."""
    memory: int | None = None
    """Bytes that what is sorted or grouped may have; more of it goes to disk."""
    progress: Callable[[int], None] = ignored
    pause: Callable[[], None] = ignored
    grow: bool = False
    """Elements around items come in pieces (:class:`~xstreamcast.model.serialise.Markup`), as the items do."""


def bytes_or_none(memory: int | str | None) -> int | None:
    """An amount of memory in bytes."""
    if memory is None:
        return None
    from xstreamcast.run.continuous.sizes import bytes_of

    return bytes_of(memory)


class Begun(io.RawIOBase):
    """A pipe of which the first bytes have been read, whole again."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self.begun = head
        self._head = memoryview(head)
        self._file = file
        self.name = getattr(file, "name", "<input>")

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: Any) -> int:
        if self._head:
            taken = min(len(buffer), len(self._head))
            buffer[:taken] = self._head[:taken]
            self._head = self._head[taken:]
            return taken
        data = _some(self._file, len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _silent(file: BinaryIO, until: float) -> bool:
    """Whether nothing comes before a moment; or, when it has passed, whether nothing is there."""
    try:
        return not select.select([file.fileno()], [], [], max(0.0, until - monotonic()))[0]
    except (OSError, ValueError):  # no file of the system's
        return False


def _some(file: BinaryIO, size: int) -> bytes:
    """The bytes that are there to be read, up to a size; waits only when nothing is."""
    return bytes(getattr(file, "read1", file.read)(size) or b"")


def scannable(source: Any) -> Scannable | None:
    """A source as a scan takes it; None for what is no document, or no file."""
    if isinstance(source, Node):
        return source if source.kind == DOCUMENT and source.row == 0 else None
    if isinstance(source, str):
        return None if is_text(source) else Path(source)
    if isinstance(source, PathLike):
        return Path(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return BytesIO(source)
    return cast(BinaryIO, source) if hasattr(source, "read") else None


def _large_from() -> int:
    """Bytes from which a document that can be read twice is large; a pipe is from :data:`KERNEL_FROM` on."""
    return min(SCAN_FROM, KERNEL_FROM) if kernel_ready() else KERNEL_FROM


def measured(source: Any, patient: bool = True) -> tuple[Any, bool]:
    """A source, and whether it is large. A pipe is read as far as it takes to know, and given back whole.

    If not ``patient``, a pipe that is still to be waited for after a while counts as large, however steadily it brings
    little: what it has given so far can be worked on.
    """
    found = scannable(source)
    if found is None or isinstance(found, Node):
        return source, False
    if isinstance(found, Path):
        if is_member(found):
            return source, _large_file(found)
        if not found.exists() or twice(found):
            return source, found.is_file() and _large_file(found)
        found = source = found.open("rb")  # a pipe that has a name
    if twice(found):
        at = found.tell()
        head = found.read(8)
        packed = head.startswith(PACKED)
        size = 0 if packed else found.seek(0, os.SEEK_END) - at
        found.seek(at)
        if packed:
            large = _unpacked_is_large(found)
            found.seek(at)
            return source, large
        return source, size >= _large_from()
    pieces, size = [], 0
    silent, until = False, 0.0
    while size < KERNEL_FROM and not silent:
        piece = _some(found, _PIECE)
        if not piece:
            break
        until = until or monotonic() + PATIENCE
        pieces.append(piece)
        size += len(piece)
        silent = not patient and _silent(found, until)
    head = b"".join(pieces)
    large = silent or size >= KERNEL_FROM or (head.startswith(PACKED) and _unpacked_is_large(BytesIO(head)))
    return cast(BinaryIO, Begun(head, found)), large


def has_several(source: Any) -> bool:
    """Whether an input has several documents, one after the other; the first ends within :data:`KERNEL_FROM` bytes."""
    found = scannable(source)
    if found is None or isinstance(found, Node):
        return False
    if isinstance(found, Path):
        with open_file(found) as file:
            return _begins_several(file)
    if isinstance(found, Begun):
        return _begins_several(BytesIO(found.begun))
    at = found.tell()
    try:
        return _begins_several(found)
    finally:
        found.seek(at)


def _begins_several(file: BinaryIO) -> bool:
    if twice(file):
        at = file.tell()
        head = file.read(KERNEL_FROM)
        whole = not file.read(1)
        file.seek(at)
        if surely_one(head, whole):
            return False
    from xstreamcast.scan.automaton import Automaton
    from xstreamcast.scan.reader import scan_chunks
    from xstreamcast.scan.scanner import InternalSubset, Scanner

    scanner, meter = Scanner(Automaton([])), Meter()
    scanner.many = True

    def begun() -> Iterator[bytes]:
        size = 0
        for chunk in plain_chunks(read_chunks(open_input(file)), many=True, meter=meter):
            scanner.encoding = meter.encoding
            yield chunk
            size += len(chunk)
            if scanner.several or size >= KERNEL_FROM:
                return

    try:
        with catch_warnings():
            simplefilter("ignore")
            for _ in scan_chunks(begun(), scanner):
                pass
    except (XStreamError, InternalSubset):  # a head that ends where a document does not; who reads it all tells
        pass
    return scanner.several


def _large_file(path: Path) -> bool:
    if not is_packed(path):
        return size_of(path) >= _large_from()
    with open_file(path) as file:
        return _unpacked_is_large(file)


def _unpacked_is_large(file: BinaryIO) -> bool:
    size, least = 0, _large_from()
    try:
        for chunk in read_chunks(open_input(file)):
            size += len(chunk)
            if size >= least:
                return True
    except XStreamError:  # a head that ends where a file does not; who reads it all will tell if it is damaged
        pass
    return False


def twice(source: Scannable) -> bool:
    """Whether an input can be read again."""
    if isinstance(source, Node):
        return True
    if isinstance(source, Path):
        return is_member(source) or stat.S_ISREG(source.stat().st_mode)
    try:
        return source.seekable()
    except (AttributeError, ValueError):
        return False


def start_of(source: Scannable) -> int | None:
    """Where an open file stands, if it can be brought back there."""
    return None if isinstance(source, Node | Path) or not twice(source) else source.tell()


def rewound(source: Scannable, start: int | None) -> Scannable:
    """An input from where it stood at first."""
    if start is not None:
        assert not isinstance(source, Node | Path)
        source.seek(start)
    return source


@contextmanager
def spooled(source: BinaryIO) -> Iterator[Path]:
    """An input that cannot be read twice, as a file that is there for as long as it is needed."""
    import tempfile

    with tempfile.NamedTemporaryFile(prefix="xstreamcast-", suffix=".xml") as kept:
        while piece := _some(source, _PIECE):
            kept.write(piece)
        kept.flush()
        yield Path(kept.name)
