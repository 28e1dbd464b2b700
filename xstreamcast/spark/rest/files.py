"""Documents at rest: files, folders, archives and patterns, here or wherever ``pyarrow.fs`` reaches, and parts of them.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     for name in ("b.xml", "a.xml", ".hidden", "notes.txt"):
...         _ = Path(folder, name).write_text("<a/>")
...     [Path(found.path).name for found in documents(f"{folder}/*.xml")]
['a.xml', 'b.xml']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import numpy as np

from xstreamcast.errors import Place, error
from xstreamcast.run.stored import PATTERN, missing, shown, stored
from xstreamcast.scan.archives import stamp_of, uri_at
from xstreamcast.scan.encoding import plain_xml, read_chunks
from xstreamcast.scan.pieces import Packing, packing_of
from xstreamcast.scan.reader import mapped
from xstreamcast.spark.rest.seams import HEAD, Window, splittable

_URI: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_SLACK: Final = 1 << 20  # read beyond a range at first, for its last record
_UNPACKED_SLACK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a packed file is entered: a bit of it, and how many bytes of plain XML come before."""

    at: int
    before: int
    stored: int
    """Bytes of the file, packed."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it was when it was listed; ``path`` is a URI or the absolute path of a local file."""

    path: str
    size: int
    """Bytes of the file; of plain XML where it is entered."""
    stamp: int
    """When it was last written, in nanoseconds."""
    entry: Entry | None = None
    """Where it is entered, if it is packed and read in pieces."""

    @property
    def local(self) -> bool:
        """Whether it is reached without ``pyarrow.fs``."""
        return not _URI.match(self.path)

    @property
    def uri(self) -> str:
        return uri_at(Path(self.path)) if self.local else self.path

    def source(self) -> Path | BinaryIO:
        """What a scan of the whole takes."""
        if self.local:
            return Path(self.path)
        files, path = _file_system(self.path)
        return cast(BinaryIO, files.open_input_file(path))

    def windows(self, begin: int, end: int) -> Iterator[Window]:
        """What has to be looked at for a range: should it not be enough, the next one has more. A file here is mapped.

        XSC0063 where the file is not the one that was listed.
        """
        if self.entry is not None:
            yield from self._unpacked(self.entry, begin, end)
            return
        if self.local:
            self._check(_listed(Path(self.path)))
            # A member of an archive is read as it comes: nothing of it can be cut out.
            b = mapped(self.path) if Path(self.path).is_file() else np.zeros(0, np.uint8)
            yield Window(b, 0, True)
            return
        files, path = _file_system(self.path)
        self._check(_described(self.path, files.get_file_info(path)))
        slack = _SLACK
        with files.open_input_file(path) as file:
            while True:
                stop = min(self.size, end + slack)
                read = np.frombuffer(bytearray(file.read_at(stop - begin, begin)), np.uint8)
                yield Window(read, begin, stop == self.size)
                if stop == self.size:
                    return
                slack *= 4

    def plain(self) -> Iterator[Window]:
        """All of it as plain XML: decoded into memory if it is packed, in another encoding or has a DTD of its own."""
        for window in self.windows(0, self.size):
            if window.whole:
                if splittable(bytes(window.bytes[:HEAD])) is None:
                    decoded = b"".join(plain_xml(self.source()))
                    window = Window(np.frombuffer(bytearray(decoded), np.uint8), 0, True)
                yield window

    def _unpacked(self, entry: Entry, begin: int, end: int) -> Iterator[Window]:
        with self.stored() as file:
            packing = packing_at(file)
            if packing is None:
                raise error("XSC0063", "has changed since it was listed", Place(self.path))
            skip = begin - entry.before
            found = read_chunks(packing.opened(file, entry.at, entry.stored), self.path)
            b = bytearray()
            slack = _UNPACKED_SLACK
            while True:
                stop = min(self.size, end + slack)
                while len(b) < stop - begin + skip and (chunk := next(found, None)) is not None:
                    b += chunk
                    if skip:
                        gone = min(skip, len(b))
                        del b[:gone]
                        skip -= gone
                yield Window(np.frombuffer(b[: stop - begin], np.uint8), begin, stop == self.size)
                if stop == self.size:
                    return
                slack *= 4

    @contextmanager
    def stored(self) -> Iterator[BinaryIO]:
        """The file as it is stored, to be read from any place; XSC0063 where it is not the one that was listed."""
        if self.local:
            self._check(_listed(Path(self.path)))
            with open(self.path, "rb") as file:
                yield file
            return
        files, path = _file_system(self.path)
        self._check(_described(self.path, files.get_file_info(path)))
        with files.open_input_file(path) as opened:
            yield cast(BinaryIO, opened)

    @property
    def entered(self) -> bool:
        """Whether it can be read from any place: a member of an archive is read as it comes."""
        return not self.local or Path(self.path).is_file()

    def _check(self, now: Document) -> None:
        size = self.size if self.entry is None else self.entry.stored
        if (now.path, now.size, now.stamp) != (self.path, size, self.stamp):
            hint = "a file must stay as it is while it is read; make a new DataFrame for the new one"
            raise error("XSC0063", "has changed since it was listed", Place(self.path), hint)


def packing_at(file: BinaryIO) -> Packing | None:
    """How a file is entered, by its first bytes; None if it cannot be."""
    return packing_of(file.read(8))


def _file_system(uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    files, path = fs.FileSystem.from_uri(uri)
    return files, path


def _listed(path: Path) -> Document:
    return Document(str(path), *stamp_of(path))


def _described(uri: str, info: Any) -> Document:
    return Document(uri, info.size or 0, info.mtime_ns or 0)


def documents(paths: str | Sequence[str]) -> list[Document]:
    """The files of some paths: each a file, a folder (all that lies in it, in name order), an archive, or a pattern.

    Names that begin with a dot or an underscore are not looked at in folders and patterns. XSC0006: there is none.
    """
    found: list[Document] = []
    for path in [paths] if isinstance(paths, str) else paths:
        listed = _elsewhere(path) if _URI.match(path) and not path.startswith("file://") else _here(path)
        if not listed:
            raise missing(path)
        found += listed
    return found


def _here(path: str) -> list[Document]:
    if path.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(path).path)
    return [_listed(file) for file in stored(path)]


def _elsewhere(uri: str) -> list[Document]:
    from pyarrow import fs

    where, options = _options(uri)
    root, _, name = where.rstrip("/").rpartition("/")
    pattern = name if PATTERN.search(name) else None
    files, path = _file_system((root if pattern else where) + options)
    info = files.get_file_info(path)
    if info.type == fs.FileType.File:
        return [_described(uri, info)]
    if info.type != fs.FileType.Directory:
        return []
    start = (root if pattern else where).rstrip("/")
    listed = files.get_file_info(fs.FileSelector(path, recursive=pattern is None))
    made = []
    for each in sorted(listed, key=lambda each: str(each.path)):
        below = each.path[len(path.rstrip("/")) + 1 :]
        matches = pattern is None or fnmatchcase(below, pattern)
        if each.type == fs.FileType.File and matches and shown(tuple(below.split("/"))):
            made.append(_described(f"{start}/{below}{options}", each))
    return made


def _options(uri: str) -> tuple[str, str]:
    """A URI and the options of its file system, ``?endpoint_override=…``; a ``?`` without is one of a pattern."""
    where, sign, options = uri.rpartition("?")
    return (where, sign + options) if "=" in options else (uri, "")
