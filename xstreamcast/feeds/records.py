"""Documents → their records: what a query finds at a path, with the key and the time that expressions give each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from xstreamcast.errors import Place, error
from xstreamcast.model.atomic import Item
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.model.framing import Broken, Framer
from xstreamcast.model.function import Array
from xstreamcast.model.tree import Node
from xstreamcast.scan.encoding import Source, plain_xml, source_name, standard_input

if TYPE_CHECKING:
    from xstreamcast.run.query import Query

_STEP: Final = re.compile(r"(?:([^\W\d][\w.-]*):)?([^\W\d][\w.-]*)")
_ERRORS: Final = "Q{http://www.w3.org/2005/xqt-errors}"
_AROUND: Final = "records"
"""The root element of a feed whose documents are records."""


@dataclass(frozen=True, slots=True)
class Record:
    """An element, as a node; what its key and its time are, as texts."""

    key: str
    time: str
    element: Node


@dataclass(frozen=True, slots=True)
class Removal:
    """The record of this key is gone."""

    key: str


class Records:
    """What is read of each document: ``path`` leads to its records, ``removed`` from its root to keys that are gone."""

    def __init__(
        self, path: str, key: str | None, time: str | None, removed: str | None, namespaces: Mapping[str, str]
    ) -> None:
        self.steps = _steps(path, namespaces)
        self.messages = len(self.steps) == 1
        """A document is a record: there may be several, one after the other."""
        self.query = _query(self.steps, key, time, removed, namespaces)

    @property
    def around(self) -> tuple[str, ...]:
        """The elements around the records, from the root, as ``{uri}local``."""
        return (_AROUND,) if self.messages else self.steps[:-1]

    def read(self, source: Source) -> Iterator[Record | Removal | Diagnostic]:
        """The records of a document in its order, then the removals; of messages, message by message."""
        if not self.messages:
            piped = standard_input() if str(source) == "-" else source
            yield from self._found(Path(piped) if isinstance(piped, str) else piped, source_name(source))
            return
        name = source_name(source)
        for piece in Framer(plain_xml(source)):
            if isinstance(piece, Broken):
                place = Place(name, offset=piece.offset)
                yield Diagnostic("XSC0001", "quarantine", piece.reason, place, excerpt(piece.raw))
            else:
                yield from self._found(piece.raw, name)

    def _found(self, context: Any, name: str) -> Iterator[Record | Removal | Diagnostic]:
        items = self.query(context=context).consume()
        for key in items:
            second: Item = next(items)
            if second is True:
                yield Removal(cast(str, key))
                continue
            element = cast(Node, next(items))
            fault = key if isinstance(key, Array) else second
            if isinstance(fault, Array):
                code, message = (str(member[0]) for member in fault.members())
                text = excerpt(element.string[:400].encode())
                yield Diagnostic(code, "quarantine", f"{message}, in {self.steps[-1]}", Place(name), text)
            else:
                yield Record(cast(str, key), cast(str, second), element)


def _steps(path: str, namespaces: Mapping[str, str]) -> tuple[str, ...]:
    """``/feed/atom:entry`` → names as ``{uri}local``."""
    made = []
    for step in path.removeprefix("/").split("/"):
        match = _STEP.fullmatch(step)
        if match is None:
            hint = "the names from the root to a record, such as /feed/entry"
            raise error("XSC0120", f"{path!r} is no path to records", hint=hint)
        prefix, local = match[1] or "", match[2]
        if prefix and prefix not in namespaces:
            raise error("XPST0081", f"the prefix {prefix!r} is not declared", hint=f"--namespace {prefix}=URI")
        uri = namespaces.get(prefix, "")
        made.append(f"{{{uri}}}{local}" if uri else local)
    return tuple(made)


def _query(
    steps: tuple[str, ...], key: str | None, time: str | None, removed: str | None, namespaces: Mapping[str, str]
) -> Query:
    from xstreamcast.run.query import compile

    prolog = "".join(
        f'declare namespace {prefix} = "{uri}"; ' if prefix else f'declare default element namespace "{uri}"; '
        for prefix, uri in namespaces.items()
    )
    path = "".join(f"/Q{step}" if step.startswith("{") else f"/Q{{}}{step}" for step in steps)
    # Each expression by itself first, so that what is wrong with it has its own place.
    for given in (key, time, removed):
        if given is not None:
            compile(prolog + given, source=given)
    items = ", ".join(map(_joined, (key, time)))
    text = f"for $record in {path} return $record ! ({items}, .)"
    if removed is not None:
        text += f", (({removed}) ! (string(), true()))"
    return compile(prolog + text, source="feed")


def _joined(given: str | None) -> str:
    """The values of an expression as one text; what is wrong with them, if that is so, as a code and a message."""
    if given is None:
        return '""'
    fault = f"[local-name-from-QName(${_ERRORS}code), string(${_ERRORS}description)]"
    return f'try {{ string-join(({given}) ! string(), " ") }} catch * {{ {fault} }}'
