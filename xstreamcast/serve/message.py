"""What goes over a WebSocket, and what the log is read as over HTTP: messages.

    message ::= header (one line of JSON) newline element*

The header names the stream, its log, the log's head, and the N and the length of each element; the elements are the
wire form, one after the other. A message of the carousel also says which cycle it is of, how much of it there is and
where in it the message stands, so that a client knows when it has everything; one of a compacted log, how far it goes.

>>> made = message(Header("credit", "ab", 7, (6, 7), (4, 5)), [b"<a/>", b"<bb/>"])
>>> made.partition(b"\\n")[0]
b'{"stream":"credit","log":"ab","head":7,"n":[6,7],"size":[4,5]}'
>>> header, elements = parse_message(made)
>>> header.head, elements
(7, [b'<a/>', b'<bb/>'])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from xstreamcast.errors import error

_BINARY: Final = 0x82  # the last frame of a message, of bytes
_HINT: Final = "is it an xcast server, of this version?"


@dataclass(frozen=True, slots=True)
class Header:
    """``head`` is the log's last N as of the message, or of the beginning of the cycle it belongs to.

    ``cycle`` is the number of the cycle, ``at`` the place in it of the first element, ``of`` how many there are.
    Where the log is compacted, ``first`` is the number from which on it has all records, and the message is all that
    still counts of those after ``after``, up to ``through``.
    """

    stream: str
    log: str
    head: int
    n: tuple[int, ...]
    size: tuple[int, ...]
    cycle: int | None = None
    at: int = 0
    of: int = 0
    first: int = 0
    after: int = 0
    through: int = 0


def message(header: Header, elements: Sequence[bytes]) -> bytes:
    """A header and its elements as they are sent."""
    fields: dict[str, Any] = {
        "stream": header.stream, "log": header.log, "head": header.head, "n": header.n, "size": header.size,
    }  # fmt: skip
    if header.cycle is not None:
        fields |= {"cycle": header.cycle, "at": header.at, "of": header.of}
    if header.first:
        fields |= {"first": header.first, "after": header.after, "through": header.through}
    return b"".join((json.dumps(fields, separators=(",", ":")).encode(), b"\n", *elements))


def parse_message(data: bytes) -> tuple[Header, list[bytes]]:
    """What :func:`message` made; raises where it is none."""
    line, newline, body = data.partition(b"\n")
    try:
        fields = json.loads(line)
        numbers = [fields["head"], *fields["n"], *fields["size"]]
        cycle = fields.get("cycle")
        header = Header(
            fields["stream"], fields["log"], fields["head"], tuple(fields["n"]), tuple(fields["size"]), cycle,
            fields.get("at", 0), fields.get("of", 0),
            fields.get("first", 0), fields.get("after", 0), fields.get("through", 0),
        )  # fmt: skip
        numbers += [header.at, header.of, header.first, header.after, header.through]
        numbers += [] if cycle is None else [cycle]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise error("XSC0104", "a message without a header", hint=_HINT) from None
    whole = all(type(number) is int and number >= 0 for number in numbers)
    named = isinstance(header.stream, str) and isinstance(header.log, str)
    if not (newline and whole and named and len(header.n) == len(header.size) and sum(header.size) == len(body)):
        raise error("XSC0104", "a message that is not what its header says", hint=_HINT)
    elements, at = [], 0
    for size in header.size:
        elements.append(body[at : at + size])
        at += size
    return header, elements


def frame(data: bytes) -> bytes:
    """A message as one WebSocket frame (RFC 6455 §5.2). A server's frames are not masked: all clients get the same."""
    size = len(data)
    if size < 126:
        return bytes((_BINARY, size)) + data
    if size < 1 << 16:
        return bytes((_BINARY, 126)) + size.to_bytes(2, "big") + data
    return bytes((_BINARY, 127)) + size.to_bytes(8, "big") + data
