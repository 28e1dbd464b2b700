"""Documents → their records: what a query finds at a path, with the key and the time that expressions give each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from xstreamcast.errors import Place
from xstreamcast.feeds.paths import Gone, Steps, around_of, gone_of, parse_paths
from xstreamcast.model.atomic import Item
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.model.function import Array
from xstreamcast.model.tree import Node
from xstreamcast.run.inputs import Scanning
from xstreamcast.run.stored import opened
from xstreamcast.scan.encoding import Source, plain_xml, standard_input
from xstreamcast.scan.parse import root_name
from xstreamcast.wire.framing import Broken, Framer

if TYPE_CHECKING:
    from xstreamcast.run.query import Query
    from xstreamcast.scan.external import External

_ERRORS: Final = "Q{http://www.w3.org/2005/xqt-errors}"


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
    """The records and removals of documents: ``text`` is the paths to records, ``removed`` leads to what is gone."""

    def __init__(
        self,
        text: str,
        key: str | None,
        time: str | None,
        removed: str | None,
        namespaces: Mapping[str, str],
        external: External | None = None,
    ) -> None:
        self.external = external
        self.text = text
        self.paths = parse_paths(text, namespaces)
        self.messages = any(len(path) == 1 for path in self.paths)
        """A document is a record: there may be several, one after the other."""
        self.query = _query(self.paths, key, time, removed, namespaces)

    @property
    def around(self) -> tuple[str, ...]:
        """The elements around the records, from the root, as ``{uri}local``."""
        return around_of(self.paths[0])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names that records have, as ``{uri}local``; None if they may have any."""
        last = tuple(dict.fromkeys(path[-1] for path in self.paths))
        return None if any(step.uri is None or step.local is None for step in last) else tuple(map(str, last))

    @property
    def about(self) -> str:
        """Which records these are, whatever prefixes stood for."""
        paths = [tuple(map(str, path)) for path in self.paths]
        return repr(paths[0] if len(paths) == 1 else tuple(paths))

    def read(self, source: Source, name: str) -> Iterator[Record | Removal | Diagnostic]:
        """The records of a document in its order, then the keys of what is gone; of messages, message by message."""
        if not self.messages:
            piped = standard_input() if str(source) == "-" else source
            yield from self._found(Path(piped) if isinstance(piped, str) else piped, name)
            return
        at_rest = isinstance(source, str | Path) and Path(source).is_file()
        for document in opened([Path(str(source))]) if at_rest else [source]:
            yield from self._messages(document, name)

    def _messages(self, source: Source, name: str) -> Iterator[Record | Removal | Diagnostic]:
        framer, piece = Framer(plain_xml(source, many=True)), None
        for piece in framer:
            doctype, framer.doctype = framer.doctype, b""
            if isinstance(piece, Broken):
                place = Place(name, offset=piece.offset)
                yield Diagnostic("XSC0001", "quarantine", piece.reason, place, excerpt(piece.raw))
            else:
                yield from self._found(doctype + piece.raw, name)
        if piece is None:
            yield self._nothing(b"", name)

    def _found(self, context: Any, name: str) -> Iterator[Record | Removal | Diagnostic]:
        scanning = Scanning(many=True, external=self.external)
        items = self.query.ask(context=context, scanning=scanning).consume()
        has_records = False
        for key in items:
            second: Item = next(items)
            element = None if isinstance(second, bool) else cast(Node, next(items))
            has_records |= second is not False
            fault = key if isinstance(key, Array) else second
            if isinstance(fault, Array):
                code, message = (str(member[0]) for member in fault.members())
                text, what = "", "a removal"
                if element is not None:
                    text, what = excerpt(element.string[:400].encode()), element.lexical
                yield Diagnostic(code, "quarantine", f"{message}, in {what}", Place(name), text)
            elif element is None:
                yield Removal(cast(str, key))
            else:
                yield Record(cast(str, key), cast(str, second), element)
        if not has_records:
            yield self._nothing(context, name)

    def _nothing(self, document: Any, name: str) -> Diagnostic:
        """That a document has no record, and how its root is called, if it can be looked at again."""
        text = f"there is no record {self.text} in it"
        if isinstance(document, BytesIO):
            document = document.getvalue()
        root = root_name(document) if isinstance(document, Path | bytes) else None
        if root is not None:
            uri, local = root
            text += f"; its root is {local}" + (f", in the namespace {uri}" if uri else "")
        return Diagnostic("XSC0123", "warning", text, Place(name))


def _query(
    paths: tuple[Steps, ...], key: str | None, time: str | None, removed: str | None, namespaces: Mapping[str, str]
) -> Query:
    """Of each record its key, its time and itself; of one that is gone its key and true; then keys, each and false."""
    from xstreamcast.run.query import compile

    prolog = "".join(
        f'declare namespace {prefix} = "{uri}"; ' if prefix else f'declare default element namespace "{uri}"; '
        for prefix, uri in namespaces.items()
    )
    # Each expression by itself first, so that what is wrong with it has its own place.
    alone = {given: compile(prolog + given, source=given) for given in (key, time, removed) if given is not None}
    gone = Gone((), "", "")
    if removed is not None:
        body = alone[removed].executable.program.module.body
        assert body is not None
        gone = gone_of(body, paths)
    records = " | ".join(["".join(f"/{step.test}" for step in path) for path in paths] + list(gone.paths))
    second = f"{_joined(time)}, ."
    if gone.condition:
        second = f"if ({gone.condition}) then true() else ({second})"
    text = f"for $record in ({records}) return $record ! ({_joined(key)}, {second})"
    if gone.keys:
        text += f", (({gone.keys}) ! (string(), false()))"
    return compile(prolog + text, source="feed")


def _joined(given: str | None) -> str:
    """The values of an expression as one text; what is wrong with them, if that is so, as a code and a message."""
    if given is None:
        return '""'
    fault = f"[local-name-from-QName(${_ERRORS}code), string(${_ERRORS}description)]"
    return f'try {{ string-join(({given}) ! string(), " ") }} catch * {{ {fault} }}'
