"""expat and the kernel on the same bytes: what each says of a document, in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from xml.parsers import expat

import numpy as np

from xstreamcast.errors import XMLError
from xstreamcast.model.names import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT
from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.path import Path
from xstreamcast.scan.reader import scan_array, scan_chunks
from xstreamcast.scan.scanner import Batch, Scanner

Event = tuple[int, int, str, str, str, str]
"""Level, kind, namespace, local name, prefix, value."""

WHOLE = Automaton([Target(Path(), Action.PROJECT)])


class _Skipped(Exception):
    """An entity of a DTD nobody reads: we refuse it, expat may pass over it."""


def expat_events(document: bytes) -> list[Event] | None:
    """What expat, aware of namespaces, says; None when it refuses the document."""
    events: list[Event] = []
    level = 0

    def named(kind: int, raw: str, value: str) -> None:
        parts = raw.split("\x01")
        uri, local, prefix = ("", parts[0], "") if len(parts) == 1 else (parts[0], parts[1], "".join(parts[2:]))
        events.append((level, kind, uri, local, prefix, value))

    def start(raw: str, attributes: list[str]) -> None:
        nonlocal level
        level += 1
        named(ELEMENT, raw, "")
        level += 1
        for name, value in zip(attributes[::2], attributes[1::2], strict=True):
            named(ATTRIBUTE, name, value)
        level -= 1

    def end(raw: str) -> None:
        nonlocal level
        level -= 1

    def text(data: str) -> None:
        if events and events[-1][:2] == (level + 1, TEXT):
            data = events.pop()[5] + data
        events.append((level + 1, TEXT, "", "", "", data))

    def skipped(*_: object) -> None:
        raise _Skipped

    parser = expat.ParserCreate(None, "\x01")
    parser.ordered_attributes = parser.namespace_prefixes = parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.CommentHandler = lambda data: events.append((level + 1, COMMENT, "", "", "", data))
    parser.ProcessingInstructionHandler = lambda target, data: events.append((level + 1, PI, "", target, "", data))
    parser.SkippedEntityHandler = skipped
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, _Skipped):
        return None
    return events


def kernel_events(document: bytes, chunk: int = 0) -> list[Event] | None:
    """What the kernel says of a document whole (``chunk`` 0) or in pieces; None when it refuses it."""
    try:
        return tree_events(*whole_tree(document, chunk))
    except XMLError as fault:
        if fault.place is None or not 0 <= (fault.place.offset or 0) <= len(document):
            raise AssertionError(f"an error outside the document: {fault}") from fault
        return None


def whole_tree(document: bytes, chunk: int = 0) -> tuple[Batch, Scanner]:
    """The columns of a whole document."""
    scanner = Scanner(WHOLE)
    if chunk:
        (batch,) = scan_chunks(pieces(document, chunk), scanner)
    else:
        (batch,) = scan_array(np.frombuffer(bytearray(document), np.uint8), scanner, [document])
    return batch, scanner


def pieces(document: bytes, size: int) -> Iterable[bytes]:
    """A document cut into pieces."""
    return (document[at : at + size] for at in range(0, len(document), size))


def tree_events(batch: Batch, scanner: Scanner) -> list[Event]:
    """Tree columns as events."""
    kinds, labels, ups, sizes, froms, tos, needs = batch.tree
    assert kinds[0] == DOCUMENT
    assert sizes[0] == len(kinds) - 1
    modes = {ATTRIBUTE: spans.ATTRIBUTE, TEXT: spans.TEXT, COMMENT: spans.LINES, PI: spans.LINES}
    how = [modes.get(int(kind), spans.RAW) if need else spans.RAW for kind, need in zip(kinds, needs, strict=True)]
    ends = np.where(kinds <= ELEMENT, froms, tos)
    values = spans.strings(batch.buffer, froms, ends, how)
    levels = [0] * len(kinds)
    events: list[Event] = []
    for row in range(1, len(kinds)):
        levels[row] = levels[row - int(ups[row])] + 1
        _, uri, local, prefix = scanner.symbols.qualified[labels[row]]
        events.append((levels[row], int(kinds[row]), uri, local, prefix, values[row]))
    return events
