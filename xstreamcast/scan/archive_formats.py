"""The formats of archives: a list of the members, and each of them as a file that is read once."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, BinaryIO, Final, Protocol, cast

from xstreamcast.errors import Place, error
from xstreamcast.scan.encoding import PACKED, open_input

UNPACKED_LIMIT: Final = 200
"""The members of an archive may be this many times as large as it, beyond a first :data:`UNPACKED_FREE` bytes."""
UNPACKED_FREE: Final = 256 << 20
MEMBERS_LIMIT: Final = 1 << 20
_XML_NAME: Final = re.compile(r"\.xml(?:\.(?:gz|bz2|xz|zst))?$", re.IGNORECASE)
_XML: Final = (b"<", b"\x00<", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
LEAD: Final = 64
"""Bytes that are looked at to know what a member is."""
_PIECE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Entry:
    """A member: where its bytes begin (in the unpacked tar file) and how many there are."""

    name: str
    size: int
    at: int
    lead: bytes | None
    """What it begins with; None where that is still to be looked up."""

    @property
    def xml(self) -> bool:
        """Whether it may be XML, by its name or by how it begins."""
        begun = (self.lead or b"").lstrip(b" \t\r\n")
        return bool(_XML_NAME.search(self.name)) or begun.startswith(_XML)


class Archive(Protocol):
    """An open archive."""

    entries: dict[str, Entry]

    def open(self, entry: Entry) -> BinaryIO:
        """A member, to be read once."""

    def close(self) -> None:
        """Nobody will ask for further members."""


def _bounded(path: Path, size: int, unpacked: int, count: int) -> None:
    """XSC0009 for an archive that is a bomb."""
    if unpacked > UNPACKED_FREE + UNPACKED_LIMIT * size or count > MEMBERS_LIMIT:
        much = f"{unpacked >> 20:,} MB" if count <= MEMBERS_LIMIT else f"more than {MEMBERS_LIMIT:,} members"
        hint = f"more than {UNPACKED_LIMIT} times its size is refused; if it is meant, unpack it and name the folder"
        raise error("XSC0009", f"the archive of {size:,} bytes unpacks to {much}", Place(str(path)), hint)


def _plain_name(name: str) -> str:
    """A member's name as paths have it."""
    return str(PurePosixPath(name.lstrip("/")))


class Zip:
    """A zip file. Members are read by offset, at most as many bytes of each as its entry in the directory says."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.file = zipfile.ZipFile(path)
        found = [info for info in self.file.infolist() if not info.is_dir()]
        _bounded(path, size, sum(info.file_size for info in found), len(found))
        self.infos = {_plain_name(info.filename): info for info in found}
        self.entries = {name: Entry(name, info.file_size, 0, None) for name, info in self.infos.items()}

    def open(self, entry: Entry) -> BinaryIO:
        info = self.infos[entry.name]
        place = Place(f"{self.path}!{entry.name}")
        if info.flag_bits & 1:
            raise error("XSC0006", "the member is encrypted", place, "unpack it with its password")
        try:
            return cast(BinaryIO, self.file.open(info))
        except (NotImplementedError, RuntimeError) as fault:
            hint = "unpack it with another tool"
            raise error("XSC0006", f"the member cannot be read: {fault}", place, hint) from None

    def close(self) -> None:
        self.file.close()


class Tar:
    """A tar file, packed or not. Where it is packed, its bytes are gone through again for each member that lies before
    the last one read, and only on from there for one behind it."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.entries: dict[str, Entry] = {}
        self.lock = Lock()
        self.idle: tuple[int, BinaryIO] | None = None  # where an unpacked file stands that nobody reads
        with open(path, "rb") as file:
            self.packed = file.read(8).startswith(PACKED)
        with open_input(path) as unpacked:
            counted = _Counted(unpacked, lambda read: _bounded(path, size, read, len(self.entries)))
            for entry in _tar_entries(cast(BinaryIO, counted)):
                self.entries[entry.name] = entry

    def open(self, entry: Entry) -> BinaryIO:
        at, file = self._from(entry.at)
        while at < entry.at:
            piece = file.read(min(_PIECE, entry.at - at))
            if not piece:
                raise error("XSC0006", "the archive ends before the member", Place(f"{self.path}!{entry.name}"))
            at += len(piece)
        return cast(BinaryIO, _Slice(file, entry.size, lambda read: self._done(entry.at + read, file)))

    def _from(self, at: int) -> tuple[int, BinaryIO]:
        """The unpacked file, at a place or before it."""
        if not self.packed:
            file = open(self.path, "rb")  # noqa: SIM115 - the slice closes it
            file.seek(at)
            return at, file
        with self.lock:
            if self.idle is not None and self.idle[0] <= at:
                found, self.idle = self.idle, None
                return found
        return 0, open_input(self.path)

    def _done(self, at: int, file: BinaryIO) -> None:
        with self.lock:
            if self.packed and self.idle is None:
                self.idle = at, file
                return
        file.close()

    def close(self) -> None:
        with self.lock:
            if self.idle is not None:
                self.idle[1].close()
                self.idle = None


class _Counted:
    """A file of which is told how many bytes were read, after each piece."""

    def __init__(self, file: BinaryIO, told: Callable[[int], None]) -> None:
        self.file, self.told, self.count = file, told, 0

    def read(self, size: int) -> bytes:
        data = self.file.read(size)
        self.count += len(data)
        self.told(self.count)
        return data


def _tar_entries(unpacked: BinaryIO) -> Iterator[Entry]:
    """The files in a tar file."""
    with tarfile.open(fileobj=unpacked, mode="r|", bufsize=_PIECE) as tar:
        for info in tar:
            if info.isreg() and not info.issparse():
                file = tar.extractfile(info)
                lead = b"" if file is None else file.read(LEAD)
                yield Entry(_plain_name(info.name), info.size, info.offset_data, lead)
            cast(Any, tar).members.clear()  # or the headers of all would be kept


class _Slice(io.RawIOBase):
    """The next so many bytes of a file."""

    def __init__(self, file: BinaryIO, size: int, done: Callable[[int], None]) -> None:
        self.file, self.left, self.size, self.done = file, size, size, done

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(min(len(buffer), self.left)) if self.left else b""
        if self.left and not data and len(buffer):
            raise EOFError("the archive ends within the member")
        buffer[: len(data)] = data
        self.left -= len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.done(self.size - self.left)
        super().close()
