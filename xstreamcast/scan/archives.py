"""Archives as folders: the members of zip and tar files (docx, xlsx and their like are zip files) are documents.

``dump.zip!part/a.xml`` is a path like any other: it is opened, named in errors and made a URI of. Nothing is unpacked
to disk: a member is read as it comes, in pieces. A tar file may be packed (gz, bz2, xz, zstd); it is then gone through
once for the list of its members, and on from one member to the next while they are read in their order.

>>> import tempfile, zipfile
>>> folder = tempfile.TemporaryDirectory()
>>> made = Path(folder.name, "a.zip")
>>> with zipfile.ZipFile(made, "w") as file:
...     for name in ("b/two.xml", "one.xml", "photo.png"):
...         file.writestr(name, "<a/>" if name.endswith("xml") else "PNG")
>>> [path.name for path in members(made)], [path.name for path in members(made, "*.xml")]
(['two.xml', 'a.zip!one.xml'], ['a.zip!one.xml'])
>>> open_member(members(made)[0]).read()
b'<a/>'
>>> folder.cleanup()
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from xstreamcast.errors import Place, XStreamError, error, file_error, missing_file
from xstreamcast.scan.encoding import PACKED, open_input

if TYPE_CHECKING:
    from xstreamcast.scan.archive_formats import Archive, Entry

_TAR_NAMES: Final = re.compile(r"\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|tzst)$", re.IGNORECASE)
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_HEAD: Final = 512  # bytes: a block of a tar file, which has its mark at 257
_PIECE: Final = 1 << 18
_KNOWN: Final = 8  # archives whose lists are kept
_SHOWN: Final = 5  # names in a hint


# ---------------------------------------------------------------------------------------------------------- names


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or a tar file, by its first bytes; a packed tar file has a name that says so as well."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        if head.startswith(_ZIP):
            return True
        if not head.startswith(PACKED):
            return is_tar(head)
        if not _TAR_NAMES.search(path.name):
            return False
        with open_input(path) as unpacked:
            return is_tar(unpacked.read(_HEAD))
    except damaged():
        return False  # who reads it tells


def is_tar(head: bytes) -> bool:
    """Whether a tar file begins so."""
    return head[257:262] == b"ustar"


def split(path: Path) -> tuple[Path, str] | None:
    """``a.zip!b/c.xml`` → the archive, and the name of the member; None for what is not written so, or is a file."""
    text = str(path)
    at = text.find("!")
    while at >= 0:
        if text[at - 1 : at] != "[" and Path(text[:at]).is_file() and not path.exists():
            return Path(text[:at]), text[at + 1 :]
        at = text.find("!", at + 1)
    return None


def uri_at(path: Path) -> str:
    """The URI of a document: the mark before a member stays as it is, as whoever names it writes it."""
    return path.absolute().as_uri().replace("%21", "!")


def is_member(path: Path) -> bool:
    """Whether a path leads to a member of an archive."""
    found = split(path)
    return found is not None and is_archive(found[0]) and found[1] in _opened(found[0]).entries


def is_document(path: Path) -> bool:
    """Whether a path leads to a file, or to a member of an archive."""
    return path.is_file() or is_member(path)


def document_at(path: Path) -> Path | None:
    """The document that a path leads to: itself, or what is alone in an archive; None if it leads to none."""
    if not path.is_file():
        return path if is_member(path) else None
    if not is_archive(path):
        return path
    inside = members(path)
    if len(inside) > 1:
        hint = f"name one of them: {', '.join(str(each) for each in inside[:_SHOWN])}{' …' * (len(inside) > _SHOWN)}"
        raise error("XSC0006", f"there are {len(inside)} documents in the archive", Place(str(path)), hint)
    return inside[0]


def members(path: Path, pattern: str = "") -> list[Path]:
    """The documents in an archive, in the order in which it has them; XSC0006 if there is none.

    As in a folder, names that begin with a dot or an underscore are not looked at. Members that do not begin as XML
    does, such as pictures, are passed over, unless ``pattern`` is the name of one. In a pattern ``*`` and ``?`` stay
    within a folder, ``**/`` is any number of folders.
    """
    archive = _opened(path)
    if pattern in archive.entries:
        return [Path(f"{path}!{pattern}")]
    fits: Callable[[str], object] = _translated(pattern).fullmatch if pattern else bool
    names = [name for name in archive.entries if fits(name) and _is_shown(name, pattern)]
    found = [name for name in names if archive.entries[name].xml or _looked_up(path, name).xml]
    if not found:
        some = names or list(archive.entries)
        message = "no member of that name in the archive" if pattern else "there is no XML in the archive"
        hint = f"it has {', '.join(some[:_SHOWN])}{' …' * (len(some) > _SHOWN)}" if some else "it is empty"
        raise error("XSC0006", message, Place(f"{path}!{pattern}" if pattern else str(path)), hint)
    return [Path(f"{path}!{name}") for name in found]


def _is_shown(name: str, pattern: str) -> bool:
    parts = name.split("/")
    return not any(part.startswith((".", "_")) for part in (parts[-1:] if pattern else parts))


def _translated(pattern: str) -> re.Pattern[str]:
    made = ""
    for part in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL):
        if part in ("**/", "**", "*", "?"):
            made += {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}[part]
        elif len(part) > 1:
            inner = re.sub(r"([\\\[^&~|])", r"\\\1", part[1:-1])
            made += f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
        else:
            made += re.escape(part)
    return re.compile(made, re.DOTALL)


def _looked_up(path: Path, name: str) -> Entry:
    """An entry with what its member begins with."""
    from xstreamcast.scan.archive_formats import LEAD

    archive = _opened(path)
    entry = archive.entries[name]
    if entry.lead is None:
        with _Named(archive.open(entry), f"{path}!{name}") as file:
            archive.entries[name] = entry = replace(entry, lead=file.read(LEAD))
    return entry


# --------------------------------------------------------------------------------------------------------- reading


def open_member(path: Path) -> BinaryIO:
    """A member, to be read once from its beginning."""
    found = split(path)
    if found is None or not is_archive(found[0]):
        raise file_error(FileNotFoundError("no such file"), path, "give an existing file, or a member: FILE.zip!NAME")
    archive = _opened(found[0])
    entry = archive.entries.get(found[1])
    if entry is None:
        members(*found)  # tells which there are
        raise error("XSC0006", "a pattern, where one document is wanted", Place(str(path)), "name the member")
    return cast(BinaryIO, io.BufferedReader(_Named(archive.open(entry), str(path)), _PIECE))


def is_packed(path: Path) -> bool:
    """Whether a document is compressed by itself."""
    found = split(path)
    if found is not None:
        return (_looked_up(*found).lead or b"").startswith(PACKED)
    with open(path, "rb") as file:
        return file.read(8).startswith(PACKED)


def size_of(path: Path) -> int:
    """The bytes of a document in a file, or unpacked from an archive."""
    found = split(path)
    if found is None:
        return path.stat().st_size
    entry = _opened(found[0]).entries.get(found[1])
    if entry is None:
        raise missing_file(str(path), "no such member any more", "the archive is another")
    return entry.size


def stamp_of(path: Path) -> tuple[int, int]:
    """What tells whether a document is as it was: its size, and when its file, or its archive, was last written."""
    found = split(path)
    return size_of(path), (path if found is None else found[0]).stat().st_mtime_ns


class _Named(io.RawIOBase):
    """A member with its name; what is wrong with it has its place."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file, self.name = file, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.file.read(len(buffer))
        except damaged() as fault:
            place, hint = Place(self.name), "is the archive damaged?"
            raise error("XSC0006", f"cannot be read on: {fault}", place, hint) from None
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.file.close()
        super().close()


_archives: dict[tuple[str, int, int], Archive] = {}
_opening: Final = Lock()


def _opened(path: Path) -> Archive:
    """An archive as it is now: its list is read once."""
    state = path.stat()
    key = (str(path.absolute()), state.st_size, state.st_mtime_ns)
    with _opening:
        found = _archives.pop(key, None)
        if found is None:
            found = _read(path, state.st_size)
        _archives[key] = found  # the one used last is the last to go
        while len(_archives) > _KNOWN:
            _archives.pop(next(iter(_archives))).close()
        return found


def _read(path: Path, size: int) -> Archive:
    from xstreamcast.scan.archive_formats import Tar, Zip

    try:
        with open(path, "rb") as file:
            head = file.read(4)
        return Zip(path, size) if head in _ZIP else Tar(path, size)
    except XStreamError:
        raise
    except damaged() as fault:
        place, hint = Place(str(path)), "is the archive complete?"
        raise error("XSC0006", f"the archive cannot be read: {fault}", place, hint) from None


def damaged() -> tuple[type[Exception], ...]:
    """What reading an archive may raise; that is imported when something is raised."""
    import zlib
    from lzma import LZMAError
    from tarfile import TarError
    from zipfile import BadZipFile

    return BadZipFile, TarError, OSError, EOFError, LZMAError, zlib.error
