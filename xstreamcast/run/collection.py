"""What ``collection(uri)`` finds: what was given by that name, else the files of a folder or that match a pattern.

``collection("inbox")`` are the XML files of a folder (compressed ones too) and those in its archives,
``collection("inbox/2024-*.xml")`` and ``collection("archive/**/*.xml.gz")`` those that match; also as
``inbox?select=*.xml;recurse=yes``. ``collection("dump.zip")`` are the documents in an archive,
``collection("dump.zip!part*.xml")`` some of them. Files come in the order of their names, members in that of the
archive; a document that ``doc()`` finds too is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.run.library import Library, document, path_of, uri_of
from xstreamcast.run.stored import in_archives, opened
from xstreamcast.scan.given import each_of, is_text

_XML_FILES: Final = (
    "*.xml", "*.xml.gz", "*.xml.bz2", "*.xml.xz", "*.xml.zst", "*.zip", "*.tar", "*.tar.*", "*.tgz",
)  # fmt: skip


class Collections:
    """Collections by name (``""``: the default one), each read once, and as long as the evaluation lasts."""

    def __init__(self, library: Library, given: Mapping[str, Any]) -> None:
        self._library = library
        self._given = {name if name == "" else library.absolute(name): source for name, source in given.items()}
        self._known: dict[str, list[Item]] = {}

    def items(self, uri: str | None) -> list[Item]:
        """What ``collection(uri)`` finds."""
        name = uri or ""
        if name not in self._known:
            self._known[name] = [self._item(source) for source in self._sources(name)]
        return self._known[name]

    def uris(self, uri: str | None) -> list[str]:
        """What ``uri-collection(uri)`` finds: the documents that are in files."""
        return [found for source in self._sources(uri or "") if (found := uri_of(source)) is not None]

    def _item(self, source: Any) -> Item:
        uri = uri_of(source) if isinstance(source, str | PathLike) else None
        return document(source, self._library.external) if uri is None else self._library.document(uri)

    def _sources(self, name: str) -> list[Any]:
        if name in self._given:
            given = self._given[name]
            if isinstance(given, str | PathLike) and not is_text(given):
                return list(matching(Path(given)))
            return list(each_of(given))
        if not name:
            hint = "name one: collection('folder'), collection('folder/*.xml'), or give it: collections={'': files}"
            raise error("FODC0002", "there is no default collection", hint=hint)
        found = located(name)
        if found is None:
            raise error("FODC0002", f"no collection {name}", hint="it is a folder, a pattern, or given: collections=")
        return found


def located(uri: str) -> list[Path] | None:
    """The files that an absolute URI leads to; None if it does not lead to files."""
    parts = urlsplit(uri)
    path = path_of(uri)
    if path is None:
        return None
    if "=" not in parts.query:  # a ? of the pattern
        return matching(Path(f"{path}?{unquote(parts.query)}") if parts.query else path)
    options = dict(option.partition("=")[::2] for option in parts.query.replace("&", ";").split(";"))
    pattern = unquote(options.get("select", "*"))
    return matching(Path(unquote(parts.path)) / ("**" if options.get("recurse") == "yes" else "") / pattern)


def matching(path: Path) -> list[Path]:
    """The files of a folder that are XML by their names, or those that a path with ``*``, ``[…]`` or ``**`` matches;
    the members of archives."""
    inside = in_archives(path)
    if inside is not None:
        return inside
    if path.is_dir():
        found = {file for pattern in _XML_FILES for file in path.glob(pattern)}
    elif path.is_file():
        found = {path}
    else:
        parts = path.parts
        fixed = next((k for k, part in enumerate(parts) if any(sign in part for sign in "*?[")), len(parts))
        if fixed == len(parts):
            raise error("FODC0002", f"no folder {path}")
        found = set(Path(*parts[:fixed]).glob(str(Path(*parts[fixed:]))))
    files = sorted(file for file in found if file.is_file() and not file.name.startswith("."))
    if not files and not path.is_dir():
        raise error("FODC0002", f"no file matches {path}")
    return opened(files)
