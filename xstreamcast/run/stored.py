"""Stored documents by name: a file, a folder (all files in it), an archive (its members), or a pattern.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     for name in ("b.xml", "a.xml", ".hidden", "_part", "notes.txt"):
...         _ = Path(folder, name).write_text("<a/>")
...     [file.name for file in stored(folder)], [file.name for file in stored(f"{folder}/*.xml")]
(['a.xml', 'b.xml', 'notes.txt'], ['a.xml', 'b.xml'])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from xstreamcast.errors import Place, XStreamError, error, missing_file
from xstreamcast.model.names import DOCUMENT
from xstreamcast.model.tree import Node
from xstreamcast.scan.archives import is_archive, is_member, members, split
from xstreamcast.scan.given import is_one, is_text

PATTERN: Final = re.compile(r"[*?\[]")
_MEMBERS: Final = re.compile(r"(.*?[^\[])!(.*)", re.DOTALL)


def stored(name: str | PathLike[str]) -> list[Path]:
    """The documents that a name stands for, in the order of their names, members in that of their archive; XSC0006 if
    there is none.

    In folders, which are searched to the bottom, and patterns, names that begin with a dot or an underscore are not
    looked at. Archives stand for their members, ``dump.zip!part*.xml`` for some of them.
    """
    place = Path(name).absolute()
    inside = in_archives(place)
    if inside is not None:
        return inside
    if place.is_file():
        return opened([place])
    if place.is_dir():
        below = [file for file in place.rglob("*") if file.is_file() and shown(file.relative_to(place).parts)]
    elif PATTERN.search(str(name)):
        below = [Path(found) for found in glob(str(place), recursive=True)]
        below = [file for file in below if file.is_file() and shown((file.name,))]
    else:
        below = []
    if not below:
        raise missing(fspath(name))
    return opened(sorted(below))


def opened(files: Iterable[Path]) -> list[Path]:
    """Files, with the documents in them for those that are archives."""
    return [document for file in files for document in (members(file) if is_archive(file) else [file])]


def in_archives(place: Path) -> list[Path] | None:
    """The members that ``archives!pattern`` stands for; None for what is not written so, or is a file."""
    found = split(place)
    if found is not None:
        return members(*found)
    match = _MEMBERS.fullmatch(str(place))
    if match is None or place.exists() or not PATTERN.search(match[1]):
        return None
    return [member for file in sorted(glob(match[1], recursive=True)) for member in members(Path(file), match[2])]


def shown(parts: tuple[str, ...]) -> bool:
    """Whether a file is looked at whose path below a folder has these parts."""
    return not any(part.startswith((".", "_")) for part in parts)


def missing(name: str) -> XStreamError:
    """Nothing has that name, or there is nothing in it."""
    if Path(name).is_dir():
        hint = "names that begin with a dot or an underscore are not looked at"
        return error("XSC0006", "there are no files in the folder", Place(name), hint)
    return missing_file(name, "no such file, and nothing matches", "a file, a folder or a pattern of files")


def _names(given: Any) -> bool:
    return isinstance(given, str | PathLike) and not is_text(given)


def _is_document(given: Any) -> bool:
    """Whether it is a document rather than a value: of nodes, only whole documents are."""
    return is_one(given) and (not isinstance(given, Node) or given.kind == DOCUMENT)


def several(context: Any) -> list[Any] | None:
    """The documents that a context stands for if it names a folder, an archive or a pattern, or is a list or an
    iterator of documents: names, texts, bytes, open files, trees."""
    if isinstance(context, Iterator) and not is_one(context):
        context = list(context)
    if isinstance(context, list | tuple):
        if not context or not all(map(_is_document, context)):
            return None
        return [document for each in context for document in (stored(each) if _names(each) else [each])]
    if not isinstance(context, str | PathLike) or is_text(context):
        return None
    place = Path(context)
    if place.is_file():
        return list(stored(context)) if is_archive(place) else None
    if is_member(place) or not (place.is_dir() or split(place) or (not place.exists() and PATTERN.search(str(place)))):
        return None
    return list(stored(context))
