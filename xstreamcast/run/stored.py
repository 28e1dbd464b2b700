"""Stored documents by name: a file, a folder (all files in it), or a pattern.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     for name in ("b.xml", "a.xml", ".hidden", "_part", "notes.txt"):
...         _ = Path(folder, name).write_text("<a/>")
...     [file.name for file in stored(folder)], [file.name for file in stored(f"{folder}/*.xml")]
(['a.xml', 'b.xml', 'notes.txt'], ['a.xml', 'b.xml'])
"""

from __future__ import annotations

import re
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from xstreamcast.errors import Place, XStreamError, error, missing_file
from xstreamcast.scan.given import is_text

PATTERN: Final = re.compile(r"[*?\[]")


def stored(name: str | PathLike[str]) -> list[Path]:
    """The files that a name stands for, in the order of their names; XSC0006 if there is none.

    In folders, which are searched to the bottom, and patterns, names that begin with a dot or an underscore are not
    looked at.
    """
    place = Path(name).absolute()
    if place.is_file():
        return [place]
    if place.is_dir():
        below = [file for file in place.rglob("*") if file.is_file() and shown(file.relative_to(place).parts)]
    elif PATTERN.search(str(name)):
        below = [Path(found) for found in glob(str(place), recursive=True)]
        below = [file for file in below if file.is_file() and shown((file.name,))]
    else:
        below = []
    if not below:
        raise missing(fspath(name))
    return sorted(below)


def shown(parts: tuple[str, ...]) -> bool:
    """Whether a file is looked at whose path below a folder has these parts."""
    return not any(part.startswith((".", "_")) for part in parts)


def missing(name: str) -> XStreamError:
    """Nothing has that name, or there is nothing in it."""
    if Path(name).is_dir():
        hint = "names that begin with a dot or an underscore are not looked at"
        return error("XSC0006", "there are no files in the folder", Place(name), hint)
    return missing_file(name, "no such file, and nothing matches", "a file, a folder or a pattern of files")


def several(context: Any) -> list[Any] | None:
    """The documents that a context stands for if it names a folder or a pattern, or is a list of names or texts."""
    if isinstance(context, list | tuple):
        if not context or not all(isinstance(each, str | PathLike) for each in context):
            return None
        return [document for each in context for document in ([each] if is_text(each) else stored(each))]
    if not isinstance(context, str | PathLike) or is_text(context):
        return None
    place = Path(context)
    if place.is_dir() or (PATTERN.search(fspath(context)) and not place.exists()):
        return list(stored(context))
    return None
