"""The files that make up a stream: one file, all files of a folder, or those that match a pattern, in name order.

A folder may grow: new files appear by atomic rename under names that sort after those already there; names that begin
with a dot are not looked at, nor are folders inside. Files are reached through ``pyarrow.fs``, so a path may be a URI
(``s3://…``, ``hdfs://…``).

>>> stream_name("feeds/credit.2003.xml.gz"), stream_name("feeds/credit/"), stream_name("feeds/credit/*.xml")
('credit', 'credit', 'credit')
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from xstreamcast.errors import MissingFileError, Place, XStreamError, error
from xstreamcast.scan.encoding import CHUNK, open_input, plain_chunks, read_chunks

_PATTERN: Final = re.compile(r"[*?\[]")
_HEAD: Final = 1 << 16
_MARK: Final = b"\xef\xbb\xbf"
_COMPRESSED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00")
_ENCODING: Final = re.compile(rb"""\s*<\?xml\s[^?>]*encoding\s*=\s*["']([^"']*)["']""")


@dataclass(frozen=True, slots=True)
class StreamFile:
    """A file as the listing shows it."""

    name: str
    size: int


def stream_name(path: str) -> str:
    """What a stream is called when nobody says: the file's or the folder's name, up to its first dot."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if _PATTERN.search(name):
        name = folder.rpartition("/")[2]
    return name.partition(".")[0] or "stream"


class StreamFiles:
    """The files under a path; ``folder`` and ``open`` are all that is asked of the file system."""

    def __init__(self, path: str) -> None:
        from pyarrow import fs

        self.path = path
        files: Any
        if "://" in path:
            files, local = fs.FileSystem.from_uri(path)
        else:
            files, local = fs.LocalFileSystem(), str(Path(path).absolute())
        self.files = files
        folder, _, name = local.rstrip("/").rpartition("/")
        if _PATTERN.search(name):
            self.folder, self.pattern = folder or "/", name
        elif files.get_file_info(local).type == fs.FileType.Directory:
            self.folder, self.pattern = local, "*"
        else:
            self.folder, self.pattern = folder or "/", ""
        self.only = "" if self.pattern else name

    def place(self, name: str = "", offset: int | None = None) -> Place:
        """How messages and quarantine records call a file of the stream."""
        return Place(name if not name or self.only else f"{self.folder.rpartition('/')[2]}/{name}", offset=offset)

    def listing(self) -> list[StreamFile]:
        """The files there are now, in the order they are read."""
        from pyarrow import fs

        if self.only:
            found = [self.files.get_file_info(f"{self.folder}/{self.only}")]
        else:
            try:
                found = self.files.get_file_info(fs.FileSelector(self.folder))
            except OSError:
                found = []
                if self.files.get_file_info(self.folder).type != fs.FileType.Directory:
                    raise self.missing(self.folder) from None
        listed = [
            StreamFile(info.base_name, info.size)
            for info in found
            if info.type == fs.FileType.File and (self.only or self.matches(info.base_name))
        ]
        if self.only and not listed:
            raise self.missing(self.only)
        return sorted(listed, key=lambda file: file.name)

    def matches(self, name: str) -> bool:
        """Whether a name belongs to the stream."""
        return not name.startswith(".") and fnmatchcase(name, self.pattern)

    def missing(self, name: str) -> XStreamError:
        """The error for a file or folder that is not there."""
        hint = "a file may go once a later one has been read and its batch committed, not before"
        return MissingFileError("XSC0006", "No such file or directory", self.place(name), hint)

    def open(self, name: str) -> BinaryIO:
        """The raw bytes of a file."""
        try:
            return cast(BinaryIO, self.files.open_input_file(f"{self.folder}/{name}"))
        except FileNotFoundError:
            raise self.missing(name) from None

    def plain_start(self, name: str) -> int | None:
        """Where plain XML begins in a file that is plain as it lies there, so that one may seek in it; else None."""
        with self.open(name) as file:
            head = file.read(_HEAD)
        mark = len(_MARK) if head.startswith(_MARK) else 0
        declared = _ENCODING.match(head, mark)
        utf8 = declared is None or declared[1].lower() in (b"utf-8", b"utf8", b"us-ascii", b"ascii")
        wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head[:4]
        if head.startswith(_COMPRESSED) or wide or not utf8 or b"<!DOCTYPE" in head:
            return None
        return mark

    def seek(self, name: str, start: int, begin: int, end: int | None = None) -> Generator[bytes]:
        """The plain XML of a file that lies plain from ``start``, between two offsets."""
        with self.open(name) as file:
            file.seek(start + begin)
            at = begin
            while end is None or at < end:
                chunk = file.read(CHUNK if end is None else min(CHUNK, end - at))
                if not chunk:
                    return
                at += len(chunk)
                yield chunk

    def decode(self, name: str, begin: int, end: int | None = None) -> Generator[bytes]:
        """The plain XML of a file that must be decompressed or transcoded from its beginning, between two offsets."""
        label = str(self.place(name))
        at = 0
        with self.open(name) as file:
            for chunk in plain_chunks(read_chunks(open_input(file), label), label):
                following = at + len(chunk)
                if following > begin:
                    stop = len(chunk) if end is None else min(len(chunk), end - at)
                    yield chunk[max(0, begin - at) : stop]
                at = following
                if end is not None and at >= end:
                    return
        if at < begin:
            raise self.shrunk(name, begin, at)

    def shrunk(self, name: str, offset: int, size: int) -> XStreamError:
        """The error for a file that has lost what was read from it."""
        hint = "files may grow or be replaced whole by later ones, not shrink; restore it, or start a new checkpoint"
        return error("XSC0063", f"had {offset} bytes when it was read, now {size}", self.place(name), hint)
