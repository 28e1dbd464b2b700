"""The records of a log: a change or a structure as it is sent, and what must be known of it without opening it.

    record  ::= "\\xc5REC" length:u32 crc:u32 N:u64 payload

Little-endian; the crc is that of N and the payload. The payload is an :class:`Entry`: the numbers of a change, so that
a restart need not parse XML, and the change as it is sent.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from xstreamcast.model.change import CHANGES, Change
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.model.time import Instant
from xstreamcast.wire.fragment import encode_change

STRUCTURE: Final = "structure"
KINDS: Final = (STRUCTURE, *CHANGES)
MARKER: Final = b"\xc5REC"
HEAD: Final = struct.Struct("<4sIIQ")
"""The head that comes before the payload."""
WHOLE: Final = 1
"""A flag, the second byte of the payload: the record is the last of what is there whole or not at all."""

_PAYLOAD: Final = struct.Struct("<BBqqqqqHHI")
_NONE: Final = -(2**63) + 1  # START is the number before it


@dataclass(frozen=True, slots=True)
class Entry:
    """A record: a change or a structure as it is sent, and what must be known of it without opening it.

    ``given`` is the version the source gave it; ``mark`` where in its source it stood; ``origin`` the change it was
    made from, where it was another; ``whole``: whether it is the last of what one change of the source became.
    """

    kind: str
    wire: bytes
    n: int = 0
    region: int = 0
    tsid: int | None = None
    version: int | None = None
    given: int | None = None
    valid_time: Instant | None = None
    doc: str = ""
    mark: str = ""
    origin: bytes = b""
    whole: bool = True


class Where(NamedTuple):
    """Where a record lies: the number of its segment, and the offset and length of the record in it."""

    segment: int
    offset: int
    length: int


def entry_of(item: Change | Structure, given: int | None = None) -> Entry:
    """The entry of a change, or of a structure."""
    if isinstance(item, Structure):
        return Entry(STRUCTURE, write_structure(item, declare=False).encode())
    return Entry(
        item.kind, encode_change(item), region=item.region, tsid=item.tsid, version=item.version, given=given,
        valid_time=item.valid_time, doc=item.doc,
    )  # fmt: skip


def _number(value: int | None) -> int:
    return _NONE if value is None else value


def _optional(value: int) -> int | None:
    return None if value == _NONE else value


def payload_of(entry: Entry) -> bytes:
    """An entry as it is in a record."""
    doc, mark = entry.doc.encode(), entry.mark.encode()
    fixed = _PAYLOAD.pack(
        KINDS.index(entry.kind), WHOLE * entry.whole, entry.region, _number(entry.tsid), _number(entry.version),
        _number(entry.given), _number(entry.valid_time), len(doc), len(mark), len(entry.origin),
    )  # fmt: skip
    return b"".join((fixed, doc, mark, entry.origin, entry.wire))


def entry_in(n: int, payload: bytes) -> Entry:
    """The entry of a record."""
    kind, flags, region, tsid, version, given, time, doc, mark, origin = _PAYLOAD.unpack_from(payload)
    at = _PAYLOAD.size
    parts = []
    for length in (doc, mark, origin):
        parts.append(payload[at : at + length])
        at += length
    return Entry(
        KINDS[kind], payload[at:], n, region, _optional(tsid), _optional(version), _optional(given), _optional(time),
        parts[0].decode(), parts[1].decode(), parts[2], bool(flags & WHOLE),
    )  # fmt: skip


def record(n: int, payload: bytes) -> bytes:
    """A record as it is in the log."""
    return HEAD.pack(MARKER, len(payload), _crc(n, payload), n) + payload


def number_of(data: bytes) -> int:
    """The number of a record."""
    number: int = HEAD.unpack_from(data)[3]
    return number


def _crc(n: int, payload: bytes) -> int:
    return crc32(payload, crc32(n.to_bytes(8, "little")))


def parsed(data: bytes, at: int) -> tuple[int, bytes] | None:
    """The record at a place: its number and payload; None where there is no whole one."""
    if len(data) - at < HEAD.size:
        return None
    marker, length, crc, n = HEAD.unpack_from(data, at)
    begin = at + HEAD.size
    payload = data[begin : begin + length]
    if marker != MARKER or len(payload) < length or length < _PAYLOAD.size or _crc(n, payload) != crc:
        return None
    return n, payload
